/* Between what files and other libraries hold (straight bytes) and what is drawn with (premultiplied words). */
#include "kernels.h"

void gesso_premultiply_rgba(const uint8_t *bytes, uint32_t *words, size_t count)
{
    if (bytes && words) gesso_kernels_get()->premultiply(words, bytes, count, true);
}

void gesso_unpremultiply_rgba(const uint32_t *words, uint8_t *bytes, size_t count)
{
    if (bytes && words) gesso_kernels_get()->unpremultiply(bytes, words, count, true);
}

void gesso_premultiply_bgra(const uint8_t *bytes, uint32_t *words, size_t count)
{
    if (bytes && words) gesso_kernels_get()->premultiply(words, bytes, count, false);
}

void gesso_unpremultiply_bgra(const uint32_t *words, uint8_t *bytes, size_t count)
{
    if (bytes && words) gesso_kernels_get()->unpremultiply(bytes, words, count, false);
}

/* Between what files hold (straight RGBA bytes) and what is drawn with (premultiplied words). */
#include "internal.h"

void gesso_premultiply_rgba(const uint8_t *bytes, uint32_t *words, size_t count)
{
    if (!bytes || !words) return;
    for (size_t i = 0; i < count; i++) {
        uint32_t red = bytes[4 * i], green = bytes[4 * i + 1], blue = bytes[4 * i + 2], alpha = bytes[4 * i + 3];
        words[i] = alpha << 24 | gesso_mul255(red, alpha) << 16 | gesso_mul255(green, alpha) << 8
            | gesso_mul255(blue, alpha);
    }
}

static inline uint8_t straight(uint32_t value, uint32_t alpha)
{
    uint32_t result = (value * 255 + alpha / 2) / alpha;
    return (uint8_t)(result > 255 ? 255 : result); /* over 255 only if the word was not premultiplied */
}

void gesso_unpremultiply_rgba(const uint32_t *words, uint8_t *bytes, size_t count)
{
    if (!bytes || !words) return;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = words[i], alpha = word >> 24;
        bytes[4 * i] = alpha ? straight(word >> 16 & 255, alpha) : 0;
        bytes[4 * i + 1] = alpha ? straight(word >> 8 & 255, alpha) : 0;
        bytes[4 * i + 2] = alpha ? straight(word & 255, alpha) : 0;
        bytes[4 * i + 3] = (uint8_t)alpha;
    }
}

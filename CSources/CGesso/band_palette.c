/* Literals of few colours, as those of text are: the colours in order, and for each literal which it is. */
#include "band.h"
#include "bit_pack.h"
#include "kernels.h"

enum { MOST = 256, PITCH = MOST + 64 };

/* Colours as they are found, by a table of their hashes. */
typedef struct palette {
    uint32_t colours[MOST];
    uint32_t count;
    uint16_t places[4 * MOST]; /* one more than a colour's number; 0 where there is none */
} palette;

/* The number of a colour, which is added if it is new; -1 if it is one too many. */
static int number_of(palette *p, uint32_t colour)
{
    uint32_t at = colour * 2654435761u >> 22;
    for (; p->places[at]; at = (at + 1) % (4 * MOST))
        if (p->colours[p->places[at] - 1] == colour) return p->places[at] - 1;
    if (p->count == MOST) return -1;
    p->colours[p->count] = colour;
    p->places[at] = (uint16_t)++p->count;
    return (int)p->count - 1;
}

/* Puts colours into the order of their green, in which each is near to the one before; numbers follow. */
static void sort(const palette *p, uint32_t *sorted, uint8_t *ranks)
{
    uint16_t begins[257] = {0};
    for (uint32_t i = 0; i < p->count; i++) begins[(p->colours[i] >> 8 & 255) + 1]++;
    for (int green = 0; green < 256; green++) begins[green + 1] += begins[green];
    for (uint32_t i = 0; i < p->count; i++) {
        ranks[i] = (uint8_t)begins[p->colours[i] >> 8 & 255]++;
        sorted[ranks[i]] = p->colours[i];
    }
}

size_t gesso_palette_encode(
    const uint32_t *words, size_t count, bool has_alpha, gesso_blob_level level, uint8_t *indices, uint8_t *out, size_t capacity)
{
    palette p = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        int number = number_of(&p, words[i]);
        if (number < 0) return 0;
        indices[i] = (uint8_t)number;
    }
    if (p.count == 0) return 0;
    uint32_t sorted[MOST];
    uint8_t ranks[MOST], planes[4 * PITCH], packed[4 * PITCH];
    sort(&p, sorted, ranks);
    for (size_t i = 0; i < count; i++) indices[i] = ranks[indices[i]];
    const gesso_kernels *kernels = gesso_kernels_get();
    kernels->split_planes(planes, PITCH, sorted, NULL, 1, has_alpha);
    kernels->split_planes(planes + 1, PITCH, sorted + 1, sorted, p.count - 1, has_alpha);
    size_t bytes = 0;
    for (int i = 0; i < (has_alpha ? 4 : 3); i++) bytes += gesso_pack(packed + bytes, planes + i * PITCH, p.count);
    if (capacity < 1 + bytes) return 0;
    out[0] = (uint8_t)(p.count - 1);
    memcpy(out + 1, packed, bytes);
    size_t coded = gesso_lz4_pack(indices, count, level, out + 1 + bytes, capacity - 1 - bytes);
    return coded ? 1 + bytes + coded : 0;
}

bool gesso_palette_decode(
    const uint8_t *in, size_t length, uint8_t *room, uint32_t *words, size_t count, bool has_alpha)
{
    if (length < 1 || count == 0) return false;
    uint32_t differences[MOST], colours[MOST];
    uint8_t planes[4 * PITCH];
    size_t colour_count = (size_t)in[0] + 1;
    in++, length--;
    for (int i = 0; i < (has_alpha ? 4 : 3); i++) {
        size_t used;
        if (!gesso_unpack(planes + i * PITCH, colour_count, in, length, &used)) return false;
        in += used, length -= used;
    }
    const uint8_t *indices = gesso_lz4_unpack(in, length, room, count);
    if (!indices) return false;
    const gesso_kernels *kernels = gesso_kernels_get();
    kernels->join_planes(differences, planes, PITCH, colour_count, has_alpha);
    kernels->running_sums(colours, differences, colour_count, 0);
    uint8_t largest = 0;
    for (size_t i = 0; i < count; i++) largest = indices[i] > largest ? indices[i] : largest;
    if (largest >= colour_count) return false;
    for (size_t i = 0; i < count; i++) words[i] = colours[indices[i]];
    return true;
}

#include "bit_pack.h"

#include "kernels.h"

#include <string.h>

size_t gesso_pack(uint8_t *out, uint8_t *values, size_t count)
{
    size_t blocks = gesso_pack_blocks(count), widths = (blocks + 1) / 2;
    memset(values + count, 0, blocks * GESSO_PACK_BLOCK - count);
    memset(out, 0, widths);
    return widths + gesso_kernels_get()->pack(out, out + widths, values, blocks);
}

/* Each width stands for so many planes of two bytes: 9 and up for none that there are. */
static bool measure(const uint8_t *widths, size_t blocks, size_t *bytes)
{
    uint32_t planes = 0;
    uint8_t wrong = 0;
    for (size_t i = 0; i < (blocks + 1) / 2; i++) {
        uint8_t low = widths[i] & 15, high = widths[i] >> 4;
        planes += low + high;
        wrong |= (low > 8) | (high > 8);
    }
    *bytes = 2 * (size_t)planes;
    return !wrong && (blocks % 2 == 0 || widths[blocks / 2] >> 4 == 0);
}

bool gesso_unpack(uint8_t *values, size_t count, const uint8_t *in, size_t length, size_t *used)
{
    size_t blocks = gesso_pack_blocks(count), widths = (blocks + 1) / 2, planes;
    if (length < widths || !measure(in, blocks, &planes) || length - widths < planes) return false;
    gesso_kernels_get()->unpack(values, in, in + widths, blocks, planes);
    *used = widths + planes;
    for (size_t i = count; i < blocks * GESSO_PACK_BLOCK; i++)
        if (values[i] != 0) return false;
    return true;
}

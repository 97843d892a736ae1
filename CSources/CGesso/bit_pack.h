/* Residuals in as many bits as the largest of sixteen needs. */
#ifndef GESSO_BIT_PACK_H
#define GESSO_BIT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GESSO_PACK_BLOCK = 16 };

/* Bytes that packing needs at most, and that a buffer of values needs: whole blocks. */
static inline size_t gesso_pack_blocks(size_t count) { return (count + GESSO_PACK_BLOCK - 1) / GESSO_PACK_BLOCK; }
static inline size_t gesso_pack_bound(size_t count)
{
    return (gesso_pack_blocks(count) + 1) / 2 + gesso_pack_blocks(count) * GESSO_PACK_BLOCK;
}
static inline size_t gesso_pack_padded(size_t count) { return gesso_pack_blocks(count) * GESSO_PACK_BLOCK; }

/* Packs bytes that are small numbers, positive or negative; their buffer has room for whole blocks, and what is behind the
 * count is cleared. Returns how many bytes were written; up to 16 more may be. */
size_t gesso_pack(uint8_t *out, uint8_t *values, size_t count);

/* The reverse. `values` has room for whole blocks. False if the bytes end too early or hold what no packing makes. */
bool gesso_unpack(uint8_t *values, size_t count, const uint8_t *in, size_t length, size_t *used);

#endif

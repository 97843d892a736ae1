/* Pixels that are as the one above, or as the one to the left, by masks; and the others, literals, by themselves.
 *
 * Pixels are taken in groups of eight, and above the first row lies one that is all the band's first pixel. One bit a group
 * tells whether any of its pixels is not as the one above; such a group has a byte of these pixels, and a byte of those
 * among them that are not as the one to the left, either. Rows and areas of one colour come down to bits that are 0. */
#include "band.h"
#include "bit_pack.h"
#include "kernels.h"

enum { HEAD = 16, OPAQUE = 1, PACKED = 2 };

/* Parts of the scratch memory, each as large as it can become. */
typedef struct parts {
    size_t groups, group_bytes, mask_bytes, pitch;
    uint32_t *words, *above, *row; /* literals, the pixels above them, and the row above the first */
    uint8_t *planes, *packed, *masks;
} parts;

enum { SLACK = 64 };

static size_t divide(parts *p, uint8_t *scratch, size_t count, uint32_t width)
{
    p->groups = (count + 7) / 8;
    p->group_bytes = (p->groups + 7) / 8;
    p->mask_bytes = p->group_bytes + 2 * p->groups;
    p->pitch = gesso_pack_padded(count) + SLACK;
    size_t words = 4 * (count + SLACK), row = 4 * ((size_t)width + SLACK), planes = 4 * p->pitch;
    size_t packed = 4 * gesso_pack_bound(count) + SLACK;
    if (scratch) {
        p->words = (uint32_t *)scratch;
        p->above = (uint32_t *)(scratch + words);
        p->row = (uint32_t *)(scratch + 2 * words);
        p->planes = scratch + 2 * words + row;
        p->packed = p->planes + planes;
        p->masks = p->packed + packed;
    }
    return 2 * words + row + planes + packed + p->mask_bytes + SLACK;
}

size_t gesso_masks_scratch(size_t count, uint32_t width)
{
    parts p;
    return divide(&p, NULL, count, width);
}

/* Literals as what they are to the pixels above, in few bits. */
static size_t pack_literals(const parts *p, size_t count, int planes)
{
    const gesso_kernels *kernels = gesso_kernels_get();
    for (size_t i = 0; i < count; i++) p->above[i] = gesso_subtract_bytes(p->words[i], p->above[i]);
    kernels->split_planes(p->planes, p->pitch, p->above, count, planes == 4);
    size_t bytes = 0;
    for (int i = 0; i < planes; i++) bytes += gesso_pack(p->packed + bytes, p->planes + (size_t)i * p->pitch, count);
    return bytes;
}

size_t gesso_masks_encode(
    const gesso_band *band, gesso_blob_level level, uint8_t *scratch, uint8_t *out, size_t capacity, size_t *literals)
{
    parts p;
    divide(&p, scratch, band->count, band->width);
    const uint32_t *pixels = (const uint32_t *)band->pixels;
    for (uint32_t x = 0; x < band->width + 8; x++) p.row[x] = pixels[0];
    memset(p.masks, 0, p.group_bytes);
    gesso_mask_counts counts = gesso_kernels_get()->find_masks(
        pixels, band->count, band->width, p.row, p.masks, p.masks + p.group_bytes, p.words, p.above);
    size_t count = *literals = counts.literals;
    uint32_t all = pixels[0];
    for (size_t i = 0; i < count; i++) all &= p.words[i];
    bool is_opaque = all >> 24 == 255;
    int planes = is_opaque ? 3 : 4;
    if (capacity < HEAD) return 0;
    size_t used = HEAD;
    size_t coded = gesso_lz4_pack(p.masks, p.group_bytes + counts.bytes, level, out + used, capacity - used);
    if (!coded) return 0;
    used += coded;
    /* As they are, for LZ4, if that is smaller by what it costs to read. Many are a photo's, of which LZ4 makes nothing. */
    enum { FEW = 4096 };
    size_t as_they_are = 0, packed = pack_literals(&p, count, planes);
    if (level == GESSO_BLOB_SMALL || count <= FEW || count * 4 < band->count) {
        gesso_kernels_get()->split_planes(p.planes, count, p.words, count, planes == 4);
        as_they_are = gesso_lz4_pack(p.planes, count * (size_t)planes, level, out + used, capacity - used);
    }
    bool packs = count > 0 && (!as_they_are || packed * 100 < as_they_are * (level == GESSO_BLOB_SMALL ? 100 : 106));
    if (packs) {
        if (packed > capacity - used) return 0;
        memcpy(out + used, p.packed, packed);
    }
    gesso_store32(out, (uint32_t)counts.bytes);
    gesso_store32(out + 4, (uint32_t)coded);
    gesso_store32(out + 8, (uint32_t)count);
    gesso_store32(out + 12, (is_opaque ? OPAQUE : 0) | (packs ? PACKED : 0));
    used += packs ? packed : as_they_are;
    if (capacity - used < 4) return 0;
    gesso_store32(out + used, pixels[0]);
    return used + 4;
}

/* Checks the masks by themselves, so that expanding them has nothing to check: as many literals as there are words, no bits
 * behind the last pixel, and no literal that is as the one above. */
static bool masks_are_valid(const parts *p, size_t mask_bytes, size_t count, size_t literals)
{
    const uint8_t *bits = p->masks, *bytes = bits + p->group_bytes;
    size_t set = 0, found = 0;
    for (size_t i = 0; i < p->group_bytes; i++) set += (size_t)__builtin_popcount(bits[i]);
    if (mask_bytes != 2 * set) return false;
    for (size_t i = 0; i < mask_bytes; i += 2) {
        if (bytes[i] == 0 || (bytes[i + 1] & ~bytes[i])) return false;
        found += (size_t)__builtin_popcount(bytes[i + 1]);
    }
    if (p->groups % 8 && bits[p->group_bytes - 1] >> p->groups % 8) return false;
    bool last_is_set = bits[(p->groups - 1) / 8] >> (p->groups - 1) % 8 & 1;
    if (count % 8 && last_is_set && bytes[mask_bytes - 2] >> count % 8) return false;
    return found == literals;
}

bool gesso_masks_decode(
    const uint8_t *in, size_t length, uint8_t *scratch, uint32_t *pixels, uint32_t width, size_t count, bool must_be_opaque)
{
    parts p;
    divide(&p, scratch, count, width);
    if (length < HEAD + 4) return false;
    size_t mask_bytes = gesso_load32(in), coded = gesso_load32(in + 4), literals = gesso_load32(in + 8);
    uint32_t flags = gesso_load32(in + 12);
    in += HEAD, length -= HEAD;
    if (mask_bytes > 2 * p.groups || literals > count || flags > (OPAQUE | PACKED) || coded > length) return false;
    const uint8_t *masks = gesso_lz4_unpack(in, coded, p.masks, p.group_bytes + mask_bytes);
    if (!masks) return false;
    if (masks != p.masks) p.masks = (uint8_t *)(uintptr_t)masks; /* only read from here on */
    in += coded, length -= coded;
    bool is_opaque = flags & OPAQUE, is_packed = flags & PACKED;
    int planes = is_opaque ? 3 : 4;
    if (must_be_opaque && !is_opaque) return false;
    if (!masks_are_valid(&p, mask_bytes, count, literals)) return false;
    if (is_packed) {
        for (int i = 0; i < planes; i++) {
            size_t used;
            if (!gesso_unpack(p.planes + (size_t)i * p.pitch, literals, in, length, &used)) return false;
            in += used, length -= used;
        }
        if (length != 4) return false;
        gesso_kernels_get()->join_planes(p.words, p.planes, p.pitch, literals, planes == 4);
    } else {
        if (length < 4) return false;
        const uint8_t *bytes = gesso_lz4_unpack(in, length - 4, p.planes, literals * (size_t)planes);
        if (!bytes) return false;
        gesso_kernels_get()->join_planes(p.words, bytes, literals, literals, planes == 4);
        in += length - 4;
    }
    uint32_t first = gesso_load32(in), solid = is_opaque ? 0xff000000 : 0;
    if (is_opaque && first >> 24 != 255) return false;
    for (uint32_t x = 0; x < width + 8; x++) p.row[x] = first;
    gesso_kernels_get()->expand_masks(
        pixels, count, width, p.row, p.masks, p.masks + p.group_bytes, p.words, is_packed, solid);
    return true;
}

/* Pixels that are as the one above, or as the one to the left, by masks; and the others, literals, by themselves.
 *
 * Pixels are taken in groups of eight, and above the first row lies one that is all the band's first pixel. A bit for each
 * group tells whether any of its pixels is not as the one above; such a group has a byte of these pixels. Another bit tells
 * whether some of them are as the one to the left, and there is a byte of those. Rows and areas of one colour come down to
 * bits that are 0. */
#include "band.h"
#include "bit_pack.h"
#include "kernels.h"

enum { HEAD = 20, OPAQUE = 1, PACKED = 2, PALETTE = 4 };

/* Parts of the scratch memory, each as large as it can become. */
typedef struct parts {
    size_t groups, marked_bytes, mask_bytes, pitch;
    uint32_t *words, *above, *row; /* literals, the pixels above them, and the row above the first */
    uint8_t *planes, *packed, *masks, *found, *indices, *palette;
} parts;

enum { SLACK = 64 };

static size_t divide(parts *p, uint8_t *scratch, size_t count, uint32_t width)
{
    p->groups = (count + 7) / 8;
    p->marked_bytes = (p->groups + 7) / 8;
    p->mask_bytes = 2 * p->marked_bytes + 2 * p->groups + SLACK;
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
        p->found = p->masks + p->mask_bytes;
        p->indices = p->found + p->mask_bytes;
        p->palette = p->indices + count + SLACK;
    }
    return 2 * words + row + planes + packed + 2 * p->mask_bytes + 3 * (count + SLACK);
}

size_t gesso_masks_scratch(size_t count, uint32_t width)
{
    parts p;
    return divide(&p, NULL, count, width);
}

/* How many bytes masks have, and where they are if they follow one another. */
static size_t mask_bytes_of(const gesso_masks *m, const parts *p)
{
    return p->marked_bytes + (m->marked_count + 7) / 8 + m->marked_count + m->left_count;
}
static void lay_out(gesso_masks *m, const parts *p, const uint8_t *bytes)
{
    m->marked = (uint8_t *)(uintptr_t)bytes; /* only read from there */
    m->has_left = m->marked + p->marked_bytes;
    m->differs = m->has_left + (m->marked_count + 7) / 8;
    m->left = m->differs + m->marked_count;
}

/* Literals as what they are to the pixels above, in few bits. */
static size_t pack_literals(const parts *p, size_t count, int planes, size_t *green)
{
    const gesso_kernels *kernels = gesso_kernels_get();
    kernels->split_planes(p->planes, p->pitch, p->words, p->above, count, planes == 4);
    size_t bytes = *green = gesso_pack(p->packed, p->planes, count);
    for (int i = 1; i < planes; i++) bytes += gesso_pack(p->packed + bytes, p->planes + (size_t)i * p->pitch, count);
    return bytes;
}

/* Whether LZ4 makes less of literals as they are than packing does, by what it makes of some green. */
static bool lz4_may_win(const parts *p, size_t count, size_t packed_green)
{
    enum { MOST = 2048 };
    size_t piece = count < MOST ? count : MOST;
    gesso_kernels_get()->split_planes(p->planes, piece, p->words, NULL, piece, false);
    size_t coded = gesso_lz4_pack(p->planes, piece, GESSO_BLOB_FAST, p->planes + 3 * piece, piece);
    return (uint64_t)coded * count < (uint64_t)packed_green * piece;
}

/* Writes literals in the way that is smallest: packed; by a palette; or as they are, for LZ4, if that is smaller by what it
 * costs to read. False if there is no room. */
static bool write_literals(
    const parts *p, size_t count, bool has_alpha, gesso_blob_level level, uint8_t *out, size_t capacity, size_t *written,
    uint32_t *way)
{
    bool is_small = level == GESSO_BLOB_SMALL;
    int planes = has_alpha ? 4 : 3;
    size_t palette = gesso_palette_encode(p->words, count, has_alpha, level, p->indices, p->palette, 2 * count);
    size_t green, packed = pack_literals(p, count, planes, &green), as_they_are = 0;
    if (is_small || (!palette && lz4_may_win(p, count, green))) {
        gesso_kernels_get()->split_planes(p->planes, count, p->words, NULL, count, has_alpha);
        as_they_are = gesso_lz4_pack(p->planes, count * (size_t)planes, level, out, capacity);
    }
    const uint8_t *from = NULL;
    *written = as_they_are, *way = 0;
    if (count > 0 && (!as_they_are || packed < as_they_are + as_they_are / 100 * (is_small ? 0 : 6)))
        *written = packed, *way = PACKED, from = p->packed;
    if (palette && palette < *written) *written = palette, *way = PALETTE, from = p->palette;
    if (*written > capacity) return false;
    if (from) memcpy(out, from, *written);
    return true;
}

/* Finds a band's masks, and lays them out one after the other. */
static size_t find_masks(parts *p, const gesso_band *band, gesso_masks *m)
{
    size_t count = band->count, bits = p->marked_bytes;
    gesso_masks found = {
        .marked = p->found, .has_left = p->found + bits, .differs = p->found + 2 * bits,
        .left = p->found + 2 * bits + p->groups};
    memset(p->found, 0, 2 * bits);
    const uint32_t *pixels = (const uint32_t *)band->pixels;
    for (uint32_t x = 0; x < band->width + 8; x++) p->row[x] = pixels[0];
    gesso_kernels_get()->find_masks(pixels, count, band->width, p->row, &found, p->words, p->above);
    *m = found;
    lay_out(m, p, p->masks);
    memcpy(m->marked, found.marked, bits);
    memcpy(m->has_left, found.has_left, (found.marked_count + 7) / 8);
    memcpy(m->differs, found.differs, found.marked_count);
    memcpy(m->left, found.left, found.left_count);
    return mask_bytes_of(m, p);
}

size_t gesso_masks_encode(
    const gesso_band *band, gesso_blob_level level, uint8_t *scratch, uint8_t *out, size_t capacity, size_t *literals)
{
    parts p;
    divide(&p, scratch, band->count, band->width);
    gesso_masks m;
    size_t mask_bytes = find_masks(&p, band, &m), count = *literals = m.literal_count;
    uint32_t first = gesso_load32(band->pixels), all = first;
    for (size_t i = 0; i < count; i++) all &= p.words[i];
    bool is_opaque = all >> 24 == 255;
    if (capacity < HEAD) return 0;
    size_t used = HEAD, coded = gesso_lz4_pack(p.masks, mask_bytes, level, out + used, capacity - used);
    if (!coded) return 0;
    used += coded;
    size_t written;
    uint32_t way;
    if (!write_literals(&p, count, !is_opaque, level, out + used, capacity - used, &written, &way)) return 0;
    used += written;
    gesso_store32(out, (uint32_t)m.marked_count);
    gesso_store32(out + 4, (uint32_t)m.left_count);
    gesso_store32(out + 8, (uint32_t)count);
    gesso_store32(out + 12, (uint32_t)coded);
    gesso_store32(out + 16, (is_opaque ? OPAQUE : 0) | way);
    if (capacity - used < 4) return 0;
    gesso_store32(out + used, first);
    return used + 4;
}

static size_t count_bits(const uint8_t *bytes, size_t count)
{
    size_t set = 0;
    for (size_t i = 0; i < count; i++) set += (size_t)__builtin_popcount(bytes[i]);
    return set;
}

/* Checks what is needed to know where each mask is, that each mask has a bit, and that there are none behind the last group
 * and pixel. */
static bool masks_fit(const gesso_masks *m, const parts *p, size_t count)
{
    if (count_bits(m->marked, p->marked_bytes) != m->marked_count) return false;
    if (count_bits(m->has_left, (m->marked_count + 7) / 8) != m->left_count) return false;
    if (memchr(m->differs, 0, m->marked_count) || memchr(m->left, 0, m->left_count)) return false;
    if (p->groups % 8 && m->marked[p->marked_bytes - 1] >> p->groups % 8) return false;
    if (m->marked_count % 8 && m->has_left[m->marked_count / 8] >> m->marked_count % 8) return false;
    bool last_is_marked = m->marked[(p->groups - 1) / 8] >> (p->groups - 1) % 8 & 1;
    return count % 8 == 0 || !last_is_marked || m->differs[m->marked_count - 1] >> count % 8 == 0;
}

bool gesso_masks_decode(
    const uint8_t *in, size_t length, uint8_t *scratch, uint32_t *pixels, uint32_t width, size_t count, bool must_be_opaque)
{
    parts p;
    divide(&p, scratch, count, width);
    if (length < HEAD + 4) return false;
    gesso_masks m = {
        .marked_count = gesso_load32(in), .left_count = gesso_load32(in + 4), .literal_count = gesso_load32(in + 8)};
    size_t coded = gesso_load32(in + 12), literals = m.literal_count;
    uint32_t flags = gesso_load32(in + 16);
    in += HEAD, length -= HEAD;
    if (m.marked_count > p.groups || m.left_count > m.marked_count || literals > count || flags > (OPAQUE | PALETTE)
        || coded > length - 4)
        return false;
    const uint8_t *masks = gesso_lz4_unpack(in, coded, p.masks, mask_bytes_of(&m, &p));
    if (!masks) return false;
    lay_out(&m, &p, masks);
    in += coded, length -= coded;
    bool is_opaque = flags & OPAQUE, is_packed = flags & PACKED;
    int planes = is_opaque ? 3 : 4;
    if (must_be_opaque && !is_opaque) return false;
    if (!masks_fit(&m, &p, count)) return false;
    if (length < 4) return false;
    length -= 4;
    if (is_packed) {
        size_t left = length;
        for (int i = 0; i < planes; i++) {
            size_t used;
            if (!gesso_unpack(p.planes + (size_t)i * p.pitch, literals, in, left, &used)) return false;
            in += used, left -= used;
        }
        if (left != 0) return false;
        gesso_kernels_get()->join_planes(p.words, p.planes, p.pitch, literals, planes == 4);
    } else if (flags & PALETTE) {
        if (!gesso_palette_decode(in, length, p.planes, p.words, literals, planes == 4)) return false;
        in += length;
    } else {
        const uint8_t *bytes = gesso_lz4_unpack(in, length, p.planes, literals * (size_t)planes);
        if (!bytes) return false;
        gesso_kernels_get()->join_planes(p.words, bytes, literals, literals, planes == 4);
        in += length;
    }
    uint32_t first = gesso_load32(in), solid = is_opaque ? 0xff000000 : 0;
    if (is_opaque && first >> 24 != 255) return false;
    for (uint32_t x = 0; x < width + 8; x++) p.row[x] = first;
    return gesso_kernels_get()->expand_masks(pixels, count, width, p.row, &m, p.words, is_packed, solid);
}

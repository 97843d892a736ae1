/* Pixels that are as the one above, or as the one to the left, by masks; and the others, literals, by themselves.
 *
 * Pixels are taken in groups of eight, and above the first row lies one that is all the band's first pixel. A bit for each
 * group tells whether any of its pixels is not as the one above; such a group has a byte of these pixels. Another bit tells
 * whether some of them are as the one to the left, and there is a byte of those. Rows and areas of one colour come down to
 * bits that are 0. */
#include "band.h"
#include "bit_pack.h"
#include "kernels.h"

enum { LONG_HEAD = 20, MOST_HEAD = 1 + 4 * 5 + 4, OPAQUE = 1, DIFFERENCES = 2, PALETTE = 4, BLACK = 8, BY_LZ4 = 16 };

enum { FEW = 1024, SOME = 1024 }; /* literals of which all ways are tried; and those that LZ4 is tried with, of more */

/* What a band's masks begin with. */
typedef struct head {
    uint32_t flags, marked_count, left_count, literal_count, mask_bytes, first;
} head;

/* Opaque black, or nothing: what most pictures begin with. */
static uint32_t black(uint32_t flags) { return flags & OPAQUE ? 0xff000000 : 0; }

static size_t write_head(uint8_t *out, const head *h)
{
    size_t at = 1;
    out[0] = (uint8_t)(h->flags | (h->first == black(h->flags) ? BLACK : 0));
    at += gesso_varint_write(out + at, h->marked_count);
    at += gesso_varint_write(out + at, h->left_count);
    at += gesso_varint_write(out + at, h->literal_count);
    at += gesso_varint_write(out + at, h->mask_bytes);
    if (out[0] & BLACK) return at;
    gesso_store32(out + at, h->first);
    return at + (h->flags & OPAQUE ? 3 : 4);
}

/* Returns how many bytes it has, or 0. */
static size_t read_head(const uint8_t *in, size_t length, head *h)
{
    size_t at = 1;
    if (length < 1) return 0;
    h->flags = in[0] & ~(uint32_t)BLACK;
    if (!gesso_varint_read(in, length, &at, &h->marked_count) || !gesso_varint_read(in, length, &at, &h->left_count)
        || !gesso_varint_read(in, length, &at, &h->literal_count) || !gesso_varint_read(in, length, &at, &h->mask_bytes))
        return 0;
    h->first = black(h->flags);
    if (in[0] & BLACK) return at;
    size_t bytes = h->flags & OPAQUE ? 3 : 4;
    if (length - at < bytes) return 0;
    memcpy(&h->first, in + at, bytes);
    return at + bytes;
}

/* Mode 3's: numbers of four bytes, and the first pixel behind all the rest, which is taken off the length. */
static size_t read_long_head(const uint8_t *in, size_t *length, head *h)
{
    if (*length < LONG_HEAD + 4) return 0;
    *length -= 4;
    *h = (head){
        .marked_count = gesso_load32(in), .left_count = gesso_load32(in + 4), .literal_count = gesso_load32(in + 8),
        .mask_bytes = gesso_load32(in + 12), .flags = gesso_load32(in + 16), .first = gesso_load32(in + *length)};
    return LONG_HEAD;
}

/* Parts of the scratch memory, each as large as it can become. */
typedef struct parts {
    size_t groups, marked_bytes, mask_bytes, pitch;
    uint32_t *words, *above, *row; /* literals, the pixels above them, and the row above the first */
    uint8_t *planes, *packed, *masks, *found, *indices, *palette;
} parts;

enum { SLACK = 64 };

/* For colours, of which each may take more than a literal would, and their numbers. */
static size_t palette_room(size_t count) { return GESSO_PALETTE_BYTES + count + SLACK; }

static size_t divide(parts *p, uint8_t *scratch, size_t count, uint32_t width)
{
    p->groups = (count + 7) / 8;
    p->marked_bytes = (p->groups + 7) / 8;
    p->mask_bytes = 2 * p->marked_bytes + 2 * p->groups + SLACK;
    p->pitch = gesso_pack_padded(count) + SLACK;
    size_t words = 4 * (count + SLACK), row = 4 * ((size_t)width + SLACK), planes = 4 * p->pitch;
    size_t packed = 5 * gesso_pack_bound(count) + SLACK; /* and one plane more, by LZ4 */
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
    return 2 * words + row + planes + packed + 2 * p->mask_bytes + count + SLACK + palette_room(count);
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

/* What LZ4 makes of the first of many bytes. */
static size_t lz4_of_some(const uint8_t *bytes, uint8_t *room)
{
    return gesso_lz4_pack(bytes, SOME, GESSO_BLOB_FAST, room, SOME);
}

/* What LZ4 has to be smaller than, which is slower to read: a little is not worth it, but where all is little. */
static size_t worth_it(size_t size, size_t count, gesso_blob_level level)
{
    return level == GESSO_BLOB_SMALL || count <= FEW ? size : size - size / 16;
}

/* Literals as what they are to the pixels above, in few bits. */
static size_t pack_differences(const parts *p, size_t count, size_t planes, size_t sizes[4])
{
    gesso_kernels_get()->split_planes(p->planes, p->pitch, p->words, p->above, count, planes == 4);
    size_t bytes = 0;
    for (size_t i = 0; i < planes; i++) bytes += sizes[i] = gesso_pack(p->packed + bytes, p->planes + i * p->pitch, count);
    return bytes;
}

/* And planes of them by LZ4, where that is smaller: it finds what repeats. Tells which. */
static size_t shorten_differences(
    const parts *p, size_t count, size_t planes, const size_t sizes[4], gesso_blob_level level, uint32_t *by_lz4)
{
    size_t from = 0, to = 0, end = 0;
    for (size_t i = 0; i < planes; i++) end += sizes[i];
    uint8_t *packed = p->packed, *room = packed + end;
    for (size_t i = 0; i < planes; from += sizes[i++]) {
        uint8_t *plane = p->planes + i * p->pitch;
        size_t size = sizes[i], least = worth_it(size, count, level), coded = 0;
        /* Alpha by itself: it is mostly that of an edge, whatever is above. */
        for (size_t k = 0; i == 3 && k < count; k++) plane[k] = (uint8_t)(p->words[k] >> 24);
        bool may_win = count <= FEW || level == GESSO_BLOB_SMALL
            || (uint64_t)lz4_of_some(plane, room) * count < (uint64_t)least * SOME;
        if (may_win && least > 2)
            coded = gesso_lz4_pack(plane, count, level, room, least - 1);
        size_t head = gesso_varint_size((uint32_t)coded);
        if (coded && coded + head < least) {
            gesso_varint_write(packed + to, (uint32_t)coded);
            memcpy(packed + to + head, room, coded);
            size = head + coded, *by_lz4 |= BY_LZ4 << i;
        } else {
            memmove(packed + to, packed + from, size);
        }
        to += size;
    }
    return to;
}

/* What LZ4 is tried with: literals as they are, and planes of their differences if that fails. */
typedef struct tries {
    bool same, different;
} tries;

/* It makes most of either, as of the green ones; and little of what a palette is good for. */
static tries find_tries(
    const parts *p, size_t count, size_t packed_green, size_t packed, size_t palette, gesso_blob_level level)
{
    if (level == GESSO_BLOB_SMALL) return (tries){true, true};
    if (count <= FEW) return palette && palette <= packed / 2 ? (tries){0} : (tries){true, true};
    if (palette && palette <= packed) return (tries){0};
    uint8_t green[SOME], *room = p->packed + packed;
    for (size_t i = 0; i < SOME; i++) green[i] = (uint8_t)(p->words[i] >> 8);
    size_t some_packed = (size_t)((uint64_t)packed_green * SOME / count);
    size_t same = lz4_of_some(green, room), different = lz4_of_some(p->planes, room);
    return (tries){.same = same < some_packed && same < different + different / 16, .different = different < some_packed};
}

/* Writes literals in the way that is smallest: as differences; by a palette; or as they are, by LZ4. False if there is no
 * room. */
static bool write_literals(
    const parts *p, size_t count, bool has_alpha, gesso_blob_level level, uint8_t *out, size_t capacity, size_t *written,
    uint32_t *way)
{
    const gesso_kernels *kernels = gesso_kernels_get();
    size_t planes = has_alpha ? 4 : 3, sizes[4], as_they_are = 0;
    size_t palette = gesso_palette_encode(p->words, count, has_alpha, level, p->indices, p->palette, palette_room(count));
    size_t differences = pack_differences(p, count, planes, sizes);
    tries try = find_tries(p, count, sizes[0], differences, palette, level);
    *way = DIFFERENCES;
    if (try.same) {
        size_t most = worth_it(palette && palette < differences ? palette : differences, count, level);
        if (most > 0) most--;
        kernels->split_planes(p->planes, count, p->words, NULL, count, has_alpha);
        as_they_are = gesso_lz4_pack(p->planes, count * planes, level, out, most < capacity ? most : capacity);
    }
    if (try.different && (!as_they_are || level == GESSO_BLOB_SMALL)) {
        if (try.same) kernels->split_planes(p->planes, p->pitch, p->words, p->above, count, has_alpha);
        differences = shorten_differences(p, count, planes, sizes, level, way);
    }
    const uint8_t *from = p->packed;
    *written = differences;
    if (palette && palette < *written) *written = palette, *way = PALETTE, from = p->palette;
    if (as_they_are && as_they_are < *written) *written = as_they_are, *way = 0, from = NULL;
    if (*written > capacity) return false;
    if (from) memcpy(out, from, *written);
    return true;
}

/* Finds a band's masks, and lays them out one after the other. */
static size_t find_masks(parts *p, const gesso_band *band, gesso_masks *m)
{
    enum { MORE = 8 }; /* bytes that may be written behind each list */
    size_t count = band->count, bits = p->marked_bytes;
    gesso_masks found = {
        .marked = p->found, .has_left = p->found + bits + MORE, .differs = p->found + 2 * (bits + MORE),
        .left = p->found + 2 * (bits + MORE) + p->groups + MORE};
    memset(p->found, 0, 2 * (bits + MORE));
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
    if (capacity < MOST_HEAD) return 0;
    /* The head comes last, when its size is known, and what is behind it moves by a few bytes. */
    size_t coded = gesso_lz4_pack(p.masks, mask_bytes, level, out + MOST_HEAD, capacity - MOST_HEAD), written;
    uint32_t way;
    if (!coded) return 0;
    size_t used = MOST_HEAD + coded;
    if (!write_literals(&p, count, !is_opaque, level, out + used, capacity - used, &written, &way)) return 0;
    size_t size = write_head(
        out, &(head){.flags = (is_opaque ? OPAQUE : 0) | way, .marked_count = (uint32_t)m.marked_count,
                     .left_count = (uint32_t)m.left_count, .literal_count = (uint32_t)count, .mask_bytes = (uint32_t)coded,
                     .first = first});
    memmove(out + size, out + MOST_HEAD, coded + written);
    return size + coded + written;
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

/* Literals, in the way that the flags tell of. */
static bool read_literals(const parts *p, const uint8_t *in, size_t length, uint32_t flags, size_t count)
{
    const gesso_kernels *kernels = gesso_kernels_get();
    size_t planes = flags & OPAQUE ? 3 : 4;
    if (flags & PALETTE) return gesso_palette_decode(in, length, p->planes, p->words, count, planes == 4);
    if (!(flags & DIFFERENCES)) {
        const uint8_t *bytes = gesso_lz4_unpack(in, length, p->planes, count * planes);
        if (bytes) kernels->join_planes(p->words, bytes, count, count, planes == 4);
        return bytes;
    }
    for (size_t i = 0; i < planes; i++) {
        uint8_t *plane = p->planes + i * p->pitch;
        size_t used = 0;
        if (flags & BY_LZ4 << i) {
            uint32_t coded;
            if (!gesso_varint_read(in, length, &used, &coded) || coded > length - used) return false;
            const uint8_t *bytes = gesso_lz4_unpack(in + used, coded, plane, count);
            if (!bytes) return false;
            if (bytes != plane) memcpy(plane, bytes, count);
            used += coded;
        } else if (!gesso_unpack(plane, count, in, length, &used)) {
            return false;
        }
        in += used, length -= used;
    }
    kernels->join_planes(p->words, p->planes, p->pitch, count, planes == 4);
    return length == 0;
}

/* Literals are in one way, and only differences have planes by LZ4, which mode 3 does not know. */
static bool flags_fit(uint32_t flags, bool is_long)
{
    uint32_t by_lz4 = flags / BY_LZ4, planes = flags & OPAQUE ? 7 : 15;
    if ((flags & BLACK) || by_lz4 > planes || (by_lz4 && is_long)) return false;
    return flags & DIFFERENCES ? !(flags & PALETTE) : !by_lz4;
}

bool gesso_masks_decode(
    bool is_long, const uint8_t *in, size_t length, uint8_t *scratch, uint32_t *pixels, uint32_t width, size_t count,
    bool must_be_opaque)
{
    parts p;
    divide(&p, scratch, count, width);
    head h;
    size_t used = is_long ? read_long_head(in, &length, &h) : read_head(in, length, &h);
    if (!used) return false;
    in += used, length -= used;
    gesso_masks m = {.marked_count = h.marked_count, .left_count = h.left_count, .literal_count = h.literal_count};
    bool is_opaque = h.flags & OPAQUE;
    if (m.marked_count > p.groups || m.left_count > m.marked_count || m.literal_count > count || h.mask_bytes > length
        || !flags_fit(h.flags, is_long) || (is_opaque ? h.first >> 24 != 255 : must_be_opaque))
        return false;
    size_t mask_bytes = mask_bytes_of(&m, &p);
    const uint8_t *masks = gesso_lz4_unpack(in, h.mask_bytes, p.masks, mask_bytes);
    if (!masks) return false;
    /* Behind them some bytes are read. */
    if (masks == in) masks = memcpy(p.masks, masks, mask_bytes);
    lay_out(&m, &p, masks);
    if (!masks_fit(&m, &p, count) || !read_literals(&p, in + h.mask_bytes, length - h.mask_bytes, h.flags, m.literal_count))
        return false;
    for (uint32_t x = 0; x < width + 8; x++) p.row[x] = h.first;
    /* The bytes of a literal that are differences. */
    uint32_t differences = !(h.flags & DIFFERENCES) ? 0 : h.flags & BY_LZ4 << 3 ? 0x00ffffff : 0xffffffff;
    return gesso_kernels_get()->expand_masks(pixels, count, width, p.row, &m, p.words, differences, black(h.flags));
}

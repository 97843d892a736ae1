#include "band.h"

#include <lz4.h>
#include <lz4hc.h>

/* What one way needs, the largest. */
static size_t way_scratch(size_t count, uint32_t width)
{
    size_t masks = gesso_masks_scratch(count, width), filter = gesso_filter_scratch(count);
    return masks > filter ? masks : filter;
}

/* And the bytes of a second try. */
size_t gesso_band_scratch(size_t count, uint32_t width) { return way_scratch(count, width) + 4 * count; }

size_t gesso_lz4_pack(const uint8_t *in, size_t length, gesso_blob_level level, uint8_t *out, size_t capacity)
{
    if (length == 0 || length > LZ4_MAX_INPUT_SIZE) return 0;
    /* Room for one byte less: what does not become smaller stays as it is. */
    int room = (int)(capacity < length ? capacity : length - 1), packed = 0;
    if (room > 0)
        packed = level == GESSO_BLOB_SMALL
            ? LZ4_compress_HC((const char *)in, (char *)out, (int)length, room, LZ4HC_CLEVEL_DEFAULT)
            : LZ4_compress_default((const char *)in, (char *)out, (int)length, room);
    if (packed > 0) return (size_t)packed;
    if (capacity < length) return 0;
    memcpy(out, in, length);
    return length;
}

const uint8_t *gesso_lz4_unpack(const uint8_t *in, size_t length, uint8_t *room, size_t expected)
{
    if (length == expected) return in;
    if (length > expected || length > INT32_MAX || expected > INT32_MAX) return NULL;
    int bytes = LZ4_decompress_safe((const char *)in, (char *)room, (int)length, (int)expected);
    return bytes >= 0 && (size_t)bytes == expected ? room : NULL;
}

static bool is_solid(const gesso_band *band)
{
    size_t bytes = band->count * band->pixel_size;
    return memcmp(band->pixels, band->pixels + band->pixel_size, bytes - band->pixel_size) == 0;
}

/* Keeps a try that is smaller than what is there: `out` holds the best so far, of `size` bytes. */
static void keep_smaller(uint8_t *out, size_t *size, gesso_band_mode *mode, const uint8_t *tried, size_t length, gesso_band_mode by)
{
    if (length == 0 || length >= *size) return;
    memcpy(out, tried, length);
    *size = length;
    *mode = by;
}

/* How the pixels of some rows are to their neighbours. */
typedef struct sample {
    size_t pixels, literals, slanted; /* unlike those above and to the left; of these, like one next to the one above */
} sample;

static sample take_sample(const gesso_band *band)
{
    enum { ROWS = 8 };
    const uint32_t *pixels = (const uint32_t *)band->pixels;
    size_t width = band->width, rows = band->count / width;
    sample s = {0};
    for (size_t k = 0; k < ROWS && rows > ROWS; k++) {
        const uint32_t *row = pixels + (1 + k * (rows - 1) / ROWS) * width, *above = row - width;
        uint32_t literals = 0, slanted = 0;
        for (size_t x = 1; x + 1 < width; x++) {
            uint32_t literal = (row[x] != row[x - 1]) & (row[x] != above[x]);
            literals += literal;
            slanted += literal & ((row[x] == above[x - 1]) | (row[x] == above[x + 1]));
        }
        s.pixels += width - 2, s.literals += literals, s.slanted += slanted;
    }
    return s;
}

/* Whether LZ4 would make less than `best` of a band, by what it makes of some rows in the middle. It finds what repeats
 * elsewhere than next to a pixel: patterns, dither. */
static bool lz4_may_win(const gesso_band *band, size_t best, uint8_t *room)
{
    enum { LEAST = 8192, MOST = 16384, QUICKLY = 8 };
    size_t raw = 4 * band->count, piece = 16 * (size_t)band->width;
    piece = piece < LEAST ? LEAST : piece > MOST ? MOST : piece;
    if (piece > raw / 4) piece = raw / 4;
    int packed = LZ4_compress_fast(
        (const char *)band->pixels + (raw - piece) / 8 * 4, (char *)room, (int)piece, (int)piece, QUICKLY);
    return packed > 0 && (double)packed * (double)raw < (double)best * (double)piece;
}

/* Operations are slower to read than the other ways, which is worth it where all is little; and where masks take about two
 * bytes a literal, they do not get to much less. */
static bool may_be_operations(const gesso_band *band, gesso_blob_level level, size_t best, size_t literals)
{
    enum { FEW = 48 * 48 };
    if (band->pixel_size != 4) return false;
    return level == GESSO_BLOB_SMALL || (band->count <= FEW && best * 4 > literals * 9);
}

size_t gesso_band_encode(
    const gesso_band *band, gesso_blob_level level, uint8_t *scratch, uint8_t *out, gesso_band_mode *mode)
{
    size_t raw = band->count * band->pixel_size;
    if (is_solid(band)) {
        *mode = GESSO_BAND_SOLID;
        memcpy(out, band->pixels, band->pixel_size);
        return band->pixel_size;
    }
    *mode = GESSO_BAND_STORED;
    size_t best = raw, capacity = raw - 1, literals = 0;
    uint8_t *tried = scratch + way_scratch(band->count, band->width);
    /* In rows of less than a group, a group would have its own pixels above it. */
    enum { FEW = 1024 }; /* pixels: with so few, all ways are tried */
    bool has_ways = band->pixel_size == 4 && band->width >= 8, tries_all = level == GESSO_BLOB_SMALL || band->count <= FEW;
    bool may_repeat = !has_ways || tries_all;
    if (has_ways) {
        sample s = take_sample(band);
        size_t length;
        literals = band->count;
        bool is_photo = s.literals * 5 > s.pixels * 4;
        if (!is_photo || tries_all) {
            length = gesso_masks_encode(band, level, scratch, out, capacity, &literals);
            if (length) best = length, *mode = GESSO_BAND_MASKS;
        }
        /* Many literals are a photo's. */
        if (*mode == GESSO_BAND_STORED) {
            length = gesso_filter_encode(band, scratch, out, capacity);
            if (length) best = length, *mode = GESSO_BAND_FILTER;
        } else if (literals * 4 > band->count * 3 || tries_all)
            keep_smaller(out, &best, mode, tried, gesso_filter_encode(band, scratch, tried, best), GESSO_BAND_FILTER);
        /* Slanted gradients are LZ4's, and so may be anything with many literals. */
        bool is_slanted = s.slanted * 2 > s.literals && s.literals * 16 > s.pixels;
        may_repeat = may_repeat || ((is_slanted || literals * 4 > band->count) && lz4_may_win(band, best, tried));
    }
    if (may_repeat) {
        size_t length = gesso_lz4_pack(band->pixels, raw, level, tried, best - 1);
        if (length < raw) keep_smaller(out, &best, mode, tried, length, GESSO_BAND_LZ4);
    }
    if (may_be_operations(band, level, best, literals)) {
        size_t most = level == GESSO_BLOB_SMALL ? best : best - best / 20; /* a little is not worth it */
        keep_smaller(out, &best, mode, tried, gesso_operations_encode(band, tried, most), GESSO_BAND_OPERATIONS);
    }
    if (*mode == GESSO_BAND_STORED) memcpy(out, band->pixels, raw);
    return best;
}

static bool all_opaque(const uint8_t *pixels, size_t count)
{
    const uint32_t *words = (const uint32_t *)pixels;
    uint32_t all = ~0u;
    for (size_t i = 0; i < count; i++) all &= words[i];
    return all >> 24 == 255;
}

bool gesso_band_decode(
    gesso_band_mode mode, const uint8_t *in, size_t length, uint8_t *scratch, uint8_t *pixels, uint32_t width, size_t count,
    size_t pixel_size, bool is_opaque)
{
    size_t raw = count * pixel_size;
    bool has_ways = pixel_size == 4 && width >= 8;
    switch (mode) {
    case GESSO_BAND_STORED:
        if (length != raw) return false;
        memcpy(pixels, in, raw);
        return !is_opaque || all_opaque(pixels, count);
    case GESSO_BAND_SOLID:
        if (length != pixel_size || (is_opaque && in[3] != 255)) return false;
        if (pixel_size == 1)
            memset(pixels, in[0], raw);
        else
            gesso_kernels_get()->fill((uint32_t *)pixels, count, gesso_load32(in));
        return true;
    case GESSO_BAND_LZ4:
        return length < raw && gesso_lz4_unpack(in, length, pixels, raw) == pixels
            && (!is_opaque || all_opaque(pixels, count));
    case GESSO_BAND_LONG_MASKS:
    case GESSO_BAND_MASKS:
        return has_ways
            && gesso_masks_decode(
                   mode == GESSO_BAND_LONG_MASKS, in, length, scratch, (uint32_t *)pixels, width, count, is_opaque);
    case GESSO_BAND_FILTER:
        return has_ways && gesso_filter_decode(in, length, scratch, (uint32_t *)pixels, width, count, is_opaque);
    case GESSO_BAND_OPERATIONS:
        return pixel_size == 4 && gesso_operations_decode(in, length, (uint32_t *)pixels, width, count)
            && (!is_opaque || all_opaque(pixels, count));
    default:
        return false;
    }
}

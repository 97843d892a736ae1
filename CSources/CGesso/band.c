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

/* Whether nearly all pixels of some rows are like no neighbour, as in photos. */
static bool is_photo(const gesso_band *band)
{
    enum { ROWS = 8 };
    const uint32_t *pixels = (const uint32_t *)band->pixels;
    size_t rows = band->count / band->width, looked_at = 0, literals = 0;
    for (size_t k = 0; k < ROWS && rows > ROWS; k++) {
        const uint32_t *row = pixels + (1 + k * (rows - 1) / ROWS) * band->width;
        for (uint32_t x = 1; x < band->width; x++)
            literals += (row[x] != row[x - 1]) & (row[x] != row[(ptrdiff_t)x - (ptrdiff_t)band->width]);
        looked_at += band->width - 1;
    }
    return looked_at > 0 && literals * 5 > looked_at * 4;
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
    size_t best = raw, capacity = raw - 1;
    uint8_t *tried = scratch + way_scratch(band->count, band->width);
    /* In rows of less than a group, a group would have its own pixels above it. */
    bool has_ways = band->pixel_size == 4 && band->width >= 8;
    size_t literals = band->count;
    bool photo = has_ways && level == GESSO_BLOB_FAST && is_photo(band);
    if (photo) {
        size_t length = gesso_filter_encode(band, scratch, out, capacity);
        if (length) best = length, *mode = GESSO_BAND_FILTER;
    } else if (has_ways) {
        size_t length = gesso_masks_encode(band, level, scratch, out, capacity, &literals);
        if (length) best = length, *mode = GESSO_BAND_MASKS;
        /* Many literals are a photo's. */
        if (level == GESSO_BLOB_SMALL || literals * 2 > band->count)
            keep_smaller(out, &best, mode, tried, gesso_filter_encode(band, scratch, tried, best), GESSO_BAND_FILTER);
    }
    /* What repeats from row to row elsewhere than right above is LZ4's: slanted and translucent gradients. */
    bool repeats = !has_ways || *mode == GESSO_BAND_STORED || level == GESSO_BLOB_SMALL || (literals * 64 > band->count && literals * 2 <= band->count);
    if (repeats) {
        size_t length = gesso_lz4_pack(band->pixels, raw, level, tried, best - 1);
        if (length < raw) keep_smaller(out, &best, mode, tried, length, GESSO_BAND_LZ4);
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
    case GESSO_BAND_MASKS:
        return has_ways && gesso_masks_decode(in, length, scratch, (uint32_t *)pixels, width, count, is_opaque);
    case GESSO_BAND_FILTER:
        return has_ways && gesso_filter_decode(in, length, scratch, (uint32_t *)pixels, width, count, is_opaque);
    default:
        return false;
    }
}

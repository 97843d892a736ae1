/* Cache blobs; the format is described byte by byte in BLOB.md. */
#include "internal.h"

#include <lz4.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Blobs hold little-endian pixels, which this code copies as they are."
#endif

enum { HEADER_SIZE = 64, BAND_SIZE = 24, BAND_PIXEL_BYTES = 256 << 10 };
enum { MODE_STORED = 0, MODE_SOLID = 1, MODE_LZ4 = 2 };
enum { FLAG_OPAQUE = 1 };
static const uint8_t magic[4] = {0x89, 'G', 'B', 'L'};

typedef struct header {
    uint32_t flags, width, height;
    gesso_format format;
    double scale;
    uint32_t rows_per_band, band_count;
    uint64_t total, table_hash;
} header;

/* memcpy, and not a cast, because nothing in a blob needs to be aligned. */
static uint32_t load32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint64_t load64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static void store32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
static void store64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

static uint32_t rows_per_band(uint64_t row_bytes)
{
    uint64_t rows = BAND_PIXEL_BYTES / row_bytes;
    return rows ? (uint32_t)rows : 1;
}

static uint32_t band_count(uint32_t height, uint32_t rows) { return height / rows + (height % rows != 0); }

size_t gesso_blob_bound(const gesso_bitmap *bitmap)
{
    if (!bitmap) return 0;
    uint64_t row = (uint64_t)gesso_row_bytes(bitmap->width, bitmap->format);
    /* A band that does not shrink is stored. */
    return HEADER_SIZE + (size_t)BAND_SIZE * band_count(bitmap->height, rows_per_band(row))
        + (size_t)row * bitmap->height;
}

/* The band's rows without padding, and opaque pixels with their unused byte set. */
static void gather(const gesso_bitmap *bitmap, uint32_t y, uint32_t rows, uint8_t *pixels)
{
    size_t row = (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
    for (uint32_t i = 0; i < rows; i++) {
        uint8_t *out = pixels + i * row;
        memcpy(out, bitmap->pixels + (ptrdiff_t)(y + i) * bitmap->stride, row);
        if (bitmap->format == GESSO_FORMAT_XRGB32)
            for (uint32_t x = 0; x < bitmap->width; x++) out[4 * (size_t)x + 3] = 255;
    }
}

static bool is_solid(const uint8_t *pixels, size_t bytes, size_t pixel)
{
    return memcmp(pixels, pixels + pixel, bytes - pixel) == 0;
}

gesso_status gesso_blob_encode(const gesso_bitmap *bitmap, uint8_t *buffer, size_t capacity, size_t *length)
{
    if (!bitmap || !buffer || !length) return GESSO_INVALID_ARGUMENT;
    if (capacity < gesso_blob_bound(bitmap)) return GESSO_BUFFER_TOO_SMALL;
    size_t row = (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
    size_t pixel = gesso_format_bytes_per_pixel(bitmap->format);
    uint32_t rows = rows_per_band(row), bands = band_count(bitmap->height, rows);
    if (row > LZ4_MAX_INPUT_SIZE) return GESSO_TOO_LARGE;
    size_t largest = row * (rows < bitmap->height ? rows : bitmap->height);
    uint8_t *pixels = malloc(largest);
    if (!pixels) return GESSO_OUT_OF_MEMORY;

    uint8_t *table = buffer + HEADER_SIZE;
    uint64_t offset = HEADER_SIZE + (uint64_t)BAND_SIZE * bands;
    for (uint32_t band = 0; band < bands; band++) {
        uint32_t y = band * rows, count = bitmap->height - y < rows ? bitmap->height - y : rows;
        size_t bytes = row * count;
        gather(bitmap, y, count, pixels);
        uint8_t *out = buffer + offset, *entry = table + (size_t)BAND_SIZE * band;
        uint8_t mode = MODE_STORED;
        size_t size = bytes;
        if (is_solid(pixels, bytes, pixel)) {
            mode = MODE_SOLID;
            size = pixel;
        } else if (bytes > 1) {
            /* Room for one byte less than the pixels: what does not fit is not worth decoding. */
            int packed = LZ4_compress_default((const char *)pixels, (char *)out, (int)bytes, (int)bytes - 1);
            if (packed > 0) mode = MODE_LZ4, size = (size_t)packed;
        }
        if (mode != MODE_LZ4) memcpy(out, pixels, size);
        memset(entry, 0, BAND_SIZE);
        store64(entry, offset);
        store32(entry + 8, (uint32_t)size);
        entry[12] = mode;
        store64(entry + 16, XXH3_64bits(out, size));
        offset += size;
    }
    free(pixels);

    memset(buffer, 0, HEADER_SIZE);
    memcpy(buffer, magic, 4);
    buffer[4] = 1;
    buffer[6] = HEADER_SIZE;
    store32(buffer + 8, bitmap->format == GESSO_FORMAT_XRGB32 ? FLAG_OPAQUE : 0);
    store32(buffer + 12, bitmap->width);
    store32(buffer + 16, bitmap->height);
    store32(buffer + 20, (uint32_t)bitmap->format);
    memcpy(buffer + 24, &bitmap->scale, 8);
    store32(buffer + 32, rows);
    store32(buffer + 36, bands);
    store64(buffer + 40, offset);
    store64(buffer + 48, XXH3_64bits(table, (size_t)BAND_SIZE * bands));
    store64(buffer + 56, XXH3_64bits(buffer, 56));
    *length = (size_t)offset;
    return GESSO_OK;
}

static gesso_status read_header(const uint8_t *bytes, size_t length, header *h)
{
    size_t seen = length < 4 ? length : 4;
    if (seen == 0 || memcmp(bytes, magic, seen) != 0) return GESSO_NOT_RECOGNIZED;
    if (length < HEADER_SIZE) return GESSO_TRUNCATED;
    if (bytes[4] != 1) return GESSO_UNSUPPORTED;
    if (load64(bytes + 56) != XXH3_64bits(bytes, 56)) return GESSO_CORRUPT;
    *h = (header){
        .flags = load32(bytes + 8), .width = load32(bytes + 12), .height = load32(bytes + 16),
        .format = (gesso_format)load32(bytes + 20), .rows_per_band = load32(bytes + 32),
        .band_count = load32(bytes + 36), .total = load64(bytes + 40), .table_hash = load64(bytes + 48)};
    memcpy(&h->scale, bytes + 24, 8);
    if (bytes[6] != HEADER_SIZE || bytes[7] || h->flags > FLAG_OPAQUE || !gesso_format_bytes_per_pixel(h->format))
        return GESSO_UNSUPPORTED;
    if (!h->width || !h->height || !isfinite(h->scale) || h->scale <= 0 || !h->rows_per_band
        || h->band_count != band_count(h->height, h->rows_per_band)
        || (h->format == GESSO_FORMAT_XRGB32) != (h->flags == FLAG_OPAQUE))
        return GESSO_CORRUPT;
    if (h->total < HEADER_SIZE + (uint64_t)BAND_SIZE * h->band_count) return GESSO_CORRUPT;
    if (h->total > length) return GESSO_TRUNCATED;
    return h->total < length ? GESSO_CORRUPT : GESSO_OK;
}

gesso_status gesso_blob_probe(const uint8_t *bytes, size_t length, gesso_blob_info *info)
{
    if (!bytes || !info || info->struct_size < sizeof *info) return GESSO_INVALID_ARGUMENT;
    header h;
    gesso_status status = read_header(bytes, length, &h);
    if (status) return status;
    *info = (gesso_blob_info){
        .struct_size = info->struct_size, .width = h.width, .height = h.height, .format = h.format, .scale = h.scale,
        .is_opaque = h.flags & FLAG_OPAQUE, .band_count = h.band_count, .total_bytes = h.total};
    return GESSO_OK;
}

/* Checks all of the table and each band's bytes, so that decoding meets nothing unexpected. */
static gesso_status check_bands(const uint8_t *bytes, const header *h)
{
    const uint8_t *table = bytes + HEADER_SIZE;
    if (h->table_hash != XXH3_64bits(table, (size_t)BAND_SIZE * h->band_count)) return GESSO_CORRUPT;
    uint64_t offset = HEADER_SIZE + (uint64_t)BAND_SIZE * h->band_count;
    for (uint32_t band = 0; band < h->band_count; band++) {
        const uint8_t *entry = table + (size_t)BAND_SIZE * band;
        uint32_t size = load32(entry + 8);
        if (load64(entry) != offset || size > h->total - offset) return GESSO_CORRUPT;
        if (entry[12] > MODE_LZ4 || entry[13] || entry[14] || entry[15]) return GESSO_UNSUPPORTED;
        if (load64(entry + 16) != XXH3_64bits(bytes + offset, size)) return GESSO_CORRUPT;
        offset += size;
    }
    return offset == h->total ? GESSO_OK : GESSO_CORRUPT;
}

static bool decode_band(uint8_t mode, const uint8_t *in, uint32_t size, uint8_t *pixels, size_t bytes, size_t pixel)
{
    switch (mode) {
    case MODE_STORED:
        if (size != bytes) return false;
        memcpy(pixels, in, bytes);
        return true;
    case MODE_SOLID:
        if (size != pixel) return false;
        for (size_t i = 0; i < bytes; i += pixel) memcpy(pixels + i, in, pixel);
        return true;
    default:
        return size <= INT32_MAX && bytes <= INT32_MAX
            && LZ4_decompress_safe((const char *)in, (char *)pixels, (int)size, (int)bytes) == (int)bytes;
    }
}

gesso_status gesso_blob_decode(
    const uint8_t *bytes, size_t length, const gesso_limits *limits, gesso_bitmap **result)
{
    if (!bytes || !result) return GESSO_INVALID_ARGUMENT;
    header h;
    gesso_status status = read_header(bytes, length, &h);
    size_t pixel = status ? 0 : gesso_format_bytes_per_pixel(h.format);
    if (!status) status = gesso_limits_check(limits, h.width, h.height, pixel);
    if (!status) status = check_bands(bytes, &h);
    if (status) return status;

    gesso_bitmap *bitmap;
    status = gesso_bitmap_create(h.width, h.height, h.format, h.scale, &bitmap);
    if (status) return status;
    size_t row = (size_t)h.width * pixel;
    bool padded = bitmap->stride != (ptrdiff_t)row;
    uint32_t most = h.rows_per_band < h.height ? h.rows_per_band : h.height;
    uint8_t *unpadded = padded ? malloc(row * most) : NULL;
    if (padded && !unpadded) status = GESSO_OUT_OF_MEMORY;
    for (uint32_t band = 0; !status && band < h.band_count; band++) {
        const uint8_t *entry = bytes + HEADER_SIZE + (size_t)BAND_SIZE * band;
        uint32_t y = band * h.rows_per_band, rows = h.height - y < h.rows_per_band ? h.height - y : h.rows_per_band;
        uint8_t *target = bitmap->pixels + (ptrdiff_t)y * bitmap->stride;
        uint8_t *pixels = padded ? unpadded : target;
        if (!decode_band(entry[12], bytes + load64(entry), load32(entry + 8), pixels, row * rows, pixel))
            status = GESSO_CORRUPT;
        for (uint32_t i = 0; padded && !status && i < rows; i++)
            memcpy(target + (ptrdiff_t)i * bitmap->stride, pixels + i * row, row);
    }
    free(unpadded);
    if (status)
        gesso_bitmap_release(bitmap);
    else
        *result = bitmap;
    return status;
}

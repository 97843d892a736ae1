#include "blob_internal.h"

#include <lz4.h>

/* The band's rows without padding, and opaque pixels with their unused byte set; where they are, if they are so. */
static const uint8_t *gather(const gesso_bitmap *bitmap, uint32_t y, uint32_t rows, uint8_t *pixels)
{
    size_t row = (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
    if (bitmap->format != GESSO_FORMAT_XRGB32 && bitmap->stride == (ptrdiff_t)row) return bitmap->pixels + y * row;
    for (uint32_t i = 0; i < rows; i++) {
        uint8_t *out = pixels + i * row;
        const uint8_t *in = bitmap->pixels + (ptrdiff_t)(y + i) * bitmap->stride;
        if (bitmap->format == GESSO_FORMAT_XRGB32)
            gesso_kernels_get()->copy_opaque((uint32_t *)out, (const uint32_t *)in, bitmap->width);
        else
            memcpy(out, in, row);
    }
    return pixels;
}

/* Where a picture's bands are written: each with room for its pixels, which is the most that it can take. */
typedef struct writing {
    const gesso_bitmap *bitmap;
    gesso_blob_level level;
    uint8_t *buffer;
    uint32_t rows_per_band, band_count;
    size_t row, band_bytes; /* bytes of a row, and of a band's pixels, aligned */
} writing;

static uint8_t *place_of(const writing *w, uint32_t band)
{
    size_t table = (size_t)GESSO_BLOB_ENTRY * w->band_count;
    return w->buffer + GESSO_BLOB_HEADER + table + (size_t)band * w->rows_per_band * w->row;
}

/* Writes a band to its place, and all but the offset to the table. */
static gesso_status encode_band(void *context, uint32_t band, uint8_t *memory)
{
    const writing *w = context;
    uint32_t y = band * w->rows_per_band, left = w->bitmap->height - y, rows = left < w->rows_per_band ? left : w->rows_per_band;
    const uint8_t *pixels = gather(w->bitmap, y, rows, memory);
    uint8_t *out = place_of(w, band), *entry = w->buffer + GESSO_BLOB_HEADER + (size_t)GESSO_BLOB_ENTRY * band;
    gesso_band_mode mode;
    size_t size = gesso_band_encode(
        &(gesso_band){pixels, w->bitmap->width, (size_t)w->bitmap->width * rows, gesso_format_bytes_per_pixel(w->bitmap->format)},
        w->level, memory + w->band_bytes, out, &mode);
    memset(entry, 0, GESSO_BLOB_ENTRY);
    gesso_store32(entry + 8, (uint32_t)size);
    entry[12] = (uint8_t)mode;
    gesso_store64(entry + 16, gesso_hash64(out, size));
    return GESSO_OK;
}

gesso_status gesso_blob_encode(
    const gesso_bitmap *bitmap, const gesso_blob_options *options, uint8_t *buffer, size_t capacity, size_t *length)
{
    if (!bitmap || !buffer || !length || (options && options->struct_size < sizeof *options)) return GESSO_INVALID_ARGUMENT;
    if (options && (unsigned)options->level > GESSO_BLOB_SMALL) return GESSO_INVALID_ARGUMENT;
    if (capacity < gesso_blob_bound(bitmap)) return GESSO_BUFFER_TOO_SMALL;
    size_t row = (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
    if (row > LZ4_MAX_INPUT_SIZE) return GESSO_TOO_LARGE;
    uint32_t rows = gesso_blob_rows_per_band(row), bands = gesso_blob_band_count(bitmap->height, rows);
    uint32_t most = rows < bitmap->height ? rows : bitmap->height;
    size_t pixels = (size_t)bitmap->width * most;
    writing w = {bitmap, options ? options->level : GESSO_BLOB_FAST, buffer, rows, bands, row, (row * most + 63) & ~(size_t)63};
    uint32_t threads = gesso_blob_threads(
        options ? options->thread_count : 1, (uint64_t)bitmap->width * bitmap->height, bands);
    gesso_band_result result = gesso_blob_each_band(
        0, bands, threads, options ? options->workspace : NULL, w.band_bytes + gesso_band_scratch(pixels, bitmap->width),
        encode_band, &w);
    if (result.status) return result.status;
    /* They come together. */
    uint8_t *table = buffer + GESSO_BLOB_HEADER;
    uint64_t offset = GESSO_BLOB_HEADER + (uint64_t)GESSO_BLOB_ENTRY * bands;
    for (uint32_t band = 0; band < bands; band++) {
        uint8_t *entry = table + (size_t)GESSO_BLOB_ENTRY * band;
        uint32_t size = gesso_load32(entry + 8);
        gesso_store64(entry, offset);
        memmove(buffer + offset, place_of(&w, band), size);
        offset += size;
    }
    gesso_blob_write_header(
        buffer,
        &(gesso_blob_header){
            .flags = gesso_bitmap_is_opaque(bitmap) ? GESSO_BLOB_OPAQUE : 0, .width = bitmap->width, .height = bitmap->height,
            .format = bitmap->format, .scale = bitmap->scale, .rows_per_band = rows, .band_count = bands, .total = offset,
            .table_hash = gesso_hash64(table, (size_t)GESSO_BLOB_ENTRY * bands)});
    *length = (size_t)offset;
    return GESSO_OK;
}

gesso_status gesso_blob_encode_new(
    const gesso_bitmap *bitmap, const gesso_blob_options *options, uint8_t **bytes, size_t *length)
{
    if (!bitmap || !bytes || !length) return GESSO_INVALID_ARGUMENT;
    size_t bound = gesso_blob_bound(bitmap);
    uint8_t *buffer = malloc(bound);
    if (!buffer) return GESSO_OUT_OF_MEMORY;
    gesso_status status = gesso_blob_encode(bitmap, options, buffer, bound, length);
    if (status) {
        free(buffer);
        return status;
    }
    uint8_t *shorter = realloc(buffer, *length);
    *bytes = shorter ? shorter : buffer;
    return GESSO_OK;
}

#include "blob_internal.h"

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
    gesso_blob_header header;
    size_t row, band_bytes; /* bytes of a row, and of a band's pixels, aligned */
} writing;

static gesso_blob_header header_of(const gesso_bitmap *bitmap, size_t row)
{
    uint32_t rows = gesso_blob_rows_per_band(row);
    gesso_blob_header h = {
        .width = bitmap->width, .height = bitmap->height, .format = bitmap->format, .is_opaque = gesso_bitmap_is_opaque(bitmap),
        .scale = bitmap->scale, .rows_per_band = rows < bitmap->height ? rows : bitmap->height};
    h.band_count = gesso_blob_band_count(h.height, h.rows_per_band);
    h.bands = gesso_blob_head_size(&h);
    return h;
}

size_t gesso_blob_bound(const gesso_bitmap *bitmap)
{
    if (!bitmap) return 0;
    size_t row = (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
    /* A band that does not shrink is stored. */
    return (size_t)header_of(bitmap, row).bands + row * bitmap->height;
}

/* Writes a band to its place, and its entry with the length where the end will be. */
static gesso_status encode_band(void *context, uint32_t band, uint8_t *memory)
{
    const writing *w = context;
    const gesso_blob_header *h = &w->header;
    uint32_t y = band * h->rows_per_band, left = h->height - y, rows = left < h->rows_per_band ? left : h->rows_per_band;
    const uint8_t *pixels = gather(w->bitmap, y, rows, memory);
    uint8_t *out = w->buffer + h->bands + (size_t)y * w->row;
    gesso_band_mode mode;
    size_t size = gesso_band_encode(
        &(gesso_band){pixels, h->width, (size_t)h->width * rows, gesso_format_bytes_per_pixel(h->format)}, w->level,
        memory + w->band_bytes, out, &mode);
    gesso_blob_write_entry(gesso_blob_written_entry(w->buffer, h, band), mode, size, gesso_hash64(out, size));
    return GESSO_OK;
}

/* Bands come together, one behind the other, and their lengths become their ends. */
static uint64_t join_bands(const writing *w)
{
    const gesso_blob_header *h = &w->header;
    uint64_t end = 0;
    for (uint32_t band = 0; band < h->band_count; band++) {
        uint8_t *entry = gesso_blob_written_entry(w->buffer, h, band);
        uint64_t size = gesso_blob_entry_end(entry);
        memmove(w->buffer + h->bands + end, w->buffer + h->bands + (size_t)band * h->rows_per_band * w->row, size);
        end += size;
        gesso_blob_set_entry_end(entry, end);
    }
    return end;
}

gesso_status gesso_blob_encode(
    const gesso_bitmap *bitmap, const gesso_blob_options *options, uint8_t *buffer, size_t capacity, size_t *length)
{
    if (!bitmap || !buffer || !length || (options && options->struct_size < sizeof *options)) return GESSO_INVALID_ARGUMENT;
    if (options && (unsigned)options->level > GESSO_BLOB_SMALL) return GESSO_INVALID_ARGUMENT;
    if (capacity < gesso_blob_bound(bitmap)) return GESSO_BUFFER_TOO_SMALL;
    size_t row = (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
    if (row > GESSO_BLOB_ROW_LIMIT || (uint64_t)row * bitmap->height > GESSO_BLOB_BANDS_LIMIT) return GESSO_TOO_LARGE;
    writing w = {
        .bitmap = bitmap, .level = options ? options->level : GESSO_BLOB_FAST, .buffer = buffer,
        .header = header_of(bitmap, row), .row = row};
    const gesso_blob_header *h = &w.header;
    w.band_bytes = (row * h->rows_per_band + 63) & ~(size_t)63;
    uint32_t threads = gesso_blob_threads(
        options ? options->thread_count : 1, (uint64_t)h->width * h->height, h->band_count);
    gesso_band_result result = gesso_blob_each_band(
        0, h->band_count, threads, options ? options->workspace : NULL,
        w.band_bytes + gesso_band_scratch((size_t)h->width * h->rows_per_band, h->width), encode_band, &w);
    if (result.status) return result.status;
    *length = (size_t)(h->bands + join_bands(&w));
    gesso_blob_write_head(buffer, h);
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

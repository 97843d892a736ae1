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

static gesso_status encode(
    const gesso_bitmap *bitmap, gesso_blob_level level, gesso_blob_workspace *workspace, uint8_t *buffer, size_t *length)
{
    size_t row = (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
    size_t pixel = gesso_format_bytes_per_pixel(bitmap->format);
    uint32_t rows = gesso_blob_rows_per_band(row), bands = gesso_blob_band_count(bitmap->height, rows);
    if (row > LZ4_MAX_INPUT_SIZE) return GESSO_TOO_LARGE;
    uint32_t most = rows < bitmap->height ? rows : bitmap->height;
    size_t band_bytes = (row * most + 63) & ~(size_t)63;
    uint8_t *pixels = gesso_blob_workspace_memory(
        workspace, band_bytes + gesso_band_scratch((size_t)bitmap->width * most, bitmap->width));
    if (!pixels) return GESSO_OUT_OF_MEMORY;
    uint8_t *table = buffer + GESSO_BLOB_HEADER;
    uint64_t offset = GESSO_BLOB_HEADER + (uint64_t)GESSO_BLOB_ENTRY * bands;
    for (uint32_t band = 0; band < bands; band++) {
        uint32_t y = band * rows, count = bitmap->height - y < rows ? bitmap->height - y : rows;
        uint8_t *out = buffer + offset, *entry = table + (size_t)GESSO_BLOB_ENTRY * band;
        const uint8_t *gathered = gather(bitmap, y, count, pixels);
        gesso_band_mode mode;
        size_t size = gesso_band_encode(
            &(gesso_band){gathered, bitmap->width, (size_t)bitmap->width * count, pixel}, level, pixels + band_bytes, out, &mode);
        memset(entry, 0, GESSO_BLOB_ENTRY);
        gesso_store64(entry, offset);
        gesso_store32(entry + 8, (uint32_t)size);
        entry[12] = (uint8_t)mode;
        gesso_store64(entry + 16, XXH3_64bits(out, size));
        offset += size;
    }
    gesso_blob_write_header(
        buffer,
        &(gesso_blob_header){
            .flags = gesso_bitmap_is_opaque(bitmap) ? GESSO_BLOB_OPAQUE : 0, .width = bitmap->width, .height = bitmap->height,
            .format = bitmap->format, .scale = bitmap->scale, .rows_per_band = rows, .band_count = bands, .total = offset,
            .table_hash = XXH3_64bits(table, (size_t)GESSO_BLOB_ENTRY * bands)});
    *length = (size_t)offset;
    return GESSO_OK;
}

gesso_status gesso_blob_encode(
    const gesso_bitmap *bitmap, const gesso_blob_options *options, uint8_t *buffer, size_t capacity, size_t *length)
{
    if (!bitmap || !buffer || !length || (options && options->struct_size < sizeof *options)) return GESSO_INVALID_ARGUMENT;
    if (options && (unsigned)options->level > GESSO_BLOB_SMALL) return GESSO_INVALID_ARGUMENT;
    if (capacity < gesso_blob_bound(bitmap)) return GESSO_BUFFER_TOO_SMALL;
    gesso_blob_workspace own = {0};
    gesso_status status = encode(
        bitmap, options ? options->level : GESSO_BLOB_FAST, options && options->workspace ? options->workspace : &own, buffer,
        length);
    free(own.memory);
    return status;
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

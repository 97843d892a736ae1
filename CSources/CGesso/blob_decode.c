#include "blob_internal.h"

/* Decodes one band, and copies the rows from ..< to of it, counted from its own first, to where they belong. */
static gesso_status decode_band(
    const uint8_t *bytes, const gesso_blob_header *h, uint32_t band, uint8_t *memory, uint32_t from, uint32_t to,
    uint8_t *target, ptrdiff_t stride)
{
    size_t pixel = gesso_format_bytes_per_pixel(h->format), row = (size_t)h->width * pixel;
    uint32_t y = band * h->rows_per_band, rows = h->height - y < h->rows_per_band ? h->height - y : h->rows_per_band;
    gesso_status status = gesso_blob_check_band(bytes, band);
    if (status) return status;
    const uint8_t *entry = bytes + GESSO_BLOB_HEADER + (size_t)GESSO_BLOB_ENTRY * band;
    /* Straight into the target where all of the band goes there, without padding. */
    bool straight = from == 0 && to == rows && stride == (ptrdiff_t)row;
    size_t band_bytes = (row * rows + 63) & ~(size_t)63;
    uint8_t *pixels = straight ? target : memory, *scratch = memory + (straight ? 0 : band_bytes);
    if (!gesso_band_decode(
            (gesso_band_mode)entry[12], bytes + gesso_load64(entry), gesso_load32(entry + 8), scratch, pixels, h->width,
            (size_t)h->width * rows, pixel, h->format == GESSO_FORMAT_XRGB32))
        return GESSO_CORRUPT;
    for (uint32_t i = from; !straight && i < to; i++)
        memcpy(target + (ptrdiff_t)(i - from) * stride, pixels + i * row, row);
    return GESSO_OK;
}

/* The rows first ..< end, of a blob whose table was checked. */
static gesso_status decode_rows(
    const uint8_t *bytes, const gesso_blob_header *h, gesso_blob_workspace *workspace, uint32_t first, uint32_t end,
    uint8_t *target, ptrdiff_t stride)
{
    uint32_t most = h->rows_per_band < h->height ? h->rows_per_band : h->height;
    size_t row = (size_t)h->width * gesso_format_bytes_per_pixel(h->format), band_bytes = (row * most + 63) & ~(size_t)63;
    uint8_t *memory = gesso_blob_workspace_memory(
        workspace, band_bytes + gesso_band_scratch((size_t)h->width * most, h->width));
    gesso_status status = memory ? GESSO_OK : GESSO_OUT_OF_MEMORY;
    for (uint32_t y = first; !status && y < end;) {
        uint32_t band = y / h->rows_per_band, top = band * h->rows_per_band;
        uint32_t bottom = h->height - top < h->rows_per_band ? h->height : top + h->rows_per_band;
        uint32_t last = bottom < end ? bottom : end;
        status = decode_band(bytes, h, band, memory, y - top, last - top, target + (ptrdiff_t)(y - first) * stride, stride);
        y = last;
    }
    return status;
}

gesso_status gesso_blob_decode(
    const uint8_t *bytes, size_t length, const gesso_limits *limits, gesso_bitmap **result)
{
    if (!bytes || !result) return GESSO_INVALID_ARGUMENT;
    gesso_blob_header h;
    gesso_status status = gesso_blob_read_header(bytes, length, &h);
    if (!status) status = gesso_limits_check(limits, h.width, h.height, gesso_format_bytes_per_pixel(h.format));
    if (!status) status = gesso_blob_check_table(bytes, &h);
    gesso_bitmap *bitmap;
    if (!status) status = gesso_bitmap_create_uninitialized(h.width, h.height, h.format, h.scale, &bitmap);
    if (status) return status;
    gesso_blob_workspace own = {0};
    status = decode_rows(bytes, &h, &own, 0, h.height, bitmap->pixels, bitmap->stride);
    free(own.memory);
    if (status)
        gesso_bitmap_release(bitmap);
    else
        *result = bitmap;
    return status;
}

gesso_status gesso_blob_decode_rows(
    const uint8_t *bytes, size_t length, gesso_blob_workspace *workspace, uint32_t first, uint32_t count,
    gesso_bitmap *bitmap)
{
    if (!bytes || !bitmap) return GESSO_INVALID_ARGUMENT;
    if (gesso_bitmap_is_frozen(bitmap)) return GESSO_FROZEN;
    gesso_blob_header h;
    gesso_status status = gesso_blob_read_header(bytes, length, &h);
    if (!status) status = gesso_blob_check_table(bytes, &h);
    if (status) return status;
    if (first > h.height || count > h.height - first || count > bitmap->height || bitmap->width != h.width
        || bitmap->format != h.format)
        return GESSO_INVALID_ARGUMENT;
    gesso_blob_workspace own = {0};
    status = decode_rows(
        bytes, &h, workspace ? workspace : &own, first, first + count, bitmap->pixels, bitmap->stride);
    free(own.memory);
    return status;
}

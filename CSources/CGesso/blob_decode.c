#include "blob_internal.h"

/* The rows first ..< end, and where they go. */
typedef struct rows_to_decode {
    const gesso_blob_reader *reader;
    uint32_t first, end;
    uint8_t *target;
    ptrdiff_t stride;
    size_t band_bytes; /* of pixels, aligned */
} rows_to_decode;

static gesso_status decode_band(void *context, uint32_t band, uint8_t *memory)
{
    const rows_to_decode *r = context;
    const gesso_blob_header *h = &r->reader->header;
    size_t pixel = gesso_format_bytes_per_pixel(h->format), row = (size_t)h->width * pixel;
    uint32_t top = band * h->rows_per_band, rows = h->height - top < h->rows_per_band ? h->height - top : h->rows_per_band;
    gesso_blob_entry entry = gesso_blob_entry_of(r->reader, band);
    if (!gesso_blob_is_intact(r->reader, &entry)) return GESSO_CORRUPT;
    uint32_t from = r->first > top ? r->first - top : 0, to = r->end - top < rows ? r->end - top : rows;
    uint8_t *target = r->target + (ptrdiff_t)(top + from - r->first) * r->stride;
    /* Straight into the target where all of the band goes there, without padding. */
    bool straight = from == 0 && to == rows && r->stride == (ptrdiff_t)row;
    uint8_t *pixels = straight ? target : memory;
    if (!gesso_band_decode(
            entry.mode, r->reader->bytes + entry.offset, (size_t)entry.length, memory + r->band_bytes, pixels, h->width,
            (size_t)h->width * rows, pixel, h->format == GESSO_FORMAT_XRGB32))
        return GESSO_CORRUPT;
    for (uint32_t i = from; !straight && i < to; i++)
        memcpy(target + (ptrdiff_t)(i - from) * r->stride, pixels + i * row, row);
    return GESSO_OK;
}

/* The rows first ..< end, of a blob whose table was checked. */
static gesso_status decode_rows(
    gesso_blob_reader *reader, const gesso_blob_reading *reading, uint32_t first, uint32_t end, const gesso_bitmap *bitmap)
{
    const gesso_blob_header *h = &reader->header;
    if (first == end) return GESSO_OK;
    uint32_t most = h->rows_per_band < h->height ? h->rows_per_band : h->height;
    size_t row = (size_t)h->width * gesso_format_bytes_per_pixel(h->format), band_bytes = (row * most + 63) & ~(size_t)63;
    rows_to_decode rows = {reader, first, end, bitmap->pixels, bitmap->stride, band_bytes};
    uint32_t band = first / h->rows_per_band, last = (end - 1) / h->rows_per_band + 1;
    gesso_band_result result = gesso_blob_each_band(
        band, last, gesso_blob_threads(reading ? reading->thread_count : 1, (uint64_t)(end - first) * h->width, last - band),
        reading ? reading->workspace : NULL, band_bytes + gesso_band_scratch((size_t)h->width * most, h->width), decode_band,
        &rows);
    if (result.status == GESSO_CORRUPT) {
        gesso_blob_entry entry = gesso_blob_entry_of(reader, result.band);
        gesso_blob_refuse(
            reader, GESSO_CORRUPT, entry.offset,
            gesso_blob_is_intact(reader, &entry) ? "bytes of a band" : "checksum of a band");
    }
    return result.status;
}

static bool is_valid(const gesso_blob_reading *reading) { return !reading || reading->struct_size >= sizeof *reading; }

static gesso_status finish(const gesso_blob_reader *reader, gesso_blob_reading *reading, gesso_status status)
{
    if (status && reading) reading->fault.offset = reader->fault.offset, reading->fault.what = reader->fault.what;
    return status;
}

/* At its first number. */
static gesso_status refuse_size(gesso_blob_reader *reader, gesso_status status)
{
    return gesso_blob_refuse(reader, status, reader->header.version == 1 ? 12 : 6, "size of the picture");
}

gesso_status gesso_blob_decode(const uint8_t *bytes, size_t length, gesso_blob_reading *reading, gesso_bitmap **result)
{
    if (!bytes || !result || !is_valid(reading)) return GESSO_INVALID_ARGUMENT;
    gesso_blob_reader reader = {.bytes = bytes, .length = length};
    const gesso_blob_header *h = &reader.header;
    gesso_status status = gesso_blob_read_header(&reader);
    if (!status) {
        status = gesso_limits_check(
            reading ? reading->limits : NULL, h->width, h->height, gesso_format_bytes_per_pixel(h->format));
        if (status) refuse_size(&reader, status);
    }
    if (!status) status = gesso_blob_check_table(&reader);
    gesso_bitmap *bitmap = NULL;
    if (!status) status = gesso_bitmap_create_uninitialized(h->width, h->height, h->format, h->scale, &bitmap);
    /* What no bitmap can have is over any limit. */
    if (status == GESSO_TOO_LARGE) status = refuse_size(&reader, GESSO_OVER_LIMIT);
    if (!status) status = decode_rows(&reader, reading, 0, h->height, bitmap);
    if (status)
        gesso_bitmap_release(bitmap);
    else
        *result = bitmap;
    return finish(&reader, reading, status);
}

gesso_status gesso_blob_decode_rows(
    const uint8_t *bytes, size_t length, gesso_blob_reading *reading, uint32_t first, uint32_t count, gesso_bitmap *bitmap)
{
    if (!bytes || !bitmap || !is_valid(reading)) return GESSO_INVALID_ARGUMENT;
    if (gesso_bitmap_is_frozen(bitmap)) return GESSO_FROZEN;
    gesso_blob_reader reader = {.bytes = bytes, .length = length};
    const gesso_blob_header *h = &reader.header;
    gesso_status status = gesso_blob_read_header(&reader);
    if (!status) status = gesso_blob_check_table(&reader);
    if (!status
        && (first > h->height || count > h->height - first || count > bitmap->height || bitmap->width != h->width
            || bitmap->format != h->format))
        return GESSO_INVALID_ARGUMENT;
    if (!status) status = decode_rows(&reader, reading, first, first + count, bitmap);
    return finish(&reader, reading, status);
}

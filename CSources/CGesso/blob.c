/* A blob's header and table; the format is described byte by byte in BLOB.md. */
#include "blob_internal.h"

enum { BAND_PIXEL_BYTES = 256 << 10 };
static const uint8_t magic[4] = {0x89, 'G', 'B', 'L'};

uint32_t gesso_blob_rows_per_band(uint64_t row_bytes)
{
    uint64_t rows = BAND_PIXEL_BYTES / row_bytes;
    return rows ? (uint32_t)rows : 1;
}

uint32_t gesso_blob_band_count(uint32_t height, uint32_t rows) { return height / rows + (height % rows != 0); }

size_t gesso_blob_bound(const gesso_bitmap *bitmap)
{
    if (!bitmap) return 0;
    uint64_t row = (uint64_t)gesso_row_bytes(bitmap->width, bitmap->format);
    /* A band that does not shrink is stored. */
    return GESSO_BLOB_HEADER
        + (size_t)GESSO_BLOB_ENTRY * gesso_blob_band_count(bitmap->height, gesso_blob_rows_per_band(row))
        + (size_t)row * bitmap->height;
}

void gesso_blob_write_header(uint8_t *buffer, const gesso_blob_header *h)
{
    memset(buffer, 0, GESSO_BLOB_HEADER);
    memcpy(buffer, magic, 4);
    buffer[4] = 1;
    buffer[6] = GESSO_BLOB_HEADER;
    gesso_store32(buffer + 8, h->flags);
    gesso_store32(buffer + 12, h->width);
    gesso_store32(buffer + 16, h->height);
    gesso_store32(buffer + 20, (uint32_t)h->format);
    memcpy(buffer + 24, &h->scale, 8);
    gesso_store32(buffer + 32, h->rows_per_band);
    gesso_store32(buffer + 36, h->band_count);
    gesso_store64(buffer + 40, h->total);
    gesso_store64(buffer + 48, h->table_hash);
    gesso_store64(buffer + 56, gesso_hash64(buffer, 56));
}

gesso_status gesso_blob_refuse(gesso_blob_reader *reader, gesso_status status, uint64_t offset, const char *what)
{
    if (!reader->fault.what) reader->fault.offset = offset, reader->fault.what = what;
    return status;
}

gesso_status gesso_blob_read_header(gesso_blob_reader *reader)
{
    const uint8_t *bytes = reader->bytes;
    size_t length = reader->length, seen = length < 4 ? length : 4;
    if (seen == 0 || memcmp(bytes, magic, seen) != 0) return gesso_blob_refuse(reader, GESSO_NOT_RECOGNIZED, 0, "mark");
    if (length < GESSO_BLOB_HEADER) return gesso_blob_refuse(reader, GESSO_TRUNCATED, length, "header");
    if (bytes[4] != 1) return gesso_blob_refuse(reader, GESSO_UNSUPPORTED, 4, "version");
    if (gesso_load64(bytes + 56) != gesso_hash64(bytes, 56))
        return gesso_blob_refuse(reader, GESSO_CORRUPT, 56, "checksum of the header");
    gesso_blob_header *h = &reader->header;
    *h = (gesso_blob_header){
        .flags = gesso_load32(bytes + 8), .width = gesso_load32(bytes + 12), .height = gesso_load32(bytes + 16),
        .format = (gesso_format)gesso_load32(bytes + 20), .rows_per_band = gesso_load32(bytes + 32),
        .band_count = gesso_load32(bytes + 36), .total = gesso_load64(bytes + 40), .table_hash = gesso_load64(bytes + 48)};
    memcpy(&h->scale, bytes + 24, 8);
    const struct {
        bool is_wrong;
        gesso_status status;
        uint64_t offset;
        const char *what;
    } checks[] = {
        {bytes[6] != GESSO_BLOB_HEADER || bytes[7], GESSO_UNSUPPORTED, 6, "size of the header"},
        {h->flags > GESSO_BLOB_OPAQUE, GESSO_UNSUPPORTED, 8, "flags"},
        {!gesso_format_bytes_per_pixel(h->format), GESSO_UNSUPPORTED, 20, "pixel format"},
        {(h->format == GESSO_FORMAT_XRGB32) != (h->flags == GESSO_BLOB_OPAQUE), GESSO_CORRUPT, 8, "flags"},
        {!h->width, GESSO_CORRUPT, 12, "width"},
        {!h->height, GESSO_CORRUPT, 16, "height"},
        {!isfinite(h->scale) || h->scale <= 0, GESSO_CORRUPT, 24, "scale"},
        {!h->rows_per_band, GESSO_CORRUPT, 32, "rows of a band"},
        {h->rows_per_band && h->band_count != gesso_blob_band_count(h->height, h->rows_per_band), GESSO_CORRUPT, 36,
         "number of bands"},
        {h->total < GESSO_BLOB_HEADER + (uint64_t)GESSO_BLOB_ENTRY * h->band_count, GESSO_CORRUPT, 40, "size of the blob"},
        {h->total > length, GESSO_TRUNCATED, length, "bytes"},
        {h->total < length, GESSO_CORRUPT, h->total, "bytes behind the end"}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].is_wrong) return gesso_blob_refuse(reader, checks[i].status, checks[i].offset, checks[i].what);
    return GESSO_OK;
}

gesso_status gesso_blob_check_table(gesso_blob_reader *reader)
{
    const gesso_blob_header *h = &reader->header;
    if (h->table_hash != gesso_hash64(gesso_blob_entry(reader->bytes, 0), (size_t)GESSO_BLOB_ENTRY * h->band_count))
        return gesso_blob_refuse(reader, GESSO_CORRUPT, 48, "checksum of the table");
    uint64_t offset = GESSO_BLOB_HEADER + (uint64_t)GESSO_BLOB_ENTRY * h->band_count;
    for (uint32_t band = 0; band < h->band_count; band++) {
        const uint8_t *entry = gesso_blob_entry(reader->bytes, band);
        uint64_t at = (uint64_t)(entry - reader->bytes);
        uint32_t size = gesso_load32(entry + 8);
        if (gesso_load64(entry) != offset) return gesso_blob_refuse(reader, GESSO_CORRUPT, at, "offset of a band");
        if (size > h->total - offset) return gesso_blob_refuse(reader, GESSO_CORRUPT, at + 8, "length of a band");
        if (entry[12] >= GESSO_BAND_MODES || entry[13] || entry[14] || entry[15])
            return gesso_blob_refuse(reader, GESSO_UNSUPPORTED, at + 12, "mode of a band");
        offset += size;
    }
    return offset == h->total ? GESSO_OK : gesso_blob_refuse(reader, GESSO_CORRUPT, offset, "bytes behind the last band");
}

bool gesso_blob_band_is_intact(const uint8_t *bytes, uint32_t band)
{
    const uint8_t *entry = gesso_blob_entry(bytes, band);
    return gesso_load64(entry + 16) == gesso_hash64(bytes + gesso_load64(entry), gesso_load32(entry + 8));
}

gesso_status gesso_blob_probe(const uint8_t *bytes, size_t length, gesso_blob_info *info)
{
    if (!bytes || !info || info->struct_size < sizeof *info) return GESSO_INVALID_ARGUMENT;
    gesso_blob_reader reader = {.bytes = bytes, .length = length};
    gesso_status status = gesso_blob_read_header(&reader);
    if (status) return status;
    const gesso_blob_header *h = &reader.header;
    *info = (gesso_blob_info){
        .struct_size = info->struct_size, .width = h->width, .height = h->height, .format = h->format, .scale = h->scale,
        .is_opaque = h->flags & GESSO_BLOB_OPAQUE, .band_count = h->band_count, .total_bytes = h->total};
    return GESSO_OK;
}

gesso_status gesso_blob_verify(const uint8_t *bytes, size_t length, gesso_blob_fault *fault)
{
    if (!bytes || (fault && fault->struct_size < sizeof *fault)) return GESSO_INVALID_ARGUMENT;
    gesso_blob_reader reader = {.bytes = bytes, .length = length};
    gesso_status status = gesso_blob_read_header(&reader);
    if (!status) status = gesso_blob_check_table(&reader);
    for (uint32_t band = 0; !status && band < reader.header.band_count; band++)
        if (!gesso_blob_band_is_intact(bytes, band))
            status = gesso_blob_refuse(
                &reader, GESSO_CORRUPT, gesso_load64(gesso_blob_entry(bytes, band)), "checksum of a band");
    if (status && fault) fault->offset = reader.fault.offset, fault->what = reader.fault.what;
    return status;
}

gesso_status gesso_blob_bands_get(
    const uint8_t *bytes, size_t length, uint32_t first, uint32_t count, gesso_blob_band *bands)
{
    if (!bytes || (count && (!bands || bands->struct_size < sizeof *bands))) return GESSO_INVALID_ARGUMENT;
    gesso_blob_reader reader = {.bytes = bytes, .length = length};
    const gesso_blob_header *h = &reader.header;
    gesso_status status = gesso_blob_read_header(&reader);
    if (!status) status = gesso_blob_check_table(&reader);
    if (!status && (first > h->band_count || count > h->band_count - first)) status = GESSO_INVALID_ARGUMENT;
    static const char *const modes[] = {"stored", "solid", "lz4", "masks", "filter"};
    for (uint32_t i = 0; !status && i < count; i++) {
        const uint8_t *entry = gesso_blob_entry(bytes, first + i);
        uint32_t row = (first + i) * h->rows_per_band, left = h->height - row;
        bands[i] = (gesso_blob_band){
            .struct_size = sizeof *bands, .mode = modes[entry[12]], .first_row = row,
            .row_count = left < h->rows_per_band ? left : h->rows_per_band, .offset = gesso_load64(entry),
            .length = gesso_load32(entry + 8)};
    }
    return status;
}

/* What a blob says of itself, without its pixels; the format is described byte by byte in BLOB.md. */
#include "blob_internal.h"

enum { BAND_PIXEL_BYTES = 256 << 10 };

uint32_t gesso_blob_rows_per_band(uint64_t row_bytes)
{
    uint64_t rows = BAND_PIXEL_BYTES / row_bytes;
    return rows ? (uint32_t)rows : 1;
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
        .is_opaque = h->is_opaque, .band_count = h->band_count, .total_bytes = h->total};
    return GESSO_OK;
}

gesso_status gesso_blob_verify(const uint8_t *bytes, size_t length, gesso_blob_fault *fault)
{
    if (!bytes || (fault && fault->struct_size < sizeof *fault)) return GESSO_INVALID_ARGUMENT;
    gesso_blob_reader reader = {.bytes = bytes, .length = length};
    gesso_status status = gesso_blob_read_header(&reader);
    if (!status) status = gesso_blob_check_table(&reader);
    for (uint32_t band = 0; !status && band < reader.header.band_count; band++) {
        gesso_blob_entry entry = gesso_blob_entry_of(&reader, band);
        if (!gesso_blob_is_intact(&reader, &entry))
            status = gesso_blob_refuse(&reader, GESSO_CORRUPT, entry.offset, "checksum of a band");
    }
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
    static const char *const modes[GESSO_BAND_MODES] = {
        "stored", "solid", "lz4", "masks", "filter", "masks", "operations"};
    for (uint32_t i = 0; !status && i < count; i++) {
        gesso_blob_entry entry = gesso_blob_entry_of(&reader, first + i);
        uint32_t row = (first + i) * h->rows_per_band, left = h->height - row;
        bands[i] = (gesso_blob_band){
            .struct_size = sizeof *bands, .mode = modes[entry.mode], .first_row = row,
            .row_count = left < h->rows_per_band ? left : h->rows_per_band, .offset = entry.offset, .length = entry.length};
    }
    return status;
}

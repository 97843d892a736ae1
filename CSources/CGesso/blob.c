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
    gesso_store64(buffer + 56, XXH3_64bits(buffer, 56));
}

gesso_status gesso_blob_read_header(const uint8_t *bytes, size_t length, gesso_blob_header *h)
{
    size_t seen = length < 4 ? length : 4;
    if (seen == 0 || memcmp(bytes, magic, seen) != 0) return GESSO_NOT_RECOGNIZED;
    if (length < GESSO_BLOB_HEADER) return GESSO_TRUNCATED;
    if (bytes[4] != 1) return GESSO_UNSUPPORTED;
    if (gesso_load64(bytes + 56) != XXH3_64bits(bytes, 56)) return GESSO_CORRUPT;
    *h = (gesso_blob_header){
        .flags = gesso_load32(bytes + 8), .width = gesso_load32(bytes + 12), .height = gesso_load32(bytes + 16),
        .format = (gesso_format)gesso_load32(bytes + 20), .rows_per_band = gesso_load32(bytes + 32),
        .band_count = gesso_load32(bytes + 36), .total = gesso_load64(bytes + 40), .table_hash = gesso_load64(bytes + 48)};
    memcpy(&h->scale, bytes + 24, 8);
    if (bytes[6] != GESSO_BLOB_HEADER || bytes[7] || h->flags > GESSO_BLOB_OPAQUE || !gesso_format_bytes_per_pixel(h->format))
        return GESSO_UNSUPPORTED;
    if (!h->width || !h->height || !isfinite(h->scale) || h->scale <= 0 || !h->rows_per_band
        || h->band_count != gesso_blob_band_count(h->height, h->rows_per_band)
        || (h->format == GESSO_FORMAT_XRGB32) != (h->flags == GESSO_BLOB_OPAQUE))
        return GESSO_CORRUPT;
    if (h->total < GESSO_BLOB_HEADER + (uint64_t)GESSO_BLOB_ENTRY * h->band_count) return GESSO_CORRUPT;
    if (h->total > length) return GESSO_TRUNCATED;
    return h->total < length ? GESSO_CORRUPT : GESSO_OK;
}

gesso_status gesso_blob_check_table(const uint8_t *bytes, const gesso_blob_header *h)
{
    const uint8_t *table = bytes + GESSO_BLOB_HEADER;
    if (h->table_hash != XXH3_64bits(table, (size_t)GESSO_BLOB_ENTRY * h->band_count)) return GESSO_CORRUPT;
    uint64_t offset = GESSO_BLOB_HEADER + (uint64_t)GESSO_BLOB_ENTRY * h->band_count;
    for (uint32_t band = 0; band < h->band_count; band++) {
        const uint8_t *entry = table + (size_t)GESSO_BLOB_ENTRY * band;
        uint32_t size = gesso_load32(entry + 8);
        if (gesso_load64(entry) != offset || size > h->total - offset) return GESSO_CORRUPT;
        if (entry[12] >= GESSO_BAND_MODES || entry[13] || entry[14] || entry[15]) return GESSO_UNSUPPORTED;
        offset += size;
    }
    return offset == h->total ? GESSO_OK : GESSO_CORRUPT;
}

gesso_status gesso_blob_check_band(const uint8_t *bytes, uint32_t band)
{
    const uint8_t *entry = bytes + GESSO_BLOB_HEADER + (size_t)GESSO_BLOB_ENTRY * band;
    uint64_t hash = XXH3_64bits(bytes + gesso_load64(entry), gesso_load32(entry + 8));
    return gesso_load64(entry + 16) == hash ? GESSO_OK : GESSO_CORRUPT;
}

gesso_status gesso_blob_probe(const uint8_t *bytes, size_t length, gesso_blob_info *info)
{
    if (!bytes || !info || info->struct_size < sizeof *info) return GESSO_INVALID_ARGUMENT;
    gesso_blob_header h;
    gesso_status status = gesso_blob_read_header(bytes, length, &h);
    if (status) return status;
    *info = (gesso_blob_info){
        .struct_size = info->struct_size, .width = h.width, .height = h.height, .format = h.format, .scale = h.scale,
        .is_opaque = h.flags & GESSO_BLOB_OPAQUE, .band_count = h.band_count, .total_bytes = h.total};
    return GESSO_OK;
}

gesso_status gesso_blob_verify(const uint8_t *bytes, size_t length)
{
    if (!bytes) return GESSO_INVALID_ARGUMENT;
    gesso_blob_header h;
    gesso_status status = gesso_blob_read_header(bytes, length, &h);
    if (!status) status = gesso_blob_check_table(bytes, &h);
    for (uint32_t band = 0; !status && band < h.band_count; band++) status = gesso_blob_check_band(bytes, band);
    return status;
}

gesso_status gesso_blob_bands_get(
    const uint8_t *bytes, size_t length, uint32_t first, uint32_t count, gesso_blob_band *bands)
{
    if (!bytes || (count && (!bands || bands->struct_size < sizeof *bands))) return GESSO_INVALID_ARGUMENT;
    gesso_blob_header h;
    gesso_status status = gesso_blob_read_header(bytes, length, &h);
    if (!status) status = gesso_blob_check_table(bytes, &h);
    if (!status && (first > h.band_count || count > h.band_count - first)) status = GESSO_INVALID_ARGUMENT;
    static const char *const modes[] = {"stored", "solid", "lz4", "masks", "filter"};
    for (uint32_t i = 0; !status && i < count; i++) {
        const uint8_t *entry = bytes + GESSO_BLOB_HEADER + (size_t)GESSO_BLOB_ENTRY * (first + i);
        uint32_t row = (first + i) * h.rows_per_band, left = h.height - row;
        bands[i] = (gesso_blob_band){
            .struct_size = sizeof *bands, .mode = modes[entry[12]], .first_row = row,
            .row_count = left < h.rows_per_band ? left : h.rows_per_band, .offset = gesso_load64(entry),
            .length = gesso_load32(entry + 8)};
    }
    return status;
}

gesso_blob_workspace *gesso_blob_workspace_create(void) { return calloc(1, sizeof(gesso_blob_workspace)); }

void gesso_blob_workspace_release(gesso_blob_workspace *workspace)
{
    if (!workspace) return;
    free(workspace->memory);
    free(workspace);
}

uint8_t *gesso_blob_workspace_memory(gesso_blob_workspace *workspace, size_t size)
{
    if (workspace->size >= size) return workspace->memory;
    uint8_t *memory = malloc(size);
    if (!memory) return NULL;
    free(workspace->memory);
    workspace->memory = memory;
    workspace->size = size;
    return memory;
}

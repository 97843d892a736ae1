/* What a blob begins with: the header and the table of bands. BLOB.md describes both versions byte by byte. */
#include "blob_internal.h"

enum { FIXED = 6, ENTRY = 14, HASH = 8, OPAQUE = 4 };
/* Of version 1. */
enum { OLD_HEADER = 64, OLD_ENTRY = 24, OLD_OPAQUE = 1 };
static const uint8_t magic[4] = {0x89, 'G', 'B', 'L'};

uint32_t gesso_blob_band_count(uint32_t height, uint32_t rows) { return height / rows + (height % rows != 0); }

/* The scale as one byte, where it is such a number; 0 where all of it follows. */
static uint8_t short_scale(double scale) { return scale >= 1 && scale <= 255 && scale == floor(scale) ? (uint8_t)scale : 0; }

size_t gesso_blob_head_size(const gesso_blob_header *h)
{
    size_t numbers = gesso_varint_size(h->width) + gesso_varint_size(h->height) + gesso_varint_size(h->rows_per_band);
    return FIXED + numbers + (short_scale(h->scale) ? 1 : 1 + 8) + (size_t)ENTRY * h->band_count + HASH;
}

void gesso_blob_write_head(uint8_t *buffer, const gesso_blob_header *h)
{
    memcpy(buffer, magic, 4);
    buffer[4] = 2;
    buffer[5] = (uint8_t)((unsigned)h->format | (h->is_opaque ? OPAQUE : 0));
    uint8_t *at = buffer + FIXED;
    at += gesso_varint_write(at, h->width);
    at += gesso_varint_write(at, h->height);
    at += gesso_varint_write(at, h->rows_per_band);
    if (!(*at++ = short_scale(h->scale))) {
        memcpy(at, &h->scale, 8);
        at += 8;
    }
    size_t table = (size_t)ENTRY * h->band_count; /* which is there already */
    gesso_store64(at + table, gesso_hash64(buffer, (size_t)(at - buffer) + table));
}

uint8_t *gesso_blob_written_entry(uint8_t *buffer, const gesso_blob_header *h, uint32_t band)
{
    return buffer + gesso_blob_head_size(h) - HASH - (size_t)ENTRY * (h->band_count - band);
}
void gesso_blob_write_entry(uint8_t *entry, gesso_band_mode mode, uint64_t end, uint64_t hash)
{
    entry[0] = (uint8_t)mode;
    gesso_blob_set_entry_end(entry, end);
    gesso_store64(entry + 6, hash);
}
void gesso_blob_set_entry_end(uint8_t *entry, uint64_t end) { memcpy(entry + 1, &end, 5); }
uint64_t gesso_blob_entry_end(const uint8_t *entry)
{
    uint64_t end = 0;
    memcpy(&end, entry + 1, 5);
    return end;
}

gesso_blob_entry gesso_blob_entry_of(const gesso_blob_reader *reader, uint32_t band)
{
    const gesso_blob_header *h = &reader->header;
    if (h->version == 1) {
        const uint8_t *entry = reader->bytes + h->table + (size_t)OLD_ENTRY * band;
        return (gesso_blob_entry){
            gesso_load64(entry), gesso_load32(entry + 8), (gesso_band_mode)entry[12], gesso_load64(entry + 16)};
    }
    const uint8_t *entry = reader->bytes + h->table + (size_t)ENTRY * band;
    uint64_t begin = band ? gesso_blob_entry_end(entry - ENTRY) : 0;
    return (gesso_blob_entry){h->bands + begin, gesso_blob_entry_end(entry) - begin, (gesso_band_mode)entry[0], gesso_load64(entry + 6)};
}

gesso_status gesso_blob_refuse(gesso_blob_reader *reader, gesso_status status, uint64_t offset, const char *what)
{
    if (!reader->fault.what) reader->fault.offset = offset, reader->fault.what = what;
    return status;
}

/* Whether reading a band takes more memory than a writer ever makes necessary: many rows of more pixels than that. */
static bool has_large_bands(const gesso_blob_header *h)
{
    uint64_t row = (uint64_t)h->width * gesso_format_bytes_per_pixel(h->format);
    uint32_t rows = h->rows_per_band < h->height ? h->rows_per_band : h->height;
    return rows > 1 && row > GESSO_BLOB_BAND_LIMIT / rows;
}
static bool has_large_rows(const gesso_blob_header *h)
{
    return (uint64_t)h->width * gesso_format_bytes_per_pixel(h->format) > GESSO_BLOB_ROW_LIMIT;
}

/* A thing that must not be so. */
typedef struct check {
    bool is_wrong;
    gesso_status status;
    uint64_t offset;
    const char *what;
} check;

static gesso_status check_all(gesso_blob_reader *reader, const check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (checks[i].is_wrong) return gesso_blob_refuse(reader, checks[i].status, checks[i].offset, checks[i].what);
    return GESSO_OK;
}

/* The version that is written: numbers of few bytes, and one checksum for them and the table. */
static gesso_status read_header_2(gesso_blob_reader *reader)
{
    const uint8_t *bytes = reader->bytes;
    gesso_blob_header *h = &reader->header;
    size_t length = reader->length, at = FIXED, width_at = at, height_at, rows_at, scale_at;
    bool are_numbers = gesso_varint_read(bytes, length, &at, &h->width);
    height_at = at, are_numbers = are_numbers && gesso_varint_read(bytes, length, &at, &h->height);
    rows_at = at, are_numbers = are_numbers && gesso_varint_read(bytes, length, &at, &h->rows_per_band);
    scale_at = at;
    if (!are_numbers && length - at >= 5) return gesso_blob_refuse(reader, GESSO_CORRUPT, at, "size");
    if (!are_numbers || at == length || (bytes[at] == 0 && length - at < 9))
        return gesso_blob_refuse(reader, GESSO_TRUNCATED, length, "header");
    h->scale = bytes[at++];
    if (h->scale == 0) {
        memcpy(&h->scale, bytes + at, 8);
        at += 8;
    }
    const check sizes[] = {
        {!h->width, GESSO_CORRUPT, width_at, "width"},
        {!h->height, GESSO_CORRUPT, height_at, "height"},
        {!h->rows_per_band, GESSO_CORRUPT, rows_at, "rows of a band"}};
    gesso_status status = check_all(reader, sizes, sizeof sizes / sizeof *sizes);
    if (status) return status;
    h->table = at;
    h->band_count = gesso_blob_band_count(h->height, h->rows_per_band);
    if ((length - at) / ENTRY < h->band_count || length - at - (size_t)ENTRY * h->band_count < HASH)
        return gesso_blob_refuse(reader, GESSO_TRUNCATED, length, "header");
    size_t hash_at = at + (size_t)ENTRY * h->band_count;
    h->bands = hash_at + HASH;
    h->total = h->bands + gesso_blob_entry_end(bytes + hash_at - ENTRY);
    h->format = (gesso_format)(bytes[5] & 3);
    h->is_opaque = bytes[5] & OPAQUE;
    const check rest[] = {
        {gesso_load64(bytes + hash_at) != gesso_hash64(bytes, hash_at), GESSO_CORRUPT, hash_at, "checksum of the header"},
        {bytes[5] > 7, GESSO_UNSUPPORTED, 5, "flags"},
        {!gesso_format_bytes_per_pixel(h->format), GESSO_UNSUPPORTED, 5, "pixel format"},
        {(h->format == GESSO_FORMAT_XRGB32) != h->is_opaque, GESSO_CORRUPT, 5, "flags"},
        {!isfinite(h->scale) || h->scale <= 0, GESSO_CORRUPT, scale_at, "scale"},
        {has_large_rows(h), GESSO_UNSUPPORTED, width_at, "width"},
        {h->rows_per_band > h->height || has_large_bands(h), GESSO_CORRUPT, rows_at, "rows of a band"},
        {h->total > length, GESSO_TRUNCATED, length, "bytes"},
        {h->total < length, GESSO_CORRUPT, h->total, "bytes behind the end"}};
    return check_all(reader, rest, sizeof rest / sizeof *rest);
}

static gesso_status read_header_1(gesso_blob_reader *reader)
{
    const uint8_t *bytes = reader->bytes;
    size_t length = reader->length;
    if (length < OLD_HEADER) return gesso_blob_refuse(reader, GESSO_TRUNCATED, length, "header");
    if (gesso_load64(bytes + 56) != gesso_hash64(bytes, 56))
        return gesso_blob_refuse(reader, GESSO_CORRUPT, 56, "checksum of the header");
    gesso_blob_header *h = &reader->header;
    uint32_t flags = gesso_load32(bytes + 8), bands = gesso_load32(bytes + 36);
    h->width = gesso_load32(bytes + 12), h->height = gesso_load32(bytes + 16);
    h->format = (gesso_format)gesso_load32(bytes + 20);
    h->is_opaque = flags & OLD_OPAQUE;
    memcpy(&h->scale, bytes + 24, 8);
    h->rows_per_band = gesso_load32(bytes + 32), h->band_count = bands;
    h->total = gesso_load64(bytes + 40);
    h->table = OLD_HEADER;
    h->bands = OLD_HEADER + (uint64_t)OLD_ENTRY * bands;
    const check checks[] = {
        {bytes[6] != OLD_HEADER || bytes[7], GESSO_UNSUPPORTED, 6, "size of the header"},
        {flags > OLD_OPAQUE, GESSO_UNSUPPORTED, 8, "flags"},
        {!gesso_format_bytes_per_pixel(h->format), GESSO_UNSUPPORTED, 20, "pixel format"},
        {(h->format == GESSO_FORMAT_XRGB32) != h->is_opaque, GESSO_CORRUPT, 8, "flags"},
        {!h->width, GESSO_CORRUPT, 12, "width"},
        {!h->height, GESSO_CORRUPT, 16, "height"},
        {!isfinite(h->scale) || h->scale <= 0, GESSO_CORRUPT, 24, "scale"},
        {has_large_rows(h), GESSO_UNSUPPORTED, 12, "width"},
        {!h->rows_per_band || has_large_bands(h), GESSO_CORRUPT, 32, "rows of a band"},
        {h->rows_per_band && bands != gesso_blob_band_count(h->height, h->rows_per_band), GESSO_CORRUPT, 36, "number of bands"},
        {h->total < h->bands, GESSO_CORRUPT, 40, "size of the blob"},
        {h->total > length, GESSO_TRUNCATED, length, "bytes"},
        {h->total < length, GESSO_CORRUPT, h->total, "bytes behind the end"}};
    return check_all(reader, checks, sizeof checks / sizeof *checks);
}

gesso_status gesso_blob_read_header(gesso_blob_reader *reader)
{
    const uint8_t *bytes = reader->bytes;
    size_t length = reader->length, seen = length < 4 ? length : 4;
    if (seen == 0 || memcmp(bytes, magic, seen) != 0) return gesso_blob_refuse(reader, GESSO_NOT_RECOGNIZED, 0, "mark");
    if (length < FIXED) return gesso_blob_refuse(reader, GESSO_TRUNCATED, length, "header");
    reader->header.version = bytes[4];
    if (bytes[4] == 1) return read_header_1(reader);
    if (bytes[4] == 2) return read_header_2(reader);
    return gesso_blob_refuse(reader, GESSO_UNSUPPORTED, 4, "version");
}

/* Version 1 has a checksum of the table and the offsets of bands, which have to follow one another, and reserved bytes. */
static gesso_status check_old_entry(gesso_blob_reader *reader, uint32_t band, uint64_t offset)
{
    uint64_t at = reader->header.table + (uint64_t)OLD_ENTRY * band;
    const uint8_t *entry = reader->bytes + at;
    if (gesso_load64(entry) != offset) return gesso_blob_refuse(reader, GESSO_CORRUPT, at, "offset of a band");
    if (entry[13] || entry[14] || entry[15]) return gesso_blob_refuse(reader, GESSO_UNSUPPORTED, at + 12, "mode of a band");
    return GESSO_OK;
}

gesso_status gesso_blob_check_table(gesso_blob_reader *reader)
{
    const gesso_blob_header *h = &reader->header;
    bool is_old = h->version == 1;
    if (is_old
        && gesso_load64(reader->bytes + 48) != gesso_hash64(reader->bytes + h->table, (size_t)OLD_ENTRY * h->band_count))
        return gesso_blob_refuse(reader, GESSO_CORRUPT, 48, "checksum of the table");
    uint64_t offset = h->bands;
    for (uint32_t band = 0; band < h->band_count; band++) {
        gesso_status status = is_old ? check_old_entry(reader, band, offset) : GESSO_OK;
        if (status) return status;
        uint64_t at = h->table + (uint64_t)(is_old ? OLD_ENTRY : ENTRY) * band;
        gesso_blob_entry entry = gesso_blob_entry_of(reader, band);
        /* An end before the begin wraps, and is far over what there is. */
        if (entry.length > h->total - offset || entry.length > UINT32_MAX)
            return gesso_blob_refuse(reader, GESSO_CORRUPT, at + (is_old ? 8 : 1), "length of a band");
        bool is_known = is_old ? entry.mode <= GESSO_BAND_FILTER
                               : entry.mode < GESSO_BAND_MODES && entry.mode != GESSO_BAND_LONG_MASKS;
        if (!is_known)
            return gesso_blob_refuse(reader, GESSO_UNSUPPORTED, at + (is_old ? 12 : 0), "mode of a band");
        offset += entry.length;
    }
    return offset == h->total ? GESSO_OK : gesso_blob_refuse(reader, GESSO_CORRUPT, offset, "bytes behind the last band");
}

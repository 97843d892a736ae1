/* A blob's header and table. */
#ifndef GESSO_BLOB_INTERNAL_H
#define GESSO_BLOB_INTERNAL_H

#include "band.h"
#include "hash.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Blobs hold little-endian pixels, which this code copies as they are."
#endif

/* Bytes that all bands take at most: an end has 40 bits. */
#define GESSO_BLOB_BANDS_LIMIT (((uint64_t)1 << 40) - 1)

/* Bytes of a row's pixels, for LZ4's sake, and of those of a band that has more than one row: sixteen times what is
 * written. */
#define GESSO_BLOB_ROW_LIMIT ((uint64_t)0x7e000000)
#define GESSO_BLOB_BAND_LIMIT ((uint64_t)4 << 20)

typedef struct gesso_blob_header {
    int version; /* 1 or 2, of those that are read */
    uint32_t width, height;
    gesso_format format;
    bool is_opaque;
    double scale;
    uint32_t rows_per_band, band_count;
    uint64_t table, bands, total; /* where the table is, where bands begin, and where the blob ends */
} gesso_blob_header;

/* Bytes that claim to be a blob, and its header once it is read. The first check that fails says why in `fault`. */
typedef struct gesso_blob_reader {
    const uint8_t *bytes;
    size_t length;
    gesso_blob_header header;
    gesso_blob_fault fault;
} gesso_blob_reader;

/* What the table says of a band. */
typedef struct gesso_blob_entry {
    uint64_t offset, length;
    gesso_band_mode mode;
    uint64_t hash;
} gesso_blob_entry;

struct gesso_blob_workspace {
    uint8_t *memory;
    size_t size;
};

static inline uint64_t gesso_load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void gesso_store64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

uint32_t gesso_blob_rows_per_band(uint64_t row_bytes);
uint32_t gesso_blob_band_count(uint32_t height, uint32_t rows);

/* Writing: how many bytes header and table take; an entry of the table, whose bands end so many bytes behind where they
 * begin; and the header with its checksum, once the table is there. */
size_t gesso_blob_head_size(const gesso_blob_header *header);
uint8_t *gesso_blob_written_entry(uint8_t *buffer, const gesso_blob_header *header, uint32_t band);
void gesso_blob_write_entry(uint8_t *entry, gesso_band_mode mode, uint64_t end, uint64_t hash);
void gesso_blob_set_entry_end(uint8_t *entry, uint64_t end);
uint64_t gesso_blob_entry_end(const uint8_t *entry);
void gesso_blob_write_head(uint8_t *buffer, const gesso_blob_header *header);

gesso_status gesso_blob_refuse(gesso_blob_reader *reader, gesso_status status, uint64_t offset, const char *what);
gesso_status gesso_blob_read_header(gesso_blob_reader *reader);
/* Checks the table: that its bands follow one another and are of known modes, so that what it says can be used. */
gesso_status gesso_blob_check_table(gesso_blob_reader *reader);
gesso_blob_entry gesso_blob_entry_of(const gesso_blob_reader *reader, uint32_t band);
/* Whether the band's bytes have its checksum. */
static inline bool gesso_blob_is_intact(const gesso_blob_reader *reader, const gesso_blob_entry *entry)
{
    return entry->hash == gesso_hash64(reader->bytes + entry->offset, entry->length);
}

/* Works on each of the bands first ..< end by some threads, the calling one among them, each with its own memory of so many
 * bytes, aligned for anything. Tells of the lowest band for which `work` gave an error; others may not have been worked on. */
typedef gesso_status (*gesso_band_work)(void *context, uint32_t band, uint8_t *memory);
typedef struct gesso_band_result {
    gesso_status status;
    uint32_t band;
} gesso_band_result;
gesso_band_result gesso_blob_each_band(
    uint32_t first, uint32_t end, uint32_t threads, gesso_blob_workspace *workspace, size_t memory_size, gesso_band_work work,
    void *context);
/* How many threads are worth it, of those that the caller allows. */
uint32_t gesso_blob_threads(uint32_t allowed, uint64_t pixels, uint32_t bands);

#endif

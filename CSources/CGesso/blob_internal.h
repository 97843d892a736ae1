/* A blob's header and table. */
#ifndef GESSO_BLOB_INTERNAL_H
#define GESSO_BLOB_INTERNAL_H

#include "band.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Blobs hold little-endian pixels, which this code copies as they are."
#endif

enum { GESSO_BLOB_HEADER = 64, GESSO_BLOB_ENTRY = 24, GESSO_BLOB_OPAQUE = 1 };

typedef struct gesso_blob_header {
    uint32_t flags, width, height;
    gesso_format format;
    double scale;
    uint32_t rows_per_band, band_count;
    uint64_t total, table_hash;
} gesso_blob_header;

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
void gesso_blob_write_header(uint8_t *buffer, const gesso_blob_header *header);
gesso_status gesso_blob_read_header(const uint8_t *bytes, size_t length, gesso_blob_header *header);
/* Checks the table: that its bands follow one another and are of known modes, so that what it says can be used. */
gesso_status gesso_blob_check_table(const uint8_t *bytes, const gesso_blob_header *header);
/* Checks one band's bytes. */
gesso_status gesso_blob_check_band(const uint8_t *bytes, uint32_t band);

/* Memory of at least such a size, aligned for anything; null: out of it. */
uint8_t *gesso_blob_workspace_memory(gesso_blob_workspace *workspace, size_t size);

#endif

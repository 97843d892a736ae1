/* The ways to write one band of a blob down. */
#ifndef GESSO_BAND_H
#define GESSO_BAND_H

#include "internal.h"
#include "kernels.h"

typedef enum gesso_band_mode {
    GESSO_BAND_STORED = 0, GESSO_BAND_SOLID = 1, GESSO_BAND_LZ4 = 2, GESSO_BAND_LONG_MASKS = 3, GESSO_BAND_FILTER = 4,
    GESSO_BAND_MASKS = 5, GESSO_BAND_OPERATIONS = 6, GESSO_BAND_MODES
} gesso_band_mode;

/* A band's rows without padding. */
typedef struct gesso_band {
    const uint8_t *pixels;
    uint32_t width;
    size_t count;      /* of pixels */
    size_t pixel_size; /* 4 or 1 */
} gesso_band;

/* Memory for encoding or decoding bands of up to so many pixels, of up to such a width. */
size_t gesso_band_scratch(size_t count, uint32_t width);

/* Writes a band as it is smallest, or nearly so, and returns how many bytes it takes: at most what its pixels do, for which
 * there is room. `scratch`: see above. */
size_t gesso_band_encode(
    const gesso_band *band, gesso_blob_level level, uint8_t *scratch, uint8_t *out, gesso_band_mode *mode);

/* Reads a band's pixels. False if the bytes are not such a band's, or not all opaque where they have to be: what was written
 * is undefined then. */
bool gesso_band_decode(
    gesso_band_mode mode, const uint8_t *in, size_t length, uint8_t *scratch, uint8_t *pixels, uint32_t width, size_t count,
    size_t pixel_size, bool is_opaque);

/* The single ways; encoding returns 0 if there is not enough room. */
size_t gesso_masks_scratch(size_t count, uint32_t width);
size_t gesso_masks_encode(
    const gesso_band *band, gesso_blob_level level, uint8_t *scratch, uint8_t *out, size_t capacity, size_t *literals);
/* `is_long`: with the head of mode 3. */
bool gesso_masks_decode(
    bool is_long, const uint8_t *in, size_t length, uint8_t *scratch, uint32_t *pixels, uint32_t width, size_t count, bool is_opaque);
size_t gesso_filter_scratch(size_t count);
size_t gesso_filter_encode(const gesso_band *band, uint8_t *scratch, uint8_t *out, size_t capacity);
bool gesso_filter_decode(
    const uint8_t *in, size_t length, uint8_t *scratch, uint32_t *pixels, uint32_t width, size_t count, bool is_opaque);

size_t gesso_operations_encode(const gesso_band *band, uint8_t *out, size_t capacity);
bool gesso_operations_decode(const uint8_t *in, size_t length, uint32_t *pixels, uint32_t width, size_t count);

/* What the colours of a palette take at most. */
enum { GESSO_PALETTE_BYTES = 4 * (256 + 8) + 1 };

/* Literals of at most 256 colours; 0 if there are more, or not enough room. `indices` has room for one byte each. */
size_t gesso_palette_encode(
    const uint32_t *words, size_t count, bool has_alpha, gesso_blob_level level, uint8_t *indices, uint8_t *out, size_t capacity);
bool gesso_palette_decode(
    const uint8_t *in, size_t length, uint8_t *room, uint32_t *words, size_t count, bool has_alpha);

/* A block by LZ4, or the bytes as they are where that is no smaller; 0 if there is not enough room. */
size_t gesso_lz4_pack(const uint8_t *in, size_t length, gesso_blob_level level, uint8_t *out, size_t capacity);
/* The reverse, to exactly so many bytes; null if it cannot be. The result is `room`, or the bytes themselves. */
const uint8_t *gesso_lz4_unpack(const uint8_t *in, size_t length, uint8_t *room, size_t expected);

/* memcpy, and not a cast, because nothing in a blob needs to be aligned. */
static inline uint32_t gesso_load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline void gesso_store32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }

/* Numbers of one to five bytes: seven bits each, the lowest first, and a bit that tells that another byte follows. */
static inline size_t gesso_varint_size(uint32_t number)
{
    size_t size = 1;
    for (; number > 127; number >>= 7) size++;
    return size;
}
static inline size_t gesso_varint_write(uint8_t *out, uint32_t number)
{
    size_t size = 0;
    for (; number > 127; number >>= 7) out[size++] = (uint8_t)(number | 128);
    out[size++] = (uint8_t)number;
    return size;
}
/* False if the number does not end, or is too large: `at` is still where it begins then. */
static inline bool gesso_varint_read(const uint8_t *in, size_t length, size_t *at, uint32_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 5 && i < length - *at; i++) {
        uint8_t byte = in[*at + i];
        value |= (uint64_t)(byte & 127) << 7 * i;
        if (byte > 127) continue;
        if (value > UINT32_MAX) return false;
        *number = (uint32_t)value;
        *at += i + 1;
        return true;
    }
    return false;
}

#endif

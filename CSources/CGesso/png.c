#include "internal.h"

#include <spng.h>

static gesso_status status_of_spng(int error)
{
    switch (error) {
    case SPNG_OK: return GESSO_OK;
    case SPNG_ESIGNATURE: return GESSO_NOT_RECOGNIZED;
    case SPNG_IO_EOF:
    case SPNG_EBUFSIZ: return GESSO_TRUNCATED;
    case SPNG_EMEM: return GESSO_OUT_OF_MEMORY;
    case SPNG_EUSER_WIDTH:
    case SPNG_EUSER_HEIGHT:
    case SPNG_ECHUNK_LIMITS: return GESSO_OVER_LIMIT;
    default: return GESSO_CORRUPT;
    }
}

static bool has_transparency(spng_ctx *png, const struct spng_ihdr *header)
{
    struct spng_trns transparency;
    return header->color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA
        || header->color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA || spng_get_trns(png, &transparency) == SPNG_OK;
}

static gesso_status decode(spng_ctx *png, const gesso_limits *limits, gesso_bitmap **result)
{
    struct spng_ihdr header;
    int error = spng_get_ihdr(png, &header);
    if (error) return status_of_spng(error);
    gesso_status status = gesso_limits_check(limits, header.width, header.height, 4);
    if (status) return status;
    /* Rows come as straight RGBA, four bytes a pixel like the bitmap's: they are converted in place. */
    error = spng_decode_image(png, NULL, 0, SPNG_FMT_RGBA8, SPNG_DECODE_TRNS | SPNG_DECODE_PROGRESSIVE);
    if (error) return status_of_spng(error);
    bool transparent = has_transparency(png, &header);
    gesso_bitmap *bitmap;
    status = gesso_bitmap_create(
        header.width, header.height, transparent ? GESSO_FORMAT_ARGB32 : GESSO_FORMAT_XRGB32, 1, &bitmap);
    if (status) return status;
    size_t row_bytes = (size_t)header.width * 4;
    struct spng_row_info row;
    do {
        error = spng_get_row_info(png, &row);
        if (!error) error = spng_decode_row(png, bitmap->pixels + (ptrdiff_t)row.row_num * bitmap->stride, row_bytes);
    } while (!error);
    /* The rows are there before the last checksum is: a file that is cut off or damaged at its end is so, too. */
    if (error == SPNG_EOI) error = spng_decode_chunks(png);
    if (error) {
        gesso_bitmap_release(bitmap);
        return status_of_spng(error);
    }
    /* An interlaced picture visits its rows several times, so the conversion waits for the end. */
    for (uint32_t y = 0; y < header.height; y++) {
        uint8_t *pixels = bitmap->pixels + (ptrdiff_t)y * bitmap->stride;
        gesso_premultiply_rgba(pixels, (uint32_t *)pixels, header.width);
    }
    *result = bitmap;
    return GESSO_OK;
}

gesso_status gesso_png_decode(
    const uint8_t *bytes, size_t length, const gesso_limits *limits, gesso_bitmap **bitmap)
{
    if (!bytes || !bitmap) return GESSO_INVALID_ARGUMENT;
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (length < 8) return length && memcmp(bytes, signature, length) == 0 ? GESSO_TRUNCATED : GESSO_NOT_RECOGNIZED;
    if (memcmp(bytes, signature, 8) != 0) return GESSO_NOT_RECOGNIZED;
    spng_ctx *png = spng_ctx_new(0);
    if (!png) return GESSO_OUT_OF_MEMORY;
    int error = spng_set_png_buffer(png, bytes, length);
    /* Text and profiles do not draw: a file may have some, but not make us hold gigabytes of them. */
    if (!error) error = spng_set_chunk_limits(png, 16 << 20, 64 << 20);
    gesso_status status = error ? status_of_spng(error) : decode(png, limits, bitmap);
    spng_ctx_free(png);
    return status;
}

/* One row in the byte order of the file. */
static void convert_row(const gesso_bitmap *bitmap, uint32_t y, uint8_t *row)
{
    const uint8_t *pixels = bitmap->pixels + (ptrdiff_t)y * bitmap->stride;
    const uint32_t *words = (const uint32_t *)pixels;
    switch (bitmap->format) {
    case GESSO_FORMAT_A8:
        for (uint32_t x = 0; x < bitmap->width; x++) row[2 * x] = 0, row[2 * x + 1] = pixels[x];
        break;
    case GESSO_FORMAT_XRGB32:
        for (uint32_t x = 0; x < bitmap->width; x++) {
            row[3 * x] = (uint8_t)(words[x] >> 16);
            row[3 * x + 1] = (uint8_t)(words[x] >> 8);
            row[3 * x + 2] = (uint8_t)words[x];
        }
        break;
    default: gesso_unpremultiply_rgba(words, row, bitmap->width);
    }
}

gesso_status gesso_png_encode(const gesso_bitmap *bitmap, int compression, uint8_t **bytes, size_t *length)
{
    if (!bitmap || !bytes || !length || compression < 0 || compression > 9) return GESSO_INVALID_ARGUMENT;
    size_t channels = bitmap->format == GESSO_FORMAT_A8 ? 2 : bitmap->format == GESSO_FORMAT_XRGB32 ? 3 : 4;
    uint8_t color_type = bitmap->format == GESSO_FORMAT_A8 ? SPNG_COLOR_TYPE_GRAYSCALE_ALPHA
        : bitmap->format == GESSO_FORMAT_XRGB32 ? SPNG_COLOR_TYPE_TRUECOLOR : SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
    struct spng_ihdr header = {
        .width = bitmap->width, .height = bitmap->height, .bit_depth = 8, .color_type = color_type};
    if (bitmap->width > INT32_MAX || bitmap->height > INT32_MAX) return GESSO_TOO_LARGE;
    size_t row_bytes = (size_t)bitmap->width * channels;
    uint8_t *row = malloc(row_bytes);
    spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
    int error = row && png ? SPNG_OK : SPNG_EMEM;
    if (!error) error = spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1);
    if (!error) error = spng_set_option(png, SPNG_IMG_COMPRESSION_LEVEL, compression);
    if (!error) error = spng_set_ihdr(png, &header);
    if (!error) error = spng_encode_image(png, NULL, 0, SPNG_FMT_PNG, SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE);
    for (uint32_t y = 0; !error && y < bitmap->height; y++) {
        convert_row(bitmap, y, row);
        error = spng_encode_row(png, row, row_bytes);
    }
    if (error == SPNG_EOI) error = SPNG_OK;
    uint8_t *result = error ? NULL : spng_get_png_buffer(png, length, &error);
    if (result) *bytes = result; /* from malloc, as gesso_free expects */
    spng_ctx_free(png);
    free(row);
    return error ? status_of_spng(error) : result ? GESSO_OK : GESSO_OUT_OF_MEMORY;
}

#define _GNU_SOURCE
/* The blob bench's codecs: one picture at a time, which is set first. */
#define QOI_IMPLEMENTATION
#include "raster.h"

#include <blosc.h>
#include <lz4.h>
#include <qoi.h>
#include <spng.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static gesso_bitmap *picture, *target;
static gesso_blob_workspace *workspace;
static const uint8_t *raw;
static uint8_t *straight, *decoded; /* the pixels as files have them, and room for what is read */
static size_t raw_bytes, width, height;

enum { CODECS = 8 };
typedef size_t (*encoder)(uint8_t *out, size_t capacity);
typedef void (*decoder)(const uint8_t *in, size_t length);

static size_t encode_gesso(gesso_blob_level level, uint8_t *out, size_t capacity)
{
    size_t length = 0;
    gesso_blob_options options = {.struct_size = sizeof options, .level = level, .workspace = workspace};
    if (gesso_blob_encode(picture, &options, out, capacity, &length)) abort();
    return length;
}
static size_t encode_fast(uint8_t *out, size_t capacity) { return encode_gesso(GESSO_BLOB_FAST, out, capacity); }
static size_t encode_small(uint8_t *out, size_t capacity) { return encode_gesso(GESSO_BLOB_SMALL, out, capacity); }
static void decode_gesso(const uint8_t *in, size_t length)
{
    gesso_blob_reading reading = {.struct_size = sizeof reading, .workspace = workspace};
    if (gesso_blob_decode_rows(in, length, &reading, 0, (uint32_t)height, target)) abort();
}

static size_t encode_lz4(uint8_t *out, size_t capacity)
{
    return (size_t)LZ4_compress_default((const char *)raw, (char *)out, (int)raw_bytes, (int)capacity);
}
static void decode_lz4(const uint8_t *in, size_t length)
{
    LZ4_decompress_safe((const char *)in, (char *)decoded, (int)length, (int)raw_bytes);
}

static size_t encode_qoi(uint8_t *out, size_t capacity)
{
    int length;
    void *bytes = qoi_encode(straight, &(qoi_desc){(unsigned)width, (unsigned)height, 4, 0}, &length);
    if (bytes && (size_t)length <= capacity) memcpy(out, bytes, (size_t)length);
    free(bytes);
    return (size_t)length;
}
static void decode_qoi(const uint8_t *in, size_t length)
{
    qoi_desc description;
    free(qoi_decode(in, (int)length, &description, 4));
}

static size_t encode_spng(uint8_t *out, size_t capacity)
{
    spng_ctx *context = spng_ctx_new(SPNG_CTX_ENCODER);
    spng_set_option(context, SPNG_ENCODE_TO_BUFFER, 1);
    spng_set_option(context, SPNG_IMG_COMPRESSION_LEVEL, 1);
    struct spng_ihdr header = {.width = (uint32_t)width, .height = (uint32_t)height, .bit_depth = 8, .color_type = SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
    spng_set_ihdr(context, &header);
    spng_encode_image(context, straight, raw_bytes, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
    size_t length;
    int error;
    void *bytes = spng_get_png_buffer(context, &length, &error);
    if (bytes && length <= capacity) memcpy(out, bytes, length);
    free(bytes);
    spng_ctx_free(context);
    return length;
}
static void decode_spng(const uint8_t *in, size_t length)
{
    spng_ctx *context = spng_ctx_new(0);
    spng_set_png_buffer(context, in, length);
    spng_decode_image(context, decoded, raw_bytes, SPNG_FMT_RGBA8, 0);
    spng_ctx_free(context);
}

static size_t encode_zstd(uint8_t *out, size_t capacity) { return ZSTD_compress(out, capacity, raw, raw_bytes, 1); }
static void decode_zstd(const uint8_t *in, size_t length) { ZSTD_decompress(decoded, raw_bytes, in, length); }

static size_t encode_blosc(uint8_t *out, size_t capacity)
{
    return (size_t)blosc_compress_ctx(1, BLOSC_SHUFFLE, 4, raw_bytes, raw, out, capacity, "lz4", 0, 1);
}
static void decode_blosc(const uint8_t *in, size_t length)
{
    (void)length;
    blosc_decompress_ctx(in, decoded, raw_bytes, 1);
}

static size_t encode_memcpy(uint8_t *out, size_t capacity)
{
    (void)capacity;
    memcpy(out, raw, raw_bytes);
    return raw_bytes;
}
static void decode_memcpy(const uint8_t *in, size_t length) { memcpy(decoded, in, length); }

static const struct {
    const char *name;
    encoder encode;
    decoder decode;
} codecs[CODECS] = {
    {"gesso", encode_fast, decode_gesso}, {"gesso-small", encode_small, decode_gesso}, {"lz4", encode_lz4, decode_lz4},
    {"qoi", encode_qoi, decode_qoi},      {"spng", encode_spng, decode_spng},          {"zstd-1", encode_zstd, decode_zstd},
    {"blosc", encode_blosc, decode_blosc}, {"memcpy", encode_memcpy, decode_memcpy}};

static uint8_t *encodings[CODECS];
static size_t lengths[CODECS], capacity;

/* Encodes the picture by each codec. False if ours does not come back as it was. */
static bool encode_picture(void)
{
    if (!workspace) workspace = gesso_blob_workspace_create();
    width = gesso_bitmap_width(picture), height = gesso_bitmap_height(picture);
    if (gesso_bitmap_stride(picture) != (ptrdiff_t)width * 4) return false;
    gesso_bitmap_release(target);
    target = NULL;
    gesso_bitmap_create((uint32_t)width, (uint32_t)height, gesso_bitmap_format(picture), 1, &target);
    raw = gesso_bitmap_pixels(picture);
    raw_bytes = width * height * 4;
    straight = realloc(straight, raw_bytes), decoded = realloc(decoded, raw_bytes);
    gesso_unpremultiply_rgba((const uint32_t *)raw, straight, width * height);
    capacity = 2 * raw_bytes + 65536;
    for (int i = 0; i < CODECS; i++) {
        encodings[i] = realloc(encodings[i], capacity);
        lengths[i] = codecs[i].encode(encodings[i], capacity);
    }
    decode_gesso(encodings[0], lengths[0]);
    return memcmp(gesso_bitmap_pixels(target), raw, raw_bytes) == 0;
}

/* Takes a PNG as the picture. False if it is none, or does not come back. */
bool blob_set(const uint8_t *png, size_t length)
{
    gesso_bitmap_release(picture);
    picture = NULL;
    return gesso_png_decode(png, length, NULL, &picture) == GESSO_OK && encode_picture();
}

/* The classic cell at scale 2 as the picture, and microseconds of so many drawings of it. */
bool blob_set_cell(const char *icon_path)
{
    if (!icon && !raster_begin(icon_path)) return false;
    gesso_bitmap_release(picture);
    picture = draw_classic_cell(2);
    return encode_picture();
}
double blob_time_drawing(int count)
{
    double begin = now_us();
    for (int i = 0; i < count; i++) gesso_bitmap_release(draw_classic_cell(2));
    return now_us() - begin;
}

/* Null after the last one. */
const char *blob_codec(int index) { return index < CODECS ? codecs[index].name : NULL; }
size_t blob_size(int index) { return lengths[index]; }
size_t blob_raw_size(void) { return raw_bytes; }

/* Microseconds of so many encodings or decodings. */
double blob_time(int index, bool encodes, int count)
{
    static uint8_t *room;
    static size_t room_size;
    if (room_size < capacity) room = realloc(room, capacity), room_size = capacity;
    double begin = now_us();
    for (int i = 0; i < count; i++) {
        if (encodes) codecs[index].encode(room, capacity);
        else codecs[index].decode(encodings[index], lengths[index]);
    }
    return now_us() - begin;
}

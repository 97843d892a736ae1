/* The smallest harness: a test is a function with a sentence for a name; a failed CHECK says where and goes on. */
#ifndef CHECK_H
#define CHECK_H

#include "gesso.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int check_failures;

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            check_failures++;                                                              \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);      \
        }                                                                                  \
    } while (0)

#define CHECK_STATUS(call, expected)                                                       \
    do {                                                                                   \
        gesso_status check_status = (call);                                                \
        if (check_status != (expected)) {                                                  \
            check_failures++;                                                              \
            fprintf(stderr, "%s:%d: %s is \"%s\"\n", __FILE__, __LINE__, #call,            \
                    gesso_status_string(check_status));                                    \
        }                                                                                  \
    } while (0)

typedef struct check_test {
    const char *sentence;
    void (*run)(void);
} check_test;

#define TEST(function, sentence) {sentence, function}

extern const check_test bitmap_tests[], blob_tests[], blob_bytes_tests[], band_tests[], kernel_set_tests[], parts_tests[],
    context_tests[], context_limits_tests[], blend_tests[], codec_tests[], composite_tests[],
    kernel_tests[], kernel_picture_tests[], band_way_tests[];

/* The pixel at (x, y) of a 32-bit bitmap. */
static inline uint32_t pixel(const gesso_bitmap *bitmap, int x, int y)
{
    const char *row = (const char *)gesso_bitmap_pixels(bitmap) + y * gesso_bitmap_stride(bitmap);
    return ((const uint32_t *)row)[x];
}

static inline gesso_context *context_of(uint32_t width, uint32_t height, gesso_format format, double scale)
{
    gesso_context *context = NULL;
    CHECK_STATUS(
        gesso_context_create(
            &context, width, height,
            &(gesso_context_options){.struct_size = sizeof(gesso_context_options), .format = format, .scale = scale}),
        GESSO_OK);
    return context;
}

static inline gesso_bitmap *finished(gesso_context *context)
{
    gesso_bitmap *bitmap = NULL;
    CHECK_STATUS(gesso_context_finish(context, &bitmap), GESSO_OK);
    return bitmap;
}

/* The same numbers in each run. */
static inline uint32_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* A frozen bitmap of random, properly premultiplied pixels. */
static inline gesso_bitmap *random_bitmap(uint32_t width, uint32_t height, gesso_format format, uint64_t seed)
{
    gesso_bitmap *bitmap = NULL;
    CHECK_STATUS(gesso_bitmap_create(width, height, format, 1, &bitmap), GESSO_OK);
    for (uint32_t y = 0; y < height; y++) {
        uint8_t *row = (uint8_t *)gesso_bitmap_mutable_pixels(bitmap) + y * gesso_bitmap_stride(bitmap);
        for (uint32_t x = 0; x < width; x++) {
            if (format == GESSO_FORMAT_A8) {
                row[x] = (uint8_t)random_next(&seed);
                continue;
            }
            uint32_t alpha = format == GESSO_FORMAT_XRGB32 ? 255 : random_next(&seed) % 256, word = alpha << 24;
            for (int shift = 0; shift < 24; shift += 8) word |= random_next(&seed) % (alpha + 1) << shift;
            ((uint32_t *)row)[x] = word;
        }
    }
    gesso_bitmap_freeze(bitmap);
    return bitmap;
}

static inline bool same_pixels(const gesso_bitmap *a, const gesso_bitmap *b)
{
    if (gesso_bitmap_width(a) != gesso_bitmap_width(b) || gesso_bitmap_height(a) != gesso_bitmap_height(b)
        || gesso_bitmap_format(a) != gesso_bitmap_format(b))
        return false;
    size_t row = gesso_bitmap_width(a) * gesso_format_bytes_per_pixel(gesso_bitmap_format(a));
    for (uint32_t y = 0; y < gesso_bitmap_height(a); y++)
        if (memcmp((const char *)gesso_bitmap_pixels(a) + y * gesso_bitmap_stride(a),
                   (const char *)gesso_bitmap_pixels(b) + y * gesso_bitmap_stride(b), row) != 0)
            return false;
    return true;
}

#endif

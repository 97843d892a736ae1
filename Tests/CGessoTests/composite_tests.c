#include "check.h"

/* Source-over as it is defined, in real numbers. */
static int over(int source, int source_alpha, int target) { return (int)floor(source + target * (255 - source_alpha) / 255.0 + 0.5); }

static void over_is_the_formula(void)
{
    gesso_bitmap *source = random_bitmap(67, 5, GESSO_FORMAT_ARGB32, 3);
    gesso_bitmap *backdrop = random_bitmap(67, 5, GESSO_FORMAT_ARGB32, 4), *target = NULL;
    CHECK_STATUS(gesso_bitmap_copy(backdrop, &target), GESSO_OK);
    CHECK_STATUS(gesso_composite(target, source, 0, 0, 1), GESSO_OK);
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 67; x++)
            for (int shift = 0; shift < 32; shift += 8) {
                int s = pixel(source, x, y) >> shift & 255, b = pixel(backdrop, x, y) >> shift & 255;
                CHECK((int)(pixel(target, x, y) >> shift & 255) == over(s, pixel(source, x, y) >> 24, b));
            }
    gesso_bitmap_release(source);
    gesso_bitmap_release(backdrop);
    gesso_bitmap_release(target);
}

static void alpha_scales_the_source(void)
{
    gesso_bitmap *target = NULL, *source = NULL;
    CHECK_STATUS(gesso_bitmap_create(1, 1, GESSO_FORMAT_XRGB32, 1, &target), GESSO_OK);
    CHECK_STATUS(gesso_bitmap_create(1, 1, GESSO_FORMAT_XRGB32, 1, &source), GESSO_OK);
    gesso_fill(source, 0, 0, 1, 1, 1, 1, 1, 1);
    gesso_fill(target, 0, 0, 1, 1, 0, 0, 0, 1);
    CHECK_STATUS(gesso_composite(target, source, 0, 0, 0.5), GESSO_OK);
    CHECK(pixel(target, 0, 0) == 0xff808080);
    CHECK_STATUS(gesso_composite(target, source, 0, 0, 7), GESSO_OK);
    CHECK(pixel(target, 0, 0) == 0xffffffff);
    CHECK_STATUS(gesso_composite(target, source, 0, 0, NAN), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_composite(target, target, 0, 0, 1), GESSO_INVALID_ARGUMENT);
    gesso_bitmap_release(source);
    gesso_bitmap_release(target);
}

/* A target in the middle of guard bytes, drawn on from everywhere. */
static void never_outside(void)
{
    enum { WIDTH = 7, HEIGHT = 5, PAD = 4, ROW = WIDTH + PAD, ROWS = HEIGHT + 2 };
    gesso_format formats[] = {GESSO_FORMAT_ARGB32, GESSO_FORMAT_XRGB32, GESSO_FORMAT_A8};
    int64_t places[] = {INT64_MIN, -1000, -9, -3, 0, 4, 6, 7, 1000, INT64_MAX};
    for (size_t f = 0; f < 3; f++) {
        gesso_bitmap *source = random_bitmap(9, 4, formats[f], 5);
        for (size_t i = 0; i < 10; i++)
            for (size_t j = 0; j < 10; j++) {
                uint32_t memory[ROWS * ROW];
                memset(memory, 0xab, sizeof memory);
                gesso_bitmap *target = NULL;
                CHECK_STATUS(
                    gesso_bitmap_wrap(memory + ROW, WIDTH, HEIGHT, ROW * 4, GESSO_FORMAT_ARGB32, 1, NULL, NULL,
                                      &target), GESSO_OK);
                CHECK_STATUS(gesso_composite(target, source, places[i], places[j], 1), GESSO_OK);
                CHECK_STATUS(gesso_fill(target, places[i], places[j], 9, 4, 1, 0, 0, 1), GESSO_OK);
                for (int k = 0; k < ROWS * ROW; k++) {
                    bool inside = k >= ROW && k < ROW * (HEIGHT + 1) && k % ROW < WIDTH;
                    if (!inside) CHECK(memory[k] == 0xabababab);
                }
                gesso_bitmap_release(target);
            }
        gesso_bitmap_release(source);
    }
}

static void opaque_stays_opaque(void)
{
    gesso_bitmap *target = NULL;
    CHECK_STATUS(gesso_bitmap_create(4, 4, GESSO_FORMAT_XRGB32, 1, &target), GESSO_OK);
    gesso_bitmap *sources[] = {random_bitmap(4, 4, GESSO_FORMAT_ARGB32, 6), random_bitmap(4, 4, GESSO_FORMAT_A8, 7)};
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(gesso_composite(target, sources[i], 0, 0, 1), GESSO_OK);
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) CHECK(pixel(target, x, y) >> 24 == 255);
        gesso_bitmap_release(sources[i]);
    }
    gesso_bitmap_release(target);
}

const check_test composite_tests[] = {
    TEST(over_is_the_formula, "source-over is the formula, rounded"),
    TEST(alpha_scales_the_source, "compositing with alpha mixes by it"),
    TEST(never_outside, "compositing and filling write only inside of the target"),
    TEST(opaque_stays_opaque, "an opaque target stays opaque"),
    {0}};

#include "check.h"

static void sizes_that_cannot_be(void)
{
    gesso_bitmap *bitmap = NULL;
    CHECK_STATUS(gesso_bitmap_create(0, 1, GESSO_FORMAT_ARGB32, 1, &bitmap), GESSO_INVALID_SIZE);
    CHECK_STATUS(gesso_bitmap_create(1, 0, GESSO_FORMAT_A8, 1, &bitmap), GESSO_INVALID_SIZE);
    CHECK_STATUS(gesso_bitmap_create(UINT32_MAX, UINT32_MAX, GESSO_FORMAT_ARGB32, 1, &bitmap), GESSO_TOO_LARGE);
    CHECK_STATUS(gesso_bitmap_create(0x40000000, 0x40000000, GESSO_FORMAT_A8, 1, &bitmap), GESSO_TOO_LARGE);
    /* 65,536 × 65,536 × 4 is 0 in 32 bits. */
    gesso_status status = gesso_bitmap_create(65536, 65536, GESSO_FORMAT_ARGB32, 1, &bitmap);
    CHECK(status == GESSO_OK || status == GESSO_OUT_OF_MEMORY);
    if (status == GESSO_OK) {
        CHECK(gesso_bitmap_byte_count(bitmap) == (size_t)65536 * 65536 * 4);
        gesso_bitmap_release(bitmap);
        bitmap = NULL;
    }
    CHECK_STATUS(gesso_bitmap_create(1, 1, (gesso_format)9, 1, &bitmap), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_bitmap_create(1, 1, GESSO_FORMAT_A8, 0, &bitmap), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_bitmap_create(1, 1, GESSO_FORMAT_A8, NAN, &bitmap), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_bitmap_create(1, 1, GESSO_FORMAT_A8, 1, NULL), GESSO_INVALID_ARGUMENT);
    CHECK(bitmap == NULL);
}

static void begins_transparent(void)
{
    gesso_bitmap *bitmap = NULL;
    CHECK_STATUS(gesso_bitmap_create(5, 3, GESSO_FORMAT_A8, 2, &bitmap), GESSO_OK);
    CHECK(gesso_bitmap_width(bitmap) == 5 && gesso_bitmap_height(bitmap) == 3);
    CHECK(gesso_bitmap_stride(bitmap) == 8 && gesso_bitmap_byte_count(bitmap) == 2 * 8 + 5);
    CHECK(gesso_bitmap_scale(bitmap) == 2 && gesso_bitmap_format(bitmap) == GESSO_FORMAT_A8);
    const uint8_t *bytes = gesso_bitmap_pixels(bitmap);
    for (size_t i = 0; i < gesso_bitmap_byte_count(bitmap); i++) CHECK(bytes[i] == 0);
    gesso_bitmap_release(bitmap);
}

static void count_release(void *counter) { ++*(int *)counter; }

static void wrapped_pixels_are_released_once(void)
{
    uint32_t pixels[6] = {1, 2, 3, 4, 5, 6};
    int released = 0;
    gesso_bitmap *bitmap = NULL;
    CHECK_STATUS(
        gesso_bitmap_wrap(pixels, 2, 2, 12, GESSO_FORMAT_ARGB32, 1, count_release, &released, &bitmap), GESSO_OK);
    CHECK(pixel(bitmap, 1, 1) == 5);
    gesso_bitmap_freeze(bitmap);
    gesso_bitmap *crop = NULL;
    CHECK_STATUS(gesso_bitmap_crop(bitmap, 1, 0, 1, 2, &crop), GESSO_OK);
    gesso_bitmap_release(bitmap);
    CHECK(released == 0); /* the crop keeps it */
    CHECK(pixel(crop, 0, 1) == 5);
    gesso_bitmap_release(crop);
    CHECK(released == 1);
}

static void wrong_wraps(void)
{
    uint32_t pixels[4] = {0};
    int released = 0;
    gesso_bitmap *bitmap = NULL;
    struct {
        void *pixels;
        uint32_t width, height;
        ptrdiff_t stride;
        gesso_format format;
        gesso_status expected;
    } cases[] = {
        {NULL, 1, 1, 4, GESSO_FORMAT_ARGB32, GESSO_INVALID_ARGUMENT},
        {pixels, 2, 2, 4, GESSO_FORMAT_ARGB32, GESSO_INVALID_SIZE},
        {pixels, 2, 2, -8, GESSO_FORMAT_ARGB32, GESSO_INVALID_SIZE},
        {pixels, 2, 2, 9, GESSO_FORMAT_ARGB32, GESSO_INVALID_ARGUMENT},
        {(char *)pixels + 1, 1, 1, 4, GESSO_FORMAT_XRGB32, GESSO_INVALID_ARGUMENT},
        {pixels, 0, 1, 4, GESSO_FORMAT_A8, GESSO_INVALID_SIZE},
        {pixels, 1, UINT32_MAX, PTRDIFF_MAX - 3, GESSO_FORMAT_A8, GESSO_TOO_LARGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STATUS(
            gesso_bitmap_wrap(cases[i].pixels, cases[i].width, cases[i].height, cases[i].stride, cases[i].format, 1,
                              count_release, &released, &bitmap),
            cases[i].expected);
    CHECK(released == 0 && bitmap == NULL);
}

static void frozen_means_frozen(void)
{
    gesso_bitmap *bitmap = NULL, *crop = NULL;
    gesso_context *context = NULL;
    CHECK_STATUS(gesso_bitmap_create(4, 4, GESSO_FORMAT_ARGB32, 1, &bitmap), GESSO_OK);
    CHECK(gesso_bitmap_mutable_pixels(bitmap) != NULL);
    CHECK_STATUS(gesso_bitmap_crop(bitmap, 0, 0, 1, 1, &crop), GESSO_INVALID_STATE);
    gesso_bitmap_freeze(bitmap);
    CHECK(gesso_bitmap_is_frozen(bitmap) && gesso_bitmap_mutable_pixels(bitmap) == NULL);
    CHECK_STATUS(gesso_context_create_for_bitmap(&context, bitmap), GESSO_FROZEN);
    CHECK_STATUS(gesso_fill(bitmap, 0, 0, 4, 4, 1, 1, 1, 1), GESSO_FROZEN);
    CHECK_STATUS(gesso_bitmap_set_scale(bitmap, 2), GESSO_FROZEN);
    gesso_bitmap_release(bitmap);
}

static void crops_are_inside(void)
{
    gesso_bitmap *bitmap = random_bitmap(8, 6, GESSO_FORMAT_ARGB32, 1), *crop = NULL, *again = NULL;
    CHECK_STATUS(gesso_bitmap_crop(bitmap, 7, 0, 2, 1, &crop), GESSO_INVALID_SIZE);
    CHECK_STATUS(gesso_bitmap_crop(bitmap, UINT32_MAX, 0, 2, 1, &crop), GESSO_INVALID_SIZE);
    CHECK_STATUS(gesso_bitmap_crop(bitmap, 0, 6, 1, 1, &crop), GESSO_INVALID_SIZE);
    CHECK_STATUS(gesso_bitmap_crop(bitmap, 0, 0, 0, 1, &crop), GESSO_INVALID_SIZE);
    CHECK_STATUS(gesso_bitmap_crop(bitmap, 2, 1, 5, 4, &crop), GESSO_OK);
    CHECK_STATUS(gesso_bitmap_crop(crop, 1, 2, 3, 2, &again), GESSO_OK);
    gesso_bitmap_release(crop);
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 3; x++) CHECK(pixel(again, x, y) == pixel(bitmap, x + 3, y + 3));
    gesso_bitmap_release(bitmap);
    CHECK(gesso_bitmap_byte_count(again) == 8 * 4 + 3 * 4);
    gesso_bitmap_release(again);
}

static void null_is_harmless(void)
{
    gesso_bitmap_release(NULL);
    gesso_bitmap_freeze(NULL);
    CHECK(gesso_bitmap_retain(NULL) == NULL && gesso_bitmap_width(NULL) == 0 && gesso_bitmap_pixels(NULL) == NULL);
    CHECK(gesso_bitmap_byte_count(NULL) == 0 && !gesso_bitmap_is_frozen(NULL) && gesso_blob_bound(NULL) == 0);
    CHECK_STATUS(gesso_bitmap_copy(NULL, NULL), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_bitmap_crop(NULL, 0, 0, 1, 1, NULL), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_composite(NULL, NULL, 0, 0, 1), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_fill(NULL, 0, 0, 1, 1, 0, 0, 0, 0), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_png_decode(NULL, 0, NULL, NULL), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_blob_decode(NULL, 0, NULL, NULL), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_context_finish(NULL, NULL), GESSO_INVALID_ARGUMENT);
    gesso_context_release(NULL);
    gesso_context_fill_rect(NULL, 0, 0, 1, 1);
    gesso_context_save(NULL);
    gesso_context_draw_bitmap(NULL, NULL, 0, 0, 1, 1);
    CHECK(gesso_context_cairo(NULL) == NULL);
    gesso_free(NULL);
}

static void counts_what_lives(void)
{
    gesso_memory_statistics before = {.struct_size = sizeof before}, after = before;
    CHECK_STATUS(gesso_memory_statistics_get(&before), GESSO_OK);
    gesso_bitmap *bitmap = random_bitmap(10, 10, GESSO_FORMAT_ARGB32, 2), *crop = NULL;
    CHECK_STATUS(gesso_bitmap_crop(bitmap, 0, 0, 5, 5, &crop), GESSO_OK);
    CHECK_STATUS(gesso_memory_statistics_get(&after), GESSO_OK);
    CHECK(after.bitmaps_created == before.bitmaps_created + 1 && after.bytes_alive == before.bytes_alive + 400);
    gesso_bitmap_release(bitmap);
    gesso_bitmap_release(crop);
    CHECK_STATUS(gesso_memory_statistics_get(&after), GESSO_OK);
    CHECK(after.bitmaps_alive == before.bitmaps_alive && after.bytes_alive == before.bytes_alive);
}

const check_test bitmap_tests[] = {
    TEST(sizes_that_cannot_be, "a bitmap of a size that cannot be is an error"),
    TEST(begins_transparent, "a new bitmap is transparent"),
    TEST(wrapped_pixels_are_released_once, "wrapped pixels are released once, after the last crop of them"),
    TEST(wrong_wraps, "pixels that cannot be wrapped are refused, and not released"),
    TEST(frozen_means_frozen, "a frozen bitmap cannot be written to in any way"),
    TEST(crops_are_inside, "a crop shares the pixels inside of its rectangle"),
    TEST(null_is_harmless, "null is an error or does nothing, everywhere"),
    TEST(counts_what_lives, "the statistics count bitmaps with pixels of their own"),
    {0}};

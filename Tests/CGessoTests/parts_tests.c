/* Bitmaps in nine parts, and rectangles with radii of their own. */
#include "check.h"

/* A picture of 30 × 20 whose corners, sides and centre have colours of their own: split at 10 and 20, and 5 and 15. */
static gesso_bitmap *nine_parts_picture(double scale)
{
    gesso_bitmap *bitmap = NULL;
    CHECK_STATUS(gesso_bitmap_create(30, 20, GESSO_FORMAT_ARGB32, scale, &bitmap), GESSO_OK);
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
            gesso_fill(
                bitmap, column * 10, row == 0 ? 0 : row == 1 ? 5 : 15, 10, row == 1 ? 10 : 5, column / 2.0, row / 2.0,
                (column + row) / 4.0, 1);
    gesso_bitmap_freeze(bitmap);
    return bitmap;
}

static void corners_of_nine_parts_keep_their_size(void)
{
    for (int scale = 1; scale <= 2; scale++) {
        gesso_bitmap *picture = nine_parts_picture(scale);
        const int corner_x = 10, corner_y = 5, wide = 90 * scale, high = 60 * scale;
        gesso_context *c = context_of(100 * (uint32_t)scale, 70 * (uint32_t)scale, GESSO_FORMAT_ARGB32, scale);
        gesso_context_draw_bitmap_in_parts(c, picture, 3, 4, 90, 60, 1 / 3.0, 0.25, 1 / 3.0, 0.5);
        gesso_bitmap *bitmap = finished(c);
        for (int y = 0; y < 70 * scale; y++)
            for (int x = 0; x < 100 * scale; x++) {
                int px = x - 3 * scale, py = y - 4 * scale;
                uint32_t expected = 0;
                if (px >= 0 && py >= 0 && px < wide && py < high) {
                    /* The corners are as many pixels as in the picture: its scale is the context's. */
                    int column = px < corner_x ? 0 : px < wide - corner_x ? 1 : 2;
                    int row = py < corner_y ? 0 : py < high - corner_y ? 1 : 2;
                    expected = pixel(picture, column * 10 + 4, row == 0 ? 2 : row == 1 ? 10 : 17);
                }
                CHECK(pixel(bitmap, x, y) == expected);
            }
        gesso_bitmap_release(bitmap);
        gesso_bitmap_release(picture);
    }
}

/* Stretched by whole factors, every pixel of the nearest quality is one of the source's. */
static void parts_are_stretched_by_the_quality_that_is_set(void)
{
    gesso_bitmap *picture = random_bitmap(12, 12, GESSO_FORMAT_ARGB32, 9);
    gesso_bitmap_freeze(picture);
    for (int nearest = 0; nearest < 2; nearest++) {
        gesso_context *c = context_of(38, 38, GESSO_FORMAT_ARGB32, 1);
        gesso_context_set_interpolation(c, nearest ? GESSO_INTERPOLATION_NONE : GESSO_INTERPOLATION_HIGH);
        gesso_context_draw_bitmap_in_parts(c, picture, 0, 0, 38, 38, 1 / 12.0, 1 / 12.0, 10 / 12.0, 10 / 12.0);
        gesso_bitmap *bitmap = finished(c);
        int same = 0;
        for (int y = 1; y < 37; y++)
            for (int x = 1; x < 37; x++)
                same += pixel(bitmap, x, y) == pixel(picture, 1 + (2 * (x - 1) + 1) * 10 / 72, 1 + (2 * (y - 1) + 1) * 10 / 72);
        CHECK(nearest ? same == 36 * 36 : same < 400);
        gesso_bitmap_release(bitmap);
    }
    gesso_bitmap_release(picture);
}

static void parts_that_do_not_fit_become_smaller(void)
{
    gesso_bitmap *picture = nine_parts_picture(1);
    gesso_context *c = context_of(40, 40, GESSO_FORMAT_ARGB32, 1);
    gesso_context_draw_bitmap_in_parts(c, picture, 0, 0, 10, 30, 1 / 3.0, 0.25, 1 / 3.0, 0.5);
    gesso_context_draw_bitmap_in_parts(c, picture, 20, 0, 0, 30, 1 / 3.0, 0.25, 1 / 3.0, 0.5); /* nothing */
    gesso_context_draw_bitmap_in_parts(c, picture, 20, 20, 10, 10, 1, 1, 0, 0);                 /* all of it a corner */
    gesso_bitmap *bitmap = finished(c);
    CHECK(pixel(bitmap, 2, 2) == pixel(picture, 4, 2) && pixel(bitmap, 7, 2) == pixel(picture, 25, 2));
    CHECK(pixel(bitmap, 2, 27) == pixel(picture, 4, 17) && pixel(bitmap, 10, 10) == 0);
    CHECK(pixel(bitmap, 20, 20) == pixel(picture, 0, 0) && pixel(bitmap, 29, 29) == pixel(picture, 29, 19));
    gesso_bitmap_release(bitmap);
    const double bad[][4] = {{-0.1, 0, 0.5, 0.5}, {0.5, 0, 0.6, 0.5}, {0, NAN, 0.5, 0.5}, {0, 0.5, 0.5, 0.51}};
    for (int i = 0; i < 4; i++) {
        c = context_of(8, 8, GESSO_FORMAT_ARGB32, 1);
        gesso_context_draw_bitmap_in_parts(c, picture, 0, 0, 8, 8, bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
        CHECK_STATUS(gesso_context_finish(c, NULL), GESSO_INVALID_ARGUMENT);
    }
    c = context_of(8, 8, GESSO_FORMAT_ARGB32, 1);
    gesso_context_draw_bitmap_in_parts(c, picture, 0, 0, 1e5, 1e5, 0, 0, 1, 1);
    CHECK_STATUS(gesso_context_finish(c, NULL), GESSO_TOO_LARGE);
    gesso_bitmap_release(picture);
}

static void corners_have_their_own_radii(void)
{
    gesso_context *c = context_of(60, 50, GESSO_FORMAT_ARGB32, 1);
    gesso_context_add_rounded_rect_with_radii(c, 5, 5, 50, 40, 0, 8, 16, 19);
    gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
    gesso_bitmap *bitmap = finished(c);
    const double radii[] = {0, 8, 16, 19};
    for (int y = 0; y < 50; y++)
        for (int x = 0; x < 60; x++) {
            int hits = 0;
            for (int j = 0; j < 16; j++)
                for (int i = 0; i < 16; i++) {
                    double px = x + (i + 0.5) / 16, py = y + (j + 0.5) / 16;
                    bool left = px < 30, top = py < 25, inside = px >= 5 && px <= 55 && py >= 5 && py <= 45;
                    double r = radii[top ? (left ? 0 : 1) : left ? 3 : 2];
                    double dx = left ? 5 + r - px : px - (55 - r), dy = top ? 5 + r - py : py - (45 - r);
                    hits += inside && !(dx > 0 && dy > 0 && hypot(dx, dy) > r);
                }
            CHECK(fabs((pixel(bitmap, x, y) >> 24) - 255 * hits / 256.0) <= 8);
        }
    gesso_bitmap_release(bitmap);
    /* 30 + 30 on a side of 40: all become two thirds. */
    gesso_bitmap *shrunk[2];
    for (int way = 0; way < 2; way++) {
        c = context_of(60, 50, GESSO_FORMAT_ARGB32, 1);
        double part = way ? 2 / 3.0 : 1;
        gesso_context_add_rounded_rect_with_radii(c, 5, 5, 50, 40, 30 * part, 6 * part, 0, 30 * part);
        gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
        shrunk[way] = finished(c);
    }
    for (int y = 0; y < 50; y++)
        for (int x = 0; x < 60; x++) CHECK(pixel(shrunk[0], x, y) == pixel(shrunk[1], x, y));
    for (int way = 0; way < 2; way++) gesso_bitmap_release(shrunk[way]);
}

static void huge_radii_are_capsules_and_tiny_rectangles_are_tiny(void)
{
    gesso_context *c = context_of(100, 40, GESSO_FORMAT_ARGB32, 1);
    gesso_context_add_rounded_rect_with_radii(c, 0, 0, 100, 40, 1.7e308, 1.7e308, 1.7e308, INFINITY);
    gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
    gesso_bitmap *bitmap = finished(c);
    CHECK(pixel(bitmap, 0, 0) == 0 && pixel(bitmap, 99, 39) == 0 && pixel(bitmap, 50, 20) == 0xff000000);
    gesso_bitmap_release(bitmap);
    for (int i = 0; i < 256; i++) {
        c = context_of(3, 3, GESSO_FORMAT_ARGB32, 1);
        gesso_context_fill_rect(c, i / 256.0, (i * 7 % 256) / 256.0, 1 / 256.0, 1 / 256.0);
        bitmap = finished(c);
        CHECK(pixel(bitmap, 0, 0) >> 24 <= 1);
        gesso_bitmap_release(bitmap);
    }
}

const check_test parts_tests[] = {
    TEST(corners_of_nine_parts_keep_their_size, "the corners of nine parts keep their size"),
    TEST(parts_are_stretched_by_the_quality_that_is_set, "parts are stretched by the quality that is set"),
    TEST(parts_that_do_not_fit_become_smaller, "parts that do not fit become smaller, and a wrong centre is an error"),
    TEST(corners_have_their_own_radii, "corners have their own radii"),
    TEST(huge_radii_are_capsules_and_tiny_rectangles_are_tiny, "huge radii make capsules, and tiny rectangles are tiny"),
    {0}};

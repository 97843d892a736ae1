/* What is far out, too large, or not as Cairo would have it. */
#include "check.h"

static void sizes_far_out_are_safe(void)
{
    gesso_bitmap *source = random_bitmap(5, 5, GESSO_FORMAT_ARGB32, 11);
    double sizes[] = {0, 1e-9, 1e5, 1e9, 1e300, -7};
    for (int i = 0; i < 6; i++)
        for (int shadow = 0; shadow < 2; shadow++) {
            gesso_context *context = context_of(10, 10, GESSO_FORMAT_ARGB32, 1);
            if (shadow) gesso_context_set_shadow(context, 1, 1, 2, 0, 0, 0, 1);
            gesso_context_draw_bitmap(context, source, -sizes[i] / 2, -3, sizes[i], sizes[i]);
            gesso_context_add_ellipse(context, 1, 1, sizes[i], sizes[i]);
            gesso_context_fill_path(context, GESSO_FILL_RULE_EVEN_ODD);
            gesso_context_add_rounded_rect(context, -sizes[i], 0, sizes[i], 3, 1e9, 2);
            gesso_context_stroke_path(context);
            gesso_context_fill_rect(context, sizes[i], sizes[i], sizes[i], sizes[i]);
            gesso_status status = gesso_context_finish(context, NULL);
            CHECK(status == GESSO_OK || status == GESSO_TOO_LARGE);
        }
    gesso_bitmap_release(source);
}

/* Points that Cairo's fixed point cannot hold: an error, and never a wrong picture. */
static void points_out_of_reach(void)
{
    for (int call = 0; call < 9; call++)
        for (int clip = 0; clip < 2; clip++) {
            gesso_context *c = context_of(12, 52, GESSO_FORMAT_ARGB32, 1);
            double far = 8388609;
            switch (call) {
            case 0: gesso_context_move_to(c, far, 0); break;
            case 1: gesso_context_move_to(c, 0, 0), gesso_context_add_line(c, 0, -far); break;
            case 2: gesso_context_add_curve(c, 0, 0, far, 0, 1, 1); break;
            case 3: gesso_context_add_quad_curve(c, 0, far, 1, 1); break;
            case 4: gesso_context_add_arc(c, 0, 0, 1e40, 0, 6.28, false); break;
            case 5: gesso_context_add_rounded_rect(c, 0, -far, 56, 91, 5, 9); break;
            case 6: gesso_context_add_ellipse(c, 1, 1, 1e9, 5); break;
            case 7: gesso_context_rotate(c, 0.1), gesso_context_add_rect(c, 0, 0, 1e8, 1e8); break;
            case 8:
                gesso_context_set_line_width(c, 1e13);
                gesso_context_set_line_cap(c, GESSO_LINE_CAP_ROUND);
                gesso_context_move_to(c, 0, 0), gesso_context_add_line(c, 9, 9);
                gesso_context_stroke_path(c);
                break;
            }
            if (clip) gesso_context_clip(c, GESSO_FILL_RULE_WINDING);
            gesso_context_set_shadow(c, 0, 27, 14, 0, 0, 0, 0.7);
            gesso_context_fill_rect(c, -2, -2, 6, 6);
            CHECK_STATUS(gesso_context_finish(c, NULL), GESSO_TOO_LARGE);
        }
}

static void rectangles_may_be_infinite(void)
{
    double sizes[] = {1e7, 1e9, 1e300, 1.7e308};
    for (int i = 0; i < 4; i++)
        for (int call = 0; call < 3; call++) {
            gesso_context *context = context_of(10, 10, GESSO_FORMAT_ARGB32, 2);
            gesso_context_set_fill_color(context, 1, 1, 1, 1);
            double size = sizes[i], origin = i == 3 ? -size / 2 : 0;
            if (call == 0) gesso_context_fill_rect(context, origin, origin, size, size);
            if (call == 1) gesso_context_clip_to_rect(context, origin, origin, size, size);
            if (call == 2) gesso_context_add_rect(context, origin, origin, size, size);
            if (call == 1) gesso_context_fill_rect(context, 0, 0, 5, 5);
            if (call == 2) gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
            gesso_bitmap *bitmap = finished(context);
            for (int k = 0; k < 100; k++) CHECK(pixel(bitmap, k % 10, k / 10) == 0xffffffff);
            gesso_bitmap_release(bitmap);
        }
}

static void many_turns_are_one_circle(void)
{
    gesso_bitmap *results[2];
    for (int i = 0; i < 2; i++) {
        gesso_context *context = context_of(60, 60, GESSO_FORMAT_A8, 1);
        gesso_context_add_arc(context, 30, 30, 20, 0, i ? 9999 : 12.6, false);
        gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
        results[i] = finished(context);
    }
    const uint8_t *one = gesso_bitmap_pixels(results[0]), *many = gesso_bitmap_pixels(results[1]);
    for (size_t i = 0; i < gesso_bitmap_byte_count(results[0]); i++) CHECK(abs(one[i] - many[i]) <= 24); /* edges that lie on one another */
    for (int i = 0; i < 2; i++) gesso_bitmap_release(results[i]);
}

static void transforms_stay_finite(void)
{
    gesso_bitmap *source = random_bitmap(5, 5, GESSO_FORMAT_ARGB32, 13);
    gesso_context *context = context_of(10, 10, GESSO_FORMAT_ARGB32, 10), *other = NULL;
    gesso_context_translate(context, 1e308, 0);
    gesso_context_translate(context, -1e308, 0);
    gesso_context_translate(context, -1e308, 0);
    gesso_context_draw_bitmap(context, source, 0, 0, 3, 3);
    CHECK_STATUS(gesso_context_finish(context, NULL), GESSO_INVALID_ARGUMENT);
    gesso_context_options options = {.struct_size = sizeof options, .scale = 1e200};
    CHECK_STATUS(gesso_context_create(&other, 5, 5, &options), GESSO_INVALID_ARGUMENT);
    gesso_bitmap_release(source);
}

static void freezing_stops_drawing(void)
{
    gesso_bitmap *bitmap = NULL;
    gesso_context *context = NULL;
    CHECK_STATUS(gesso_bitmap_create(8, 8, GESSO_FORMAT_XRGB32, 1, &bitmap), GESSO_OK);
    CHECK_STATUS(gesso_context_create_for_bitmap(&context, bitmap), GESSO_OK);
    gesso_bitmap_freeze(bitmap);
    gesso_context_set_fill_color(context, 1, 1, 1, 1);
    gesso_context_fill_rect(context, 0, 0, 8, 8);
    CHECK_STATUS(gesso_context_finish(context, NULL), GESSO_FROZEN);
    CHECK(pixel(bitmap, 4, 4) == 0);
    gesso_bitmap_release(bitmap);
}

static void odd_strides(void)
{
    uint8_t bytes[5 * 4 + 1];
    memset(bytes, 255, sizeof bytes);
    gesso_bitmap *odd = NULL, *huge = NULL;
    gesso_context *context = NULL;
    CHECK_STATUS(gesso_bitmap_wrap(bytes, 5, 4, 5, GESSO_FORMAT_A8, 1, NULL, NULL, &odd), GESSO_OK);
    CHECK_STATUS(gesso_context_create_for_bitmap(&context, odd), GESSO_UNSUPPORTED);
    context = context_of(5, 4, GESSO_FORMAT_ARGB32, 1);
    gesso_context_set_fill_color(context, 0, 1, 0, 1);
    gesso_context_draw_bitmap(context, odd, 0, 0, 5, 4);
    gesso_bitmap *bitmap = finished(context);
    CHECK(pixel(bitmap, 4, 3) == 0xff00ff00);
    /* A stride of over 31 bits: rows that lie far apart in foreign memory, of which only one is there. */
    uint32_t row[10] = {0};
    CHECK_STATUS(
        gesso_bitmap_wrap(row, 10, 1, ((ptrdiff_t)1 << 32) + 40, GESSO_FORMAT_ARGB32, 1, NULL, NULL, &huge), GESSO_OK);
    CHECK_STATUS(gesso_context_create_for_bitmap(&context, huge), GESSO_TOO_LARGE);
    gesso_bitmap_release(huge);
    gesso_bitmap_release(odd);
    gesso_bitmap_release(bitmap);
}

static void wide_pictures_and_shadows(void)
{
    gesso_bitmap *source = random_bitmap(4, 4, GESSO_FORMAT_ARGB32, 14), *bitmap = NULL;
    gesso_context *context = context_of(100, 100, GESSO_FORMAT_ARGB32, 1);
    gesso_context_draw_bitmap(context, source, 0, 0, 40000, 1);
    gesso_context_set_shadow(context, 1, 1, 1, 0, 0, 0, 1);
    gesso_context_draw_bitmap(context, source, 0, 0, 30000, 30000); /* in the memory of what shows */
    gesso_bitmap_release(finished(context));
    gesso_bitmap_release(source);

    gesso_bitmap *edge = random_bitmap(8, 3, GESSO_FORMAT_ARGB32, 15);
    context = context_of(32766, 10, GESSO_FORMAT_ARGB32, 1);
    gesso_context_draw_bitmap(context, edge, 32758, 7, 8, 3);
    bitmap = finished(context);
    CHECK(pixel(bitmap, 32765, 9) == pixel(edge, 7, 2)); /* up to the very corner */
    gesso_bitmap_release(bitmap);
    gesso_bitmap_release(edge);

    context = context_of(32766, 10, GESSO_FORMAT_ARGB32, 1);
    gesso_context_set_shadow(context, 0, 4, 0, 0, 0, 0, 0.5);
    gesso_context_set_fill_color(context, 1, 0, 0, 1);
    gesso_context_fill_rect(context, 0, 0, 32766, 4);
    bitmap = finished(context);
    for (int x = 0; x < 32766; x += 41) CHECK(pixel(bitmap, x, 5) == 0x80000000 && pixel(bitmap, x, 9) == 0);
    gesso_bitmap_release(bitmap);
}

/* The limit is one of pixels, however the transform turns, mirrors or skews what is drawn. */
static void pens_have_one_limit(void)
{
    const gesso_transform transforms[] = {
        {1, 0, 0, 1, 0, 0}, {0.6, 0.8, -0.8, 0.6, 0, 0}, {0, 1, 1, 0, 0, 0}, {1, 0, 0, 0.01, 0, 0}, {0.75, 0.25, 0.25, 0.75, 0, 0}};
    for (int i = 0; i < 5; i++)
        for (int wide = 0; wide < 2; wide++) {
            gesso_context *c = context_of(10, 10, GESSO_FORMAT_ARGB32, 1);
            gesso_context_concatenate(c, transforms[i]);
            gesso_context_set_line_width(c, wide ? 65600 : 65500);
            gesso_context_move_to(c, 0, 0), gesso_context_add_line(c, 9, 2);
            gesso_context_stroke_path(c);
            CHECK_STATUS(gesso_context_finish(c, NULL), wide ? GESSO_TOO_LARGE : GESSO_OK);
        }
}

const check_test context_limits_tests[] = {
    TEST(points_out_of_reach, "points out of reach are an error, and never a wrong picture"),
    TEST(rectangles_may_be_infinite, "upright rectangles may reach as far as they like"),
    TEST(many_turns_are_one_circle, "an arc of many turns is a circle, in the time of two"),
    TEST(transforms_stay_finite, "a transform that is not finite any more is an error"),
    TEST(freezing_stops_drawing, "freezing a bitmap stops those who draw onto it"),
    TEST(odd_strides, "strides that Cairo cannot have are copied, or refused"),
    TEST(wide_pictures_and_shadows, "wide pictures and shadows are drawn as far as they show"),
    TEST(sizes_far_out_are_safe, "sizes far out are drawn or refused"),
    TEST(pens_have_one_limit, "a pen may be as wide in every direction"),
    {0}};

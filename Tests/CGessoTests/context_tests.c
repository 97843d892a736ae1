#include "check.h"

static void options_are_checked(void)
{
    gesso_context *context = NULL;
    CHECK_STATUS(gesso_context_create(&context, 0, 5, NULL), GESSO_INVALID_SIZE);
    CHECK_STATUS(gesso_context_create(&context, 32767, 5, NULL), GESSO_TOO_LARGE);
    CHECK_STATUS(gesso_context_create(&context, 5, UINT32_MAX, NULL), GESSO_TOO_LARGE);
    CHECK_STATUS(gesso_context_create(NULL, 5, 5, NULL), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_context_create(&context, 5, 5, &(gesso_context_options){0}), GESSO_INVALID_ARGUMENT);
    gesso_context_options options = {.struct_size = sizeof options, .scale = -1};
    CHECK_STATUS(gesso_context_create(&context, 5, 5, &options), GESSO_INVALID_ARGUMENT);
    options.scale = NAN;
    CHECK_STATUS(gesso_context_create(&context, 5, 5, &options), GESSO_INVALID_ARGUMENT);
    options.scale = 1, options.background[2] = INFINITY;
    CHECK_STATUS(gesso_context_create(&context, 5, 5, &options), GESSO_INVALID_ARGUMENT);
    options.background[2] = 0, options.format = (gesso_format)77;
    CHECK_STATUS(gesso_context_create(&context, 5, 5, &options), GESSO_INVALID_ARGUMENT);
    CHECK(context == NULL);
}

static void points_are_scaled(void)
{
    gesso_context *context = context_of(20, 10, GESSO_FORMAT_ARGB32, 2);
    gesso_context_set_fill_color(context, 1, 0, 0, 1);
    gesso_context_fill_rect(context, 2, 1, 3, 2);
    gesso_transform transform = gesso_context_transform(context);
    CHECK(transform.a == 2 && transform.d == 2 && transform.tx == 0);
    gesso_bitmap *bitmap = finished(context);
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 20; x++) {
            bool inside = x >= 4 && x < 10 && y >= 2 && y < 6;
            CHECK(pixel(bitmap, x, y) == (inside ? 0xffff0000 : 0));
        }
    CHECK(gesso_bitmap_is_frozen(bitmap) && gesso_bitmap_scale(bitmap) == 2);
    gesso_bitmap_release(bitmap);
}

static void background_decides_opacity(void)
{
    gesso_context *context = NULL;
    gesso_context_options options = {
        .struct_size = sizeof options, .format = GESSO_FORMAT_XRGB32, .background = {0, 0, 1, 0}};
    CHECK_STATUS(gesso_context_create(&context, 3, 3, &options), GESSO_OK);
    gesso_context_clear_rect(context, 0, 0, 1, 1);
    gesso_bitmap *bitmap = finished(context);
    CHECK(pixel(bitmap, 1, 1) == 0xff0000ff && pixel(bitmap, 0, 0) == 0xff000000);
    CHECK(gesso_bitmap_is_opaque(bitmap));
    gesso_bitmap_release(bitmap);
}

/* Every call that takes numbers, each with one that is not finite: the context fails, nothing else happens. */
static void not_finite_is_an_error(void)
{
    double wrong[] = {NAN, INFINITY, -INFINITY};
    for (int call = 0; call < 25; call++)
        for (int i = 0; i < 3; i++) {
            double v = wrong[i], dash[] = {1, v};
            gesso_gradient_stop stop = {.location = v}, fine = {.location = 0};
            gesso_context *c = context_of(4, 4, GESSO_FORMAT_ARGB32, 1);
            switch (call) {
            case 0: gesso_context_translate(c, v, 0); break;
            case 1: gesso_context_scale_by(c, 1, v); break;
            case 2: gesso_context_rotate(c, v); break;
            case 3: gesso_context_concatenate(c, (gesso_transform){.a = 1, .d = 1, .ty = v}); break;
            case 4: gesso_context_set_fill_color(c, 0, 0, v, 1); break;
            case 5: gesso_context_set_stroke_color(c, v, 0, 0, 1); break;
            case 6: gesso_context_set_line_width(c, v); break;
            case 7: gesso_context_set_miter_limit(c, v); break;
            case 8: gesso_context_set_line_dash(c, 0, dash, 2); break;
            case 9: gesso_context_set_alpha(c, v); break;
            case 10: gesso_context_set_shadow(c, 0, v, 1, 0, 0, 0, 1); break;
            case 11: gesso_context_set_shadow(c, 0, 0, v, 0, 0, 0, 1); break;
            case 12: gesso_context_move_to(c, v, 0); break;
            case 13: gesso_context_add_line(c, 0, v); break;
            case 14: gesso_context_add_curve(c, 0, 0, v, 0, 0, 0); break;
            case 15: gesso_context_add_quad_curve(c, 0, v, 0, 0); break;
            case 16: gesso_context_add_arc(c, 0, 0, 1, 0, v, true); break;
            case 17: gesso_context_add_rect(c, 0, 0, v, 1); break;
            case 18: gesso_context_add_ellipse(c, 0, 0, 1, v); break;
            case 19: gesso_context_add_rounded_rect(c, 0, 0, 1, 1, v, 1); break;
            case 20: gesso_context_fill_rect(c, v, 0, 1, 1); break;
            case 21: gesso_context_clip_to_rect(c, 0, v, 1, 1); break;
            case 22: gesso_context_clear_rect(c, 0, 0, 1, v); break;
            case 23: gesso_context_draw_linear_gradient(c, &stop, 1, 0, 0, 1, 1, 0); break;
            case 24: gesso_context_draw_radial_gradient(c, &fine, 1, 0, 0, v, 1, 1, 1, 0); break;
            }
            CHECK(gesso_context_status(c) == GESSO_INVALID_ARGUMENT);
            gesso_context_fill_rect(c, 0, 0, 4, 4); /* does nothing any more */
            CHECK_STATUS(gesso_context_finish(c, NULL), GESSO_INVALID_ARGUMENT);
        }
}

static void first_error_is_kept(void)
{
    gesso_context *context = context_of(4, 4, GESSO_FORMAT_ARGB32, 1);
    gesso_context_restore(context);
    gesso_context_set_alpha(context, NAN);
    gesso_bitmap *bitmap = NULL;
    CHECK_STATUS(gesso_context_finish(context, &bitmap), GESSO_INVALID_STATE);
    CHECK(bitmap == NULL);
}

static void begins_and_ends_pair_up(void)
{
    gesso_context *context = context_of(4, 4, GESSO_FORMAT_ARGB32, 1);
    gesso_context_begin_transparency_layer(context);
    gesso_context_restore(context);
    CHECK_STATUS(gesso_context_finish(context, NULL), GESSO_INVALID_STATE);

    context = context_of(4, 4, GESSO_FORMAT_ARGB32, 1);
    gesso_context_save(context);
    gesso_context_end_transparency_layer(context);
    CHECK_STATUS(gesso_context_finish(context, NULL), GESSO_INVALID_STATE);

    context = context_of(4, 4, GESSO_FORMAT_ARGB32, 1);
    gesso_context_begin_transparency_layer(context);
    CHECK_STATUS(gesso_context_finish(context, NULL), GESSO_INVALID_STATE);

    context = context_of(4, 4, GESSO_FORMAT_ARGB32, 1);
    for (int i = 0; i < 1000; i++) gesso_context_save(context);
    for (int i = 0; i < 1000; i++) gesso_context_restore(context);
    CHECK_STATUS(gesso_context_finish(context, NULL), GESSO_OK);
}

static void state_is_restored(void)
{
    gesso_context *context = context_of(4, 4, GESSO_FORMAT_ARGB32, 1);
    gesso_context_set_fill_color(context, 0, 1, 0, 1);
    gesso_context_save(context);
    gesso_context_set_fill_color(context, 1, 0, 0, 1);
    gesso_context_set_alpha(context, 0.1);
    gesso_context_set_shadow(context, 1, 1, 0, 1, 1, 1, 1);
    gesso_context_set_blend_mode(context, GESSO_BLEND_CLEAR);
    gesso_context_translate(context, 2, 2);
    gesso_context_clip_to_rect(context, 0, 0, 1, 1);
    gesso_context_restore(context);
    gesso_context_fill_rect(context, 0, 0, 4, 4);
    gesso_bitmap *bitmap = finished(context);
    for (int i = 0; i < 16; i++) CHECK(pixel(bitmap, i % 4, i / 4) == 0xff00ff00);
    gesso_bitmap_release(bitmap);
}

static void shortcuts_leave_the_path(void)
{
    gesso_context *context = context_of(8, 8, GESSO_FORMAT_ARGB32, 1);
    gesso_context_add_rect(context, 6, 6, 2, 2);
    gesso_context_set_fill_color(context, 1, 0, 0, 1);
    gesso_context_fill_rect(context, 0, 0, 2, 2);
    gesso_context_clear_rect(context, 0, 0, 1, 1);
    gesso_context_clip_to_rect(context, 0, 0, 8, 7);
    gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
    gesso_bitmap *bitmap = finished(context);
    CHECK(pixel(bitmap, 0, 0) == 0 && pixel(bitmap, 1, 1) == 0xffff0000 && pixel(bitmap, 3, 3) == 0);
    CHECK(pixel(bitmap, 6, 6) == 0xffff0000 && pixel(bitmap, 7, 7) == 0); /* the path, in the new clip */
    gesso_bitmap_release(bitmap);
}

static void even_odd_leaves_holes(void)
{
    for (int rule = 0; rule < 2; rule++) {
        gesso_context *context = context_of(6, 6, GESSO_FORMAT_A8, 1);
        gesso_context_add_rect(context, 0, 0, 6, 6);
        gesso_context_add_rect(context, 2, 2, 2, 2);
        gesso_context_fill_path(context, (gesso_fill_rule)rule);
        gesso_bitmap *bitmap = finished(context);
        const uint8_t *bytes = gesso_bitmap_pixels(bitmap);
        CHECK(bytes[0] == 255 && bytes[2 * gesso_bitmap_stride(bitmap) + 2] == (rule ? 0 : 255));
        gesso_bitmap_release(bitmap);
    }
}

/* Coverage adds up to the area: of an ellipse π·a·b, of a ring 2π·r·w, of a quarter disc π·r²/4. */
static void shapes_have_their_area(void)
{
    const double pi = 3.14159265358979;
    for (int shape = 0; shape < 5; shape++) {
        gesso_context *context = context_of(100, 100, GESSO_FORMAT_A8, 1);
        double expected = 0;
        switch (shape) {
        case 0: gesso_context_add_ellipse(context, 10.3, 20.7, 60, 40), expected = pi * 30 * 20; break;
        case 1: gesso_context_add_rounded_rect(context, 5.5, 5.25, 80, 50, 12, 12), expected = 4000 - (4 - pi) * 144; break;
        case 2:
            gesso_context_set_line_width(context, 3);
            gesso_context_add_ellipse(context, 20, 20, 50, 50), expected = 2 * pi * 25 * 3;
            break;
        case 3:
            gesso_context_move_to(context, 50, 50);
            gesso_context_add_arc(context, 50, 50, 40, 0, pi / 2, false);
            gesso_context_close_path(context);
            expected = pi * 1600 / 4;
            break;
        case 4: /* a parabola: two thirds of its box */
            gesso_context_move_to(context, 10, 10);
            gesso_context_add_quad_curve(context, 50, 90, 90, 10);
            gesso_context_close_path(context);
            expected = 80 * 40 * 2 / 3.0;
            break;
        }
        if (shape == 2) gesso_context_stroke_path(context);
        else gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
        gesso_bitmap *bitmap = finished(context);
        double sum = 0;
        for (int y = 0; y < 100; y++)
            for (int x = 0; x < 100; x++)
                sum += ((const uint8_t *)gesso_bitmap_pixels(bitmap))[y * gesso_bitmap_stride(bitmap) + x] / 255.0;
        CHECK(fabs(sum - expected) < 0.01 * expected);
        gesso_bitmap_release(bitmap);
    }
}

static void arcs_turn_as_in_core_graphics(void)
{
    /* From 0 to a quarter turn: angles that rise go down the screen; `clockwise` goes the other way round. */
    for (int clockwise = 0; clockwise < 2; clockwise++) {
        gesso_context *context = context_of(100, 100, GESSO_FORMAT_A8, 1);
        gesso_context_set_line_width(context, 4);
        gesso_context_add_arc(context, 50, 50, 40, 0, 3.14159265358979 / 2, clockwise);
        gesso_context_stroke_path(context);
        gesso_bitmap *bitmap = finished(context);
        const uint8_t *bytes = gesso_bitmap_pixels(bitmap);
        ptrdiff_t stride = gesso_bitmap_stride(bitmap);
        CHECK(bytes[78 * stride + 78] == (clockwise ? 0 : 255)); /* below to the right */
        CHECK(bytes[22 * stride + 22] == (clockwise ? 255 : 0)); /* above to the left */
        gesso_bitmap_release(bitmap);
    }
}

static void dashes_and_caps(void)
{
    gesso_context *context = context_of(40, 12, GESSO_FORMAT_A8, 1);
    double dashes[] = {6, 4};
    gesso_context_set_line_width(context, 4);
    gesso_context_set_line_dash(context, 0, dashes, 2);
    gesso_context_move_to(context, 0, 6);
    gesso_context_add_line(context, 40, 6);
    gesso_context_stroke_path(context);
    gesso_bitmap *bitmap = finished(context);
    const uint8_t *row = (const uint8_t *)gesso_bitmap_pixels(bitmap) + 5 * gesso_bitmap_stride(bitmap);
    for (int x = 0; x < 40; x++) CHECK(row[x] == (x % 10 < 6 ? 255 : 0));
    gesso_bitmap_release(bitmap);

    gesso_context *wrong = context_of(4, 4, GESSO_FORMAT_A8, 1);
    double zeros[] = {0, 0};
    gesso_context_set_line_dash(wrong, 0, zeros, 2);
    CHECK_STATUS(gesso_context_finish(wrong, NULL), GESSO_INVALID_ARGUMENT);
}

static void linear_gradient_is_linear(void)
{
    gesso_gradient_stop stops[] = {{0.0, 0, 0, 0, 1}, {1.0, 1, 1, 1, 1}};
    gesso_context *context = context_of(120, 2, GESSO_FORMAT_ARGB32, 1);
    gesso_context_draw_linear_gradient(context, stops, 2, 10, 0, 110, 0, GESSO_GRADIENT_DRAWS_AFTER_END);
    gesso_bitmap *bitmap = finished(context);
    for (int x = 0; x < 120; x++) {
        if (x < 9) CHECK(pixel(bitmap, x, 0) == 0); /* nothing before the start */
        if (x >= 110) CHECK(pixel(bitmap, x, 0) == 0xffffffff);
        if (x >= 10 && x < 110) CHECK(fabs((pixel(bitmap, x, 0) & 255) - (x + 0.5 - 10) / 100 * 255) <= 1.5);
    }
    gesso_bitmap_release(bitmap);
}

static void bitmaps_one_to_one_are_exact(void)
{
    gesso_bitmap *source = random_bitmap(13, 9, GESSO_FORMAT_ARGB32, 8);
    gesso_context *context = context_of(20, 20, GESSO_FORMAT_ARGB32, 1);
    gesso_context_draw_bitmap(context, source, 3, 4, 13, 9);
    gesso_bitmap *bitmap = finished(context);
    for (int y = 0; y < 9; y++)
        for (int x = 0; x < 13; x++) CHECK(pixel(bitmap, x + 3, y + 4) == pixel(source, x, y));
    CHECK(pixel(bitmap, 2, 4) == 0 && pixel(bitmap, 16, 12) == 0);
    gesso_bitmap_release(source);
    gesso_bitmap_release(bitmap);
}

static void a_picture_is_the_same_wherever_it_is_drawn(void)
{
    gesso_bitmap *source = random_bitmap(57, 41, GESSO_FORMAT_ARGB32, 9);
    gesso_bitmap *results[2];
    int offsets[2][2] = {{0, 0}, {613, 377}};
    for (int i = 0; i < 2; i++) {
        gesso_context *context = context_of(700, 460, GESSO_FORMAT_ARGB32, 2);
        gesso_context_translate(context, offsets[i][0] / 2.0, offsets[i][1] / 2.0);
        gesso_context_draw_bitmap(context, source, 3.3, 2.7, 21.9, 17.1);
        gesso_context_add_ellipse(context, 1.25, 1.75, 33.5, 30.25);
        gesso_context_set_shadow(context, 0.75, 1.5, 3, 0, 0, 0, 0.5);
        gesso_context_stroke_path(context);
        results[i] = finished(context);
    }
    for (int y = 0; y < 80; y++)
        for (int x = 0; x < 80; x++)
            CHECK(pixel(results[0], x, y) == pixel(results[1], x + offsets[1][0], y + offsets[1][1]));
    for (int i = 0; i < 2; i++) gesso_bitmap_release(results[i]);
    gesso_bitmap_release(source);
}

static void downscaling_is_an_area_average(void)
{
    gesso_bitmap *source = random_bitmap(64, 64, GESSO_FORMAT_XRGB32, 10);
    gesso_context *context = context_of(8, 8, GESSO_FORMAT_XRGB32, 1);
    gesso_context_draw_bitmap(context, source, 0, 0, 8, 8);
    gesso_bitmap *bitmap = finished(context);
    double error = 0;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
            double sum = 0;
            for (int i = 0; i < 64; i++) sum += pixel(source, 8 * x + i % 8, 8 * y + i / 8) & 255;
            error += pow((pixel(bitmap, x, y) & 255) - sum / 64, 2) / 64;
        }
    /* Noise is the hardest picture there is; smooth ones come out far closer. */
    CHECK(10 * log10(255 * 255 / error) > 35);
    gesso_bitmap_release(source);
    gesso_bitmap_release(bitmap);
}

static void nobody_draws_into_itself(void)
{
    gesso_bitmap *bitmap = NULL;
    gesso_context *context = NULL;
    CHECK_STATUS(gesso_bitmap_create(8, 8, GESSO_FORMAT_ARGB32, 1, &bitmap), GESSO_OK);
    CHECK_STATUS(gesso_context_create_for_bitmap(&context, bitmap), GESSO_OK);
    gesso_context_draw_bitmap(context, bitmap, 0, 0, 4, 4);
    CHECK_STATUS(gesso_context_finish(context, NULL), GESSO_INVALID_ARGUMENT);
    gesso_bitmap_release(bitmap);
}

const check_test context_tests[] = {
    TEST(options_are_checked, "a context that cannot be is an error"),
    TEST(points_are_scaled, "points are scaled to pixels"),
    TEST(background_decides_opacity, "an opaque context stays opaque, also where it is cleared"),
    TEST(not_finite_is_an_error, "NaN and infinity fail the context, in every call"),
    TEST(first_error_is_kept, "the first error is the one that finish reports"),
    TEST(begins_and_ends_pair_up, "saves, restores and layers have to pair up"),
    TEST(state_is_restored, "restore takes back all of the state"),
    TEST(shortcuts_leave_the_path, "shortcuts leave the path alone"),
    TEST(even_odd_leaves_holes, "the even-odd rule leaves holes, winding does not"),
    TEST(shapes_have_their_area, "the coverage of a shape adds up to its area"),
    TEST(arcs_turn_as_in_core_graphics, "arcs turn as in CoreGraphics"),
    TEST(dashes_and_caps, "dashes are drawn and left out by their lengths"),
    TEST(linear_gradient_is_linear, "a linear gradient is linear, and ends where it is to"),
    TEST(bitmaps_one_to_one_are_exact, "a bitmap drawn one to one is copied exactly"),
    TEST(a_picture_is_the_same_wherever_it_is_drawn, "what is drawn is the same wherever it is drawn"),
    TEST(downscaling_is_an_area_average, "making smaller averages areas"),
    TEST(nobody_draws_into_itself, "a bitmap cannot be drawn into itself"),
    {0}};

/* Pictures that kernels draw: no seam to Cairo, nothing outside, nothing that depends on which of the two it was. */
#include "check.h"

#include "resample.h"

/* Draws one of several pictures; an extra clip by a path, which contains all, sends it Cairo's way. */
static gesso_bitmap *picture(int kind, bool by_cairo, gesso_bitmap *icon)
{
    gesso_context *c = context_of(64, 60, kind % 2 ? GESSO_FORMAT_ARGB32 : GESSO_FORMAT_XRGB32, 1);
    gesso_context_set_fill_color(c, 0.9, 0.8, 0.7, 1);
    if (kind % 4) gesso_context_fill_rect(c, 0, 0, 64, 60);
    if (by_cairo) {
        gesso_context_move_to(c, -200, -200), gesso_context_add_line(c, 900, -200), gesso_context_add_line(c, -200, 900);
        gesso_context_close_path(c);
        gesso_context_clip(c, GESSO_FILL_RULE_WINDING);
    }
    gesso_context_set_fill_color(c, 0.1, 0.5, 0.9, kind % 3 ? 1 : 0.6);
    gesso_context_set_stroke_color(c, 1, 0.2, 0.1, kind % 3 ? 0.7 : 1);
    gesso_context_set_alpha(c, kind % 5 ? 1 : 0.5);
    gesso_context_translate(c, kind * 0.37, kind * 0.21);
    switch (kind % 9) {
    case 0: gesso_context_add_ellipse(c, 5, 6, 40, 40); break;
    case 1: gesso_context_add_rounded_rect(c, 3.5, 4.25, 45, 40, 9, 9); break;
    case 2: gesso_context_add_rect(c, 3.3, 4.6, 41.1, 30.7); break;
    case 3: gesso_context_clip_to_rect(c, 10.5, 10.25, 30, 30), gesso_context_add_ellipse(c, 4, 4, 44, 30); break;
    case 4: gesso_context_add_ellipse(c, 4, 4, 40, 40), gesso_context_clip(c, GESSO_FILL_RULE_WINDING),
            gesso_context_add_rect(c, 4, 4, 40, 40); break;
    case 5: gesso_context_add_rounded_rect(c, 4, 4, 44, 40, 12, 12), gesso_context_clip(c, GESSO_FILL_RULE_WINDING),
            gesso_context_add_ellipse(c, 2, 10, 40, 40); break;
    case 6: gesso_context_set_shadow(c, 2.5, 3, kind % 4 * 2, 0, 0, 0, 0.6), gesso_context_add_ellipse(c, 6, 6, 36, 36); break;
    case 7: gesso_context_scale_by(c, -1, 1), gesso_context_add_rounded_rect(c, -40, 5, 33, 31, 6, 6); break;
    case 8: gesso_context_add_ellipse(c, 5, 5, 44, 36), gesso_context_clip(c, GESSO_FILL_RULE_WINDING),
            gesso_context_draw_bitmap(c, icon, 6, 5, 35.3, 31.7), gesso_context_add_rect(c, 8, 8, 9, 9); break;
    }
    if (kind % 2 && kind % 9 < 2) {
        gesso_context_set_line_width(c, 2 + kind % 7);
        gesso_context_stroke_path(c);
    } else {
        gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
    }
    return finished(c);
}

static void no_seam_to_cairo(void)
{
    gesso_context *c = context_of(80, 70, GESSO_FORMAT_ARGB32, 1);
    gesso_context_set_fill_color(c, 0.2, 0.8, 0.3, 0.8);
    gesso_context_add_ellipse(c, 2, 2, 76, 66);
    gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
    gesso_bitmap *icon = finished(c);
    for (int kind = 0; kind < 90; kind++) {
        gesso_bitmap *ours = picture(kind, false, icon), *cairos = picture(kind, true, icon);
        int worst = 0;
        double sum = 0;
        for (int y = 0; y < 60; y++)
            for (int x = 0; x < 64; x++)
                for (int shift = 0; shift < 32; shift += 8) {
                    int e = abs((int)(pixel(ours, x, y) >> shift & 255) - (int)(pixel(cairos, x, y) >> shift & 255));
                    if (e > worst) worst = e;
                    sum += e;
                }
        /* Cairo's own coverage is up to 24 of 255 off the exact one, and a clip's is off as much again; but its averages
         * are right. */
        int most = kind % 9 == 4 || kind % 9 == 5 ? 60 : 36;
        if (worst > most || sum / (64 * 60 * 4) > 0.5)
            fprintf(stderr, "kind %d: worst %d, mean %g\n", kind, worst, sum / (64 * 60 * 4));
        CHECK(worst <= most && sum / (64 * 60 * 4) <= 0.5);
        gesso_bitmap_release(ours);
        gesso_bitmap_release(cairos);
    }
    gesso_bitmap_release(icon);
}

static void gradients_are_cairos(void)
{
    uint64_t seed = 24;
    for (int i = 0; i < 240; i++) {
        bool is_radial = i % 12 >= 6, is_translucent = i % 5 == 4;
        uint32_t options = i % 7 == 6 ? i / 7 % 4 : 3;
        double radius = random_next(&seed) % 20, reach = 1 + random_next(&seed) % 50;
        gesso_gradient_stop stops[5];
        double v[4];
        size_t count = 1 + random_next(&seed) % 5;
        for (size_t k = 0; k < count; k++)
            stops[k] = (gesso_gradient_stop){
                k == 0 ? (i % 3) * 0.1 : fmin(1, stops[k - 1].location + (random_next(&seed) % 50) / 100.0),
                random_next(&seed) % 100 / 99.0, random_next(&seed) % 100 / 99.0, random_next(&seed) % 100 / 99.0,
                is_translucent ? random_next(&seed) % 100 / 99.0 : 1};
        for (int k = 0; k < 4; k++) v[k] = random_next(&seed) % 900 / 10.0 - 10;
        gesso_bitmap *results[2];
        for (int way = 0; way < 2; way++) {
            gesso_context *c = context_of(80, 60, GESSO_FORMAT_ARGB32, 1);
            if (way) {
                gesso_context_move_to(c, -200, -200), gesso_context_add_line(c, 900, -200);
                gesso_context_add_line(c, -200, 900), gesso_context_clip(c, GESSO_FILL_RULE_WINDING);
            }
            gesso_context_scale_by(c, i % 2 ? 1.3 : 1, i % 4 == 1 ? -0.7 : 1);
            gesso_context_rotate(c, i % 5 * 0.4);
            if (i % 9 == 8) gesso_context_set_alpha(c, 0.6);
            if (is_radial) /* the end circle holds the start circle, or does not */
                gesso_context_draw_radial_gradient(
                    c, stops, count, v[0], v[1], radius, v[0] + reach * 0.5, v[1] + reach * 0.3,
                    radius + reach * (i % 24 < 12 ? 0.5 : 1.2), options);
            else
                gesso_context_draw_linear_gradient(c, stops, count, v[0], v[1], v[2], v[3], options);
            results[way] = finished(c);
        }
        int far = 0;
        for (int y = 0; y < 60; y++)
            for (int x = 0; x < 80; x++)
                for (int shift = 0; shift < 32; shift += 8)
                    far += abs((int)(pixel(results[0], x, y) >> shift & 255) - (int)(pixel(results[1], x, y) >> shift & 255)) > 2;
        /* Where a stop is hard, a pixel may fall on its other side. */
        if (far > 250) fprintf(stderr, "gradient %d: %d\n", i, far);
        CHECK(far <= 250);
        for (int way = 0; way < 2; way++) gesso_bitmap_release(results[way]);
    }
}

/* The same picture in the two ways: by kernels, and in a layer, which is Cairo's. */
static void check_same_in_layer(void (*draw)(gesso_context *c), int line)
{
    gesso_bitmap *results[2];
    for (int way = 0; way < 2; way++) {
        gesso_context *c = context_of(40, 40, GESSO_FORMAT_ARGB32, 1);
        if (way) gesso_context_begin_transparency_layer(c);
        gesso_context_save(c);
        draw(c);
        gesso_context_restore(c);
        if (way) gesso_context_end_transparency_layer(c);
        results[way] = finished(c);
    }
    int far = 0, ink = 0;
    for (int y = 0; y < 40; y++)
        for (int x = 0; x < 40; x++) {
            far += abs((int)(pixel(results[0], x, y) >> 24) - (int)(pixel(results[1], x, y) >> 24)) > 40;
            ink += pixel(results[1], x, y) >> 24 > 0;
        }
    if (far || !ink) fprintf(stderr, "line %d: %d pixels differ, %d are drawn\n", line, far, ink);
    CHECK(far == 0 && ink > 0);
    for (int way = 0; way < 2; way++) gesso_bitmap_release(results[way]);
}

static void stroke_after_turning(gesso_context *c)
{
    gesso_context_add_rect(c, 10, 10, 20, 20);
    gesso_context_set_line_width(c, 4);
    gesso_context_translate(c, 20, 20);
    gesso_context_rotate(c, 3.14159265358979 / 2);
    gesso_context_stroke_path(c);
}
static void stroke_after_skewing(gesso_context *c)
{
    gesso_context_add_rect(c, 10, 10, 20, 20);
    gesso_context_set_line_width(c, 4);
    gesso_context_concatenate(c, (gesso_transform){.a = 1, .c = 2, .d = 1});
    gesso_context_stroke_path(c);
}
static void two_ellipses_flipped(gesso_context *c)
{
    gesso_context_translate(c, 0, 40);
    gesso_context_scale_by(c, 1, -1);
    gesso_context_add_ellipse(c, 2, 2, 36, 36);
    gesso_context_add_ellipse(c, 10, 10, 20, 20);
    gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
}
static void line_from_rectangle_flipped(gesso_context *c)
{
    gesso_context_translate(c, 40, 40);
    gesso_context_scale_by(c, -1, -1);
    gesso_context_set_line_width(c, 2);
    gesso_context_add_rect(c, 10, 10, 20, 20);
    gesso_context_add_line(c, 0, 0);
    gesso_context_stroke_path(c);
}
static void rectangle_of_negative_size(gesso_context *c)
{
    gesso_context_set_line_width(c, 2);
    gesso_context_add_rect(c, 30, 30, -20, -20);
    gesso_context_add_line(c, 39, 20);
    gesso_context_stroke_path(c);
}
static void thinnest_stroke(gesso_context *c)
{
    gesso_context_set_line_width(c, 0.001);
    gesso_context_add_rect(c, 4, 4, 10, 10);
    gesso_context_stroke_path(c);
    gesso_context_fill_rect(c, 0, 0, 2, 2);
}

static void shapes_keep_direction_and_pen(void)
{
    check_same_in_layer(stroke_after_turning, __LINE__);
    check_same_in_layer(stroke_after_skewing, __LINE__);
    check_same_in_layer(two_ellipses_flipped, __LINE__);
    check_same_in_layer(line_from_rectangle_flipped, __LINE__);
    check_same_in_layer(rectangle_of_negative_size, __LINE__);
    check_same_in_layer(thinnest_stroke, __LINE__);
    gesso_context *c = context_of(40, 40, GESSO_FORMAT_ARGB32, 1);
    two_ellipses_flipped(c);
    gesso_bitmap *bitmap = finished(c);
    CHECK(pixel(bitmap, 20, 20) == 0xff000000); /* no hole */
    gesso_bitmap_release(bitmap);
}

static void shadows_of_what_is_too_large_for_kernels(void)
{
    for (int i = 0; i < 3; i++) {
        gesso_context *c = i < 2 ? context_of(9000, 4, GESSO_FORMAT_ARGB32, 1) : context_of(20, 20, GESSO_FORMAT_ARGB32, 1);
        gesso_context_set_shadow(c, i == 0 ? 9500 : i == 1 ? 0.5 : 1000, i == 1 ? 0.5 : 0, 0, 0, 0, 0, 1);
        if (i == 2) gesso_context_add_ellipse(c, -5000, -5000, 10000, 10000), gesso_context_clip(c, GESSO_FILL_RULE_WINDING);
        gesso_context_fill_rect(c, 0.5, 0.5, i < 2 ? 8990 : 8, 2);
        gesso_bitmap *bitmap = finished(c);
        CHECK(pixel(bitmap, 4, 1) == 0xff000000);
        gesso_bitmap_release(bitmap);
    }
}

static void many_samples_to_a_pixel(void)
{
    for (int n = 300; n < 2000; n += 100)
        for (int inverted = 0; inverted < 2; inverted++) {
            gesso_bitmap *source = NULL;
            CHECK_STATUS(gesso_bitmap_create((uint32_t)n, 1, GESSO_FORMAT_ARGB32, 1, &source), GESSO_OK);
            gesso_fill(source, inverted, 0, inverted ? (uint32_t)n - 1 : 1, 1, 1, 1, 1, 1);
            gesso_shape r = {.x1 = 256, .y1 = 256};
            gesso_bitmap *small = gesso_resampled(source, &r);
            int expected = inverted ? 255 : 0, found = (int)(pixel(small, 0, 0) >> 24);
            CHECK(abs(found - expected) <= 1);
            gesso_bitmap_release(small);
            gesso_bitmap_release(source);
        }
}

static void opaque_pixels_have_their_byte(void)
{
    gesso_bitmap *zero = NULL, *target = NULL;
    CHECK_STATUS(gesso_bitmap_create(4, 4, GESSO_FORMAT_XRGB32, 1, &zero), GESSO_OK);
    CHECK_STATUS(gesso_bitmap_create(4, 4, GESSO_FORMAT_XRGB32, 1, &target), GESSO_OK);
    gesso_context *c = context_of(8, 8, GESSO_FORMAT_XRGB32, 1);
    gesso_context_draw_bitmap(c, zero, 1, 1, 4, 4);
    gesso_context_draw_bitmap(c, zero, 4.5, 4.5, 3, 3);
    gesso_bitmap *bitmap = finished(c);
    for (int i = 0; i < 64; i++) CHECK(pixel(bitmap, i % 8, i / 8) >> 24 == 255);
    CHECK_STATUS(gesso_composite(target, zero, 0, 0, 1), GESSO_OK);
    CHECK(pixel(target, 2, 2) == 0xff000000);
    gesso_bitmap_release(bitmap);
    gesso_bitmap_release(target);
    gesso_bitmap_release(zero);
}

/* The corners of a shadow, stretched, are those of a shadow that is drawn as a whole: by a path that is the same shape. */
static void soft_shadows_are_stretched_unseen(void)
{
    double radii[] = {0, 3, 11.5, 40}, blurs[] = {1, 4, 7.5, 20, 33};
    for (int i = 0; i < 40; i++) {
        double r = radii[i % 4], blur = blurs[i % 5], alpha = i % 3 ? 1 : 0.5;
        double x = 20 + i * 0.37, y = 25 + i * 0.23, w = 60 + i * 4.1, h = 90 - i * 1.3;
        gesso_bitmap *results[2];
        for (int way = 0; way < 2; way++) {
            gesso_context *c = context_of(300, 180, GESSO_FORMAT_ARGB32, 1);
            gesso_context_set_shadow(c, 1.25, 3.5, blur, 0.1, 0.2, 0.7, 0.8);
            gesso_context_set_fill_color(c, 1, 1, 1, alpha);
            gesso_context_add_rounded_rect(c, x, y, w, h, r, r);
            /* A second, empty subpath makes it a path like any other. */
            if (way) gesso_context_move_to(c, 1, 1), gesso_context_add_line(c, 1, 1);
            gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
            results[way] = finished(c);
        }
        int worst = 0;
        for (int py = 0; py < 180; py++)
            for (int px = 0; px < 300; px++)
                for (int shift = 0; shift < 32; shift += 8) {
                    int e = abs((int)(pixel(results[0], px, py) >> shift & 255) - (int)(pixel(results[1], px, py) >> shift & 255));
                    /* At the shape's own edge Cairo's coverage is off. */
                    bool edge = fabs(px - x) < 2 || fabs(px - x - w) < 2 || fabs(py - y) < 2 || fabs(py - y - h) < 2 || r > 0;
                    if (!edge || px < x - 2 || py < y - 2 || px > x + w + 2 || py > y + h + 2)
                        if (e > worst) worst = e;
                }
        if (worst > 6) fprintf(stderr, "radius %g, blur %g: %d\n", r, blur, worst);
        CHECK(worst <= 6);
        for (int way = 0; way < 2; way++) gesso_bitmap_release(results[way]);
    }
}

/* Kernels write only inside: a bitmap among guard bytes, and shapes of all places and sizes. */
static void kernels_stay_inside(void)
{
    enum { WIDTH = 21, HEIGHT = 17, ROW = WIDTH + 5, ROWS = HEIGHT + 4 };
    uint64_t seed = 21;
    gesso_bitmap *icon = random_bitmap(30, 30, GESSO_FORMAT_ARGB32, 22);
    for (int i = 0; i < 3000; i++) {
        uint32_t memory[ROWS * ROW];
        memset(memory, 0xab, sizeof memory);
        gesso_bitmap *target = NULL;
        gesso_context *c = NULL;
        CHECK_STATUS(gesso_bitmap_wrap(memory + 2 * ROW + 2, WIDTH, HEIGHT, ROW * 4,
                                       i % 2 ? GESSO_FORMAT_ARGB32 : GESSO_FORMAT_XRGB32, 1, NULL, NULL, &target), GESSO_OK);
        CHECK_STATUS(gesso_context_create_for_bitmap(&c, target), GESSO_OK);
        double v[8];
        for (int k = 0; k < 8; k++) v[k] = (random_next(&seed) % 8000) / 100.0 - 30;
        if (i % 3 == 0) gesso_context_add_ellipse(c, v[4], v[5], v[6], v[7]), gesso_context_clip(c, GESSO_FILL_RULE_WINDING);
        if (i % 7 == 0) gesso_context_clip_to_rect(c, v[6], v[7], v[4], v[5]);
        if (i % 5 == 0) gesso_context_set_shadow(c, v[0], v[1], i % 2 * fabs(v[2]) / 4, 0, 0, 0, 0.5);
        if (i % 4 == 0) gesso_context_draw_bitmap(c, icon, v[0], v[1], v[2], v[3]);
        gesso_context_add_rounded_rect(c, v[0], v[1], v[2], v[3], fabs(v[4]), fabs(v[5]));
        if (i % 2) gesso_context_stroke_path(c);
        else gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
        CHECK_STATUS(gesso_context_finish(c, NULL), GESSO_OK);
        for (int k = 0; k < ROWS * ROW; k++) {
            int x = k % ROW - 2, y = k / ROW - 2;
            if (x < 0 || x >= WIDTH || y < 0 || y >= HEIGHT) CHECK(memory[k] == 0xabababab);
        }
        gesso_bitmap_release(target);
    }
    gesso_bitmap_release(icon);
}

/* What nobody uses of an opaque pixel is nobody's alpha: zero as a new bitmap has it, or anything. */
static void modes_take_opaque_formats_for_opaque(void)
{
    for (int mode = GESSO_BLEND_NORMAL; mode <= GESSO_BLEND_PLUS_LIGHTER; mode++) {
        uint32_t found[3];
        const uint32_t tops[] = {0, 0x7f000000, 0xff000000};
        for (int i = 0; i < 3; i++) {
            uint32_t pixels[4];
            for (int k = 0; k < 4; k++) pixels[k] = tops[i] | 0x304060;
            gesso_bitmap *bitmap = NULL;
            CHECK_STATUS(gesso_bitmap_wrap(pixels, 4, 1, 16, GESSO_FORMAT_XRGB32, 1, NULL, NULL, &bitmap), GESSO_OK);
            gesso_context *c = NULL;
            CHECK_STATUS(gesso_context_create_for_bitmap(&c, bitmap), GESSO_OK);
            gesso_context_set_blend_mode(c, (gesso_blend_mode)mode);
            gesso_context_set_fill_color(c, 1, 0.5, 0.25, 0.8);
            gesso_context_fill_rect(c, 0, 0, 4, 1);
            CHECK_STATUS(gesso_context_finish(c, NULL), GESSO_OK);
            found[i] = pixels[1];
            gesso_bitmap_release(bitmap);
        }
        CHECK(found[0] == found[2] && found[1] == found[2]);
    }
}

static void steep_gradients_reach_their_end(void)
{
    for (int i = 0; i < 100; i++) {
        double length = 1 + i / 100.0;
        gesso_gradient_stop stops[] = {{0.5, 0, 0, 0, 1}, {0.5 + length / 100, 1, 1, 1, 1}};
        gesso_context *c = context_of(100, 1, GESSO_FORMAT_ARGB32, 1);
        gesso_context_draw_linear_gradient(c, stops, 2, 0, 0, 100, 0, 3);
        gesso_bitmap *bitmap = finished(c);
        for (int x = 48; x < 55; x++) {
            double expected = 255 * fmax(0, fmin(1, (x + 0.5 - 50) / length));
            CHECK(fabs((pixel(bitmap, x, 0) & 255) - expected) <= 2);
        }
        gesso_bitmap_release(bitmap);
    }
}

static void wrong_coverage_is_an_error(void)
{
    const uint8_t some[64] = {255};
    const gesso_coverage bad[] = {
        {.pixels = NULL, .stride = 8, .width = 8, .height = 1}, {.pixels = some, .stride = 7, .width = 8, .height = 1},
        {.pixels = some, .stride = 8, .width = 8, .height = 40000}, {.pixels = some, .stride = 8, .width = 8, .height = 1, .red = NAN}};
    for (int i = 0; i < 5; i++) {
        gesso_context *c = context_of(8, 8, GESSO_FORMAT_ARGB32, 1);
        CHECK(gesso_context_draw_coverage(c, i < 4 ? &bad[i] : NULL, 1));
        CHECK_STATUS(gesso_context_finish(c, NULL), GESSO_INVALID_ARGUMENT);
    }
    /* Within a clip that reaches far beyond the bitmap. */
    gesso_context *c = context_of(8, 8, GESSO_FORMAT_ARGB32, 1);
    gesso_context_clip_to_rect(c, 0.5, 0.5, 1e6, 1e6);
    gesso_coverage item = {.pixels = some, .stride = 8, .width = 1, .height = 1, .x = 0, .y = 0, .alpha = 1};
    CHECK(gesso_context_draw_coverage(c, &item, 1));
    gesso_bitmap *bitmap = finished(c);
    CHECK(pixel(bitmap, 0, 0) >> 24 == 64);
    gesso_bitmap_release(bitmap);
}

const check_test kernel_picture_tests[] = {
    TEST(modes_take_opaque_formats_for_opaque, "blend modes take opaque formats for opaque"),
    TEST(steep_gradients_reach_their_end, "steep gradients reach their end"),
    TEST(wrong_coverage_is_an_error, "wrong coverage is an error"),
    TEST(no_seam_to_cairo, "there is no seam between kernels and Cairo"),
    TEST(shapes_keep_direction_and_pen, "a shape keeps its direction and corner, and its stroke the pen of the transform"),
    TEST(shadows_of_what_is_too_large_for_kernels, "what is too large for kernels is Cairo's, with its shadow"),
    TEST(many_samples_to_a_pixel, "making a thousand pixels one averages them"),
    TEST(opaque_pixels_have_their_byte, "pixels of opaque bitmaps are opaque, whatever was copied"),
    TEST(gradients_are_cairos, "gradients are those of Cairo"),
    TEST(soft_shadows_are_stretched_unseen, "a soft shadow is stretched between its corners, unseen"),
    TEST(kernels_stay_inside, "kernels write only inside of the bitmap"),
    {0}};

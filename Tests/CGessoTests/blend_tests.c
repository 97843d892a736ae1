#include "check.h"

/* The separable functions of PDF and of Porter and Duff, on straight colours of one channel, in real numbers. */
static double composed(gesso_blend_mode mode, double s, double sa, double b, double ba, double *alpha)
{
    double fa = 0, fb = 0, mixed;
    switch (mode) {
    case GESSO_BLEND_CLEAR: break;
    case GESSO_BLEND_COPY: fa = 1; break;
    case GESSO_BLEND_SOURCE_IN: fa = ba; break;
    case GESSO_BLEND_SOURCE_OUT: fa = 1 - ba; break;
    case GESSO_BLEND_SOURCE_ATOP: fa = ba, fb = 1 - sa; break;
    case GESSO_BLEND_DESTINATION_OVER: fa = 1 - ba, fb = 1; break;
    case GESSO_BLEND_DESTINATION_IN: fb = sa; break;
    case GESSO_BLEND_DESTINATION_OUT: fb = 1 - sa; break;
    case GESSO_BLEND_DESTINATION_ATOP: fa = 1 - ba, fb = sa; break;
    case GESSO_BLEND_XOR: fa = 1 - ba, fb = 1 - sa; break;
    case GESSO_BLEND_PLUS_LIGHTER:
        *alpha = fmin(1, sa + ba);
        return fmin(1, s * sa + b * ba);
    default:
        switch (mode) {
        case GESSO_BLEND_MULTIPLY: mixed = s * b; break;
        case GESSO_BLEND_SCREEN: mixed = s + b - s * b; break;
        case GESSO_BLEND_DARKEN: mixed = fmin(s, b); break;
        case GESSO_BLEND_LIGHTEN: mixed = fmax(s, b); break;
        case GESSO_BLEND_DIFFERENCE: mixed = fabs(s - b); break;
        case GESSO_BLEND_EXCLUSION: mixed = s + b - 2 * s * b; break;
        case GESSO_BLEND_OVERLAY: mixed = b <= 0.5 ? 2 * s * b : 1 - 2 * (1 - s) * (1 - b); break;
        case GESSO_BLEND_HARD_LIGHT: mixed = s <= 0.5 ? 2 * s * b : 1 - 2 * (1 - s) * (1 - b); break;
        case GESSO_BLEND_COLOR_DODGE: mixed = b == 0 ? 0 : s >= 1 ? 1 : fmin(1, b / (1 - s)); break;
        case GESSO_BLEND_COLOR_BURN: mixed = b == 1 ? 1 : s <= 0 ? 0 : 1 - fmin(1, (1 - b) / s); break;
        case GESSO_BLEND_SOFT_LIGHT: {
            double d = b <= 0.25 ? ((16 * b - 12) * b + 4) * b : sqrt(b);
            mixed = s <= 0.5 ? b - (1 - 2 * s) * b * (1 - b) : b + (2 * s - 1) * (d - b);
            break;
        }
        default: mixed = s; break;
        }
        *alpha = sa + ba - sa * ba;
        return sa * (1 - ba) * s + sa * ba * mixed + (1 - sa) * ba * b;
    }
    *alpha = sa * fa + ba * fb;
    return s * sa * fa + b * ba * fb;
}

static void modes_are_their_formulas(void)
{
    double colors[] = {0, 0.2, 0.6, 1}, alphas[] = {0.4, 1};
    for (int mode = 0; mode <= GESSO_BLEND_PLUS_LIGHTER; mode++) {
        if (mode >= GESSO_BLEND_HUE && mode <= GESSO_BLEND_LUMINOSITY) continue; /* below */
        for (int i = 0; i < 64; i++) {
            double s = colors[i % 4], b = colors[i / 4 % 4], sa = alphas[i / 16 % 2], ba = alphas[i / 32];
            gesso_context *context = context_of(3, 1, GESSO_FORMAT_ARGB32, 1);
            gesso_context_set_fill_color(context, b, b, b, ba);
            gesso_context_fill_rect(context, 0, 0, 3, 1);
            gesso_context_set_blend_mode(context, (gesso_blend_mode)mode);
            gesso_context_set_fill_color(context, s, s, s, sa);
            gesso_context_fill_rect(context, 1, 0, 1, 1);
            gesso_bitmap *bitmap = finished(context);
            double alpha, value = composed((gesso_blend_mode)mode, s, sa, b, ba, &alpha);
            bool fine = fabs((pixel(bitmap, 1, 0) & 255) - 255 * value) <= 3
                && fabs((pixel(bitmap, 1, 0) >> 24) - 255 * alpha) <= 2;
            if (!fine)
                fprintf(stderr, "mode %d: s %g sa %g b %g ba %g: %08x, not %g %g\n", mode, s, sa, b, ba,
                        pixel(bitmap, 1, 0), 255 * value, 255 * alpha);
            CHECK(fine);
            /* Outside of the shape nothing changes, whatever the operator. */
            uint32_t untouched = pixel(bitmap, 0, 0);
            CHECK(untouched == pixel(bitmap, 2, 0) && fabs((untouched >> 24) - 255 * ba) <= 1);
            gesso_bitmap_release(bitmap);
        }
    }
}

/* What a picture's or gradient's own alpha is to a mode: the same as that of a colour. */
static void pictures_blend_as_colors_do(void)
{
    gesso_blend_mode modes[] = {
        GESSO_BLEND_NORMAL, GESSO_BLEND_COPY, GESSO_BLEND_CLEAR, GESSO_BLEND_SOURCE_IN, GESSO_BLEND_SOURCE_OUT,
        GESSO_BLEND_DESTINATION_IN, GESSO_BLEND_DESTINATION_OUT, GESSO_BLEND_DESTINATION_ATOP, GESSO_BLEND_XOR};
    double alphas[] = {0, 0.5, 1};
    for (int m = 0; m < 9; m++)
        for (int i = 0; i < 9; i++) {
            double own = alphas[i % 3], whole = alphas[i / 3];
            gesso_bitmap *picture = NULL;
            CHECK_STATUS(gesso_bitmap_create(4, 4, GESSO_FORMAT_ARGB32, 1, &picture), GESSO_OK);
            gesso_fill(picture, 0, 0, 4, 4, 0, 1, 0, own);
            gesso_gradient_stop stops[] = {{0, 0, 1, 0, own}, {1, 0, 1, 0, own}};
            gesso_bitmap *results[5];
            for (int way = 0; way < 5; way++) {
                gesso_context *c = context_of(8, 8, GESSO_FORMAT_ARGB32, 1);
                gesso_context_set_fill_color(c, 1, 0, 0, 0.8);
                gesso_context_fill_rect(c, 0, 0, 8, 8);
                gesso_context_set_blend_mode(c, modes[m]);
                gesso_context_set_alpha(c, whole);
                gesso_context_set_fill_color(c, 0, 1, 0, own);
                gesso_context_save(c);
                gesso_context_clip_to_rect(c, 2, 2, 4, 4);
                switch (way) {
                case 0: gesso_context_fill_rect(c, 2, 2, 4, 4); break;
                case 1: gesso_context_draw_bitmap(c, picture, 2, 2, 4, 4); break;
                case 2: gesso_context_draw_bitmap(c, picture, 0.5, 0.5, 7, 7); break;
                case 3: gesso_context_draw_linear_gradient(c, stops, 2, 0, 0, 8, 0, 3); break;
                case 4:
                    gesso_context_begin_transparency_layer(c);
                    gesso_context_fill_rect(c, 2, 2, 4, 4);
                    gesso_context_end_transparency_layer(c);
                    break;
                }
                gesso_context_restore(c);
                results[way] = finished(c);
                for (int shift = 0; shift < 32; shift += 8) {
                    int expected = pixel(results[0], 4, 4) >> shift & 255, found = pixel(results[way], 4, 4) >> shift & 255;
                    if (abs(expected - found) > 2)
                        fprintf(stderr, "mode %d, own %g, whole %g, way %d: %08x, not %08x\n", modes[m], own, whole, way,
                                pixel(results[way], 4, 4), pixel(results[0], 4, 4));
                    CHECK(abs(expected - found) <= 2);
                }
                CHECK(pixel(results[way], 0, 0) == pixel(results[0], 0, 0));
            }
            for (int way = 0; way < 5; way++) gesso_bitmap_release(results[way]);
            gesso_bitmap_release(picture);
        }
}

static void edges_blend_once(void)
{
    /* Half a pixel covered, with a mode that replaces what is outside of the source: half of the way to its result. */
    gesso_context *context = context_of(3, 1, GESSO_FORMAT_ARGB32, 1);
    gesso_context_fill_rect(context, 0, 0, 3, 1);
    gesso_context_set_blend_mode(context, GESSO_BLEND_DESTINATION_IN);
    gesso_context_set_fill_color(context, 0, 0, 0, 0);
    gesso_context_fill_rect(context, 0.5, 0, 1, 1);
    gesso_bitmap *bitmap = finished(context);
    CHECK(abs((int)(pixel(bitmap, 0, 0) >> 24) - 128) <= 2 && abs((int)(pixel(bitmap, 1, 0) >> 24) - 128) <= 2);
    CHECK(pixel(bitmap, 2, 0) == 0xff000000);
    gesso_bitmap_release(bitmap);
}

static double luminosity(uint32_t word)
{
    return 0.3 * (word >> 16 & 255) + 0.59 * (word >> 8 & 255) + 0.11 * (word & 255);
}

static void luminosity_modes_keep_luminosity(void)
{
    for (int mode = GESSO_BLEND_HUE; mode <= GESSO_BLEND_LUMINOSITY; mode++) {
        gesso_context *context = context_of(2, 1, GESSO_FORMAT_ARGB32, 1);
        gesso_context_set_fill_color(context, 0.5, 0.4, 0.3, 1);
        gesso_context_fill_rect(context, 0, 0, 2, 1);
        gesso_context_set_blend_mode(context, (gesso_blend_mode)mode);
        gesso_context_set_fill_color(context, 0.3, 0.6, 0.5, 1);
        gesso_context_fill_rect(context, 1, 0, 1, 1);
        gesso_bitmap *bitmap = finished(context);
        double source = 255 * (0.3 * 0.3 + 0.59 * 0.6 + 0.11 * 0.5), backdrop = luminosity(pixel(bitmap, 0, 0));
        double expected = mode == GESSO_BLEND_LUMINOSITY ? source : backdrop;
        CHECK(fabs(luminosity(pixel(bitmap, 1, 0)) - expected) < 3);
        gesso_bitmap_release(bitmap);
    }
}

static void a_layer_is_one_thing(void)
{
    /* Two overlapping squares at half alpha: in a layer they do not add up where they overlap. */
    gesso_context *context = context_of(6, 2, GESSO_FORMAT_ARGB32, 1);
    gesso_context_set_fill_color(context, 1, 0, 0, 1);
    gesso_context_set_alpha(context, 0.5);
    gesso_context_begin_transparency_layer(context);
    gesso_context_fill_rect(context, 0, 0, 4, 2);
    gesso_context_fill_rect(context, 2, 0, 4, 2);
    gesso_context_end_transparency_layer(context);
    gesso_bitmap *bitmap = finished(context);
    for (int x = 1; x < 6; x++) CHECK(pixel(bitmap, x, 1) == pixel(bitmap, 0, 1));
    CHECK(abs((int)(pixel(bitmap, 0, 0) >> 24) - 128) <= 1);
    gesso_bitmap_release(bitmap);
}

static void a_hard_shadow_is_the_shape_moved(void)
{
    gesso_context *context = context_of(20, 20, GESSO_FORMAT_ARGB32, 2);
    gesso_context_scale_by(context, 0.5, 0.5); /* does not change the shadow's offset */
    gesso_context_set_shadow(context, 3, 2, 0, 0, 0, 1, 0.6);
    gesso_context_set_fill_color(context, 1, 0, 0, 1);
    gesso_context_fill_rect(context, 4, 4, 4, 4);
    gesso_bitmap *bitmap = finished(context);
    for (int y = 0; y < 20; y++)
        for (int x = 0; x < 20; x++) {
            bool shape = x >= 4 && x < 8 && y >= 4 && y < 8;
            bool shadow = x >= 10 && x < 14 && y >= 8 && y < 12;
            CHECK(pixel(bitmap, x, y) == (shape ? 0xffff0000 : shadow ? 0x99000099 : 0));
        }
    gesso_bitmap_release(bitmap);
}

static void a_soft_shadow_is_a_gaussian(void)
{
    /* The edge of a large square, blurred: the error function across the edge. */
    double blurs[] = {1, 3, 8, 15.9, 16.1, 17, 25, 40, 66.6, 100, 400, 1000};
    for (int i = 0; i < 12; i++) {
        double sigma = blurs[i] / 2, edge = 4 * sigma + 5, far = 10 * sigma + 10;
        gesso_context *context = context_of((uint32_t)ceil(8 * sigma + 10), 3, GESSO_FORMAT_ARGB32, 1);
        gesso_context_set_shadow(context, 0, far + 5, blurs[i], 0, 0, 0, 1);
        gesso_context_fill_rect(context, edge, -2 * far, 2 * far, 2 * far); /* itself out of sight */
        gesso_bitmap *bitmap = finished(context);
        for (uint32_t x = 0; x < gesso_bitmap_width(bitmap); x++) {
            double expected = 255 * 0.5 * erfc(-(x + 0.5 - edge) / (sigma * sqrt(2)));
            bool fine = fabs((pixel(bitmap, (int)x, 1) >> 24) - expected) <= 3;
            if (!fine) fprintf(stderr, "blur %g at %u: %u, not %g\n", blurs[i], x, pixel(bitmap, (int)x, 1) >> 24, expected);
            CHECK(fine);
        }
        gesso_bitmap_release(bitmap);
    }
}

static void a_shadow_does_not_depend_on_the_clip(void)
{
    gesso_bitmap *results[2];
    for (int i = 0; i < 2; i++) {
        gesso_context *context = context_of(60, 60, GESSO_FORMAT_ARGB32, 1);
        if (i) gesso_context_clip_to_rect(context, 35, 35, 10, 10);
        gesso_context_set_shadow(context, 4.5, 3.25, 6, 0, 0, 0, 0.7);
        gesso_context_add_ellipse(context, 10, 10, 28, 28);
        gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
        results[i] = finished(context);
    }
    for (int y = 35; y < 45; y++)
        for (int x = 35; x < 45; x++) CHECK(pixel(results[0], x, y) == pixel(results[1], x, y));
    CHECK(pixel(results[1], 34, 40) == 0 && pixel(results[1], 45, 40) == 0);
    for (int i = 0; i < 2; i++) gesso_bitmap_release(results[i]);
}

const check_test blend_tests[] = {
    TEST(modes_are_their_formulas, "each blend mode is its formula, and ends at the shape's edge"),
    TEST(pictures_blend_as_colors_do, "pictures, gradients and layers blend as colours do"),
    TEST(edges_blend_once, "the edge of a shape counts once"),
    TEST(luminosity_modes_keep_luminosity, "the modes of hue, saturation and colour keep the luminosity"),
    TEST(a_layer_is_one_thing, "a transparency layer is drawn as one thing"),
    TEST(a_hard_shadow_is_the_shape_moved, "a hard shadow is the shape, moved by points that the transform leaves alone"),
    TEST(a_soft_shadow_is_a_gaussian, "a soft shadow falls off as a Gaussian of half the blur"),
    TEST(a_shadow_does_not_depend_on_the_clip, "a shadow does not depend on the clip"),
    {0}};

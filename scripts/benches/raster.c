#define _GNU_SOURCE
/* The raster bench: ours and Cairo in one process, by turns. Prints one line a case: name, unit, ours, peer, theirs. */
#include "gesso.h"
#include "resample.h"
#include "shape.h"

#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

typedef void (*work)(double size);

enum { MOST_SAMPLES = 64 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, by_value);
    return samples[count / 2];
}

static int repeats = 25;

/* Microseconds of one call of each, medians of interleaved repeats of about two milliseconds. */
static void compare(const char *name, double size, work ours, const char *peers[], work theirs[], int peer_count)
{
    work all[4] = {ours};
    double samples[4][MOST_SAMPLES];
    int calls[4];
    for (int i = 0; i < peer_count; i++) all[i + 1] = theirs[i];
    for (int i = 0; i <= peer_count; i++) {
        all[i](size); /* warm */
        double begin = now_us();
        int n = 0;
        do all[i](size), n++;
        while (now_us() - begin < 2000);
        calls[i] = n;
    }
    for (int r = 0; r < repeats; r++)
        for (int i = 0; i <= peer_count; i++) {
            double begin = now_us();
            for (int n = 0; n < calls[i]; n++) all[i](size);
            samples[i][r] = (now_us() - begin) / calls[i];
        }
    double mine = median(samples[0], repeats);
    if (peer_count == 0) printf("%s\tus\t%.4f\tnone\t0\n", name, mine); /* for peers elsewhere */
    for (int i = 0; i < peer_count; i++)
        printf("%s\tus\t%.4f\t%s\t%.4f\n", name, mine, peers[i], median(samples[i + 1], repeats));
    fflush(stdout);
}

/* ---- The classic cell ---- */

static gesso_bitmap *icon;
static cairo_surface_t *icon_surface;

static void load_icon(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) exit(1);
    static uint8_t bytes[1 << 20];
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (gesso_png_decode(bytes, length, NULL, &icon)) exit(1);
    gesso_bitmap_freeze(icon);
    icon_surface = cairo_image_surface_create_for_data(
        (unsigned char *)gesso_bitmap_pixels(icon), CAIRO_FORMAT_ARGB32, (int)gesso_bitmap_width(icon),
        (int)gesso_bitmap_height(icon), (int)gesso_bitmap_stride(icon));
}

static void cell_ours(double scale)
{
    gesso_context *c;
    gesso_bitmap *bitmap;
    gesso_context_options options = {
        .struct_size = sizeof options, .format = GESSO_FORMAT_XRGB32, .scale = scale,
        .background = {2 / 3.0, 2 / 3.0, 2 / 3.0, 1}};
    if (gesso_context_create(&c, (uint32_t)(107 * scale), (uint32_t)(100 * scale), &options)) exit(1);
    double w = 84.6, h = w * gesso_bitmap_height(icon) / gesso_bitmap_width(icon);
    gesso_context_save(c);
    gesso_context_add_ellipse(c, 6.5, 3, 94, 94);
    gesso_context_clip(c, GESSO_FILL_RULE_WINDING);
    gesso_context_set_fill_color(c, 0.4, 0.3, 0.2, 1);
    gesso_context_fill_rect(c, 6.5, 3, 94, 94);
    gesso_context_draw_bitmap(c, icon, 53.5 - w / 2, 50 - h / 2, w, h);
    gesso_context_restore(c);
    gesso_context_set_shadow(c, 0, 1, 0, 0, 0, 0, 0.6);
    gesso_context_set_stroke_color(c, 1, 1, 1, 1);
    gesso_context_set_line_width(c, 2);
    gesso_context_add_ellipse(c, 6.5, 3, 94, 94);
    gesso_context_stroke_path(c);
    if (gesso_context_finish(c, &bitmap)) exit(1);
    gesso_bitmap_release(bitmap);
}

static void cell_by_cairo(double scale, cairo_filter_t filter)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(107 * scale), (int)(100 * scale));
    cairo_t *c = cairo_create(s);
    double w = 84.6, h = w * gesso_bitmap_height(icon) / gesso_bitmap_width(icon);
    cairo_scale(c, scale, scale);
    cairo_set_source_rgb(c, 2 / 3.0, 2 / 3.0, 2 / 3.0);
    cairo_paint(c);
    cairo_save(c);
    cairo_arc(c, 53.5, 50, 47, 0, 2 * 3.14159265358979);
    cairo_clip(c);
    cairo_set_source_rgb(c, 0.4, 0.3, 0.2);
    cairo_rectangle(c, 6.5, 3, 94, 94);
    cairo_fill(c);
    cairo_translate(c, 53.5 - w / 2, 50 - h / 2);
    cairo_scale(c, w / gesso_bitmap_width(icon), h / gesso_bitmap_height(icon));
    cairo_set_source_surface(c, icon_surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c), filter);
    cairo_paint(c);
    cairo_restore(c);
    cairo_set_line_width(c, 2);
    cairo_set_source_rgba(c, 0, 0, 0, 0.6);
    cairo_arc(c, 53.5, 51, 47, 0, 2 * 3.14159265358979);
    cairo_stroke(c);
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_arc(c, 53.5, 50, 47, 0, 2 * 3.14159265358979);
    cairo_stroke(c);
    cairo_destroy(c);
    cairo_surface_destroy(s);
}
static void cell_cairo(double scale) { cell_by_cairo(scale, CAIRO_FILTER_GOOD); }
static void cell_cairo_bilinear(double scale) { cell_by_cairo(scale, CAIRO_FILTER_BILINEAR); }

/* ---- Shapes, on a surface that is there ---- */

static gesso_bitmap *canvas;
static gesso_context *context;
static cairo_surface_t *surface;
static cairo_t *cairo;
static double opacity = 1;

static void circle_ours(double d)
{
    gesso_mask_remember(0);
    gesso_context_set_fill_color(context, 0.2, 0.5, 0.9, opacity);
    gesso_context_add_ellipse(context, 3.25, 4.5, d, d);
    gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
}
static void circle_remembered(double d)
{
    gesso_context_set_fill_color(context, 0.2, 0.5, 0.9, opacity);
    gesso_context_add_ellipse(context, 3.25, 4.5, d, d);
    gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
}
static void circle_cairo(double d)
{
    cairo_set_source_rgba(cairo, 0.2, 0.5, 0.9, opacity);
    cairo_arc(cairo, 3.25 + d / 2, 4.5 + d / 2, d / 2, 0, 2 * 3.14159265358979);
    cairo_fill(cairo);
}
static void rounded_ours(double d)
{
    gesso_mask_remember(0);
    gesso_context_set_fill_color(context, 0.2, 0.5, 0.9, opacity);
    gesso_context_add_rounded_rect(context, 3.25, 4.5, d, d, d / 8, d / 8);
    gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
}
static void rounded_cairo(double d)
{
    double x = 3.25, y = 4.5, r = d / 8, pi = 3.14159265358979;
    cairo_set_source_rgba(cairo, 0.2, 0.5, 0.9, opacity);
    cairo_new_sub_path(cairo);
    cairo_arc(cairo, x + d - r, y + r, r, -pi / 2, 0);
    cairo_arc(cairo, x + d - r, y + d - r, r, 0, pi / 2);
    cairo_arc(cairo, x + r, y + d - r, r, pi / 2, pi);
    cairo_arc(cairo, x + r, y + r, r, pi, 3 * pi / 2);
    cairo_close_path(cairo);
    cairo_fill(cairo);
}
static void ring_ours(double d)
{
    gesso_mask_remember(0);
    gesso_context_set_line_width(context, 2);
    gesso_context_set_stroke_color(context, 0.2, 0.5, 0.9, opacity);
    gesso_context_add_ellipse(context, 5.25, 6.5, d, d);
    gesso_context_stroke_path(context);
}
static void ring_cairo(double d)
{
    cairo_set_line_width(cairo, 2);
    cairo_set_source_rgba(cairo, 0.2, 0.5, 0.9, opacity);
    cairo_arc(cairo, 5.25 + d / 2, 6.5 + d / 2, d / 2, 0, 2 * 3.14159265358979);
    cairo_stroke(cairo);
}

/* A card of 196 × 180 points with a shadow, its corners remembered. */
static void shadow_card(double sigma)
{
    gesso_context_save(context);
    gesso_context_set_shadow(context, 0, 4, 2 * sigma, 0, 0, 0, 0.5);
    gesso_context_set_fill_color(context, 1, 1, 1, 1);
    gesso_context_add_rounded_rect(context, 60, 60, 196, 180, 20, 20);
    gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
    gesso_context_restore(context);
}

static void gradient_ours(double size)
{
    gesso_gradient_stop stops[] = {{0, 0.1, 0.2, 0.8, 1}, {0.4, 0.9, 0.3, 0.1, 1}, {1, 1, 1, 0.6, 1}};
    gesso_context_save(context);
    gesso_context_clip_to_rect(context, 8, 8, size, size);
    gesso_context_draw_linear_gradient(context, stops, 3, 8, 8, 8 + size, 8 + size / 3, 3);
    gesso_context_restore(context);
}
static void gradient_cairo(double size)
{
    cairo_pattern_t *pattern = cairo_pattern_create_linear(8, 8, 8 + size, 8 + size / 3);
    cairo_pattern_add_color_stop_rgb(pattern, 0, 0.1, 0.2, 0.8);
    cairo_pattern_add_color_stop_rgb(pattern, 0.4, 0.9, 0.3, 0.1);
    cairo_pattern_add_color_stop_rgb(pattern, 1, 1, 1, 0.6);
    cairo_set_source(cairo, pattern);
    cairo_rectangle(cairo, 8, 8, size, size);
    cairo_fill(cairo);
    cairo_pattern_destroy(pattern);
}

/* ---- Pictures ---- */

static void downscale_ours(double factor)
{
    gesso_resampled_remember(0);
    gesso_context_draw_bitmap(context, icon, 3.25, 4.5, 200 * factor, 160 * factor);
}
static void downscale_repeated(double factor)
{
    gesso_context_draw_bitmap(context, icon, 3.25, 4.5, 200 * factor, 160 * factor);
}
static void downscale_cairo(double factor)
{
    cairo_save(cairo);
    cairo_translate(cairo, 3.25, 4.5);
    cairo_scale(cairo, factor, factor);
    cairo_set_source_surface(cairo, icon_surface, 0, 0);
    cairo_paint(cairo);
    cairo_restore(cairo);
}

enum { WIDE = 1920, HIGH = 1080 };
static gesso_bitmap *full_target, *full_opaque, *full_random;
static cairo_surface_t *full_surface, *full_source;
static cairo_t *full_cairo;

static void copy_ours(double unused) { (void)unused; gesso_composite(full_target, full_opaque, 0, 0, 1); }
static void copy_memcpy(double unused)
{
    (void)unused;
    memcpy(gesso_bitmap_mutable_pixels(full_target), gesso_bitmap_pixels(full_opaque), WIDE * HIGH * 4);
}
static void over_ours(double unused) { (void)unused; gesso_composite(full_target, full_random, 0, 0, 1); }
static void over_pixman(double unused)
{
    (void)unused;
    cairo_set_source_surface(full_cairo, full_source, 0, 0);
    cairo_paint(full_cairo);
}

static gesso_bitmap *full(gesso_format format)
{
    gesso_bitmap *bitmap;
    if (gesso_bitmap_create(WIDE, HIGH, format, 1, &bitmap)) exit(1);
    uint32_t *pixels = gesso_bitmap_mutable_pixels(bitmap), state = 1;
    for (int i = 0; i < WIDE * HIGH; i++) {
        state = state * 1664525 + 1013904223;
        uint32_t alpha = format == GESSO_FORMAT_XRGB32 ? 255 : state >> 24, value = (state >> 8 & 255) * alpha / 255;
        pixels[i] = alpha << 24 | value << 16 | value / 2 << 8 | value / 3;
    }
    return bitmap;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    if (argc > 2 && strcmp(argv[2], "quick") == 0) repeats = 7;
    load_icon(argv[1]);
    if (gesso_bitmap_create(600, 600, GESSO_FORMAT_ARGB32, 1, &canvas)) return 1;
    if (gesso_context_create_for_bitmap(&context, canvas)) return 1;
    surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 600, 600);
    cairo = cairo_create(surface);
    full_target = full(GESSO_FORMAT_XRGB32), full_opaque = full(GESSO_FORMAT_XRGB32), full_random = full(GESSO_FORMAT_ARGB32);
    full_surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDE, HIGH);
    full_cairo = cairo_create(full_surface);
    full_source = cairo_image_surface_create_for_data(
        gesso_bitmap_mutable_pixels(full_random), CAIRO_FORMAT_ARGB32, WIDE, HIGH, WIDE * 4);

    const char *cell_peers[] = {"cairo", "cairo-bilinear"}, *cairo_peer[] = {"cairo"};
    work cells[] = {cell_cairo, cell_cairo_bilinear};
    char name[64];
    for (int scale = 1; scale <= 3; scale++) {
        snprintf(name, sizeof name, "classic-cell@%d", scale);
        compare(name, scale, cell_ours, cell_peers, cells, 2);
    }
    int sizes[] = {16, 64, 94, 256, 512};
    for (int translucent = 0; translucent < 2; translucent++) {
        opacity = translucent ? 0.5 : 1;
        for (int i = 0; i < 5; i++) {
            const char *suffix = translucent ? "-translucent" : "";
            gesso_mask_remember(64);
            snprintf(name, sizeof name, "circle-%d%s-remembered", sizes[i], suffix);
            compare(name, sizes[i], circle_remembered, cairo_peer, (work[]){circle_cairo}, 1);
            snprintf(name, sizeof name, "circle-%d%s", sizes[i], suffix);
            compare(name, sizes[i], circle_ours, cairo_peer, (work[]){circle_cairo}, 1);
            snprintf(name, sizeof name, "rounded-rect-%d%s", sizes[i], suffix);
            compare(name, sizes[i], rounded_ours, cairo_peer, (work[]){rounded_cairo}, 1);
            snprintf(name, sizeof name, "ring-%d%s", sizes[i], suffix);
            compare(name, sizes[i], ring_ours, cairo_peer, (work[]){ring_cairo}, 1);
        }
    }
    gesso_mask_remember(64);
    for (int sigma = 2; sigma <= 16; sigma += sigma == 2 ? 4 : 10) {
        snprintf(name, sizeof name, "shadow-card-%d", sigma);
        compare(name, sigma, shadow_card, NULL, NULL, 0);
    }
    compare("gradient-256", 256, gradient_ours, cairo_peer, (work[]){gradient_cairo}, 1);
    compare("downscale-0.43", 0.43, downscale_ours, cairo_peer, (work[]){downscale_cairo}, 1);
    gesso_resampled_remember(16 << 20);
    compare("downscale-0.43-repeated", 0.43, downscale_repeated, cairo_peer, (work[]){downscale_cairo}, 1);
    compare("copy-fhd", 0, copy_ours, (const char *[]){"memcpy"}, (work[]){copy_memcpy}, 1);
    compare("over-fhd", 0, over_ours, (const char *[]){"pixman"}, (work[]){over_pixman}, 1);
    return gesso_context_finish(context, NULL) == GESSO_OK ? 0 : 1;
}

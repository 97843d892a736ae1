#define _GNU_SOURCE
/* The raster bench's cases: ours, Cairo's and Pango's. A library, so that other peers are timed in the same process. */
#include "raster.h"

#include "resample.h"
#include "shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*work)(double size);

/* ---- The classic cell ---- */

gesso_bitmap *icon;
cairo_surface_t *icon_surface;

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

gesso_bitmap *draw_classic_cell(double scale)
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
    return bitmap;
}
static void cell_ours(double scale) { gesso_bitmap_release(draw_classic_cell(scale)); }

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
gesso_context *context;
static cairo_surface_t *surface;
cairo_t *cairo;
static double opacity = 1;

static void circle_ours(double d)
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

enum { STOPS = 3 };
static const gesso_gradient_stop stops[STOPS] = {{0, 0.1, 0.2, 0.8, 1}, {0.4, 0.9, 0.3, 0.1, 1}, {1, 1, 1, 0.6, 1}};

/* Takes the pattern over. */
static void fill_by_cairo(cairo_pattern_t *pattern, double size)
{
    for (int i = 0; i < STOPS; i++)
        cairo_pattern_add_color_stop_rgb(pattern, stops[i].location, stops[i].red, stops[i].green, stops[i].blue);
    cairo_set_source(cairo, pattern);
    cairo_rectangle(cairo, 8, 8, size, size);
    cairo_fill(cairo);
    cairo_pattern_destroy(pattern);
}

static void gradient_ours(double size)
{
    gesso_context_save(context);
    gesso_context_clip_to_rect(context, 8, 8, size, size);
    gesso_context_draw_linear_gradient(context, stops, STOPS, 8, 8, 8 + size, 8 + size / 3, 3);
    gesso_context_restore(context);
}
static void gradient_cairo(double size)
{
    cairo_pattern_t *pattern = cairo_pattern_create_linear(8, 8, 8 + size, 8 + size / 3);
    fill_by_cairo(pattern, size);
}

static void radial_ours(double size)
{
    gesso_context_save(context);
    gesso_context_clip_to_rect(context, 8, 8, size, size);
    gesso_context_draw_radial_gradient(context, stops, STOPS, 128, 128, 0, 136, 136, 160, 3);
    gesso_context_restore(context);
}
static void radial_cairo(double size)
{
    cairo_pattern_t *pattern = cairo_pattern_create_radial(128, 128, 0, 136, 136, 160);
    fill_by_cairo(pattern, size);
}

/* ---- Pictures ---- */

static void downscale(double factor)
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

/* ---- The cases ---- */

/* What is remembered while a case runs, and how opaque its colours are. */
typedef enum setting { REMEMBERED = 0, FRESH_MASKS = 1, TRANSLUCENT = 2, FRESH_PICTURES = 4 } setting;

typedef struct bench_case {
    char name[48];
    double size;
    unsigned settings;
    work works[4];
    const char *names[4];
} bench_case;

static bench_case cases[80];
static int case_count;

static bench_case *add(const char *name, double size, unsigned settings, work ours)
{
    bench_case *c = &cases[case_count++];
    snprintf(c->name, sizeof c->name, "%s", name);
    *c = (bench_case){.size = size, .settings = settings, .works = {ours}, .names = {"gesso"}};
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

static bench_case *against(bench_case *c, const char *name, work theirs)
{
    int i = 0;
    while (c->works[i]) i++;
    c->works[i] = theirs, c->names[i] = name;
    return c;
}

static void add_shapes(int size, bool translucent)
{
    const char *suffix = translucent ? "-translucent" : "";
    unsigned fresh = FRESH_MASKS | (translucent ? TRANSLUCENT : 0), kept = fresh & ~(unsigned)FRESH_MASKS;
    const struct { const char *name; work ours, theirs; } shapes[] = {
        {"circle", circle_ours, circle_cairo}, {"rounded-rect", rounded_ours, rounded_cairo}, {"ring", ring_ours, ring_cairo}};
    char name[48];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s-%d%s", shapes[i].name, size, suffix);
        against(add(name, size, fresh, shapes[i].ours), "cairo", shapes[i].theirs);
        snprintf(name, sizeof name, "%s-%d%s-remembered", shapes[i].name, size, suffix);
        against(add(name, size, kept, shapes[i].ours), "cairo", shapes[i].theirs);
    }
}

static void add_all(void)
{
    char name[48];
    for (int scale = 1; scale <= 3; scale++) {
        snprintf(name, sizeof name, "classic-cell@%d", scale);
        against(against(add(name, scale, 0, cell_ours), "cairo", cell_cairo), "cairo-bilinear", cell_cairo_bilinear);
    }
    against(add("package-row", 0, 0, row_ours), "cairo", row_cairo);
    const int sizes[] = {16, 64, 94, 256, 512};
    for (int translucent = 0; translucent < 2; translucent++)
        for (int i = 0; i < 5; i++) add_shapes(sizes[i], translucent);
    for (int sigma = 2; sigma <= 16; sigma += sigma == 2 ? 4 : 10) {
        snprintf(name, sizeof name, "shadow-card-%d", sigma);
        add(name, sigma, 0, shadow_card);
    }
    against(add("downscale-0.43", 0.43, FRESH_PICTURES, downscale), "cairo", downscale_cairo);
    against(add("downscale-0.43-repeated", 0.43, 0, downscale), "cairo", downscale_cairo);
    against(add("upscale-2", 2, FRESH_PICTURES, downscale), "cairo", downscale_cairo);
    against(add("gradient-256", 256, 0, gradient_ours), "cairo", gradient_cairo);
    against(add("radial-256", 256, 0, radial_ours), "cairo", radial_cairo);
    against(against(add("text-line", 0, 0, text_ours), "pango", text_pango), "pango-cached-layout", text_pango_cached);
    against(against(add("text-line-first", 0, 0, text_ours_first), "pango", text_pango_first), "pango-cached-layout", text_pango_cached);
    against(add("copy-fhd", 0, 0, copy_ours), "memcpy", copy_memcpy);
    against(add("over-fhd", 0, 0, over_ours), "pixman", over_pixman);
}

/* False if the icon cannot be read or memory is short. */
bool raster_begin(const char *icon_path)
{
    load_icon(icon_path);
    if (gesso_bitmap_create(600, 600, GESSO_FORMAT_ARGB32, 1, &canvas)) return false;
    if (gesso_context_create_for_bitmap(&context, canvas)) return false;
    surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 600, 600);
    cairo = cairo_create(surface);
    full_target = full(GESSO_FORMAT_XRGB32), full_opaque = full(GESSO_FORMAT_XRGB32), full_random = full(GESSO_FORMAT_ARGB32);
    full_surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDE, HIGH);
    full_cairo = cairo_create(full_surface);
    full_source = cairo_image_surface_create_for_data(
        gesso_bitmap_mutable_pixels(full_random), CAIRO_FORMAT_ARGB32, WIDE, HIGH, WIDE * 4);
    add_all();
    return true;
}

int raster_count(void) { return case_count; }
const char *raster_name(int index) { return cases[index].name; }
/* The name of a peer, 1 and up; null after the last one. */
const char *raster_peer(int index, int which) { return which < 4 ? cases[index].names[which] : NULL; }

/* Microseconds that so many drawings of ours, 0, or a peer's take together. */
double raster_time(int index, int which, int drawings)
{
    const bench_case *c = &cases[index];
    work draw = c->works[which];
    bool fresh_masks = c->settings & FRESH_MASKS, fresh_pictures = c->settings & FRESH_PICTURES;
    opacity = c->settings & TRANSLUCENT ? 0.5 : 1;
    gesso_mask_remember(fresh_masks ? 0 : 64);
    gesso_resampled_remember(fresh_pictures ? 0 : 16 << 20);
    if (which == 0 && !fresh_masks && !fresh_pictures) draw(c->size); /* fills what is remembered */
    double begin = now_us();
    for (int i = 0; i < drawings; i++) draw(c->size);
    return now_us() - begin;
}

#define _GNU_SOURCE
/* The raster bench's cases with text: lines, lines on two threads, and the row of a list. */
#include "raster.h"

#include "gesso_text.h"

#include <math.h>
#include <pango/pangocairo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ---- */

static const char line[] = "The quick brown fox jumps over the lazy dog, and packs five dozen jugs";
static int line_number;

/* A line that was not drawn before: its number and the same letters. */
static const char *new_line(void)
{
    static _Thread_local char text[sizeof line];
    memcpy(text, line, sizeof line);
    int length = snprintf(NULL, 0, "%d", ++line_number);
    char digits[16];
    snprintf(digits, sizeof digits, "%d", line_number);
    memcpy(text, digits, (size_t)length);
    return text;
}

static void draw_line(gesso_context *target, const char *text, double y)
{
    gesso_text_run run = {.utf8 = text, .length = strlen(text), .size = 13, .weight = 400, .alpha = 1};
    gesso_text_options options = {.struct_size = sizeof options, .line_break = GESSO_BREAK_TRUNCATE_TAIL, .maximum_lines = 1};
    gesso_text_draw(target, &run, 1, &options, 10, y, 580, 20);
}
void text_ours(double unused)
{
    (void)unused;
    draw_line(context, line, 10);
}
void text_ours_first(double unused)
{
    (void)unused;
    draw_line(context, new_line(), 10);
}

static PangoLayout *pango_line(cairo_t *target, const char *text, double size, int weight)
{
    PangoLayout *layout = pango_cairo_create_layout(target);
    PangoFontDescription *font = pango_font_description_from_string("sans-serif");
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    pango_font_description_set_weight(font, (PangoWeight)weight);
    pango_layout_set_font_description(layout, font);
    pango_layout_set_text(layout, text, -1);
    pango_layout_set_width(layout, 580 * PANGO_SCALE);
    pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
    pango_font_description_free(font);
    return layout;
}
static void show(PangoLayout *layout, double x, double y)
{
    cairo_move_to(cairo, x, y);
    pango_cairo_show_layout(cairo, layout);
}
static void text_pango_of(const char *text)
{
    cairo_set_source_rgb(cairo, 0, 0, 0);
    PangoLayout *layout = pango_line(cairo, text, 13, 400);
    show(layout, 10, 10);
    g_object_unref(layout);
}
void text_pango(double unused)
{
    (void)unused;
    text_pango_of(line);
}
void text_pango_first(double unused)
{
    (void)unused;
    text_pango_of(new_line());
}
void text_pango_cached(double unused)
{
    static PangoLayout *layout;
    (void)unused;
    if (!layout) layout = pango_line(cairo, line, 13, 400);
    cairo_set_source_rgb(cairo, 0, 0, 0);
    show(layout, 10, 10);
}

enum { LINES = 20000 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}


/* A thread finds its fonts with its first line: the time begins after that. */
static pthread_barrier_t ready;

static void *draw_lines(void *took)
{
    gesso_context *own;
    gesso_context_options options = {.struct_size = sizeof options, .background = {1, 1, 1, 1}};
    if (gesso_context_create(&own, 600, 40, &options)) exit(1);
    draw_line(own, line, 10);
    pthread_barrier_wait(&ready);
    double begin = now_us();
    for (int i = 0; i < LINES; i++) draw_line(own, line, 10);
    *(double *)took = now_us() - begin;
    gesso_context_release(own);
    return NULL;
}

/* The time of the slowest of so many threads. */
static double lines_by(unsigned count)
{
    pthread_t threads[2];
    double took[2] = {0};
    pthread_barrier_init(&ready, NULL, count);
    for (unsigned i = 0; i < count; i++) pthread_create(&threads[i], NULL, draw_lines, &took[i]);
    for (unsigned i = 0; i < count; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&ready);
    return fmax(took[0], took[1]);
}

/* How much longer two threads take than one, when each draws as many lines as that one. */
double raster_two_threads(void)
{
    double samples[7];
    for (int r = 0; r < 7; r++) {
        double one = lines_by(1);
        samples[r] = lines_by(2) / one;
    }
    qsort(samples, 7, sizeof *samples, by_value);
    return samples[3];
}

/* ---- A row of a list: a card with a shadow, an icon in a circle, and two lines ---- */

static const char title[] = "libcairo2-dev";
static const char summary[] = "Development files for the Cairo 2D graphics library";

static void draw_run(gesso_context *target, const char *text, double size, double weight, double gray, double y)
{
    gesso_text_run run = {
        .utf8 = text, .length = strlen(text), .size = size, .weight = (int32_t)weight, .red = gray, .green = gray, .blue = gray, .alpha = 1};
    gesso_text_options options = {.struct_size = sizeof options, .line_break = GESSO_BREAK_TRUNCATE_TAIL, .maximum_lines = 1};
    gesso_text_draw(target, &run, 1, &options, 80, y, 580, 20);
}

void row_ours(double unused)
{
    (void)unused;
    gesso_context *c;
    gesso_bitmap *bitmap;
    gesso_context_options options = {
        .struct_size = sizeof options, .format = GESSO_FORMAT_XRGB32, .background = {0.95, 0.95, 0.97, 1}};
    if (gesso_context_create(&c, 800, 72, &options)) exit(1);
    gesso_context_save(c);
    gesso_context_set_shadow(c, 0, 1, 6, 0, 0, 0, 0.22);
    gesso_context_set_fill_color(c, 1, 1, 1, 1);
    gesso_context_add_rounded_rect(c, 12, 6, 776, 60, 12, 12);
    gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
    gesso_context_restore(c);
    gesso_context_save(c);
    gesso_context_add_ellipse(c, 24, 14, 44, 44);
    gesso_context_clip(c, GESSO_FILL_RULE_WINDING);
    gesso_context_draw_bitmap(c, icon, 18.5, 14, 55, 44);
    gesso_context_restore(c);
    draw_run(c, title, 16, 700, 0.1, 14);
    draw_run(c, summary, 13, 400, 0.35, 36);
    if (gesso_context_finish(c, &bitmap)) exit(1);
    gesso_bitmap_release(bitmap);
}

void row_cairo(double unused)
{
    (void)unused;
    static PangoLayout *layouts[2];
    static cairo_surface_t *shadow;
    if (!shadow) {
        /* Cairo cannot blur: it gets the shadow as a picture, made ahead. */
        gesso_context *c;
        gesso_bitmap *bitmap;
        if (gesso_context_create(&c, 800, 72, NULL)) exit(1);
        gesso_context_set_shadow(c, 0, 1, 6, 0, 0, 0, 0.22);
        gesso_context_add_rounded_rect(c, 12, 6, 776, 60, 12, 12);
        gesso_context_fill_path(c, GESSO_FILL_RULE_WINDING);
        if (gesso_context_finish(c, &bitmap)) exit(1);
        shadow = cairo_image_surface_create_for_data(
            (unsigned char *)gesso_bitmap_pixels(bitmap), CAIRO_FORMAT_ARGB32, 800, 72, (int)gesso_bitmap_stride(bitmap));
        layouts[0] = pango_line(cairo, title, 16, 700);
        layouts[1] = pango_line(cairo, summary, 13, 400);
    }
    cairo_surface_t *target = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 800, 72);
    cairo_t *c = cairo_create(target);
    cairo_set_source_rgb(c, 0.95, 0.95, 0.97);
    cairo_paint(c);
    cairo_set_source_surface(c, shadow, 0, 0);
    cairo_paint(c);
    double pi = 3.14159265358979;
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_arc(c, 776, 18, 12, -pi / 2, 0);
    cairo_arc(c, 776, 54, 12, 0, pi / 2);
    cairo_arc(c, 24, 54, 12, pi / 2, pi);
    cairo_arc(c, 24, 18, 12, pi, 3 * pi / 2);
    cairo_close_path(c);
    cairo_fill(c);
    cairo_save(c);
    cairo_arc(c, 46, 36, 22, 0, 2 * pi);
    cairo_clip(c);
    cairo_translate(c, 18.5, 14);
    cairo_scale(c, 55.0 / gesso_bitmap_width(icon), 44.0 / gesso_bitmap_height(icon));
    cairo_set_source_surface(c, icon_surface, 0, 0);
    cairo_paint(c);
    cairo_restore(c);
    cairo_set_source_rgb(c, 0.1, 0.1, 0.1);
    cairo_move_to(c, 80, 14);
    pango_cairo_show_layout(c, layouts[0]);
    cairo_set_source_rgb(c, 0.35, 0.35, 0.35);
    cairo_move_to(c, 80, 36);
    pango_cairo_show_layout(c, layouts[1]);
    cairo_destroy(c);
    cairo_surface_destroy(target);
}

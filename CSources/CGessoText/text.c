#include "text_block.h"

#include <math.h>

static bool is_valid(const gesso_text_run *runs, size_t count, const gesso_text_options *options)
{
    if (!options || options->struct_size < sizeof *options || (!runs && count)) return false;
    if (isnan(options->width) || options->width < 0 || isnan(options->height) || options->height < 0) return false;
    if (!isfinite(options->line_spacing) || !isfinite(options->vertical)) return false;
    if ((unsigned)options->alignment > GESSO_TEXT_NATURAL || (unsigned)options->line_break > GESSO_BREAK_TRUNCATE_TAIL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const gesso_text_run *run = &runs[i];
        if (!run->utf8 && run->length) return false;
        if (!(run->size > 0 && run->size <= 10000) || run->weight < 100 || run->weight > 1000) return false;
        if (!isfinite(run->red) || !isfinite(run->green) || !isfinite(run->blue) || !isfinite(run->alpha)) return false;
    }
    return true;
}

gesso_status gesso_text_measure(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, gesso_text_metrics *metrics)
{
    if (!metrics || metrics->struct_size < sizeof *metrics || !is_valid(runs, count, options))
        return GESSO_INVALID_ARGUMENT;
    const gesso_transform same = {.a = 1, .d = 1};
    gesso_text_block *block;
    gesso_status status = gesso_text_block_get(runs, count, options, options->width, options->height, same, &block);
    if (status) return status;
    metrics->width = block->width, metrics->height = block->height;
    metrics->first_baseline = block->first_baseline;
    metrics->line_count = (uint32_t)block->lines;
    metrics->is_truncated = block->is_truncated;
    gesso_text_block_release(block);
    return GESSO_OK;
}

/* ---- Drawing ---- */

typedef struct drawing {
    PangoLayout *layout;
    double x, y;
    double clip_x, clip_y, clip_width, clip_height; /* width 0: not clipped */
} drawing;

static void show(cairo_t *cairo, void *user_data)
{
    const drawing *d = user_data;
    double alpha = 1;
    cairo_pattern_get_rgba(cairo_get_source(cairo), NULL, NULL, NULL, &alpha);
    if (d->clip_width > 0) {
        cairo_rectangle(cairo, d->clip_x, d->clip_y, d->clip_width, d->clip_height);
        cairo_clip(cairo);
    }
    /* The runs' colours replace the source, and with it the alpha that the context asks for. */
    if (alpha < 1) cairo_push_group(cairo);
    cairo_move_to(cairo, d->x, d->y);
    pango_cairo_show_layout(cairo, d->layout);
    if (alpha < 1) {
        cairo_pop_group_to_source(cairo);
        cairo_paint_with_alpha(cairo, alpha);
    }
}

/* The coverage of a block at a place of the device, whose whole pixel is written to x and y. Null if it is for Pango. */
static const gesso_text_coverage *coverage_at(
    gesso_text_block *block, gesso_transform t, double device_x, double device_y, int32_t *x, int32_t *y)
{
    if (t.b != 0 || t.c != 0 || t.a != t.d || !(t.a > 0)) return NULL;
    if (!(fabs(device_x) < 1e6 && fabs(device_y) < 1e6)) return NULL;
    int32_t quarters = (int32_t)floor(device_x * 4 + 0.5);
    int phase_x = quarters & 3;
    *x = (quarters - phase_x) / 4, *y = (int32_t)floor(device_y);
    double fraction_y = device_y - *y;
    const gesso_text_coverage *c = block->coverage;
    if (!c || c->scale != t.a || c->phase_x != phase_x || c->fraction_y != fraction_y) {
        gesso_text_coverage_destroy(block->coverage);
        c = block->coverage = gesso_text_coverage_create(&block->line, block->layout, block->lines, t.a, phase_x, fraction_y);
    }
    return c && c->is_drawable ? c : NULL;
}

/* Draws from the atlas. False if it is for Pango: nothing is drawn then. */
static bool draw_coverage(gesso_context *context, gesso_text_block *block, const drawing *d, gesso_transform t)
{
    enum { MOST_ITEMS = 16 };
    int32_t x, y;
    const gesso_text_coverage *c = coverage_at(block, t, d->x * t.a + t.tx, d->y * t.d + t.ty, &x, &y);
    if (!c || c->count > MOST_ITEMS) return false;
    gesso_coverage items[MOST_ITEMS];
    for (size_t i = 0; i < c->count; i++) {
        items[i] = c->items[i];
        items[i].x += x, items[i].y += y;
    }
    if (d->clip_width == 0) return gesso_context_draw_coverage(context, items, c->count);
    gesso_context_save(context);
    gesso_context_clip_to_rect(context, d->clip_x, d->clip_y, d->clip_width, d->clip_height);
    bool drawn = gesso_context_draw_coverage(context, items, c->count);
    gesso_context_restore(context);
    return drawn;
}

/* Whether a rectangle of points lies where no bitmap is, nor what casts a shadow onto one. */
static bool is_far(gesso_transform t, double left, double top, double right, double bottom)
{
    const double reach = 1e6, xs[] = {left, right, left, right}, ys[] = {top, top, bottom, bottom};
    int before_x = 0, behind_x = 0, before_y = 0, behind_y = 0;
    for (int i = 0; i < 4; i++) {
        double x = t.a * xs[i] + t.c * ys[i] + t.tx, y = t.b * xs[i] + t.d * ys[i] + t.ty;
        before_x += x < -reach, behind_x += x > reach, before_y += y < -reach, behind_y += y > reach;
    }
    return before_x == 4 || behind_x == 4 || before_y == 4 || behind_y == 4;
}

void gesso_text_draw(
    gesso_context *context, const gesso_text_run *runs, size_t count, const gesso_text_options *options,
    double x, double y, double width, double height)
{
    if (gesso_context_status(context)) return;
    if (!isfinite(x) || !isfinite(y) || !isfinite(width) || !isfinite(height) || width < 0 || height < 0
        || !is_valid(runs, count, options)) {
        gesso_context_fail(context, GESSO_INVALID_ARGUMENT);
        return;
    }
    if (width == 0 || height == 0) return;
    gesso_transform transform = gesso_context_transform(context);
    gesso_text_block *block;
    gesso_status status = gesso_text_block_get(runs, count, options, width, height, transform, &block);
    if (status) {
        gesso_context_fail(context, status);
        return;
    }
    drawing d = {.x = x, .y = y + (height - block->height) * gesso_text_clamp01(options->vertical)};
    if (!block->is_aligned) {
        /* Unwrapped lines align with one another; the block as a whole with the rectangle. */
        double room = width - block->width;
        d.x += options->alignment == GESSO_TEXT_CENTER ? room / 2 : options->alignment == GESSO_TEXT_RIGHT ? room : 0;
    }
    double left = d.x + block->left, top = d.y + block->top, right = d.x + block->right, bottom = d.y + block->bottom;
    if (options->line_break < GESSO_BREAK_TRUNCATE_HEAD) {
        /* Ink may stand out to the sides, as an italic f does; lines that do not fit may not. */
        bool clips = options->line_break == GESSO_BREAK_CLIP;
        double lowest = d.y + block->height;
        d.clip_x = clips ? x : fmin(x, left);
        d.clip_width = (clips ? x + width : fmax(x + width, right)) - d.clip_x;
        d.clip_y = fmax(y, fmin(top, d.y));
        d.clip_height = fmin(y + height, lowest) - d.clip_y;
        if (d.clip_height <= 0) d.clip_height = 0, d.clip_width = 1e-9;
        /* Coverage of a pixel that the ink only touches is not to be cut once more. */
        if (left >= d.clip_x && right <= d.clip_x + d.clip_width && top >= d.clip_y && bottom <= d.clip_y + d.clip_height)
            d.clip_width = 0;
    }
    /* Far out, where Cairo's coordinates come round to the bitmap again, there is nothing to draw. */
    bool drawn = is_far(transform, left, top, right, bottom) || draw_coverage(context, block, &d, transform);
    if (!drawn) status = gesso_text_block_lay_out(block, runs, count, options, width, height, transform);
    if (status) gesso_context_fail(context, status);
    if (!drawn && !status) {
        d.layout = block->layout;
        gesso_context_save(context);
        gesso_context_set_fill_color(context, 0, 0, 0, 1);
        gesso_context_paint(context, left - 1, top - 1, right - left + 2, bottom - top + 2, show, &d);
        gesso_context_restore(context);
    }
    gesso_text_block_release(block);
}

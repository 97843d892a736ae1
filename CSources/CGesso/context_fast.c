/* The kernels' way to draw: shapes on the device's grid, in one colour or with a bitmap, within at most one shape of a
 * clip. All else is Cairo's. */
#include "fast_spans.h"
#include "resample.h"
#include "soft.h"

#include <pthread.h>

/* A shape with more pixels on a side is drawn by Cairo: masks have an entry for each row. */
enum { LARGEST = 8192 };

static bool enabled;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void look_up(void)
{
    const char *raster = getenv("GESSO_RASTER");
    enabled = !raster || strcmp(raster, "cairo") != 0;
}

/* The one shape of a clip, or null; false if there is more. */
static bool only_shape(const gesso_clip *clip, const gesso_shape **shape)
{
    *shape = NULL;
    int looked_at = 0;
    for (; clip; clip = clip->parent) {
        if (clip->path || ++looked_at > 64) return false;
        if (!clip->has_shape) continue;
        if (*shape || !clip->antialias) return false;
        *shape = &clip->shape;
    }
    return true;
}

static bool is_small(const gesso_shape *s)
{
    return s->x1 - s->x0 <= LARGEST * 256 && s->y1 - s->y0 <= LARGEST * 256;
}

bool gesso_fast_state(const gesso_context *context, const gesso_shape **clip)
{
    pthread_once(&once, look_up);
    return enabled && context->layers == 0 && context->bitmap->format != GESSO_FORMAT_A8
        && (context->state.blend == GESSO_BLEND_NORMAL || gesso_kernels_get()->blends[context->state.blend])
        && context->state.antialias
        && !gesso_bitmap_is_frozen(context->bitmap) && only_shape(context->state.clip, clip);
}

static gesso_drawing begin(const gesso_context *context, gesso_box box)
{
    const gesso_kernels *kernels = gesso_kernels_get();
    return (gesso_drawing){
        .kernels = kernels, .target = context->bitmap, .box = box, .blend = kernels->blends[context->state.blend]};
}

/* Makes a rectangle no larger than what can be drawn, with edges between pixels, so that nothing looks different. */
static gesso_shape cut_off(const gesso_shape *rectangle, gesso_box box)
{
    gesso_shape r = *rectangle;
    if (r.x0 < box.x0 * 256) r.x0 = box.x0 * 256;
    if (r.y0 < box.y0 * 256) r.y0 = box.y0 * 256;
    if (r.x1 > box.x1 * 256) r.x1 = box.x1 * 256;
    if (r.y1 > box.y1 * 256) r.y1 = box.y1 * 256;
    return r;
}

bool gesso_fast_clip(const gesso_context *context, const gesso_shape *clip, gesso_shape *shown)
{
    *shown = *clip;
    if (gesso_shape_is_rectangle(clip)) *shown = cut_off(clip, gesso_clip_box(context));
    return is_small(shown) && shown->x0 < shown->x1 && shown->y0 < shown->y1;
}

/* Draws a rectangle whose edges lie between pixels: some rows at a time, as a mask whose rows are all the same span. */
static void draw_aligned(const gesso_drawing *d, const gesso_shape *r)
{
    enum { ROWS = 64 };
    int32_t width = (r->x1 - r->x0) >> 8, top = r->y0 >> 8, end = r->y1 >> 8;
    gesso_span span = {0, width, 255, 0};
    gesso_mask_row rows[ROWS];
    gesso_mask mask = {.width = width, .rows = rows, .spans = &span};
    for (int32_t i = 0; i < ROWS && i < end - top; i++) rows[i] = (gesso_mask_row){0, 1};
    for (int32_t y = top; y < end; y += ROWS) {
        mask.height = gesso_smaller(ROWS, end - y);
        gesso_draw_mask(d, &mask, r->x0 >> 8, y);
    }
}

/* Whether draw_shape can, unless memory runs out. */
static bool can_draw(
    const gesso_drawing *d, const gesso_shape *outer, const gesso_shape *inner, const gesso_shape *clip)
{
    gesso_shape shape = *outer;
    bool is_rectangle = !inner && gesso_shape_is_rectangle(outer);
    if (is_rectangle) shape = cut_off(outer, d->box);
    if (shape.x0 >= shape.x1 || shape.y0 >= shape.y1) return true;
    if (!clip && is_rectangle && gesso_shape_is_aligned(&shape)) return true;
    return is_small(&shape) && (!clip || is_small(clip));
}

/* Draws the source in a shape, or between two, within a clip. False for what is too large, or out of memory: nothing is
 * drawn then. */
static bool draw_shape(
    const gesso_drawing *d, const gesso_shape *outer, const gesso_shape *inner, const gesso_shape *clip)
{
    bool is_rectangle = !inner && gesso_shape_is_rectangle(outer);
    gesso_shape cut;
    if (is_rectangle) {
        cut = cut_off(outer, d->box);
        outer = &cut;
    }
    if (outer->x0 >= outer->x1 || outer->y0 >= outer->y1) return true;
    if (!clip && is_rectangle && gesso_shape_is_aligned(outer)) {
        draw_aligned(d, outer);
        return true;
    }
    gesso_box box = {
        gesso_shape_left(outer), gesso_shape_top(outer), (outer->x1 + 255) >> 8, (outer->y1 + 255) >> 8};
    if (gesso_box_is_empty(gesso_box_intersect(box, d->box))) return true;
    if (!is_small(outer) || (clip && !is_small(clip))) return false;
    int32_t left = gesso_shape_left(outer), top = gesso_shape_top(outer);
    gesso_mask *mask;
    if (!clip) {
        mask = gesso_mask_of(outer, inner);
    } else if (!inner) {
        mask = gesso_mask_within(outer, clip, &left, &top);
    } else {
        gesso_mask *ring = gesso_mask_of(outer, inner), *clip_mask = gesso_mask_of(clip, NULL);
        bool fine = ring && clip_mask;
        mask = fine ? gesso_mask_multiply(ring, clip_mask, gesso_shape_left(clip) - left, gesso_shape_top(clip) - top) : NULL;
        gesso_mask_release(ring);
        gesso_mask_release(clip_mask);
    }
    if (!mask) return false;
    gesso_draw_mask(d, mask, left, top);
    gesso_mask_release(mask);
    return true;
}

/* Part of a row of a shadow, but not of `hidden`, what will be drawn over. */
static void draw_row_part(
    const gesso_drawing *d, int32_t y, int32_t begin, int32_t end, int32_t value, const uint8_t *coverage, int32_t hidden,
    int32_t hidden_end)
{
    if (end <= begin || value == 0) return;
    if (hidden >= hidden_end || hidden >= end || hidden_end <= begin) {
        gesso_draw_span(d, y, begin, end - begin, value, coverage);
        return;
    }
    if (hidden > begin) gesso_draw_span(d, y, begin, hidden - begin, value, coverage);
    if (hidden_end < end)
        gesso_draw_span(d, y, hidden_end, end - hidden_end, value, coverage ? coverage + (hidden_end - begin) : NULL);
}

/* Draws the source as the blurred shadow of a shape. `cover` is drawn over it afterwards, or null if it is not opaque.
 * False if there is none: nothing is drawn then. */
static bool draw_soft(const gesso_drawing *d, const gesso_shape *shape, double sigma, const gesso_shape *cover)
{
    int32_t extra_columns, extra_rows;
    gesso_soft *soft = gesso_soft_of(shape, sigma, &extra_columns, &extra_rows);
    if (!soft) return false;
    int32_t left = gesso_shape_left(shape) - soft->reach, top = gesso_shape_top(shape) - soft->reach;
    int32_t first = gesso_larger(d->box.y0, top), end = gesso_smaller(d->box.y1, top + soft->height + extra_rows);
    int32_t middle = left + soft->column, middle_end = middle + extra_columns + 1;
    int32_t right_end = left + soft->width + extra_columns;
    /* The rows in which the cover is a rectangle between straight sides. */
    int32_t hidden = 0, hidden_end = 0, hidden_top = 0, hidden_bottom = 0;
    if (cover) {
        const int32_t *ry = cover->ry;
        hidden = (cover->x0 + 255) >> 8, hidden_end = cover->x1 >> 8;
        hidden_top = (cover->y0 + gesso_larger(ry[0], ry[1]) + 255) >> 8;
        hidden_bottom = (cover->y1 - gesso_larger(ry[2], ry[3])) >> 8;
    }
    for (int32_t y = first; y < end; y++) {
        int32_t row = y - top;
        if (row > soft->row) row = gesso_larger(soft->row, row - extra_rows);
        const uint8_t *pixels = soft->pixels + (ptrdiff_t)row * soft->width;
        bool hides = y >= hidden_top && y < hidden_bottom;
        int32_t from = hides ? hidden : 0, to = hides ? hidden_end : 0;
        draw_row_part(d, y, left, middle, -1, pixels, from, to);
        draw_row_part(d, y, middle, middle_end, pixels[soft->column], NULL, from, to);
        draw_row_part(d, y, middle_end, right_end, -1, pixels + soft->column + 1, from, to);
    }
    gesso_soft_release(soft);
    return true;
}

static gesso_shape moved(const gesso_shape *shape, int32_t x, int32_t y)
{
    gesso_shape m = *shape;
    m.x0 += x, m.x1 += x, m.y0 += y, m.y1 += y;
    return m;
}

bool gesso_fast_fill(
    gesso_context *context, const gesso_shape *outer, const gesso_shape *inner, gesso_color color)
{
    const gesso_state *state = &context->state;
    const gesso_shadow *shadow = &state->shadow;
    const gesso_shape *clip;
    if (!gesso_fast_state(context, &clip)) return false;
    bool has_shadow = shadow->color.alpha > 0, is_soft = has_shadow && shadow->sigma > 0;
    if (has_shadow && state->blend != GESSO_BLEND_NORMAL) return false;
    if (has_shadow && (fabs(shadow->offset_x) > 1e5 || fabs(shadow->offset_y) > 1e5)) return false;
    if (is_soft && (clip || inner || !is_small(outer) || outer->x0 >= outer->x1 || outer->y0 >= outer->y1)) return false;
    gesso_drawing d = begin(context, gesso_clip_box(context));
    if (gesso_box_is_empty(d.box)) return true;
    if (context->cairo) cairo_surface_flush(context->surface);
    if (!can_draw(&d, outer, inner, clip)) return false;
    if (has_shadow) {
        /* A hard shadow is the shape, moved. */
        int32_t x = (int32_t)lrint(shadow->offset_x * GESSO_GRID), y = (int32_t)lrint(shadow->offset_y * GESSO_GRID);
        gesso_shape outer_shadow = moved(outer, x, y), inner_shadow;
        if (inner) inner_shadow = moved(inner, x, y);
        d.source.word = gesso_premultiplied(shadow->color, color.alpha * state->alpha);
        if (!is_soft && !can_draw(&d, &outer_shadow, inner, clip)) return false;
        bool covers = color.alpha * state->alpha == 1;
        bool drawn = is_soft ? draw_soft(&d, &outer_shadow, shadow->sigma, covers ? outer : NULL)
                             : draw_shape(&d, &outer_shadow, inner ? &inner_shadow : NULL, clip);
        if (!drawn) return false;
    }
    d.source.word = gesso_premultiplied(color, state->alpha);
    /* With a shadow drawn there is no way back to Cairo; and only memory can be missing. */
    if (draw_shape(&d, outer, inner, clip)) return true;
    if (!has_shadow) return false;
    gesso_context_fail(context, GESSO_OUT_OF_MEMORY);
    return true;
}

bool gesso_fast_bitmap(gesso_context *context, const gesso_bitmap *bitmap, const gesso_shape *rectangle)
{
    const gesso_state *state = &context->state;
    const gesso_shape *clip;
    const gesso_shape *r = rectangle;
    if (!gesso_fast_state(context, &clip)) return false;
    if (bitmap->format == GESSO_FORMAT_A8 || state->shadow.color.alpha > 0) return false;
    /* A turned axis: upright rectangles do not tell. */
    if (state->matrix.xx < 0 || state->matrix.yy < 0) return false;
    gesso_drawing d = begin(context, gesso_clip_box(context));
    int32_t width = r->x1 - r->x0, height = r->y1 - r->y0;
    if (width <= 0 || height <= 0 || gesso_box_is_empty(d.box)) return true;
    if (r->x0 >= d.box.x1 * 256 || r->y0 >= d.box.y1 * 256 || r->x1 <= d.box.x0 * 256 || r->y1 <= d.box.y0 * 256)
        return true;
    bool same_size = gesso_shape_is_aligned(r) && (uint32_t)(width >> 8) == bitmap->width
        && (uint32_t)(height >> 8) == bitmap->height;
    /* A picture blown up far over the target is Cairo's, who resamples only what shows. */
    bool resamples = state->interpolation >= GESSO_INTERPOLATION_MEDIUM && is_small(r)
        && bitmap->width <= GESSO_CAIRO_LIMIT && bitmap->height <= GESSO_CAIRO_LIMIT
        && (int64_t)(width >> 8) * (height >> 8) <= 4 << 20;
    if (!same_size && !resamples) return false;
    gesso_bitmap *picture = NULL;
    if (!same_size && !(picture = gesso_resampled(bitmap, r))) {
        gesso_context_fail(context, GESSO_OUT_OF_MEMORY);
        return true;
    }
    if (context->cairo) cairo_surface_flush(context->surface);
    d.source = (gesso_source){
        .picture = picture ? picture : bitmap, .x = gesso_shape_left(r), .y = gesso_shape_top(r),
        .alpha = (uint32_t)(state->alpha * 255 + 0.5), .solid = bitmap->format == GESSO_FORMAT_XRGB32 ? 0xff000000 : 0};
    bool drawn = draw_shape(&d, r, NULL, clip);
    gesso_bitmap_release(picture);
    return drawn;
}

/* What gradients are drawn in: the clip's box, and within it a shape or null. False if they are for Cairo. */
static bool begin_gradient(const gesso_context *context, gesso_box *box, const gesso_shape **clip)
{
    *box = gesso_clip_box(context);
    return gesso_fast_state(context, clip) && context->state.shadow.color.alpha == 0;
}

/* Draws a ramp over the clip. False if it is for Cairo. */
static bool draw_ramp(gesso_context *context, const gesso_ramp *ramp, gesso_box box, const gesso_shape *clip)
{
    gesso_drawing d = begin(context, box);
    if (context->cairo) cairo_surface_flush(context->surface);
    d.source = (gesso_source){
        .ramp = ramp, .alpha = (uint32_t)(context->state.alpha * 255 + 0.5), .solid = ramp->is_opaque ? 0xff000000 : 0};
    gesso_shape all = {box.x0 * 256, box.y0 * 256, box.x1 * 256, box.y1 * 256, {0}, {0}};
    return draw_shape(&d, &all, NULL, clip);
}

bool gesso_fast_linear_gradient(
    gesso_context *context, const gesso_gradient_stop *stops, size_t count, double start_x, double start_y,
    double end_x, double end_y, uint32_t options)
{
    const gesso_shape *clip;
    gesso_box box;
    if (!begin_gradient(context, &box, &clip)) return false;
    if (gesso_box_is_empty(box)) return true;
    gesso_ramp ramp;
    bool drawn = gesso_ramp_begin_linear(
            &ramp, stops, count, &context->state.matrix, start_x, start_y, end_x, end_y, options, box.x1 - box.x0)
        && draw_ramp(context, &ramp, box, clip);
    gesso_ramp_end(&ramp);
    return drawn;
}

bool gesso_fast_radial_gradient(
    gesso_context *context, const gesso_gradient_stop *stops, size_t count, double start_x, double start_y,
    double start_radius, double end_x, double end_y, double end_radius, uint32_t options)
{
    const gesso_shape *clip;
    gesso_box box;
    if (!begin_gradient(context, &box, &clip)) return false;
    if (gesso_box_is_empty(box)) return true;
    gesso_ramp ramp;
    bool drawn = gesso_ramp_begin_radial(
            &ramp, stops, count, &context->state.matrix, start_x, start_y, start_radius, end_x, end_y, end_radius, options,
            box.x1 - box.x0)
        && draw_ramp(context, &ramp, box, clip);
    gesso_ramp_end(&ramp);
    return drawn;
}

bool gesso_stroke_shapes(
    const gesso_state *state, const gesso_shape *shape, gesso_shape *outer, gesso_shape *inner, bool *has_inner)
{
    /* The path may have been added before the transform was turned, which is the pen's, too. */
    if (state->matrix.xy != 0 || state->matrix.yx != 0) return false;
    double scale_x = fabs(state->matrix.xx), scale_y = fabs(state->matrix.yy);
    /* The offset of an ellipse is no ellipse, but that of a circle is a circle. */
    for (int i = 0; i < 4; i++)
        if (shape->rx[i] != shape->ry[i]) return false;
    if (state->dash_count || scale_x != scale_y) return false;
    /* The join shows where the corner is sharp. */
    int rounded = 0;
    for (int i = 0; i < 4; i++) rounded += shape->rx[i] > 0;
    if (rounded < 4 && (rounded > 0 || state->join != CAIRO_LINE_JOIN_MITER || state->miter_limit < 1.5)) return false;
    if (shape->x0 >= shape->x1 || shape->y0 >= shape->y1) return false; /* a line */
    int32_t half = (int32_t)lrint(state->line_width * scale_x * GESSO_GRID / 2);
    if (half > LARGEST * 256) return false;
    *outer = *inner = *shape;
    outer->x0 -= half, outer->y0 -= half, outer->x1 += half, outer->y1 += half;
    inner->x0 += half, inner->y0 += half, inner->x1 -= half, inner->y1 -= half;
    for (int i = 0; i < 4; i++) {
        if (shape->rx[i]) outer->rx[i] += half, outer->ry[i] += half;
        inner->rx[i] = inner->ry[i] = shape->rx[i] > half ? shape->rx[i] - half : 0;
    }
    *has_inner = inner->x0 < inner->x1 && inner->y0 < inner->y1;
    return true;
}

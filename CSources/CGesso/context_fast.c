/* The kernels' way to draw: shapes on the device's grid, in one colour or with a bitmap, within at most one shape of a
 * clip. All else is Cairo's. */
#include "context_internal.h"

#include "kernels.h"
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

/* What is drawn in a shape: a word, or pixels. */
typedef struct source {
    uint32_t word;
    const gesso_bitmap *picture;
    int32_t x, y;   /* of the picture's first pixel, on the device */
    uint32_t alpha; /* of the picture, 0…255 */
    uint32_t solid; /* or'ed to its pixels */
} source;

typedef struct drawing {
    const gesso_kernels *kernels;
    gesso_bitmap *target;
    gesso_box box; /* nothing is drawn outside */
    source source;
} drawing;

/* ---- Spans ---- */

static uint32_t scaled_word(uint32_t word, uint32_t value)
{
    return gesso_mul255(word >> 24, value) << 24 | gesso_mul255(word >> 16 & 255, value) << 16
        | gesso_mul255(word >> 8 & 255, value) << 8 | gesso_mul255(word & 255, value);
}

static void draw_word(const drawing *d, uint32_t *out, size_t count, int32_t value, const uint8_t *coverage)
{
    uint32_t word = d->source.word;
    if (coverage) {
        d->kernels->over_word_masked(out, coverage, count, word);
    } else {
        if (value < 255) word = scaled_word(word, (uint32_t)value);
        if (word >> 24 == 255)
            d->kernels->fill(out, count, word);
        else
            d->kernels->over_word(out, count, word);
    }
}

static void draw_pixels(
    const drawing *d, uint32_t *out, const uint32_t *in, size_t count, int32_t value, const uint8_t *coverage)
{
    const source *s = &d->source;
    if (coverage && s->alpha == 255) {
        d->kernels->over_masked(out, in, coverage, count, s->solid);
    } else if (coverage) {
        uint8_t faded[256 + 8];
        for (size_t done = 0; done < count; done += 256) {
            size_t part = count - done < 256 ? count - done : 256;
            for (size_t i = 0; i < part; i++) faded[i] = (uint8_t)gesso_mul255(coverage[done + i], s->alpha);
            d->kernels->over_masked(out + done, in + done, faded, part, s->solid);
        }
    } else {
        uint32_t alpha = gesso_mul255(s->alpha, (uint32_t)value);
        if (alpha == 255 && s->solid && d->target->format == GESSO_FORMAT_XRGB32)
            memcpy(out, in, count * 4);
        else if (alpha == 255 && !s->solid)
            d->kernels->over(out, in, count);
        else
            d->kernels->over_alpha(out, in, count, alpha, s->solid);
    }
}

/* `value` for all pixels, or `coverage` for each. */
static void draw_span(
    const drawing *d, int32_t y, int32_t x, int32_t length, int32_t value, const uint8_t *coverage)
{
    int32_t begin = x > d->box.x0 ? x : d->box.x0, end = x + length < d->box.x1 ? x + length : d->box.x1;
    if (begin >= end) return;
    if (coverage) coverage += begin - x;
    uint32_t *out = (uint32_t *)(d->target->pixels + (ptrdiff_t)y * d->target->stride) + begin;
    size_t count = (size_t)(end - begin);
    const gesso_bitmap *picture = d->source.picture;
    if (!picture) {
        draw_word(d, out, count, value, coverage);
        return;
    }
    const uint8_t *row = picture->pixels + (ptrdiff_t)(y - d->source.y) * picture->stride;
    draw_pixels(d, out, (const uint32_t *)row + (begin - d->source.x), count, value, coverage);
}

/* ---- Masks, and masks within masks ---- */

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

static void draw_mask(const drawing *d, const gesso_mask *mask, int32_t left, int32_t top)
{
    int32_t first = larger(d->box.y0, top), end = smaller(d->box.y1, top + mask->height);
    for (int32_t y = first; y < end; y++)
        for (uint32_t i = mask->rows[y - top]; i < mask->rows[y - top + 1]; i++) {
            gesso_span s = mask->spans[i];
            draw_span(d, y, left + s.x, s.length, s.value, s.value < 0 ? mask->bytes + s.at : NULL);
        }
}

/* How much of a pixel's height or width a rectangle covers, of 255. */
static int32_t part_of(int32_t pixel, int32_t from, int32_t to)
{
    int32_t covered = smaller(to, (pixel + 1) * 256) - larger(from, pixel * 256);
    return covered <= 0 ? 0 : (covered * 255 + 128) / 256;
}

/* Part of a span, as much as `value` of 255. */
static void draw_part(
    const drawing *d, int32_t y, const gesso_mask *mask, const gesso_span *s, int32_t left, int32_t begin, int32_t end,
    int32_t value)
{
    int32_t from = larger(left + s->x, begin), to = smaller(left + s->x + s->length, end);
    if (from >= to || value == 0) return;
    if (s->value >= 0) {
        draw_span(d, y, from, to - from, (int32_t)gesso_mul255((uint32_t)s->value, (uint32_t)value), NULL);
        return;
    }
    const uint8_t *coverage = mask->bytes + s->at + (from - left - s->x);
    if (value == 255) {
        draw_span(d, y, from, to - from, -1, coverage);
        return;
    }
    uint8_t faded[128 + 8];
    while (from < to) {
        int32_t part = smaller(to - from, 128);
        for (int32_t i = 0; i < part; i++) faded[i] = (uint8_t)gesso_mul255(*coverage++, (uint32_t)value);
        draw_span(d, y, from, part, -1, faded);
        from += part;
    }
}

/* A mask within a rectangle: all of it where the rectangle covers pixels whole, and parts of it at its edges. */
static void draw_mask_in_rectangle(
    const drawing *d, const gesso_mask *mask, int32_t left, int32_t top, const gesso_shape *r)
{
    int32_t x0 = r->x0 >> 8, whole_begin = (r->x0 + 255) >> 8, whole_end = r->x1 >> 8;
    int32_t first = larger(larger(d->box.y0, top), r->y0 >> 8);
    int32_t end = smaller(smaller(d->box.y1, top + mask->height), (r->y1 + 255) >> 8);
    for (int32_t y = first; y < end; y++) {
        int32_t height = part_of(y, r->y0, r->y1);
        for (uint32_t i = mask->rows[y - top]; i < mask->rows[y - top + 1]; i++) {
            const gesso_span *s = &mask->spans[i];
            if (height == 255 && left + s->x >= whole_begin && left + s->x + s->length <= whole_end) {
                draw_span(d, y, left + s->x, s->length, s->value, s->value < 0 ? mask->bytes + s->at : NULL);
                continue;
            }
            if (whole_begin > x0) {
                int32_t part = part_of(x0, r->x0, r->x1);
                draw_part(d, y, mask, s, left, x0, whole_begin, (int32_t)gesso_mul255((uint32_t)part, (uint32_t)height));
            }
            draw_part(d, y, mask, s, left, whole_begin, whole_end, height);
            if (whole_end >= whole_begin && (r->x1 & 255)) {
                int32_t part = part_of(whole_end, r->x0, r->x1);
                draw_part(
                    d, y, mask, s, left, whole_end, whole_end + 1,
                    (int32_t)gesso_mul255((uint32_t)part, (uint32_t)height));
            }
        }
    }
}

/* Writes a row's coverage of the pixels begin ..< end. */
static void expand(const gesso_mask *mask, int32_t row, int32_t left, int32_t begin, int32_t end, uint8_t *bytes)
{
    memset(bytes, 0, (size_t)(end - begin));
    for (uint32_t i = mask->rows[row]; i < mask->rows[row + 1]; i++) {
        gesso_span s = mask->spans[i];
        int32_t from = larger(left + s.x, begin), to = smaller(left + s.x + s.length, end);
        if (from >= to) continue;
        if (s.value >= 0)
            memset(bytes + (from - begin), s.value, (size_t)(to - from));
        else
            memcpy(bytes + (from - begin), mask->bytes + s.at + (from - left - s.x), (size_t)(to - from));
    }
}

/* Any mask within any other. False: out of memory. */
static bool draw_mask_in_mask(
    const drawing *d, const gesso_mask *mask, int32_t left, int32_t top, const gesso_mask *clip, int32_t clip_left,
    int32_t clip_top)
{
    int32_t begin = larger(d->box.x0, larger(left, clip_left));
    int32_t end = smaller(d->box.x1, smaller(left + mask->width, clip_left + clip->width));
    int32_t first = larger(d->box.y0, larger(top, clip_top));
    int32_t last = smaller(d->box.y1, smaller(top + mask->height, clip_top + clip->height));
    if (begin >= end) return true;
    uint8_t *bytes = malloc(2 * (size_t)(end - begin) + 8);
    if (!bytes) return false;
    uint8_t *other = bytes + (end - begin);
    for (int32_t y = first; y < last; y++) {
        expand(mask, y - top, left, begin, end, bytes);
        expand(clip, y - clip_top, clip_left, begin, end, other);
        for (int32_t i = 0; i < end - begin; i++) bytes[i] = (uint8_t)gesso_mul255(bytes[i], other[i]);
        draw_span(d, y, begin, end - begin, -1, bytes);
    }
    free(bytes);
    return true;
}

/* ---- What has a kernel ---- */

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

static bool has_kernels(const gesso_context *context)
{
    pthread_once(&once, look_up);
    return enabled && context->layers == 0 && context->bitmap->format != GESSO_FORMAT_A8
        && context->state.blend == GESSO_BLEND_NORMAL && context->state.antialias
        && !gesso_bitmap_is_frozen(context->bitmap);
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

static void draw_aligned(const drawing *d, const gesso_shape *r)
{
    for (int32_t y = r->y0 >> 8; y < r->y1 >> 8; y++) draw_span(d, y, r->x0 >> 8, (r->x1 - r->x0) >> 8, 255, NULL);
}

/* Draws the source in a shape, or between two, within a clip. False for what is too large, or out of memory: nothing is
 * drawn then. */
static bool draw_shape(
    const drawing *d, const gesso_shape *outer, const gesso_shape *inner, const gesso_shape *clip)
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
    if (!is_small(outer) || (clip && !is_small(clip))) return false;
    gesso_mask *clip_mask = clip ? gesso_mask_of(clip, NULL) : NULL;
    if (clip && !clip_mask) return false;
    bool fine = true;
    if (clip && is_rectangle) {
        draw_mask_in_rectangle(d, clip_mask, gesso_shape_left(clip), gesso_shape_top(clip), outer);
    } else {
        gesso_mask *mask = gesso_mask_of(outer, inner);
        int32_t left = gesso_shape_left(outer), top = gesso_shape_top(outer);
        fine = mask != NULL;
        if (fine && clip)
            fine = draw_mask_in_mask(
                d, mask, left, top, clip_mask, gesso_shape_left(clip), gesso_shape_top(clip));
        else if (fine)
            draw_mask(d, mask, left, top);
        gesso_mask_release(mask);
    }
    gesso_mask_release(clip_mask);
    return fine;
}

/* Part of a row of a shadow, but not of `hidden`, what will be drawn over. */
static void draw_row_part(
    const drawing *d, int32_t y, int32_t begin, int32_t end, int32_t value, const uint8_t *coverage, int32_t hidden,
    int32_t hidden_end)
{
    if (end <= begin || value == 0) return;
    if (hidden >= hidden_end || hidden >= end || hidden_end <= begin) {
        draw_span(d, y, begin, end - begin, value, coverage);
        return;
    }
    if (hidden > begin) draw_span(d, y, begin, hidden - begin, value, coverage);
    if (hidden_end < end)
        draw_span(d, y, hidden_end, end - hidden_end, value, coverage ? coverage + (hidden_end - begin) : NULL);
}

/* Draws the source as the blurred shadow of a shape. `cover` is drawn over it afterwards, or null if it is not opaque.
 * False if there is none: nothing is drawn then. */
static bool draw_soft(const drawing *d, const gesso_shape *shape, double sigma, const gesso_shape *cover)
{
    int32_t extra_columns, extra_rows;
    gesso_soft *soft = gesso_soft_of(shape, sigma, &extra_columns, &extra_rows);
    if (!soft) return false;
    int32_t left = gesso_shape_left(shape) - soft->reach, top = gesso_shape_top(shape) - soft->reach;
    int32_t first = larger(d->box.y0, top), end = smaller(d->box.y1, top + soft->height + extra_rows);
    int32_t middle = left + soft->column, middle_end = middle + extra_columns + 1;
    int32_t right_end = left + soft->width + extra_columns;
    /* The rows in which the cover is a rectangle between straight sides. */
    int32_t hidden = 0, hidden_end = 0, hidden_top = 0, hidden_bottom = 0;
    if (cover) {
        const int32_t *ry = cover->ry;
        hidden = (cover->x0 + 255) >> 8, hidden_end = cover->x1 >> 8;
        hidden_top = (cover->y0 + larger(ry[0], ry[1]) + 255) >> 8;
        hidden_bottom = (cover->y1 - larger(ry[2], ry[3])) >> 8;
    }
    for (int32_t y = first; y < end; y++) {
        int32_t row = y - top;
        if (row > soft->row) row = larger(soft->row, row - extra_rows);
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

static uint32_t premultiplied(gesso_color color, double alpha)
{
    double a = color.alpha * alpha * 255;
    return (uint32_t)(a + 0.5) << 24 | (uint32_t)(color.red * a + 0.5) << 16 | (uint32_t)(color.green * a + 0.5) << 8
        | (uint32_t)(color.blue * a + 0.5);
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
    if (!has_kernels(context) || !only_shape(state->clip, &clip)) return false;
    bool has_shadow = shadow->color.alpha > 0, is_soft = has_shadow && shadow->sigma > 0;
    if (has_shadow && (fabs(shadow->offset_x) > 1e5 || fabs(shadow->offset_y) > 1e5)) return false;
    if (is_soft && (clip || inner || !is_small(outer) || outer->x0 >= outer->x1 || outer->y0 >= outer->y1)) return false;
    drawing d = {.kernels = gesso_kernels_get(), .target = context->bitmap, .box = gesso_clip_box(context)};
    if (gesso_box_is_empty(d.box)) return true;
    if (context->cairo) cairo_surface_flush(context->surface);
    if (has_shadow) {
        /* A hard shadow is the shape, moved. */
        int32_t x = (int32_t)lrint(shadow->offset_x * GESSO_GRID), y = (int32_t)lrint(shadow->offset_y * GESSO_GRID);
        gesso_shape outer_shadow = moved(outer, x, y), inner_shadow;
        if (inner) inner_shadow = moved(inner, x, y);
        d.source.word = premultiplied(shadow->color, color.alpha * state->alpha);
        bool covers = color.alpha * state->alpha == 1;
        bool drawn = is_soft ? draw_soft(&d, &outer_shadow, shadow->sigma, covers ? outer : NULL)
                             : draw_shape(&d, &outer_shadow, inner ? &inner_shadow : NULL, clip);
        if (!drawn) return false;
    }
    d.source.word = premultiplied(color, state->alpha);
    /* With a shadow drawn there is no way back to Cairo: what failed there cannot fail here for another reason. */
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
    if (!has_kernels(context) || !only_shape(state->clip, &clip)) return false;
    if (bitmap->format == GESSO_FORMAT_A8 || state->shadow.color.alpha > 0) return false;
    /* A turned axis: upright rectangles do not tell. */
    if (state->matrix.xx < 0 || state->matrix.yy < 0) return false;
    drawing d = {.kernels = gesso_kernels_get(), .target = context->bitmap, .box = gesso_clip_box(context)};
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
    d.source = (source){
        .picture = picture ? picture : bitmap, .x = gesso_shape_left(r), .y = gesso_shape_top(r),
        .alpha = (uint32_t)(state->alpha * 255 + 0.5), .solid = bitmap->format == GESSO_FORMAT_XRGB32 ? 0xff000000 : 0};
    bool drawn = draw_shape(&d, r, NULL, clip);
    gesso_bitmap_release(picture);
    return drawn;
}

bool gesso_stroke_shapes(
    const gesso_state *state, const gesso_shape *shape, gesso_shape *outer, gesso_shape *inner, bool *has_inner)
{
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

#include "mask_edges.h"

#include "mask_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kernel takes an arc within a pixel for a parabola: below this radius of curvature, in pixels, that shows; below
 * twice as much where arcs end in lines. */
static const double least_curvature_radius = 3;
/* And below this one, where the edge runs along a pixel's side. */
static const double easy_curvature_radius = 12;

/* ---- Where the edges lie ---- */

static bool bends_less(const gesso_shape *s, double radius)
{
    for (int i = 0; i < 4; i++) {
        double rx = s->rx[i] / 256.0, ry = s->ry[i] / 256.0;
        if (rx == 0 && ry == 0) continue;
        if (!(rx * rx >= radius * ry && ry * ry >= radius * rx)) return false;
    }
    return true;
}

/* Radii of half the sides; on the grid, they may be half a unit less. */
static bool is_ellipse(const gesso_shape *s)
{
    for (int i = 0; i < 4; i++)
        if (s->x1 - s->x0 - 2 * s->rx[i] > 1 || s->y1 - s->y0 - 2 * s->ry[i] > 1) return false;
    return true;
}

/* Whether all corners that are round are alike. */
static bool is_uniform(const gesso_shape *s)
{
    int first = 0;
    while (first < 3 && s->rx[first] == 0) first++;
    for (int i = first; i < 4; i++)
        if (s->rx[i] != 0 && (s->rx[i] != s->rx[first] || s->ry[i] != s->ry[first])) return false;
    return true;
}

static bool is_smooth(const gesso_shape *s)
{
    if (gesso_shape_is_rectangle(s)) return false; /* a tiny one would pass for an ellipse */
    double least = least_curvature_radius * (is_ellipse(s) ? 1 : 2);
    return s->x0 < s->x1 && s->y0 < s->y1 && is_uniform(s) && bends_less(s, least);
}

/* The x of a quarter's edge at the boundaries first ..< end of rows. `sign` is -1 for one on the left. */
static void find_edges(float *edges, int32_t first, int32_t end, float cx, float cy, float rx, float ry, float sign)
{
    float inverse = ry > 0 ? 1 / ry : 0, reach = sign * rx;
    for (int32_t k = first; k < end; k++) {
        float u = ((float)k - cy) * inverse, square = 1 - u * u;
        edges[k] = cx + reach * __builtin_elementwise_sqrt(square > 0 ? square : 0);
    }
}

static int32_t within(int32_t value, int32_t last) { return value < 0 ? 0 : value > last ? last : value; }

static void find_side(float *edges, int32_t height, float x, const gesso_corner *upper, const gesso_corner *lower,
    float upper_rx, float upper_ry, float lower_rx, float lower_ry, float sign)
{
    int32_t straight = within((int32_t)ceilf(upper->cy), height + 1);
    int32_t bend = within((int32_t)floorf(lower->cy) + 1, height + 1);
    if (bend < straight) bend = straight;
    find_edges(edges, 0, straight, upper->cx, upper->cy, upper_rx, upper_ry, sign);
    for (int32_t k = straight; k < bend; k++) edges[k] = x;
    find_edges(edges, bend, height + 1, lower->cx, lower->cy, lower_rx, lower_ry, sign);
}

static void trace(gesso_outline *o, const gesso_shape *s, const gesso_mask *mask, int32_t left, int32_t top, float *memory)
{
    const float unit = 1.0f / GESSO_GRID;
    o->x0 = (float)(s->x0 - left * 256) * unit, o->x1 = (float)(s->x1 - left * 256) * unit;
    o->y0 = (float)(s->y0 - top * 256) * unit, o->y1 = (float)(s->y1 - top * 256) * unit;
    o->is_ellipse = is_ellipse(s);
    o->is_easy = bends_less(s, easy_curvature_radius);
    o->left_side = gesso_side_left(s, left, top), o->right_side = gesso_side_right(s, left, top);
    float rx[4], ry[4];
    for (int i = 0; i < 4; i++) {
        rx[i] = o->is_ellipse ? (o->x1 - o->x0) / 2 : (float)s->rx[i] * unit;
        ry[i] = o->is_ellipse ? (o->y1 - o->y0) / 2 : (float)s->ry[i] * unit;
        bool is_left = i == 0 || i == 3, is_top = i < 2;
        o->corners[i] = (gesso_corner){
            .rx = rx[i], .cx = is_left ? o->x0 + rx[i] : o->x1 - rx[i], .cy = is_top ? o->y0 + ry[i] : o->y1 - ry[i],
            .first = is_left || o->is_ellipse ? -INFINITY : 0, .last = is_left && !o->is_ellipse ? 0 : INFINITY};
        if (rx[i] > 0) o->hx = 1 / (rx[i] * rx[i]), o->hy = 1 / (ry[i] * ry[i]);
    }
    o->left = memory, o->right = memory + mask->height + 1;
    find_side(o->left, mask->height, o->x0, &o->corners[0], &o->corners[3], rx[0], ry[0], rx[3], ry[3], -1);
    find_side(o->right, mask->height, o->x1, &o->corners[1], &o->corners[2], rx[1], ry[1], rx[2], ry[2], 1);
}

/* The pixels of a row in which a shape's edges lie. */
typedef struct extent {
    int32_t begin, left_end, right_begin, end;
} extent;

static int32_t up(float value)
{
    int32_t whole = (int32_t)value;
    return whole + ((float)whole < value);
}

static extent extent_of(const gesso_outline *o, int32_t y, int32_t width)
{
    if ((float)y + 1 <= o->y0 || (float)y >= o->y1) return (extent){0};
    float a = o->left[y], b = o->left[y + 1], c = o->right[y], d = o->right[y + 1];
    float first = a < b ? a : b, last = c > d ? c : d;
    /* The widest place may lie within the row. */
    if (o->is_ellipse && o->corners[0].cy > (float)y && o->corners[0].cy < (float)y + 1) first = o->x0, last = o->x1;
    extent e = {(int32_t)first, up(a > b ? a : b), (int32_t)(c < d ? c : d), up(last)};
    if (e.end > width) e.end = width;
    return e;
}

/* Whether the row is near to a place where the edge is upright or level, and bends so much there that it may enter a pixel
 * and leave it again by the same side. */
static bool is_hard(const gesso_outline *o, int32_t y)
{
    if (o->is_easy) return false;
    float near = 0.3f, top = (float)y - near, bottom = (float)y + 1 + near, middle = o->corners[0].cy;
    return top <= o->y0 || bottom >= o->y1 || (o->is_ellipse && top <= middle && bottom >= middle);
}

/* The corner that one side follows through all of a row, or null if it is straight there, at least for a part. */
static const gesso_corner *side_in_row(const gesso_outline *o, bool left, int32_t y)
{
    const gesso_corner *upper = &o->corners[left ? 0 : 1], *lower = &o->corners[left ? 3 : 2];
    if (o->is_ellipse || (float)y + 1 <= upper->cy) return upper;
    return (float)y >= lower->cy ? lower : NULL;
}

/* ---- The pixels of the edges ---- */

/* Room for a row, after what is pending, and for whole vectors. */
static bool make_room(gesso_edges *e)
{
    enum { SPANS = 6, MORE = 32 };
    uint32_t width = (uint32_t)e->mask->width;
    if (!gesso_mask_make_room(e->mask, SPANS, width + MORE)) return false;
    if (e->mask->byte_count - e->pending + width + MORE <= e->capacity) return true;
    gesso_edges_finish(e);
    return true;
}

/* Centres of pixels from an ellipse's: eight at a time, whatever the count. */
static inline void put_even(float *restrict xs, float *restrict ys, int32_t count, float dx, float dy)
{
    static const float steps[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int32_t done = 0; done < count; done += 8, dx += 8)
        for (int32_t i = 0; i < 8; i++) xs[done + i] = dx + steps[i], ys[done + i] = dy;
}

/* The same for a corner: behind its end, the side is as level, or as upright, as it is there. */
static inline void put(gesso_edges *e, uint32_t at, int32_t count, int32_t x, int32_t y, const gesso_corner *c)
{
    float *xs = e->x + at, first = c->first, last = c->last, dx = (float)x + 0.5f - c->cx;
    put_even(xs, e->y + at, count, dx, (float)y + 0.5f - c->cy);
    if (dx >= first && dx + (float)(count - 1) <= last) return;
    for (int32_t i = 0; i < count; i++) xs[i] = xs[i] < first ? first : xs[i] > last ? last : xs[i];
}

/* Where a corner ends within a column, its pixel is part arc and part straight line: exactly, then. */
static inline void correct(gesso_edges *e, const gesso_outline *o, bool left, uint32_t at, int32_t x, int32_t count,
    int32_t y, const gesso_corner *c)
{
    if (o->is_ellipse) return;
    int32_t column = (int32_t)c->cx;
    if (column < x || column >= x + count || (float)column == c->cx) return;
    gesso_side_row row = gesso_side_row_make(left ? &o->left_side : &o->right_side, y);
    double from = left ? column : -(column + 1);
    e->corrections[e->correction_count++] = (gesso_correction){
        at + (uint32_t)(column - x), o == &e->inner,
        (float)(gesso_side_row_area(&row, from + 1) - gesso_side_row_area(&row, from))};
}

/* What one run of pixels belongs to: the sides of the shapes there. */
typedef struct edge_run {
    bool left;
    const gesso_corner *outer, *inner; /* inner is null where the hole does not reach */
} edge_run;

/* There is room: see make_room. */
static void add_run(gesso_edges *e, int32_t y, int32_t begin, int32_t end, const edge_run *run)
{
    int32_t count = end - begin;
    if (count <= 0) return;
    gesso_mask *mask = e->mask;
    uint32_t start = mask->byte_count, at = start - e->pending;
    mask->byte_count += (uint32_t)count;
    put(e, at, count, begin, y, run->outer);
    correct(e, &e->outer, run->left, at, begin, count, y, run->outer);
    if (run->inner) correct(e, &e->inner, run->left, at, begin, count, y, run->inner);
    gesso_mask_put_span(mask, begin, count, -1, start);
}

/* A ring's side: the outer edge, what is solid, and the inner edge. Short ones are one run. */
static void add_ring_side(
    gesso_edges *e, int32_t y, int32_t begin, int32_t solid, int32_t solid_end, int32_t end, uint8_t full, const edge_run *run)
{
    enum { SHORT = 12 };
    if (solid_end - solid <= SHORT) {
        add_run(e, y, begin, end, run);
        return;
    }
    add_run(e, y, begin, solid, run);
    gesso_mask_put_span(e->mask, solid, solid_end - solid, full, 0);
    add_run(e, y, solid_end, end, run);
}

/* The row of an ellipse, or of a ring between two: the most frequent one, so with all that the other way does for corners
 * left out. False if it is not such a row. */
static inline bool add_ellipse_row(gesso_edges *e, int32_t y, extent o, extent i)
{
    enum { MOST_SOLID = 12 };
    gesso_mask *mask = e->mask;
    bool has_inner = i.end > i.begin;
    int32_t left_end = o.left_end, right_begin = o.right_begin;
    if (has_inner) {
        if ((float)y < e->inner.y0 || (float)y + 1 > e->inner.y1) return false;
        if (i.begin - o.left_end > MOST_SOLID || o.right_begin - i.end > MOST_SOLID) return false;
        left_end = i.left_end, right_begin = i.right_begin;
    }
    if (left_end > right_begin) return false;
    float cx = e->outer.corners[0].cx, dy = (float)y + 0.5f - e->outer.corners[0].cy;
    uint32_t start = mask->byte_count, at = start - e->pending;
    int32_t left = left_end - o.begin, right = o.end - right_begin;
    put_even(e->x + at, e->y + at, left, (float)o.begin + 0.5f - cx, dy);
    put_even(e->x + at + left, e->y + at + left, right, (float)right_begin + 0.5f - cx, dy);
    gesso_span *span = mask->spans + mask->span_count;
    span[0] = (gesso_span){o.begin, left, -1, start};
    if (left_end < right_begin && !has_inner) *++span = (gesso_span){left_end, right_begin - left_end, 255, 0};
    *++span = (gesso_span){right_begin, right, -1, start + (uint32_t)left};
    mask->span_count = (uint32_t)(span + 1 - mask->spans);
    mask->byte_count = start + (uint32_t)(left + right);
    return true;
}

bool gesso_edges_add_row(gesso_edges *e, int32_t y, bool *done)
{
    gesso_mask *mask = e->mask;
    extent o = extent_of(&e->outer, y, mask->width), i = {0};
    if (e->has_inner) i = extent_of(&e->inner, y, mask->width);
    bool has_inner = i.end > i.begin;
    if (o.end > o.begin && e->outer.is_ellipse && (!has_inner || e->inner.is_ellipse) && !is_hard(&e->outer, y)
        && !(has_inner && is_hard(&e->inner, y))) {
        if (!make_room(e)) return false;
        *done = add_ellipse_row(e, y, o, i);
        if (*done) return true;
    }
    edge_run left = {true, side_in_row(&e->outer, true, y), NULL}, right = {false, side_in_row(&e->outer, false, y), NULL};
    if (has_inner) left.inner = side_in_row(&e->inner, true, y), right.inner = side_in_row(&e->inner, false, y);
    *done = o.end > o.begin && left.outer && right.outer && (!has_inner || (left.inner && right.inner))
        && !is_hard(&e->outer, y) && !(has_inner && is_hard(&e->inner, y))
        && e->correction_count + 8 <= GESSO_CORRECTIONS;
    if (!*done) return true;
    float top = (float)y > e->outer.y0 ? (float)y : e->outer.y0;
    float bottom = (float)y + 1 < e->outer.y1 ? (float)y + 1 : e->outer.y1;
    uint8_t full = gesso_coverage_byte(bottom - top);
    bool meets = o.left_end > o.right_begin;
    if (!make_room(e)) return false;
    if (!has_inner) {
        if (meets) {
            *done = e->outer.is_ellipse;
            if (*done) add_run(e, y, o.begin, o.end, &left);
            return true;
        }
        add_run(e, y, o.begin, o.left_end, &left);
        gesso_mask_put_span(mask, o.left_end, o.right_begin - o.left_end, full, 0);
        add_run(e, y, o.right_begin, o.end, &right);
        return true;
    }
    bool inner_is_whole = (float)y >= e->inner.y0 && (float)y + 1 <= e->inner.y1;
    if (i.left_end > i.right_begin || !inner_is_whole) {
        *done = e->outer.is_ellipse && e->inner.is_ellipse;
        if (*done) add_run(e, y, o.begin, o.end, &left);
        return true;
    }
    if (meets) {
        *done = false;
        return true;
    }
    int32_t left_solid = o.left_end < i.begin ? o.left_end : i.begin;
    int32_t right_solid_end = o.right_begin > i.end ? o.right_begin : i.end;
    add_ring_side(e, y, o.begin, left_solid, i.begin, i.left_end, full, &left);
    add_ring_side(e, y, i.right_begin, i.end, right_solid_end, o.end, full, &right);
    return true;
}

void gesso_edges_finish(gesso_edges *e)
{
    uint32_t count = e->mask->byte_count - e->pending;
    if (count == 0) return;
    uint8_t *out = e->mask->bytes + e->pending;
    enum { CHUNK = 256 };
    for (uint32_t begin = 0; begin < count; begin += CHUNK) {
        uint32_t part = count - begin < CHUNK ? count - begin : CHUNK;
        float outer[CHUNK], inner[CHUNK];
        if (e->is_wide_ring)
            e->kernels->cover_ring(outer, e->x + begin, e->y + begin, part, e->outer.corners[0].rx, e->inner.corners[0].rx);
        else
            e->kernels->cover_edges(outer, e->x + begin, e->y + begin, part, e->outer.hx, e->outer.hy);
        if (e->has_inner && !e->is_wide_ring) e->kernels->cover_edges(inner, e->x + begin, e->y + begin, part, e->inner.hx, e->inner.hy);
        for (int i = 0; i < e->correction_count; i++) {
            const gesso_correction *c = &e->corrections[i];
            if (c->at >= begin && c->at < begin + part) (c->is_inner ? inner : outer)[c->at - begin] = c->coverage;
        }
        if (e->has_inner && !e->is_wide_ring)
            for (uint32_t i = 0; i < part; i++) outer[i] -= inner[i];
        for (uint32_t i = 0; i < part; i++) {
            float coverage = outer[i] < 0 ? 0 : outer[i] > 1 ? 1 : outer[i];
            out[begin + i] = (uint8_t)(int32_t)(coverage * 255 + 0.5f);
        }
    }
    e->pending = e->mask->byte_count;
    e->correction_count = 0;
}

/* Whether corners of one shape have the centres of the other's, so that pixels are as far from both. */
static bool is_concentric(const gesso_shape *a, const gesso_shape *b)
{
    if (is_ellipse(a) && is_ellipse(b)) return a->x0 + a->x1 == b->x0 + b->x1 && a->y0 + a->y1 == b->y0 + b->y1;
    for (int i = 0; i < 4; i++) {
        bool left = i == 0 || i == 3, top = i < 2;
        if ((a->rx[i] == 0) != (b->rx[i] == 0)) return false;
        if (a->rx[i] == 0) continue; /* rows of sharp corners are not for the kernel */
        if ((left ? a->x0 + a->rx[i] != b->x0 + b->rx[i] : a->x1 - a->rx[i] != b->x1 - b->rx[i])
            || (top ? a->y0 + a->ry[i] != b->y0 + b->ry[i] : a->y1 - a->ry[i] != b->y1 - b->ry[i]))
            return false;
    }
    return true;
}

/* Whether a pixel that one edge of a ring of two circles crosses always is, by distance over radius, nearer to that one.
 * An edge crosses pixels up to √½ from it, and a bit more is for its bend. */
static bool is_wide(const gesso_outline *outer, const gesso_outline *inner)
{
    float reach = 0.72f, r = inner->corners[0].rx, gap = outer->corners[0].rx - r;
    return outer->is_ellipse && inner->is_ellipse && outer->hx == outer->hy && inner->hx == inner->hy
        && r * (gap - 2 * reach) > reach * gap;
}

bool gesso_edges_begin(gesso_edges *e, gesso_mask *mask, const gesso_shape *outer, const gesso_shape *inner)
{
    e->memory = NULL;
    if (!is_smooth(outer) || (inner && (!is_smooth(inner) || !is_concentric(outer, inner)))) return false;
    e->mask = mask;
    e->kernels = gesso_kernels_get();
    e->has_inner = inner != NULL;
    e->pending = mask->byte_count;
    e->correction_count = 0;
    size_t boundaries = (size_t)mask->height + 1;
    e->capacity = 512 + 2 * (uint32_t)mask->width;
    size_t needed = boundaries * (inner ? 4 : 2) + (size_t)e->capacity * 2;
    e->memory = needed <= GESSO_SMALL_EDGES ? e->small : malloc(needed * sizeof *e->memory);
    if (!e->memory) return false;
    e->x = e->memory, e->y = e->x + e->capacity;
    float *memory = e->y + e->capacity;
    int32_t left = gesso_shape_left(outer), top = gesso_shape_top(outer);
    trace(&e->outer, outer, mask, left, top, memory);
    if (inner) trace(&e->inner, inner, mask, left, top, memory + 2 * boundaries);
    e->is_wide_ring = inner && is_wide(&e->outer, &e->inner);
    return true;
}

void gesso_edges_skip(gesso_edges *e) { e->pending = e->mask->byte_count; }

void gesso_edges_end(gesso_edges *e)
{
    if (e->memory != e->small) free(e->memory);
}

#include "mask_edges.h"

#include "internal.h"
#include "mask_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for a row, after what is pending, and for whole vectors. */
enum { ROW_SPANS = 6, MORE_BYTES = 32 };

/* What there may be of spans and bytes for one more row to have room: after make_room. */
typedef struct edge_room {
    uint32_t spans, bytes;
} edge_room;

static inline edge_room room_of(const gesso_edges *e)
{
    const gesso_mask *mask = e->mask;
    uint32_t bytes = mask->byte_capacity - GESSO_READ_BEYOND, own = e->pending + e->capacity;
    return (edge_room){mask->span_capacity - ROW_SPANS, (bytes < own ? bytes : own) - (uint32_t)mask->width - MORE_BYTES};
}

static bool make_room(gesso_edges *e)
{
    uint32_t bytes = (uint32_t)e->mask->width + MORE_BYTES;
    if (!gesso_mask_make_room(e->mask, ROW_SPANS, bytes)) return false;
    if (e->mask->byte_count - e->pending + bytes > e->capacity) gesso_edges_finish(e);
    return true;
}

typedef float four_floats __attribute__((vector_size(16)));

/* Centres of pixels from an ellipse's: eight at a time, whatever the count. */
static inline void put_even(float *restrict xs, float *restrict ys, int32_t count, float dx, float dy)
{
    four_floats x = dx + (four_floats){0, 1, 2, 3}, y = dy + (four_floats){0};
    for (int32_t done = 0; done < count; done += 8, x += 8) {
        four_floats next = x + 4;
        memcpy(xs + done, &x, sizeof x), memcpy(xs + done + 4, &next, sizeof next);
        memcpy(ys + done, &y, sizeof y), memcpy(ys + done + 4, &y, sizeof y);
    }
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

int32_t gesso_edges_add_arcs(gesso_edges *e, int32_t y, int32_t end)
{
    enum { MOST_SOLID = 12 };
    gesso_mask *mask = e->mask;
    const gesso_outline *o = &e->outer, *hole = &e->inner;
    bool may_be_hard = !o->is_easy || (e->has_inner && !hole->is_easy);
    const gesso_corner *left_arc = gesso_outline_side(o, true, y), *right_arc = gesso_outline_side(o, false, y);
    if (!left_arc || !right_arc) return y;
    /* Other shapes' arcs end; in the column where one does, coverage is not the arc's, and in rows that a level edge cuts, no
     * pixel is whole. */
    int32_t arc_end = mask->width, arc_begin = 0, hole_begin = 0, hole_end = mask->height;
    if (!o->is_ellipse) {
        if ((float)y < o->y0) return y;
        end = gesso_smaller(end, (int32_t)(left_arc == &o->corners[0] ? left_arc->cy : o->y1));
        arc_end = (int32_t)left_arc->cx, arc_begin = (int32_t)ceilf(right_arc->cx);
        if (e->has_inner) hole_begin = (int32_t)ceilf(hole->y0), hole_end = (int32_t)hole->y1;
    }
    if (!make_room(e)) return y;
    edge_room room = room_of(e);
    uint32_t span_count = mask->span_count, byte_count = mask->byte_count;
    float left_x = left_arc->cx - 0.5f, right_x = right_arc->cx - 0.5f, dy = (float)y + 0.5f - left_arc->cy;
    for (; y < end; y++, dy += 1) {
        int32_t begin = o->begin[y], left_end = o->left_end[y], right_begin = o->right_begin[y];
        bool has_inner = e->has_inner && hole->end[y] > hole->begin[y];
        if (may_be_hard && (gesso_outline_is_hard(o, y) || (has_inner && gesso_outline_is_hard(hole, y)))) break;
        if (has_inner) {
            /* Not where much between the edges is solid. Where the hole begins or ends, its sides meet, and all is edge. */
            if (hole->begin[y] - left_end > MOST_SOLID || right_begin - hole->end[y] > MOST_SOLID) break;
            if (y < hole_begin || y >= hole_end) break;
            left_end = hole->left_end[y], right_begin = hole->right_begin[y];
        }
        int32_t left = left_end - begin, right = o->end[y] - right_begin;
        if (left <= 0 || right <= 0 || left_end > right_begin || left_end > arc_end || right_begin < arc_begin) break;
        if (span_count > room.spans || byte_count > room.bytes) break;
        float *xs = e->x + (byte_count - e->pending), *ys = e->y + (byte_count - e->pending);
        put_even(xs, ys, left, (float)begin - left_x, dy);
        put_even(xs + left, ys + left, right, (float)right_begin - right_x, dy);
        gesso_span *span = mask->spans + span_count;
        *span++ = (gesso_span){begin, left, -1, byte_count};
        if (left_end < right_begin && !has_inner) *span++ = (gesso_span){left_end, right_begin - left_end, 255, 0};
        *span++ = (gesso_span){right_begin, right, -1, byte_count + (uint32_t)left};
        mask->rows[y].first = span_count;
        mask->rows[y].end = span_count = (uint32_t)(span - mask->spans);
        byte_count += (uint32_t)(left + right);
    }
    mask->span_count = span_count, mask->byte_count = byte_count;
    return y;
}

bool gesso_edges_add_row(gesso_edges *e, int32_t y, bool *done)
{
    gesso_mask *mask = e->mask;
    gesso_extent o = gesso_outline_extent(&e->outer, y, mask->width), i = {0};
    if (e->has_inner) i = gesso_outline_extent(&e->inner, y, mask->width);
    bool has_inner = i.end > i.begin;
    edge_run left = {true, gesso_outline_side(&e->outer, true, y), NULL}, right = {false, gesso_outline_side(&e->outer, false, y), NULL};
    if (has_inner) left.inner = gesso_outline_side(&e->inner, true, y), right.inner = gesso_outline_side(&e->inner, false, y);
    *done = o.end > o.begin && left.outer && right.outer && (!has_inner || (left.inner && right.inner))
        && !gesso_outline_is_hard(&e->outer, y) && !(has_inner && gesso_outline_is_hard(&e->inner, y))
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
    enum { CHUNK = 256, VECTOR = 16 };
    /* What lies behind the last one is computed, too: memory may hold denormal numbers, which take a hundred times as long. */
    for (uint32_t i = count; i < count + VECTOR; i++) e->x[i] = e->y[i] = 1;
    for (uint32_t begin = 0; begin < count; begin += CHUNK) {
        uint32_t part = count - begin < CHUNK ? count - begin : CHUNK;
        _Alignas(64) float outer[CHUNK], inner[CHUNK];
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
        e->kernels->cover_bytes(out + begin, outer, part);
    }
    e->pending = e->mask->byte_count;
    e->correction_count = 0;
}

bool gesso_edges_begin(
    gesso_edges *e, gesso_mask *mask, int32_t rows, const gesso_shape *outer, const gesso_shape *inner)
{
    if (!gesso_outline_is_smooth(outer)) return false;
    if (inner && (!gesso_outline_is_smooth(inner) || !gesso_shape_is_concentric(outer, inner))) return false;
    e->mask = mask;
    e->kernels = gesso_kernels_get();
    e->has_inner = inner != NULL;
    e->pending = mask->byte_count;
    e->correction_count = 0;
    size_t boundaries = (size_t)rows + 1, extents = 4 * (size_t)rows, shapes = inner ? 2 : 1;
    e->capacity = 512 + ((2 * (uint32_t)mask->width + 15) & ~15u);
    size_t needed = 2 * boundaries * shapes + (size_t)e->capacity * 2;
    e->memory = needed <= GESSO_SMALL_EDGES ? e->small : malloc(needed * sizeof *e->memory);
    if (!e->memory) return false;
    e->extents = e->small_extents;
    e->x = e->memory, e->y = e->x + e->capacity;
    float *memory = e->y + e->capacity;
    int32_t left = gesso_shape_left(outer), top = gesso_shape_top(outer);
    gesso_outline_trace(&e->outer, outer, rows, left, top, memory);
    if (inner) gesso_outline_trace(&e->inner, inner, rows, left, top, memory + 2 * boundaries);
    e->has_arcs = e->outer.is_round && (!inner || (e->inner.is_round && e->inner.is_ellipse == e->outer.is_ellipse));
    if (e->has_arcs && extents * shapes > GESSO_SMALL_EXTENTS) {
        e->extents = malloc(extents * shapes * sizeof *e->extents);
        e->has_arcs = e->extents != NULL; /* the other way is slower, and needs none */
    }
    if (e->has_arcs) {
        gesso_outline_find_extents(&e->outer, rows, mask->width, e->extents);
        if (inner) gesso_outline_find_extents(&e->inner, rows, mask->width, e->extents + extents);
    }
    e->is_wide_ring = inner && gesso_outline_is_wide_ring(&e->outer, &e->inner);
    return true;
}

void gesso_edges_skip(gesso_edges *e) { e->pending = e->mask->byte_count; }

void gesso_edges_end(gesso_edges *e)
{
    if (e->memory != e->small) free(e->memory);
    if (e->extents != e->small_extents) free(e->extents);
}

/* Masks: most rows come from the kernel for edges; those that it cannot do, in closed form. */
#include "internal.h"
#include "mask_builder.h"
#include "mask_edges.h"
#include "row_coverage.h"

#include <stdlib.h>
#include <string.h>

/* Makes room by doubling. What a mask begins with is a part of its own memory, and stays there when it is left. */
static bool reserve(void **memory, uint32_t *capacity, uint32_t needed, uint32_t used, size_t size, bool is_own)
{
    if (needed <= *capacity) return true;
    uint32_t grown = *capacity;
    while (grown < needed) grown *= 2;
    void *larger = is_own ? malloc(grown * size) : realloc(*memory, grown * size);
    if (!larger) return false;
    if (is_own) memcpy(larger, *memory, used * size);
    *memory = larger;
    *capacity = grown;
    return true;
}

static gesso_span *own_spans(const gesso_mask *mask) { return (gesso_span *)(mask->rows + mask->height); }

bool gesso_mask_make_room(gesso_mask *mask, uint32_t spans, uint32_t bytes)
{
    return reserve(
               (void **)&mask->spans, &mask->span_capacity, mask->span_count + spans, mask->span_count,
               sizeof *mask->spans, mask->spans == own_spans(mask))
        && reserve(
            (void **)&mask->bytes, &mask->byte_capacity, mask->byte_count + bytes + GESSO_READ_BEYOND, mask->byte_count, 1,
            mask->bytes == mask->own_bytes);
}

/* ---- Rows in closed form ---- */

/* Bytes for begin ..< end. */
static void add_pixels(gesso_mask *mask, const gesso_row *outer, const gesso_row *inner, int32_t begin, int32_t end)
{
    enum { CHUNK = 128 };
    for (; begin < end; begin += CHUNK) {
        int32_t stop = gesso_smaller(end, begin + CHUNK), length = stop - begin;
        double coverage[CHUNK] = {0};
        gesso_row_add_coverage(outer, begin, stop, 1, coverage);
        if (inner) gesso_row_add_coverage(inner, begin, stop, -1, coverage);
        uint32_t at = mask->byte_count;
        for (int32_t i = 0; i < length; i++) mask->bytes[mask->byte_count++] = gesso_coverage_byte(coverage[i]);
        gesso_mask_put_span(mask, begin, length, -1, at);
    }
}

/* One row: pixels of the edges one by one, and constant spans between them. */
static void add_row(gesso_mask *mask, const gesso_row *outer, const gesso_row *inner)
{
    uint8_t full = gesso_coverage_byte(outer->height);
    if (outer->end <= outer->begin) return;
    bool has_inner = inner && inner->end > inner->begin;
    /* The hole is empty where the inner shape covers as much as the outer one. */
    bool has_hole = has_inner && inner->height >= outer->height && inner->left_end < inner->right_begin;
    if (has_inner ? !has_hole : outer->left_end >= outer->right_begin) {
        add_pixels(mask, outer, inner, outer->begin, outer->end);
        return;
    }
    if (!has_inner) {
        add_pixels(mask, outer, NULL, outer->begin, outer->left_end);
        gesso_mask_put_span(mask, outer->left_end, outer->right_begin - outer->left_end, full, 0);
        add_pixels(mask, outer, NULL, outer->right_begin, outer->end);
        return;
    }
    int32_t solid = gesso_smaller(outer->left_end, inner->begin), solid_end = inner->begin;
    int32_t right_solid = inner->end, right_solid_end = gesso_larger(outer->right_begin, inner->end);
    add_pixels(mask, outer, inner, outer->begin, solid);
    gesso_mask_put_span(mask, solid, solid_end - solid, full, 0);
    add_pixels(mask, outer, inner, solid_end, inner->left_end);
    add_pixels(mask, outer, inner, inner->right_begin, right_solid);
    gesso_mask_put_span(mask, right_solid, right_solid_end - right_solid, full, 0);
    add_pixels(mask, outer, inner, right_solid_end, outer->end);
}

/* ---- All rows ---- */

/* Whether the lower half is the upper one mirrored. */
static bool is_mirrored(const gesso_shape *s)
{
    return ((s->y0 + s->y1) & 255) == 0 && s->rx[0] == s->rx[3] && s->ry[0] == s->ry[3] && s->rx[1] == s->rx[2]
        && s->ry[1] == s->ry[2];
}

static void destroy(gesso_mask *mask)
{
    if (mask->spans != own_spans(mask)) free(mask->spans);
    if (mask->bytes != mask->own_bytes) free(mask->bytes);
    free(mask);
}

/* The sides of the shapes that a mask is made of, in its pixels. */
typedef struct sides {
    gesso_side outer_left, outer_right, inner_left, inner_right;
    bool has_inner;
} sides;

/* A row in which both sides are straight over its full height looks like the row above, if that one is, too. */
static bool is_straight(const gesso_side *s, int y)
{
    return y >= s->top + s->top_ry && y + 1 <= s->bottom - s->bottom_ry;
}

static bool all_straight(const sides *s, int y)
{
    return is_straight(&s->outer_left, y) && is_straight(&s->outer_right, y)
        && (!s->has_inner || (is_straight(&s->inner_left, y) && is_straight(&s->inner_right, y)));
}

/* The first row behind straight ones in which a side bends. */
static int32_t straight_end(const sides *s)
{
    double first = gesso_at_most(s->outer_left.bottom - s->outer_left.bottom_ry, s->outer_right.bottom - s->outer_right.bottom_ry);
    if (s->has_inner) {
        first = gesso_at_most(first, s->inner_left.bottom - s->inner_left.bottom_ry);
        first = gesso_at_most(first, s->inner_right.bottom - s->inner_right.bottom_ry);
    }
    return (int32_t)first;
}

static bool add_exact_row(gesso_mask *mask, const sides *s, int32_t y)
{
    if (!gesso_mask_make_room(mask, (uint32_t)mask->width / 64 + 8, (uint32_t)mask->width)) return false;
    gesso_row outer = gesso_row_make(&s->outer_left, &s->outer_right, y, mask->width), inner;
    if (s->has_inner) inner = gesso_row_make(&s->inner_left, &s->inner_right, y, mask->width);
    add_row(mask, &outer, s->has_inner ? &inner : NULL);
    return true;
}

static void repeat_row(gesso_mask_row *row, int32_t count)
{
    gesso_mask_row first = *row;
    for (int32_t i = 1; i <= count; i++) row[i] = first;
}

/* The rows before `end`, and the others as these are, mirrored. */
static bool add_rows(gesso_mask *mask, const sides *s, int32_t end, gesso_edges *edges)
{
    bool was_straight = false;
    for (int32_t y = 0; y < end; y++) {
        if (edges && edges->has_arcs && (y = gesso_edges_add_arcs(edges, y, end)) == end) break;
        bool straight = all_straight(s, y), done = false;
        if (straight && was_straight) {
            int32_t bend = gesso_smaller(end, straight_end(s));
            repeat_row(mask->rows + y - 1, bend - y);
            y = bend - 1;
            continue;
        }
        was_straight = straight;
        mask->row_begin = mask->span_count;
        if (edges && !straight && !gesso_edges_add_row(edges, y, &done)) return false;
        if (!done) {
            if (edges) gesso_edges_finish(edges);
            if (!add_exact_row(mask, s, y)) return false;
            if (edges) gesso_edges_skip(edges);
        }
        mask->rows[y] = (gesso_mask_row){mask->row_begin, mask->span_count};
    }
    if (edges) gesso_edges_finish(edges);
    gesso_mask_row *rows = mask->rows;
    for (int32_t y = end, height = mask->height; y < height; y++) rows[y] = rows[height - 1 - y];
    return true;
}

/* A mask without rows so far, with room for what a ring needs: all in one piece of memory. */
static gesso_mask *begin(int32_t width, int32_t height)
{
    uint32_t spans = 3 * (uint32_t)height + 16, bytes = 4 * (uint32_t)(width + height) + 64;
    size_t rows_size = (size_t)height * sizeof(gesso_mask_row), spans_size = spans * sizeof(gesso_span);
    gesso_mask *mask = malloc(sizeof *mask + rows_size + spans_size + bytes);
    if (!mask) return NULL;
    *mask = (gesso_mask){
        .references = 1, .width = width, .height = height, .rows = (gesso_mask_row *)(mask + 1), .span_capacity = spans,
        .byte_capacity = bytes};
    mask->spans = own_spans(mask);
    mask->bytes = mask->own_bytes = (uint8_t *)(mask->spans + spans);
    return mask;
}

static gesso_mask *create(const gesso_shape *outer, const gesso_shape *inner, bool only_exact)
{
    int32_t left = gesso_shape_left(outer), top = gesso_shape_top(outer);
    int32_t width = ((outer->x1 + 255) >> 8) - left, height = ((outer->y1 + 255) >> 8) - top;
    gesso_mask *mask = begin(width, height);
    if (!mask) return NULL;
    sides s = {
        .outer_left = gesso_side_left(outer, left, top), .outer_right = gesso_side_right(outer, left, top),
        .has_inner = inner != NULL};
    if (inner) s.inner_left = gesso_side_left(inner, left, top), s.inner_right = gesso_side_right(inner, left, top);
    bool mirrored = is_mirrored(outer)
        && (!inner || (is_mirrored(inner) && inner->y0 + inner->y1 == outer->y0 + outer->y1));
    int32_t rows = mirrored ? (height + 1) / 2 : height;
    gesso_edges edges; /* large, and set when it begins */
    bool has_edges = !only_exact && gesso_edges_begin(&edges, mask, rows, outer, inner);
    bool fine = add_rows(mask, &s, rows, has_edges ? &edges : NULL);
    if (has_edges) gesso_edges_end(&edges);
    if (fine) return mask;
    destroy(mask);
    return NULL;
}

gesso_mask *gesso_mask_create(const gesso_shape *outer, const gesso_shape *inner) { return create(outer, inner, false); }

gesso_mask *gesso_mask_create_exact(const gesso_shape *outer, const gesso_shape *inner)
{
    return create(outer, inner, true);
}

/* ---- Products ---- */

void gesso_mask_expand(const gesso_mask *mask, int32_t row, int32_t x, int32_t width, uint8_t *bytes)
{
    memset(bytes, 0, (size_t)width);
    if (row < 0 || row >= mask->height) return;
    for (uint32_t i = mask->rows[row].first; i < mask->rows[row].end; i++) {
        gesso_span s = mask->spans[i];
        int32_t from = gesso_larger(s.x - x, 0), to = gesso_smaller(s.x - x + s.length, width);
        if (from >= to) continue;
        if (s.value >= 0)
            memset(bytes + from, s.value, (size_t)(to - from));
        else
            memcpy(bytes + from, mask->bytes + s.at + (from + x - s.x), (size_t)(to - from));
    }
}

/* Adds spans of a row's coverage: nothing for 0, one value for what is long enough, and bytes for the rest. */
static bool add_coverage(gesso_mask *mask, const uint8_t *bytes)
{
    enum { LONG = 12 };
    for (int32_t x = 0, from = 0; x <= mask->width;) {
        int32_t end = x;
        while (end < mask->width && bytes[end] == bytes[x]) end++;
        bool is_even = x < mask->width && (end - x >= LONG || bytes[x] == 0);
        if (is_even || x == mask->width) {
            if (!gesso_mask_make_room(mask, 2, (uint32_t)(x - from))) return false;
            memcpy(mask->bytes + mask->byte_count, bytes + from, (size_t)(x - from));
            gesso_mask_put_span(mask, from, x - from, -1, mask->byte_count);
            mask->byte_count += (uint32_t)(x - from);
            if (x == mask->width) break;
            gesso_mask_put_span(mask, x, end - x, bytes[x], 0);
            from = end;
        }
        x = end;
    }
    return true;
}

gesso_mask *gesso_mask_multiply(const gesso_mask *first, const gesso_mask *second, int32_t x, int32_t y)
{
    gesso_mask *mask = begin(first->width, first->height);
    uint8_t *bytes = malloc(2 * (size_t)first->width);
    bool fine = mask && bytes;
    for (int32_t row = 0; fine && row < mask->height; row++) {
        uint8_t *others = bytes + mask->width;
        mask->row_begin = mask->span_count;
        mask->rows[row] = (gesso_mask_row){mask->span_count, mask->span_count};
        if (row - y < 0 || row - y >= second->height) continue;
        gesso_mask_expand(first, row, 0, mask->width, bytes);
        gesso_mask_expand(second, row - y, -x, mask->width, others);
        for (int32_t i = 0; i < mask->width; i++) bytes[i] = (uint8_t)gesso_mul255(bytes[i], others[i]);
        fine = add_coverage(mask, bytes);
        mask->rows[row].end = mask->span_count;
    }
    free(bytes);
    if (fine) return mask;
    gesso_mask_release(mask);
    return NULL;
}

void gesso_mask_release(gesso_mask *mask)
{
    if (mask && --mask->references == 0) destroy(mask);
}

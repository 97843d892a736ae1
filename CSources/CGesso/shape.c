/* Coverage is an area, and areas under an ellipse have a closed form: nothing is sampled, and nothing approximated.
 *
 * For a row of pixels, let xl(y) be where the shape begins. H(X) = ∫ max(0, X − xl(y)) dy over the row is the area of the
 * shape to the left of X, were it not to end on the right; then H(X + 1) − H(X) is what the left side covers of the pixel
 * at X. The right side is the left side of the mirrored shape, and a pixel's coverage is left + right − height. */
#include "shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool gesso_shape_is_rectangle(const gesso_shape *s)
{
    for (int i = 0; i < 4; i++)
        if (s->rx[i] && s->ry[i]) return false;
    return true;
}

bool gesso_shape_is_aligned(const gesso_shape *s)
{
    return gesso_shape_is_rectangle(s) && ((s->x0 | s->y0 | s->x1 | s->y1) & 255) == 0;
}

bool gesso_shape_equals(const gesso_shape *a, const gesso_shape *b) { return memcmp(a, b, sizeof *a) == 0; }

/* ---- The left side of a shape, in pixels ---- */

typedef struct side {
    double x, top, bottom;         /* the straight edge's x, and where the shape begins and ends */
    double top_rx, top_ry, bottom_rx, bottom_ry;
} side;

static side left_side(const gesso_shape *s, int32_t left, int32_t top)
{
    const double unit = 1.0 / GESSO_GRID;
    return (side){
        (s->x0 - left * 256) * unit, (s->y0 - top * 256) * unit, (s->y1 - top * 256) * unit,
        s->rx[0] * unit, s->ry[0] * unit, s->rx[3] * unit, s->ry[3] * unit};
}

/* The right side, mirrored at x = 0. */
static side right_side(const gesso_shape *s, int32_t left, int32_t top)
{
    const double unit = 1.0 / GESSO_GRID;
    return (side){
        -(s->x1 - left * 256) * unit, (s->y0 - top * 256) * unit, (s->y1 - top * 256) * unit,
        s->rx[1] * unit, s->ry[1] * unit, s->rx[2] * unit, s->ry[2] * unit};
}

/* asin(u) / u for u² up to 1/4, as a polynomial through Chebyshev's points: within 4e-14, and several times faster than
 * the library's, which rounds correctly. */
static double arcsine_ratio(double z)
{
    /* In Estrin's order, whose steps do not wait for one another. */
    double z2 = z * z, z4 = z2 * z2;
    double a = 0.999999999999949237 + z * 0.166666666707231885, b = 0.074999994675315606 + z * 0.0446431268970734371;
    double c = 0.0303750468387097348 + z * 0.0224726292722594078, d = 0.0164727381093619447 + z * 0.0186385082134463277;
    double e = -0.00285635053368389648 + z * 0.0319439963841084283;
    return (a + z2 * b) + z4 * ((c + z2 * d) + z4 * e);
}

/* ∫ √(1 − u²) du from 0 to u, given √(1 − u²), which the caller often has. */
static inline double arc_integral_with(double u, double root)
{
    const double half_pi = 1.5707963267948966;
    double a = fabs(u), angle;
    if (a <= 0.5) {
        angle = a * arcsine_ratio(a * a);
    } else {
        /* asin(a) = π/2 − 2 asin √((1 − a)/2) */
        double z = (1 - a) / 2, s = sqrt(z);
        angle = half_pi - 2 * s * arcsine_ratio(z);
    }
    double integral = (a * root + angle) / 2;
    return u < 0 ? -integral : integral;
}

static const double quarter_turn = 0.78539816339744831;
static double at_least(double a, double b) { return a > b ? a : b; }
static double at_most(double a, double b) { return a < b ? a : b; }

/* A quarter of an ellipse around (cx, cy), its part of a row, and what does not depend on X. */
typedef struct quarter {
    double cx, cy, rx, ry, from, to;
    bool is_lower;
    double integral_from, integral_to;
    double first, last; /* the leftmost and rightmost x of this part */
} quarter;

static quarter make_quarter(double cx, double cy, double rx, double ry, double from, double to, bool is_lower)
{
    quarter q = {cx, cy, rx, ry, from, to, is_lower, 0, 0, INFINITY, -INFINITY};
    if (!(to > from && rx > 0)) return q;
    double u = (from - cy) / ry, v = (to - cy) / ry;
    double root_u = sqrt(at_least(0, 1 - u * u)), root_v = sqrt(at_least(0, 1 - v * v));
    q.integral_from = u <= -1 ? -quarter_turn : u >= 1 ? quarter_turn : arc_integral_with(u, root_u);
    q.integral_to = v <= -1 ? -quarter_turn : v >= 1 ? quarter_turn : arc_integral_with(v, root_v);
    q.first = cx - rx * at_least(root_u, root_v);
    q.last = cx - rx * at_most(root_u, root_v);
    return q;
}

/* H of a quarter. */
static double quarter_area(const quarter *q, double x)
{
    if (q->to <= q->from) return 0;
    double offset = x - q->cx;
    if (offset <= -q->rx) return 0;
    double from = q->from, to = q->to, integral_from = q->integral_from, integral_to = q->integral_to;
    if (offset < 0) {
        /* Only as far as the arc is left of X. */
        double u = offset / q->rx, half = sqrt(1 - u * u), reach = q->ry * half;
        if (q->is_lower) {
            if (q->cy + reach < to) to = q->cy + reach, integral_to = arc_integral_with(half, -u);
        } else if (q->cy - reach > from) {
            from = q->cy - reach, integral_from = -arc_integral_with(half, -u);
        }
        if (to <= from) return 0;
    }
    return offset * (to - from) + q->rx * q->ry * (integral_to - integral_from);
}

/* One row's part of a side. */
typedef struct side_row {
    quarter upper, lower;
    double x, straight; /* the straight edge, and how much of the row's height it has */
    double first, last; /* the leftmost and rightmost x */
} side_row;

static side_row make_row(const side *s, int y)
{
    double from = at_least(y, s->top), to = at_most(y + 1, s->bottom);
    double upper_end = s->top + s->top_ry, lower_begin = s->bottom - s->bottom_ry;
    side_row row = {.x = s->x, .first = INFINITY, .last = -INFINITY};
    row.upper = make_quarter(
        s->x + s->top_rx, upper_end, s->top_rx, s->top_ry, from, at_most(to, upper_end), false);
    row.lower = make_quarter(
        s->x + s->bottom_rx, lower_begin, s->bottom_rx, s->bottom_ry, at_least(from, lower_begin), to, true);
    row.straight = at_least(0, at_most(to, lower_begin) - at_least(from, upper_end));
    if (row.straight > 0 || s->top_rx == 0 || s->bottom_rx == 0) row.first = row.last = s->x;
    row.first = at_most(row.first, at_most(row.upper.first, row.lower.first));
    row.last = at_least(row.last, at_least(row.upper.last, row.lower.last));
    return row;
}

static double area_left_of(const side_row *row, double x)
{
    double area = x > row->x ? (x - row->x) * row->straight : 0;
    return area + quarter_area(&row->upper, x) + quarter_area(&row->lower, x);
}

/* ---- Building masks ---- */

static bool reserve(void **memory, uint32_t *capacity, uint32_t needed, size_t size)
{
    if (needed <= *capacity) return true;
    uint32_t grown = *capacity ? *capacity : 64;
    while (grown < needed) grown *= 2;
    void *larger = realloc(*memory, grown * size);
    if (!larger) return false;
    *memory = larger;
    *capacity = grown;
    return true;
}

static bool append_bytes(gesso_mask *mask, int32_t length, uint8_t **bytes)
{
    /* Kernels read some bytes more than they use. */
    if (!reserve((void **)&mask->bytes, &mask->byte_capacity, mask->byte_count + (uint32_t)length + 8, 1)) return false;
    *bytes = mask->bytes + mask->byte_count;
    mask->byte_count += (uint32_t)length;
    return true;
}

/* Adds a span to the last row; `at` is the end of the bytes less the length, for one that has its own. Neighbours that
 * are short become one: a run of a few pixels costs hardly more than one pixel. */
static bool add_span(gesso_mask *mask, int32_t x, int32_t length, int32_t value, uint32_t at)
{
    enum { SHORT = 12 };
    if (length <= 0 || value == 0) return true;
    gesso_span *last = mask->span_count > mask->row_begin ? &mask->spans[mask->span_count - 1] : NULL;
    bool follows = last && last->value < 0 && last->x + last->length == x && last->at + (uint32_t)last->length == at;
    if (follows && value < 0) {
        last->length += length;
        return true;
    }
    if (last && last->value < 0 && last->x + last->length == x && value > 0 && length <= SHORT
        && last->at + (uint32_t)last->length == mask->byte_count) {
        uint8_t *bytes;
        if (!append_bytes(mask, length, &bytes)) return false;
        memset(bytes, value, (size_t)length);
        last->length += length;
        return true;
    }
    if (!reserve((void **)&mask->spans, &mask->span_capacity, mask->span_count + 1, sizeof *mask->spans)) return false;
    mask->spans[mask->span_count++] = (gesso_span){x, length, value, at};
    return true;
}

static uint8_t to_byte(double coverage)
{
    return (uint8_t)(coverage <= 0 ? 0 : coverage >= 1 ? 255 : coverage * 255 + 0.5);
}

/* The row of one shape: the pixels in which its left side lies, what is between, and those of its right side. */
typedef struct row_parts {
    int32_t begin, left_end, right_begin, end;
    double height; /* coverage between the sides */
    side_row left, right;
} row_parts;

static row_parts make_parts(const side *left, const side *right, int y, int32_t width, bool symmetric)
{
    row_parts p;
    p.left = make_row(left, y);
    if (symmetric) {
        /* The same, mirrored at the middle and not at 0. */
        p.right = p.left;
        double shift = right->x - left->x;
        p.right.x += shift, p.right.first += shift, p.right.last += shift;
        p.right.upper.cx += shift, p.right.lower.cx += shift;
    } else {
        p.right = make_row(right, y);
    }
    double from = at_least(y, left->top), to = at_most(y + 1, left->bottom);
    p.height = at_least(0, to - from);
    double last = width;
    p.begin = (int32_t)at_most(last, at_least(0, floor(p.left.first)));
    p.left_end = (int32_t)at_most(last, at_least(0, ceil(p.left.last)));
    p.right_begin = (int32_t)at_most(last, at_least(0, floor(-p.right.last)));
    p.end = (int32_t)at_most(last, at_least(0, ceil(-p.right.first)));
    if (p.height <= 0 || p.end <= p.begin) p.begin = p.left_end = p.right_begin = p.end = 0;
    return p;
}

/* Coverage of the pixels begin ..< end, each by itself. `scale` is 1, or -1 to take it away. */
static void add_coverage(const row_parts *p, int32_t begin, int32_t end, double scale, double *coverage)
{
    int32_t from = begin > p->begin ? begin : p->begin, to = end < p->end ? end : p->end;
    double left = 0, right = 0;
    bool has_left = false, has_right = false;
    for (int32_t x = from; x < to; x++) {
        double sum = -p->height;
        if (x < p->left_end) {
            if (!has_left) left = area_left_of(&p->left, x), has_left = true;
            double next = area_left_of(&p->left, x + 1);
            sum += next - left;
            left = next;
        } else {
            sum += p->height;
        }
        if (x >= p->right_begin) {
            if (!has_right) right = area_left_of(&p->right, -x), has_right = true;
            double next = area_left_of(&p->right, -(x + 1));
            sum += right - next;
            right = next;
        } else {
            sum += p->height;
        }
        coverage[x - begin] += scale * sum;
    }
}

/* Bytes for begin ..< end. */
static bool add_pixels(
    gesso_mask *mask, const row_parts *outer, const row_parts *inner, int32_t begin, int32_t end)
{
    enum { CHUNK = 128 };
    for (; begin < end; begin += CHUNK) {
        int32_t stop = end - begin < CHUNK ? end : begin + CHUNK, length = stop - begin;
        double coverage[CHUNK] = {0};
        add_coverage(outer, begin, stop, 1, coverage);
        if (inner) add_coverage(inner, begin, stop, -1, coverage);
        uint8_t *out;
        uint32_t at = mask->byte_count;
        if (!append_bytes(mask, length, &out)) return false;
        for (int32_t i = 0; i < length; i++) out[i] = to_byte(coverage[i]);
        if (!add_span(mask, begin, length, -1, at)) return false;
    }
    return true;
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* The pixels from_begin ..< from_end in reverse, as the right side of a shape whose sides are alike. */
static bool mirror_pixels(gesso_mask *mask, uint32_t first_span, uint32_t end_span)
{
    for (uint32_t i = end_span; i > first_span; i--) {
        gesso_span span = mask->spans[i - 1];
        uint32_t at = mask->byte_count;
        if (span.value < 0) {
            uint8_t *out;
            if (!append_bytes(mask, span.length, &out)) return false;
            for (int32_t k = 0; k < span.length; k++) out[k] = mask->bytes[span.at + span.length - 1 - k];
        }
        if (!add_span(mask, mask->width - span.x - span.length, span.length, span.value, at)) return false;
    }
    return true;
}

/* One row of a shape whose sides mirror one another: the left half, the middle, and the left half in reverse. False in
 * `done` when the sides meet and there are no halves. */
static bool add_symmetric_row(gesso_mask *mask, const row_parts *outer, const row_parts *inner, bool *done)
{
    bool has_inner = inner && inner->end > inner->begin;
    *done = outer->end > outer->begin && outer->left_end < outer->right_begin
        && (!has_inner || (inner->height >= outer->height && inner->left_end < inner->right_begin));
    if (!*done) return true;
    uint8_t full = to_byte(outer->height);
    uint32_t first = mask->span_count;
    bool fine;
    if (has_inner) {
        int32_t solid = smaller(outer->left_end, inner->begin);
        fine = add_pixels(mask, outer, inner, outer->begin, solid)
            && add_span(mask, solid, inner->begin - solid, full, 0)
            && add_pixels(mask, outer, inner, inner->begin, inner->left_end);
        mask->row_begin = mask->span_count;
        return fine && mirror_pixels(mask, first, mask->span_count);
    }
    fine = add_pixels(mask, outer, NULL, outer->begin, outer->left_end);
    uint32_t end = mask->span_count;
    mask->row_begin = end; /* nothing more is to be joined to what is mirrored */
    return fine && add_span(mask, outer->left_end, outer->right_begin - outer->left_end, full, 0)
        && mirror_pixels(mask, first, end);
}

/* One row: pixels of the edges one by one, and constant spans between them. */
static bool add_row(gesso_mask *mask, const row_parts *outer, const row_parts *inner)
{
    uint8_t full = to_byte(outer->height);
    if (outer->end <= outer->begin) return true;
    if (!inner || inner->end <= inner->begin) {
        if (outer->left_end >= outer->right_begin) return add_pixels(mask, outer, NULL, outer->begin, outer->end);
        return add_pixels(mask, outer, NULL, outer->begin, outer->left_end)
            && add_span(mask, outer->left_end, outer->right_begin - outer->left_end, full, 0)
            && add_pixels(mask, outer, NULL, outer->right_begin, outer->end);
    }
    /* The hole is empty where the inner shape covers as much as the outer one. */
    bool has_hole = inner->height >= outer->height && inner->left_end < inner->right_begin;
    if (!has_hole) return add_pixels(mask, outer, inner, outer->begin, outer->end);
    int32_t solid = smaller(outer->left_end, inner->begin), solid_end = inner->begin;
    int32_t right_solid = inner->end, right_solid_end = larger(outer->right_begin, inner->end);
    return add_pixels(mask, outer, inner, outer->begin, solid)
        && add_span(mask, solid, solid_end - solid, full, 0)
        && add_pixels(mask, outer, inner, solid_end, inner->left_end)
        && add_pixels(mask, outer, inner, inner->right_begin, right_solid)
        && add_span(mask, right_solid, right_solid_end - right_solid, full, 0)
        && add_pixels(mask, outer, inner, right_solid_end, outer->end);
}

/* Appends a row that looks like an earlier one. */
static bool repeat_row(gesso_mask *mask, int32_t row)
{
    uint32_t count = mask->rows[row + 1] - mask->rows[row];
    if (count == 0) return true;
    if (!reserve((void **)&mask->spans, &mask->span_capacity, mask->span_count + count, sizeof *mask->spans))
        return false;
    memcpy(mask->spans + mask->span_count, mask->spans + mask->rows[row], count * sizeof *mask->spans);
    mask->span_count += count;
    return true;
}

/* Whether the right half is the left one mirrored. */
static bool is_symmetric(const gesso_shape *s)
{
    return ((s->x0 + s->x1) & 255) == 0 && s->rx[0] == s->rx[1] && s->ry[0] == s->ry[1] && s->rx[3] == s->rx[2]
        && s->ry[3] == s->ry[2];
}

/* Whether the lower half is the upper one mirrored. */
static bool is_mirrored(const gesso_shape *s)
{
    return ((s->y0 + s->y1) & 255) == 0 && s->rx[0] == s->rx[3] && s->ry[0] == s->ry[3] && s->rx[1] == s->rx[2]
        && s->ry[1] == s->ry[2];
}

static void destroy(gesso_mask *mask)
{
    free(mask->rows);
    free(mask->spans);
    free(mask->bytes);
    free(mask);
}

/* A row in which both sides are straight over its full height looks like the row above, if that one is, too. */
static bool is_straight(const side *s, int y)
{
    return y >= s->top + s->top_ry && y + 1 <= s->bottom - s->bottom_ry;
}

gesso_mask *gesso_mask_create(const gesso_shape *outer, const gesso_shape *inner)
{
    gesso_mask *mask = calloc(1, sizeof *mask);
    if (!mask) return NULL;
    int32_t left = gesso_shape_left(outer), top = gesso_shape_top(outer);
    mask->references = 1;
    mask->width = ((outer->x1 + 255) >> 8) - left;
    mask->height = ((outer->y1 + 255) >> 8) - top;
    mask->rows = calloc((size_t)mask->height + 1, sizeof *mask->rows);
    if (!mask->rows) {
        destroy(mask);
        return NULL;
    }
    side outer_left = left_side(outer, left, top), outer_right = right_side(outer, left, top);
    side inner_left, inner_right;
    if (inner) inner_left = left_side(inner, left, top), inner_right = right_side(inner, left, top);
    bool mirrored = is_mirrored(outer)
        && (!inner || (is_mirrored(inner) && inner->y0 + inner->y1 == outer->y0 + outer->y1));
    bool symmetric = is_symmetric(outer)
        && (!inner || (is_symmetric(inner) && inner->x0 + inner->x1 == outer->x0 + outer->x1));
    bool fine = true, was_straight = false;
    for (int32_t y = 0; fine && y < mask->height; y++) {
        mask->rows[y] = mask->span_count;
        mask->row_begin = mask->span_count;
        mask->rows[y + 1] = mask->span_count;
        int32_t twin = mask->height - 1 - y;
        bool straight = is_straight(&outer_left, y) && is_straight(&outer_right, y)
            && (!inner || (is_straight(&inner_left, y) && is_straight(&inner_right, y)));
        if (mirrored && twin < y) {
            fine = repeat_row(mask, twin);
        } else if (straight && was_straight) {
            fine = repeat_row(mask, y - 1);
        } else {
            row_parts outer_parts = make_parts(&outer_left, &outer_right, y, mask->width, symmetric), inner_parts;
            if (inner) inner_parts = make_parts(&inner_left, &inner_right, y, mask->width, symmetric);
            bool done = false;
            if (symmetric) fine = add_symmetric_row(mask, &outer_parts, inner ? &inner_parts : NULL, &done);
            if (!done && fine) fine = add_row(mask, &outer_parts, inner ? &inner_parts : NULL);
        }
        was_straight = straight;
        mask->rows[y + 1] = mask->span_count;
    }
    if (fine) return mask;
    destroy(mask);
    return NULL;
}

void gesso_mask_release(gesso_mask *mask)
{
    if (mask && --mask->references == 0) destroy(mask);
}

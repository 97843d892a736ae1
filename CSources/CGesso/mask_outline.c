#include "mask_outline.h"

#include <math.h>
#include <stddef.h>

/* The kernel takes an arc within a pixel for a parabola: below this radius of curvature, in pixels, that shows; below
 * twice as much where arcs end in lines. */
static const double least_curvature_radius = 3;
/* And below this one, where the edge runs along a pixel's side. */
static const double easy_curvature_radius = 12;

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

bool gesso_outline_is_smooth(const gesso_shape *s)
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

/* Both sides of an ellipse at once: its quarters lie as far from the centre. */
static void find_ellipse(gesso_outline *o, int32_t rows, float ry)
{
    gesso_corner corner = o->corners[0];
    float *left = o->left, *right = o->right, cx = o->corners[1].cx;
    find_edges(right, 0, rows + 1, 0, corner.cy, corner.rx, ry, 1);
    for (int32_t k = 0; k <= rows; k++) left[k] = corner.cx - right[k], right[k] += cx;
}

static int32_t within(int32_t value, int32_t last) { return value < 0 ? 0 : value > last ? last : value; }

static void find_side(float *edges, int32_t rows, float x, const gesso_corner *upper, const gesso_corner *lower,
    float upper_rx, float upper_ry, float lower_rx, float lower_ry, float sign)
{
    int32_t straight = within((int32_t)ceilf(upper->cy), rows + 1);
    int32_t bend = within((int32_t)floorf(lower->cy) + 1, rows + 1);
    if (bend < straight) bend = straight;
    find_edges(edges, 0, straight, upper->cx, upper->cy, upper_rx, upper_ry, sign);
    for (int32_t k = straight; k < bend; k++) edges[k] = x;
    find_edges(edges, bend, rows + 1, lower->cx, lower->cy, lower_rx, lower_ry, sign);
}

void gesso_outline_trace(gesso_outline *o, const gesso_shape *s, int32_t rows, int32_t left, int32_t top, float *memory)
{
    const float unit = 1.0f / GESSO_GRID;
    o->x0 = (float)(s->x0 - left * 256) * unit, o->x1 = (float)(s->x1 - left * 256) * unit;
    o->y0 = (float)(s->y0 - top * 256) * unit, o->y1 = (float)(s->y1 - top * 256) * unit;
    o->is_ellipse = is_ellipse(s);
    o->is_round = o->is_ellipse || (s->rx[0] != 0 && s->rx[1] != 0 && s->rx[2] != 0 && s->rx[3] != 0);
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
    o->left = memory, o->right = memory + rows + 1;
    if (o->is_ellipse) {
        find_ellipse(o, rows, ry[0]);
        return;
    }
    find_side(o->left, rows, o->x0, &o->corners[0], &o->corners[3], rx[0], ry[0], rx[3], ry[3], -1);
    find_side(o->right, rows, o->x1, &o->corners[1], &o->corners[2], rx[1], ry[1], rx[2], ry[2], 1);
}


static int32_t up(float value)
{
    int32_t whole = (int32_t)value;
    return whole + ((float)whole < value);
}

/* The widest place may lie within the row. */
static bool is_widest(const gesso_outline *o, int32_t y)
{
    return o->is_ellipse && o->corners[0].cy > (float)y && o->corners[0].cy < (float)y + 1;
}

gesso_extent gesso_outline_extent(const gesso_outline *o, int32_t y, int32_t width)
{
    if ((float)y + 1 <= o->y0 || (float)y >= o->y1) return (gesso_extent){0};
    float a = o->left[y], b = o->left[y + 1], c = o->right[y], d = o->right[y + 1];
    float first = a < b ? a : b, last = c > d ? c : d;
    if (is_widest(o, y)) first = o->x0, last = o->x1;
    gesso_extent e = {(int32_t)first, up(a > b ? a : b), (int32_t)(c < d ? c : d), up(last)};
    if (e.end > width) e.end = width;
    return e;
}

/* The same for all rows at once. */
static void find_side_extents(int32_t *restrict begin, int32_t *restrict end, const float *restrict edges, int32_t rows)
{
    for (int32_t y = 0; y < rows; y++) {
        float a = edges[y], b = edges[y + 1];
        begin[y] = (int32_t)(a < b ? a : b);
        end[y] = up(a < b ? b : a);
    }
}

static void clear_extent(gesso_outline *o, int32_t y)
{
    o->begin[y] = o->left_end[y] = o->right_begin[y] = o->end[y] = 0;
}

void gesso_outline_find_extents(gesso_outline *o, int32_t rows, int32_t width, int32_t *memory)
{
    o->begin = memory, o->left_end = memory + rows, o->right_begin = memory + 2 * rows, o->end = memory + 3 * rows;
    find_side_extents(o->begin, o->left_end, o->left, rows);
    find_side_extents(o->right_begin, o->end, o->right, rows);
    int32_t first = (int32_t)o->y0, last = up(o->y1), widest = (int32_t)o->corners[0].cy;
    for (int32_t y = 0; y < rows; y++) o->end[y] = o->end[y] < width ? o->end[y] : width;
    for (int32_t y = 0; y < first && y < rows; y++) clear_extent(o, y);
    for (int32_t y = last; y < rows; y++) clear_extent(o, y);
    if (widest < rows && is_widest(o, widest)) {
        gesso_extent e = gesso_outline_extent(o, widest, width);
        o->begin[widest] = e.begin, o->end[widest] = e.end;
    }
}

bool gesso_outline_is_hard(const gesso_outline *o, int32_t y)
{
    if (o->is_easy) return false;
    float near = 0.3f, top = (float)y - near, bottom = (float)y + 1 + near, middle = o->corners[0].cy;
    return top <= o->y0 || bottom >= o->y1 || (o->is_ellipse && top <= middle && bottom >= middle);
}

const gesso_corner *gesso_outline_side(const gesso_outline *o, bool left, int32_t y)
{
    const gesso_corner *upper = &o->corners[left ? 0 : 1], *lower = &o->corners[left ? 3 : 2];
    if (o->is_ellipse || (float)y + 1 <= upper->cy) return upper;
    return (float)y >= lower->cy ? lower : NULL;
}

bool gesso_shape_is_concentric(const gesso_shape *a, const gesso_shape *b)
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

bool gesso_outline_is_wide_ring(const gesso_outline *outer, const gesso_outline *inner)
{
    /* An edge crosses pixels up to √½ from it, and a bit more is for its bend. */
    float reach = 0.72f, r = inner->corners[0].rx, gap = outer->corners[0].rx - r;
    return outer->is_ellipse && inner->is_ellipse && outer->hx == outer->hy && inner->hx == inner->hy
        && r * (gap - 2 * reach) > reach * gap;
}

/* Coverage is an area, and areas under an ellipse have a closed form: nothing is sampled, and nothing approximated.
 *
 * For a row of pixels, let xl(y) be where the shape begins. H(X) = ∫ max(0, X − xl(y)) dy over the row is the area of the
 * shape to the left of X, were it not to end on the right; then H(X + 1) − H(X) is what the left side covers of the pixel
 * at X. The right side is the left side of the mirrored shape, and a pixel's coverage is left + right − height. */
#include "row_coverage.h"

#include "internal.h"

gesso_side gesso_side_left(const gesso_shape *s, int32_t left, int32_t top)
{
    const double unit = 1.0 / GESSO_GRID;
    return (gesso_side){
        (s->x0 - left * 256) * unit, (s->y0 - top * 256) * unit, (s->y1 - top * 256) * unit,
        s->rx[0] * unit, s->ry[0] * unit, s->rx[3] * unit, s->ry[3] * unit};
}

gesso_side gesso_side_right(const gesso_shape *s, int32_t left, int32_t top)
{
    const double unit = 1.0 / GESSO_GRID;
    return (gesso_side){
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

static gesso_quarter make_quarter(double cx, double cy, double rx, double ry, double from, double to, bool is_lower)
{
    gesso_quarter q = {cx, cy, rx, ry, from, to, is_lower, 0, 0, INFINITY, -INFINITY};
    if (!(to > from && rx > 0)) return q;
    double u = (from - cy) / ry, v = (to - cy) / ry;
    double root_u = sqrt(gesso_at_least(0, 1 - u * u)), root_v = sqrt(gesso_at_least(0, 1 - v * v));
    q.integral_from = u <= -1 ? -quarter_turn : u >= 1 ? quarter_turn : arc_integral_with(u, root_u);
    q.integral_to = v <= -1 ? -quarter_turn : v >= 1 ? quarter_turn : arc_integral_with(v, root_v);
    q.first = cx - rx * gesso_at_least(root_u, root_v);
    q.last = cx - rx * gesso_at_most(root_u, root_v);
    return q;
}

/* H of a quarter. */
static double quarter_area(const gesso_quarter *q, double x)
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

gesso_side_row gesso_side_row_make(const gesso_side *s, int y)
{
    double from = gesso_at_least(y, s->top), to = gesso_at_most(y + 1, s->bottom);
    double upper_end = s->top + s->top_ry, lower_begin = s->bottom - s->bottom_ry;
    gesso_side_row row = {.x = s->x, .first = INFINITY, .last = -INFINITY};
    row.upper = make_quarter(
        s->x + s->top_rx, upper_end, s->top_rx, s->top_ry, from, gesso_at_most(to, upper_end), false);
    row.lower = make_quarter(
        s->x + s->bottom_rx, lower_begin, s->bottom_rx, s->bottom_ry, gesso_at_least(from, lower_begin), to, true);
    row.straight = gesso_at_least(0, gesso_at_most(to, lower_begin) - gesso_at_least(from, upper_end));
    if (row.straight > 0 || s->top_rx == 0 || s->bottom_rx == 0) row.first = row.last = s->x;
    row.first = gesso_at_most(row.first, gesso_at_most(row.upper.first, row.lower.first));
    row.last = gesso_at_least(row.last, gesso_at_least(row.upper.last, row.lower.last));
    return row;
}

double gesso_side_row_area(const gesso_side_row *row, double x)
{
    double area = x > row->x ? (x - row->x) * row->straight : 0;
    return area + quarter_area(&row->upper, x) + quarter_area(&row->lower, x);
}

gesso_row gesso_row_make(const gesso_side *left, const gesso_side *right, int y, int32_t width)
{
    gesso_row p;
    p.left = gesso_side_row_make(left, y);
    p.right = gesso_side_row_make(right, y);
    double from = gesso_at_least(y, left->top), to = gesso_at_most(y + 1, left->bottom);
    p.height = gesso_at_least(0, to - from);
    double last = width;
    p.begin = (int32_t)gesso_at_most(last, gesso_at_least(0, floor(p.left.first)));
    p.left_end = (int32_t)gesso_at_most(last, gesso_at_least(0, ceil(p.left.last)));
    p.right_begin = (int32_t)gesso_at_most(last, gesso_at_least(0, floor(-p.right.last)));
    p.end = (int32_t)gesso_at_most(last, gesso_at_least(0, ceil(-p.right.first)));
    if (p.height <= 0 || p.end <= p.begin) p.begin = p.left_end = p.right_begin = p.end = 0;
    return p;
}

void gesso_row_add_coverage(const gesso_row *p, int32_t begin, int32_t end, double scale, double *coverage)
{
    int32_t from = begin > p->begin ? begin : p->begin, to = end < p->end ? end : p->end;
    double left = 0, right = 0;
    bool has_left = false, has_right = false;
    for (int32_t x = from; x < to; x++) {
        double sum = -p->height;
        if (x < p->left_end) {
            if (!has_left) left = gesso_side_row_area(&p->left, x), has_left = true;
            double next = gesso_side_row_area(&p->left, x + 1);
            sum += next - left;
            left = next;
        } else {
            sum += p->height;
        }
        if (x >= p->right_begin) {
            if (!has_right) right = gesso_side_row_area(&p->right, -x), has_right = true;
            double next = gesso_side_row_area(&p->right, -(x + 1));
            sum += right - next;
            right = next;
        } else {
            sum += p->height;
        }
        coverage[x - begin] += scale * sum;
    }
}

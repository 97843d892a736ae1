/* Rectangles, ellipses and rounded rectangles: as the one shape that a path is, where kernels can draw it, and otherwise as
 * lines and curves of Cairo's. */
#include "context_internal.h"

/* The control points' distance for a quarter of a circle: (4/3)·(√2 − 1), which is at most 0.03 % off the circle. */
static const double quarter = 0.5522847498307936;

/* A rectangle whose corners are quarters of ellipses: top left, top right, bottom right, bottom left. */
static void add_curves(
    cairo_t *cairo, double left, double top, double right, double bottom, const double rx[4], const double ry[4])
{
    double cx[4], cy[4];
    for (int i = 0; i < 4; i++) cx[i] = rx[i] * (1 - quarter), cy[i] = ry[i] * (1 - quarter);
    cairo_move_to(cairo, left + rx[0], top);
    cairo_line_to(cairo, right - rx[1], top);
    cairo_curve_to(cairo, right - cx[1], top, right, top + cy[1], right, top + ry[1]);
    cairo_line_to(cairo, right, bottom - ry[2]);
    cairo_curve_to(cairo, right, bottom - cy[2], right - cx[2], bottom, right - rx[2], bottom);
    cairo_line_to(cairo, left + rx[3], bottom);
    cairo_curve_to(cairo, left + cx[3], bottom, left, bottom - cy[3], left, bottom - ry[3]);
    cairo_line_to(cairo, left, top + ry[0]);
    cairo_curve_to(cairo, left, top + cy[0], left + cx[0], top, left + rx[0], top);
    cairo_close_path(cairo);
}

void gesso_shape_add(cairo_t *cairo, const gesso_shape *s)
{
    const double unit = 1.0 / GESSO_GRID;
    double x0 = s->x0 * unit, y0 = s->y0 * unit, x1 = s->x1 * unit, y1 = s->y1 * unit, rx[4], ry[4];
    for (int i = 0; i < 4; i++) rx[i] = s->rx[i] * unit, ry[i] = s->ry[i] * unit;
    if (gesso_shape_is_rectangle(s))
        cairo_rectangle(cairo, x0, y0, x1 - x0, y1 - y0);
    else
        add_curves(cairo, x0, y0, x1, y1, rx, ry);
}

static bool path_is_empty(const gesso_context *context)
{
    return !context->has_shape && !(context->cairo && cairo_has_current_point(context->cairo));
}

static double within_reach(double value) { return fmax(-GESSO_REACH, fmin(GESSO_REACH, value)); }

static int32_t on_grid(double pixels) { return (int32_t)lrint(pixels * GESSO_GRID); }

/* A rectangle may reach far out, as CoreGraphics' infinite one does: what is upright is cut off where nothing shows. */
bool gesso_shape_of_rect(
    const gesso_context *context, double x, double y, double width, double height, gesso_shape *shape)
{
    const cairo_matrix_t *m = &context->state.matrix;
    if (m->xy != 0 || m->yx != 0) return false;
    double x0 = within_reach(x * m->xx + m->x0), x1 = within_reach((x + width) * m->xx + m->x0);
    double y0 = within_reach(y * m->yy + m->y0), y1 = within_reach((y + height) * m->yy + m->y0);
    *shape = (gesso_shape){
        on_grid(fmin(x0, x1)), on_grid(fmin(y0, y1)), on_grid(fmax(x0, x1)), on_grid(fmax(y0, y1)), {0}, {0}};
    return true;
}

/* Whether shapes on the grid run in the direction of the user's space, and from the same corner: what matters to the
 * winding rule, to dashes, and to what is added next. */
static bool is_flipped(const gesso_state *state) { return state->matrix.xx < 0 || state->matrix.yy < 0; }

static bool is_far(const gesso_shape *s)
{
    int32_t most = (int32_t)GESSO_REACH * GESSO_GRID;
    return s->x0 <= -most || s->y0 <= -most || s->x1 >= most || s->y1 >= most;
}

/* Adds a rectangle to the path: as the shape that the path is, if there is nothing else in it. */
static void add_rectangle(gesso_context *context, double x, double y, double width, double height)
{
    gesso_shape shape;
    bool is_upright = gesso_shape_of_rect(context, x, y, width, height, &shape);
    if (is_upright && (is_flipped(&context->state) || width < 0 || height < 0) && !is_far(&shape)) is_upright = false;
    if (is_upright && path_is_empty(context)) {
        context->has_shape = true;
        context->shape = shape;
        return;
    }
    if (!is_upright && !gesso_in_reach(context, x, y, x + width, y + height)) return;
    cairo_t *cairo = gesso_path_cairo(context);
    if (!cairo) return;
    if (is_upright) {
        cairo_identity_matrix(cairo);
        gesso_shape_add(cairo, &shape);
        cairo_set_matrix(cairo, &context->state.matrix);
    } else {
        cairo_rectangle(cairo, x, y, width, height);
    }
}

void gesso_context_add_rect(gesso_context *context, double x, double y, double width, double height)
{
    if (gesso_require(context, gesso_is_finite4(x, y, width, height))) add_rectangle(context, x, y, width, height);
}

void gesso_context_add_ellipse(gesso_context *context, double x, double y, double width, double height)
{
    if (!gesso_require(context, gesso_is_finite4(x, y, width, height))) return;
    gesso_context_add_rounded_rect(context, x, y, width, height, fabs(width) / 2, fabs(height) / 2);
}

/* A rectangle whose corners have radii of their own, top left, top right, bottom right, bottom left, which fit in. */
static void add_rounded(gesso_context *context, double x, double y, double width, double height, const double rx[4], const double ry[4])
{
    if (!gesso_in_reach(context, x, y, x + width, y + height)) return;
    gesso_shape shape;
    if (!is_flipped(&context->state) && gesso_shape_of_rect(context, x, y, width, height, &shape)) {
        const cairo_matrix_t *m = &context->state.matrix;
        int32_t wide = shape.x1 - shape.x0, high = shape.y1 - shape.y0;
        for (int i = 0; i < 4; i++) {
            /* An ellipse's radii are half of its sides, also where the grid rounds them; and neighbours share a side. */
            int32_t grid_x = rx[i] == width / 2 ? wide / 2 : on_grid(rx[i] * fabs(m->xx));
            int32_t grid_y = ry[i] == height / 2 ? high / 2 : on_grid(ry[i] * fabs(m->yy));
            int32_t room_x = i == 1 || i == 2 ? wide - shape.rx[i == 1 ? 0 : 3] : wide;
            int32_t room_y = i == 2 || i == 3 ? high - shape.ry[i == 2 ? 1 : 0] : high;
            if (i == 3) room_x = wide - shape.rx[2];
            shape.rx[i] = grid_x < room_x ? grid_x : room_x;
            shape.ry[i] = grid_y < room_y ? grid_y : room_y;
            if (shape.rx[i] <= 0 || shape.ry[i] <= 0) shape.rx[i] = shape.ry[i] = 0;
        }
        if (path_is_empty(context)) {
            context->has_shape = true;
            context->shape = shape;
            return;
        }
    }
    cairo_t *cairo = gesso_path_cairo(context);
    if (!cairo) return;
    add_curves(cairo, x, y, x + width, y + height, rx, ry);
}

void gesso_context_add_rounded_rect(
    gesso_context *context, double x, double y, double width, double height, double radius_x, double radius_y)
{
    bool valid = gesso_is_finite4(x, y, width, height) && gesso_is_finite2(radius_x, radius_y)
        && radius_x >= 0 && radius_y >= 0;
    if (!gesso_require(context, valid)) return;
    if (width < 0) x += width, width = -width;
    if (height < 0) y += height, height = -height;
    double rx = fmin(radius_x, width / 2), ry = fmin(radius_y, height / 2);
    if (rx == 0 || ry == 0)
        add_rectangle(context, x, y, width, height);
    else
        add_rounded(context, x, y, width, height, (double[]){rx, rx, rx, rx}, (double[]){ry, ry, ry, ry});
}

void gesso_context_add_rounded_rect_with_radii(
    gesso_context *context, double x, double y, double width, double height, double top_left, double top_right,
    double bottom_right, double bottom_left)
{
    /* Sums of what is asked for as the largest there is are to be numbers, too. */
    const double most = 1e9;
    top_left = fmin(top_left, most), top_right = fmin(top_right, most);
    bottom_right = fmin(bottom_right, most), bottom_left = fmin(bottom_left, most);
    double radii[] = {top_left, top_right, bottom_right, bottom_left};
    bool valid = gesso_is_finite4(x, y, width, height) && !isnan(top_left + top_right + bottom_right + bottom_left)
        && top_left >= 0 && top_right >= 0 && bottom_right >= 0 && bottom_left >= 0;
    if (!gesso_require(context, valid)) return;
    if (width < 0) x += width, width = -width;
    if (height < 0) y += height, height = -height;
    /* Where they do not fit, all become smaller by as much, so that the corners keep their looks. */
    double part = 1, sums[] = {
        (top_left + top_right) / width, (bottom_left + bottom_right) / width, (top_left + bottom_left) / height,
        (top_right + bottom_right) / height};
    for (int i = 0; i < 4; i++)
        if (sums[i] * part > 1) part = 1 / sums[i];
    bool is_round = false;
    for (int i = 0; i < 4; i++) is_round |= (radii[i] *= part) > 0;
    if (is_round && width > 0 && height > 0)
        add_rounded(context, x, y, width, height, radii, radii);
    else
        add_rectangle(context, x, y, width, height);
}

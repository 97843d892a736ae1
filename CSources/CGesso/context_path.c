/* The path: building it, and what uses it up. */
#include "context_internal.h"

void gesso_context_begin_path(gesso_context *context)
{
    if (gesso_can_draw(context)) cairo_new_path(context->cairo);
}

bool gesso_in_reach(gesso_context *context, double x0, double y0, double x1, double y1)
{
    double xs[4] = {x0, x1, x0, x1}, ys[4] = {y0, y0, y1, y1};
    for (int i = 0; i < 4; i++) {
        cairo_user_to_device(context->cairo, &xs[i], &ys[i]);
        if (fabs(xs[i]) <= GESSO_REACH && fabs(ys[i]) <= GESSO_REACH) continue; /* false for NaN */
        gesso_context_fail(context, GESSO_TOO_LARGE);
        return false;
    }
    return true;
}

double gesso_device_scale(cairo_t *cairo)
{
    cairo_matrix_t m;
    cairo_get_matrix(cairo, &m);
    /* The matrix' Frobenius norm is at least its largest stretch, and at most √2 times it. */
    return hypot(hypot(m.xx, m.yx), hypot(m.xy, m.yy));
}

static bool can_reach(gesso_context *context, double x, double y)
{
    return gesso_require(context, gesso_is_finite2(x, y)) && gesso_in_reach(context, x, y, x, y);
}

void gesso_context_move_to(gesso_context *context, double x, double y)
{
    if (can_reach(context, x, y)) cairo_move_to(context->cairo, x, y);
}

void gesso_context_add_line(gesso_context *context, double x, double y)
{
    if (can_reach(context, x, y)) cairo_line_to(context->cairo, x, y);
}

void gesso_context_add_curve(
    gesso_context *context, double control1_x, double control1_y, double control2_x, double control2_y,
    double x, double y)
{
    if (can_reach(context, control1_x, control1_y) && can_reach(context, control2_x, control2_y)
        && can_reach(context, x, y))
        cairo_curve_to(context->cairo, control1_x, control1_y, control2_x, control2_y, x, y);
}

void gesso_context_add_quad_curve(gesso_context *context, double control_x, double control_y, double x, double y)
{
    if (!can_reach(context, control_x, control_y) || !can_reach(context, x, y)) return;
    double x0 = control_x, y0 = control_y;
    if (cairo_has_current_point(context->cairo)) cairo_get_current_point(context->cairo, &x0, &y0);
    /* A quadratic curve is the cubic one whose controls lie two thirds of the way to the control. */
    cairo_curve_to(
        context->cairo, x0 + (control_x - x0) * 2 / 3, y0 + (control_y - y0) * 2 / 3,
        x + (control_x - x) * 2 / 3, y + (control_y - y) * 2 / 3, x, y);
}

void gesso_context_add_arc(
    gesso_context *context, double center_x, double center_y, double radius, double start_angle, double end_angle,
    bool clockwise)
{
    /* Cairo turns the angles into one another by adding whole turns one at a time: bounded here. */
    bool valid = gesso_is_finite4(center_x, center_y, start_angle, end_angle) && isfinite(radius) && radius >= 0
        && fabs(start_angle) <= 1e4 && fabs(end_angle) <= 1e4;
    if (!gesso_require(context, valid)) return;
    if (!gesso_in_reach(context, center_x - radius, center_y - radius, center_x + radius, center_y + radius)) return;
    /* More than two turns look like two, and one. */
    const double turn = 6.283185307179586;
    double turns = floor(fabs(end_angle - start_angle) / turn);
    if (turns > 2) end_angle += (end_angle < start_angle ? turn : -turn) * (turns - 2);
    if (clockwise)
        cairo_arc_negative(context->cairo, center_x, center_y, radius, start_angle, end_angle);
    else
        cairo_arc(context->cairo, center_x, center_y, radius, start_angle, end_angle);
}

/* A rectangle may reach far out, as CoreGraphics' infinite one does: what is upright is cut off where nothing shows. */
static void add_rectangle(gesso_context *context, double x, double y, double width, double height)
{
    cairo_matrix_t m;
    cairo_get_matrix(context->cairo, &m);
    double x0 = x * m.xx + m.x0, x1 = (x + width) * m.xx + m.x0;
    double y0 = y * m.yy + m.y0, y1 = (y + height) * m.yy + m.y0;
    double farthest = fmax(fmax(fabs(x0), fabs(x1)), fmax(fabs(y0), fabs(y1)));
    if (m.xy == 0 && m.yx == 0 && farthest > GESSO_REACH) {
        double left = fmax(-GESSO_REACH, fmin(GESSO_REACH, x0)), right = fmax(-GESSO_REACH, fmin(GESSO_REACH, x1));
        double top = fmax(-GESSO_REACH, fmin(GESSO_REACH, y0)), bottom = fmax(-GESSO_REACH, fmin(GESSO_REACH, y1));
        cairo_identity_matrix(context->cairo);
        cairo_rectangle(context->cairo, left, top, right - left, bottom - top);
        cairo_set_matrix(context->cairo, &m);
    } else if (gesso_in_reach(context, x, y, x + width, y + height)) {
        cairo_rectangle(context->cairo, x, y, width, height);
    }
}

void gesso_context_add_rect(gesso_context *context, double x, double y, double width, double height)
{
    if (gesso_require(context, gesso_is_finite4(x, y, width, height))) add_rectangle(context, x, y, width, height);
}

/* The control points' distance for a quarter of a circle: (4/3)·(√2 − 1), which is at most 0.03 % off the circle. */
static const double quarter = 0.5522847498307936;

void gesso_context_add_ellipse(gesso_context *context, double x, double y, double width, double height)
{
    if (!gesso_require(context, gesso_is_finite4(x, y, width, height))) return;
    gesso_context_add_rounded_rect(context, x, y, width, height, fabs(width) / 2, fabs(height) / 2);
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
    if (rx == 0 || ry == 0) {
        add_rectangle(context, x, y, width, height);
        return;
    }
    if (!gesso_in_reach(context, x, y, x + width, y + height)) return;
    double right = x + width, bottom = y + height, cx = rx * (1 - quarter), cy = ry * (1 - quarter);
    cairo_t *cairo = context->cairo;
    cairo_move_to(cairo, x + rx, y);
    cairo_line_to(cairo, right - rx, y);
    cairo_curve_to(cairo, right - cx, y, right, y + cy, right, y + ry);
    cairo_line_to(cairo, right, bottom - ry);
    cairo_curve_to(cairo, right, bottom - cy, right - cx, bottom, right - rx, bottom);
    cairo_line_to(cairo, x + rx, bottom);
    cairo_curve_to(cairo, x + cx, bottom, x, bottom - cy, x, bottom - ry);
    cairo_line_to(cairo, x, y + ry);
    cairo_curve_to(cairo, x, y + cy, x + cx, y, x + rx, y);
    cairo_close_path(cairo);
}

void gesso_context_close_path(gesso_context *context)
{
    if (gesso_can_draw(context)) cairo_close_path(context->cairo);
}

static cairo_fill_rule_t cairo_rule(gesso_fill_rule rule)
{
    return rule == GESSO_FILL_RULE_EVEN_ODD ? CAIRO_FILL_RULE_EVEN_ODD : CAIRO_FILL_RULE_WINDING;
}

/* True when an operation may be drawn elsewhere than straight onto the target, so that it needs a copy of the path
 * and its bounds. */
static bool is_indirect(const gesso_state *state)
{
    return state->shadow.color.alpha > 0 || state->blend != GESSO_BLEND_NORMAL;
}

static void set_color(cairo_t *cairo, gesso_color color, double alpha)
{
    cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha * alpha);
}

static void flood_color(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    set_color(cairo, operation->color, alpha);
    cairo_paint(cairo);
}

static void fill(cairo_t *cairo, const gesso_operation *operation)
{
    cairo_set_fill_rule(cairo, cairo_rule(operation->rule));
    cairo_fill_preserve(cairo);
}

static void paint_fill(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    set_color(cairo, operation->color, alpha);
    fill(cairo, operation);
}

static void cover_fill(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    (void)alpha;
    cairo_set_source_rgb(cairo, 0, 0, 0);
    fill(cairo, operation);
}

static void stroke(cairo_t *cairo, const gesso_operation *operation)
{
    if (cairo != operation->style) {
        cairo_t *style = operation->style;
        cairo_set_line_width(cairo, cairo_get_line_width(style));
        cairo_set_line_cap(cairo, cairo_get_line_cap(style));
        cairo_set_line_join(cairo, cairo_get_line_join(style));
        cairo_set_miter_limit(cairo, cairo_get_miter_limit(style));
        double lengths[64], phase;
        cairo_get_dash(style, lengths, &phase);
        cairo_set_dash(cairo, lengths, cairo_get_dash_count(style), phase);
    }
    cairo_stroke_preserve(cairo);
}

static void paint_stroke(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    set_color(cairo, operation->color, alpha);
    stroke(cairo, operation);
}

static void cover_stroke(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    (void)alpha;
    cairo_set_source_rgb(cairo, 0, 0, 0);
    stroke(cairo, operation);
}

/* What a fill or stroke of the path can cover. Not Cairo's own extents of strokes, which draw every dash to find out. */
static gesso_box path_bounds(cairo_t *cairo, bool strokes)
{
    double x0, y0, x1, y1, reach = 0;
    cairo_path_extents(cairo, &x0, &y0, &x1, &y1);
    if (strokes) reach = cairo_get_line_width(cairo) / 2 * fmax(cairo_get_miter_limit(cairo), 1.5);
    return gesso_device_box(cairo, x0 - reach, y0 - reach, x1 + reach, y1 + reach);
}

static void draw_path(gesso_context *context, gesso_operation *operation, bool strokes)
{
    operation->flood = flood_color;
    gesso_box bounds = {0};
    if (is_indirect(&context->state)) {
        bounds = path_bounds(context->cairo, strokes);
        operation->path = cairo_copy_path(context->cairo);
    }
    gesso_draw(context, operation, bounds);
    if (operation->path) cairo_path_destroy(operation->path);
    gesso_check_cairo(context);
}

void gesso_context_fill_path(gesso_context *context, gesso_fill_rule rule)
{
    if (!gesso_require(context, (unsigned)rule <= GESSO_FILL_RULE_EVEN_ODD)) return;
    draw_path(
        context,
        &(gesso_operation){.paint = paint_fill, .cover = cover_fill, .color = context->state.fill, .rule = rule},
        false);
    cairo_new_path(context->cairo);
}

/* The widest pen, in pixels: Cairo approximates a round one by as many corners as it takes, without bound. */
static const double widest_pen = 65536;

void gesso_context_stroke_path(gesso_context *context)
{
    if (!gesso_can_draw(context)) return;
    double width = cairo_get_line_width(context->cairo);
    if (!(width * gesso_device_scale(context->cairo) <= widest_pen))
        gesso_context_fail(context, GESSO_TOO_LARGE);
    else if (width > 0)
        draw_path(
            context,
            &(gesso_operation){
                .paint = paint_stroke, .cover = cover_stroke, .color = context->state.stroke,
                .style = context->cairo},
            true);
    cairo_new_path(context->cairo);
}

void gesso_context_clip(gesso_context *context, gesso_fill_rule rule)
{
    if (!gesso_require(context, (unsigned)rule <= GESSO_FILL_RULE_EVEN_ODD)) return;
    cairo_set_fill_rule(context->cairo, cairo_rule(rule));
    cairo_clip(context->cairo);
    gesso_check_cairo(context);
}

cairo_path_t *gesso_path_set_aside(gesso_context *context)
{
    if (!cairo_has_current_point(context->cairo)) return NULL;
    cairo_path_t *path = cairo_copy_path(context->cairo);
    cairo_new_path(context->cairo);
    return path;
}

void gesso_path_put_back(gesso_context *context, cairo_path_t *path)
{
    cairo_new_path(context->cairo);
    if (!path) return;
    cairo_append_path(context->cairo, path);
    cairo_path_destroy(path);
    gesso_check_cairo(context);
}

void gesso_context_clip_to_rect(gesso_context *context, double x, double y, double width, double height)
{
    if (!gesso_require(context, gesso_is_finite4(x, y, width, height))) return;
    cairo_path_t *path = gesso_path_set_aside(context);
    add_rectangle(context, x, y, width, height);
    cairo_clip(context->cairo);
    gesso_path_put_back(context, path);
}

void gesso_context_fill_rect(gesso_context *context, double x, double y, double width, double height)
{
    if (!gesso_require(context, gesso_is_finite4(x, y, width, height))) return;
    cairo_path_t *path = gesso_path_set_aside(context);
    add_rectangle(context, x, y, width, height);
    draw_path(
        context, &(gesso_operation){.paint = paint_fill, .cover = cover_fill, .color = context->state.fill}, false);
    gesso_path_put_back(context, path);
}

void gesso_context_clear_rect(gesso_context *context, double x, double y, double width, double height)
{
    if (!gesso_require(context, gesso_is_finite4(x, y, width, height))) return;
    cairo_path_t *path = gesso_path_set_aside(context);
    add_rectangle(context, x, y, width, height);
    cairo_set_operator(context->cairo, CAIRO_OPERATOR_CLEAR);
    cairo_fill(context->cairo);
    cairo_set_operator(context->cairo, CAIRO_OPERATOR_OVER);
    gesso_path_put_back(context, path);
}

void gesso_context_clip_bounds(gesso_context *context, double *x, double *y, double *width, double *height)
{
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    if (gesso_can_draw(context)) cairo_clip_extents(context->cairo, &x0, &y0, &x1, &y1);
    if (x) *x = x0;
    if (y) *y = y0;
    if (width) *width = x1 - x0;
    if (height) *height = y1 - y0;
}

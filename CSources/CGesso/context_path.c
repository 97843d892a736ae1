/* The path: building it, and what uses it up. */
#include "context_internal.h"

void gesso_context_begin_path(gesso_context *context)
{
    if (!gesso_can_draw(context)) return;
    context->has_shape = false;
    if (context->cairo) cairo_new_path(context->cairo);
}

bool gesso_in_reach(gesso_context *context, double x0, double y0, double x1, double y1)
{
    double xs[4] = {x0, x1, x0, x1}, ys[4] = {y0, y0, y1, y1};
    for (int i = 0; i < 4; i++) {
        cairo_matrix_transform_point(&context->state.matrix, &xs[i], &ys[i]);
        if (fabs(xs[i]) <= GESSO_REACH && fabs(ys[i]) <= GESSO_REACH) continue; /* false for NaN */
        gesso_context_fail(context, GESSO_TOO_LARGE);
        return false;
    }
    return true;
}

double gesso_device_scale(const gesso_state *state)
{
    const cairo_matrix_t *m = &state->matrix;
    /* The larger singular value: of the matrix' parts that turn, and that turn and mirror, the stretches add up. */
    return (hypot(m->xx + m->yy, m->yx - m->xy) + hypot(m->xx - m->yy, m->yx + m->xy)) / 2;
}

cairo_t *gesso_path_cairo(gesso_context *context)
{
    if (!context->cairo || context->has_shape) return gesso_cairo(context);
    cairo_set_matrix(context->cairo, &context->state.matrix);
    return context->cairo;
}

static bool can_reach(gesso_context *context, double x, double y)
{
    return gesso_require(context, gesso_is_finite2(x, y)) && gesso_in_reach(context, x, y, x, y);
}

void gesso_context_move_to(gesso_context *context, double x, double y)
{
    cairo_t *cairo = can_reach(context, x, y) ? gesso_path_cairo(context) : NULL;
    if (cairo) cairo_move_to(cairo, x, y);
}

void gesso_context_add_line(gesso_context *context, double x, double y)
{
    cairo_t *cairo = can_reach(context, x, y) ? gesso_path_cairo(context) : NULL;
    if (cairo) cairo_line_to(cairo, x, y);
}

void gesso_context_add_curve(
    gesso_context *context, double control1_x, double control1_y, double control2_x, double control2_y,
    double x, double y)
{
    bool reaches = can_reach(context, control1_x, control1_y) && can_reach(context, control2_x, control2_y)
        && can_reach(context, x, y);
    cairo_t *cairo = reaches ? gesso_path_cairo(context) : NULL;
    if (cairo) cairo_curve_to(cairo, control1_x, control1_y, control2_x, control2_y, x, y);
}

void gesso_context_add_quad_curve(gesso_context *context, double control_x, double control_y, double x, double y)
{
    if (!can_reach(context, control_x, control_y) || !can_reach(context, x, y)) return;
    cairo_t *cairo = gesso_path_cairo(context);
    if (!cairo) return;
    double x0 = control_x, y0 = control_y;
    if (cairo_has_current_point(cairo)) cairo_get_current_point(cairo, &x0, &y0);
    /* A quadratic curve is the cubic one whose controls lie two thirds of the way to the control. */
    cairo_curve_to(
        cairo, x0 + (control_x - x0) * 2 / 3, y0 + (control_y - y0) * 2 / 3,
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
    cairo_t *cairo = gesso_path_cairo(context);
    if (cairo && clockwise)
        cairo_arc_negative(cairo, center_x, center_y, radius, start_angle, end_angle);
    else if (cairo)
        cairo_arc(cairo, center_x, center_y, radius, start_angle, end_angle);
}

void gesso_context_close_path(gesso_context *context)
{
    if (gesso_can_draw(context) && !context->has_shape && context->cairo) cairo_close_path(context->cairo);
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
    gesso_style_lines(cairo, operation->style);
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
static gesso_box path_bounds(gesso_context *context, bool strokes)
{
    double x0, y0, x1, y1, reach = 0;
    cairo_path_extents(context->cairo, &x0, &y0, &x1, &y1);
    if (strokes) reach = context->state.line_width / 2 * fmax(context->state.miter_limit, 1.5);
    return gesso_device_box(&context->state, x0 - reach, y0 - reach, x1 + reach, y1 + reach);
}

/* Draws Cairo's path. */
static void draw_path(gesso_context *context, gesso_operation *operation, bool strokes)
{
    operation->flood = flood_color;
    gesso_box bounds = {0};
    if (is_indirect(&context->state)) {
        bounds = path_bounds(context, strokes);
        operation->path = cairo_copy_path(context->cairo);
    }
    gesso_draw(context, operation, bounds);
    if (operation->path) cairo_path_destroy(operation->path);
    gesso_check_cairo(context);
}

static void draw_fill(gesso_context *context, gesso_fill_rule rule)
{
    draw_path(
        context,
        &(gesso_operation){.paint = paint_fill, .cover = cover_fill, .color = context->state.fill, .rule = rule},
        false);
}

void gesso_context_fill_path(gesso_context *context, gesso_fill_rule rule)
{
    if (!gesso_require(context, (unsigned)rule <= GESSO_FILL_RULE_EVEN_ODD)) return;
    if (!context->has_shape || !gesso_fast_fill(context, &context->shape, NULL, context->state.fill)) {
        if (!gesso_cairo(context)) return;
        draw_fill(context, rule);
    }
    gesso_context_begin_path(context);
}

/* The widest pen, in pixels: Cairo approximates a round one by as many corners as it takes, without bound. */
static const double widest_pen = 65536;

void gesso_context_stroke_path(gesso_context *context)
{
    if (!gesso_can_draw(context)) return;
    const gesso_state *state = &context->state;
    gesso_shape outer, inner;
    bool has_inner;
    if (!(state->line_width * gesso_device_scale(state) <= widest_pen)) {
        gesso_context_fail(context, GESSO_TOO_LARGE);
        return;
    }
    bool drawn = state->line_width == 0
        || (context->has_shape && gesso_stroke_shapes(state, &context->shape, &outer, &inner, &has_inner)
            && gesso_fast_fill(context, &outer, has_inner ? &inner : NULL, state->stroke));
    if (!drawn) {
        if (!gesso_cairo(context)) return;
        draw_path(
            context,
            &(gesso_operation){
                .paint = paint_stroke, .cover = cover_stroke, .color = state->stroke, .style = state},
            true);
    }
    gesso_context_begin_path(context);
}

void gesso_context_clip(gesso_context *context, gesso_fill_rule rule)
{
    if (!gesso_require(context, (unsigned)rule <= GESSO_FILL_RULE_EVEN_ODD)) return;
    if (context->has_shape) {
        gesso_clip_to_shape(context, &context->shape);
    } else {
        cairo_t *cairo = gesso_path_cairo(context);
        if (!cairo) return;
        gesso_box box = path_bounds(context, false);
        cairo_identity_matrix(cairo);
        cairo_path_t *path = cairo_copy_path(cairo);
        gesso_check_cairo(context);
        gesso_clip_to_path(context, path, rule, box);
    }
    gesso_context_begin_path(context);
}

cairo_path_t *gesso_path_set_aside(cairo_t *cairo)
{
    if (!cairo_has_current_point(cairo)) return NULL;
    cairo_path_t *path = cairo_copy_path(cairo);
    cairo_new_path(cairo);
    return path;
}

void gesso_path_put_back(gesso_context *context, cairo_path_t *path)
{
    cairo_new_path(context->cairo);
    if (!path) return;
    cairo_set_matrix(context->cairo, &context->state.matrix);
    cairo_append_path(context->cairo, path);
    cairo_path_destroy(path);
    gesso_check_cairo(context);
}

/* Draws with a rectangle as Cairo's path, and leaves the path as it was. */
static void with_rectangle(
    gesso_context *context, double x, double y, double width, double height, void (*draw)(gesso_context *context))
{
    cairo_t *cairo = gesso_cairo(context);
    if (!cairo) return;
    cairo_path_t *path = gesso_path_set_aside(cairo);
    gesso_context_add_rect(context, x, y, width, height);
    if (context->status == GESSO_OK && gesso_cairo(context)) draw(context);
    gesso_path_put_back(context, path);
}

static void clip_to_path(gesso_context *context)
{
    gesso_context_clip(context, GESSO_FILL_RULE_WINDING);
}

void gesso_context_clip_to_rect(gesso_context *context, double x, double y, double width, double height)
{
    if (!gesso_require(context, gesso_is_finite4(x, y, width, height))) return;
    gesso_shape shape;
    if (gesso_shape_of_rect(context, x, y, width, height, &shape))
        gesso_clip_to_shape(context, &shape);
    else
        with_rectangle(context, x, y, width, height, clip_to_path);
}

static void fill_with_color(gesso_context *context) { draw_fill(context, GESSO_FILL_RULE_WINDING); }

void gesso_context_fill_rect(gesso_context *context, double x, double y, double width, double height)
{
    if (!gesso_require(context, gesso_is_finite4(x, y, width, height))) return;
    gesso_shape shape;
    if (gesso_shape_of_rect(context, x, y, width, height, &shape)
        && gesso_fast_fill(context, &shape, NULL, context->state.fill))
        return;
    with_rectangle(context, x, y, width, height, fill_with_color);
}

static void clear_path(gesso_context *context)
{
    cairo_set_operator(context->cairo, CAIRO_OPERATOR_CLEAR);
    cairo_fill(context->cairo);
    cairo_set_operator(context->cairo, CAIRO_OPERATOR_OVER);
}

void gesso_context_clear_rect(gesso_context *context, double x, double y, double width, double height)
{
    if (gesso_require(context, gesso_is_finite4(x, y, width, height)))
        with_rectangle(context, x, y, width, height, clear_path);
}

void gesso_context_clip_bounds(gesso_context *context, double *x, double *y, double *width, double *height)
{
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    if (gesso_can_draw(context)) {
        gesso_box box = gesso_clip_box(context);
        cairo_matrix_t inverse = context->state.matrix;
        cairo_matrix_invert(&inverse); /* it can be: the transform is checked whenever it changes */
        double xs[4] = {box.x0, box.x1, box.x0, box.x1}, ys[4] = {box.y0, box.y0, box.y1, box.y1};
        x0 = y0 = INFINITY, x1 = y1 = -INFINITY;
        for (int i = 0; i < 4; i++) {
            cairo_matrix_transform_point(&inverse, &xs[i], &ys[i]);
            x0 = fmin(x0, xs[i]), x1 = fmax(x1, xs[i]), y0 = fmin(y0, ys[i]), y1 = fmax(y1, ys[i]);
        }
        if (gesso_box_is_empty(box)) x1 = x0, y1 = y0;
    }
    if (x) *x = x0;
    if (y) *y = y0;
    if (width) *width = x1 - x0;
    if (height) *height = y1 - y0;
}

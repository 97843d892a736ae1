/* Gradients, bitmaps, and what others paint. */
#include "context_internal.h"

/* ---- Gradients ---- */

static void paint_gradient(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    cairo_set_source(cairo, operation->pattern);
    cairo_paint_with_alpha(cairo, alpha);
}

static void add_stop(cairo_pattern_t *pattern, double location, const gesso_gradient_stop *stop, double alpha)
{
    cairo_pattern_add_color_stop_rgba(
        pattern, location, gesso_clamp01(stop->red), gesso_clamp01(stop->green), gesso_clamp01(stop->blue),
        gesso_clamp01(stop->alpha) * alpha);
}

static bool stops_are_valid(const gesso_gradient_stop *stops, size_t count)
{
    if (!stops || count == 0 || count > 256) return false;
    double last = 0;
    for (size_t i = 0; i < count; i++) {
        double location = stops[i].location;
        if (!gesso_is_finite4(stops[i].red, stops[i].green, stops[i].blue, stops[i].alpha)) return false;
        if (!(location >= last && location <= 1)) return false;
        last = location;
    }
    return true;
}

/* Takes the pattern over. */
static void draw_gradient(
    gesso_context *context, cairo_pattern_t *pattern, const gesso_gradient_stop *stops, size_t count,
    uint32_t options)
{
    /* Beyond its ends Cairo goes on with the outermost stop: a transparent one where nothing is to be drawn. */
    if (!(options & GESSO_GRADIENT_DRAWS_BEFORE_START)) add_stop(pattern, 0, &stops[0], 0);
    for (size_t i = 0; i < count; i++) {
        if (i == 0) add_stop(pattern, 0, &stops[0], 1);
        add_stop(pattern, stops[i].location, &stops[i], 1);
        if (i == count - 1) add_stop(pattern, 1, &stops[i], 1);
    }
    if (!(options & GESSO_GRADIENT_DRAWS_AFTER_END)) add_stop(pattern, 1, &stops[count - 1], 0);
    cairo_pattern_set_extend(pattern, CAIRO_EXTEND_PAD);
    gesso_context_fail(context, gesso_status_of_cairo(cairo_pattern_status(pattern)));
    if (context->status == GESSO_OK)
        gesso_draw(
            context,
            &(gesso_operation){
                .paint = paint_gradient, .flood = paint_gradient, .cover = gesso_cover_clip, .pattern = pattern},
            gesso_clip_box(context));
    cairo_pattern_destroy(pattern);
    gesso_check_cairo(context);
}

void gesso_context_draw_linear_gradient(
    gesso_context *context, const gesso_gradient_stop *stops, size_t count,
    double start_x, double start_y, double end_x, double end_y, uint32_t options)
{
    if (!gesso_require(context, stops_are_valid(stops, count) && gesso_is_finite4(start_x, start_y, end_x, end_y)))
        return;
    if (gesso_fast_linear_gradient(context, stops, count, start_x, start_y, end_x, end_y, options)) return;
    if (gesso_cairo(context))
        draw_gradient(
            context, cairo_pattern_create_linear(start_x, start_y, end_x, end_y), stops, count, options);
}

void gesso_context_draw_radial_gradient(
    gesso_context *context, const gesso_gradient_stop *stops, size_t count,
    double start_x, double start_y, double start_radius, double end_x, double end_y, double end_radius,
    uint32_t options)
{
    bool valid = stops_are_valid(stops, count) && gesso_is_finite4(start_x, start_y, end_x, end_y)
        && gesso_is_finite2(start_radius, end_radius) && start_radius >= 0 && end_radius >= 0;
    if (!gesso_require(context, valid)) return;
    if (gesso_fast_radial_gradient(
            context, stops, count, start_x, start_y, start_radius, end_x, end_y, end_radius, options))
        return;
    if (gesso_cairo(context))
        draw_gradient(
            context,
            cairo_pattern_create_radial(start_x, start_y, start_radius, end_x, end_y, end_radius), stops, count,
            options);
}

/* ---- Bitmaps ---- */

static cairo_filter_t filter_of(gesso_interpolation quality)
{
    switch (quality) {
    case GESSO_INTERPOLATION_NONE: return CAIRO_FILTER_NEAREST;
    case GESSO_INTERPOLATION_LOW: return CAIRO_FILTER_BILINEAR;
    case GESSO_INTERPOLATION_HIGH: return CAIRO_FILTER_BEST;
    default: return CAIRO_FILTER_GOOD;
    }
}

static void rectangle(cairo_t *cairo, const gesso_operation *operation)
{
    cairo_new_path(cairo);
    cairo_rectangle(
        cairo, operation->left, operation->top, operation->right - operation->left,
        operation->bottom - operation->top);
}

static bool is_mask(const gesso_operation *operation)
{
    return cairo_image_surface_get_format(operation->picture) == CAIRO_FORMAT_A8;
}

/* The picture as Cairo's source: on whole device pixels, or by a pattern that the transform turns or skews. */
static void set_picture(cairo_t *cairo, const gesso_operation *operation)
{
    if (operation->pattern) {
        cairo_set_source(cairo, operation->pattern);
        return;
    }
    cairo_set_source_surface(cairo, operation->picture, operation->x, operation->y);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
    /* Edges between pixels blend the outermost pixels, not what lies outside of the picture. */
    cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
}

/* A mask is the fill colour, where and as much as the picture has alpha. */
static void flood_mask(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    gesso_color color = operation->color;
    cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha * alpha);
    if (operation->pattern)
        cairo_mask(cairo, operation->pattern);
    else
        cairo_mask_surface(cairo, operation->picture, operation->x, operation->y);
}

/* Pictures on whole pixels are drawn in device space, others in that of the user. */
static void begin_picture(cairo_t *cairo, const gesso_operation *operation)
{
    cairo_save(cairo);
    if (!operation->pattern) cairo_identity_matrix(cairo);
}

static void flood_picture(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    begin_picture(cairo, operation);
    if (is_mask(operation)) {
        flood_mask(cairo, operation, alpha);
    } else {
        set_picture(cairo, operation);
        cairo_paint_with_alpha(cairo, alpha);
    }
    cairo_restore(cairo);
}

static void cover_picture(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    (void)alpha;
    begin_picture(cairo, operation);
    rectangle(cairo, operation);
    cairo_set_source_rgb(cairo, 0, 0, 0);
    cairo_fill(cairo);
    cairo_restore(cairo);
}

static void paint_picture(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    begin_picture(cairo, operation);
    rectangle(cairo, operation);
    if (alpha == 1 && !operation->pattern && !is_mask(operation)) {
        set_picture(cairo, operation);
        cairo_fill(cairo);
        cairo_restore(cairo);
        return;
    }
    cairo_clip(cairo);
    if (is_mask(operation)) {
        flood_mask(cairo, operation, alpha);
    } else {
        set_picture(cairo, operation);
        cairo_paint_with_alpha(cairo, alpha);
    }
    cairo_restore(cairo);
}

/* Resamples the source into a surface of whole pixels that covers `box`. Done relative to the picture's own corner
 * and not the target's, so that rounding, and with it each pixel, is the same wherever the picture is drawn. */
static cairo_surface_t *resample(
    gesso_context *context, cairo_surface_t *source, const gesso_bitmap *bitmap, gesso_box box,
    double left, double top, double right, double bottom)
{
    cairo_surface_t *result = cairo_image_surface_create(
        gesso_cairo_format(bitmap->format), box.x1 - box.x0, box.y1 - box.y0);
    cairo_t *cairo = cairo_create(result);
    cairo_pattern_t *pattern = cairo_pattern_create_for_surface(source);
    cairo_matrix_t matrix;
    double scale_x = bitmap->width / (right - left), scale_y = bitmap->height / (bottom - top);
    cairo_matrix_init(&matrix, scale_x, 0, 0, scale_y, (box.x0 - left) * scale_x, (box.y0 - top) * scale_y);
    cairo_pattern_set_matrix(pattern, &matrix);
    cairo_pattern_set_filter(pattern, filter_of(context->state.interpolation));
    cairo_pattern_set_extend(pattern, CAIRO_EXTEND_PAD);
    cairo_set_source(cairo, pattern);
    cairo_set_operator(cairo, CAIRO_OPERATOR_SOURCE);
    cairo_paint(cairo);
    gesso_context_fail(context, gesso_status_of_cairo(cairo_status(cairo)));
    cairo_pattern_destroy(pattern);
    cairo_destroy(cairo);
    return result;
}

bool gesso_shares_memory(const gesso_bitmap *a, const gesso_bitmap *b)
{
    return a->pixels < b->pixels + gesso_bitmap_byte_count(b) && b->pixels < a->pixels + gesso_bitmap_byte_count(a);
}

/* To 1/256 of a pixel, Cairo's own grid, so that sums of translations do not show as different fractions. */
static double on_grid(double value) { return nearbyint(value * 256) / 256; }

static void draw_upright(
    gesso_context *context, const gesso_bitmap *bitmap, cairo_surface_t *source, gesso_operation *operation)
{
    operation->left = on_grid(operation->left);
    operation->top = on_grid(operation->top);
    operation->right = on_grid(operation->right);
    operation->bottom = on_grid(operation->bottom);
    double width = operation->right - operation->left, height = operation->bottom - operation->top;
    if (!(width > 0 && height > 0)) return;
    gesso_box bounds = {
        (int)floor(operation->left), (int)floor(operation->top), (int)ceil(operation->right),
        (int)ceil(operation->bottom)};
    bool aligned = bounds.x0 == operation->left && bounds.y0 == operation->top
        && width == bitmap->width && height == bitmap->height;
    operation->x = bounds.x0;
    operation->y = bounds.y0;
    operation->picture = source;
    if (!aligned) {
        gesso_box box = bounds;
        int64_t columns = box.x1 - box.x0, rows = box.y1 - box.y0;
        /* A picture blown up far over the target is resampled only where it, or its shadow, shows. */
        if (columns * rows > 4 << 20 || columns > GESSO_CAIRO_LIMIT || rows > GESSO_CAIRO_LIMIT)
            box = gesso_box_intersect(box, gesso_visible_reach(context));
        if (gesso_box_is_empty(box)) return;
        operation->x = box.x0;
        operation->y = box.y0;
        operation->picture = resample(
            context, source, bitmap, box, operation->left, operation->top, operation->right, operation->bottom);
    }
    if (context->status == GESSO_OK) gesso_draw(context, operation, bounds);
    if (!aligned) cairo_surface_destroy(operation->picture);
}

static void draw_transformed(
    gesso_context *context, const gesso_bitmap *bitmap, cairo_surface_t *source, gesso_operation *operation)
{
    cairo_pattern_t *pattern = cairo_pattern_create_for_surface(source);
    cairo_matrix_t matrix;
    double scale_x = bitmap->width / (operation->right - operation->left);
    double scale_y = bitmap->height / (operation->bottom - operation->top);
    cairo_matrix_init(&matrix, scale_x, 0, 0, scale_y, -operation->left * scale_x, -operation->top * scale_y);
    cairo_pattern_set_matrix(pattern, &matrix);
    cairo_pattern_set_filter(pattern, filter_of(context->state.interpolation));
    cairo_pattern_set_extend(pattern, CAIRO_EXTEND_PAD);
    operation->picture = source;
    operation->pattern = pattern;
    gesso_context_fail(context, gesso_status_of_cairo(cairo_pattern_status(pattern)));
    if (context->status == GESSO_OK)
        gesso_draw(
            context, operation,
            gesso_device_box(
                &context->state, operation->left, operation->top, operation->right, operation->bottom));
    cairo_pattern_destroy(pattern);
}

void gesso_context_draw_bitmap(
    gesso_context *context, const gesso_bitmap *bitmap, double x, double y, double width, double height)
{
    if (!gesso_require(context, bitmap && gesso_is_finite4(x, y, width, height))) return;
    if (!gesso_require(context, !gesso_shares_memory(bitmap, context->bitmap))) return;
    if (width == 0 || height == 0) return;
    if (width < 0) x += width, width = -width;
    if (height < 0) y += height, height = -height;
    gesso_shape rectangle;
    if (gesso_shape_of_rect(context, x, y, width, height, &rectangle)
        && gesso_fast_bitmap(context, bitmap, &rectangle))
        return;
    gesso_bitmap *padded = NULL;
    gesso_status status = gesso_surface_check(bitmap);
    if (status == GESSO_UNSUPPORTED) {
        /* An odd stride, which Cairo does not take: a copy has a whole one. */
        status = gesso_bitmap_copy(bitmap, &padded);
        bitmap = padded;
    }
    if (status) {
        gesso_context_fail(context, status);
        return;
    }
    cairo_surface_t *source = gesso_cairo(context) ? gesso_surface_over(bitmap) : NULL;
    if (!source) {
        gesso_bitmap_release(padded);
        return;
    }
    gesso_context_fail(context, gesso_status_of_cairo(cairo_surface_status(source)));
    if (context->status == GESSO_OK) {
        cairo_path_t *path = gesso_path_set_aside(context->cairo);
        gesso_operation operation = {
            .paint = paint_picture, .flood = flood_picture, .cover = cover_picture, .color = context->state.fill,
            .left = x, .top = y, .right = x + width, .bottom = y + height};
        cairo_matrix_t m = context->state.matrix;
        bool upright = m.xy == 0 && m.yx == 0 && m.xx > 0 && m.yy > 0;
        double left = x * m.xx + m.x0, top = y * m.yy + m.y0;
        double right = (x + width) * m.xx + m.x0, bottom = (y + height) * m.yy + m.y0;
        /* Whole pixels as int, and fractions of 1/256 exact; what is larger goes Cairo's way. */
        double reach = fmax(fmax(fabs(left), fabs(right)), fmax(fabs(top), fabs(bottom)));
        if (upright && gesso_is_finite4(left, top, right, bottom) && reach < 1e6) {
            operation.left = left, operation.top = top, operation.right = right, operation.bottom = bottom;
            draw_upright(context, bitmap, source, &operation);
        } else if (gesso_in_reach(context, x, y, x + width, y + height)) {
            draw_transformed(context, bitmap, source, &operation);
        }
        gesso_path_put_back(context, path);
    }
    cairo_surface_destroy(source);
    gesso_bitmap_release(padded);
    gesso_check_cairo(context);
}

/* ---- Others ---- */

static void paint_callback(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    gesso_color color = operation->color;
    cairo_save(cairo);
    cairo_new_path(cairo);
    cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha * alpha);
    operation->draw(cairo, operation->user_data);
    cairo_restore(cairo);
    cairo_new_path(cairo);
}

static void cover_callback(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    (void)alpha;
    gesso_operation opaque = *operation;
    opaque.color.alpha = 1;
    paint_callback(cairo, &opaque, 1);
}

void gesso_context_paint(
    gesso_context *context, double x, double y, double width, double height,
    gesso_paint_function draw, void *user_data)
{
    if (!gesso_require(context, draw && gesso_is_finite4(x, y, width, height)) || !gesso_cairo(context)) return;
    cairo_path_t *path = gesso_path_set_aside(context->cairo);
    gesso_operation operation = {
        .paint = paint_callback, .flood = paint_callback, .cover = cover_callback, .color = context->state.fill, .draw = draw, .user_data = user_data};
    gesso_draw(context, &operation, gesso_device_box(&context->state, x, y, x + width, y + height));
    gesso_path_put_back(context, path);
    gesso_check_cairo(context);
}

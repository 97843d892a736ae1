/* How an operation reaches the target: blend modes, shadows and transparency layers. */
#include "context_internal.h"

static const struct {
    cairo_operator_t operator;
    bool unbounded; /* Cairo clears all of the clip that the shape does not cover */
} operators[] = {
    [GESSO_BLEND_NORMAL] = {CAIRO_OPERATOR_OVER, false},
    [GESSO_BLEND_MULTIPLY] = {CAIRO_OPERATOR_MULTIPLY, false},
    [GESSO_BLEND_SCREEN] = {CAIRO_OPERATOR_SCREEN, false},
    [GESSO_BLEND_OVERLAY] = {CAIRO_OPERATOR_OVERLAY, false},
    [GESSO_BLEND_DARKEN] = {CAIRO_OPERATOR_DARKEN, false},
    [GESSO_BLEND_LIGHTEN] = {CAIRO_OPERATOR_LIGHTEN, false},
    [GESSO_BLEND_COLOR_DODGE] = {CAIRO_OPERATOR_COLOR_DODGE, false},
    [GESSO_BLEND_COLOR_BURN] = {CAIRO_OPERATOR_COLOR_BURN, false},
    [GESSO_BLEND_SOFT_LIGHT] = {CAIRO_OPERATOR_SOFT_LIGHT, false},
    [GESSO_BLEND_HARD_LIGHT] = {CAIRO_OPERATOR_HARD_LIGHT, false},
    [GESSO_BLEND_DIFFERENCE] = {CAIRO_OPERATOR_DIFFERENCE, false},
    [GESSO_BLEND_EXCLUSION] = {CAIRO_OPERATOR_EXCLUSION, false},
    [GESSO_BLEND_HUE] = {CAIRO_OPERATOR_HSL_HUE, false},
    [GESSO_BLEND_SATURATION] = {CAIRO_OPERATOR_HSL_SATURATION, false},
    [GESSO_BLEND_COLOR] = {CAIRO_OPERATOR_HSL_COLOR, false},
    [GESSO_BLEND_LUMINOSITY] = {CAIRO_OPERATOR_HSL_LUMINOSITY, false},
    [GESSO_BLEND_CLEAR] = {CAIRO_OPERATOR_CLEAR, false},
    [GESSO_BLEND_COPY] = {CAIRO_OPERATOR_SOURCE, false},
    [GESSO_BLEND_SOURCE_IN] = {CAIRO_OPERATOR_IN, true},
    [GESSO_BLEND_SOURCE_OUT] = {CAIRO_OPERATOR_OUT, true},
    [GESSO_BLEND_SOURCE_ATOP] = {CAIRO_OPERATOR_ATOP, false},
    [GESSO_BLEND_DESTINATION_OVER] = {CAIRO_OPERATOR_DEST_OVER, false},
    [GESSO_BLEND_DESTINATION_IN] = {CAIRO_OPERATOR_DEST_IN, true},
    [GESSO_BLEND_DESTINATION_OUT] = {CAIRO_OPERATOR_DEST_OUT, false},
    [GESSO_BLEND_DESTINATION_ATOP] = {CAIRO_OPERATOR_DEST_ATOP, true},
    [GESSO_BLEND_XOR] = {CAIRO_OPERATOR_XOR, false},
    [GESSO_BLEND_PLUS_LIGHTER] = {CAIRO_OPERATOR_ADD, false},
};

static int to_pixel(double value)
{
    /* Far outside of any surface, and far inside of what sums of a few may not overflow. */
    return (int)fmax(-1e8, fmin(1e8, value));
}

gesso_box gesso_device_box(const gesso_state *state, double x0, double y0, double x1, double y1)
{
    double xs[4] = {x0, x1, x0, x1}, ys[4] = {y0, y0, y1, y1};
    for (int i = 0; i < 4; i++) cairo_matrix_transform_point(&state->matrix, &xs[i], &ys[i]);
    return (gesso_box){
        to_pixel(floor(fmin(fmin(xs[0], xs[1]), fmin(xs[2], xs[3])))),
        to_pixel(floor(fmin(fmin(ys[0], ys[1]), fmin(ys[2], ys[3])))),
        to_pixel(ceil(fmax(fmax(xs[0], xs[1]), fmax(xs[2], xs[3])))),
        to_pixel(ceil(fmax(fmax(ys[0], ys[1]), fmax(ys[2], ys[3]))))};
}

cairo_t *gesso_plane_create(
    gesso_context *context, cairo_format_t format, gesso_box box, double shift_x, double shift_y)
{
    cairo_surface_t *surface = cairo_image_surface_create(format, box.x1 - box.x0, box.y1 - box.y0);
    cairo_t *plane = cairo_create(surface);
    cairo_surface_destroy(surface);
    gesso_context_fail(context, gesso_status_of_cairo(cairo_status(plane)));
    if (context->status) {
        cairo_destroy(plane);
        return NULL;
    }
    /* A device offset keeps device coordinates those of the target, for operations that go by them. */
    cairo_surface_set_device_offset(surface, shift_x - box.x0, shift_y - box.y0);
    cairo_set_matrix(plane, &context->state.matrix);
    cairo_set_antialias(plane, cairo_get_antialias(context->cairo));
    return plane;
}

void gesso_plane_paint(
    cairo_t *plane, const gesso_operation *operation, gesso_operation_function function, double alpha)
{
    if (operation->path) cairo_append_path(plane, operation->path);
    function(plane, operation, alpha);
}

/* Blends all of the source onto a copy of what is there, and puts the copy back as far as the shape covers. */
static void blend_within_shape(
    gesso_context *context, const gesso_operation *operation, gesso_box bounds, cairo_operator_t operator)
{
    gesso_box box = gesso_box_intersect(gesso_box_outset(bounds, 1), gesso_clip_box(context));
    if (gesso_box_is_empty(box)) return;
    cairo_t *blended = gesso_plane_create(context, CAIRO_FORMAT_ARGB32, box, 0, 0);
    cairo_t *source = blended ? gesso_plane_create(context, CAIRO_FORMAT_ARGB32, box, 0, 0) : NULL;
    cairo_t *coverage = source ? gesso_plane_create(context, CAIRO_FORMAT_A8, box, 0, 0) : NULL;
    if (coverage) {
        cairo_identity_matrix(blended);
        cairo_set_operator(blended, CAIRO_OPERATOR_SOURCE);
        cairo_set_source_surface(blended, cairo_get_group_target(context->cairo), 0, 0);
        cairo_paint(blended);
        gesso_plane_paint(source, operation, operation->flood, context->state.alpha);
        cairo_set_operator(blended, operator);
        cairo_set_source_surface(blended, cairo_get_target(source), 0, 0);
        cairo_paint(blended);
        gesso_plane_paint(coverage, operation, operation->cover, 1);

        cairo_t *cairo = context->cairo;
        cairo_matrix_t matrix;
        cairo_get_matrix(cairo, &matrix);
        cairo_identity_matrix(cairo);
        cairo_set_operator(cairo, CAIRO_OPERATOR_SOURCE);
        cairo_set_source_surface(cairo, cairo_get_target(blended), 0, 0);
        cairo_mask_surface(cairo, cairo_get_target(coverage), 0, 0);
        cairo_set_operator(cairo, CAIRO_OPERATOR_OVER);
        cairo_set_matrix(cairo, &matrix);
        gesso_context_fail(context, gesso_status_of_cairo(cairo_status(source)));
        gesso_context_fail(context, gesso_status_of_cairo(cairo_status(blended)));
        gesso_context_fail(context, gesso_status_of_cairo(cairo_status(coverage)));
    }
    if (coverage) cairo_destroy(coverage);
    if (source) cairo_destroy(source);
    if (blended) cairo_destroy(blended);
}

void gesso_blend(gesso_context *context, const gesso_operation *operation, gesso_box bounds)
{
    cairo_operator_t operator = operators[context->state.blend].operator;
    /* Where the source's alpha says how much is replaced, Cairo takes that of a picture for its shape. */
    bool replaces = operator == CAIRO_OPERATOR_SOURCE || operator == CAIRO_OPERATOR_CLEAR;
    bool is_picture = operation->picture || operation->pattern;
    if (operators[context->state.blend].unbounded || (replaces && is_picture)) {
        blend_within_shape(context, operation, bounds, operator);
        return;
    }
    cairo_set_operator(context->cairo, operator);
    operation->paint(context->cairo, operation, context->state.alpha);
    cairo_set_operator(context->cairo, CAIRO_OPERATOR_OVER);
}

void gesso_draw(gesso_context *context, const gesso_operation *operation, gesso_box bounds)
{
    if (context->state.shadow.color.alpha > 0) gesso_draw_shadow(context, operation, bounds);
    if (context->status == GESSO_OK) gesso_blend(context, operation, bounds);
}

/* ---- Shadows ---- */

static int spread_of(const gesso_shadow *shadow) { return gesso_blur_reach(shadow->sigma); }

static gesso_box moved(gesso_box box, int x, int y)
{
    return (gesso_box){box.x0 + x, box.y0 + y, box.x1 + x, box.y1 + y};
}

/* Where a shape has to be for its shadow to show in `region`: the shadow moves by whole pixels and a fraction. */
static gesso_box reach_of_shadow(const gesso_shadow *shadow, gesso_box region)
{
    gesso_box reach = moved(region, -to_pixel(floor(shadow->offset_x)), -to_pixel(floor(shadow->offset_y)));
    return gesso_box_outset(reach, spread_of(shadow) + 1);
}

gesso_box gesso_visible_reach(gesso_context *context)
{
    gesso_box clip = gesso_clip_box(context);
    if (context->state.shadow.color.alpha == 0) return clip;
    gesso_box reach = reach_of_shadow(&context->state.shadow, clip);
    return (gesso_box){
        clip.x0 < reach.x0 ? clip.x0 : reach.x0, clip.y0 < reach.y0 ? clip.y0 : reach.y0,
        clip.x1 > reach.x1 ? clip.x1 : reach.x1, clip.y1 > reach.y1 ? clip.y1 : reach.y1};
}

static void mask(cairo_t *cairo, const gesso_operation *operation, gesso_color color)
{
    cairo_matrix_t matrix;
    cairo_get_matrix(cairo, &matrix);
    cairo_identity_matrix(cairo);
    cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha);
    cairo_mask_surface(cairo, operation->picture, operation->x, operation->y);
    cairo_set_matrix(cairo, &matrix);
}

/* The blurred shape is an operation of its own, so that blend modes see it like any other. */
static void paint_shadow(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    (void)alpha; /* the mask holds it */
    mask(cairo, operation, operation->color);
}

static void flood_shadow(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    (void)alpha;
    gesso_color color = operation->color;
    cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha);
    cairo_paint(cairo);
}

static void cover_shadow(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    (void)alpha;
    mask(cairo, operation, (gesso_color){0, 0, 0, 1});
}

/* The part of an A8 surface from (x, y) on; takes the surface over. Null: out of memory. */
static cairo_surface_t *cropped(cairo_surface_t *surface, int x, int y, int width, int height)
{
    cairo_surface_t *part = cairo_image_surface_create(CAIRO_FORMAT_A8, width, height);
    if (cairo_surface_status(part) == CAIRO_STATUS_SUCCESS) {
        for (int row = 0; row < height; row++)
            memcpy(
                cairo_image_surface_get_data(part) + (ptrdiff_t)row * cairo_image_surface_get_stride(part),
                cairo_image_surface_get_data(surface) + (ptrdiff_t)(y + row) * cairo_image_surface_get_stride(surface)
                    + x,
                (size_t)width);
        cairo_surface_mark_dirty(part);
    }
    cairo_surface_destroy(surface);
    return part;
}

/* Draws the shadow as far as it shows in `region`. */
static void draw_shadow_in(
    gesso_context *context, const gesso_operation *operation, gesso_box bounds, gesso_box region)
{
    const gesso_shadow *shadow = &context->state.shadow;
    int offset_x = to_pixel(floor(shadow->offset_x)), offset_y = to_pixel(floor(shadow->offset_y));
    gesso_box reach = reach_of_shadow(shadow, region);
    /* The shape, with room for its blur and the fraction of the offset, but not beyond what can be seen. */
    gesso_box box = gesso_box_intersect(gesso_box_outset(bounds, 1), reach);
    if (gesso_box_is_empty(box)) return;
    box = gesso_box_intersect(gesso_box_outset(box, spread_of(shadow) + 1), reach);
    cairo_t *plane = gesso_plane_create(
        context, CAIRO_FORMAT_A8, box, shadow->offset_x - offset_x, shadow->offset_y - offset_y);
    if (!plane) return;
    gesso_plane_paint(plane, operation, operation->paint, context->state.alpha);
    cairo_surface_t *surface = cairo_surface_reference(cairo_get_target(plane));
    gesso_context_fail(context, gesso_status_of_cairo(cairo_status(plane)));
    cairo_destroy(plane);
    cairo_surface_flush(surface);
    gesso_context_fail(
        context, gesso_blur_a8(
            cairo_image_surface_get_data(surface), cairo_image_surface_get_width(surface),
            cairo_image_surface_get_height(surface), cairo_image_surface_get_stride(surface), shadow->sigma));
    cairo_surface_mark_dirty(surface);
    cairo_surface_set_device_offset(surface, 0, 0);
    box = moved(box, offset_x, offset_y);
    gesso_box shown = gesso_box_intersect(box, region);
    if (context->status == GESSO_OK && !gesso_box_is_empty(shown)) {
        /* Only what shows: what reaches beyond a surface of the largest size, pixman does not draw at all. */
        surface = cropped(
            surface, shown.x0 - box.x0, shown.y0 - box.y0, shown.x1 - shown.x0, shown.y1 - shown.y0);
        gesso_context_fail(context, gesso_status_of_cairo(cairo_surface_status(surface)));
        gesso_operation blurred = {
            .paint = paint_shadow, .flood = flood_shadow, .cover = cover_shadow, .color = shadow->color,
            .picture = surface, .x = shown.x0, .y = shown.y0};
        if (context->status == GESSO_OK) gesso_blend(context, &blurred, shown);
    }
    cairo_surface_destroy(surface);
}

void gesso_draw_shadow(gesso_context *context, const gesso_operation *operation, gesso_box bounds)
{
    /* In tiles of the clip, so that a plane with room for the blur is never over what Cairo's surfaces can be. */
    enum { TILE = 16384 };
    gesso_box clip = gesso_clip_box(context);
    bool is_tiled = clip.x1 - clip.x0 > TILE || clip.y1 - clip.y0 > TILE;
    for (int y = clip.y0; y < clip.y1; y += TILE)
        for (int x = clip.x0; x < clip.x1 && context->status == GESSO_OK; x += TILE) {
            gesso_box tile = gesso_box_intersect((gesso_box){x, y, x + TILE, y + TILE}, clip);
            if (is_tiled) {
                cairo_path_t *path = gesso_path_set_aside(context->cairo);
                cairo_save(context->cairo);
                cairo_identity_matrix(context->cairo);
                cairo_rectangle(context->cairo, tile.x0, tile.y0, tile.x1 - tile.x0, tile.y1 - tile.y0);
                cairo_clip(context->cairo);
                cairo_set_matrix(context->cairo, &context->state.matrix);
                draw_shadow_in(context, operation, bounds, tile);
                cairo_restore(context->cairo);
                gesso_path_put_back(context, path);
            } else {
                draw_shadow_in(context, operation, bounds, tile);
            }
        }
}

/* ---- Layers ---- */

void gesso_context_begin_transparency_layer(gesso_context *context)
{
    if (!gesso_can_draw(context) || !gesso_cairo(context) || !gesso_push_state(context, true)) return;
    context->state.alpha = 1;
    context->state.blend = GESSO_BLEND_NORMAL;
    context->state.shadow = (gesso_shadow){0};
    cairo_push_group(context->cairo);
    context->layers++;
    gesso_check_cairo(context);
}

static void paint_layer(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    cairo_set_source(cairo, operation->pattern);
    cairo_paint_with_alpha(cairo, alpha);
}

void gesso_cover_clip(cairo_t *cairo, const gesso_operation *operation, double alpha)
{
    (void)operation, (void)alpha;
    cairo_set_source_rgb(cairo, 0, 0, 0);
    cairo_paint(cairo);
}

void gesso_context_end_transparency_layer(gesso_context *context)
{
    if (!gesso_can_draw(context) || !gesso_pop_state(context, true)) return;
    cairo_t *cairo = context->cairo;
    cairo_set_matrix(cairo, &context->state.matrix);
    cairo_pattern_t *layer = cairo_pop_group(cairo);
    context->layers--;
    context->clip_applied = UINT64_MAX; /* as it was at the beginning, which is not told */
    gesso_check_cairo(context);
    if (context->status == GESSO_OK && gesso_cairo(context))
        gesso_draw(
            context,
            &(gesso_operation){
                .paint = paint_layer, .flood = paint_layer, .cover = gesso_cover_clip, .pattern = layer},
            gesso_clip_box(context));
    cairo_pattern_destroy(layer);
    gesso_check_cairo(context);
}

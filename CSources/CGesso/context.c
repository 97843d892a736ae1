/* Life and state of a drawing context. */
#include "context_internal.h"

static gesso_status begin(gesso_context **result, gesso_bitmap *bitmap, bool owns_bitmap)
{
    /* A scale so large or small that its inverse is not a number. */
    if (!isfinite(1 / bitmap->scale / bitmap->scale) || !isfinite(bitmap->scale * bitmap->scale))
        return GESSO_INVALID_ARGUMENT;
    gesso_context *context = malloc(sizeof *context);
    if (!context) return GESSO_OUT_OF_MEMORY;
    *context = (gesso_context){.bitmap = bitmap, .owns_bitmap = owns_bitmap};
    gesso_state *state = &context->state;
    cairo_matrix_init_scale(&state->matrix, bitmap->scale, bitmap->scale);
    state->fill.alpha = state->stroke.alpha = state->alpha = 1;
    state->line_width = 1;
    state->miter_limit = 10;
    state->antialias = true;
    state->interpolation = GESSO_INTERPOLATION_MEDIUM;
    *result = context;
    return GESSO_OK;
}

gesso_status gesso_context_create(
    gesso_context **context, uint32_t width, uint32_t height, const gesso_context_options *options)
{
    if (!context || (options && options->struct_size < sizeof *options)) return GESSO_INVALID_ARGUMENT;
    gesso_format format = options && options->format ? options->format : GESSO_FORMAT_ARGB32;
    double scale = options && options->scale != 0 ? options->scale : 1;
    if (width > GESSO_CAIRO_LIMIT || height > GESSO_CAIRO_LIMIT) return GESSO_TOO_LARGE;
    static const double clear[4];
    const double *background = options ? options->background : clear;
    if (!gesso_is_finite4(background[0], background[1], background[2], background[3])) return GESSO_INVALID_ARGUMENT;
    bool fills = format == GESSO_FORMAT_XRGB32 || background[3] > 0;
    gesso_bitmap *bitmap;
    gesso_status status = fills && format != GESSO_FORMAT_A8
        ? gesso_bitmap_create_uninitialized(width, height, format, scale, &bitmap)
        : gesso_bitmap_create(width, height, format, scale, &bitmap);
    if (status) return status;
    if (fills) gesso_fill(bitmap, 0, 0, width, height, background[0], background[1], background[2], background[3]);
    status = begin(context, bitmap, true);
    if (status) gesso_bitmap_release(bitmap);
    return status;
}

gesso_status gesso_context_create_for_bitmap(gesso_context **context, gesso_bitmap *bitmap)
{
    if (!context || !bitmap) return GESSO_INVALID_ARGUMENT;
    if (gesso_bitmap_is_frozen(bitmap)) return GESSO_FROZEN;
    gesso_status status = gesso_surface_check(bitmap);
    if (status) return status;
    status = begin(context, gesso_bitmap_retain(bitmap), false);
    if (status) gesso_bitmap_release(bitmap);
    return status;
}

/* Cairo leaves the unused byte of an opaque pixel as it falls; pictures that are equal shall have equal bytes. */
static void make_opaque(gesso_bitmap *bitmap)
{
    for (uint32_t y = 0; y < bitmap->height; y++) {
        uint32_t *row = (uint32_t *)(bitmap->pixels + (ptrdiff_t)y * bitmap->stride);
        for (uint32_t x = 0; x < bitmap->width; x++) row[x] |= 0xff000000;
    }
}

static void destroy(gesso_context *context)
{
    if (context->cairo) {
        cairo_destroy(context->cairo);
        cairo_surface_finish(context->surface);
        cairo_surface_destroy(context->surface);
    }
    gesso_bitmap_release(context->bitmap);
    gesso_clip_release(context->state.clip);
    for (size_t i = 0; i < context->saved_count; i++) gesso_clip_release(context->saved[i].clip);
    free(context->saved);
    free(context);
}

gesso_status gesso_context_finish(gesso_context *context, gesso_bitmap **bitmap)
{
    if (!context) return GESSO_INVALID_ARGUMENT;
    if (context->layers) gesso_context_fail(context, GESSO_INVALID_STATE);
    if (context->cairo) {
        gesso_check_cairo(context);
        cairo_surface_flush(context->surface);
    }
    /* Kernels keep the byte of pixels that have it. */
    if ((context->cairo || !context->owns_bitmap) && context->bitmap->format == GESSO_FORMAT_XRGB32
        && !gesso_bitmap_is_frozen(context->bitmap))
        make_opaque(context->bitmap);
    gesso_status status = context->status;
    if (!status && bitmap) {
        if (context->owns_bitmap) gesso_bitmap_freeze(context->bitmap);
        *bitmap = gesso_bitmap_retain(context->bitmap);
    }
    destroy(context);
    return status;
}

void gesso_context_release(gesso_context *context)
{
    if (context) destroy(context);
}

gesso_status gesso_context_status(const gesso_context *context)
{
    return context ? context->status : GESSO_INVALID_ARGUMENT;
}

void gesso_context_fail(gesso_context *context, gesso_status status)
{
    if (context && context->status == GESSO_OK) context->status = status;
}

bool gesso_can_draw(gesso_context *context)
{
    if (!context || context->status) return false;
    if (!gesso_bitmap_is_frozen(context->bitmap)) return true;
    context->status = GESSO_FROZEN;
    return false;
}

bool gesso_require(gesso_context *context, bool valid)
{
    if (!gesso_can_draw(context)) return false;
    if (!valid) gesso_context_fail(context, GESSO_INVALID_ARGUMENT);
    return valid;
}

void gesso_check_cairo(gesso_context *context)
{
    if (context->cairo) gesso_context_fail(context, gesso_status_of_cairo(cairo_status(context->cairo)));
}

void gesso_style_lines(cairo_t *cairo, const gesso_state *state)
{
    cairo_set_line_width(cairo, state->line_width);
    cairo_set_line_cap(cairo, state->cap);
    cairo_set_line_join(cairo, state->join);
    cairo_set_miter_limit(cairo, state->miter_limit);
    cairo_set_dash(cairo, state->dashes, state->dash_count, state->dash_phase);
}

cairo_t *gesso_cairo(gesso_context *context)
{
    if (!context->cairo) {
        context->surface = gesso_surface_over(context->bitmap);
        context->cairo = cairo_create(context->surface);
    }
    cairo_t *cairo = context->cairo;
    const gesso_state *state = &context->state;
    if (context->layers == 0) cairo_surface_mark_dirty(context->surface); /* kernels have drawn, perhaps */
    uint64_t number = state->clip ? state->clip->number : 0;
    if (number != context->clip_applied || context->has_shape) {
        cairo_identity_matrix(cairo);
        if (number != context->clip_applied) gesso_clip_apply(cairo, state->clip);
        context->clip_applied = number;
        if (context->has_shape) gesso_shape_add(cairo, &context->shape);
        context->has_shape = false;
    }
    cairo_set_matrix(cairo, &state->matrix);
    cairo_set_antialias(cairo, state->antialias ? CAIRO_ANTIALIAS_DEFAULT : CAIRO_ANTIALIAS_NONE);
    gesso_style_lines(cairo, state);
    gesso_check_cairo(context);
    return context->status ? NULL : cairo;
}

cairo_t *gesso_context_cairo(gesso_context *context) { return gesso_can_draw(context) ? gesso_cairo(context) : NULL; }

uint32_t gesso_context_width(const gesso_context *context) { return context ? context->bitmap->width : 0; }
uint32_t gesso_context_height(const gesso_context *context) { return context ? context->bitmap->height : 0; }
double gesso_context_scale(const gesso_context *context) { return context ? context->bitmap->scale : 0; }

bool gesso_push_state(gesso_context *context, bool is_layer)
{
    if (context->saved_count == context->saved_capacity) {
        size_t capacity = context->saved_capacity ? 2 * context->saved_capacity : 8;
        gesso_state *saved = realloc(context->saved, capacity * sizeof *saved);
        if (!saved) {
            gesso_context_fail(context, GESSO_OUT_OF_MEMORY);
            return false;
        }
        context->saved = saved;
        context->saved_capacity = capacity;
    }
    gesso_state *entry = &context->saved[context->saved_count++];
    *entry = context->state;
    entry->is_layer = is_layer;
    gesso_clip_retain(entry->clip);
    return true;
}

bool gesso_pop_state(gesso_context *context, bool is_layer)
{
    if (context->saved_count == 0 || context->saved[context->saved_count - 1].is_layer != is_layer) {
        gesso_context_fail(context, GESSO_INVALID_STATE);
        return false;
    }
    gesso_clip_release(context->state.clip);
    context->state = context->saved[--context->saved_count];
    return true;
}

void gesso_context_save(gesso_context *context)
{
    if (gesso_can_draw(context)) gesso_push_state(context, false);
}

void gesso_context_restore(gesso_context *context)
{
    if (gesso_can_draw(context)) gesso_pop_state(context, false);
}

/* Applies `first` before the present transform. Sums and products of finite numbers may not be finite any more, and a
 * transform that cannot be undone is none. */
static void transform(gesso_context *context, cairo_matrix_t first)
{
    cairo_matrix_t m, *present = &context->state.matrix;
    cairo_matrix_multiply(&m, &first, present);
    double determinant = m.xx * m.yy - m.xy * m.yx;
    bool valid = gesso_is_finite4(m.xx, m.yx, m.xy, m.yy) && gesso_is_finite2(m.x0, m.y0) && isfinite(determinant)
        && determinant != 0 && isfinite(1 / determinant);
    if (gesso_require(context, valid)) *present = m;
}

void gesso_context_translate(gesso_context *context, double x, double y)
{
    if (gesso_require(context, gesso_is_finite2(x, y)))
        transform(context, (cairo_matrix_t){.xx = 1, .yy = 1, .x0 = x, .y0 = y});
}

void gesso_context_scale_by(gesso_context *context, double x, double y)
{
    if (gesso_require(context, gesso_is_finite2(x, y))) transform(context, (cairo_matrix_t){.xx = x, .yy = y});
}

void gesso_context_rotate(gesso_context *context, double radians)
{
    if (!gesso_require(context, isfinite(radians))) return;
    double c = cos(radians), s = sin(radians);
    transform(context, (cairo_matrix_t){.xx = c, .yx = s, .xy = -s, .yy = c});
}

void gesso_context_concatenate(gesso_context *context, gesso_transform t)
{
    if (gesso_require(context, gesso_is_finite4(t.a, t.b, t.c, t.d) && gesso_is_finite2(t.tx, t.ty)))
        transform(
            context, (cairo_matrix_t){.xx = t.a, .yx = t.b, .xy = t.c, .yy = t.d, .x0 = t.tx, .y0 = t.ty});
}

gesso_transform gesso_context_transform(const gesso_context *context)
{
    if (!context) return (gesso_transform){.a = 1, .d = 1};
    const cairo_matrix_t *m = &context->state.matrix;
    return (gesso_transform){.a = m->xx, .b = m->yx, .c = m->xy, .d = m->yy, .tx = m->x0, .ty = m->y0};
}

static gesso_color color(double red, double green, double blue, double alpha)
{
    return (gesso_color){gesso_clamp01(red), gesso_clamp01(green), gesso_clamp01(blue), gesso_clamp01(alpha)};
}

void gesso_context_set_fill_color(gesso_context *context, double red, double green, double blue, double alpha)
{
    if (gesso_require(context, gesso_is_finite4(red, green, blue, alpha)))
        context->state.fill = color(red, green, blue, alpha);
}

void gesso_context_set_stroke_color(gesso_context *context, double red, double green, double blue, double alpha)
{
    if (gesso_require(context, gesso_is_finite4(red, green, blue, alpha)))
        context->state.stroke = color(red, green, blue, alpha);
}

void gesso_context_set_line_width(gesso_context *context, double points)
{
    if (gesso_require(context, isfinite(points) && points >= 0)) context->state.line_width = points;
}

void gesso_context_set_line_cap(gesso_context *context, gesso_line_cap cap)
{
    static const cairo_line_cap_t caps[] = {CAIRO_LINE_CAP_BUTT, CAIRO_LINE_CAP_ROUND, CAIRO_LINE_CAP_SQUARE};
    if (gesso_require(context, (unsigned)cap < 3)) context->state.cap = caps[cap];
}

void gesso_context_set_line_join(gesso_context *context, gesso_line_join join)
{
    static const cairo_line_join_t joins[] = {CAIRO_LINE_JOIN_MITER, CAIRO_LINE_JOIN_ROUND, CAIRO_LINE_JOIN_BEVEL};
    if (gesso_require(context, (unsigned)join < 3)) context->state.join = joins[join];
}

void gesso_context_set_miter_limit(gesso_context *context, double limit)
{
    if (gesso_require(context, isfinite(limit) && limit >= 1)) context->state.miter_limit = limit;
}

void gesso_context_set_line_dash(gesso_context *context, double phase, const double *lengths, size_t count)
{
    if (!gesso_require(context, isfinite(phase) && count <= 64 && (lengths || count == 0))) return;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!gesso_require(context, isfinite(lengths[i]) && lengths[i] >= 0)) return;
        sum += lengths[i];
    }
    if (!gesso_require(context, count == 0 || (sum > 0 && isfinite(sum)))) return;
    for (size_t i = 0; i < count; i++) context->state.dashes[i] = lengths[i];
    context->state.dash_count = (int)count;
    context->state.dash_phase = phase;
}

void gesso_context_set_alpha(gesso_context *context, double alpha)
{
    if (gesso_require(context, isfinite(alpha))) context->state.alpha = gesso_clamp01(alpha);
}

void gesso_context_set_blend_mode(gesso_context *context, gesso_blend_mode mode)
{
    if (gesso_require(context, (unsigned)mode <= GESSO_BLEND_PLUS_LIGHTER)) context->state.blend = mode;
}

void gesso_context_set_interpolation(gesso_context *context, gesso_interpolation quality)
{
    if (gesso_require(context, (unsigned)quality <= GESSO_INTERPOLATION_HIGH)) context->state.interpolation = quality;
}

void gesso_context_set_antialias(gesso_context *context, bool antialias)
{
    if (gesso_can_draw(context)) context->state.antialias = antialias;
}

void gesso_context_set_shadow(
    gesso_context *context, double offset_x, double offset_y, double blur,
    double red, double green, double blue, double alpha)
{
    if (!gesso_require(context, gesso_is_finite4(red, green, blue, alpha))) return;
    double scale = context->bitmap->scale;
    if (!gesso_require(
            context, gesso_is_finite2(offset_x, offset_y) && isfinite(blur) && blur >= 0 && blur * scale <= 1000))
        return;
    context->state.shadow = (gesso_shadow){
        offset_x * scale, offset_y * scale, blur * scale / 2, color(red, green, blue, alpha)};
}

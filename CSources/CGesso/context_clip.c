/* Clips: chains of shapes and paths that are shared between states. */
#include "context_internal.h"

gesso_clip *gesso_clip_retain(gesso_clip *clip)
{
    if (clip) clip->references++; /* of one context, which one thread uses */
    return clip;
}

void gesso_clip_release(gesso_clip *clip)
{
    while (clip && --clip->references == 0) {
        gesso_clip *parent = clip->parent;
        if (clip->path) cairo_path_destroy(clip->path);
        free(clip);
        clip = parent;
    }
}

gesso_box gesso_clip_box(const gesso_context *context)
{
    if (context->state.clip) return context->state.clip->box;
    return (gesso_box){0, 0, (int)context->bitmap->width, (int)context->bitmap->height};
}

/* A new innermost clip, all of whose inside is in `box`. Null after failing. */
static gesso_clip *push(gesso_context *context, gesso_box box)
{
    gesso_clip *clip = calloc(1, sizeof *clip);
    if (!clip) {
        gesso_context_fail(context, GESSO_OUT_OF_MEMORY);
        return NULL;
    }
    clip->references = 1;
    clip->number = ++context->clip_count;
    clip->antialias = context->state.antialias;
    clip->box = gesso_box_intersect(gesso_clip_box(context), box);
    clip->parent = context->state.clip; /* whose reference it takes over */
    context->state.clip = clip;
    return clip;
}

void gesso_clip_to_shape(gesso_context *context, const gesso_shape *shape)
{
    gesso_box box = {shape->x0 >> 8, shape->y0 >> 8, (shape->x1 + 255) >> 8, (shape->y1 + 255) >> 8};
    gesso_clip *clip = push(context, box);
    if (!clip || gesso_shape_is_aligned(shape)) return;
    clip->has_shape = true;
    clip->shape = *shape;
}

void gesso_clip_to_path(gesso_context *context, cairo_path_t *path, gesso_fill_rule rule, gesso_box box)
{
    gesso_clip *clip = push(context, box);
    if (!clip) {
        cairo_path_destroy(path);
        return;
    }
    clip->path = path;
    clip->rule = rule;
}

void gesso_clip_apply(cairo_t *cairo, const gesso_clip *clip)
{
    cairo_matrix_t matrix;
    cairo_get_matrix(cairo, &matrix);
    cairo_identity_matrix(cairo);
    cairo_path_t *path = gesso_path_set_aside(cairo);
    cairo_reset_clip(cairo);
    if (clip) {
        /* The box holds all that are aligned; the others' order does not matter. */
        gesso_box box = clip->box;
        cairo_rectangle(cairo, box.x0, box.y0, fmax(0, box.x1 - box.x0), fmax(0, box.y1 - box.y0));
        cairo_clip(cairo);
    }
    for (; clip; clip = clip->parent) {
        if (!clip->path && !clip->has_shape) continue;
        cairo_set_antialias(cairo, clip->antialias ? CAIRO_ANTIALIAS_DEFAULT : CAIRO_ANTIALIAS_NONE);
        cairo_set_fill_rule(
            cairo, clip->rule == GESSO_FILL_RULE_EVEN_ODD ? CAIRO_FILL_RULE_EVEN_ODD : CAIRO_FILL_RULE_WINDING);
        if (clip->path)
            cairo_append_path(cairo, clip->path);
        else
            gesso_shape_add(cairo, &clip->shape);
        cairo_clip(cairo);
    }
    cairo_new_path(cairo);
    if (path) cairo_append_path(cairo, path);
    if (path) cairo_path_destroy(path);
    cairo_set_matrix(cairo, &matrix);
}

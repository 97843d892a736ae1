/* Drawing what is rasterized already: coverage in device pixels, in one colour. */
#include "context_internal.h"
#include "kernels.h"

static bool is_valid(const gesso_coverage *items, size_t count)
{
    if (!items && count) return false;
    for (size_t i = 0; i < count; i++) {
        const gesso_coverage *c = &items[i];
        if (!c->pixels && c->width && c->height) return false;
        if (c->width > GESSO_CAIRO_LIMIT || c->height > GESSO_CAIRO_LIMIT || c->stride < (ptrdiff_t)c->width) return false;
        if (!gesso_is_finite4(c->red, c->green, c->blue, c->alpha)) return false;
    }
    return true;
}

/* The part of an item that is in a box; also for places whose far end no number holds. */
static gesso_box visible(const gesso_coverage *c, gesso_box box)
{
    int64_t right = (int64_t)c->x + c->width, bottom = (int64_t)c->y + c->height;
    gesso_box item = {
        c->x, c->y, right < INT32_MAX ? (int)right : INT32_MAX, bottom < INT32_MAX ? (int)bottom : INT32_MAX};
    return gesso_box_intersect(item, box);
}

/* One item within a mask, row by row. False: out of memory. */
static bool draw_in_mask(
    gesso_context *context, const gesso_coverage *c, gesso_box part, uint32_t word, const gesso_mask *mask, int32_t left,
    int32_t top)
{
    size_t width = (size_t)(part.x1 - part.x0);
    uint8_t *bytes = calloc(width + 8, 1);
    if (!bytes) return false;
    for (int y = part.y0; y < part.y1; y++) {
        const uint8_t *in = c->pixels + (ptrdiff_t)(y - c->y) * c->stride + (part.x0 - c->x);
        gesso_mask_expand(mask, y - top, part.x0 - left, (int32_t)width, bytes);
        for (size_t i = 0; i < width; i++) bytes[i] = (uint8_t)gesso_mul255(bytes[i], in[i]);
        uint8_t *out = context->bitmap->pixels + (ptrdiff_t)y * context->bitmap->stride + (ptrdiff_t)part.x0 * 4;
        gesso_kernels_get()->over_word_masked((uint32_t *)out, bytes, width, word);
    }
    free(bytes);
    return true;
}

static void draw_item(gesso_context *context, const gesso_coverage *c, const gesso_mask *mask, int32_t left, int32_t top)
{
    gesso_box part = visible(c, gesso_clip_box(context));
    if (gesso_box_is_empty(part)) return;
    gesso_color color = {
        gesso_clamp01(c->red), gesso_clamp01(c->green), gesso_clamp01(c->blue), gesso_clamp01(c->alpha)};
    uint32_t word = gesso_premultiplied(color, context->state.alpha);
    gesso_bitmap *target = context->bitmap;
    if (mask) {
        if (!draw_in_mask(context, c, part, word, mask, left, top)) gesso_context_fail(context, GESSO_OUT_OF_MEMORY);
        return;
    }
    gesso_kernels_get()->cover_word(
        target->pixels + (ptrdiff_t)part.y0 * target->stride + (ptrdiff_t)part.x0 * 4, target->stride,
        c->pixels + (ptrdiff_t)(part.y0 - c->y) * c->stride + (part.x0 - c->x), c->stride, (size_t)(part.x1 - part.x0),
        (size_t)(part.y1 - part.y0), word);
}

bool gesso_context_draw_coverage(gesso_context *context, const gesso_coverage *items, size_t count)
{
    if (!gesso_require(context, is_valid(items, count))) return true;
    const gesso_shape *clip;
    const gesso_state *state = &context->state;
    if (!gesso_fast_state(context, &clip) || state->blend != GESSO_BLEND_NORMAL || state->shadow.color.alpha > 0) return false;
    /* Where items overlap, they would show through one another. */
    if (state->alpha < 1 && count > 1) return false;
    gesso_shape shown;
    if (clip && !gesso_fast_clip(context, clip, &shown)) return false;
    if (clip) clip = &shown;
    gesso_mask *mask = clip ? gesso_mask_of(clip, NULL) : NULL;
    if (clip && !mask) return false;
    if (context->cairo) cairo_surface_flush(context->surface);
    for (size_t i = 0; i < count; i++)
        draw_item(context, &items[i], mask, clip ? gesso_shape_left(clip) : 0, clip ? gesso_shape_top(clip) : 0);
    gesso_mask_release(mask);
    return true;
}

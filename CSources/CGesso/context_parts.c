/* Bitmaps in nine parts. */
#include "context_internal.h"
#include "resample.h"

/* Pixels of the device that one piece may take. */
enum { MOST_PIXELS = 1 << 24 };

/* Where the centre begins and ends along an axis of `pixels`, and of `wide` in the result, in which a pixel of the corners
 * is `size` large. */
static void divide(double from, double extent, uint32_t pixels, int32_t wide, double size, int32_t source[2], int32_t target[2])
{
    source[0] = (int32_t)lrint(from * pixels);
    source[1] = (int32_t)lrint(fmin(1, from + extent) * pixels);
    double left = source[0] * size, right = (pixels - (double)source[1]) * size;
    double part = left + right > wide ? wide / (left + right) : 1;
    target[0] = (int32_t)lrint(left * part);
    target[1] = wide - (int32_t)lrint(right * part);
    if (target[1] < target[0]) target[1] = target[0];
}

void gesso_context_draw_bitmap_in_parts(
    gesso_context *context, const gesso_bitmap *bitmap, double x, double y, double width, double height,
    double center_x, double center_y, double center_width, double center_height)
{
    const double slack = 1e-9;
    bool valid = bitmap && gesso_is_finite4(x, y, width, height) && center_x >= 0 && center_y >= 0 && center_width >= 0
        && center_height >= 0 && center_x + center_width <= 1 + slack && center_y + center_height <= 1 + slack;
    if (!gesso_require(context, valid && !gesso_shares_memory(bitmap, context->bitmap))) return;
    if (bitmap->format == GESSO_FORMAT_A8) {
        gesso_context_fail(context, GESSO_UNSUPPORTED);
        return;
    }
    if (width < 0) x += width, width = -width;
    if (height < 0) y += height, height = -height;
    if (!gesso_in_reach(context, x, y, x + width, y + height)) return;
    const cairo_matrix_t *m = &context->state.matrix;
    bool is_upright = m->xy == 0 && m->yx == 0 && m->xx > 0 && m->yy > 0;
    double scale_x = hypot(m->xx, m->yx), scale_y = hypot(m->xy, m->yy), left = 0, top = 0;
    if (is_upright) left = rint(x * m->xx + m->x0), top = rint(y * m->yy + m->y0);
    double wide = is_upright ? rint((x + width) * m->xx + m->x0) - left : ceil(width * scale_x);
    double high = is_upright ? rint((y + height) * m->yy + m->y0) - top : ceil(height * scale_y);
    if (wide < 1 || high < 1) return;
    if (wide > GESSO_CAIRO_LIMIT || high > GESSO_CAIRO_LIMIT || wide * high > MOST_PIXELS
        || bitmap->width > GESSO_CAIRO_LIMIT || bitmap->height > GESSO_CAIRO_LIMIT) {
        gesso_context_fail(context, GESSO_TOO_LARGE);
        return;
    }
    gesso_parts parts;
    divide(center_x, center_width, bitmap->width, (int32_t)wide, scale_x / bitmap->scale, parts.source[0], parts.target[0]);
    divide(center_y, center_height, bitmap->height, (int32_t)high, scale_y / bitmap->scale, parts.source[1], parts.target[1]);
    gesso_bitmap *stretched = gesso_resampled_in_parts(
        bitmap, (int32_t)wide, (int32_t)high, &parts, context->state.interpolation == GESSO_INTERPOLATION_NONE);
    if (!stretched) {
        gesso_context_fail(context, GESSO_OUT_OF_MEMORY);
        return;
    }
    if (is_upright)
        gesso_context_draw_bitmap(
            context, stretched, (left - m->x0) / m->xx, (top - m->y0) / m->yy, wide / m->xx, high / m->yy);
    else
        gesso_context_draw_bitmap(context, stretched, x, y, width, height);
    gesso_bitmap_release(stretched);
}

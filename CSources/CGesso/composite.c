/* Bitmaps onto bitmaps, pixel for pixel: what a frame does with cells that are already drawn. */
#include "internal.h"

#include "kernels.h"

typedef struct region {
    int64_t x, y;               /* in the target */
    int64_t source_x, source_y; /* in what is drawn */
    int64_t width, height;      /* 0: nothing to do */
} region;

static region clip(const gesso_bitmap *target, int64_t x, int64_t y, int64_t width, int64_t height)
{
    region r = {0};
    /* Compared before they are added, so that no sum can wrap. */
    if (x >= (int64_t)target->width || y >= (int64_t)target->height || x <= -width || y <= -height) return r;
    int64_t right = x + width, bottom = y + height;
    r.source_x = x < 0 ? -x : 0;
    r.source_y = y < 0 ? -y : 0;
    r.x = x < 0 ? 0 : x;
    r.y = y < 0 ? 0 : y;
    r.width = (right < target->width ? right : target->width) - r.x;
    r.height = (bottom < target->height ? bottom : target->height) - r.y;
    return r;
}

/* Kernels read some bytes after the coverage, which the last row of a bitmap may not have. */
static void composite_coverage(
    const gesso_kernels *kernels, uint32_t *out, const uint8_t *coverage, size_t count, uint32_t word)
{
    size_t safe = count & ~(size_t)7;
    kernels->over_word_masked(out, coverage, safe, word);
    uint8_t rest[16] = {0};
    memcpy(rest, coverage + safe, count - safe);
    kernels->over_word_masked(out + safe, rest, count - safe, word);
}

gesso_status gesso_composite(
    gesso_bitmap *target, const gesso_bitmap *source, int64_t x, int64_t y, double alpha)
{
    if (!target || !source || target == source || !isfinite(alpha)) return GESSO_INVALID_ARGUMENT;
    if (gesso_bitmap_is_frozen(target)) return GESSO_FROZEN;
    if (target->format == GESSO_FORMAT_A8) return GESSO_UNSUPPORTED;
    region r = clip(target, x, y, source->width, source->height);
    uint32_t a = (uint32_t)(gesso_clamp01(alpha) * 255 + 0.5);
    if (r.width <= 0 || a == 0) return GESSO_OK;
    const gesso_kernels *kernels = gesso_kernels_get();
    bool opaque = source->format == GESSO_FORMAT_XRGB32;
    uint32_t solid = opaque ? 0xff000000 : 0;
    size_t count = (size_t)r.width;
    for (int64_t row = 0; row < r.height; row++) {
        uint32_t *out = (uint32_t *)(target->pixels + (r.y + row) * target->stride) + r.x;
        const uint8_t *in = source->pixels + (r.source_y + row) * source->stride;
        const uint32_t *words = (const uint32_t *)in + r.source_x;
        if (source->format == GESSO_FORMAT_A8)
            composite_coverage(kernels, out, in + r.source_x, count, a << 24);
        else if (opaque && a == 255)
            kernels->copy_opaque(out, words, count);
        else if (a == 255 && !opaque)
            kernels->over(out, words, count);
        else
            kernels->over_alpha(out, words, count, a, solid);
        if (target->format == GESSO_FORMAT_XRGB32 && !(opaque && a == 255))
            for (size_t i = 0; i < count; i++) out[i] |= 0xff000000;
    }
    return GESSO_OK;
}

gesso_status gesso_fill(
    gesso_bitmap *target, int64_t x, int64_t y, uint32_t width, uint32_t height,
    double red, double green, double blue, double alpha)
{
    if (!target || !gesso_is_finite4(red, green, blue, alpha)) return GESSO_INVALID_ARGUMENT;
    if (gesso_bitmap_is_frozen(target)) return GESSO_FROZEN;
    if (!width || !height) return GESSO_OK;
    region r = clip(target, x, y, width, height);
    const gesso_kernels *kernels = gesso_kernels_get();
    double a = target->format == GESSO_FORMAT_XRGB32 ? 1 : gesso_clamp01(alpha);
    uint32_t byte = (uint32_t)(a * 255 + 0.5);
    uint32_t word = byte << 24 | (uint32_t)(gesso_clamp01(red) * a * 255 + 0.5) << 16
        | (uint32_t)(gesso_clamp01(green) * a * 255 + 0.5) << 8 | (uint32_t)(gesso_clamp01(blue) * a * 255 + 0.5);
    for (int64_t row = 0; row < r.height; row++) {
        uint8_t *out = target->pixels + (r.y + row) * target->stride;
        if (target->format == GESSO_FORMAT_A8) {
            memset(out + r.x, (int)byte, (size_t)r.width);
        } else {
            kernels->fill((uint32_t *)out + r.x, (size_t)r.width, word);
        }
    }
    return GESSO_OK;
}

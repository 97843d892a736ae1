/* Bitmaps onto bitmaps, pixel for pixel: what a frame does with cells that are already drawn. */
#include "internal.h"

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

/* Both halves of a word at a time: x * a / 255 for four bytes, rounded. */
static inline uint32_t scale_pixel(uint32_t pixel, uint32_t alpha)
{
    uint32_t low = (pixel & 0x00ff00ff) * alpha + 0x00800080;
    uint32_t high = ((pixel >> 8) & 0x00ff00ff) * alpha + 0x00800080;
    low = ((low + ((low >> 8) & 0x00ff00ff)) >> 8) & 0x00ff00ff;
    high = (high + ((high >> 8) & 0x00ff00ff)) & 0xff00ff00;
    return low | high;
}

/* Premultiplied words cannot carry over in the sum; malformed foreign pixels wrap within the word, harmlessly. */
static inline uint32_t over(uint32_t source, uint32_t target)
{
    return source + scale_pixel(target, 255 - (source >> 24));
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
    bool opaque = source->format == GESSO_FORMAT_XRGB32;
    for (int64_t row = 0; row < r.height; row++) {
        uint32_t *out = (uint32_t *)(target->pixels + (r.y + row) * target->stride) + r.x;
        const uint8_t *in = source->pixels + (r.source_y + row) * source->stride;
        const uint32_t *words = (const uint32_t *)in + r.source_x;
        if (source->format == GESSO_FORMAT_A8) {
            for (int64_t i = 0; i < r.width; i++) {
                uint32_t coverage = gesso_mul255(in[r.source_x + i], a);
                out[i] = over(coverage << 24, out[i]);
            }
        } else if (opaque && a == 255 && target->format == GESSO_FORMAT_XRGB32) {
            memcpy(out, words, (size_t)r.width * 4);
        } else if (opaque && a == 255) {
            for (int64_t i = 0; i < r.width; i++) out[i] = words[i] | 0xff000000;
        } else if (a == 255) {
            for (int64_t i = 0; i < r.width; i++) out[i] = over(words[i], out[i]);
        } else {
            uint32_t solid = opaque ? 0xff000000 : 0;
            for (int64_t i = 0; i < r.width; i++) out[i] = over(scale_pixel(words[i] | solid, a), out[i]);
        }
        if (target->format == GESSO_FORMAT_XRGB32 && !(opaque && a == 255))
            for (int64_t i = 0; i < r.width; i++) out[i] |= 0xff000000;
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
    double a = target->format == GESSO_FORMAT_XRGB32 ? 1 : gesso_clamp01(alpha);
    uint32_t byte = (uint32_t)(a * 255 + 0.5);
    uint32_t word = byte << 24 | (uint32_t)(gesso_clamp01(red) * a * 255 + 0.5) << 16
        | (uint32_t)(gesso_clamp01(green) * a * 255 + 0.5) << 8 | (uint32_t)(gesso_clamp01(blue) * a * 255 + 0.5);
    for (int64_t row = 0; row < r.height; row++) {
        uint8_t *out = target->pixels + (r.y + row) * target->stride;
        if (target->format == GESSO_FORMAT_A8) {
            memset(out + r.x, (int)byte, (size_t)r.width);
        } else {
            uint32_t *words = (uint32_t *)out + r.x;
            for (int64_t i = 0; i < r.width; i++) words[i] = word;
        }
    }
    return GESSO_OK;
}

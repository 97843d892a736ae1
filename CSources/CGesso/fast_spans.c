#include "fast_spans.h"

/* ---- Spans ---- */

static uint32_t scaled_word(uint32_t word, uint32_t value)
{
    return gesso_mul255(word >> 24, value) << 24 | gesso_mul255(word >> 16 & 255, value) << 16
        | gesso_mul255(word >> 8 & 255, value) << 8 | gesso_mul255(word & 255, value);
}

static void draw_word(const gesso_drawing *d, uint32_t *out, size_t count, int32_t value, const uint8_t *coverage)
{
    uint32_t word = d->source.word;
    if (coverage) {
        d->kernels->over_word_masked(out, coverage, count, word);
    } else {
        if (value < 255) word = scaled_word(word, (uint32_t)value);
        if (word >> 24 == 255)
            d->kernels->fill(out, count, word);
        else
            d->kernels->over_word(out, count, word);
    }
}

static void draw_pixels(
    const gesso_drawing *d, uint32_t *out, const uint32_t *in, size_t count, int32_t value, const uint8_t *coverage)
{
    const gesso_source *s = &d->source;
    if (coverage && s->alpha == 255) {
        d->kernels->over_masked(out, in, coverage, count, s->solid);
    } else if (coverage) {
        uint8_t faded[256 + 8];
        for (size_t done = 0; done < count; done += 256) {
            size_t part = count - done < 256 ? count - done : 256;
            for (size_t i = 0; i < part; i++) faded[i] = (uint8_t)gesso_mul255(coverage[done + i], s->alpha);
            d->kernels->over_masked(out + done, in + done, faded, part, s->solid);
        }
    } else {
        uint32_t alpha = gesso_mul255(s->alpha, (uint32_t)value);
        if (alpha == 255 && s->solid)
            d->kernels->copy_opaque(out, in, count);
        else if (alpha == 255 && !s->solid)
            d->kernels->over(out, in, count);
        else
            d->kernels->over_alpha(out, in, count, alpha, s->solid);
    }
}

/* Writes the gradient's pixels begin ..< end of a row: straight lines of colour from stop to stop. */
static void fill_line(const gesso_drawing *d, int32_t y, int32_t begin, int32_t end, uint32_t *out)
{
    gesso_ramp *ramp = d->source.ramp;
    double place = ramp->origin + ramp->by_y * y, step = ramp->by_x;
    for (int32_t x = begin; x < end;) {
        double t = place + step * x;
        /* The stops around this pixel, and the last pixel before the next ones. */
        size_t next = 0;
        while (next < ramp->count && ramp->stops[next].location <= t) next++;
        const gesso_gradient_stop *a = &ramp->stops[next > 0 ? next - 1 : 0];
        const gesso_gradient_stop *b = &ramp->stops[next < ramp->count ? next : ramp->count - 1];
        double ahead = step > 0 ? (next < ramp->count ? b->location : INFINITY) : (next > 0 ? a->location : -INFINITY);
        double pixels = step != 0 && isfinite(ahead) ? (ahead - t) / step : INFINITY;
        int32_t stop = pixels < end - x ? x + (int32_t)floor(pixels) + 1 : end;
        if (stop > end) stop = end;
        double length = b->location - a->location, first = length > 0 ? (t - a->location) / length : 0;
        double slope = length > 0 ? step / length : 0;
        const double from[3] = {a->red, a->green, a->blue}, to[3] = {b->red, b->green, b->blue};
        float at[3], by[3];
        for (int c = 0; c < 3; c++) {
            double p = gesso_clamp01(from[c]) * 255, q = gesso_clamp01(to[c]) * 255;
            at[c] = (float)(p + (q - p) * first);
            by[c] = (float)((q - p) * slope);
        }
        d->kernels->ramp(out + (x - begin), (size_t)(stop - x), at, by);
        x = stop;
    }
}

void gesso_draw_span(
    const gesso_drawing *d, int32_t y, int32_t x, int32_t length, int32_t value, const uint8_t *coverage)
{
    int32_t begin = x > d->box.x0 ? x : d->box.x0, end = x + length < d->box.x1 ? x + length : d->box.x1;
    if (begin >= end) return;
    if (coverage) coverage += begin - x;
    uint32_t *out = (uint32_t *)(d->target->pixels + (ptrdiff_t)y * d->target->stride) + begin;
    size_t count = (size_t)(end - begin);
    const gesso_bitmap *picture = d->source.picture;
    if (d->source.ramp) {
        bool is_whole = value == 255 && !coverage;
        fill_line(d, y, begin, end, is_whole ? out : d->source.ramp->line);
        if (!is_whole) draw_pixels(d, out, d->source.ramp->line, count, value, coverage);
        return;
    }
    if (!picture) {
        draw_word(d, out, count, value, coverage);
        return;
    }
    const uint8_t *row = picture->pixels + (ptrdiff_t)(y - d->source.y) * picture->stride;
    draw_pixels(d, out, (const uint32_t *)row + (begin - d->source.x), count, value, coverage);
}

/* ---- Masks, and masks within masks ---- */

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

void gesso_draw_mask(const gesso_drawing *d, const gesso_mask *mask, int32_t left, int32_t top)
{
    int32_t first = larger(d->box.y0, top), end = smaller(d->box.y1, top + mask->height);
    for (int32_t y = first; y < end; y++)
        for (uint32_t i = mask->rows[y - top]; i < mask->rows[y - top + 1]; i++) {
            gesso_span s = mask->spans[i];
            gesso_draw_span(d, y, left + s.x, s.length, s.value, s.value < 0 ? mask->bytes + s.at : NULL);
        }
}

/* How much of a pixel's height or width a rectangle covers, of 255. */
static int32_t part_of(int32_t pixel, int32_t from, int32_t to)
{
    int32_t covered = smaller(to, (pixel + 1) * 256) - larger(from, pixel * 256);
    return covered <= 0 ? 0 : (covered * 255 + 128) / 256;
}

/* Part of a span, as much as `value` of 255. */
static void draw_part(
    const gesso_drawing *d, int32_t y, const gesso_mask *mask, const gesso_span *s, int32_t left, int32_t begin, int32_t end,
    int32_t value)
{
    int32_t from = larger(left + s->x, begin), to = smaller(left + s->x + s->length, end);
    if (from >= to || value == 0) return;
    if (s->value >= 0) {
        gesso_draw_span(d, y, from, to - from, (int32_t)gesso_mul255((uint32_t)s->value, (uint32_t)value), NULL);
        return;
    }
    const uint8_t *coverage = mask->bytes + s->at + (from - left - s->x);
    if (value == 255) {
        gesso_draw_span(d, y, from, to - from, -1, coverage);
        return;
    }
    uint8_t faded[128 + 8];
    while (from < to) {
        int32_t part = smaller(to - from, 128);
        for (int32_t i = 0; i < part; i++) faded[i] = (uint8_t)gesso_mul255(*coverage++, (uint32_t)value);
        gesso_draw_span(d, y, from, part, -1, faded);
        from += part;
    }
}

/* A mask within a rectangle: all of it where the rectangle covers pixels whole, and parts of it at its edges. */
void gesso_draw_mask_in_rectangle(
    const gesso_drawing *d, const gesso_mask *mask, int32_t left, int32_t top, const gesso_shape *r)
{
    int32_t x0 = r->x0 >> 8, whole_begin = (r->x0 + 255) >> 8, whole_end = r->x1 >> 8;
    int32_t first = larger(larger(d->box.y0, top), r->y0 >> 8);
    int32_t end = smaller(smaller(d->box.y1, top + mask->height), (r->y1 + 255) >> 8);
    for (int32_t y = first; y < end; y++) {
        int32_t height = part_of(y, r->y0, r->y1);
        for (uint32_t i = mask->rows[y - top]; i < mask->rows[y - top + 1]; i++) {
            const gesso_span *s = &mask->spans[i];
            if (height == 255 && left + s->x >= whole_begin && left + s->x + s->length <= whole_end) {
                gesso_draw_span(d, y, left + s->x, s->length, s->value, s->value < 0 ? mask->bytes + s->at : NULL);
                continue;
            }
            if (whole_begin > x0) {
                int32_t part = part_of(x0, r->x0, r->x1);
                draw_part(d, y, mask, s, left, x0, whole_begin, (int32_t)gesso_mul255((uint32_t)part, (uint32_t)height));
            }
            draw_part(d, y, mask, s, left, whole_begin, whole_end, height);
            if (whole_end >= whole_begin && (r->x1 & 255)) {
                int32_t part = part_of(whole_end, r->x0, r->x1);
                draw_part(
                    d, y, mask, s, left, whole_end, whole_end + 1,
                    (int32_t)gesso_mul255((uint32_t)part, (uint32_t)height));
            }
        }
    }
}

/* Writes a row's coverage of the pixels begin ..< end. */
static void expand(const gesso_mask *mask, int32_t row, int32_t left, int32_t begin, int32_t end, uint8_t *bytes)
{
    memset(bytes, 0, (size_t)(end - begin));
    for (uint32_t i = mask->rows[row]; i < mask->rows[row + 1]; i++) {
        gesso_span s = mask->spans[i];
        int32_t from = larger(left + s.x, begin), to = smaller(left + s.x + s.length, end);
        if (from >= to) continue;
        if (s.value >= 0)
            memset(bytes + (from - begin), s.value, (size_t)(to - from));
        else
            memcpy(bytes + (from - begin), mask->bytes + s.at + (from - left - s.x), (size_t)(to - from));
    }
}

/* Any mask within any other. False: out of memory. */
bool gesso_draw_mask_in_mask(
    const gesso_drawing *d, const gesso_mask *mask, int32_t left, int32_t top, const gesso_mask *clip, int32_t clip_left,
    int32_t clip_top)
{
    int32_t begin = larger(d->box.x0, larger(left, clip_left));
    int32_t end = smaller(d->box.x1, smaller(left + mask->width, clip_left + clip->width));
    int32_t first = larger(d->box.y0, larger(top, clip_top));
    int32_t last = smaller(d->box.y1, smaller(top + mask->height, clip_top + clip->height));
    if (begin >= end) return true;
    uint8_t *bytes = malloc(2 * (size_t)(end - begin) + 8);
    if (!bytes) return false;
    uint8_t *other = bytes + (end - begin);
    for (int32_t y = first; y < last; y++) {
        expand(mask, y - top, left, begin, end, bytes);
        expand(clip, y - clip_top, clip_left, begin, end, other);
        for (int32_t i = 0; i < end - begin; i++) bytes[i] = (uint8_t)gesso_mul255(bytes[i], other[i]);
        gesso_draw_span(d, y, begin, end - begin, -1, bytes);
    }
    free(bytes);
    return true;
}

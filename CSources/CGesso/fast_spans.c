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

/* By another mode than over: from a piece of the source, and of the coverage. */
static void blend_span(
    const gesso_drawing *d, int32_t y, int32_t begin, int32_t end, int32_t value, const uint8_t *coverage, uint32_t *out)
{
    enum { PIECE = 256 };
    const gesso_source *s = &d->source;
    const uint32_t *in = NULL;
    if (s->ramp) {
        gesso_ramp_fill(s->ramp, d->kernels, y, begin, end, s->ramp->line);
        in = s->ramp->line;
    } else if (s->picture) {
        in = (const uint32_t *)(s->picture->pixels + (ptrdiff_t)(y - s->y) * s->picture->stride) + (begin - s->x);
    }
    for (int32_t x = begin; x < end; x += PIECE, out += PIECE) {
        uint32_t pixels[PIECE];
        uint8_t covered[PIECE];
        size_t count = (size_t)(end - x < PIECE ? end - x : PIECE);
        d->kernels->fill(pixels, count, in ? 0 : s->word);
        if (in) d->kernels->over_alpha(pixels, in + (x - begin), count, s->alpha, s->solid);
        if (!coverage) memset(covered, value, count);
        /* What is there is opaque, whatever the byte says that nobody uses. */
        for (size_t i = 0; i < count && d->target->format == GESSO_FORMAT_XRGB32; i++) out[i] |= 0xff000000;
        d->blend(out, pixels, coverage ? coverage + (x - begin) : covered, count);
        for (size_t i = 0; i < count && d->target->format == GESSO_FORMAT_XRGB32; i++) out[i] |= 0xff000000;
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
    if (d->blend) {
        blend_span(d, y, begin, end, value, coverage, out);
        return;
    }
    if (d->source.ramp) {
        bool is_whole = value == 255 && !coverage && d->source.alpha == 255 && d->source.solid;
        gesso_ramp_fill(d->source.ramp, d->kernels, y, begin, end, is_whole ? out : d->source.ramp->line);
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

/* ---- Masks ---- */

/* The rows first ..< end of a mask all of whose columns are in the box. */
static bool draw_whole_rows(
    const gesso_drawing *d, const gesso_mask *mask, int32_t left, int32_t top, int32_t first, int32_t end)
{
    const gesso_source *s = &d->source;
    uint8_t *target = d->target->pixels + (ptrdiff_t)top * d->target->stride + (ptrdiff_t)left * 4;
    if (d->blend || s->ramp || (s->picture && s->alpha < 255)) return false;
    if (s->picture) {
        const gesso_bitmap *p = s->picture;
        const uint8_t *source = p->pixels + (ptrdiff_t)(top - s->y) * p->stride + (ptrdiff_t)(left - s->x) * 4;
        d->kernels->mask_pixels(
            target, d->target->stride, source, p->stride, mask, first - top, end - top, s->solid);
    } else {
        d->kernels->mask_word(target, d->target->stride, mask, first - top, end - top, s->word);
    }
    return true;
}

void gesso_draw_mask(const gesso_drawing *d, const gesso_mask *mask, int32_t left, int32_t top)
{
    int32_t first = gesso_larger(d->box.y0, top), end = gesso_smaller(d->box.y1, top + mask->height);
    if (first >= end) return;
    if (left >= d->box.x0 && left + mask->width <= d->box.x1 && draw_whole_rows(d, mask, left, top, first, end)) return;
    for (int32_t y = first; y < end; y++)
        for (uint32_t i = mask->rows[y - top].first; i < mask->rows[y - top].end; i++) {
            gesso_span s = mask->spans[i];
            gesso_draw_span(d, y, left + s.x, s.length, s.value, s.value < 0 ? mask->bytes + s.at : NULL);
        }
}

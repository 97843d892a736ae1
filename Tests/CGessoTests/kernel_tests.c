/* The kernels: exact coverage, the same bytes in every instruction set, and no seam to Cairo. */
#include "check.h"

#include "kernels.h"
#include "resample.h"
#include "shape.h"

/* ---- Coverage ---- */

static bool is_inside(const gesso_shape *s, double x, double y)
{
    if (x < s->x0 || x > s->x1 || y < s->y0 || y > s->y1) return false;
    for (int i = 0; i < 4; i++) {
        double rx = s->rx[i], ry = s->ry[i];
        bool left = i == 0 || i == 3, top = i < 2;
        if (rx == 0 || ry == 0) continue;
        double cx = left ? s->x0 + rx : s->x1 - rx, cy = top ? s->y0 + ry : s->y1 - ry;
        if ((left ? x < cx : x > cx) && (top ? y < cy : y > cy) && hypot((x - cx) / rx, (y - cy) / ry) > 1) return false;
    }
    return true;
}

/* Coverage of a pixel by 256 × 256 samples, in 255ths. */
static double supersampled(const gesso_shape *outer, const gesso_shape *inner, int px, int py)
{
    int hits = 0;
    for (int j = 0; j < 256; j++)
        for (int i = 0; i < 256; i++) {
            double x = px * 256 + i + 0.5, y = py * 256 + j + 0.5;
            hits += is_inside(outer, x, y) && !(inner && is_inside(inner, x, y));
        }
    return 255.0 * hits / 65536;
}

static gesso_shape random_shape(uint64_t *seed, int kind)
{
    int32_t width = 1 + (int32_t)(random_next(seed) % (kind % 2 ? 2000 : 9000));
    int32_t height = kind % 5 == 0 ? width : 1 + (int32_t)(random_next(seed) % (kind % 2 ? 2000 : 9000));
    gesso_shape s = {.x0 = (int32_t)(random_next(seed) % 700), .y0 = (int32_t)(random_next(seed) % 700)};
    s.x1 = s.x0 + width, s.y1 = s.y0 + height;
    int32_t smaller = width < height ? width : height;
    for (int i = 0; i < 4; i++) {
        if (kind % 3 == 0) s.rx[i] = width / 2, s.ry[i] = height / 2;
        if (kind % 3 == 1) s.rx[i] = s.ry[i] = (int32_t)(random_next(seed) % (uint32_t)(smaller / 2 + 1));
    }
    return s;
}

/* All of a mask's coverage, in 255ths. */
static uint8_t *expanded(const gesso_mask *mask)
{
    uint8_t *bytes = calloc((size_t)mask->width, (size_t)mask->height);
    for (int y = 0; y < mask->height; y++)
        for (uint32_t i = mask->rows[y].first; i < mask->rows[y].end; i++) {
            gesso_span s = mask->spans[i];
            CHECK(s.x >= 0 && s.length > 0 && s.x + s.length <= mask->width);
            for (int k = 0; k < s.length; k++)
                bytes[y * mask->width + s.x + k] = s.value < 0 ? mask->bytes[s.at + k] : (uint8_t)s.value;
        }
    return bytes;
}

static void coverage_is_exact(void)
{
    uint64_t seed = 16;
    double worst = 0, sum = 0;
    int count = 0;
    for (int kind = 0; kind < 300; kind++) {
        gesso_shape outer = random_shape(&seed, kind), inner = outer;
        int32_t inset = 1 + (int32_t)(random_next(&seed) % 700);
        inner.x0 += inset, inner.y0 += inset, inner.x1 -= inset, inner.y1 -= inset;
        for (int i = 0; i < 4; i++) {
            inner.rx[i] = outer.rx[i] > inset ? outer.rx[i] - inset : 0;
            inner.ry[i] = outer.ry[i] > inset ? outer.ry[i] - inset : 0;
        }
        bool has_inner = kind % 4 == 3 && inner.x0 < inner.x1 && inner.y0 < inner.y1;
        gesso_mask *mask = gesso_mask_create(&outer, has_inner ? &inner : NULL);
        int left = gesso_shape_left(&outer), top = gesso_shape_top(&outer);
        uint8_t *bytes = expanded(mask);
        /* Some pixels of each: all of them would take minutes. */
        for (int i = 0; i < 24; i++) {
            int x = (int)(random_next(&seed) % (uint32_t)mask->width), y = (int)(random_next(&seed) % (uint32_t)mask->height);
            if (i % 2) x = i % 4 == 1 ? x * x / mask->width : mask->width - 1 - x * x / mask->width;
            double error = fabs(bytes[y * mask->width + x] - supersampled(&outer, has_inner ? &inner : NULL, left + x, top + y));
            if (error > worst) worst = error;
            sum += error, count++;
        }
        free(bytes);
        gesso_mask_release(mask);
    }
    CHECK(worst <= 2.5);
    CHECK(sum / count <= 0.6);
}

static gesso_shape inset_by(const gesso_shape *s, int32_t inset)
{
    gesso_shape inner = *s;
    inner.x0 += inset, inner.y0 += inset, inner.x1 -= inset, inner.y1 -= inset;
    for (int i = 0; i < 4; i++) {
        inner.rx[i] = s->rx[i] > inset ? s->rx[i] - inset : 0;
        inner.ry[i] = s->ry[i] > inset ? s->ry[i] - inset : 0;
    }
    return inner;
}

/* Every pixel of many shapes, which samples would take hours for. */
static void the_kernel_for_edges_agrees_with_the_closed_form(void)
{
    uint64_t seed = 41;
    int worst = 0;
    double sum = 0, count = 0;
    for (int kind = 0; kind < 1500; kind++) {
        gesso_shape outer = random_shape(&seed, kind);
        if (kind % 7 == 0) /* radii of their own */
            for (int i = 0; i < 4; i++)
                outer.rx[i] = outer.ry[i] = (int32_t)(random_next(&seed) % 5) * (outer.x1 - outer.x0 < outer.y1 - outer.y0 ? outer.x1 - outer.x0 : outer.y1 - outer.y0) / 10;
        if (kind % 50 == 1) outer.x1 = outer.x0 + 60000, outer.y1 = outer.y0 + 50000 + kind;
        gesso_shape inner = inset_by(&outer, 1 + (int32_t)(random_next(&seed) % 900));
        bool has_inner = kind % 4 == 3 && inner.x0 < inner.x1 && inner.y0 < inner.y1;
        gesso_mask *mask = gesso_mask_create(&outer, has_inner ? &inner : NULL);
        gesso_mask *exact = gesso_mask_create_exact(&outer, has_inner ? &inner : NULL);
        uint8_t *found = expanded(mask), *expected = expanded(exact);
        for (int i = 0; i < mask->width * mask->height; i++) {
            int error = abs(found[i] - expected[i]);
            if (error > worst) worst = error;
            if (expected[i] > 0 && expected[i] < 255) sum += error, count++;
        }
        free(found);
        free(expected);
        gesso_mask_release(mask);
        gesso_mask_release(exact);
    }
    CHECK(worst <= 2);
    CHECK(sum / count <= 0.4);
    if (getenv("GESSO_TEST_FIGURES")) printf("edges: worst %d, mean %.3f of 255\n", worst, sum / count);
}

static void remembered_masks_are_the_same(void)
{
    uint64_t seed = 17;
    for (int i = 0; i < 500; i++) {
        gesso_shape s = random_shape(&seed, i % 40 == 0 ? 3 : i), far = s;
        far.x0 += 25600, far.x1 += 25600, far.y0 -= 51200, far.y1 -= 51200;
        gesso_mask *fresh = gesso_mask_create(&s, NULL), *first = gesso_mask_of(&s, NULL), *again = gesso_mask_of(&far, NULL);
        CHECK(first->byte_count == fresh->byte_count && first->span_count == fresh->span_count);
        CHECK(memcmp(first->bytes, fresh->bytes, fresh->byte_count) == 0);
        CHECK(again->span_count == fresh->span_count && memcmp(again->bytes, fresh->bytes, fresh->byte_count) == 0);
        gesso_mask_release(fresh);
        gesso_mask_release(first);
        gesso_mask_release(again);
    }
    gesso_mask_remember(0);
    gesso_mask_remember(64);
}

/* ---- Instruction sets ---- */

enum { MOST = 68, GUARD = 16 };

static void every_set_gives_the_same_bytes(void)
{
    const char *names[] = {"sse2", "avx2", "neon"};
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 18;
    int tried = 0;
    for (int n = 0; n < 3; n++) {
        const gesso_kernels *k = gesso_kernels_named(names[n]);
        if (!k) continue;
        tried++;
        for (int count = 0; count < MOST; count++)
            for (int shift = 0; shift < 8; shift++) {
                uint32_t source[MOST + 8], target[MOST + 2 * GUARD], expected[MOST + 2 * GUARD];
                uint8_t coverage[MOST + 24], samples[MOST + 8];
                for (int i = 0; i < MOST + 8; i++) {
                    uint32_t alpha = random_next(&seed) % 256;
                    source[i] = alpha << 24;
                    for (int c = 0; c < 24; c += 8) source[i] |= random_next(&seed) % (alpha + 1) << c;
                    samples[i] = (uint8_t)random_next(&seed);
                }
                for (int i = 0; i < MOST + 24; i++)
                    coverage[i] = (uint8_t)(random_next(&seed) % 4 ? random_next(&seed) : random_next(&seed) % 2 * 255);
                uint32_t word = source[0], value = random_next(&seed) % 256, solid = shift % 2 ? 0xff000000 : 0;
                const uint16_t from[4] = {(uint16_t)(shift * 3000), 64000, 300, 65000};
                const int16_t by[4] = {170, -230, 10, 0};
                for (int op = 0; op < 9; op++) {
                    for (int i = 0; i < MOST + 2 * GUARD; i++) target[i] = expected[i] = source[i % MOST];
                    const gesso_kernels *sets[] = {reference, k};
                    uint32_t *outs[] = {expected + GUARD + shift, target + GUARD + shift};
                    for (int which = 0; which < 2; which++) {
                        const gesso_kernels *s = sets[which];
                        uint32_t *out = outs[which];
                        size_t c = (size_t)count;
                        switch (op) {
                        case 0: s->fill(out, c, word); break;
                        case 1: s->over_word(out, c, word); break;
                        case 2: s->over_word_masked(out, coverage + shift, c, word); break;
                        case 3: s->over(out, source + shift, c); break;
                        case 4: s->over_alpha(out, source + shift, c, value, solid); break;
                        case 5: s->over_masked(out, source + shift, coverage + 7 - shift, c, solid); break;
                        case 8: s->copy_opaque(out, source + shift, c); break;
                        case 7: s->ramp(out, c, from, by); break;
                        case 6: s->accumulate(out, samples + shift, c, value * 257); break;
                        }
                    }
                    CHECK(memcmp(target, expected, sizeof target) == 0);
                }
            }
    }
    CHECK(tried > 0);
    CHECK(gesso_kernels_named(gesso_cpu_features()) == gesso_kernels_get());
}

static void every_set_weighs_the_same(void)
{
    const char *names[] = {"sse2", "avx2", "neon"};
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 23;
    for (int n = 0; n < 3; n++) {
        const gesso_kernels *k = gesso_kernels_named(names[n]);
        if (!k) continue;
        for (int count = 1; count < 140; count++) {
            uint8_t samples[5 * 160];
            uint16_t expected[160] = {0}, found[160] = {0}, wide[35 * 4 * 8];
            uint32_t weights[5], pixels[40], expected_pixels[40];
            int32_t firsts[35];
            size_t rows = 1 + random_next(&seed) % 5;
            for (size_t i = 0; i < sizeof samples; i++) samples[i] = (uint8_t)random_next(&seed);
            for (int i = 0; i < 5; i++) weights[i] = random_next(&seed) % 65537 / (uint32_t)rows;
            if (rows == 1) weights[0] = 65536;
            reference->weigh_rows(expected, samples + 3, 151, weights, rows, (size_t)count);
            k->weigh_rows(found, samples + 3, 151, weights, rows, (size_t)count);
            CHECK(memcmp(expected, found, sizeof found) == 0);
            for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) wide[i] = (uint16_t)(random_next(&seed) % 16000);
            size_t each = count % 3 ? count % 3 * 4 : 2;
            for (int i = 0; i < 35; i++) firsts[i] = (int32_t)(random_next(&seed) % 32);
            reference->weigh_columns(expected_pixels, expected, firsts, wide, each, 35);
            k->weigh_columns(pixels, expected, firsts, wide, each, 35);
            CHECK(memcmp(pixels, expected_pixels, 35 * sizeof *pixels) == 0);
        }
    }
}

static void every_set_draws_masks_the_same(void)
{
    enum { WIDTH = 90, HEIGHT = 70, COVERAGE = 100 };
    const char *names[] = {"sse2", "avx2", "neon"};
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 44;
    for (int n = 0; n < 3; n++) {
        const gesso_kernels *k = gesso_kernels_named(names[n]);
        for (int round = 0; k && round < 120; round++) {
            uint32_t source[WIDTH * HEIGHT], expected[WIDTH * HEIGHT], found[WIDTH * HEIGHT];
            uint8_t coverage[COVERAGE * HEIGHT];
            for (int i = 0; i < WIDTH * HEIGHT; i++) {
                uint32_t alpha = random_next(&seed) % 3 ? random_next(&seed) % 256 : 255;
                source[i] = alpha << 24 | random_next(&seed) % (alpha + 1) * 0x10101;
            }
            for (int i = 0; i < COVERAGE * HEIGHT; i++)
                coverage[i] = i / 16 % 3 ? 0 : (uint8_t)random_next(&seed);
            uint32_t alpha = round % 2 ? 255 : random_next(&seed) % 256, word = alpha << 24 | random_next(&seed) % (alpha + 1);
            gesso_shape outer = {.x1 = 60 * 256, .y1 = 64 * 256, .x0 = 40, .y0 = 90}, inner = outer;
            for (int i = 0; i < 4; i++) outer.rx[i] = outer.ry[i] = round * 60;
            inner = inset_by(&outer, 700);
            gesso_mask *mask = gesso_mask_create(&outer, round % 3 ? &inner : NULL);
            const gesso_kernels *sets[] = {reference, k};
            uint32_t *outs[] = {expected, found}, solid = round % 4 ? 0 : 0xff000000;
            for (int op = 0; op < 3; op++)
                for (int which = 0; which < 2; which++) {
                    memcpy(outs[which], source, sizeof source);
                    uint8_t *out = (uint8_t *)(outs[which] + 3);
                    const uint8_t *in = (const uint8_t *)(source + 11);
                    size_t width = 1 + (size_t)round % 70;
                    if (op == 0) sets[which]->mask_word(out, WIDTH * 4, mask, 1, mask->height, word);
                    if (op == 1) sets[which]->mask_pixels(out, WIDTH * 4, in, WIDTH * 4, mask, 0, mask->height, solid);
                    if (op == 2) sets[which]->cover_word(out, WIDTH * 4, coverage, COVERAGE, width, HEIGHT - 1, word);
                    if (which == 1) CHECK(memcmp(expected, found, sizeof found) == 0);
                }
            gesso_mask_release(mask);
        }
    }
}

static void every_set_blends_the_same(void)
{
    const char *names[] = {"sse2", "avx2", "neon"};
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 45;
    for (int mode = 0; mode <= GESSO_BLEND_PLUS_LIGHTER; mode++)
        for (int round = 0; reference->blends[mode] && round < 60; round++) {
            uint32_t source[67], there[67], expected[67], found[67];
            uint8_t coverage[67];
            for (int i = 0; i < 67; i++) {
                uint32_t *pixels[] = {&source[i], &there[i]};
                for (int k = 0; k < 2; k++) {
                    uint32_t alpha = random_next(&seed) % 4 ? random_next(&seed) % 256 : random_next(&seed) % 2 * 255;
                    *pixels[k] = alpha << 24;
                    for (int c = 0; c < 24; c += 8) *pixels[k] |= random_next(&seed) % (alpha + 1) << c;
                }
                coverage[i] = (uint8_t)(random_next(&seed) % 2 ? 255 : random_next(&seed));
            }
            size_t count = (size_t)round + 7;
            memcpy(expected, there, sizeof there);
            reference->blends[mode](expected, source, coverage, count);
            for (int n = 0; n < 3; n++) {
                const gesso_kernels *k = gesso_kernels_named(names[n]);
                if (!k) continue;
                memcpy(found, there, sizeof there);
                k->blends[mode](found, source, coverage, count);
                CHECK(memcmp(expected, found, sizeof found) == 0);
            }
            for (int i = 0; i < 67; i++)
                for (int c = 0; c < 24; c += 8) CHECK((expected[i] >> c & 255) <= expected[i] >> 24);
        }
}

/* All 65,536 values and alphas, against the division that it stands for. */
static void every_set_converts_the_same(void)
{
    const char *names[] = {"scalar", "sse2", "avx2", "neon"};
    for (int n = 0; n < 4; n++) {
        const gesso_kernels *k = gesso_kernels_named(names[n]);
        for (uint32_t alpha = 0; k && alpha < 256; alpha++) {
            uint32_t words[256], back[256];
            uint8_t rgba[4 * 256], bgra[4 * 256];
            for (uint32_t v = 0; v < 256; v++) words[v] = alpha << 24 | (v < alpha ? v : alpha) << 16 | (v / 2 < alpha ? v / 2 : alpha);
            k->unpremultiply(rgba, words, 256, true);
            k->unpremultiply(bgra, words, 256, false);
            for (uint32_t v = 0; v < 256; v++) {
                uint32_t red = words[v] >> 16 & 255, expected = alpha ? (red * 255 + alpha / 2) / alpha : 0;
                CHECK(rgba[4 * v] == expected && bgra[4 * v + 2] == expected && rgba[4 * v + 3] == alpha);
                CHECK(rgba[4 * v + 2] == bgra[4 * v]);
            }
            k->premultiply(back, rgba, 256, true);
            CHECK(memcmp(back, words, sizeof words) == 0);
            k->premultiply(back, bgra, 256, false);
            CHECK(memcmp(back, words, sizeof words) == 0);
        }
    }
}

static void every_set_covers_edges_the_same(void)
{
    const char *names[] = {"sse2", "avx2", "neon"};
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 43;
    for (int n = 0; n < 3; n++) {
        const gesso_kernels *k = gesso_kernels_named(names[n]);
        for (int round = 0; k && round < 300; round++) {
            float x[48], y[48], expected[48], found[48], r = 3 + (float)(random_next(&seed) % 4000) / 16;
            for (int i = 0; i < 48; i++) {
                double angle = (double)(random_next(&seed) % 62832) / 1e4;
                double reach = r + (double)(random_next(&seed) % 256) / 64 - 2;
                x[i] = (float)(reach * cos(angle)), y[i] = (float)(reach * sin(angle));
            }
            reference->cover_edges(expected, x, y, 41, 1 / (r * r), 1 / (r * r * 1.44f));
            k->cover_edges(found, x, y, 41, 1 / (r * r), 1 / (r * r * 1.44f));
            CHECK(memcmp(expected, found, sizeof found) == 0);
            reference->cover_ring(expected, x, y, 41, r + 1.5f, r);
            k->cover_ring(found, x, y, 41, r + 1.5f, r);
            CHECK(memcmp(expected, found, sizeof found) == 0);
        }
    }
}

static void over_rounds_as_pixman_does(void)
{
    const gesso_kernels *k = gesso_kernels_get();
    for (uint32_t s = 0; s < 256; s += 3)
        for (uint32_t b = 0; b < 256; b++) {
            uint32_t source = s << 24 | s << 16, target = 0xff000000 | b << 16;
            k->over(&target, &source, 1);
            uint32_t t = b * (255 - s) + 128;
            CHECK((target >> 16 & 255) == s + ((t + (t >> 8)) >> 8));
        }
}

/* ---- Making smaller ---- */

static double area_average(const gesso_bitmap *source, const gesso_shape *r, int px, int py, int shift)
{
    double sx = gesso_bitmap_width(source) * 256.0 / (r->x1 - r->x0), sy = gesso_bitmap_height(source) * 256.0 / (r->y1 - r->y0);
    double x0 = fmax(0, (px - r->x0 / 256.0) * sx), x1 = fmin(gesso_bitmap_width(source), (px + 1 - r->x0 / 256.0) * sx);
    double y0 = fmax(0, (py - r->y0 / 256.0) * sy), y1 = fmin(gesso_bitmap_height(source), (py + 1 - r->y0 / 256.0) * sy);
    double sum = 0, area = 0;
    for (int y = (int)y0; y < y1; y++)
        for (int x = (int)x0; x < x1; x++) {
            double part = (fmin(x1, x + 1) - fmax(x0, x)) * (fmin(y1, y + 1) - fmax(y0, y));
            sum += part * (pixel(source, x, y) >> shift & 255), area += part;
        }
    return sum / area;
}

static void downscaling_averages_areas_exactly(void)
{
    gesso_bitmap *source = random_bitmap(200, 160, GESSO_FORMAT_ARGB32, 19);
    uint64_t seed = 20;
    for (int i = 0; i < 20; i++) {
        gesso_shape r = {.x0 = (int32_t)(random_next(&seed) % 600), .y0 = (int32_t)(random_next(&seed) % 600)};
        r.x1 = r.x0 + 300 + (int32_t)(random_next(&seed) % 50000), r.y1 = r.y0 + 300 + (int32_t)(random_next(&seed) % 40000);
        gesso_bitmap *small = gesso_resampled(source, &r);
        double error = 0;
        int count = 0;
        for (uint32_t y = 0; y < gesso_bitmap_height(small); y += 3)
            for (uint32_t x = 0; x < gesso_bitmap_width(small); x += 3)
                for (int shift = 0; shift < 32; shift += 8) {
                    double e = (pixel(small, (int)x, (int)y) >> shift & 255)
                        - area_average(source, &r, (int)x + gesso_shape_left(&r), (int)y + gesso_shape_top(&r), shift);
                    error += e * e, count++;
                }
        CHECK(10 * log10(255 * 255 / (error / count)) >= 50);
        gesso_bitmap *again = gesso_resampled(source, &r);
        CHECK(again == small); /* remembered */
        gesso_bitmap_release(again);
        gesso_bitmap_release(small);
    }
    gesso_resampled_remember(0);
    gesso_bitmap *flat = NULL;
    CHECK_STATUS(gesso_bitmap_create(77, 55, GESSO_FORMAT_ARGB32, 1, &flat), GESSO_OK);
    gesso_fill(flat, 0, 0, 77, 55, 0.3, 0.7, 0.1, 0.6);
    gesso_shape r = {.x0 = 30, .y0 = 70, .x1 = 9000, .y1 = 7000};
    gesso_bitmap *small = gesso_resampled(flat, &r);
    for (uint32_t x = 0; x < gesso_bitmap_width(small); x++) CHECK(pixel(small, (int)x, 3) == pixel(flat, 0, 0));
    gesso_bitmap_release(small);
    gesso_bitmap_release(flat);
    gesso_bitmap_release(source);
    gesso_resampled_remember(16 << 20);
}

/* Against linear interpolation in double precision between the centres of samples, the outermost of which go on. */
static void making_larger_interpolates(void)
{
    gesso_bitmap *source = random_bitmap(37, 29, GESSO_FORMAT_ARGB32, 31);
    uint64_t seed = 32;
    for (int i = 0; i < 20; i++) {
        gesso_shape r = {.x0 = (int32_t)(random_next(&seed) % 600), .y0 = (int32_t)(random_next(&seed) % 600)};
        r.x1 = r.x0 + 37 * 257 + (int32_t)(random_next(&seed) % 30000), r.y1 = r.y0 + 29 * 257 + (int32_t)(random_next(&seed) % 30000);
        gesso_bitmap *large = gesso_resampled(source, &r);
        double sx = 37 * 256.0 / (r.x1 - r.x0), sy = 29 * 256.0 / (r.y1 - r.y0), error = 0;
        int count = 0;
        for (uint32_t y = 0; y < gesso_bitmap_height(large); y += 3)
            for (uint32_t x = 0; x < gesso_bitmap_width(large); x += 2)
                for (int shift = 0; shift < 32; shift += 8, count++) {
                    double u = fmax(0, fmin(36, ((int)x + gesso_shape_left(&r) + 0.5 - r.x0 / 256.0) * sx - 0.5));
                    double v = fmax(0, fmin(28, ((int)y + gesso_shape_top(&r) + 0.5 - r.y0 / 256.0) * sy - 0.5));
                    int left = (int)fmin(u, 35), top = (int)fmin(v, 27);
                    double sum = 0;
                    for (int k = 0; k < 4; k++) {
                        double weight = (k % 2 ? u - left : 1 - u + left) * (k / 2 ? v - top : 1 - v + top);
                        sum += weight * (pixel(source, left + k % 2, top + k / 2) >> shift & 255);
                    }
                    double e = (pixel(large, (int)x, (int)y) >> shift & 255) - sum;
                    error += e * e;
                }
        CHECK(10 * log10(255 * 255 / (error / count)) >= 48);
        gesso_bitmap_release(large);
    }
    gesso_bitmap_release(source);
}

const check_test kernel_tests[] = {
    TEST(coverage_is_exact, "the coverage of shapes is exact"),
    TEST(the_kernel_for_edges_agrees_with_the_closed_form, "the kernel for edges agrees with the closed form"),
    TEST(remembered_masks_are_the_same, "a remembered mask is the same as a fresh one, wherever the shape is"),
    TEST(every_set_gives_the_same_bytes, "every instruction set gives the same bytes"),
    TEST(every_set_draws_masks_the_same, "every instruction set draws masks the same"),
    TEST(every_set_blends_the_same, "every instruction set blends the same, and within the alpha"),
    TEST(every_set_converts_the_same, "every instruction set converts the same, there and back"),
    TEST(every_set_covers_edges_the_same, "every instruction set covers edges the same"),
    TEST(every_set_weighs_the_same, "every instruction set weighs the same"),
    TEST(over_rounds_as_pixman_does, "source-over rounds as pixman does"),
    TEST(downscaling_averages_areas_exactly, "making smaller averages areas, to the last digit"),
    TEST(making_larger_interpolates, "making larger interpolates, to the last digit"),
    {0}};

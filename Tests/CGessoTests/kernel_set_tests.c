/* Kernels: the same bytes in every instruction set. */
#include "check.h"

#include "kernels.h"
#include "shape.h"

/* The reference is the first one; those that this processor does not have are passed over. */
static const char *const set_names[] = {"scalar", "sse2", "avx2", "avx512", "neon"};
enum { SETS = sizeof set_names / sizeof *set_names };

enum { MOST = 68, GUARD = 16 };

static void every_set_gives_the_same_bytes(void)
{
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 18;
    int tried = 0;
    for (int n = 1; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
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

static void every_set_draws_masks_the_same(void)
{
    enum { WIDTH = 90, HEIGHT = 70, COVERAGE = 100 };
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 44;
    for (int n = 1; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
        for (int round = 0; k && round < 120; round++) {
            uint32_t source[WIDTH * HEIGHT], expected[WIDTH * HEIGHT], found[WIDTH * HEIGHT];
            uint8_t coverage[COVERAGE * HEIGHT];
            for (int i = 0; i < WIDTH * HEIGHT; i++) {
                uint32_t alpha = random_next(&seed) % 3 ? random_next(&seed) % 256 : 255;
                source[i] = alpha << 24 | random_next(&seed) % (alpha + 1) * 0x10101;
            }
            for (int i = 0; i < COVERAGE * HEIGHT; i++)
                coverage[i] = i / 16 % 3 ? 0 : (uint8_t)random_next(&seed);
            uint32_t alpha = round % 2 ? 255 : random_next(&seed) % 256, word = alpha << 24;
            for (int c = 0; c < 24; c += 8) word |= (uint32_t)random_next(&seed) % (alpha + 1) << c;
            gesso_shape outer = {.x1 = 60 * 256, .y1 = 64 * 256, .x0 = 40, .y0 = 90};
            if (round % 5 < 2) outer.y0 = 128, outer.y1 -= 128; /* the same from below */
            for (int i = 0; i < 4; i++) outer.rx[i] = outer.ry[i] = round * 60;
            gesso_shape inner = {.x0 = outer.x0 + 700, .y0 = outer.y0 + 700, .x1 = outer.x1 - 700, .y1 = outer.y1 - 700};
            gesso_mask *mask = gesso_mask_create(&outer, round % 3 ? &inner : NULL);
            if (round % 7 == 0) mask->rows[1].end = mask->rows[1].first = mask->rows[mask->height - 1].first; /* an empty row */
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
            for (int n = 1; n < SETS; n++) {
                const gesso_kernels *k = gesso_kernels_named(set_names[n]);
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
    for (int n = 0; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
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

/* Each byte times each other one, over 255 and rounded, as coverage, as alpha and as what an alpha leaves. */
static void every_set_multiplies_all_bytes_right(void)
{
    uint32_t found[256], all[256], products[256];
    uint8_t coverage[256 + 16];
    for (uint32_t i = 0; i < 256; i++) all[i] = i * 0x010101, coverage[i] = (uint8_t)i;
    for (int n = 0; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
        for (uint32_t byte = 0; k && byte < 256; byte++) {
            uint32_t word = 0xff000000 | byte * 0x010101;
            for (uint32_t i = 0; i < 256; i++) products[i] = (2 * byte * i + 255) / 510;
            memset(found, 0, sizeof found);
            k->over_word_masked(found, coverage, 256, word);
            for (uint32_t i = 0; i < 256; i++) CHECK(found[i] == (i << 24 | products[i] * 0x010101));
            memset(found, 0, sizeof found);
            k->cover_word((uint8_t *)found, 1024, coverage, 256, 256, 1, word);
            for (uint32_t i = 0; i < 256; i++) CHECK(found[i] == (i << 24 | products[i] * 0x010101));
            memset(found, 0, sizeof found);
            k->over_alpha(found, all, 256, byte, 0xff000000);
            for (uint32_t i = 0; i < 256; i++) CHECK(found[i] == (byte << 24 | products[i] * 0x010101));
            memcpy(found, all, sizeof all);
            k->over_word(found, 256, (255 - byte) << 24);
            for (uint32_t i = 0; i < 256; i++) CHECK(found[i] == ((255 - byte) << 24 | products[i] * 0x010101));
            gesso_span span = {0, 256, (int32_t)(byte ? byte : 1), 0};
            gesso_mask_row row = {0, 1};
            gesso_mask mask = {.rows = &row, .spans = &span, .width = 256, .height = 1};
            memset(found, 0, sizeof found);
            for (uint32_t i = 0; byte && i < 256; i++) {
                span.length = 1 + (int32_t)(i % 16);
                k->mask_word((uint8_t *)found, 1024, &mask, 0, 1, 0xff000000 | all[i]);
                CHECK(found[span.length - 1] == (byte << 24 | products[i] * 0x010101));
                memset(found, 0, 64);
            }
        }
    }
}

static void every_set_covers_edges_the_same(void)
{
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 43;
    for (int n = 1; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
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

/* Rounded, whatever a difference of two coverages may be; and a number that is none covers nothing. */
static void every_set_makes_bytes_of_coverage(void)
{
    const float odd[] = {0, 1, -0.001f, 1.001f, -3, 7, 1e30f, -1e30f, 0.5f / 255, 0.499f / 255, 254.5f / 255, -0.0f, NAN};
    enum { ODD = sizeof odd / sizeof *odd, LONGEST = 70 };
    uint64_t seed = 48;
    for (int n = 0; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
        for (size_t count = 1; k && count <= LONGEST; count++) {
            float coverage[LONGEST + 16] = {0};
            uint8_t bytes[LONGEST + 16];
            for (size_t i = 0; i < count; i++) {
                bool is_odd = random_next(&seed) % 2;
                coverage[i] = is_odd ? odd[random_next(&seed) % ODD] : (float)(random_next(&seed) % 10000) / 10000;
            }
            k->cover_bytes(bytes, coverage, count);
            for (size_t i = 0; i < count; i++) {
                double within = isnan(coverage[i]) ? 0 : fmin(fmax(coverage[i], 0), 1);
                CHECK(fabs(bytes[i] - within * 255) <= 0.5001);
            }
        }
    }
}

/* The hole of a ring is what its inner circle covers, however large the outer one is. */
static void the_hole_of_a_large_ring_is_as_exact_as_a_circle(void)
{
    const float outers[] = {40, 500, 1500, 3000, 8000};
    uint64_t seed = 46;
    for (int n = 0; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
        for (int round = 0; k && round < 300; round++) {
            float x[16], y[16], ring[16], circle[16], r = 3 + (float)(random_next(&seed) % 2000) / 100;
            for (int i = 0; i < 16; i++) {
                double angle = (double)(random_next(&seed) % 62832) / 1e4;
                double reach = r + (double)(random_next(&seed) % 256) / 128 - 1;
                x[i] = (float)(reach * cos(angle)), y[i] = (float)(reach * sin(angle));
            }
            k->cover_ring(ring, x, y, 16, outers[round % 5], r);
            k->cover_edges(circle, x, y, 16, 1 / (r * r), 1 / (r * r));
            for (int i = 0; i < 16; i++) CHECK(fabs(ring[i] + circle[i] - 1) < 0.001);
        }
    }
}

static void every_set_finds_the_same_places_in_gradients(void)
{
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 47;
    int32_t expected[300], found[300];
    for (int n = 1; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
        for (int round = 0; k && round < 500; round++) {
            float v[8];
            for (int i = 0; i < 8; i++) v[i] = (float)(random_next(&seed) % 20000) / 10000 - 1;
            size_t count = 1 + random_next(&seed) % 300;
            reference->find_linear(expected, count, v[0], v[1] / 50, 1024);
            k->find_linear(found, count, v[0], v[1] / 50, 1024);
            CHECK(memcmp(expected, found, count * sizeof *found) == 0);
            float a = v[4] * v[4] + v[5] * v[5] + 0.5f;
            gesso_radial radial = {90 * v[0], 90 * v[1], v[2], v[3], 30 * v[4], 30 * v[5], a, 1 / a, 20 * v[6], 100 * v[7] * v[7]};
            reference->find_radial(expected, count, &radial, 1024);
            k->find_radial(found, count, &radial, 1024);
            CHECK(memcmp(expected, found, count * sizeof *found) == 0);
        }
    }
}

/* Of any length, from any place in a line of the cache, and nothing beside it. */
static void every_set_fills_just_what_it_should(void)
{
    static uint32_t pixels[420];
    for (int n = 0; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
        for (size_t begin = 1; k && begin < 17; begin++)
            for (size_t count = 0; count < 340; count += count < 140 ? 1 : 37) {
                memset(pixels, 0, sizeof pixels);
                k->fill(pixels + begin, count, 0xff123456);
                for (size_t i = 0; i < 420; i++) CHECK(pixels[i] == (i >= begin && i < begin + count ? 0xff123456 : 0));
            }
    }
}

static void every_set_weighs_the_same(void)
{
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 23;
    for (int n = 1; n < SETS; n++) {
        const gesso_kernels *k = gesso_kernels_named(set_names[n]);
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

const check_test kernel_set_tests[] = {
    TEST(every_set_gives_the_same_bytes, "every instruction set gives the same bytes"),
    TEST(every_set_draws_masks_the_same, "every instruction set draws masks the same"),
    TEST(every_set_blends_the_same, "every instruction set blends the same, and within the alpha"),
    TEST(every_set_converts_the_same, "every instruction set converts the same, there and back"),
    TEST(every_set_multiplies_all_bytes_right, "every instruction set multiplies all bytes right"),
    TEST(every_set_fills_just_what_it_should, "every instruction set fills just what it should"),
    TEST(every_set_finds_the_same_places_in_gradients, "every instruction set finds the same places in gradients"),
    TEST(the_hole_of_a_large_ring_is_as_exact_as_a_circle, "the hole of a large ring is as exact as a circle"),
    TEST(every_set_makes_bytes_of_coverage, "every instruction set makes bytes of coverage"),
    TEST(every_set_covers_edges_the_same, "every instruction set covers edges the same"),
    TEST(every_set_weighs_the_same, "every instruction set weighs the same"),
    TEST(over_rounds_as_pixman_does, "source-over rounds as pixman does"),
    {0}};

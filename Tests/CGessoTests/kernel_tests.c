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
        if (kind % 24 == 3) { /* large ellipses, with holes, for which there is memory of its own */
            outer.x1 = outer.x0 + 30000 + 20 * kind, outer.y1 = kind % 48 == 3 ? outer.y0 + 30000 + 20 * kind : outer.y0 + 40000;
            for (int i = 0; i < 4; i++) outer.rx[i] = (outer.x1 - outer.x0) / 2, outer.ry[i] = (outer.y1 - outer.y0) / 2;
        }
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
    CHECK(worst <= 1);
    CHECK(sum / count <= 0.01);
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
    TEST(downscaling_averages_areas_exactly, "making smaller averages areas, to the last digit"),
    TEST(making_larger_interpolates, "making larger interpolates, to the last digit"),
    {0}};

/* Gaussian blur of coverage, separable: rows, then columns. A narrow one by its weights; a wide one by five box blurs
 * of fractional width, whose cost does not depend on the width, and which come within 1 % of it. */
#include "internal.h"

/* From here on boxes are faster. */
static const double widest_kernel = 8;

int gesso_blur_reach(double sigma)
{
    /* Boxes reach farther than the kernel, which ends at 3 sigma, and what leaves the plane in one pass is not there
     * for the next one. */
    return sigma <= 0 ? 0 : sigma <= widest_kernel ? (int)ceil(3 * sigma) : (int)ceil(4 * sigma);
}

/* The Gaussian over the width of a pixel: what coverage, which is an area, is to be weighed by. */
static double weight(int i, double sigma)
{
    double scale = 1 / (sigma * sqrt(2));
    return (erf((i + 0.5) * scale) - erf((i - 0.5) * scale)) / 2;
}

/* Weights of 16 bits: their sum is exactly 65,536, so that a flat area stays what it was. */
static int make_kernel(double sigma, uint32_t *weights, int radius)
{
    double sum = erf((radius + 0.5) / (sigma * sqrt(2)));
    uint32_t total = 0;
    for (int i = -radius; i <= radius; i++) {
        weights[i + radius] = (uint32_t)lround(65536 * weight(i, sigma) / sum);
        total += weights[i + radius];
    }
    weights[radius] += 65536 - total;
    return 2 * radius + 1;
}

static gesso_status blur_by_kernel(uint8_t *pixels, int width, int height, ptrdiff_t stride, double sigma)
{
    int radius = gesso_blur_reach(sigma);
    size_t longest = (size_t)(width > height ? width : height);
    uint32_t *weights = malloc(((size_t)2 * (size_t)radius + 1) * sizeof *weights);
    uint8_t *line = calloc(longest + 2 * (size_t)radius, 1);
    /* Columns are summed for all of a row at once, so that the inner loop runs along memory. */
    uint8_t *rows = calloc((size_t)width, (size_t)height + 2 * (size_t)radius);
    uint32_t *sums = malloc((size_t)width * sizeof *sums);
    gesso_status status = weights && line && rows && sums ? GESSO_OK : GESSO_OUT_OF_MEMORY;
    if (status == GESSO_OK) {
        int taps = make_kernel(sigma, weights, radius);
        for (int y = 0; y < height; y++) {
            memcpy(line + radius, pixels + y * stride, (size_t)width);
            for (int x = 0; x < width; x++) sums[x] = 32768;
            for (int k = 0; k < taps; k++)
                for (int x = 0; x < width; x++) sums[x] += weights[k] * line[x + k];
            uint8_t *out = rows + (size_t)(y + radius) * (size_t)width;
            for (int x = 0; x < width; x++) out[x] = (uint8_t)(sums[x] >> 16);
        }
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) sums[x] = 32768;
            for (int k = 0; k < taps; k++) {
                const uint8_t *in = rows + (size_t)(y + k) * (size_t)width;
                for (int x = 0; x < width; x++) sums[x] += weights[k] * in[x];
            }
            uint8_t *out = pixels + y * stride;
            for (int x = 0; x < width; x++) out[x] = (uint8_t)(sums[x] >> 16);
        }
    }
    free(weights);
    free(line);
    free(rows);
    free(sums);
    return status;
}

enum { PASSES = 5 };

/* A box of 2 radius + 1 ones with a fraction at both ends, such that PASSES of them have the Gaussian's variance
 * (Gwosdek, Grewenig, Bruhn and Weickert, "Theoretical foundations of Gaussian convolution by extended box filtering",
 * 2011). Weights have 32 bits: the error of a rounded one counts ten times. */
typedef struct box_filter {
    int radius;
    uint64_t whole, fraction;
} box_filter;

static box_filter make_box(double sigma)
{
    double variance = sigma * sigma / PASSES;
    int radius = (int)floor((sqrt(12 * variance + 1) - 1) / 2);
    double r = radius;
    double fraction = (2 * r + 1) * (r * (r + 1) - 3 * variance) / (6 * (variance - (r + 1) * (r + 1)));
    double sum = 2 * r + 1 + 2 * fraction;
    return (box_filter){radius, (uint64_t)llround(4294967296 / sum), (uint64_t)llround(4294967296 * fraction / sum)};
}

/* The sample at i, 0 outside. */
static inline uint32_t sample(const uint16_t *line, int i, int count) { return i >= 0 && i < count ? line[i] : 0; }

static void blur_line(const uint16_t *in, uint16_t *out, int count, box_filter box)
{
    uint64_t sum = 0; /* of the ones, for the sample before the first */
    for (int i = 0; i < box.radius && i < count; i++) sum += in[i];
    for (int i = 0; i < count; i++) {
        sum += sample(in, i + box.radius, count);
        uint64_t ends = sample(in, i - box.radius - 1, count) + (uint64_t)sample(in, i + box.radius + 1, count);
        uint64_t value = (sum * box.whole + ends * box.fraction + (1u << 31)) >> 32;
        out[i] = (uint16_t)(value > 65535 ? 65535 : value);
        sum -= sample(in, i - box.radius, count);
    }
}

static void blur_lines(uint16_t *plane, uint16_t *scratch, int lines, int count, box_filter box)
{
    for (int line = 0; line < lines; line++) {
        uint16_t *in = plane + (size_t)line * (size_t)count, *out = scratch;
        for (int pass = 0; pass < PASSES; pass++) {
            blur_line(in, out, count, box);
            uint16_t *swap = in;
            in = out, out = swap;
        }
        if (in == scratch) memcpy(plane + (size_t)line * (size_t)count, scratch, (size_t)count * sizeof *scratch);
    }
}

/* Samples have 16 bits, 257 times those of the plane, so that ten roundings do not show. */
static gesso_status blur_by_boxes(uint8_t *pixels, int width, int height, ptrdiff_t stride, double sigma)
{
    size_t samples = (size_t)width * (size_t)height;
    uint16_t *plane = malloc(samples * sizeof *plane), *turned = malloc(samples * sizeof *turned);
    uint16_t *scratch = malloc((size_t)(width > height ? width : height) * sizeof *scratch);
    gesso_status status = plane && turned && scratch ? GESSO_OK : GESSO_OUT_OF_MEMORY;
    if (status == GESSO_OK) {
        box_filter box = make_box(sigma);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                plane[(size_t)y * (size_t)width + (size_t)x] = (uint16_t)(pixels[y * stride + x] * 257);
        blur_lines(plane, scratch, height, width, box);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                turned[(size_t)x * (size_t)height + (size_t)y] = plane[(size_t)y * (size_t)width + (size_t)x];
        blur_lines(turned, scratch, width, height, box);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                pixels[y * stride + x] = (uint8_t)((turned[(size_t)x * (size_t)height + (size_t)y] + 128) / 257);
    }
    free(plane);
    free(turned);
    free(scratch);
    return status;
}

gesso_status gesso_blur_a8(uint8_t *pixels, int width, int height, ptrdiff_t stride, double sigma)
{
    if (sigma <= 0 || width <= 0 || height <= 0) return GESSO_OK;
    return sigma <= widest_kernel ? blur_by_kernel(pixels, width, height, stride, sigma)
                                  : blur_by_boxes(pixels, width, height, stride, sigma);
}

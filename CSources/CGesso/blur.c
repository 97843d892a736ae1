/* Gaussian blur of coverage, separable: rows, then columns. */
#include "internal.h"

/* Weights of 16 bits: their sum is exactly 65,536, so that a flat area stays what it was. */
static int make_kernel(double sigma, uint32_t *weights, int radius)
{
    double sum = 0;
    for (int i = -radius; i <= radius; i++) sum += exp(-i * i / (2 * sigma * sigma));
    uint32_t total = 0;
    for (int i = -radius; i <= radius; i++) {
        weights[i + radius] = (uint32_t)lround(65536 * exp(-i * i / (2 * sigma * sigma)) / sum);
        total += weights[i + radius];
    }
    weights[radius] += 65536 - total;
    return 2 * radius + 1;
}

gesso_status gesso_blur_a8(uint8_t *pixels, int width, int height, ptrdiff_t stride, double sigma)
{
    int radius = (int)ceil(3 * sigma);
    if (radius == 0 || width <= 0 || height <= 0) return GESSO_OK;
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

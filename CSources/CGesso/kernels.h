/* The loops over pixels, each in several instruction sets that give the same bytes. */
#ifndef GESSO_KERNELS_H
#define GESSO_KERNELS_H

#include "include/gesso.h"
#include "shape.h"

#include <stddef.h>

/* Adds each of a word's bytes by itself. */
static inline uint32_t gesso_add_bytes(uint32_t a, uint32_t b)
{
    return ((a & 0x7f7f7f7f) + (b & 0x7f7f7f7f)) ^ ((a ^ b) & 0x80808080);
}

/* A band's masks: see band_masks.c. A bit for each group of eight pixels: it is marked, which means that some pixel is not as
 * the one above. For each marked group a byte of these pixels, and a bit: some of them are as the one to the left; for each
 * such group a byte of those. */
typedef struct gesso_masks {
    uint8_t *marked, *differs, *has_left, *left;
    size_t marked_count, left_count, literal_count;
} gesso_masks;

/* The `count` pixels above those from `i` on, in rows of at least eight; above the first row lies another one. Where both
 * rows are needed they are put together in `mixed`. */
static inline const uint32_t *gesso_above(
    const uint32_t *pixels, size_t i, size_t count, uint32_t width, const uint32_t *row, uint32_t *mixed)
{
    if (i >= width) return pixels + i - width;
    if (i + count <= width) return row + i;
    for (size_t k = 0; k < count; k++) mixed[k] = i + k < width ? row[i + k] : pixels[i + k - width];
    return mixed;
}

/* A radial gradient's circles, from the start circle's centre: what is solved for the largest t at which the circle around
 * t · c with the radius r + t · dr goes through (x, y): a·t² − 2·(x·cx + y·cy + r·dr)·t + x² + y² − r² = 0, a < 0. */
typedef struct gesso_radial {
    float x, y, dx, dy; /* of the first pixel, and from each to the next */
    float cx, cy, a, inverse_a, r_dr, r_square;
} gesso_radial;

/* Blends pixels with others, as much as each is covered. */
typedef void (*gesso_blend_function)(uint32_t *target, const uint32_t *source, const uint8_t *coverage, size_t count);

/* Pixels are premultiplied words. All blends round as pixman does: x·a/255 to the nearest. */
typedef struct gesso_kernels {
    const char *name;
    /* By mode; null for normal, which the other functions are for, and for those that are not separable. */
    const gesso_blend_function *blends;
    /* Stores a word. */
    void (*fill)(uint32_t *target, size_t count, uint32_t word);
    /* Copies pixels, and makes them opaque. */
    void (*copy_opaque)(uint32_t *target, const uint32_t *source, size_t count);
    /* Draws a word over. */
    void (*over_word)(uint32_t *target, size_t count, uint32_t word);
    /* Draws a word over, as much as each pixel is covered. Up to 7 bytes after the coverage are read, too. */
    void (*over_word_masked)(uint32_t *target, const uint8_t *coverage, size_t count, uint32_t word);
    /* Draws pixels over. */
    void (*over)(uint32_t *target, const uint32_t *source, size_t count);
    /* Draws pixels over, times alpha / 255. `solid` is or'ed to them first: 0xff000000 for opaque ones. */
    void (*over_alpha)(uint32_t *target, const uint32_t *source, size_t count, uint32_t alpha, uint32_t solid);
    /* Draws pixels over, as much as each is covered. Up to 7 bytes after the coverage are read, too. */
    void (*over_masked)(
        uint32_t *target, const uint32_t *source, const uint8_t *coverage, size_t count, uint32_t solid);
    /* Draws a word over, in the rows first ..< end of a mask, whose row 0 begins at `target`. The stride is in bytes. */
    void (*mask_word)(
        uint8_t *target, ptrdiff_t stride, const gesso_mask *mask, int32_t first, int32_t end, uint32_t word);
    /* Draws a word over, in a rectangle of coverage, much of which is 0. Strides are in bytes; up to 7 bytes of coverage
     * after each row are read, too. */
    void (*cover_word)(
        uint8_t *target, ptrdiff_t stride, const uint8_t *coverage, ptrdiff_t coverage_stride, size_t width, size_t height,
        uint32_t word);
    /* Draws pixels over, in the same way as mask_word; the source's are where the target's are. */
    void (*mask_pixels)(
        uint8_t *target, ptrdiff_t stride, const uint8_t *source, ptrdiff_t source_stride, const gesso_mask *mask,
        int32_t first, int32_t end, uint32_t solid);
    /* Writes how much of each pixel is inside of an ellipse, 0…1. The pixels' centres, which are not (0, 0), are given from
     * the ellipse's; hx and hy are 1 / radius² along each axis. Up to 15 more are read, and written. */
    void (*cover_edges)(float *result, const float *x, const float *y, size_t count, float hx, float hy);
    /* The same of a ring between two circles of such radii, which are so far from one another that no pixel has both. */
    void (*cover_ring)(float *result, const float *x, const float *y, size_t count, float outer, float inner);
    /* Coverage as bytes, rounded. Up to 15 more are read, and written. */
    void (*cover_bytes)(uint8_t *bytes, const float *coverage, size_t count);
    /* Stores pixels whose blue, green, red and alpha, in 8.8 fixed point, begin at `from` and change by `step` from each to
     * the next; fractions are cut off. */
    void (*ramp)(uint32_t *target, size_t count, const uint16_t from[4], const int16_t step[4]);
    /* Finds where pixels are in a table of `size` colours along 0…1, which has one more on each side: of places that begin
     * at `from` and change by `step`, and of places in a radial gradient. */
    void (*find_linear)(int32_t *indices, size_t count, float from, float step, int32_t size);
    void (*find_radial)(int32_t *indices, size_t count, const gesso_radial *radial, int32_t size);
    /* Between straight bytes, red, green, blue, alpha or blue, green, red, alpha, and premultiplied words; rounded to the
     * nearest, and a pixel without alpha is 0. */
    void (*premultiply)(uint32_t *words, const uint8_t *bytes, size_t count, bool is_rgba);
    void (*unpremultiply)(uint8_t *bytes, const uint32_t *words, size_t count, bool is_rgba);
    /* Packs and unpacks blocks of sixteen bytes: see bit_pack.h. The widths are 0 before; packing gives the bytes of planes,
     * after which up to 16 more are written. Unpacking reads just these. */
    size_t (*pack)(uint8_t *widths, uint8_t *planes, const uint8_t *values, size_t blocks);
    void (*unpack)(uint8_t *values, const uint8_t *widths, const uint8_t *planes, size_t blocks, size_t bytes);
    /* Finds the masks of a band and counts them; those of single bits are 0 before, and each has room for eight bytes
     * more. `row` lies above the first row. Each literal's word is written, and the one above it, with room for 16 more than
     * there can be. */
    void (*find_masks)(
        const uint32_t *pixels, size_t count, uint32_t width, const uint32_t *row, gesso_masks *masks, uint32_t *words,
        uint32_t *aboves);
    /* The reverse, of masks whose counts are right, behind the last byte of which eight more may be read. What is above is
     * added to words, of the bytes that `differences` has set; `solid` is or'ed to them. There may be words for eight pixels
     * more than there are.
     * False if pixels are as the one to the left and do not differ, or if there are not as many literals as was said. */
    bool (*expand_masks)(
        uint32_t *pixels, size_t count, uint32_t width, const uint32_t *row, const gesso_masks *masks, const uint32_t *words,
        uint32_t differences, uint32_t solid);
    /* Splits words, less others if there are any, byte by byte, into planes of bytes, a pitch from one another: green, red
     * and blue less green, and alpha; and joins such planes, without alpha if there is no plane of it. */
    void (*split_planes)(
        uint8_t *planes, size_t pitch, const uint32_t *words, const uint32_t *others, size_t count, bool has_alpha);
    void (*join_planes)(uint32_t *words, const uint8_t *planes, size_t pitch, size_t count, bool has_alpha);
    /* Adds words, each byte by itself. The sums do not overlap the others. */
    void (*add_words)(uint32_t *sums, const uint32_t *words, const uint32_t *others, size_t count);
    /* Adds words, each byte by itself, to those before them: to `last`, the first one. */
    void (*running_sums)(uint32_t *sums, const uint32_t *words, size_t count, uint32_t last);
    /* Adds weight · sample to sums. */
    void (*accumulate)(uint32_t *sums, const uint8_t *samples, size_t count, uint32_t weight);
    /* Sums rows by weights of 1/65,536, to 1/256 of a sample: each product is cut off there. */
    void (*weigh_rows)(
        uint16_t *sums, const uint8_t *first, ptrdiff_t stride, const uint32_t *weights, size_t rows, size_t count);
    /* Sums pixels of four such values by weights, and rounds to a pixel: `each` of them, 2 or a multiple of 4, from the
     * first one on. Each weight stands there four times, as 16 bits, one pixel's after the other's. */
    void (*weigh_columns)(
        uint32_t *target, const uint16_t *values, const int32_t *firsts, const uint16_t *weights, size_t each,
        size_t count);
} gesso_kernels;

/* Those for this processor, or the ones that the environment variable GESSO_SIMD names: scalar, sse2, avx2, avx512 or
 * neon. */
const gesso_kernels *gesso_kernels_get(void);
/* By name; null if this processor does not have them. */
const gesso_kernels *gesso_kernels_named(const char *name);

#endif

/* The loops over pixels, each in several instruction sets that give the same bytes. */
#ifndef GESSO_KERNELS_H
#define GESSO_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Pixels are premultiplied words. All blends round as pixman does: x·a/255 to the nearest. */
typedef struct gesso_kernels {
    const char *name;
    /* Stores a word. */
    void (*fill)(uint32_t *target, size_t count, uint32_t word);
    /* Draws a word over. */
    void (*over_word)(uint32_t *target, size_t count, uint32_t word);
    /* Draws a word over, as much as each pixel is covered. */
    void (*over_word_masked)(uint32_t *target, const uint8_t *coverage, size_t count, uint32_t word);
    /* Draws pixels over. */
    void (*over)(uint32_t *target, const uint32_t *source, size_t count);
    /* Draws pixels over, times alpha / 255. `solid` is or'ed to them first: 0xff000000 for opaque ones. */
    void (*over_alpha)(uint32_t *target, const uint32_t *source, size_t count, uint32_t alpha, uint32_t solid);
    /* Draws pixels over, as much as each is covered. */
    void (*over_masked)(
        uint32_t *target, const uint32_t *source, const uint8_t *coverage, size_t count, uint32_t solid);
    /* Adds weight · sample to sums. */
    void (*accumulate)(uint32_t *sums, const uint8_t *samples, size_t count, uint32_t weight);
} gesso_kernels;

/* Those for this processor, or the ones that the environment variable GESSO_SIMD names: scalar, sse2, avx2, neon. */
const gesso_kernels *gesso_kernels_get(void);
/* By name; null if this processor does not have them. */
const gesso_kernels *gesso_kernels_named(const char *name);

#endif

/* Drawing one source in spans of coverage: what the kernels' way to draw is made of. */
#ifndef GESSO_FAST_SPANS_H
#define GESSO_FAST_SPANS_H

#include "gradient.h"

/* What is drawn: a word, pixels, or a gradient. */
typedef struct gesso_source {
    uint32_t word;
    const gesso_bitmap *picture;
    int32_t x, y;   /* of the picture's first pixel, on the device */
    uint32_t alpha; /* of the picture, 0…255 */
    uint32_t solid; /* or'ed to its pixels */
    const gesso_ramp *ramp;
} gesso_source;

typedef struct gesso_drawing {
    const gesso_kernels *kernels;
    gesso_bitmap *target;
    gesso_box box; /* nothing is drawn outside */
    gesso_blend_function blend; /* null: drawn over */
    gesso_source source;
} gesso_drawing;

/* Draws pixels x ..< x + length of a row: `value` of 255 for all of them, or `coverage` for each, after whose end some
 * more bytes are read. */
void gesso_draw_span(
    const gesso_drawing *d, int32_t y, int32_t x, int32_t length, int32_t value, const uint8_t *coverage);

/* Draws in a mask whose first pixel is (left, top). */
void gesso_draw_mask(const gesso_drawing *d, const gesso_mask *mask, int32_t left, int32_t top);

#endif

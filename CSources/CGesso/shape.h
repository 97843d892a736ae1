/* Rectangles with elliptical corners, on the device's 1/256 grid, and the exact coverage of pixels by them. */
#ifndef GESSO_SHAPE_H
#define GESSO_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

/* A rectangle in units of 1/256 pixel, and the radii of its corners: top left, top right, bottom right, bottom left.
 * An ellipse has radii of half its sides. On this grid, so that a shape has the same phase wherever it is moved by
 * whole pixels, and its coverage can be remembered. */
typedef struct gesso_shape {
    int32_t x0, y0, x1, y1;
    int32_t rx[4], ry[4];
} gesso_shape;

enum { GESSO_GRID = 256 };

/* Coverage of one row: spans of equal or of single values, from left to right. */
typedef struct gesso_span {
    int32_t x, length;
    int32_t value; /* 1…255 for all of it, or -1: each pixel has its own */
    uint32_t at;   /* where those are among the mask's bytes */
} gesso_span;

/* A row's spans are first ..< end. */
typedef struct gesso_mask_row {
    uint32_t first, end;
} gesso_mask_row;

/* Coverage of a shape by rows of spans, relative to the pixel that holds the shape's top left corner. */
typedef struct gesso_mask {
    uint32_t references;
    int32_t width, height;
    gesso_mask_row *rows; /* in the mask's own memory; rows that look alike have the same spans */
    gesso_span *spans;
    uint8_t *bytes; /* with some more after the last one, which kernels read */
    uint8_t *own_bytes;
    uint32_t span_count, span_capacity, byte_count, byte_capacity;
    uint32_t row_begin; /* while it is made: the first span of the last row */
} gesso_mask;

/* The pixel that holds the shape's top left corner. */
static inline int32_t gesso_shape_left(const gesso_shape *shape) { return shape->x0 >> 8; }
static inline int32_t gesso_shape_top(const gesso_shape *shape) { return shape->y0 >> 8; }

bool gesso_shape_is_rectangle(const gesso_shape *shape);
/* A rectangle whose edges lie between pixels. */
bool gesso_shape_is_aligned(const gesso_shape *shape);
bool gesso_shape_equals(const gesso_shape *a, const gesso_shape *b);

/* The coverage of `outer` without `inner`, which lies inside of it or is null. Null: out of memory.
 * Remembered by thread, within bounds. Ownership: the caller releases it, on the thread that asked. */
gesso_mask *gesso_mask_of(const gesso_shape *outer, const gesso_shape *inner);
/* The coverage of `shape` within `clip`, and the pixel of its first column and row. */
gesso_mask *gesso_mask_within(const gesso_shape *shape, const gesso_shape *clip, int32_t *left, int32_t *top);
void gesso_mask_release(gesso_mask *mask);

/* The same without looking for a remembered one. */
gesso_mask *gesso_mask_create(const gesso_shape *outer, const gesso_shape *inner);
/* The product of two, the second of which begins at (x, y) of the first. It begins where the first one does. */
gesso_mask *gesso_mask_multiply(const gesso_mask *first, const gesso_mask *second, int32_t x, int32_t y);
/* Writes a row's coverage of the mask's pixels x ..< x + width; nothing covers what is beside the mask. */
void gesso_mask_expand(const gesso_mask *mask, int32_t row, int32_t x, int32_t width, uint8_t *bytes);
/* All of it in closed form: what tests compare with. */
gesso_mask *gesso_mask_create_exact(const gesso_shape *outer, const gesso_shape *inner);

/* How many masks a thread remembers; 0 forgets them all. */
void gesso_mask_remember(int count);

#endif

/* The blurred coverage of shapes, for their shadows. */
#ifndef GESSO_SOFT_H
#define GESSO_SOFT_H

#include "shape.h"

/* A shape that is blurred is flat along its straight edges: its corners are kept, and one column and one row between
 * them, which stand for as many as there are. */
typedef struct gesso_soft {
    uint32_t references;
    int32_t reach;         /* pixels around the shape that the blur covers */
    int32_t width, height; /* of the plane, which is the shape's with its reach */
    int32_t column, row;   /* the ones that are repeated */
    uint8_t *pixels;       /* with some more after the last one, which kernels read */
} gesso_soft;

/* The blurred coverage of a shape, relative to the pixel of its top left corner less the reach. `extra_columns` and
 * `extra_rows` receive how many times more the column and the row stand there in the shape itself.
 * Null: out of memory, or too large to be worth it. Remembered by thread, within bounds. Ownership: the caller releases
 * it, on the thread that asked. */
gesso_soft *gesso_soft_of(const gesso_shape *shape, double sigma, int32_t *extra_columns, int32_t *extra_rows);
void gesso_soft_release(gesso_soft *soft);

#endif

/* The exact coverage of a row's pixels by a shape, in closed form. */
#ifndef GESSO_ROW_COVERAGE_H
#define GESSO_ROW_COVERAGE_H

#include "shape.h"

/* The left side of a shape, in pixels from (left, top); or the right one, mirrored at x = 0. */
typedef struct gesso_side {
    double x, top, bottom; /* the straight edge's x, and where the shape begins and ends */
    double top_rx, top_ry, bottom_rx, bottom_ry;
} gesso_side;

/* A quarter of an ellipse around (cx, cy), its part of a row, and what does not depend on X. */
typedef struct gesso_quarter {
    double cx, cy, rx, ry, from, to;
    bool is_lower;
    double integral_from, integral_to;
    double first, last; /* the leftmost and rightmost x of this part */
} gesso_quarter;

/* One row's part of a side. */
typedef struct gesso_side_row {
    gesso_quarter upper, lower;
    double x, straight; /* the straight edge, and how much of the row's height it has */
    double first, last; /* the leftmost and rightmost x */
} gesso_side_row;

/* The row of one shape: the pixels in which its left side lies, what is between, and those of its right side. */
typedef struct gesso_row {
    int32_t begin, left_end, right_begin, end;
    double height; /* coverage between the sides */
    gesso_side_row left, right;
} gesso_row;

gesso_side gesso_side_left(const gesso_shape *shape, int32_t left, int32_t top);
gesso_side gesso_side_right(const gesso_shape *shape, int32_t left, int32_t top);

gesso_side_row gesso_side_row_make(const gesso_side *side, int y);
/* The area of the row to the left of x, in a shape that has this side only. */
double gesso_side_row_area(const gesso_side_row *row, double x);

/* Row `y` of `width` pixels. */
gesso_row gesso_row_make(const gesso_side *left, const gesso_side *right, int y, int32_t width);
/* Adds the coverage of the pixels begin ..< end, each by itself. `scale` is 1, or -1 to take it away. */
void gesso_row_add_coverage(const gesso_row *row, int32_t begin, int32_t end, double scale, double *coverage);

#endif

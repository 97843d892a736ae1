/* Where a shape's edges lie, in all rows of a mask at once: to within a pixel, and smooth enough for the kernel that finds
 * the coverage. */
#ifndef GESSO_MASK_OUTLINE_H
#define GESSO_MASK_OUTLINE_H

#include "row_coverage.h"
#include "shape.h"

/* The ellipse that a corner is a quarter of. */
typedef struct gesso_corner {
    float cx, cy, rx;
    float first, last; /* of x, from the centre, where the quarter is */
} gesso_corner;

/* Where one shape's edges lie, by row. */
typedef struct gesso_outline {
    bool is_ellipse, is_round, is_easy; /* round: at all corners */
    float x0, y0, x1, y1;
    float hx, hy; /* 1 / radius² along each axis, of all corners that are round */
    gesso_corner corners[4];
    gesso_side left_side, right_side;
    float *left, *right; /* at the rows' boundaries */
    /* If found for all rows: the pixels of each row in which the edges lie, begin ..< left_end and right_begin ..< end;
     * all 0 where there are none. */
    int32_t *begin, *left_end, *right_begin, *end;
} gesso_outline;

/* The pixels of a row in which a shape's edges lie. */
typedef struct gesso_extent {
    int32_t begin, left_end, right_begin, end;
} gesso_extent;

/* Whether a shape's corners are alike, and large enough for the kernel. */
bool gesso_outline_is_smooth(const gesso_shape *shape);
/* The edges of a shape in the first `rows` of a mask whose pixel (0, 0) is at (left, top). `memory` has room for two numbers
 * for each boundary of rows. */
void gesso_outline_trace(
    gesso_outline *outline, const gesso_shape *shape, int32_t rows, int32_t left, int32_t top, float *memory);
/* The pixels of a row in which the edges lie; and of all rows at once, with four numbers of memory for each. */
gesso_extent gesso_outline_extent(const gesso_outline *outline, int32_t y, int32_t width);
void gesso_outline_find_extents(gesso_outline *outline, int32_t rows, int32_t width, int32_t *memory);
/* Whether the row is near to a place where the edge is upright or level, and bends so much there that it may enter a pixel
 * and leave it again by the same side. */
bool gesso_outline_is_hard(const gesso_outline *outline, int32_t y);
/* The corner that one side follows through all of a row, or null if it is straight there, at least for a part. */
const gesso_corner *gesso_outline_side(const gesso_outline *outline, bool left, int32_t y);
/* Whether corners of one shape have the centres of the other's, so that pixels are as far from both. */
bool gesso_shape_is_concentric(const gesso_shape *a, const gesso_shape *b);
/* Whether a pixel that one edge of a ring of two circles crosses always is nearer to that one, by the squares of radii. */
bool gesso_outline_is_wide_ring(const gesso_outline *outer, const gesso_outline *inner);

#endif

/* The rows of a mask whose edges are smooth enough for the kernel: where the edges lie is found for all rows at once, and
 * the coverage of their pixels for many rows at a time. */
#ifndef GESSO_MASK_EDGES_H
#define GESSO_MASK_EDGES_H

#include "kernels.h"
#include "mask_outline.h"

/* The coverage of a pixel whose corner or column the kernel does not see right. */
typedef struct gesso_correction {
    uint32_t at;
    bool is_inner;
    float coverage;
} gesso_correction;

enum { GESSO_CORRECTIONS = 32, GESSO_SMALL_EDGES = 2048, GESSO_SMALL_EXTENTS = 1024 };

typedef struct gesso_edges {
    gesso_mask *mask;
    const gesso_kernels *kernels;
    bool has_inner, is_wide_ring, has_arcs;
    gesso_outline outer, inner;
    float *memory;    /* which is `small` if that is enough */
    int32_t *extents; /* and `small_extents` */
    uint32_t capacity, pending; /* pixels for which there is room; the first that is not finished */
    float *x, *y; /* of the pixels' centres, from those of the ellipses */
    int correction_count;
    gesso_correction corrections[GESSO_CORRECTIONS];
    _Alignas(64) float small[GESSO_SMALL_EDGES]; /* so that whole vectors lie in one line of the cache */
    int32_t small_extents[GESSO_SMALL_EXTENTS];
} gesso_edges;

/* For the first `rows` of a mask. False if the shapes have corners too small for the kernel, or unlike ones, or memory is short: all rows are to be made
 * otherwise then.
 * gesso_edges_end has to be called after true. */
bool gesso_edges_begin(
    gesso_edges *edges, gesso_mask *mask, int32_t rows, const gesso_shape *outer, const gesso_shape *inner);
/* Adds the rows y ..< end to the mask, if it has_arcs, as far as they are the most frequent ones, in which each side is one
 * arc; and returns the first that it did not add. */
int32_t gesso_edges_add_arcs(gesso_edges *edges, int32_t y, int32_t end);
/* Adds row `y` to the mask, unless it is none for the kernel. False: out of memory. */
bool gesso_edges_add_row(gesso_edges *edges, int32_t y, bool *done);
/* Writes the coverage of the rows so far. */
void gesso_edges_finish(gesso_edges *edges);
/* Leaves alone what somebody else has added since. */
void gesso_edges_skip(gesso_edges *edges);
void gesso_edges_end(gesso_edges *edges);

#endif

/* Text that is laid out: what it takes to measure and to draw it. Blocks that a thread made lately are kept, since shaping
 * costs far more than drawing. */
#ifndef GESSO_TEXT_BLOCK_H
#define GESSO_TEXT_BLOCK_H

#include "text_coverage.h"

static inline double gesso_text_clamp01(double value) { return value < 0 ? 0 : value > 1 ? 1 : value; }

typedef struct gesso_text_block {
    uint32_t references; /* of one thread */
    gesso_text_line line;  /* all of it, or else: */
    PangoLayout *layout;
    bool is_truncated, is_aligned; /* aligned: within the width that it was laid out in */
    int lines;                     /* that are shown */
    double width, height;          /* of those, in points */
    double first_baseline;
    double left, top, right, bottom; /* of the ink, in points from the layout's origin */
    gesso_text_coverage *coverage; /* as it was drawn last, or null */
} gesso_text_block;

/* Lays text out in a width and height in points, for a transform to the device; 0: without bound. Ownership: the caller
 * releases the block, on this thread. */
gesso_status gesso_text_block_get(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    gesso_transform transform, gesso_text_block **block);
void gesso_text_block_release(gesso_text_block *block);

/* Gives a block that is one line a layout, too, for what else than coverage is to be drawn; from what it was made of. */
gesso_status gesso_text_block_lay_out(
    gesso_text_block *block, const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width,
    double height, gesso_transform transform);

/* The same as get without looking for one that is kept. */
gesso_status gesso_text_block_create(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    gesso_transform transform, gesso_text_block **block);

#endif

/* A text's coverage, put together from glyphs: all that is of one colour is one item to draw. */
#ifndef GESSO_TEXT_COVERAGE_H
#define GESSO_TEXT_COVERAGE_H

#include "include/gesso_text.h"

#include "text_line.h"

typedef struct gesso_text_coverage {
    double scale;         /* pixels to a point */
    int phase_x;          /* of the layout's origin, in quarters of a pixel */
    double fraction_y;    /* and below its pixel's top: baselines are rounded to pixels once, from the exact place */
    bool is_drawable;     /* false if the text has something that is not the atlas's: colours of its own, lines, … */
    size_t count;
    gesso_coverage *items; /* from the pixel of the layout's origin */
    uint8_t *bytes;
} gesso_text_coverage;

/* Of a line, or else of the first lines of a layout. Null: out of memory. */
gesso_text_coverage *gesso_text_coverage_create(
    const gesso_text_line *line, PangoLayout *layout, int lines, double scale, int phase_x, double fraction_y);
void gesso_text_coverage_destroy(gesso_text_coverage *coverage);

#endif

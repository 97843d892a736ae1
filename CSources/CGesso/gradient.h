/* A gradient's pixels, row by row. */
#ifndef GESSO_GRADIENT_H
#define GESSO_GRADIENT_H

#include "context_internal.h"
#include "kernels.h"

/* A stop's blue, green, red and alpha, premultiplied, up to 65,280, and what they change by to the next one: along all of
 * the way, and from pixel to pixel. */
typedef struct gesso_line_stop {
    float color[4], change[4];
    int16_t step[4];
    double inverse_length; /* 0 for none */
} gesso_line_stop;

/* Straight lines of premultiplied colour from stop to stop where the alpha stays, and else a table of colours. */
typedef struct gesso_ramp {
    const gesso_gradient_stop *stops;
    size_t count;
    bool is_opaque, is_radial;
    double origin, by_x, by_y;    /* linear: the place of the pixel (x, y)'s centre is origin + by_x · x + by_y · y */
    gesso_radial radial;          /* radial: for the row's pixels but for the place of the first */
    cairo_matrix_t inverse;       /* from pixels' centres to where the start circle is the origin */
    struct gesso_line_stop *lines; /* for straight lines: the stops, as they need them */
    uint32_t *table;              /* null: by straight lines */
    int32_t size;                 /* colours along 0…1; one more on each side is for beyond the ends */
    int32_t *indices;             /* room for a row's */
    uint32_t *line;               /* and for its pixels */
} gesso_ramp;

/* Along the line from one point of user space to another, for rows of so many pixels. False: it is for Cairo, or memory is
 * short. The ramp refers to the stops. gesso_ramp_end has to be called in any case. */
bool gesso_ramp_begin_linear(
    gesso_ramp *ramp, const gesso_gradient_stop *stops, size_t count, const cairo_matrix_t *matrix, double start_x,
    double start_y, double end_x, double end_y, uint32_t options, int32_t width);
/* Between two circles, one of which lies in the other. */
bool gesso_ramp_begin_radial(
    gesso_ramp *ramp, const gesso_gradient_stop *stops, size_t count, const cairo_matrix_t *matrix, double start_x,
    double start_y, double start_radius, double end_x, double end_y, double end_radius, uint32_t options, int32_t width);
/* Writes the pixels begin ..< end of row y. */
void gesso_ramp_fill(const gesso_ramp *ramp, const gesso_kernels *kernels, int32_t y, int32_t begin, int32_t end, uint32_t *out);
void gesso_ramp_end(gesso_ramp *ramp);

#endif

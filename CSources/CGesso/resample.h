#ifndef GESSO_RESAMPLE_H
#define GESSO_RESAMPLE_H

#include "internal.h"
#include "shape.h"

/* A bitmap made to fill a rectangle of the device, smaller by averaging areas, larger by linear interpolation: whole
 * pixels that hold the rectangle, whose first is the one of the rectangle's top left corner. A frozen source's copies are
 * remembered, within bounds, so that an icon in a list is resampled once.
 * Null: out of memory. Ownership: the caller releases it. Thread-safety: any thread. */
gesso_bitmap *gesso_resampled(const gesso_bitmap *source, const gesso_shape *rectangle);

/* Where the centre of nine parts begins and ends along each axis: in the source's pixels, and in the result's. */
typedef struct gesso_parts {
    int32_t source[2][2], target[2][2];
} gesso_parts;

/* The same in nine parts: what is outside of the centre stretches from edge to edge by itself; by the nearest pixels, if
 * that is asked for. */
gesso_bitmap *gesso_resampled_in_parts(
    const gesso_bitmap *source, int32_t width, int32_t height, const gesso_parts *parts, bool nearest);

/* How many bytes of them are kept at most; 0 forgets them all. For tests and benches. */
void gesso_resampled_remember(size_t bytes);

#endif

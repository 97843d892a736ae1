#ifndef GESSO_RESAMPLE_H
#define GESSO_RESAMPLE_H

#include "internal.h"
#include "shape.h"

/* A bitmap made to fill a rectangle of the device, smaller by averaging areas, larger by linear interpolation: whole
 * pixels that hold the rectangle, whose first is the one of the rectangle's top left corner. A frozen source's copies are
 * remembered, within bounds, so that an icon in a list is resampled once.
 * Null: out of memory. Ownership: the caller releases it. Thread-safety: any thread. */
gesso_bitmap *gesso_resampled(const gesso_bitmap *source, const gesso_shape *rectangle);

/* How many bytes of them are kept at most; 0 forgets them all. For tests and benches. */
void gesso_resampled_remember(size_t bytes);

#endif

/* Making a mask, row by row. */
#ifndef GESSO_MASK_BUILDER_H
#define GESSO_MASK_BUILDER_H

#include "shape.h"

enum { GESSO_READ_BEYOND = 8 }; /* by kernels, after the last byte */

/* Room for so many more spans, and so many bytes of coverage with what kernels read behind them. False: out of memory. */
bool gesso_mask_make_room(gesso_mask *mask, uint32_t spans, uint32_t bytes);

/* Adds a span to the last row, for which there is room; `at` is the end of the bytes less the length, for one that has its
 * own. Neighbours that have their own become one. */
static inline void gesso_mask_put_span(gesso_mask *mask, int32_t x, int32_t length, int32_t value, uint32_t at)
{
    if (length <= 0 || value == 0) return;
    if (value < 0 && mask->span_count > mask->row_begin) {
        gesso_span *last = &mask->spans[mask->span_count - 1];
        if (last->value < 0 && last->x + last->length == x && last->at + (uint32_t)last->length == at) {
            last->length += length;
            return;
        }
    }
    mask->spans[mask->span_count++] = (gesso_span){x, length, value, at};
}

static inline uint8_t gesso_coverage_byte(double coverage)
{
    return (uint8_t)(coverage <= 0 ? 0 : coverage >= 1 ? 255 : coverage * 255 + 0.5);
}

#endif

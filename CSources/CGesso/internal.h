/* What the files of the core share, and nobody else sees. */
#ifndef GESSO_INTERNAL_H
#define GESSO_INTERNAL_H

#include "include/gesso.h"

#include <cairo.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Cairo's surfaces have 15 bits of coordinates, and pixman draws nothing from a picture that touches the last one. */
#define GESSO_CAIRO_LIMIT 32766u
/* What a bitmap may take; far over any picture, far under where 64-bit sums of sizes could wrap. */
#define GESSO_BITMAP_BYTES_LIMIT ((uint64_t)1 << 40)

struct gesso_bitmap {
    _Atomic uint32_t references;
    _Atomic bool frozen;
    uint64_t number; /* that no other bitmap of the process gets */
    uint32_t width, height;
    gesso_format format;
    ptrdiff_t stride;
    double scale;
    uint8_t *pixels;
    gesso_bitmap *parent;           /* whose pixels a crop shares */
    gesso_release_function release; /* of wrapped pixels */
    void *user_data;
    uint64_t owned_bytes;           /* 0 unless the pixels were allocated here */
};

static inline bool gesso_is_finite2(double a, double b) { return isfinite(a) && isfinite(b); }
static inline bool gesso_is_finite4(double a, double b, double c, double d)
{
    return gesso_is_finite2(a, b) && gesso_is_finite2(c, d);
}
static inline int32_t gesso_larger(int32_t a, int32_t b) { return a > b ? a : b; }
static inline int32_t gesso_smaller(int32_t a, int32_t b) { return a < b ? a : b; }
/* Of numbers: what fmax and fmin call a library for. */
static inline double gesso_at_least(double a, double b) { return a > b ? a : b; }
static inline double gesso_at_most(double a, double b) { return a < b ? a : b; }
static inline double gesso_clamp01(double value) { return value < 0 ? 0 : value > 1 ? 1 : value; }

/* a * b / 255, rounded to nearest, exactly, for a and b up to 255. */
static inline uint32_t gesso_mul255(uint32_t a, uint32_t b)
{
    uint32_t t = a * b + 128;
    return (t + (t >> 8)) >> 8;
}

/* 0 if width * bytes per pixel does not fit a stride, or the format is unknown. */
ptrdiff_t gesso_row_bytes(uint32_t width, gesso_format format);

/* A bitmap whose pixels are not cleared, for callers that write all of them. */
gesso_status gesso_bitmap_create_uninitialized(
    uint32_t width, uint32_t height, gesso_format format, double scale, gesso_bitmap **bitmap);

cairo_format_t gesso_cairo_format(gesso_format format);

/* GESSO_OK if Cairo can have a surface over these pixels; TOO_LARGE or UNSUPPORTED (a stride that is odd) if not. */
gesso_status gesso_surface_check(const gesso_bitmap *bitmap);
/* A Cairo surface over the pixels, which were checked. Ownership: the caller destroys it before the bitmap. */
cairo_surface_t *gesso_surface_over(const gesso_bitmap *bitmap);

gesso_status gesso_status_of_cairo(cairo_status_t status);

/* Checks decoded dimensions against a caller's limits, before anything is allocated. */
gesso_status gesso_limits_check(
    const gesso_limits *limits, uint64_t width, uint64_t height, uint64_t bytes_per_pixel);

/* How many pixels a blur moves coverage by, at most; a plane needs that much room on each side. */
int gesso_blur_reach(double sigma);

/* Blurs an A8 plane by a Gaussian of the given standard deviation in pixels. What is outside counts as 0. */
gesso_status gesso_blur_a8(uint8_t *pixels, int width, int height, ptrdiff_t stride, double sigma);

#endif

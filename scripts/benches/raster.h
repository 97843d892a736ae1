/* What the raster bench's cases share. */
#ifndef RASTER_H
#define RASTER_H

#include "gesso.h"

#include <cairo.h>
#include <stdbool.h>
#include <time.h>

/* A picture, and where ours and Cairo draw. */
extern gesso_bitmap *icon;
extern cairo_surface_t *icon_surface;
extern gesso_context *context;
extern cairo_t *cairo;

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* Reads the icon and makes what cases need; false if that cannot be. */
bool raster_begin(const char *icon_path);
gesso_bitmap *draw_classic_cell(double scale);
void text_ours(double unused);
void text_ours_first(double unused);
void text_pango(double unused);
void text_pango_first(double unused);
void text_pango_cached(double unused);
void row_ours(double unused);
void row_cairo(double unused);
double raster_two_threads(void);

#endif

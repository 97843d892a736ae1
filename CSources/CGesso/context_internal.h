/* What the files of the drawing context share. */
#ifndef GESSO_CONTEXT_INTERNAL_H
#define GESSO_CONTEXT_INTERNAL_H

#include "internal.h"

typedef struct gesso_color {
    double red, green, blue, alpha;
} gesso_color;

typedef struct gesso_shadow {
    double offset_x, offset_y, sigma; /* pixels */
    gesso_color color;                /* alpha 0: no shadow */
} gesso_shadow;

/* What Cairo's own state does not hold. Line width, cap, join, dash, transform and clip are Cairo's. */
typedef struct gesso_state {
    gesso_color fill, stroke;
    double alpha;
    gesso_blend_mode blend;
    gesso_interpolation interpolation;
    gesso_shadow shadow;
    bool is_layer; /* saved by begin_transparency_layer, not by save */
} gesso_state;

struct gesso_context {
    gesso_bitmap *bitmap;
    cairo_surface_t *surface;
    cairo_t *cairo;
    gesso_status status;
    bool owns_bitmap;
    gesso_state state;
    gesso_state *saved;
    size_t saved_count, saved_capacity;
};

/* A rectangle of whole device pixels; empty if it has no area. */
typedef struct gesso_box {
    int x0, y0, x1, y1;
} gesso_box;

static inline bool gesso_box_is_empty(gesso_box b) { return b.x0 >= b.x1 || b.y0 >= b.y1; }
static inline gesso_box gesso_box_intersect(gesso_box a, gesso_box b)
{
    return (gesso_box){a.x0 > b.x0 ? a.x0 : b.x0, a.y0 > b.y0 ? a.y0 : b.y0,
                       a.x1 < b.x1 ? a.x1 : b.x1, a.y1 < b.y1 ? a.y1 : b.y1};
}
static inline gesso_box gesso_box_outset(gesso_box b, int by)
{
    return (gesso_box){b.x0 - by, b.y0 - by, b.x1 + by, b.y1 + by};
}

/* How far from the origin, in pixels, a point may be: half of what Cairo's 24.8 fixed point reaches, so that differences
 * of points fit as well. What is farther is an error, or for upright rectangles, which stay the same, cut off. */
#define GESSO_REACH 4e6

struct gesso_operation;
typedef void (*gesso_operation_function)(cairo_t *cairo, const struct gesso_operation *operation, double alpha);

/* One thing to draw, in a form that can be drawn more than once and elsewhere: onto the target itself, and onto the
 * planes that shadows and some blend modes need. The functions find the transform set. */
typedef struct gesso_operation {
    gesso_operation_function paint; /* the source, in the shape */
    gesso_operation_function flood; /* the source, everywhere */
    gesso_operation_function cover; /* opaque, in the shape; alpha counts for nothing */
    gesso_color color;
    gesso_fill_rule rule;
    cairo_path_t *path;            /* of fills and strokes; the target's Cairo holds the same path */
    cairo_t *style;                /* of strokes: where the line style is */
    cairo_pattern_t *pattern;      /* of gradients and layers */
    cairo_surface_t *picture;      /* of bitmaps, at device pixel (x, y) */
    int x, y;
    double left, top, right, bottom; /* of bitmaps: the rectangle in device space that is covered */
    gesso_paint_function draw;
    void *user_data;
} gesso_operation;

/* True while drawing may go on: the context is there and has not failed, and nobody froze its bitmap meanwhile. */
bool gesso_can_draw(gesso_context *context);

/* Fails the context with INVALID_ARGUMENT unless `valid`; true if drawing may go on. */
bool gesso_require(gesso_context *context, bool valid);

/* True for a rectangle of user space whose corners are in reach; fails the context with TOO_LARGE if they are not. */
bool gesso_in_reach(gesso_context *context, double x0, double y0, double x1, double y1);

/* The most pixels that a point of user space becomes, in any direction. */
double gesso_device_scale(cairo_t *cairo);

/* Takes over an error of Cairo's; called after what may fail. */
void gesso_check_cairo(gesso_context *context);

gesso_box gesso_device_clip(cairo_t *cairo);
/* The whole pixels that hold a rectangle of user space. */
gesso_box gesso_device_box(cairo_t *cairo, double x0, double y0, double x1, double y1);

/* Draws with the state's shadow and blend mode. `bounds`: what the operation may cover. */
void gesso_draw(gesso_context *context, const gesso_operation *operation, gesso_box bounds);
/* The same without a shadow. */
void gesso_blend(gesso_context *context, const gesso_operation *operation, gesso_box bounds);
void gesso_draw_shadow(gesso_context *context, const gesso_operation *operation, gesso_box bounds);

/* A surface that covers `box` of the device, with a Cairo context that draws there as `like` does: same transform,
 * shifted by a fraction of a pixel. Null after failing `context`. */
cairo_t *gesso_plane_create(
    gesso_context *context, cairo_format_t format, gesso_box box, double shift_x, double shift_y);
void gesso_plane_paint(
    cairo_t *plane, const gesso_operation *operation, gesso_operation_function function, double alpha);

/* The part of the device that can show in the clip, with what casts its shadow there. */
gesso_box gesso_visible_reach(gesso_context *context);

/* Sets the path aside, and puts it back, for drawing that needs a path of its own. */
cairo_path_t *gesso_path_set_aside(gesso_context *context);
void gesso_path_put_back(gesso_context *context, cairo_path_t *path);

/* Saves the state; `is_layer` tells the two kinds of begin apart. False after failing. */
bool gesso_push_state(gesso_context *context, bool is_layer);
/* Undoes it; fails when the newest entry is of the other kind. */
bool gesso_pop_state(gesso_context *context, bool is_layer);

#endif

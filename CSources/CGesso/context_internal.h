/* What the files of the drawing context share. */
#ifndef GESSO_CONTEXT_INTERNAL_H
#define GESSO_CONTEXT_INTERNAL_H

#include "internal.h"
#include "shape.h"

typedef struct gesso_color {
    double red, green, blue, alpha;
} gesso_color;

typedef struct gesso_shadow {
    double offset_x, offset_y, sigma; /* pixels */
    gesso_color color;                /* alpha 0: no shadow */
} gesso_shadow;

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

/* What is inside of all of a chain of clips. A chain is shared by the states that have it, and never changes. */
typedef struct gesso_clip {
    uint32_t references;
    uint64_t number; /* of the context's clips, so that one can be known again when its memory is used anew */
    struct gesso_clip *parent;
    gesso_box box;             /* that holds the inside, of the whole chain */
    bool has_shape, antialias; /* a shape, a path, or neither: the box is all of it */
    gesso_shape shape;
    cairo_path_t *path; /* in device space */
    gesso_fill_rule rule;
} gesso_clip;

typedef struct gesso_state {
    cairo_matrix_t matrix;
    gesso_clip *clip; /* null: nothing is clipped */
    gesso_color fill, stroke;
    double line_width, miter_limit, dashes[64], dash_phase;
    int dash_count;
    cairo_line_cap_t cap;
    cairo_line_join_t join;
    bool antialias;
    double alpha;
    gesso_blend_mode blend;
    gesso_interpolation interpolation;
    gesso_shadow shadow;
    bool is_layer; /* saved by begin_transparency_layer, not by save */
} gesso_state;

/* All state is here. Cairo is made when something is drawn that has no kernel, and told what it needs to know then. */
struct gesso_context {
    gesso_bitmap *bitmap;
    gesso_status status;
    bool owns_bitmap;
    gesso_state state;
    gesso_state *saved;
    size_t saved_count, saved_capacity;
    int layers;          /* that are open; while there are, the bitmap is not what is drawn onto */
    uint64_t clip_count; /* so far */

    /* The path is one shape, or else it is Cairo's. */
    bool has_shape;
    gesso_shape shape;

    cairo_surface_t *surface;
    cairo_t *cairo;        /* null until it is needed: see gesso_cairo */
    uint64_t clip_applied; /* the number of the clip that Cairo has; 0: none */
};

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
    const gesso_state *style;      /* of strokes: where the line style is */
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
double gesso_device_scale(const gesso_state *state);

/* Cairo's context with the state's transform, clip and line style, and with the path. Null if it cannot be made. */
cairo_t *gesso_cairo(gesso_context *context);

/* Takes over an error of Cairo's; called after what may fail. */
void gesso_check_cairo(gesso_context *context);

/* Cairo's context to add to the path with: less than gesso_cairo does, which drawing needs. */
cairo_t *gesso_path_cairo(gesso_context *context);

/* Adds a shape to Cairo's path, whose transform is the identity. */
void gesso_shape_add(cairo_t *cairo, const gesso_shape *shape);

void gesso_style_lines(cairo_t *cairo, const gesso_state *state);

/* The whole pixels that hold a rectangle of user space. */
gesso_box gesso_device_box(const gesso_state *state, double x0, double y0, double x1, double y1);
/* The whole pixels that can change: those of the clip, or of the bitmap. */
gesso_box gesso_clip_box(const gesso_context *context);

/* A rectangle of user space on the device's grid; false if the transform turns it, or it is out of reach. */
bool gesso_shape_of_rect(
    const gesso_context *context, double x, double y, double width, double height, gesso_shape *shape);

/* Adds to the state's clip. `path` is in device space, and taken over. */
void gesso_clip_to_shape(gesso_context *context, const gesso_shape *shape);
void gesso_clip_to_path(gesso_context *context, cairo_path_t *path, gesso_fill_rule rule, gesso_box box);
gesso_clip *gesso_clip_retain(gesso_clip *clip);
void gesso_clip_release(gesso_clip *clip);
/* Sets Cairo's clip to a chain, from the outermost to the innermost. */
void gesso_clip_apply(cairo_t *cairo, const gesso_clip *clip);

/* Whether kernels can draw in this state, and within which shape of a clip; null: the clip's box is all of it. */
bool gesso_fast_state(const gesso_context *context, const gesso_shape **clip);

/* The part of such a shape that can show; false if it is too large for a mask, or nothing. */
bool gesso_fast_clip(const gesso_context *context, const gesso_shape *clip, gesso_shape *shown);

static inline uint32_t gesso_premultiplied(gesso_color color, double alpha)
{
    double a = color.alpha * alpha * 255;
    return (uint32_t)(a + 0.5) << 24 | (uint32_t)(color.red * a + 0.5) << 16 | (uint32_t)(color.green * a + 0.5) << 8
        | (uint32_t)(color.blue * a + 0.5);
}

/* The kernels' way: true if it was drawn, false if it is for Cairo. `inner` is null for what is filled. */
bool gesso_fast_fill(
    gesso_context *context, const gesso_shape *outer, const gesso_shape *inner, gesso_color color);
bool gesso_fast_bitmap(gesso_context *context, const gesso_bitmap *bitmap, const gesso_shape *rectangle);
/* Gradients over the clip. */
bool gesso_fast_linear_gradient(
    gesso_context *context, const gesso_gradient_stop *stops, size_t count, double start_x, double start_y,
    double end_x, double end_y, uint32_t options);
bool gesso_fast_radial_gradient(
    gesso_context *context, const gesso_gradient_stop *stops, size_t count, double start_x, double start_y,
    double start_radius, double end_x, double end_y, double end_radius, uint32_t options);
/* The shapes between which the stroke of a shape lies; false if it is not one between two shapes. */
bool gesso_stroke_shapes(
    const gesso_state *state, const gesso_shape *shape, gesso_shape *outer, gesso_shape *inner, bool *has_inner);

/* Whether pixels of one lie among those of the other. */
bool gesso_shares_memory(const gesso_bitmap *a, const gesso_bitmap *b);

/* Covers all of the clip: what gradients and layers are drawn in. */
void gesso_cover_clip(cairo_t *cairo, const gesso_operation *operation, double alpha);

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

/* Sets Cairo's path aside, and puts it back, for drawing that needs a path of its own. */
cairo_path_t *gesso_path_set_aside(cairo_t *cairo);
void gesso_path_put_back(gesso_context *context, cairo_path_t *path);

/* Saves the state; `is_layer` tells the two kinds of begin apart. False after failing. */
bool gesso_push_state(gesso_context *context, bool is_layer);
/* Undoes it; fails when the newest entry is of the other kind. */
bool gesso_pop_state(gesso_context *context, bool is_layer);

#endif

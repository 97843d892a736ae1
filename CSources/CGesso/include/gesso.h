/* gesso.h: draw it once, off the main thread; keep the bitmap.
 *
 * The C core of Gesso: bitmaps, drawing, compositing, PNG and cache blobs, on Cairo, LZ4, libspng and xxHash.
 *
 * Conventions
 * - Handles are opaque, never null after success, and counted: `_retain` and `_release` are atomic, and releasing
 *   null does nothing.
 * - Everything that makes or reads something returns a `gesso_status`. An out-parameter is written on success only.
 * - Drawing calls return nothing: the first error stays in the context, later calls do nothing, and
 *   `gesso_context_finish` reports it.
 * - Geometry is in points as doubles, origin at the top left, y down. Pixels are counted in `uint32_t`, bytes in
 *   `size_t`, strides in `ptrdiff_t` bytes and never negative.
 * - Colours are red, green, blue and alpha from 0 to 1, not premultiplied, in sRGB; values outside are clamped.
 *   NaN and infinity are errors everywhere.
 * - Option structs begin with `struct_size`, which the caller sets to `sizeof` of the struct; null means defaults.
 * - What has no kernel of Gesso's own is drawn by Cairo; with GESSO_RASTER=cairo in the environment, all is.
 * - Nothing is printed, and no state is global but the counters of `gesso_memory_statistics_get`.
 */
#ifndef GESSO_H
#define GESSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GESSO_API __attribute__((visibility("default")))
#else
#define GESSO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GESSO_VERSION_MAJOR 0
#define GESSO_VERSION_MINOR 1
#define GESSO_VERSION_PATCH 0

/* The version of the library that runs, as major * 10000 + minor * 100 + patch. Thread-safety: any thread. */
GESSO_API uint32_t gesso_version(void);

/* The instruction set that the loops over pixels use: "avx512", "avx2", "sse2", "neon" or "scalar". The environment
 * variable GESSO_SIMD forces one, if the processor has it. Ownership: static. Since 0.1. */
GESSO_API const char *gesso_cpu_features(void);

/* ---- Status ------------------------------------------------------------------------------------------------- */

/* The numbers are part of the ABI and never change. */
typedef enum gesso_status {
    GESSO_OK = 0,
    GESSO_INVALID_ARGUMENT = -1, /* null where a value is needed, NaN or infinity, an unknown enum value */
    GESSO_INVALID_SIZE = -2,     /* zero, negative, or a stride that does not fit the width */
    GESSO_TOO_LARGE = -3,        /* over what a bitmap, a context or a file format can hold */
    GESSO_OUT_OF_MEMORY = -4,
    GESSO_FROZEN = -5,           /* the bitmap no longer changes */
    GESSO_INVALID_STATE = -6,    /* restore without save, end of a layer without begin, … */
    GESSO_UNSUPPORTED = -7,      /* valid, but nothing that this version reads */
    GESSO_NOT_RECOGNIZED = -8,   /* the bytes are not of this format */
    GESSO_TRUNCATED = -9,        /* the bytes end too early */
    GESSO_CORRUPT = -10,         /* the bytes contradict themselves or their checksum */
    GESSO_OVER_LIMIT = -11,      /* larger than the caller's limit */
    GESSO_BUFFER_TOO_SMALL = -12,
    GESSO_CAIRO_FAILED = -13,    /* Cairo reported an error that has no name here */
    GESSO_FONT_FAILED = -14,     /* no font could be loaded */
    GESSO_STATUS_FORCE_INT32 = 0x7fffffff
} gesso_status;

/* A sentence in English. Thread-safety: any thread. Ownership: static, never null. */
GESSO_API const char *gesso_status_string(gesso_status status);

/* ---- Bitmaps ------------------------------------------------------------------------------------------------ */

typedef enum gesso_format {
    GESSO_FORMAT_ARGB32 = 1, /* premultiplied, a native-endian 32-bit word: alpha in the top byte, blue in the low */
    GESSO_FORMAT_XRGB32 = 2, /* the same word, always opaque; the top byte is 255 in what Gesso draws */
    GESSO_FORMAT_A8 = 3,     /* one byte of alpha a pixel */
    GESSO_FORMAT_FORCE_INT32 = 0x7fffffff
} gesso_format;

/* Pixels of one format. A bitmap is born mutable and can be frozen; once frozen it never changes again and may be
 * read from any number of threads. While it is mutable, one thread at a time may use it. */
typedef struct gesso_bitmap gesso_bitmap;

/* Called once, from whichever thread gave up the last reference to the wrapped pixels. */
typedef void (*gesso_release_function)(void *user_data);

/* Makes a mutable bitmap, all pixels zero (transparent; for XRGB32 black).
 * - scale: pixels per point, finite and above 0; it is metadata and does not change the dimensions.
 * Errors: INVALID_ARGUMENT, INVALID_SIZE for a zero dimension, TOO_LARGE, OUT_OF_MEMORY.
 * Ownership: the caller releases `*bitmap`. Thread-safety: any thread. Since 0.1. */
GESSO_API gesso_status gesso_bitmap_create(
    uint32_t width, uint32_t height, gesso_format format, double scale, gesso_bitmap **bitmap);

/* Makes a mutable bitmap of pixels that live elsewhere, without a copy.
 * - stride: bytes from row to row, at least the width in bytes, and a multiple of 4 for the 32-bit formats.
 * - pixels: aligned to 4 bytes for the 32-bit formats; `stride * (height - 1) + width * bytes per pixel` bytes long.
 * - release: may be null; called with `user_data` when nothing refers to the pixels any more. It is not called when
 *   this function fails.
 * Errors: INVALID_ARGUMENT, INVALID_SIZE, TOO_LARGE, OUT_OF_MEMORY. Ownership: as above. Since 0.1. */
GESSO_API gesso_status gesso_bitmap_wrap(
    void *pixels, uint32_t width, uint32_t height, ptrdiff_t stride, gesso_format format, double scale,
    gesso_release_function release, void *user_data, gesso_bitmap **bitmap);

/* Makes a frozen bitmap that shares a rectangle of pixels of a frozen one, and keeps it alive.
 * Errors: INVALID_ARGUMENT; INVALID_STATE when `bitmap` is not frozen; INVALID_SIZE when the rectangle is empty or
 * not wholly inside. Ownership: the caller releases `*cropped`. Thread-safety: any thread. Since 0.1. */
GESSO_API gesso_status gesso_bitmap_crop(
    gesso_bitmap *bitmap, uint32_t x, uint32_t y, uint32_t width, uint32_t height, gesso_bitmap **cropped);

/* Makes a mutable copy with pixels of its own. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. Since 0.1. */
GESSO_API gesso_status gesso_bitmap_copy(const gesso_bitmap *bitmap, gesso_bitmap **copy);

GESSO_API gesso_bitmap *gesso_bitmap_retain(gesso_bitmap *bitmap);
GESSO_API void gesso_bitmap_release(gesso_bitmap *bitmap);

/* From now on the pixels never change. Cannot be undone. Null does nothing. Since 0.1. */
GESSO_API void gesso_bitmap_freeze(gesso_bitmap *bitmap);
GESSO_API bool gesso_bitmap_is_frozen(const gesso_bitmap *bitmap);

/* Changes the scale, which is metadata. Errors: INVALID_ARGUMENT, FROZEN. Since 0.1. */
GESSO_API gesso_status gesso_bitmap_set_scale(gesso_bitmap *bitmap, double scale);

/* What a bitmap is. All of these accept null and answer 0 (or ARGB32, false, null). Thread-safety: any thread. */
GESSO_API uint32_t gesso_bitmap_width(const gesso_bitmap *bitmap);
GESSO_API uint32_t gesso_bitmap_height(const gesso_bitmap *bitmap);
GESSO_API ptrdiff_t gesso_bitmap_stride(const gesso_bitmap *bitmap);
GESSO_API gesso_format gesso_bitmap_format(const gesso_bitmap *bitmap);
GESSO_API double gesso_bitmap_scale(const gesso_bitmap *bitmap);
GESSO_API bool gesso_bitmap_is_opaque(const gesso_bitmap *bitmap);
/* Bytes of pixels that it shows: stride * height, or less in the last row of a crop. */
GESSO_API size_t gesso_bitmap_byte_count(const gesso_bitmap *bitmap);

/* The first pixel of the top row. Ownership: the bitmap's. */
GESSO_API const void *gesso_bitmap_pixels(const gesso_bitmap *bitmap);
/* The same for writing; null when the bitmap is frozen. */
GESSO_API void *gesso_bitmap_mutable_pixels(gesso_bitmap *bitmap);

/* Bytes a pixel: 4, 4 and 1; 0 for an unknown format. */
GESSO_API size_t gesso_format_bytes_per_pixel(gesso_format format);

typedef struct gesso_memory_statistics {
    size_t struct_size;
    uint64_t bitmaps_created;  /* with pixels of their own, since the process began */
    uint64_t bitmaps_alive;    /* of those, not yet released */
    uint64_t bytes_alive;      /* their pixels */
} gesso_memory_statistics;

/* Counts of the whole process. Errors: INVALID_ARGUMENT. Thread-safety: any thread. Since 0.1. */
GESSO_API gesso_status gesso_memory_statistics_get(gesso_memory_statistics *statistics);

/* ---- Compositing -------------------------------------------------------------------------------------------- */

/* Draws all of `source` onto `target` with its top left at pixel (x, y), clipped to the target: a copy when the
 * source is opaque and alpha is 1, source-over otherwise. An A8 source is drawn in black.
 * - alpha: 0…1, clamped.
 * Errors: INVALID_ARGUMENT (also when both are one bitmap), FROZEN when the target is, UNSUPPORTED for an A8 target.
 * Thread-safety: the target by one thread at a time, the source by any if frozen. Since 0.1. */
GESSO_API gesso_status gesso_composite(
    gesso_bitmap *target, const gesso_bitmap *source, int64_t x, int64_t y, double alpha);

/* Stores one colour into a rectangle of pixels, clipped to the target; nothing is blended.
 * Errors: INVALID_ARGUMENT, FROZEN. Since 0.1. */
GESSO_API gesso_status gesso_fill(
    gesso_bitmap *target, int64_t x, int64_t y, uint32_t width, uint32_t height,
    double red, double green, double blue, double alpha);

/* ---- Drawing ------------------------------------------------------------------------------------------------ */

/* Where drawing happens. Used by one thread at a time; may move between threads. */
typedef struct gesso_context gesso_context;

/* Cairo's own context, so that this header does not need Cairo's. */
typedef struct _cairo cairo_t;

typedef struct gesso_context_options {
    size_t struct_size;
    gesso_format format;  /* 0: ARGB32 */
    double scale;         /* pixels per point; 0: 1. The initial transform scales by it. */
    double background[4]; /* red, green, blue, alpha: what the bitmap is filled with. XRGB32 ignores alpha. */
} gesso_context_options;

/* Makes a context on a new bitmap of width × height pixels (not points), at most 32,766 each, which Cairo can draw.
 * Errors: INVALID_ARGUMENT, INVALID_SIZE, TOO_LARGE, OUT_OF_MEMORY.
 * Ownership: the caller finishes or releases it. Thread-safety: any thread. Since 0.1. */
GESSO_API gesso_status gesso_context_create(
    gesso_context **context, uint32_t width, uint32_t height, const gesso_context_options *options);

/* Makes a context that draws onto a mutable bitmap, which it keeps alive; the bitmap's scale is used and its pixels
 * stay as they are. If somebody freezes the bitmap meanwhile, the context fails.
 * Errors: INVALID_ARGUMENT, FROZEN, TOO_LARGE, OUT_OF_MEMORY; UNSUPPORTED for an A8 bitmap whose stride is not a multiple
 * of 4. Since 0.1. */
GESSO_API gesso_status gesso_context_create_for_bitmap(gesso_context **context, gesso_bitmap *bitmap);

/* Ends drawing. The context is spent and freed, whatever is returned.
 * - bitmap: receives the bitmap, frozen if the context made it; null when the caller does not want it.
 * Errors: the first one of any drawing call; INVALID_STATE when a transparency layer is still open.
 * Ownership: the caller releases `*bitmap`. Since 0.1. */
GESSO_API gesso_status gesso_context_finish(gesso_context *context, gesso_bitmap **bitmap);

/* Throws the context away, and its bitmap with it. Null does nothing. */
GESSO_API void gesso_context_release(gesso_context *context);

/* The first error so far, or GESSO_OK. */
GESSO_API gesso_status gesso_context_status(const gesso_context *context);
/* Records an error of the caller's own, if there is none yet, so that `finish` reports it. */
GESSO_API void gesso_context_fail(gesso_context *context, gesso_status status);

/* Cairo's context, for what is missing here. The caller may draw, and has to leave save and restore balanced.
 * Ownership: the context's; null once the context has failed. */
GESSO_API cairo_t *gesso_context_cairo(gesso_context *context);

GESSO_API uint32_t gesso_context_width(const gesso_context *context);  /* pixels */
GESSO_API uint32_t gesso_context_height(const gesso_context *context); /* pixels */
GESSO_API double gesso_context_scale(const gesso_context *context);    /* pixels per point */

/* State: the transform, the clip, and everything that a `set` function below sets. The path is not part of it. */
GESSO_API void gesso_context_save(gesso_context *context);
GESSO_API void gesso_context_restore(gesso_context *context);

/* Transform, in CoreGraphics' order: the new transform is applied before the present one. */
typedef struct gesso_transform {
    double a, b, c, d, tx, ty; /* x' = a x + c y + tx, y' = b x + d y + ty */
} gesso_transform;
GESSO_API void gesso_context_translate(gesso_context *context, double x, double y);
GESSO_API void gesso_context_scale_by(gesso_context *context, double x, double y);
GESSO_API void gesso_context_rotate(gesso_context *context, double radians);
GESSO_API void gesso_context_concatenate(gesso_context *context, gesso_transform transform);
/* From points to pixels; the identity for null. */
GESSO_API gesso_transform gesso_context_transform(const gesso_context *context);

typedef enum gesso_line_cap {
    GESSO_LINE_CAP_BUTT = 0, GESSO_LINE_CAP_ROUND = 1, GESSO_LINE_CAP_SQUARE = 2,
    GESSO_LINE_CAP_FORCE_INT32 = 0x7fffffff
} gesso_line_cap;

typedef enum gesso_line_join {
    GESSO_LINE_JOIN_MITER = 0, GESSO_LINE_JOIN_ROUND = 1, GESSO_LINE_JOIN_BEVEL = 2,
    GESSO_LINE_JOIN_FORCE_INT32 = 0x7fffffff
} gesso_line_join;

typedef enum gesso_fill_rule {
    GESSO_FILL_RULE_WINDING = 0, GESSO_FILL_RULE_EVEN_ODD = 1,
    GESSO_FILL_RULE_FORCE_INT32 = 0x7fffffff
} gesso_fill_rule;

typedef enum gesso_interpolation {
    GESSO_INTERPOLATION_NONE = 0,   /* nearest pixel */
    GESSO_INTERPOLATION_LOW = 1,    /* bilinear */
    GESSO_INTERPOLATION_MEDIUM = 2, /* an area filter when made smaller, bilinear when larger; the default */
    GESSO_INTERPOLATION_HIGH = 3,   /* the best that there is */
    GESSO_INTERPOLATION_FORCE_INT32 = 0x7fffffff
} gesso_interpolation;

/* CoreGraphics' blend modes; each is bounded by the shape that is drawn. */
typedef enum gesso_blend_mode {
    GESSO_BLEND_NORMAL = 0, GESSO_BLEND_MULTIPLY, GESSO_BLEND_SCREEN, GESSO_BLEND_OVERLAY, GESSO_BLEND_DARKEN,
    GESSO_BLEND_LIGHTEN, GESSO_BLEND_COLOR_DODGE, GESSO_BLEND_COLOR_BURN, GESSO_BLEND_SOFT_LIGHT,
    GESSO_BLEND_HARD_LIGHT, GESSO_BLEND_DIFFERENCE, GESSO_BLEND_EXCLUSION, GESSO_BLEND_HUE, GESSO_BLEND_SATURATION,
    GESSO_BLEND_COLOR, GESSO_BLEND_LUMINOSITY, GESSO_BLEND_CLEAR, GESSO_BLEND_COPY, GESSO_BLEND_SOURCE_IN,
    GESSO_BLEND_SOURCE_OUT, GESSO_BLEND_SOURCE_ATOP, GESSO_BLEND_DESTINATION_OVER, GESSO_BLEND_DESTINATION_IN,
    GESSO_BLEND_DESTINATION_OUT, GESSO_BLEND_DESTINATION_ATOP, GESSO_BLEND_XOR, GESSO_BLEND_PLUS_LIGHTER,
    GESSO_BLEND_FORCE_INT32 = 0x7fffffff
} gesso_blend_mode;

GESSO_API void gesso_context_set_fill_color(
    gesso_context *context, double red, double green, double blue, double alpha);
GESSO_API void gesso_context_set_stroke_color(
    gesso_context *context, double red, double green, double blue, double alpha);
/* Default 1; 0 strokes nothing; a stroke of over 65,536 pixels fails with TOO_LARGE. */
GESSO_API void gesso_context_set_line_width(gesso_context *context, double points);
GESSO_API void gesso_context_set_line_cap(gesso_context *context, gesso_line_cap cap);
GESSO_API void gesso_context_set_line_join(gesso_context *context, gesso_line_join join);
GESSO_API void gesso_context_set_miter_limit(gesso_context *context, double limit); /* default 10 */
/* Lengths in points, drawn and left out by turns, none negative and not all zero; count 0 ends dashing. At most 64. */
GESSO_API void gesso_context_set_line_dash(
    gesso_context *context, double phase, const double *lengths, size_t count);
GESSO_API void gesso_context_set_alpha(gesso_context *context, double alpha); /* of everything drawn; default 1 */
GESSO_API void gesso_context_set_blend_mode(gesso_context *context, gesso_blend_mode mode);
GESSO_API void gesso_context_set_interpolation(gesso_context *context, gesso_interpolation quality);
GESSO_API void gesso_context_set_antialias(gesso_context *context, bool antialias); /* default true */

/* Everything drawn from now on casts a shadow. As in CoreGraphics the offset and the blur are not changed by the
 * transform; they are in points of the context's scale, and y points down.
 * - blur: points, 0 or more; the Gaussian's standard deviation is half of it. 0 is a hard shadow. At most 1,000 pixels.
 * A colour of alpha 0 ends shadows. */
GESSO_API void gesso_context_set_shadow(
    gesso_context *context, double offset_x, double offset_y, double blur,
    double red, double green, double blue, double alpha);

/* Paths. Points are transformed when they are added, and have to be within 4,000,000 pixels of the origin: what is
 * farther fails with TOO_LARGE. Only rectangles that are not turned may be larger. */
GESSO_API void gesso_context_begin_path(gesso_context *context);
GESSO_API void gesso_context_move_to(gesso_context *context, double x, double y);
GESSO_API void gesso_context_add_line(gesso_context *context, double x, double y);
GESSO_API void gesso_context_add_curve(
    gesso_context *context, double control1_x, double control1_y, double control2_x, double control2_y,
    double x, double y);
GESSO_API void gesso_context_add_quad_curve(
    gesso_context *context, double control_x, double control_y, double x, double y);
/* Angles in radians, from the positive x axis; with y down, growing angles turn clockwise on the screen. A line joins
 * the current point to the arc's start. `clockwise` is CoreGraphics': the angle falls from start to end, which runs
 * counterclockwise on the screen, y being down. At most 10,000 radians. */
GESSO_API void gesso_context_add_arc(
    gesso_context *context, double center_x, double center_y, double radius, double start_angle, double end_angle,
    bool clockwise);
GESSO_API void gesso_context_add_rect(gesso_context *context, double x, double y, double width, double height);
GESSO_API void gesso_context_add_ellipse(gesso_context *context, double x, double y, double width, double height);
/* The radii are reduced to half of the side if larger. */
GESSO_API void gesso_context_add_rounded_rect(
    gesso_context *context, double x, double y, double width, double height, double radius_x, double radius_y);
/* The same with a radius for each corner, in points; where they do not fit, all shrink by the same part. Since 0.1. */
GESSO_API void gesso_context_add_rounded_rect_with_radii(
    gesso_context *context, double x, double y, double width, double height, double top_left, double top_right,
    double bottom_right, double bottom_left);
GESSO_API void gesso_context_close_path(gesso_context *context);

/* Each of these uses the path up, and begins a new one. */
GESSO_API void gesso_context_fill_path(gesso_context *context, gesso_fill_rule rule);
GESSO_API void gesso_context_stroke_path(gesso_context *context);
GESSO_API void gesso_context_clip(gesso_context *context, gesso_fill_rule rule);

/* Shortcuts; these leave the path alone. */
GESSO_API void gesso_context_clip_to_rect(gesso_context *context, double x, double y, double width, double height);
GESSO_API void gesso_context_fill_rect(gesso_context *context, double x, double y, double width, double height);
/* Makes a rectangle transparent (in XRGB32 and A8: zero). Not blended, no shadow. */
GESSO_API void gesso_context_clear_rect(gesso_context *context, double x, double y, double width, double height);

/* The smallest rectangle in points that holds the clip. */
GESSO_API void gesso_context_clip_bounds(
    gesso_context *context, double *x, double *y, double *width, double *height);

typedef struct gesso_gradient_stop {
    double location; /* 0…1, not falling from stop to stop */
    double red, green, blue, alpha;
} gesso_gradient_stop;

typedef enum gesso_gradient_options {
    GESSO_GRADIENT_DRAWS_BEFORE_START = 1, /* the first colour goes on before the start */
    GESSO_GRADIENT_DRAWS_AFTER_END = 2,    /* the last colour goes on after the end */
    GESSO_GRADIENT_OPTIONS_FORCE_INT32 = 0x7fffffff
} gesso_gradient_options;

/* Fills the clip with a gradient along a line, or between two circles. At least one stop, at most 256.
 * - options: a sum of gesso_gradient_options. */
GESSO_API void gesso_context_draw_linear_gradient(
    gesso_context *context, const gesso_gradient_stop *stops, size_t count,
    double start_x, double start_y, double end_x, double end_y, uint32_t options);
GESSO_API void gesso_context_draw_radial_gradient(
    gesso_context *context, const gesso_gradient_stop *stops, size_t count,
    double start_x, double start_y, double start_radius, double end_x, double end_y, double end_radius,
    uint32_t options);

/* Coverage that is rasterized already, as of glyphs, in device pixels, and a colour to draw it in. */
typedef struct gesso_coverage {
    const uint8_t *pixels; /* 0…255; after the last row's end, 7 more bytes can be read */
    ptrdiff_t stride;      /* bytes from row to row, at least the width */
    uint32_t width, height;
    int32_t x, y;          /* the device pixel of the first one */
    double red, green, blue, alpha;
} gesso_coverage;

/* Draws coverage as it is, one item over the other, within the clip and times the context's alpha. False if the context
 * is in a state for which it would have to be drawn otherwise: with a shadow, a blend mode, without antialias, in a layer or
 * an A8 bitmap, within a path or more than one rounded shape, or several items with an alpha; nothing is drawn then. True
 * also when the context has failed.
 * Errors: INVALID_ARGUMENT for a stride below the width, over 32,766 pixels on a side, or no pixels. Since 0.1. */
GESSO_API bool gesso_context_draw_coverage(gesso_context *context, const gesso_coverage *items, size_t count);

/* Draws a bitmap stretched over a rectangle of points. An A8 bitmap is a mask: it is drawn in the fill colour.
 * The bitmap may be released right after the call. Errors: INVALID_ARGUMENT when it is the bitmap drawn into. */
GESSO_API void gesso_context_draw_bitmap(
    gesso_context *context, const gesso_bitmap *bitmap, double x, double y, double width, double height);

/* Draws a bitmap in nine parts, as a layer's contentsCenter does: the corners keep their size (in points by the bitmap's
 * scale), the sides stretch one way, and the centre both. The centre is given as parts of the bitmap's width and height,
 * 0…1, and rounded to its pixels; corners that do not fit become smaller. An upright rectangle is rounded to whole pixels
 * of the device. Errors: those of draw_bitmap; INVALID_ARGUMENT for a centre that is not in the bitmap, UNSUPPORTED for
 * A8, TOO_LARGE for over 16,777,216 pixels of the device. Since 0.1. */
GESSO_API void gesso_context_draw_bitmap_in_parts(
    gesso_context *context, const gesso_bitmap *bitmap, double x, double y, double width, double height,
    double center_x, double center_y, double center_width, double center_height);

/* What is drawn until `end` goes to a layer of its own, which is then drawn as one thing with the alpha, blend mode
 * and shadow that were set before `begin`; inside they start at 1, normal and none. `end` restores the state. */
GESSO_API void gesso_context_begin_transparency_layer(gesso_context *context);
GESSO_API void gesso_context_end_transparency_layer(gesso_context *context);

/* Draws what `draw` paints on Cairo, with the context's alpha, blend mode and shadow: the way for text and others.
 * - draw: paints with Cairo's present source, which is set to the fill colour; may be called more than once.
 * - x, y, width, height: a rectangle in points that holds all that it paints. */
typedef void (*gesso_paint_function)(cairo_t *cairo, void *user_data);
GESSO_API void gesso_context_paint(
    gesso_context *context, double x, double y, double width, double height,
    gesso_paint_function draw, void *user_data);

/* ---- PNG ---------------------------------------------------------------------------------------------------- */

/* Bounds that a reader sets before it looks at foreign bytes; null means 32,766 × 32,766 and 1 GiB of pixels. */
typedef struct gesso_limits {
    size_t struct_size;
    uint32_t maximum_width;  /* pixels; 0: 32,766 */
    uint32_t maximum_height; /* pixels; 0: 32,766 */
    uint64_t maximum_bytes;  /* of decoded pixels; 0: 1 GiB */
} gesso_limits;

/* Encodes as PNG, losslessly but for what premultiplying lost. ARGB32 becomes RGBA, XRGB32 RGB, A8 black with alpha.
 * - compression: zlib's 0…9.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, TOO_LARGE.
 * Ownership: `*bytes` is freed with gesso_free. Thread-safety: any thread, if the bitmap is frozen. Since 0.1. */
GESSO_API gesso_status gesso_png_encode(
    const gesso_bitmap *bitmap, int compression, uint8_t **bytes, size_t *length);

/* Decodes a PNG of any kind into a mutable bitmap of scale 1: XRGB32 if the file has no transparency, else ARGB32.
 * Errors: NOT_RECOGNIZED, TRUNCATED, CORRUPT, OVER_LIMIT, UNSUPPORTED, OUT_OF_MEMORY. Since 0.1. */
GESSO_API gesso_status gesso_png_decode(
    const uint8_t *bytes, size_t length, const gesso_limits *limits, gesso_bitmap **bitmap);

/* Frees what the library allocated for the caller. Null does nothing. */
GESSO_API void gesso_free(void *bytes);

/* ---- Pixel conversion --------------------------------------------------------------------------------------- */

/* Whole rows between premultiplied native words and straight bytes in the order red, green, blue, alpha.
 * `words` and `bytes` may be the same memory. Thread-safety: any thread. Since 0.1. */
GESSO_API void gesso_premultiply_rgba(const uint8_t *bytes, uint32_t *words, size_t count);
GESSO_API void gesso_unpremultiply_rgba(const uint32_t *words, uint8_t *bytes, size_t count);
/* The same with bytes in the order blue, green, red, alpha. Since 0.1. */
GESSO_API void gesso_premultiply_bgra(const uint8_t *bytes, uint32_t *words, size_t count);
GESSO_API void gesso_unpremultiply_bgra(const uint32_t *words, uint8_t *bytes, size_t count);

/* ---- Blobs -------------------------------------------------------------------------------------------------- */

/* A blob is one bitmap, losslessly: a header, a table of bands of rows, and the bands, each written in the way that is
 * smallest for it, all with checksums. The format is described in BLOB.md. Bytes from anywhere are safe to read: what is
 * damaged is an error, and never other pixels.
 * Thread-safety: any thread; a workspace is used by one call at a time. */

/* How hard the encoder tries. Blobs of both are decoded alike. */
typedef enum gesso_blob_level {
    GESSO_BLOB_FAST = 0,  /* for caches */
    GESSO_BLOB_SMALL = 1, /* for what is kept: some times slower to encode */
    GESSO_BLOB_LEVEL_FORCE_INT32 = 0x7fffffff
} gesso_blob_level;

/* Memory that coding needs, kept from one call to the next, so that those after the first allocate nothing for it; but for
 * what LZ4 takes for itself at the level `small`. It is at most eight times what the pixels of a band take, 256 KiB as they
 * are written here and 4 MiB at most, for each thread: it comes on top of what limits allow for decoded pixels. */
typedef struct gesso_blob_workspace gesso_blob_workspace;
/* Null: out of memory. Ownership: the caller's. */
GESSO_API gesso_blob_workspace *gesso_blob_workspace_create(void);
GESSO_API void gesso_blob_workspace_release(gesso_blob_workspace *workspace);

typedef struct gesso_blob_options {
    size_t struct_size;
    gesso_blob_level level;
    gesso_blob_workspace *workspace; /* null: memory for this call only */
    uint32_t thread_count; /* that may work on a picture of over a megapixel, the calling one among them; 0 and 1: only that */
} gesso_blob_options;

/* Bytes that a blob of this bitmap has at most; 0 for null. */
GESSO_API size_t gesso_blob_bound(const gesso_bitmap *bitmap);

/* Writes a blob into the caller's buffer, which has to have the bound. Null options: level fast.
 * Errors: INVALID_ARGUMENT, BUFFER_TOO_SMALL, TOO_LARGE (a row of over 2 GB, or a terabyte in all),
 * OUT_OF_MEMORY. Since 0.1. */
GESSO_API gesso_status gesso_blob_encode(
    const gesso_bitmap *bitmap, const gesso_blob_options *options, uint8_t *buffer, size_t capacity, size_t *length);
/* The same into memory that is allocated. Ownership: `*bytes` is freed with gesso_free. Since 0.1. */
GESSO_API gesso_status gesso_blob_encode_new(
    const gesso_bitmap *bitmap, const gesso_blob_options *options, uint8_t **bytes, size_t *length);

typedef struct gesso_blob_info {
    size_t struct_size;
    uint32_t width, height;
    gesso_format format;
    double scale;
    bool is_opaque;
    uint32_t band_count;
    uint64_t total_bytes; /* of the blob */
} gesso_blob_info;

/* Reads and checks the header only; all of the blob has to be there, or it is TRUNCATED. Errors: NOT_RECOGNIZED, TRUNCATED, CORRUPT, UNSUPPORTED. Since 0.1. */
GESSO_API gesso_status gesso_blob_probe(const uint8_t *bytes, size_t length, gesso_blob_info *info);

/* What is wrong with the bytes of a blob. */
typedef struct gesso_blob_fault {
    size_t struct_size;
    uint64_t offset;  /* of the byte at which it was seen; where bytes are missing, how many there are */
    const char *what; /* what does not fit there: "checksum of a band", "width" */
} gesso_blob_fault;

/* How to decode. Null instead of it: default limits, and memory for this call only. */
typedef struct gesso_blob_reading {
    size_t struct_size;
    const gesso_limits *limits;      /* null: the default ones */
    gesso_blob_workspace *workspace; /* null: memory for this call only */
    uint32_t thread_count;           /* as in gesso_blob_options */
    gesso_blob_fault fault;          /* written after an error that the bytes are the reason of */
} gesso_blob_reading;

/* Decodes into a new mutable bitmap. Nothing is allocated before header, table and limits are checked, and each
 * band's checksum is checked before it is decoded.
 * Errors: those of probe, OVER_LIMIT, OUT_OF_MEMORY. Thread-safety: any thread. Since 0.1. */
GESSO_API gesso_status gesso_blob_decode(
    const uint8_t *bytes, size_t length, gesso_blob_reading *reading, gesso_bitmap **bitmap);

/* Decodes the rows first ..< first + count into the first rows of a bitmap of the same width and format, which stays as it
 * is elsewhere; only the bands that hold these rows are read. After an error the rows may hold anything. Limits do not
 * matter: the bitmap is there, and a band takes memory for at most a row, or 4 MiB of pixels.
 * Errors: those of decode; INVALID_ARGUMENT for rows that are not there, or a bitmap of another width or format, or too low;
 * FROZEN. Since 0.1. */
GESSO_API gesso_status gesso_blob_decode_rows(
    const uint8_t *bytes, size_t length, gesso_blob_reading *reading, uint32_t first, uint32_t count, gesso_bitmap *bitmap);

/* Checks header, table and all checksums, without decoding. `fault` may be null, and is written after an error.
 * Errors: those of probe. Since 0.1. */
GESSO_API gesso_status gesso_blob_verify(const uint8_t *bytes, size_t length, gesso_blob_fault *fault);

/* What one band is like. */
typedef struct gesso_blob_band {
    size_t struct_size;
    const char *mode; /* "stored", "solid", "lz4", "masks", "filter", "operations" */
    uint32_t first_row, row_count;
    uint64_t offset, length; /* of its bytes in the blob */
} gesso_blob_band;
/* Tells of the bands first ..< first + count, after checking the table; their bytes are not looked at. The first element's
 * struct_size is set by the caller.
 * Errors: those of probe; INVALID_ARGUMENT for bands that are not there. Since 0.1. */
GESSO_API gesso_status gesso_blob_bands_get(
    const uint8_t *bytes, size_t length, uint32_t first, uint32_t count, gesso_blob_band *bands);

/* ---- Hashing ------------------------------------------------------------------------------------------------ */

/* XXH3, 128 bits, of bytes: what names a bitmap in a cache. `bytes` may be null if `length` is 0. Since 0.1. */
typedef struct gesso_hash {
    uint64_t low, high;
} gesso_hash;
GESSO_API gesso_hash gesso_hash_bytes(const void *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif

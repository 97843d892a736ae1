/* gesso_text.h: attributed text, laid out and drawn by Pango and HarfBuzz.
 *
 * Thread-safety: every function may be called on any thread, each thread has a font map of its own. A context is
 * still used by one thread at a time. Conventions: see gesso.h.
 */
#ifndef GESSO_TEXT_H
#define GESSO_TEXT_H

#include "gesso.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stretch of text with one look. */
typedef struct gesso_text_run {
    const char *utf8; /* not terminated; valid UTF-8 without NUL */
    size_t length;    /* bytes */
    const char *family; /* as Fontconfig knows it; null: the system's sans serif */
    double size;      /* points, above 0, at most 10,000 */
    int32_t weight;   /* 100…1000; 400 is regular, 700 bold */
    bool italic, underline, strikethrough;
    double red, green, blue, alpha;
} gesso_text_run;

typedef enum gesso_text_alignment {
    GESSO_TEXT_LEFT = 0, GESSO_TEXT_CENTER = 1, GESSO_TEXT_RIGHT = 2, GESSO_TEXT_JUSTIFIED = 3,
    GESSO_TEXT_NATURAL = 4, /* left or right, as the script is written */
    GESSO_TEXT_ALIGNMENT_FORCE_INT32 = 0x7fffffff
} gesso_text_alignment;

/* What happens to a line that is too long; UIKit's line break modes. */
typedef enum gesso_line_break {
    GESSO_BREAK_WORD_WRAP = 0, GESSO_BREAK_CHARACTER_WRAP = 1, GESSO_BREAK_CLIP = 2,
    GESSO_BREAK_TRUNCATE_HEAD = 3, GESSO_BREAK_TRUNCATE_MIDDLE = 4, GESSO_BREAK_TRUNCATE_TAIL = 5,
    GESSO_LINE_BREAK_FORCE_INT32 = 0x7fffffff
} gesso_line_break;

typedef struct gesso_text_options {
    size_t struct_size;
    double width;            /* points to wrap or truncate at; 0 or infinity: as long as the text is */
    double height;           /* points; text that is truncated ends with the last line that fits; 0: no bound */
    uint32_t maximum_lines;  /* 0: no bound */
    gesso_text_alignment alignment;
    gesso_line_break line_break;
    double line_spacing;     /* extra points between lines */
    double vertical;         /* in draw: 0 top, 0.5 middle, 1 bottom of the height */
} gesso_text_options;

typedef struct gesso_text_metrics {
    size_t struct_size;
    double width, height;   /* of the text's logical rectangle, points */
    double first_baseline;  /* from the top, points */
    uint32_t line_count;
    bool is_truncated;
} gesso_text_metrics;

/* Lays the runs out, one after the other, and measures them.
 * The time grows with the text, and with the square of the longest word's length.
 * Errors: INVALID_ARGUMENT (also for text that is not UTF-8), FONT_FAILED when the system has no font at all,
 * TOO_LARGE for more than 1 MiB of text, 4,096 runs, 1,000,000 points of ems in a row, or, when it is drawn, an em of
 * over 16,384 pixels. Since 0.1. */
GESSO_API gesso_status gesso_text_measure(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, gesso_text_metrics *metrics);

/* Draws them into a rectangle of points; `options->width` and `height` are ignored for the rectangle's. Text that is
 * not truncated is clipped to the rectangle. Alpha, blend mode and shadow of the context apply; the colours are the
 * runs'. Errors go to the context. Since 0.1. */
GESSO_API void gesso_text_draw(
    gesso_context *context, const gesso_text_run *runs, size_t count, const gesso_text_options *options,
    double x, double y, double width, double height);

#ifdef __cplusplus
}
#endif

#endif

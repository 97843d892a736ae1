#include "layout_memory.h"

#include <fontconfig/fontconfig.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <string.h>

enum { TEXT_LIMIT = 1 << 20, RUN_LIMIT = 4096 };
/* Pango counts in 1/1024 of a point, by 32 bits: longer lines, or more of them, would wrap. */
static const double extent_limit = 1e6;
/* Pixels of an em; glyphs are rasterized in one piece. */
static const double em_limit = 16384;

static double clamp01(double value) { return value < 0 ? 0 : value > 1 ? 1 : value; }

static bool is_valid(const gesso_text_run *runs, size_t count, const gesso_text_options *options)
{
    if (!options || options->struct_size < sizeof *options || (!runs && count)) return false;
    if (isnan(options->width) || options->width < 0 || isnan(options->height) || options->height < 0) return false;
    if (!isfinite(options->line_spacing) || !isfinite(options->vertical)) return false;
    if ((unsigned)options->alignment > GESSO_TEXT_NATURAL || (unsigned)options->line_break > GESSO_BREAK_TRUNCATE_TAIL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const gesso_text_run *run = &runs[i];
        if (!run->utf8 && run->length) return false;
        if (!(run->size > 0 && run->size <= 10000) || run->weight < 100 || run->weight > 1000) return false;
        if (!isfinite(run->red) || !isfinite(run->green) || !isfinite(run->blue) || !isfinite(run->alpha)) return false;
    }
    return true;
}

/* Pango aborts the process when it finds no font at all. */
static bool has_fonts(void)
{
    FcFontSet *system = FcConfigGetFonts(NULL, FcSetSystem);
    FcFontSet *application = FcConfigGetFonts(NULL, FcSetApplication);
    return (system && system->nfont > 0) || (application && application->nfont > 0);
}

static void add_attribute(PangoAttrList *list, PangoAttribute *attribute, size_t start, size_t end)
{
    attribute->start_index = (guint)start;
    attribute->end_index = (guint)end;
    pango_attr_list_insert(list, attribute);
}

static guint16 component(double value) { return (guint16)lround(clamp01(value) * 65535); }

static void add_attributes(PangoAttrList *list, const gesso_text_run *run, size_t start, size_t end)
{
    PangoFontDescription *font = pango_font_description_new();
    pango_font_description_set_family(font, run->family && *run->family ? run->family : "sans-serif");
    pango_font_description_set_absolute_size(font, run->size * PANGO_SCALE);
    pango_font_description_set_weight(font, (PangoWeight)run->weight);
    pango_font_description_set_style(font, run->italic ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL);
    add_attribute(list, pango_attr_font_desc_new(font), start, end);
    pango_font_description_free(font);
    add_attribute(
        list, pango_attr_foreground_new(component(run->red), component(run->green), component(run->blue)), start, end);
    guint16 alpha = component(run->alpha);
    /* Pango takes 0 for "not set", which is opaque. */
    add_attribute(list, pango_attr_foreground_alpha_new(alpha ? alpha : 1), start, end);
    if (run->underline) add_attribute(list, pango_attr_underline_new(PANGO_UNDERLINE_SINGLE), start, end);
    if (run->strikethrough) add_attribute(list, pango_attr_strikethrough_new(TRUE), start, end);
}

/* Appends a run's text. Pango bounds lines by paragraph; with one bound for all of the text, what separates
 * paragraphs has to be a line separator. */
static void append(GString *text, const gesso_text_run *run, size_t length, bool one_paragraph)
{
    if (!one_paragraph) {
        g_string_append_len(text, run->utf8, (gssize)length);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        const char *c = run->utf8 + i;
        if (*c == '\r' && i + 1 < length && c[1] == '\n') continue;
        bool is_paragraph_separator = i + 2 < length && memcmp(c, "\xe2\x80\xa9", 3) == 0;
        if (*c == '\n' || *c == '\r' || is_paragraph_separator) {
            g_string_append(text, "\xe2\x80\xa8");
            i += is_paragraph_separator ? 2 : 0;
        } else {
            g_string_append_c(text, *c);
        }
    }
}

/* How much of a run can show in so many points of lines: the rest of a long text costs time for nothing. A letter is
 * hardly ever under a twentieth of an em wide. */
static size_t shown_length(const gesso_text_run *run, double points)
{
    double most = points / (run->size * 0.05) + 64;
    if (most >= (double)run->length) return run->length;
    size_t length = (size_t)most;
    while (length > 0 && ((uint8_t)run->utf8[length] & 0xc0) == 0x80) length--; /* not within a character */
    return length;
}

static void set_breaking(PangoLayout *layout, const gesso_text_options *options, double width, double height)
{
    bool bounded = width > 0 && isfinite(width) && width < 1e6;
    bool truncates = options->line_break >= GESSO_BREAK_TRUNCATE_HEAD;
    bool clips = options->line_break == GESSO_BREAK_CLIP;
    if (bounded && !clips) pango_layout_set_width(layout, (int)ceil(width * PANGO_SCALE));
    /* Without wrapping, a width is only what alignment needs. */
    if (bounded && clips) pango_layout_set_width(layout, -1);
    pango_layout_set_wrap(
        layout, options->line_break == GESSO_BREAK_CHARACTER_WRAP ? PANGO_WRAP_CHAR : PANGO_WRAP_WORD_CHAR);
    if (!truncates) return;
    static const PangoEllipsizeMode modes[] = {PANGO_ELLIPSIZE_START, PANGO_ELLIPSIZE_MIDDLE, PANGO_ELLIPSIZE_END};
    pango_layout_set_ellipsize(layout, modes[options->line_break - GESSO_BREAK_TRUNCATE_HEAD]);
    if (options->maximum_lines > 0)
        pango_layout_set_height(layout, -(int)(options->maximum_lines < 100000 ? options->maximum_lines : 100000));
    else if (height > 0 && isfinite(height) && height < 1e6)
        pango_layout_set_height(layout, (int)floor(height * PANGO_SCALE));
    else
        pango_layout_set_height(layout, -100000); /* lines: as many as there are */
}

/* Pango puts all that is left into the last line, with an ellipsis only if that is too wide. Lines that are broken by
 * hand do not go on like that: the text ends, with an ellipsis in place of the line separator, which is as long. */
static bool end_in_last_line(PangoLayout *layout, GString *text, uint32_t maximum_lines)
{
    if (maximum_lines == 0 || (uint32_t)pango_layout_get_line_count(layout) < maximum_lines) return false;
    PangoLayoutLine *last = pango_layout_get_line_readonly(layout, (int)maximum_lines - 1);
    const char *separator = strstr(text->str + last->start_index, "\xe2\x80\xa8");
    if (!separator) return false;
    size_t end = (size_t)(separator - text->str);
    if (end + 3 == text->len) {
        pango_layout_set_text(layout, text->str, (int)end); /* nothing follows */
        return false;
    }
    memcpy(text->str + end, "\xe2\x80\xa6", 3);
    pango_layout_set_text(layout, text->str, (int)end + 3);
    return true;
}

/* The most pixels that a point becomes, in any direction. */
static double device_scale(cairo_t *cairo)
{
    cairo_matrix_t m;
    cairo_get_matrix(cairo, &m);
    return fmax(hypot(m.xx, m.yx), hypot(m.xy, m.yy));
}

/* A layout for this thread, for a context's transform or, without one, at one pixel a point. */
static gesso_status make_layout_anew(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    cairo_t *cairo, PangoLayout **result, bool *is_cut)
{
    if (!has_fonts()) return GESSO_FONT_FAILED;
    if (count > RUN_LIMIT) return GESSO_TOO_LARGE;
    GString *text = g_string_new(NULL);
    PangoAttrList *attributes = pango_attr_list_new();
    gesso_status status = GESSO_OK;
    double scale = cairo ? device_scale(cairo) : 1, extent = 0;
    bool ends_early = options->maximum_lines > 0 && width > 0 && isfinite(width)
        && options->line_break == GESSO_BREAK_TRUNCATE_TAIL;
    for (size_t i = 0; i < count && !status; i++) {
        size_t start = text->len, length = runs[i].length;
        if (length > TEXT_LIMIT - (start < TEXT_LIMIT ? start : TEXT_LIMIT) || !(runs[i].size * scale <= em_limit))
            status = GESSO_TOO_LARGE;
        else if (!g_utf8_validate(runs[i].utf8, (gssize)length, NULL))
            status = GESSO_INVALID_ARGUMENT;
        if (status) break;
        if (ends_early) length = shown_length(&runs[i], width * options->maximum_lines);
        append(text, &runs[i], length, options->maximum_lines > 0);
        extent += (double)g_utf8_strlen(text->str + start, (gssize)(text->len - start)) * runs[i].size;
        if (extent > extent_limit) status = GESSO_TOO_LARGE;
        add_attributes(attributes, &runs[i], start, text->len);
    }
    if (!status) {
        PangoContext *pango = pango_font_map_create_context(pango_cairo_font_map_get_default());
        /* No hinting and no rounding: text is as wide at every scale, and measures as it draws. */
        cairo_font_options_t *font_options = cairo_font_options_create();
        cairo_font_options_set_hint_style(font_options, CAIRO_HINT_STYLE_NONE);
        cairo_font_options_set_hint_metrics(font_options, CAIRO_HINT_METRICS_OFF);
        cairo_font_options_set_antialias(font_options, CAIRO_ANTIALIAS_GRAY);
        pango_cairo_context_set_font_options(pango, font_options);
        cairo_font_options_destroy(font_options);
        pango_context_set_round_glyph_positions(pango, FALSE);
        if (cairo) pango_cairo_update_context(cairo, pango);
        PangoLayout *layout = pango_layout_new(pango);
        g_object_unref(pango);
        pango_layout_set_text(layout, text->str, (int)text->len);
        pango_layout_set_attributes(layout, attributes);
        pango_layout_set_spacing(layout, (int)lround(fmax(-1e6, fmin(1e6, options->line_spacing)) * PANGO_SCALE));
        static const PangoAlignment alignments[] = {
            PANGO_ALIGN_LEFT, PANGO_ALIGN_CENTER, PANGO_ALIGN_RIGHT, PANGO_ALIGN_LEFT, PANGO_ALIGN_LEFT};
        pango_layout_set_alignment(layout, alignments[options->alignment]);
        pango_layout_set_justify(layout, options->alignment == GESSO_TEXT_JUSTIFIED);
        pango_layout_set_auto_dir(layout, TRUE);
        set_breaking(layout, options, width, height);
        *is_cut = options->line_break >= GESSO_BREAK_TRUNCATE_HEAD
            && end_in_last_line(layout, text, options->maximum_lines);
        *result = layout;
    }
    pango_attr_list_unref(attributes);
    g_string_free(text, TRUE);
    return status;
}

/* The same, or one that was made before. */
static gesso_status make_layout(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    cairo_t *cairo, PangoLayout **result, bool *is_cut)
{
    if (!is_valid(runs, count, options)) return GESSO_INVALID_ARGUMENT;
    gesso_layout_memory *memory = gesso_layout_memory_get();
    GByteArray *key = memory ? gesso_layout_key(runs, count, options, width, height, cairo) : NULL;
    *result = key ? gesso_layout_find(memory, key, is_cut) : NULL;
    gesso_status status = GESSO_OK;
    if (!*result) {
        status = make_layout_anew(runs, count, options, width, height, cairo, result, is_cut);
        if (!status && key) {
            gesso_layout_keep(memory, key, *result, *is_cut);
            return GESSO_OK;
        }
    }
    if (key) g_byte_array_unref(key);
    return status;
}

/* Lines that are shown: wrapped text is cut after maximum_lines by clipping, truncated text by Pango. */
static int shown_lines(PangoLayout *layout, const gesso_text_options *options)
{
    int lines = pango_layout_get_line_count(layout);
    return options->maximum_lines && (uint32_t)lines > options->maximum_lines ? (int)options->maximum_lines : lines;
}

/* Bottom of the last line that is shown, in points from the top of the layout; and the width of those lines. */
static void extents(PangoLayout *layout, int lines, double *width, double *height)
{
    PangoRectangle logical;
    PangoLayoutIter *iterator = pango_layout_get_iter(layout);
    int64_t left = INT64_MAX, right = INT64_MIN, bottom = 0;
    int line = 0;
    do {
        pango_layout_iter_get_line_extents(iterator, NULL, &logical);
        if (logical.x < left) left = logical.x;
        if ((int64_t)logical.x + logical.width > right) right = (int64_t)logical.x + logical.width;
        bottom = (int64_t)logical.y + logical.height;
    } while (++line < lines && pango_layout_iter_next_line(iterator));
    pango_layout_iter_free(iterator);
    *width = right > left ? (double)(right - left) / PANGO_SCALE : 0;
    *height = (double)bottom / PANGO_SCALE;
}

gesso_status gesso_text_measure(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, gesso_text_metrics *metrics)
{
    if (!metrics || metrics->struct_size < sizeof *metrics) return GESSO_INVALID_ARGUMENT;
    PangoLayout *layout;
    bool is_cut;
    gesso_status status = make_layout(
        runs, count, options, options ? options->width : 0, options ? options->height : 0, NULL, &layout, &is_cut);
    if (status) return status;
    int lines = shown_lines(layout, options);
    extents(layout, lines, &metrics->width, &metrics->height);
    metrics->first_baseline = pango_layout_get_baseline(layout) / (double)PANGO_SCALE;
    metrics->line_count = (uint32_t)lines;
    metrics->is_truncated = is_cut || pango_layout_is_ellipsized(layout)
        || lines < pango_layout_get_line_count(layout);
    g_object_unref(layout);
    return GESSO_OK;
}

typedef struct drawing {
    PangoLayout *layout;
    double x, y;
    double clip_x, clip_y, clip_width, clip_height; /* width 0: not clipped */
} drawing;

static void show(cairo_t *cairo, void *user_data)
{
    const drawing *d = user_data;
    double alpha = 1;
    cairo_pattern_get_rgba(cairo_get_source(cairo), NULL, NULL, NULL, &alpha);
    if (d->clip_width > 0) {
        cairo_rectangle(cairo, d->clip_x, d->clip_y, d->clip_width, d->clip_height);
        cairo_clip(cairo);
    }
    /* The runs' colours replace the source, and with it the alpha that the context asks for. */
    if (alpha < 1) cairo_push_group(cairo);
    cairo_move_to(cairo, d->x, d->y);
    pango_cairo_show_layout(cairo, d->layout);
    if (alpha < 1) {
        cairo_pop_group_to_source(cairo);
        cairo_paint_with_alpha(cairo, alpha);
    }
}

void gesso_text_draw(
    gesso_context *context, const gesso_text_run *runs, size_t count, const gesso_text_options *options,
    double x, double y, double width, double height)
{
    cairo_t *cairo = gesso_context_cairo(context);
    if (!cairo) return;
    if (!isfinite(x) || !isfinite(y) || !isfinite(width) || !isfinite(height) || width < 0 || height < 0) {
        gesso_context_fail(context, GESSO_INVALID_ARGUMENT);
        return;
    }
    if (width == 0 || height == 0) return;
    PangoLayout *layout;
    bool is_cut;
    gesso_status status = make_layout(runs, count, options, width, height, cairo, &layout, &is_cut);
    if (status) {
        gesso_context_fail(context, status);
        return;
    }
    double text_width, text_height;
    extents(layout, shown_lines(layout, options), &text_width, &text_height);
    drawing d = {.layout = layout, .x = x, .y = y + (height - text_height) * clamp01(options->vertical)};
    if (pango_layout_get_width(layout) < 0) {
        /* Unwrapped lines align with one another; the block as a whole with the rectangle. */
        double room = width - text_width;
        d.x += options->alignment == GESSO_TEXT_CENTER ? room / 2 : options->alignment == GESSO_TEXT_RIGHT ? room : 0;
    }
    PangoRectangle ink;
    pango_layout_get_pixel_extents(layout, &ink, NULL);
    double left = d.x + ink.x, top = d.y + ink.y, right = left + ink.width, bottom = top + ink.height;
    if (options->line_break < GESSO_BREAK_TRUNCATE_HEAD) {
        /* Ink may stand out to the sides, as an italic f does; lines that do not fit may not. */
        bool clips = options->line_break == GESSO_BREAK_CLIP;
        double lowest = d.y + text_height;
        d.clip_x = clips ? x : fmin(x, left);
        d.clip_width = (clips ? x + width : fmax(x + width, right)) - d.clip_x;
        d.clip_y = fmax(y, fmin(top, d.y));
        d.clip_height = fmin(y + height, lowest) - d.clip_y;
        if (d.clip_height <= 0) d.clip_height = 0, d.clip_width = 1e-9;
    }
    gesso_context_save(context);
    gesso_context_set_fill_color(context, 0, 0, 0, 1);
    gesso_context_paint(context, left - 1, top - 1, right - left + 2, bottom - top + 2, show, &d);
    gesso_context_restore(context);
    g_object_unref(layout);
}

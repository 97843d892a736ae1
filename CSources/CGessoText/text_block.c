#include "text_block.h"

#include <fontconfig/fontconfig.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_LIMIT = 1 << 20, RUN_LIMIT = 4096 };
/* Pango counts in 1/1024 of a point, by 32 bits: longer lines, or more of them, would wrap. */
static const double extent_limit = 1e6;
/* Pixels of an em; glyphs are rasterized in one piece. */
static const double em_limit = 16384;

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

static guint16 component(double value) { return (guint16)lround(gesso_text_clamp01(value) * 65535); }

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
    /* Marks and what else has no width takes none of the room. */
    const char *c = run->utf8, *end = run->utf8 + run->length;
    for (double wide = 0; c < end; c = g_utf8_next_char(c)) {
        wide += !g_unichar_iszerowidth(g_utf8_get_char(c));
        if (wide > most) break;
    }
    return (size_t)(c - run->utf8);
}

static bool has_bound(double extent) { return extent > 0 && isfinite(extent) && extent < 1e6; }

static void set_breaking(PangoLayout *layout, const gesso_text_options *options, double width, double height)
{
    bool bounded = has_bound(width);
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
    else if (has_bound(height))
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

/* The contexts that a thread made lately. */
typedef struct context_memory {
    unsigned next;
    struct {
        gesso_transform transform;
        PangoContext *context;
    } kept[4];
} context_memory;

static void end_contexts(gpointer value)
{
    context_memory *m = value;
    for (size_t i = 0; i < G_N_ELEMENTS(m->kept); i++) g_clear_object(&m->kept[i].context);
    g_free(m);
}

/* A context with a transform: making one takes as long as laying out a line. It never changes, since its layouts would be
 * made anew then. Ownership: the thread's. */
static PangoContext *context_for(gesso_transform t)
{
    static GPrivate thread = G_PRIVATE_INIT(end_contexts);
    context_memory *m = g_private_get(&thread);
    if (!m) g_private_set(&thread, m = g_new0(context_memory, 1));
    for (size_t i = 0; i < G_N_ELEMENTS(m->kept); i++) {
        const gesso_transform *k = &m->kept[i].transform;
        if (m->kept[i].context && k->a == t.a && k->b == t.b && k->c == t.c && k->d == t.d) return m->kept[i].context;
    }
    PangoContext *context = pango_font_map_create_context(pango_cairo_font_map_get_default());
    /* No hinting and no rounding: text is as wide at every scale, and measures as it draws. */
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(context, options);
    cairo_font_options_destroy(options);
    pango_context_set_round_glyph_positions(context, FALSE);
    const PangoMatrix matrix = {.xx = t.a, .xy = t.c, .yx = t.b, .yy = t.d};
    pango_context_set_matrix(context, &matrix);
    size_t place = m->next++ % G_N_ELEMENTS(m->kept);
    g_clear_object(&m->kept[place].context);
    m->kept[place].transform = t, m->kept[place].context = context;
    return context;
}

/* Text as Pango takes it. */
typedef struct prepared_text {
    GString *text;
    PangoAttrList *attributes;
} prepared_text;

static void free_prepared(prepared_text *p)
{
    g_string_free(p->text, TRUE);
    pango_attr_list_unref(p->attributes);
}

static gesso_status prepare(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, gesso_transform transform,
    prepared_text *result)
{
    if (!has_fonts()) return GESSO_FONT_FAILED;
    if (count > RUN_LIMIT) return GESSO_TOO_LARGE;
    GString *text = g_string_new(NULL);
    PangoAttrList *attributes = pango_attr_list_new();
    gesso_status status = GESSO_OK;
    double scale = fmax(hypot(transform.a, transform.b), hypot(transform.c, transform.d)), extent = 0;
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
    *result = (prepared_text){text, attributes};
    if (status) free_prepared(result);
    return status;
}

static PangoLayout *make_layout(
    const prepared_text *p, const gesso_text_options *options, double width, double height, gesso_transform transform,
    bool *is_cut)
{
    PangoLayout *layout = pango_layout_new(context_for(transform));
    pango_layout_set_text(layout, p->text->str, (int)p->text->len);
    pango_layout_set_attributes(layout, p->attributes);
    pango_layout_set_spacing(layout, (int)lround(fmax(-1e6, fmin(1e6, options->line_spacing)) * PANGO_SCALE));
    static const PangoAlignment alignments[] = {
        PANGO_ALIGN_LEFT, PANGO_ALIGN_CENTER, PANGO_ALIGN_RIGHT, PANGO_ALIGN_LEFT, PANGO_ALIGN_LEFT};
    pango_layout_set_alignment(layout, alignments[options->alignment]);
    pango_layout_set_justify(layout, options->alignment == GESSO_TEXT_JUSTIFIED);
    pango_layout_set_auto_dir(layout, TRUE);
    set_breaking(layout, options, width, height);
    *is_cut = options->line_break >= GESSO_BREAK_TRUNCATE_HEAD
        && end_in_last_line(layout, p->text, options->maximum_lines);
    return layout;
}

static void set_ink(gesso_text_block *block, const PangoRectangle *ink)
{
    block->left = ink->x / (double)PANGO_SCALE, block->right = (ink->x + ink->width) / (double)PANGO_SCALE;
    block->top = ink->y / (double)PANGO_SCALE, block->bottom = (ink->y + ink->height) / (double)PANGO_SCALE;
}

/* Whether a line is all there is, and fits. */
static bool shape_line(
    gesso_text_block *block, const prepared_text *p, const gesso_text_options *options, double width,
    gesso_transform transform)
{
    gesso_text_line *line = &block->line;
    if (!gesso_text_line_shape(line, context_for(transform), p->text->str, p->text->len, p->attributes)) return false;
    bool is_bounded = has_bound(width) && options->line_break != GESSO_BREAK_CLIP;
    int room = is_bounded ? (int)ceil(width * PANGO_SCALE) - line->logical.width : 0;
    if (room < 0) {
        gesso_text_line_free(line);
        return false;
    }
    block->is_aligned = is_bounded;
    if (options->alignment == GESSO_TEXT_CENTER) line->x = room / 2;
    if (options->alignment == GESSO_TEXT_RIGHT) line->x = room;
    block->lines = 1;
    block->width = line->logical.width / (double)PANGO_SCALE, block->height = line->logical.height / (double)PANGO_SCALE;
    block->first_baseline = line->baseline / (double)PANGO_SCALE;
    PangoRectangle ink = line->ink;
    ink.x += line->x, ink.y += line->baseline;
    set_ink(block, &ink);
    return true;
}

static void measure_layout(gesso_text_block *block, const gesso_text_options *options, bool is_cut)
{
    PangoLayout *layout = block->layout;
    block->lines = shown_lines(layout, options);
    extents(layout, block->lines, &block->width, &block->height);
    block->first_baseline = pango_layout_get_baseline(layout) / (double)PANGO_SCALE;
    block->is_truncated = is_cut || pango_layout_is_ellipsized(layout)
        || block->lines < pango_layout_get_line_count(layout);
    block->is_aligned = pango_layout_get_width(layout) >= 0;
    PangoRectangle ink;
    pango_layout_get_extents(layout, &ink, NULL);
    set_ink(block, &ink);
}

gesso_status gesso_text_block_create(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    gesso_transform transform, gesso_text_block **result)
{
    prepared_text p;
    gesso_status status = prepare(runs, count, options, width, transform, &p);
    if (status) return status;
    gesso_text_block *block = calloc(1, sizeof *block);
    if (block) {
        block->references = 1;
        if (!shape_line(block, &p, options, width, transform)) {
            bool is_cut;
            block->layout = make_layout(&p, options, width, height, transform, &is_cut);
            measure_layout(block, options, is_cut);
        }
        *result = block;
    }
    free_prepared(&p);
    return block ? GESSO_OK : GESSO_OUT_OF_MEMORY;
}

gesso_status gesso_text_block_lay_out(
    gesso_text_block *block, const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width,
    double height, gesso_transform transform)
{
    if (block->layout) return GESSO_OK;
    prepared_text p;
    gesso_status status = prepare(runs, count, options, width, transform, &p);
    if (status) return status;
    bool is_cut;
    block->layout = make_layout(&p, options, width, height, transform, &is_cut);
    free_prepared(&p);
    return GESSO_OK;
}

void gesso_text_block_release(gesso_text_block *block)
{
    if (!block || --block->references > 0) return;
    gesso_text_line_free(&block->line);
    g_clear_object(&block->layout);
    gesso_text_coverage_destroy(block->coverage);
    free(block);
}

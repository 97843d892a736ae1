#include "text_coverage.h"

#include "glyph_atlas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of what is put together in advance: more is Pango's to draw, and too much to keep. */
enum { MOST_BYTES = 1 << 20, MOST_GLYPHS = 20000, MOST_COLORS = 16 };
/* Kernels read whole words of coverage. */
enum { READ_BEYOND = 8 };

typedef struct placed_glyph {
    const gesso_glyph *glyph;
    int32_t x, y; /* of its first pixel */
    int color;
} placed_glyph;

typedef struct text_color {
    double red, green, blue, alpha;
    int32_t left, top, right, bottom; /* of its glyphs' pixels */
} text_color;

typedef struct placement {
    gesso_glyph_atlas *atlas;
    double scale, x, y; /* of the layout's origin, in pixels */
    GArray *glyphs;     /* of placed_glyph */
    int color_count;
    text_color colors[MOST_COLORS];
} placement;

/* The colour of an item; -1 if something else is to be drawn than its glyphs, or there are too many colours. */
static int color_of(placement *p, const PangoItem *item)
{
    text_color color = {0, 0, 0, 1, INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN};
    for (GSList *l = item->analysis.extra_attrs; l; l = l->next) {
        const PangoAttribute *attribute = l->data;
        if (attribute->klass->type == PANGO_ATTR_FOREGROUND) {
            PangoColor c = ((const PangoAttrColor *)attribute)->color;
            color.red = c.red / 65535.0, color.green = c.green / 65535.0, color.blue = c.blue / 65535.0;
        } else if (attribute->klass->type == PANGO_ATTR_FOREGROUND_ALPHA) {
            color.alpha = ((const PangoAttrInt *)attribute)->value / 65535.0;
        } else {
            return -1;
        }
    }
    for (int i = 0; i < p->color_count; i++)
        if (memcmp(&p->colors[i], &color, offsetof(text_color, left)) == 0) return i;
    if (p->color_count == MOST_COLORS) return -1;
    p->colors[p->color_count] = color;
    return p->color_count++;
}

/* The glyphs of a run that begins at (x, y) in Pango's units. False if they are not all outlines. */
static bool place_run(placement *p, const PangoGlyphItem *run, int x, int y)
{
    const PangoAnalysis *analysis = &run->item->analysis;
    int color = color_of(p, run->item);
    if (color < 0 || analysis->gravity != PANGO_GRAVITY_SOUTH) return false;
    gesso_glyph_font *font = gesso_glyph_atlas_font(p->atlas, analysis->font);
    if (!font) return false;
    text_color *c = &p->colors[color];
    double unit = p->scale / PANGO_SCALE;
    for (int i = 0; i < run->glyphs->num_glyphs; i++) {
        const PangoGlyphInfo *info = &run->glyphs->glyphs[i];
        int at = x + info->geometry.x_offset;
        x += info->geometry.width;
        if (info->glyph == PANGO_GLYPH_EMPTY) continue;
        if (info->glyph & PANGO_GLYPH_UNKNOWN_FLAG) return false;
        if (!(fabs(at * unit) < 1e7 && fabs(y * unit) < 1e7) || p->glyphs->len > MOST_GLYPHS) return false;
        int32_t quarters = (int32_t)floor((p->x + at * unit) * GESSO_GLYPH_PHASES + 0.5);
        int32_t baseline = (int32_t)floor(p->y + (y + info->geometry.y_offset) * unit + 0.5);
        int phase = quarters & (GESSO_GLYPH_PHASES - 1);
        const gesso_glyph *glyph = gesso_glyph_find(p->atlas, font, info->glyph, phase);
        if (!glyph) return false;
        if (glyph->width == 0 || glyph->height == 0) continue;
        placed_glyph placed = {
            glyph, (quarters - phase) / GESSO_GLYPH_PHASES + glyph->left, baseline + glyph->top, color};
        g_array_append_val(p->glyphs, placed);
        int32_t right = placed.x + (int32_t)glyph->width, bottom = placed.y + (int32_t)glyph->height;
        if (placed.x < c->left) c->left = placed.x;
        if (placed.y < c->top) c->top = placed.y;
        if (right > c->right) c->right = right;
        if (bottom > c->bottom) c->bottom = bottom;
    }
    return true;
}

static bool place_line(placement *p, GSList *items, int x, int baseline)
{
    for (GSList *l = items; l; l = l->next) {
        const PangoGlyphItem *run = l->data;
        if (!place_run(p, run, x, baseline)) return false;
        x += pango_glyph_string_get_width(run->glyphs);
    }
    return true;
}

static bool place_lines(placement *p, PangoLayout *layout, int lines)
{
    bool fine = true;
    PangoLayoutIter *iterator = pango_layout_get_iter(layout);
    do {
        PangoLayoutLine *line = pango_layout_iter_get_line_readonly(iterator);
        PangoRectangle logical;
        pango_layout_iter_get_line_extents(iterator, NULL, &logical);
        fine = place_line(p, line->runs, logical.x, pango_layout_iter_get_baseline(iterator));
    } while (fine && --lines > 0 && pango_layout_iter_next_line(iterator));
    pango_layout_iter_free(iterator);
    return fine;
}

static void add_glyph(gesso_coverage *item, uint8_t *bytes, const placed_glyph *placed)
{
    const gesso_glyph *glyph = placed->glyph;
    const uint8_t *in = glyph->pixels;
    uint8_t *out = bytes + (ptrdiff_t)(placed->y - item->y) * item->stride + (placed->x - item->x);
    /* Eight at a time: what the padding reaches behind the row stays as it is. */
    for (uint32_t y = 0; y < glyph->height; y++, in += glyph->stride, out += item->stride)
        for (uint32_t x = 0; x < glyph->stride; x += 8)
            for (uint32_t i = x; i < x + 8; i++) {
                uint32_t sum = (uint32_t)out[i] + in[i];
                out[i] = (uint8_t)(sum > 255 ? 255 : sum);
            }
}

/* Makes one item of each colour. False: out of memory, or too much. */
static bool put_together(gesso_text_coverage *coverage, const placement *p)
{
    coverage->items = calloc((size_t)p->color_count + 1, sizeof *coverage->items);
    if (!coverage->items) return false;
    size_t places[MOST_COLORS], bytes = 0;
    for (int i = 0; i < p->color_count; i++) {
        const text_color *c = &p->colors[i];
        gesso_coverage *item = &coverage->items[i];
        *item = (gesso_coverage){.red = c->red, .green = c->green, .blue = c->blue, .alpha = c->alpha};
        places[i] = bytes;
        if (c->left >= c->right) continue;
        item->width = (uint32_t)(c->right - c->left), item->height = (uint32_t)(c->bottom - c->top);
        item->stride = (ptrdiff_t)item->width, item->x = c->left, item->y = c->top;
        bytes += (size_t)item->width * item->height + READ_BEYOND;
        if (bytes > MOST_BYTES) return false;
    }
    coverage->bytes = calloc(bytes + 1, 1);
    if (!coverage->bytes) return false;
    for (guint i = 0; i < p->glyphs->len; i++) {
        const placed_glyph *placed = &g_array_index(p->glyphs, placed_glyph, i);
        add_glyph(&coverage->items[placed->color], coverage->bytes + places[placed->color], placed);
    }
    for (int i = 0; i < p->color_count; i++)
        if (coverage->items[i].width) {
            coverage->items[i].pixels = coverage->bytes + places[i];
            coverage->items[coverage->count++] = coverage->items[i];
        }
    return true;
}

gesso_text_coverage *gesso_text_coverage_create(
    const gesso_text_line *line, PangoLayout *layout, int lines, double scale, int phase_x, double fraction_y)
{
    gesso_text_coverage *coverage = calloc(1, sizeof *coverage);
    gesso_glyph_atlas *atlas = gesso_glyph_atlas_get();
    if (!coverage || !atlas) {
        free(coverage);
        return NULL;
    }
    coverage->scale = scale, coverage->phase_x = phase_x, coverage->fraction_y = fraction_y;
    placement p = {
        .atlas = atlas, .scale = scale, .x = phase_x / 4.0, .y = fraction_y,
        .glyphs = g_array_sized_new(FALSE, FALSE, sizeof(placed_glyph), 128)};
    bool placed = line->items ? place_line(&p, line->items, line->x, line->baseline) : place_lines(&p, layout, lines);
    coverage->is_drawable = placed && put_together(coverage, &p);
    g_array_unref(p.glyphs);
    return coverage;
}

void gesso_text_coverage_destroy(gesso_text_coverage *coverage)
{
    if (!coverage) return;
    free(coverage->items);
    free(coverage->bytes);
    free(coverage);
}

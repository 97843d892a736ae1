#include "text_line.h"

#include <string.h>

/* Control characters and separators: tabs, and what ends lines. */
static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        uint8_t c = (uint8_t)text[i];
        if (c < 0x20 || c == 0x7f) return false;
        bool ends_lines = (c == 0xc2 && (uint8_t)text[i + 1] == 0x85)
            || (c == 0xe2 && i + 2 < length && (uint8_t)text[i + 1] == 0x80 && ((uint8_t)text[i + 2] & 0xfe) == 0xa8);
        if (ends_lines) return false;
    }
    return length > 0;
}

static void free_item(gpointer item) { pango_glyph_item_free(item); }

void gesso_text_line_free(gesso_text_line *line)
{
    g_slist_free_full(line->items, free_item);
    line->items = NULL;
}

static void widen(PangoRectangle *all, const PangoRectangle *part, int x)
{
    int right = MAX(all->x + all->width, x + part->x + part->width), bottom = MAX(all->y + all->height, part->y + part->height);
    all->x = MIN(all->x, x + part->x), all->y = MIN(all->y, part->y);
    all->width = right - all->x, all->height = bottom - all->y;
}

bool gesso_text_line_shape(
    gesso_text_line *line, PangoContext *context, const char *text, size_t length, PangoAttrList *attributes)
{
    *line = (gesso_text_line){0};
    if (!is_plain(text, length)) return false;
    GList *items = pango_itemize_with_base_dir(
        context, PANGO_DIRECTION_LTR, text, 0, (int)length, attributes, NULL);
    bool fine = items != NULL;
    for (GList *l = items; l && fine; l = l->next) fine = ((const PangoItem *)l->data)->analysis.level == 0;
    if (!fine) {
        g_list_free_full(items, (GDestroyNotify)pango_item_free);
        return false;
    }
    int x = 0;
    for (GList *l = items; l; l = l->next) {
        PangoGlyphItem *shaped = g_slice_new0(PangoGlyphItem);
        shaped->item = l->data;
        shaped->glyphs = pango_glyph_string_new();
        line->items = g_slist_prepend(line->items, shaped);
        const PangoItem *item = shaped->item;
        pango_shape_with_flags(
            text + item->offset, item->length, text, (int)length, &item->analysis, shaped->glyphs, PANGO_SHAPE_NONE);
        PangoRectangle ink, logical;
        pango_glyph_string_extents(shaped->glyphs, item->analysis.font, &ink, &logical);
        if (l == items) line->ink = ink, line->logical = logical;
        widen(&line->logical, &logical, x);
        if (ink.width > 0) widen(&line->ink, &ink, x);
        x += logical.width;
    }
    g_list_free(items); /* which the shaped ones own by now */
    line->items = g_slist_reverse(line->items);
    line->baseline = -line->logical.y;
    return true;
}

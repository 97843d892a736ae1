/* A text that is one line from left to right, which is most of them: shaped without the search for places to break lines
 * that a layout begins with. */
#ifndef GESSO_TEXT_LINE_H
#define GESSO_TEXT_LINE_H

#include <pango/pangocairo.h>
#include <stdbool.h>

/* In Pango's units. */
typedef struct gesso_text_line {
    GSList *items;   /* of PangoGlyphItem, from left to right */
    int x, baseline; /* where they begin */
    PangoRectangle ink, logical; /* from there */
} gesso_text_line;

/* False if the text is to be laid out otherwise: it is empty, has more than one line, or runs to the left somewhere. */
bool gesso_text_line_shape(
    gesso_text_line *line, PangoContext *context, const char *text, size_t length, PangoAttrList *attributes);
void gesso_text_line_free(gesso_text_line *line);

#endif

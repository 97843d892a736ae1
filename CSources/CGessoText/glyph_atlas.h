/* Glyphs' coverage, rasterized once by FreeType at quarters of a pixel, and kept by thread: drawing them needs none of the
 * locks that font libraries have. */
#ifndef GESSO_GLYPH_ATLAS_H
#define GESSO_GLYPH_ATLAS_H

#include <pango/pangocairo.h>
#include <stdbool.h>
#include <stdint.h>

enum { GESSO_GLYPH_PHASES = 4 };

/* Pixels of coverage, row by row; the first one is at (left, top) of the glyph's origin. Rows are padded by zeros to whole
 * words of eight. */
typedef struct gesso_glyph {
    int32_t left, top;
    uint32_t width, height, stride;
    uint8_t pixels[];
} gesso_glyph;

typedef struct gesso_glyph_atlas gesso_glyph_atlas;
typedef struct gesso_glyph_font gesso_glyph_font;

/* The calling thread's, with room for more: what was found before may be gone. Null: out of memory. */
gesso_glyph_atlas *gesso_glyph_atlas_get(void);

/* The part of the atlas for a font, at the scale that its context has. Null if its glyphs are not outlines. */
gesso_glyph_font *gesso_glyph_atlas_font(gesso_glyph_atlas *atlas, PangoFont *font);

/* A glyph, moved to the right by `phase` quarters of a pixel. Null if it has no outline, is huge, or the atlas is full. */
const gesso_glyph *gesso_glyph_find(gesso_glyph_atlas *atlas, gesso_glyph_font *font, PangoGlyph glyph, int phase);

#endif

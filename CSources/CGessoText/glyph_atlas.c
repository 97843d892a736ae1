#include "glyph_atlas.h"

#include <pango/pangofc-font.h>
#include <math.h>
#include <stdlib.h>

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#include FT_SYNTHESIS_H

/* Of pixels in all, of fonts, and of a glyph's side. */
enum { MOST_BYTES = 2 << 20, MOST_FONTS = 64, LARGEST_SIDE = 512 };

/* A face of its own for each font: Cairo's are shared by threads that hold them. */
struct gesso_glyph_font {
    PangoFont *font;
    FT_Face face; /* null if its glyphs are not outlines */
    bool emboldens;
    GHashTable *glyphs; /* by glyph · phases + phase; a glyph that cannot be had is `missing` */
};

struct gesso_glyph_atlas {
    FT_Library library;
    size_t bytes;
    uint32_t font_count;
    gesso_glyph_font fonts[MOST_FONTS];
};

static gesso_glyph missing;

static void free_glyph(gpointer glyph)
{
    if (glyph != &missing) free(glyph);
}

static void clear(gesso_glyph_atlas *atlas)
{
    for (uint32_t i = 0; i < atlas->font_count; i++) {
        g_hash_table_unref(atlas->fonts[i].glyphs);
        g_object_unref(atlas->fonts[i].font);
        if (atlas->fonts[i].face) FT_Done_Face(atlas->fonts[i].face);
    }
    atlas->bytes = 0;
    atlas->font_count = 0;
}

static void end_atlas(gpointer atlas)
{
    clear(atlas);
    FT_Done_FreeType(((gesso_glyph_atlas *)atlas)->library);
    free(atlas);
}

static gesso_glyph_atlas *make_atlas(void)
{
    gesso_glyph_atlas *atlas = calloc(1, sizeof *atlas);
    if (atlas && FT_Init_FreeType(&atlas->library) == 0) return atlas;
    free(atlas);
    return NULL;
}

gesso_glyph_atlas *gesso_glyph_atlas_get(void)
{
    static GPrivate thread = G_PRIVATE_INIT(end_atlas);
    gesso_glyph_atlas *atlas = g_private_get(&thread);
    if (!atlas && (atlas = make_atlas())) g_private_set(&thread, atlas);
    if (atlas && (atlas->bytes > MOST_BYTES || atlas->font_count > MOST_FONTS * 3 / 4)) clear(atlas);
    return atlas;
}

/* From points of the outline to pixels, as Cairo has it: the font's size and slant, and the context's transform. */
static bool get_matrix(PangoFont *font, cairo_matrix_t *matrix)
{
    cairo_scaled_font_t *scaled = PANGO_IS_CAIRO_FONT(font) ? pango_cairo_font_get_scaled_font(PANGO_CAIRO_FONT(font)) : NULL;
    if (!scaled || cairo_scaled_font_status(scaled)) return false;
    cairo_matrix_t transform;
    cairo_scaled_font_get_font_matrix(scaled, matrix);
    cairo_scaled_font_get_ctm(scaled, &transform);
    cairo_matrix_multiply(matrix, matrix, &transform);
    return matrix->yy >= 1 && matrix->yy < 4096 && fabs(matrix->xx) < 4096 && fabs(matrix->xy) < 4096 && fabs(matrix->yx) < 4096;
}

static FT_Fixed fixed(double value) { return (FT_Fixed)lrint(value * 65536); }

static FT_Face open_face(FT_Library library, PangoFont *font)
{
    cairo_matrix_t m;
    FcPattern *pattern = PANGO_IS_FC_FONT(font) ? pango_fc_font_get_pattern(PANGO_FC_FONT(font)) : NULL;
    FcChar8 *file, *variations;
    int index = 0;
    if (!pattern || !get_matrix(font, &m) || FcPatternGetString(pattern, FC_FILE, 0, &file) != FcResultMatch) return NULL;
    if (FcPatternGetString(pattern, FC_FONT_VARIATIONS, 0, &variations) == FcResultMatch && *variations) return NULL;
    FcPatternGetInteger(pattern, FC_INDEX, 0, &index);
    FT_Face face;
    if (FT_New_Face(library, (const char *)file, index, &face)) return NULL;
    FT_Matrix shape = {fixed(m.xx / m.yy), fixed(-m.xy / m.yy), fixed(-m.yx / m.yy), fixed(1)};
    if (FT_IS_SCALABLE(face) && !FT_HAS_COLOR(face) && FT_Set_Char_Size(face, 0, (FT_F26Dot6)lrint(m.yy * 64), 0, 0) == 0) {
        FT_Set_Transform(face, &shape, NULL);
        return face;
    }
    FT_Done_Face(face);
    return NULL;
}

gesso_glyph_font *gesso_glyph_atlas_font(gesso_glyph_atlas *atlas, PangoFont *font)
{
    for (uint32_t i = 0; i < atlas->font_count; i++)
        if (atlas->fonts[i].font == font) return atlas->fonts[i].face ? &atlas->fonts[i] : NULL;
    if (atlas->font_count == MOST_FONTS) return NULL;
    gesso_glyph_font *f = &atlas->fonts[atlas->font_count++];
    *f = (gesso_glyph_font){
        .font = g_object_ref(font), .face = open_face(atlas->library, font),
        .glyphs = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_glyph)};
    if (!f->face) return NULL;
    FcBool embolden = FcFalse;
    FcPatternGetBool(pango_fc_font_get_pattern(PANGO_FC_FONT(font)), FC_EMBOLDEN, 0, &embolden);
    f->emboldens = embolden;
    return f;
}

static gesso_glyph *rasterize(FT_Outline *outline, FT_Library library)
{
    FT_BBox box;
    FT_Outline_Get_CBox(outline, &box);
    int32_t left = (int32_t)(box.xMin >> 6), bottom = (int32_t)(box.yMin >> 6);
    int32_t right = (int32_t)((box.xMax + 63) >> 6), top = (int32_t)((box.yMax + 63) >> 6);
    if (right - left > LARGEST_SIDE || top - bottom > LARGEST_SIDE) return NULL;
    uint32_t width = (uint32_t)(right - left), height = (uint32_t)(top - bottom);
    uint32_t stride = (width + 7) & ~7u;
    gesso_glyph *glyph = calloc(1, sizeof *glyph + (size_t)stride * height);
    if (!glyph) return NULL;
    *glyph = (gesso_glyph){.left = left, .top = -top, .width = width, .height = height, .stride = stride};
    FT_Outline_Translate(outline, -(FT_Pos)left * 64, -(FT_Pos)bottom * 64);
    FT_Bitmap bitmap = {
        .rows = height, .width = width, .pitch = (int)stride, .buffer = glyph->pixels, .num_grays = 256,
        .pixel_mode = FT_PIXEL_MODE_GRAY};
    if (width == 0 || height == 0 || FT_Outline_Get_Bitmap(library, outline, &bitmap) == 0) return glyph;
    free(glyph);
    return NULL;
}

static gesso_glyph *load(const gesso_glyph_font *font, PangoGlyph glyph, int phase)
{
    FT_GlyphSlot slot = font->face->glyph;
    if (FT_Load_Glyph(font->face, glyph, FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP)) return NULL;
    if (slot->format != FT_GLYPH_FORMAT_OUTLINE) return NULL;
    if (font->emboldens) FT_GlyphSlot_Embolden(slot);
    FT_Outline_Translate(&slot->outline, phase * (64 / GESSO_GLYPH_PHASES), 0);
    return rasterize(&slot->outline, slot->library);
}

const gesso_glyph *gesso_glyph_find(gesso_glyph_atlas *atlas, gesso_glyph_font *font, PangoGlyph glyph, int phase)
{
    gpointer key = GUINT_TO_POINTER(glyph * GESSO_GLYPH_PHASES + (guint)phase);
    gesso_glyph *found = g_hash_table_lookup(font->glyphs, key);
    if (!found && atlas->bytes > 4 * MOST_BYTES) return NULL; /* one text alone would fill it */
    if (!found) {
        found = load(font, glyph, phase);
        atlas->bytes += sizeof *found + (found ? (size_t)found->stride * found->height : 0);
        if (!found) found = &missing;
        g_hash_table_insert(font->glyphs, key, found);
    }
    return found == &missing ? NULL : found;
}

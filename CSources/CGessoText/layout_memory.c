#include "layout_memory.h"

#include <stdlib.h>
#include <string.h>

/* Shaping costs far more than drawing: what a thread has laid out lately, it keeps. */
enum { REMEMBERED = 32, LONGEST_KEY = 8192 };

typedef struct entry {
    GByteArray *key; /* all that a layout depends on */
    PangoLayout *layout;
    bool is_cut;
    uint64_t used;
} entry;

struct gesso_layout_memory {
    uint64_t clock;
    entry entries[REMEMBERED];
};

static void end_memory(gpointer value)
{
    gesso_layout_memory *m = value;
    for (int i = 0; i < REMEMBERED; i++) {
        if (m->entries[i].key) g_byte_array_unref(m->entries[i].key);
        if (m->entries[i].layout) g_object_unref(m->entries[i].layout);
    }
    free(m);
}

gesso_layout_memory *gesso_layout_memory_get(void)
{
    static GPrivate thread = G_PRIVATE_INIT(end_memory);
    gesso_layout_memory *m = g_private_get(&thread);
    if (!m && (m = calloc(1, sizeof *m))) g_private_set(&thread, m);
    return m;
}

static void add_number(GByteArray *key, double number) { g_byte_array_append(key, (const guint8 *)&number, sizeof number); }

static void add_text(GByteArray *key, const char *text, size_t length)
{
    add_number(key, (double)length);
    if (length) g_byte_array_append(key, (const guint8 *)text, (guint)length);
}

GByteArray *gesso_layout_key(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    cairo_t *cairo)
{
    size_t length = 0;
    for (size_t i = 0; i < count && length <= LONGEST_KEY; i++)
        length += 64 + (runs[i].length < LONGEST_KEY ? runs[i].length : LONGEST_KEY);
    if (length > LONGEST_KEY) return NULL;
    GByteArray *key = g_byte_array_sized_new((guint)length + 256);
    cairo_matrix_t m = {.xx = 1, .yy = 1};
    if (cairo) cairo_get_matrix(cairo, &m);
    const double numbers[] = {
        cairo != NULL, m.xx, m.yx, m.xy, m.yy, width, height, options->maximum_lines, options->alignment,
        options->line_break, options->line_spacing};
    g_byte_array_append(key, (const guint8 *)numbers, sizeof numbers);
    for (size_t i = 0; i < count; i++) {
        const gesso_text_run *r = &runs[i];
        const double look[] = {
            r->size, r->weight, r->italic, r->underline, r->strikethrough, r->red, r->green, r->blue, r->alpha};
        g_byte_array_append(key, (const guint8 *)look, sizeof look);
        add_text(key, r->family ? r->family : "", r->family ? strlen(r->family) : 0);
        add_text(key, r->utf8, r->length);
    }
    return key;
}

PangoLayout *gesso_layout_find(gesso_layout_memory *m, const GByteArray *key, bool *is_cut)
{
    for (int i = 0; i < REMEMBERED; i++) {
        entry *e = &m->entries[i];
        if (!e->key || e->key->len != key->len || memcmp(e->key->data, key->data, key->len) != 0) continue;
        e->used = ++m->clock;
        *is_cut = e->is_cut;
        return g_object_ref(e->layout);
    }
    return NULL;
}

void gesso_layout_keep(gesso_layout_memory *m, GByteArray *key, PangoLayout *layout, bool is_cut)
{
    entry *e = &m->entries[0];
    for (int i = 1; i < REMEMBERED; i++)
        if (m->entries[i].used < e->used) e = &m->entries[i];
    if (e->key) g_byte_array_unref(e->key);
    if (e->layout) g_object_unref(e->layout);
    *e = (entry){key, g_object_ref(layout), is_cut, ++m->clock};
}

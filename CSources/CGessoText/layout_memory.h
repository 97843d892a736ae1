/* Shaping costs far more than drawing: what a thread has laid out lately, it keeps. */
#ifndef GESSO_LAYOUT_MEMORY_H
#define GESSO_LAYOUT_MEMORY_H

#include "include/gesso_text.h"

#include <pango/pangocairo.h>

typedef struct gesso_layout_memory gesso_layout_memory;

/* The calling thread's; null: out of memory. */
gesso_layout_memory *gesso_layout_memory_get(void);

/* All that a layout depends on, or null if the text is too long to be kept. Ownership: the caller's. */
GByteArray *gesso_layout_key(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    cairo_t *cairo);

/* The layout that is kept under a key, or null. Ownership: the caller unrefs it. */
PangoLayout *gesso_layout_find(gesso_layout_memory *memory, const GByteArray *key, bool *is_cut);

/* Keeps a layout under a key, which it takes over, in place of the one that was not used for longest. */
void gesso_layout_keep(gesso_layout_memory *memory, GByteArray *key, PangoLayout *layout, bool is_cut);

#endif

#include "context_internal.h"
bool gesso_fast_fill(gesso_context *c, const gesso_shape *o, const gesso_shape *i, gesso_color k){(void)c;(void)o;(void)i;(void)k;return false;}
bool gesso_fast_bitmap(gesso_context *c, const gesso_bitmap *b, const gesso_shape *r){(void)c;(void)b;(void)r;return false;}
bool gesso_stroke_shapes(const gesso_state *s, const gesso_shape *p, gesso_shape *o, gesso_shape *i, bool *h){(void)s;(void)p;(void)o;(void)i;(void)h;return false;}

#include "shape.h"

#include <string.h>

bool gesso_shape_is_rectangle(const gesso_shape *s)
{
    for (int i = 0; i < 4; i++)
        if (s->rx[i] && s->ry[i]) return false;
    return true;
}

bool gesso_shape_is_aligned(const gesso_shape *s)
{
    return gesso_shape_is_rectangle(s) && ((s->x0 | s->y0 | s->x1 | s->y1) & 255) == 0;
}

bool gesso_shape_equals(const gesso_shape *a, const gesso_shape *b) { return memcmp(a, b, sizeof *a) == 0; }

#include <pango/pangofc-font.h>

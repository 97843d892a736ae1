#include "gradient.h"

static gesso_color color_of(const gesso_gradient_stop *s)
{
    return (gesso_color){gesso_clamp01(s->red), gesso_clamp01(s->green), gesso_clamp01(s->blue), gesso_clamp01(s->alpha)};
}

/* Colours along 0…1, mixed before they are premultiplied, as Cairo and CoreGraphics do. */
static void fill_table(const gesso_ramp *ramp, uint32_t *table)
{
    size_t next = 0;
    for (int32_t i = 0; i < ramp->size; i++) {
        double t = (i + 0.5) / ramp->size;
        while (next < ramp->count && ramp->stops[next].location <= t) next++;
        const gesso_gradient_stop *s = &ramp->stops[next > 0 ? next - 1 : 0];
        gesso_color a = color_of(s);
        if (next > 0 && next < ramp->count) {
            gesso_color b = color_of(s + 1);
            double part = (t - s->location) / (s[1].location - s->location);
            a.red += (b.red - a.red) * part, a.green += (b.green - a.green) * part;
            a.blue += (b.blue - a.blue) * part, a.alpha += (b.alpha - a.alpha) * part;
        }
        table[i] = gesso_premultiplied(a, 1);
    }
}

static bool has_one_alpha(const gesso_gradient_stop *stops, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (gesso_clamp01(stops[i].alpha) != gesso_clamp01(stops[0].alpha)) return false;
    return true;
}

static gesso_line_stop *make_lines(const gesso_ramp *ramp)
{
    gesso_line_stop *lines = calloc(ramp->count, sizeof *lines);
    if (!lines) return NULL;
    for (size_t i = 0; i < ramp->count; i++) {
        const gesso_gradient_stop *s = &ramp->stops[i];
        double scale = 255 * 256 * gesso_clamp01(s->alpha), components[] = {s->blue, s->green, s->red, 1};
        for (int c = 0; c < 4; c++) lines[i].color[c] = (float)(gesso_clamp01(components[c]) * scale);
    }
    for (size_t i = 0; i + 1 < ramp->count; i++) {
        gesso_line_stop *line = &lines[i];
        double length = ramp->stops[i + 1].location - ramp->stops[i].location;
        line->inverse_length = length > 0 ? 1 / length : 0;
        for (int c = 0; c < 4; c++) {
            line->change[c] = lines[i + 1].color[c] - line->color[c];
            double step = line->change[c] * line->inverse_length * ramp->by_x;
            /* Sums are taken modulo 65,536, so that steps of more than half of it come out right as well. */
            line->step[c] = (int16_t)(uint16_t)(int32_t)lrint(fmax(-65536, fmin(65536, step)));
        }
    }
    return lines;
}

/* Sets what both kinds have. `pixels` is how many there are along the gradient; less than one is no gradient. */
static bool begin(gesso_ramp *r, double pixels, uint32_t options, int32_t width)
{
    const uint32_t everywhere = GESSO_GRADIENT_DRAWS_BEFORE_START | GESSO_GRADIENT_DRAWS_AFTER_END;
    bool goes_on = (options & everywhere) == everywhere, has_lines = !r->is_radial && goes_on && has_one_alpha(r->stops, r->count);
    r->is_opaque = goes_on && has_one_alpha(r->stops, r->count) && r->stops[0].alpha >= 1;
    if (!(pixels >= 1 && pixels < 1e6)) return false;
    r->line = malloc((size_t)width * sizeof *r->line);
    if (has_lines) {
        r->lines = make_lines(r);
        return r->line && r->lines;
    }
    /* Some colours to a pixel, so that steep changes are where they belong. */
    enum { FINE = 8, LEAST = 256, MOST = 8192 };
    for (r->size = LEAST; r->size < FINE * pixels;) r->size *= 2;
    if (r->size > MOST) return false;
    r->indices = malloc((size_t)width * sizeof *r->indices);
    r->table = malloc(((size_t)r->size + 2) * sizeof *r->table);
    if (!r->line || !r->indices || !r->table) return false;
    fill_table(r, r->table + 1);
    gesso_color first = color_of(&r->stops[0]), last = color_of(&r->stops[r->count - 1]);
    r->table[0] = options & GESSO_GRADIENT_DRAWS_BEFORE_START ? gesso_premultiplied(first, 1) : 0;
    r->table[r->size + 1] = options & GESSO_GRADIENT_DRAWS_AFTER_END ? gesso_premultiplied(last, 1) : 0;
    return true;
}

bool gesso_ramp_begin_linear(
    gesso_ramp *ramp, const gesso_gradient_stop *stops, size_t count, const cairo_matrix_t *matrix, double start_x,
    double start_y, double end_x, double end_y, uint32_t options, int32_t width)
{
    *ramp = (gesso_ramp){.stops = stops, .count = count};
    /* Along the line in user space, which the device's pixels go along in even steps, too. */
    double dx = end_x - start_x, dy = end_y - start_y, square = dx * dx + dy * dy;
    cairo_matrix_t inverse = *matrix;
    if (!(square > 1e-12 && square < 1e12) || cairo_matrix_invert(&inverse) != CAIRO_STATUS_SUCCESS) return false;
    ramp->by_x = (inverse.xx * dx + inverse.yx * dy) / square;
    ramp->by_y = (inverse.xy * dx + inverse.yy * dy) / square;
    ramp->origin = ((inverse.x0 - start_x) * dx + (inverse.y0 - start_y) * dy) / square + (ramp->by_x + ramp->by_y) / 2;
    if (!gesso_is_finite4(ramp->by_x, ramp->by_y, ramp->origin, 0) || fabs(ramp->origin) > 1e9) return false;
    return begin(ramp, 1 / hypot(ramp->by_x, ramp->by_y), options, width);
}

bool gesso_ramp_begin_radial(
    gesso_ramp *ramp, const gesso_gradient_stop *stops, size_t count, const cairo_matrix_t *matrix, double start_x,
    double start_y, double start_radius, double end_x, double end_y, double end_radius, uint32_t options, int32_t width)
{
    *ramp = (gesso_ramp){.stops = stops, .count = count, .is_radial = true};
    double dx = end_x - start_x, dy = end_y - start_y, dr = end_radius - start_radius, a = dx * dx + dy * dy - dr * dr;
    ramp->inverse = *matrix;
    /* The end circle holds the start circle with room: each point of the plane has one place then. */
    if (!(dr > 0 && a < -0.01 * dr * dr && dr < 1e5)) return false;
    if (cairo_matrix_invert(&ramp->inverse) != CAIRO_STATUS_SUCCESS) return false;
    const cairo_matrix_t *i = &ramp->inverse;
    if (!gesso_is_finite4(i->xx, i->yx, i->xy, i->yy) || !gesso_is_finite2(i->x0, i->y0)) return false;
    ramp->inverse.x0 -= start_x, ramp->inverse.y0 -= start_y;
    ramp->radial = (gesso_radial){
        .dx = (float)i->xx, .dy = (float)i->yx, .cx = (float)dx, .cy = (float)dy, .a = (float)a,
        .inverse_a = (float)(1 / a), .r_dr = (float)(start_radius * dr), .r_square = (float)(start_radius * start_radius)};
    /* By single precision: not for places that are far out, measured in radii. */
    double reach = fabs(ramp->inverse.x0) + fabs(ramp->inverse.y0) + 32767 * (fabs(i->xx) + fabs(i->xy) + fabs(i->yx) + fabs(i->yy));
    if (!(reach < 1e4 * end_radius)) return false;
    return begin(ramp, dr * hypot(hypot(matrix->xx, matrix->yx), hypot(matrix->xy, matrix->yy)), options, width);
}

/* ---- Straight lines of colour ---- */

/* Pixels from a stop on, the first of which is at `part` of the way to the next, and each `slope` further. */
static inline void fill_stretch(
    const gesso_kernels *kernels, const gesso_line_stop *line, float part, float slope, int32_t count, uint32_t *out)
{
    /* What steps of 1/256 are off adds up: to 1/4, when the colours are found anew. */
    enum { EXACT = 128 };
    for (; count > 0; count -= EXACT, out += EXACT, part += slope * EXACT) {
        uint16_t from[4];
        for (int c = 0; c < 4; c++) {
            float value = line->color[c] + line->change[c] * part + 128.5f; /* to cut fractions off, twice, is to round then */
            value = value < 0 ? 0 : value;
            from[c] = (uint16_t)(int32_t)(value < 65535 ? value : 65535);
        }
        kernels->ramp(out, (size_t)(count < EXACT ? count : EXACT), from, line->step);
    }
}

static void fill_lines(const gesso_ramp *ramp, const gesso_kernels *kernels, int32_t y, int32_t begin, int32_t end, uint32_t *out)
{
    const gesso_gradient_stop *stops = ramp->stops;
    double place = ramp->origin + ramp->by_y * y, step = ramp->by_x, inverse_step = step != 0 ? 1 / step : 0;
    /* The stop after the pixel, which is sought from where the one before was found. */
    size_t next = 0, count = ramp->count;
    for (int32_t x = begin; x < end;) {
        double t = place + step * x;
        while (next < count && stops[next].location <= t) next++;
        while (next > 0 && stops[next - 1].location > t) next--;
        size_t a = next > 0 ? next - 1 : 0, b = next < count ? next : count - 1;
        int32_t stop = end;
        if (step > 0 ? next < count : step < 0 && next > 0) {
            double pixels = (stops[step > 0 ? b : a].location - t) * inverse_step;
            if (pixels < end - x - 1) stop = x + (int32_t)pixels + 1;
        }
        /* Beyond the ends there is no change. */
        double inverse = next > 0 && a < b ? ramp->lines[a].inverse_length : 0;
        static const int16_t none[4];
        gesso_line_stop beyond;
        const gesso_line_stop *line = &ramp->lines[a];
        if (inverse == 0 && memcmp(line->step, none, sizeof none) != 0) {
            beyond = (gesso_line_stop){.color = {line->color[0], line->color[1], line->color[2], line->color[3]}};
            line = &beyond;
        }
        fill_stretch(
            kernels, line, (float)((t - stops[a].location) * inverse), (float)(step * inverse), stop - x, out + (x - begin));
        x = stop;
    }
}

/* ---- By the table ---- */

static void find_radial(const gesso_ramp *ramp, const gesso_kernels *kernels, int32_t y, int32_t begin, int32_t count)
{
    const cairo_matrix_t *i = &ramp->inverse;
    double x = begin + 0.5, row = y + 0.5;
    gesso_radial radial = ramp->radial;
    radial.x = (float)(i->xx * x + i->xy * row + i->x0);
    radial.y = (float)(i->yx * x + i->yy * row + i->y0);
    kernels->find_radial(ramp->indices, (size_t)count, &radial, ramp->size);
}

void gesso_ramp_fill(const gesso_ramp *ramp, const gesso_kernels *kernels, int32_t y, int32_t begin, int32_t end, uint32_t *out)
{
    if (!ramp->table) {
        fill_lines(ramp, kernels, y, begin, end, out);
        return;
    }
    int32_t count = end - begin;
    if (ramp->is_radial)
        find_radial(ramp, kernels, y, begin, count);
    else
        kernels->find_linear(
            ramp->indices, (size_t)count, (float)(ramp->origin + ramp->by_y * y + ramp->by_x * begin), (float)ramp->by_x,
            ramp->size);
    for (int32_t i = 0; i < count; i++) out[i] = ramp->table[ramp->indices[i]];
}

void gesso_ramp_end(gesso_ramp *ramp)
{
    free(ramp->line);
    free(ramp->indices);
    free(ramp->table);
    free(ramp->lines);
}

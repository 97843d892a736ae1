/* Random sequences of drawing operations on small bitmaps, read from the fuzzer's bytes. What goes wrong is found by the
 * sanitizers, by guards around the pixels, and by what has to hold after any sequence. */
#include "gesso.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct input {
    const uint8_t *bytes;
    size_t length;
} input;

static uint8_t byte(input *in)
{
    if (in->length == 0) return 0;
    in->length--;
    return *in->bytes++;
}

/* Mostly places and sizes of the bitmap's order, some fractions, and sometimes what nobody should pass. */
static double number(input *in)
{
    static const double strange[] = {
        0, -0.0, NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e-300, 32767, 32768, -32769, 4e6, 1e9, 0.5, 1, 255.99999};
    uint8_t kind = byte(in), value = byte(in);
    switch (kind % 8) {
    case 0: return strange[value % 16];
    case 1: return value - 128.0;
    case 2: return value / 256.0;
    default: return value / 4.0 + (kind >> 3) / 64.0 - 8;
    }
}

static double unit(input *in) { return byte(in) / 254.0; }

enum { MOST = 72, GUARD = 64 };

typedef struct canvas {
    uint8_t *memory;
    size_t size;
    gesso_bitmap *bitmap;
} canvas;

static void require(bool condition)
{
    if (!condition) abort();
}

/* Pixels within guards, with a stride that may be longer than a row. */
static canvas make_canvas(input *in)
{
    uint32_t width = 1 + byte(in) % MOST, height = 1 + byte(in) % MOST;
    gesso_format format = (gesso_format)(1 + byte(in) % 3);
    static const double scales[] = {1, 2, 1.5, 3};
    double scale = scales[byte(in) % 4];
    ptrdiff_t stride = ((format == GESSO_FORMAT_A8 ? (ptrdiff_t)width + 3 : (ptrdiff_t)width * 4) & ~3) + byte(in) % 5 * 4;
    canvas c = {.size = (size_t)stride * height + 2 * GUARD};
    c.memory = malloc(c.size);
    memset(c.memory, 0xa5, c.size);
    memset(c.memory + GUARD, 0, (size_t)stride * height);
    require(gesso_bitmap_wrap(c.memory + GUARD, width, height, stride, format, scale, NULL, NULL, &c.bitmap) == GESSO_OK);
    return c;
}

static void check_guards(const canvas *c)
{
    for (size_t i = 0; i < GUARD; i++) require(c->memory[i] == 0xa5 && c->memory[c->size - 1 - i] == 0xa5);
}

static void add_shape(gesso_context *c, input *in)
{
    double x = number(in), y = number(in), w = number(in), h = number(in);
    switch (byte(in) % 9) {
    case 0: gesso_context_add_rect(c, x, y, w, h); break;
    case 1: gesso_context_add_ellipse(c, x, y, w, h); break;
    case 2: gesso_context_add_rounded_rect(c, x, y, w, h, number(in), number(in)); break;
    case 3: gesso_context_move_to(c, x, y), gesso_context_add_line(c, w, h); break;
    case 4: gesso_context_add_arc(c, x, y, w, h, number(in), byte(in) & 1); break;
    case 5: gesso_context_add_curve(c, x, y, w, h, number(in), number(in)); break;
    case 7: gesso_context_add_rounded_rect_with_radii(c, x, y, w, h, fabs(number(in)), unit(in) * 20, fabs(number(in)), 0); break;
    case 6: gesso_context_add_quad_curve(c, x, y, w, h); break;
    default: gesso_context_close_path(c); break;
    }
}

static void draw_gradient(gesso_context *c, input *in)
{
    gesso_gradient_stop stops[4];
    size_t count = byte(in) % 5;
    double location = 0;
    for (size_t i = 0; i < count && i < 4; i++) {
        location += unit(in) / 3;
        stops[i] = (gesso_gradient_stop){location, unit(in), unit(in), unit(in), byte(in) & 1 ? 1 : unit(in)};
    }
    double v[6];
    for (int i = 0; i < 6; i++) v[i] = number(in);
    uint32_t options = byte(in) % 4;
    if (byte(in) & 1)
        gesso_context_draw_linear_gradient(c, stops, count > 4 ? 4 : count, v[0], v[1], v[2], v[3], options);
    else
        gesso_context_draw_radial_gradient(c, stops, count > 4 ? 4 : count, v[0], v[1], v[4], v[2], v[3], v[5], options);
}

static void draw_coverage(gesso_context *c, input *in)
{
    uint8_t pixels[24 * 16 + 8];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37 * (i % 5 > 1));
    gesso_coverage items[2];
    for (int i = 0; i < 2; i++)
        items[i] = (gesso_coverage){
            .pixels = pixels, .stride = 24, .width = byte(in) % 25, .height = byte(in) % 17, .x = (int32_t)byte(in) - 40,
            .y = (int32_t)byte(in) - 40, .red = unit(in), .green = unit(in), .blue = unit(in), .alpha = number(in)};
    if (byte(in) % 8 == 0) items[0].x = INT32_MAX - 3, items[1].y = INT32_MIN + 1;
    gesso_context_draw_coverage(c, items, byte(in) % 3);
}

static void operate(gesso_context *c, input *in, gesso_bitmap *const pictures[3])
{
    switch (byte(in) % 32) {
    case 0: gesso_context_save(c); break;
    case 1: gesso_context_restore(c); break;
    case 2: gesso_context_translate(c, number(in), number(in)); break;
    case 3: gesso_context_scale_by(c, number(in) / 8, number(in) / 8); break;
    case 4: gesso_context_rotate(c, number(in)); break;
    case 5:
        gesso_context_concatenate(
            c, (gesso_transform){number(in), number(in), number(in), number(in), number(in), number(in)});
        break;
    case 6: gesso_context_set_fill_color(c, unit(in), unit(in), unit(in), unit(in)); break;
    case 7: gesso_context_set_stroke_color(c, unit(in), unit(in), unit(in), number(in)); break;
    case 8: gesso_context_set_line_width(c, fabs(number(in)) / 4); break;
    case 9: gesso_context_set_line_cap(c, (gesso_line_cap)(byte(in) % 4)); break;
    case 10: gesso_context_set_line_join(c, (gesso_line_join)(byte(in) % 4)); break;
    case 11: {
        double lengths[3] = {fabs(number(in)), fabs(number(in)), fabs(number(in))};
        gesso_context_set_line_dash(c, number(in), lengths, byte(in) % 4);
        break;
    }
    case 12: gesso_context_set_alpha(c, unit(in)); break;
    case 13: gesso_context_set_blend_mode(c, (gesso_blend_mode)(byte(in) % 30)); break;
    case 14: gesso_context_set_interpolation(c, (gesso_interpolation)(byte(in) % 5)); break;
    case 15: gesso_context_set_antialias(c, byte(in) & 1); break;
    case 16: gesso_context_set_shadow(c, number(in), number(in), fabs(number(in)) / 4, unit(in), unit(in), unit(in), unit(in)); break;
    case 17: case 18: case 19: add_shape(c, in); break;
    case 20: case 21: add_shape(c, in), gesso_context_fill_path(c, (gesso_fill_rule)(byte(in) % 3)); break;
    case 22: add_shape(c, in), gesso_context_stroke_path(c); break;
    case 23: add_shape(c, in), gesso_context_clip(c, (gesso_fill_rule)(byte(in) % 2)); break;
    case 24: gesso_context_clip_to_rect(c, number(in), number(in), number(in), number(in)); break;
    case 25: gesso_context_fill_rect(c, number(in), number(in), number(in), number(in)); break;
    case 26: gesso_context_clear_rect(c, number(in), number(in), number(in), number(in)); break;
    case 27: draw_gradient(c, in); break;
    case 28:
        if (byte(in) & 1)
            gesso_context_draw_bitmap_in_parts(
                c, pictures[byte(in) % 3], number(in), number(in), number(in), number(in), unit(in) / 2, unit(in) / 2,
                unit(in) / 2, unit(in) / 2);
        else
            gesso_context_draw_bitmap(c, pictures[byte(in) % 3], number(in), number(in), number(in), number(in));
        break;
    case 29: gesso_context_begin_transparency_layer(c); break;
    case 30: gesso_context_end_transparency_layer(c); break;
    default: draw_coverage(c, in); break;
    }
}

/* A picture of random premultiplied pixels. */
static gesso_bitmap *make_picture(uint32_t width, uint32_t height, gesso_format format)
{
    gesso_bitmap *bitmap;
    require(gesso_bitmap_create(width, height, format, 1, &bitmap) == GESSO_OK);
    uint32_t state = width * 31 + format;
    for (uint32_t y = 0; y < height; y++) {
        uint8_t *row = (uint8_t *)gesso_bitmap_mutable_pixels(bitmap) + (ptrdiff_t)y * gesso_bitmap_stride(bitmap);
        for (uint32_t x = 0; x < width; x++) {
            state = state * 1664525 + 1013904223;
            uint32_t alpha = format == GESSO_FORMAT_XRGB32 ? 255 : state >> 24, word = alpha << 24;
            word |= ((state >> 16 & 255) * alpha / 255) << 16 | ((state >> 8 & 255) * alpha / 255) << 8;
            if (format == GESSO_FORMAT_A8) row[x] = (uint8_t)alpha;
            else memcpy(row + 4 * x, &word, 4);
        }
    }
    gesso_bitmap_freeze(bitmap);
    return bitmap;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static gesso_bitmap *pictures[3];
    if (!pictures[0])
        for (int i = 0; i < 3; i++) pictures[i] = make_picture(5 + 17 * (uint32_t)i, 9 + 3 * (uint32_t)i, (gesso_format)(1 + i));
    input in = {bytes, length};
    canvas target = make_canvas(&in);
    gesso_context *context;
    if (gesso_context_create_for_bitmap(&context, target.bitmap) == GESSO_OK) {
        for (int i = 0; in.length > 0 && i < 200; i++) operate(context, &in, pictures);
        gesso_bitmap *result = NULL;
        gesso_status status = gesso_context_finish(context, &result);
        require((status == GESSO_OK) == (result != NULL));
        gesso_bitmap_release(result);
    }
    check_guards(&target);
    /* An opaque format stays so, whatever was drawn. */
    if (gesso_bitmap_format(target.bitmap) == GESSO_FORMAT_XRGB32)
        for (uint32_t y = 0; y < gesso_bitmap_height(target.bitmap); y++) {
            const uint8_t *row = (const uint8_t *)gesso_bitmap_pixels(target.bitmap) + (ptrdiff_t)y * gesso_bitmap_stride(target.bitmap);
            for (uint32_t x = 0; x < gesso_bitmap_width(target.bitmap); x++) require(row[4 * x + 3] == 255);
        }
    for (int i = 0; i < 3; i++) gesso_composite(target.bitmap, pictures[i], byte(&in) - 100, byte(&in) - 100, unit(&in));
    check_guards(&target);
    gesso_bitmap_release(target.bitmap);
    free(target.memory);
    return 0;
}

/* Pixels by operations of one to five bytes, each on what the ones before have left behind: for small pictures, in which masks
 * and planes do not pay. As in QOI, a table remembers pixels by their hashes; unlike there, the row above counts as much as the
 * pixel to the left, and the smooth edge of an opaque shape is an alpha. */
#include "band.h"

/* The first byte, from where on, and as many as the next one tells. */
enum {
    KNOWN = 0, NEAR = 64, AS_LEFT_BUT = 128, AS_ABOVE_BUT = 160, RUN_LEFT = 192, RUN_ABOVE = 220, COLOR = 248, PIXEL = 249,
    EDGE = 250, OPERATIONS = 251
};
enum { RUNS = RUN_ABOVE - RUN_LEFT, LONGEST_SHORT = RUNS - 1, LONGEST = RUNS + 255 };

typedef struct memory {
    uint32_t left, opaque; /* the last pixel, and the last opaque one */
    uint32_t known[64];
} memory;

static const memory beginning = {.left = 0, .opaque = 0xff000000};

static inline unsigned place_of(uint32_t pixel) { return pixel * 0x9e3779b1u >> 26; }

static inline void remember_opaque(memory *m, uint32_t pixel)
{
    m->left = pixel;
    if (pixel >> 24 == 255) m->opaque = pixel;
}

static inline void remember(memory *m, uint32_t pixel)
{
    m->known[place_of(pixel)] = pixel;
    remember_opaque(m, pixel);
}

/* Of a color, what an alpha leaves, rounded. */
static inline uint32_t edge(uint32_t color, uint32_t alpha)
{
    uint32_t result = alpha << 24;
    for (int shift = 0; shift < 24; shift += 8) {
        uint32_t product = (color >> shift & 255) * alpha + 128;
        result |= (product + (product >> 8)) >> 8 << shift;
    }
    return result;
}

/* What a pixel is to another one of the same alpha. */
typedef struct difference {
    int red, green, blue;
} difference;

static inline difference subtract(uint32_t pixel, uint32_t other)
{
    return (difference){
        (int8_t)((pixel >> 16) - (other >> 16)), (int8_t)((pixel >> 8) - (other >> 8)), (int8_t)(pixel - other)};
}

static inline uint32_t add(uint32_t pixel, int red, int green, int blue)
{
    return (pixel & 0xff000000) | ((pixel >> 16) + (uint32_t)red & 255) << 16 | ((pixel >> 8) + (uint32_t)green & 255) << 8
        | (pixel + (uint32_t)blue & 255);
}

/* Whether it is from -least to least - 1. */
static inline bool is_within(int value, int least) { return (unsigned)(value + least) < 2 * (unsigned)least; }

static inline bool is_near(difference d) { return is_within(d.red, 2) && is_within(d.green, 2) && is_within(d.blue, 2); }

/* Red and blue are told by how they differ from green: a byte. */
static inline bool goes_along(difference d)
{
    return is_within(d.green, 16) && is_within(d.red - d.green, 8) && is_within(d.blue - d.green, 8);
}

static inline size_t write_along(uint8_t *out, unsigned operation, difference d)
{
    out[0] = (uint8_t)(operation + (unsigned)(d.green + 16));
    out[1] = (uint8_t)((d.red - d.green + 8) << 4 | (d.blue - d.green + 8));
    return 2;
}

/* A pixel that is neither as the one to the left nor as the one above. */
static size_t write_pixel(uint8_t *out, const memory *m, uint32_t pixel, uint32_t above)
{
    unsigned place = place_of(pixel);
    if (m->known[place] == pixel) return out[0] = (uint8_t)(KNOWN + place), 1;
    bool has_alpha_of_left = (pixel ^ m->left) >> 24 == 0;
    if (has_alpha_of_left) {
        difference d = subtract(pixel, m->left);
        if (is_near(d)) return out[0] = (uint8_t)(NEAR + ((d.red + 2) << 4 | (d.green + 2) << 2 | (d.blue + 2))), 1;
        if (goes_along(d)) return write_along(out, AS_LEFT_BUT, d);
    }
    if ((pixel ^ above) >> 24 == 0) {
        difference d = subtract(pixel, above);
        if (goes_along(d)) return write_along(out, AS_ABOVE_BUT, d);
    }
    if (pixel == edge(m->opaque, pixel >> 24)) return out[0] = EDGE, out[1] = (uint8_t)(pixel >> 24), 2;
    out[0] = has_alpha_of_left ? COLOR : PIXEL;
    gesso_store32(out + 1, pixel);
    return has_alpha_of_left ? 4 : 5;
}

static size_t write_run(uint8_t *out, unsigned operation, size_t length)
{
    size_t at = 0;
    while (length > 0) {
        size_t piece = length < LONGEST ? length : LONGEST;
        bool is_short = piece <= LONGEST_SHORT;
        out[at++] = (uint8_t)(operation + (is_short ? piece : RUNS) - 1);
        if (!is_short) out[at++] = (uint8_t)(piece - RUNS);
        length -= piece;
    }
    return at;
}

/* How many pixels from one on are all equal to another; and how many of them to those above. */
static size_t run_of(const uint32_t *pixels, size_t i, size_t count, uint32_t pixel)
{
    size_t end = i;
    while (end < count && pixels[end] == pixel) end++;
    return end - i;
}
static size_t run_above(const uint32_t *pixels, size_t i, size_t count, size_t width)
{
    size_t end = i;
    while (end < count && end < width && pixels[end] == beginning.left) end++;
    while (end < count && end >= width && pixels[end] == pixels[end - width]) end++;
    return end - i;
}

size_t gesso_operations_encode(const gesso_band *band, uint8_t *out, size_t capacity)
{
    const uint32_t *pixels = (const uint32_t *)band->pixels;
    size_t at = 0;
    memory m = beginning;
    for (size_t i = 0; i < band->count;) {
        uint32_t pixel = pixels[i], above = i < band->width ? beginning.left : pixels[i - band->width];
        size_t length = 1;
        /* What a pixel takes at most, or the longest of runs that are written by the thousand. */
        if (pixel == m.left || pixel == above) {
            size_t as_left = run_of(pixels, i, band->count, m.left), as_above = run_above(pixels, i, band->count, band->width);
            length = as_left > as_above ? as_left : as_above;
            if (2 * (length / LONGEST + 1) > capacity - at) return 0;
            at += write_run(out + at, as_left >= as_above ? RUN_LEFT : RUN_ABOVE, length);
            remember_opaque(&m, pixels[i + length - 1]);
        } else {
            if (capacity - at < 5) return 0;
            at += write_pixel(out + at, &m, pixel, above);
            remember(&m, pixel);
        }
        i += length;
    }
    return at;
}

/* Reads a pixel by an operation that is no run's. False if there are not as many bytes, or it is none. */
static inline bool read_pixel(
    const uint8_t **in, const uint8_t *end, memory *m, uint32_t above, unsigned operation, uint32_t *pixel)
{
    if (operation < NEAR) {
        *pixel = m->known[operation];
        return true;
    }
    if (operation < AS_LEFT_BUT) {
        *pixel = add(m->left, (int)(operation >> 4 & 3) - 2, (int)(operation >> 2 & 3) - 2, (int)(operation & 3) - 2);
        return true;
    }
    size_t more = operation == COLOR ? 3 : operation == PIXEL ? 4 : 1;
    if (operation >= OPERATIONS || (size_t)(end - *in) < more) return false;
    const uint8_t *bytes = *in;
    *in += more;
    if (operation == COLOR) {
        *pixel = (m->left & 0xff000000) | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
    } else if (operation == PIXEL) {
        *pixel = gesso_load32(bytes);
    } else if (operation == EDGE) {
        *pixel = edge(m->opaque, bytes[0]);
    } else {
        int green = (int)(operation & 31) - 16, red = green + (bytes[0] >> 4) - 8, blue = green + (bytes[0] & 15) - 8;
        *pixel = add(operation < AS_ABOVE_BUT ? m->left : above, red, green, blue);
    }
    return true;
}

bool gesso_operations_decode(const uint8_t *in, size_t length, uint32_t *pixels, uint32_t width, size_t count)
{
    const uint8_t *end = in + length;
    memory m = beginning;
    for (size_t i = 0; i < count;) {
        if (in == end) return false;
        unsigned operation = *in++;
        if (operation < RUN_LEFT || operation >= COLOR) {
            uint32_t above = i < width ? beginning.left : pixels[i - width];
            if (!read_pixel(&in, end, &m, above, operation, pixels + i)) return false;
            remember(&m, pixels[i++]);
            continue;
        }
        size_t run = (operation - RUN_LEFT) % RUNS + 1;
        if (run == RUNS) {
            if (in == end) return false;
            run += *in++;
        }
        if (run > count - i) return false;
        size_t stop = i + run;
        if (operation < RUN_ABOVE) {
            while (i < stop) pixels[i++] = m.left;
        } else {
            for (; i < stop && i < width; i++) pixels[i] = beginning.left;
            for (; i < stop; i++) pixels[i] = pixels[i - width];
        }
        remember_opaque(&m, pixels[stop - 1]);
    }
    return in == end;
}

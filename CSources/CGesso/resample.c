#include "resample.h"

#include "kernels.h"

#include <pthread.h>

/* ---- The filter ---- */

/* What one line of the result is made of: samples first ..< first + count. */
typedef struct gesso_tap {
    int32_t first, count;
    uint32_t at; /* its first weight */
} gesso_tap;

/* Weights of a line sum up to 65,536. */
typedef struct taps {
    gesso_tap *lines;
    uint32_t *weights;
    int32_t most; /* of one line */
} taps;

static void free_taps(taps *t)
{
    free(t->lines);
    free(t->weights);
}

/* Between the centres of two samples; beyond the outermost ones, those themselves. */
static bool make_linear_taps(taps *t, int32_t begin, double scale, int32_t lines, int32_t samples)
{
    t->lines = malloc((size_t)lines * sizeof *t->lines);
    t->weights = malloc(2 * (size_t)lines * sizeof *t->weights);
    if (!t->lines || !t->weights) return false;
    t->most = 2;
    for (int32_t i = 0; i < lines; i++) {
        double at = fmax(0, fmin(samples - 1, (i + 0.5 - begin / 256.0) * scale - 0.5));
        int32_t first = (int32_t)fmin(at, fmax(0, samples - 2));
        uint32_t second = (uint32_t)lrint(65536 * (at - first));
        t->lines[i] = (gesso_tap){first, samples > 1 ? 2 : 1, 2 * (uint32_t)i};
        t->weights[2 * i] = samples > 1 ? 65536 - second : 65536;
        t->weights[2 * i + 1] = second;
    }
    return true;
}

/* Along one axis: `begin` and `end` in 1/256 of a pixel, from the first pixel on. */
static bool make_taps(taps *t, int32_t begin, int32_t end, int32_t lines, int32_t samples)
{
    double scale = samples * 256.0 / (end - begin);
    if (scale < 1) return make_linear_taps(t, begin, scale, lines, samples);
    size_t most = (size_t)lines * ((size_t)ceil(scale) + 2);
    t->lines = malloc((size_t)lines * sizeof *t->lines);
    t->weights = malloc(most * sizeof *t->weights);
    if (!t->lines || !t->weights) return false;
    uint32_t used = 0;
    double origin = begin / 256.0;
    for (int32_t i = 0; i < lines; i++) {
        /* The part of the source under this pixel; at the edges, of what of it is inside. */
        double from = gesso_at_least(0, (i - origin) * scale), to = gesso_at_most(samples, (i + 1 - origin) * scale);
        int32_t first = (int32_t)gesso_at_most(samples - 1, from), last = (int32_t)to;
        last += last < to;
        if (last <= first) last = first + 1;
        double whole = gesso_at_most(to, samples) - gesso_at_least(from, first), sum = 0, part = whole > 0 ? 1 / whole : 0;
        t->lines[i] = (gesso_tap){first, last - first, used};
        if (last - first > t->most) t->most = last - first;
        /* The difference of rounded sums: none is negative, and together they are exactly 65,536. */
        uint32_t before = 0;
        for (int32_t s = first; s < last; s++, used++) {
            sum += whole > 0 ? gesso_at_least(0, (gesso_at_most(to, s + 1) - gesso_at_least(from, s)) * part) : 1.0 / (last - first);
            uint32_t now = s == last - 1 ? 65536 : (uint32_t)(65536 * gesso_at_most(1, sum) + 0.5);
            t->weights[used] = now - before;
            before = now;
        }
    }
    return true;
}

/* With few samples to a pixel, sums of 16 bits are exact enough: each loses less than 1/256. */
enum { FEW = 16 };

static gesso_status resample_few(
    const gesso_bitmap *source, gesso_bitmap *result, const taps *columns, const taps *rows)
{
    const gesso_kernels *kernels = gesso_kernels_get();
    /* Some rows at a time: what is stored is not loaded again right after, at another alignment. */
    enum { ROWS = 4 };
    /* All pixels have as many samples, some with a weight of 0; these may lie behind the row's end. */
    size_t values = (size_t)source->width * 4, each = columns->most <= 2 ? 2 : ((size_t)columns->most + 3) & ~(size_t)3;
    size_t pitch = values + 4 * each;
    uint16_t *line = calloc(pitch * ROWS, sizeof *line);
    uint16_t *weights = calloc(4 * each * result->width, sizeof *weights);
    int32_t *firsts = malloc(result->width * sizeof *firsts);
    if (!line || !weights || !firsts) {
        free(line);
        free(weights);
        free(firsts);
        return GESSO_OUT_OF_MEMORY;
    }
    for (uint32_t x = 0; x < result->width; x++) {
        gesso_tap tap = columns->lines[x];
        firsts[x] = tap.first;
        uint64_t *out = (uint64_t *)weights + each * x;
        for (int32_t i = 0; i < tap.count; i++) {
            uint32_t weight = columns->weights[tap.at + (uint32_t)i];
            out[i] = (weight > 65535 ? 65535 : weight) * UINT64_C(0x0001000100010001);
        }
    }
    for (uint32_t y = 0; y < result->height; y += ROWS) {
        uint32_t end = result->height - y < ROWS ? result->height : y + ROWS;
        for (uint32_t i = y; i < end; i++) {
            gesso_tap row = rows->lines[i];
            kernels->weigh_rows(
                line + (i - y) * pitch, source->pixels + (ptrdiff_t)row.first * source->stride, source->stride,
                rows->weights + row.at, (size_t)row.count, values);
        }
        for (uint32_t i = y; i < end; i++) {
            uint32_t *out = (uint32_t *)(result->pixels + (ptrdiff_t)i * result->stride);
            kernels->weigh_columns(out, line + (i - y) * pitch, firsts, weights, each, result->width);
            for (uint32_t x = 0; x < result->width && source->format == GESSO_FORMAT_XRGB32; x++) out[x] |= 0xff000000;
        }
    }
    free(line);
    free(weights);
    free(firsts);
    return GESSO_OK;
}

static gesso_status resample(
    const gesso_bitmap *source, gesso_bitmap *result, const taps *columns, const taps *rows)
{
    if (columns->most <= FEW && rows->most <= FEW) return resample_few(source, result, columns, rows);
    const gesso_kernels *kernels = gesso_kernels_get();
    size_t values = (size_t)source->width * 4;
    uint32_t *sums = malloc(values * sizeof *sums);
    uint16_t *line = malloc(values * sizeof *line);
    if (!sums || !line) {
        free(sums);
        free(line);
        return GESSO_OUT_OF_MEMORY;
    }
    uint32_t solid = source->format == GESSO_FORMAT_XRGB32 ? 0xff000000 : 0;
    for (uint32_t y = 0; y < result->height; y++) {
        gesso_tap row = rows->lines[y];
        memset(sums, 0, values * sizeof *sums);
        for (int32_t i = 0; i < row.count; i++)
            kernels->accumulate(
                sums, source->pixels + (ptrdiff_t)(row.first + i) * source->stride, values,
                rows->weights[row.at + (uint32_t)i]);
        for (size_t i = 0; i < values; i++) line[i] = (uint16_t)((sums[i] + 128) >> 8);
        uint32_t *out = (uint32_t *)(result->pixels + (ptrdiff_t)y * result->stride);
        for (uint32_t x = 0; x < result->width; x++) {
            gesso_tap column = columns->lines[x];
            const uint16_t *in = line + 4 * (size_t)column.first;
            const uint32_t *weights = columns->weights + column.at;
            uint32_t total[4] = {1u << 23, 1u << 23, 1u << 23, 1u << 23};
            for (int32_t i = 0; i < column.count; i++)
                for (int c = 0; c < 4; c++) total[c] += weights[i] * in[4 * i + c];
            out[x] = total[3] >> 24 << 24 | total[2] >> 24 << 16 | total[1] >> 24 << 8 | total[0] >> 24 | solid;
        }
    }
    free(sums);
    free(line);
    return GESSO_OK;
}

/* The sample that the middle of the line lies in. */
static bool make_nearest_taps(taps *t, int32_t lines, int32_t samples)
{
    t->lines = malloc((size_t)lines * sizeof *t->lines);
    t->weights = malloc((size_t)lines * sizeof *t->weights);
    if (!t->lines || !t->weights) return false;
    t->most = 1;
    for (int32_t i = 0; i < lines; i++) {
        t->lines[i] = (gesso_tap){(int32_t)((2 * (int64_t)i + 1) * samples / (2 * (int64_t)lines)), 1, (uint32_t)i};
        t->weights[i] = 65536;
    }
    return true;
}

/* Along one axis in three parts, each from edge to edge of its own samples. */
static bool make_parts_taps(
    taps *t, int32_t lines, const int32_t target[2], int32_t samples, const int32_t source[2], bool nearest)
{
    int32_t line_ends[] = {0, target[0], target[1], lines}, sample_ends[] = {0, source[0], source[1], samples};
    uint32_t used = 0;
    t->lines = malloc((size_t)lines * sizeof *t->lines);
    for (int k = 0; t->lines && k < 3; k++) {
        int32_t first = sample_ends[k], count = sample_ends[k + 1] - first, from = line_ends[k], wide = line_ends[k + 1] - from;
        if (wide <= 0) continue;
        if (count <= 0) count = 1, first = first < samples ? first : samples - 1; /* nothing to stretch but the next pixel */
        taps part = {0};
        bool fine = nearest ? make_nearest_taps(&part, wide, count) : make_taps(&part, 0, wide * 256, wide, count);
        uint32_t weights = fine ? part.lines[wide - 1].at + (uint32_t)part.lines[wide - 1].count : 0;
        uint32_t *grown = fine ? realloc(t->weights, (used + weights) * sizeof *grown) : NULL;
        if (grown) {
            t->weights = grown;
            memcpy(grown + used, part.weights, weights * sizeof *grown);
            for (int32_t i = 0; i < wide; i++)
                t->lines[from + i] = (gesso_tap){part.lines[i].first + first, part.lines[i].count, part.lines[i].at + used};
            if (part.most > t->most) t->most = part.most;
            used += weights;
        }
        free_taps(&part);
        if (!grown) return false;
    }
    return t->lines != NULL;
}

/* What is to be made of a source: a rectangle's pixels, in parts or not. */
typedef struct request {
    uint64_t source;             /* the bitmap's number, which no other one gets */
    int32_t x, y, width, height; /* of the rectangle: the fraction of its origin, and its size */
    bool has_parts, nearest;
    gesso_parts parts;
} request;

static gesso_bitmap *make(const gesso_bitmap *source, const request *r)
{
    int32_t width = (r->x + r->width + 255) >> 8, height = (r->y + r->height + 255) >> 8;
    taps columns = {0}, rows = {0};
    gesso_bitmap *result = NULL;
    gesso_status status = gesso_bitmap_create_uninitialized(
        (uint32_t)width, (uint32_t)height, source->format, source->scale, &result);
    if (!status) {
        int32_t source_width = (int32_t)source->width, source_height = (int32_t)source->height;
        const gesso_parts *p = &r->parts;
        bool fine = r->has_parts
            ? make_parts_taps(&columns, width, p->target[0], source_width, p->source[0], r->nearest)
                && make_parts_taps(&rows, height, p->target[1], source_height, p->source[1], r->nearest)
            : make_taps(&columns, r->x, r->x + r->width, width, source_width)
                && make_taps(&rows, r->y, r->y + r->height, height, source_height);
        status = fine ? resample(source, result, &columns, &rows) : GESSO_OUT_OF_MEMORY;
    }
    free_taps(&columns);
    free_taps(&rows);
    if (!status) {
        gesso_bitmap_freeze(result);
        return result;
    }
    gesso_bitmap_release(result);
    return NULL;
}

/* ---- Remembering ---- */

enum { ENTRIES = 32 };

typedef struct entry {
    request request;
    uint64_t used;
    gesso_bitmap *copy;
} entry;

static struct {
    pthread_mutex_t lock;
    entry entries[ENTRIES];
    uint64_t clock;
    size_t bytes, limit;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = 16 << 20};

static size_t bytes_of(const gesso_bitmap *bitmap) { return bitmap ? gesso_bitmap_byte_count(bitmap) : 0; }

/* Forgets an entry; the caller holds the lock. */
static void forget(entry *e)
{
    memory.bytes -= bytes_of(e->copy);
    gesso_bitmap_release(e->copy);
    *e = (entry){0};
}

/* An entry to use anew, the oldest one; the caller holds the lock. */
static entry *oldest(void)
{
    entry *e = &memory.entries[0];
    for (int i = 1; i < ENTRIES; i++)
        if (memory.entries[i].used < e->used) e = &memory.entries[i];
    return e;
}

static bool matches(const entry *e, const request *r)
{
    const request *q = &e->request;
    return e->copy && q->source == r->source && q->x == r->x && q->y == r->y && q->width == r->width
        && q->height == r->height && q->has_parts == r->has_parts && q->nearest == r->nearest && memcmp(&q->parts, &r->parts, sizeof q->parts) == 0;
}

static gesso_bitmap *find_or_make(const gesso_bitmap *source, const request *r)
{
    if (!gesso_bitmap_is_frozen(source)) return make(source, r);
    gesso_bitmap *copy = NULL;
    pthread_mutex_lock(&memory.lock);
    for (int i = 0; !copy && i < ENTRIES; i++) {
        entry *e = &memory.entries[i];
        if (!matches(e, r)) continue;
        e->used = ++memory.clock;
        copy = gesso_bitmap_retain(e->copy);
    }
    size_t limit = memory.limit;
    pthread_mutex_unlock(&memory.lock);
    if (copy) return copy;
    /* Without the lock, which a large picture would hold for long; two threads may both make it. */
    copy = make(source, r);
    if (!copy || bytes_of(copy) > limit / 4) return copy;
    pthread_mutex_lock(&memory.lock);
    entry *e = oldest();
    forget(e);
    while (memory.bytes + bytes_of(copy) > memory.limit && memory.bytes > 0) {
        entry *other = NULL;
        for (int i = 0; i < ENTRIES; i++)
            if (memory.entries[i].copy && (!other || memory.entries[i].used < other->used)) other = &memory.entries[i];
        forget(other);
    }
    *e = (entry){*r, ++memory.clock, gesso_bitmap_retain(copy)};
    memory.bytes += bytes_of(copy);
    pthread_mutex_unlock(&memory.lock);
    return copy;
}

gesso_bitmap *gesso_resampled(const gesso_bitmap *source, const gesso_shape *r)
{
    return find_or_make(
        source,
        &(request){
            .source = source->number, .x = r->x0 & 255, .y = r->y0 & 255, .width = r->x1 - r->x0, .height = r->y1 - r->y0});
}

gesso_bitmap *gesso_resampled_in_parts(
    const gesso_bitmap *source, int32_t width, int32_t height, const gesso_parts *parts, bool nearest)
{
    return find_or_make(
        source,
        &(request){
            .source = source->number, .width = width * 256, .height = height * 256, .has_parts = true, .nearest = nearest,
            .parts = *parts});
}

void gesso_resampled_remember(size_t bytes)
{
    pthread_mutex_lock(&memory.lock);
    for (int i = 0; i < ENTRIES; i++) forget(&memory.entries[i]);
    memory.limit = bytes;
    pthread_mutex_unlock(&memory.lock);
}

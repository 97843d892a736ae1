#include "soft.h"

#include "internal.h"

#include <pthread.h>

/* Bytes of a plane: a corner of 200 pixels' radius with a blur of 30 fits. */
enum { LARGEST = 1 << 20 };

/* Whole pixels by which a side can be shortened without a change of its corners and their blur, and the first pixel of
 * what is flat. `first` and `last` are what its corners take. */
static int32_t spare(int32_t begin, int32_t end, int32_t first, int32_t last, int32_t reach, int32_t *flat)
{
    int32_t flat_begin = ((begin + first + 255) >> 8) + reach, flat_end = ((end - last) >> 8) - reach;
    *flat = flat_begin;
    return flat_end - flat_begin > 1 ? flat_end - flat_begin - 1 : 0;
}

static gesso_soft *make(const gesso_shape *shape, double sigma, int32_t reach, int32_t column, int32_t row)
{
    gesso_soft *soft = calloc(1, sizeof *soft);
    gesso_mask *mask = soft ? gesso_mask_create(shape, NULL) : NULL;
    if (mask) {
        soft->references = 1;
        soft->reach = reach;
        soft->width = mask->width + 2 * reach;
        soft->height = mask->height + 2 * reach;
        /* A shape within one pixel has no column between its corners. */
        soft->column = column < soft->width ? column : soft->width - 1;
        soft->row = row < soft->height ? row : soft->height - 1;
        if ((int64_t)soft->width * soft->height <= LARGEST)
            soft->pixels = calloc((size_t)soft->width * (size_t)soft->height + 8, 1);
    }
    bool fine = soft && soft->pixels;
    if (fine) {
        for (int32_t y = 0; y < mask->height; y++)
            for (uint32_t i = mask->rows[y].first; i < mask->rows[y].end; i++) {
                gesso_span s = mask->spans[i];
                uint8_t *out = soft->pixels + (ptrdiff_t)(y + reach) * soft->width + reach + s.x;
                if (s.value < 0)
                    memcpy(out, mask->bytes + s.at, (size_t)s.length);
                else
                    memset(out, s.value, (size_t)s.length);
            }
        fine = gesso_blur_a8(soft->pixels, soft->width, soft->height, soft->width, sigma) == GESSO_OK;
    }
    gesso_mask_release(mask);
    if (fine) return soft;
    if (soft) free(soft->pixels);
    free(soft);
    return NULL;
}

/* ---- Remembering ---- */

enum { REMEMBERED = 8 };

typedef struct soft_entry {
    gesso_shape shape;
    double sigma;
    uint64_t used;
    gesso_soft *soft;
} soft_entry;

typedef struct soft_memory {
    uint64_t clock;
    soft_entry entries[REMEMBERED];
} soft_memory;

static pthread_key_t memory_key;
static pthread_once_t memory_once = PTHREAD_ONCE_INIT;

static void end_memory(void *value)
{
    soft_memory *memory = value;
    for (int i = 0; i < REMEMBERED; i++) gesso_soft_release(memory->entries[i].soft);
    free(memory);
}

static void make_memory_key(void) { pthread_key_create(&memory_key, end_memory); }

static soft_memory *thread_memory(void)
{
    pthread_once(&memory_once, make_memory_key);
    soft_memory *memory = pthread_getspecific(memory_key);
    if (!memory && (memory = calloc(1, sizeof *memory)) && pthread_setspecific(memory_key, memory) != 0) {
        free(memory);
        memory = NULL;
    }
    return memory;
}

void gesso_soft_release(gesso_soft *soft)
{
    if (!soft || --soft->references) return;
    free(soft->pixels);
    free(soft);
}

gesso_soft *gesso_soft_of(const gesso_shape *shape, double sigma, int32_t *extra_columns, int32_t *extra_rows)
{
    int32_t reach = gesso_blur_reach(sigma), left = gesso_shape_left(shape), top = gesso_shape_top(shape);
    gesso_shape key = *shape;
    key.x0 -= left * 256, key.x1 -= left * 256, key.y0 -= top * 256, key.y1 -= top * 256;
    int32_t column, row;
    *extra_columns = spare(
        key.x0, key.x1, gesso_larger(key.rx[0], key.rx[3]), gesso_larger(key.rx[1], key.rx[2]), reach, &column);
    *extra_rows = spare(key.y0, key.y1, gesso_larger(key.ry[0], key.ry[1]), gesso_larger(key.ry[2], key.ry[3]), reach, &row);
    key.x1 -= *extra_columns * 256;
    key.y1 -= *extra_rows * 256;
    soft_memory *memory = thread_memory();
    if (!memory) return NULL;
    soft_entry *oldest = &memory->entries[0];
    for (int i = 0; i < REMEMBERED; i++) {
        soft_entry *e = &memory->entries[i];
        if (e->soft && e->sigma == sigma && gesso_shape_equals(&e->shape, &key)) {
            e->used = ++memory->clock;
            e->soft->references++;
            return e->soft;
        }
        if (e->used < oldest->used) oldest = e;
    }
    gesso_soft *soft = make(&key, sigma, reach, column + reach, row + reach);
    if (!soft) return NULL;
    gesso_soft_release(oldest->soft);
    *oldest = (soft_entry){key, sigma, ++memory->clock, soft};
    soft->references++;
    return soft;
}

/* The masks that a thread remembers: by shape, in a table that new ones overwrite. */
#include "hash.h"
#include "shape.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 64, LARGEST = 64 << 10 };

/* What is covered, of two shapes; the second is nothing for MASK_SHAPE. */
typedef enum mask_kind { MASK_SHAPE, MASK_WITHOUT, MASK_WITHIN } mask_kind;

/* All 32-bit words, so that it can be compared and hashed as bytes. */
typedef struct mask_key {
    uint32_t kind;
    gesso_shape first, second; /* moved to the pixel of the origin; the second one is 0 if there is none */
} mask_key;
_Static_assert(sizeof(mask_key) == 4 + 2 * sizeof(gesso_shape), "nothing between them");

typedef struct memory_entry {
    mask_key key;
    gesso_mask *mask;
} memory_entry;

typedef struct mask_memory {
    int count; /* of the entries that are used; below REMEMBERED only for tests and benches */
    memory_entry entries[REMEMBERED];
} mask_memory;

static pthread_key_t memory_key;
static pthread_once_t memory_once = PTHREAD_ONCE_INIT;

static void forget(mask_memory *memory)
{
    for (int i = 0; i < REMEMBERED; i++) {
        gesso_mask_release(memory->entries[i].mask);
        memory->entries[i].mask = NULL;
    }
}

static void end_memory(void *memory)
{
    forget(memory);
    free(memory);
}

static void make_memory_key(void) { pthread_key_create(&memory_key, end_memory); }

static mask_memory *thread_memory(void)
{
    pthread_once(&memory_once, make_memory_key);
    mask_memory *memory = pthread_getspecific(memory_key);
    if (memory) return memory;
    memory = calloc(1, sizeof *memory);
    if (!memory) return NULL;
    memory->count = REMEMBERED;
    if (pthread_setspecific(memory_key, memory) == 0) return memory;
    free(memory);
    return NULL;
}

void gesso_mask_remember(int count)
{
    mask_memory *memory = thread_memory();
    if (!memory) return;
    memory->count = count < 0 ? 0 : count > REMEMBERED ? REMEMBERED : count;
    forget(memory);
}

static gesso_shape moved(const gesso_shape *s, int32_t left, int32_t top)
{
    gesso_shape m = *s;
    m.x0 -= left * 256, m.x1 -= left * 256, m.y0 -= top * 256, m.y1 -= top * 256;
    return m;
}

static gesso_mask *make(mask_kind kind, const gesso_shape *first, const gesso_shape *second)
{
    if (kind != MASK_WITHIN) return gesso_mask_create(first, kind == MASK_WITHOUT ? second : NULL);
    gesso_mask *a = gesso_mask_of(first, NULL), *b = gesso_mask_of(second, NULL), *both = NULL;
    int32_t x = gesso_shape_left(second) - gesso_shape_left(first), y = gesso_shape_top(second) - gesso_shape_top(first);
    if (a && b) both = gesso_mask_multiply(a, b, x, y);
    gesso_mask_release(a);
    gesso_mask_release(b);
    return both;
}

static gesso_mask *find_or_make(mask_kind kind, const gesso_shape *first, const gesso_shape *second)
{
    mask_memory *memory = thread_memory();
    if (!memory || memory->count == 0) return make(kind, first, second);
    int32_t left = gesso_shape_left(first), top = gesso_shape_top(first);
    mask_key key = {.kind = kind, .first = moved(first, left, top)};
    if (kind != MASK_SHAPE) key.second = moved(second, left, top);
    memory_entry *entry = &memory->entries[gesso_hash64(&key, sizeof key) % (uint32_t)memory->count];
    if (entry->mask && memcmp(&entry->key, &key, sizeof key) == 0) {
        entry->mask->references++;
        return entry->mask;
    }
    gesso_mask *mask = make(kind, first, second);
    if (!mask || mask->byte_capacity + mask->span_capacity * sizeof *mask->spans > LARGEST) return mask;
    gesso_mask_release(entry->mask); /* which may be another one by now */
    *entry = (memory_entry){key, mask};
    mask->references++;
    return mask;
}

gesso_mask *gesso_mask_of(const gesso_shape *outer, const gesso_shape *inner)
{
    return find_or_make(inner ? MASK_WITHOUT : MASK_SHAPE, outer, inner);
}

static bool holds(const gesso_shape *rectangle, const gesso_shape *s)
{
    return gesso_shape_is_rectangle(rectangle) && rectangle->x0 <= s->x0 && rectangle->y0 <= s->y0
        && rectangle->x1 >= s->x1 && rectangle->y1 >= s->y1;
}

gesso_mask *gesso_mask_within(const gesso_shape *shape, const gesso_shape *clip, int32_t *left, int32_t *top)
{
    /* What lies in the other one as a whole has edges of its own only. */
    const gesso_shape *alone = holds(clip, shape) ? shape : holds(shape, clip) ? clip : NULL;
    *left = gesso_shape_left(alone ? alone : shape);
    *top = gesso_shape_top(alone ? alone : shape);
    return alone ? gesso_mask_of(alone, NULL) : find_or_make(MASK_WITHIN, shape, clip);
}

/* The masks that a thread remembers: by shape, in a table that new ones overwrite. */
#include "shape.h"

#include <pthread.h>
#include <stdlib.h>

enum { REMEMBERED = 64, LARGEST = 64 << 10 };

typedef struct memory_entry {
    gesso_shape outer, inner; /* moved to the pixel of the origin */
    bool has_inner;
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

static uint32_t hash_shape(const gesso_shape *s, uint32_t hash)
{
    const int32_t *words = (const int32_t *)s;
    for (size_t i = 0; i < sizeof *s / 4; i++) hash = (hash ^ (uint32_t)words[i]) * 0x9e3779b1u, hash ^= hash >> 15;
    return hash;
}

gesso_mask *gesso_mask_of(const gesso_shape *outer, const gesso_shape *inner)
{
    mask_memory *memory = thread_memory();
    if (!memory || memory->count == 0) return gesso_mask_create(outer, inner);
    int32_t left = gesso_shape_left(outer), top = gesso_shape_top(outer);
    gesso_shape key = moved(outer, left, top), inner_key = {0};
    uint32_t hash = hash_shape(&key, 1);
    if (inner) inner_key = moved(inner, left, top), hash = hash_shape(&inner_key, hash);
    memory_entry *entry = &memory->entries[hash % (uint32_t)memory->count];
    if (entry->mask && entry->has_inner == (inner != NULL) && gesso_shape_equals(&entry->outer, &key)
        && (!inner || gesso_shape_equals(&entry->inner, &inner_key))) {
        entry->mask->references++;
        return entry->mask;
    }
    gesso_mask *mask = gesso_mask_create(outer, inner);
    if (!mask || mask->byte_count + mask->span_count * sizeof *mask->spans > LARGEST) return mask;
    gesso_mask_release(entry->mask);
    *entry = (memory_entry){key, inner_key, inner != NULL, mask};
    mask->references++;
    return mask;
}

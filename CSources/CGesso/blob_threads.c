/* Bands by several threads, and the memory that they need. */
#include "blob_internal.h"

#include <pthread.h>
#include <stdatomic.h>

gesso_blob_workspace *gesso_blob_workspace_create(void) { return calloc(1, sizeof(gesso_blob_workspace)); }

void gesso_blob_workspace_release(gesso_blob_workspace *workspace)
{
    if (!workspace) return;
    free(workspace->memory);
    free(workspace);
}

/* What is kept between calls; null: out of memory. */
static uint8_t *memory_of(gesso_blob_workspace *workspace, size_t size)
{
    if (workspace->size >= size) return workspace->memory;
    uint8_t *memory = malloc(size);
    if (!memory) return NULL;
    free(workspace->memory);
    workspace->memory = memory;
    workspace->size = size;
    return memory;
}

enum { MOST_THREADS = 64 };

uint32_t gesso_blob_threads(uint32_t allowed, uint64_t pixels, uint32_t bands)
{
    enum { WORTH_IT = 1 << 20 };
    if (allowed < 2 || pixels < WORTH_IT) return 1;
    if (allowed > MOST_THREADS) allowed = MOST_THREADS;
    return allowed < bands ? allowed : bands;
}

/* What the threads share. */
typedef struct share {
    atomic_uint next;     /* the first band that nobody has begun */
    atomic_ullong failed; /* the lowest band that failed, and below it its status */
    uint32_t end;
    gesso_band_work work;
    void *context;
} share;

typedef struct worker {
    pthread_t thread;
    share *shared;
    uint8_t *memory;
} worker;

/* Bands are begun in order until one has failed: the lowest one that fails is always found. */
static void *work_on_bands(void *argument)
{
    worker *w = argument;
    share *s = w->shared;
    for (;;) {
        uint32_t band = atomic_fetch_add(&s->next, 1);
        unsigned long long lowest = atomic_load(&s->failed);
        if (band >= s->end || band >= lowest >> 32) return NULL;
        gesso_status status = s->work(s->context, band, w->memory);
        unsigned long long failed = (unsigned long long)band << 32 | (unsigned)status;
        while (status && failed < lowest)
            if (atomic_compare_exchange_weak(&s->failed, &lowest, failed)) break;
    }
}

gesso_band_result gesso_blob_each_band(
    uint32_t first, uint32_t end, uint32_t threads, gesso_blob_workspace *workspace, size_t memory_size, gesso_band_work work,
    void *context)
{
    const unsigned long long none = (unsigned long long)UINT32_MAX << 32;
    worker workers[MOST_THREADS];
    gesso_blob_workspace own = {0};
    size_t each = (memory_size + 63) & ~(size_t)63;
    uint8_t *memory = memory_of(workspace ? workspace : &own, each * threads);
    if (!memory) return (gesso_band_result){GESSO_OUT_OF_MEMORY, first};
    share shared = {.next = first, .failed = none, .end = end, .work = work, .context = context};
    uint32_t begun = 0;
    for (uint32_t i = 0; i < threads; i++) workers[i] = (worker){.shared = &shared, .memory = memory + i * each};
    /* Where no thread can be had, the others do its work. */
    while (begun + 1 < threads && pthread_create(&workers[begun + 1].thread, NULL, work_on_bands, &workers[begun + 1]) == 0)
        begun++;
    work_on_bands(&workers[0]);
    for (uint32_t i = 1; i <= begun; i++) pthread_join(workers[i].thread, NULL);
    free(own.memory);
    unsigned long long failed = atomic_load(&shared.failed);
    return (gesso_band_result){(gesso_status)(failed & UINT32_MAX), (uint32_t)(failed >> 32)};
}

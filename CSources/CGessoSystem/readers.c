#include "include/gesso_system.h"

#include <pthread.h>
#include <sched.h>

/* More threads at a time are rare, and have to do without. */
enum { READERS = 128 };

static gesso_reader readers[READERS];
static atomic_bool taken[READERS];
static atomic_int used; /* all that were ever taken are below */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;
_Thread_local gesso_reader *gesso_own_reader;

/* At the end of a thread. */
static void give_back(void *reader)
{
    gesso_own_reader = NULL;
    atomic_store_explicit(&taken[(gesso_reader *)reader - readers], false, memory_order_release);
}

static void make_key(void) { has_key = pthread_key_create(&key, give_back) == 0; }

gesso_reader *gesso_reader_take(void)
{
    pthread_once(&once, make_key);
    if (!has_key) return NULL;
    for (int i = 0; i < READERS; i++) {
        if (atomic_load_explicit(&taken[i], memory_order_relaxed) || atomic_exchange(&taken[i], true)) continue;
        if (pthread_setspecific(key, &readers[i]) != 0) {
            atomic_store(&taken[i], false);
            return NULL;
        }
        int known = atomic_load(&used);
        while (known <= i && !atomic_compare_exchange_weak(&used, &known, i + 1)) {}
        return gesso_own_reader = &readers[i];
    }
    return NULL;
}

void gesso_readers_wait(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    int count = atomic_load(&used);
    for (int i = 0; i < count; i++) {
        unsigned long turn = atomic_load_explicit(&readers[i].turn, memory_order_acquire);
        if (turn % 2 == 0) continue;
        /* It reads for some ten nanoseconds, unless the system has stopped it. */
        for (int tries = 0; atomic_load_explicit(&readers[i].turn, memory_order_acquire) == turn; tries++)
            if (tries > 100) sched_yield();
    }
}

#define _GNU_SOURCE
#include "include/gesso_system.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

static gesso_reader readers[GESSO_READERS];
static atomic_bool taken[GESSO_READERS];
static atomic_int used; /* all that were ever taken are below */
static atomic_int most = GESSO_READERS;
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

/* In the child of a fork there is one thread: the others' reading never ends. */
static void forget_others(void)
{
    for (int i = 0; i < GESSO_READERS; i++) {
        if (&readers[i] == gesso_own_reader) continue;
        atomic_store(&readers[i].turn, 0);
        atomic_store(&taken[i], false);
    }
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, give_back) == 0 && pthread_atfork(NULL, NULL, forget_others) == 0;
}

gesso_reader *gesso_reader_take(void)
{
    pthread_once(&once, make_key);
    if (!has_key) return NULL;
    int end = atomic_load_explicit(&most, memory_order_relaxed);
    for (int i = 0; i < end; i++) {
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

void gesso_readers_limit(int count) { atomic_store(&most, count > 0 && count < GESSO_READERS ? count : GESSO_READERS); }

int gesso_readers_busy(gesso_busy *busy)
{
    atomic_thread_fence(memory_order_seq_cst);
    int end = atomic_load(&used), count = 0;
    for (int i = 0; i < end; i++) {
        unsigned long turn = atomic_load_explicit(&readers[i].turn, memory_order_acquire);
        if (turn % 2) busy[count++] = (gesso_busy){i, turn};
    }
    return count;
}

bool gesso_busy_ended(gesso_busy busy)
{
    return atomic_load_explicit(&readers[busy.reader].turn, memory_order_acquire) != busy.turn;
}

void gesso_busy_wait(gesso_busy busy)
{
    for (int tries = 0; !gesso_busy_ended(busy);) {
        if (tries < 1000) tries++;
        if (tries == 1000) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        else if (tries > 100) sched_yield();
    }
}

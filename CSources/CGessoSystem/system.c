#define _GNU_SOURCE
#include "include/gesso_system.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

int gesso_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int gesso_affinity_count(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

int64_t gesso_thread_id(void) { return syscall(SYS_gettid); }

unsigned gesso_thread_ordinal(void)
{
    static atomic_uint next = 1;
    static _Thread_local unsigned own; /* one more than it is: 0 before */
    if (own == 0) own = atomic_fetch_add(&next, 1);
    return own - 1;
}

void **gesso_thread_place(void)
{
    static _Thread_local void *place;
    return &place;
}

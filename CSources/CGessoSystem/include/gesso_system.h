/* gesso_system.h: calls of Linux that Swift's own modules do not have. Private to the Swift library. */
#ifndef GESSO_SYSTEM_H
#define GESSO_SYSTEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A non-blocking eventfd that is closed on exec; -1 with errno set. */
int gesso_eventfd(void);

/* Processors in this process's affinity mask; 0 if the system does not tell. */
int gesso_affinity_count(void);

/* A descriptor that becomes ready when memory is short: pressure that a kernel's file of it (`/proc/pressure/memory`, or a
 * control group's `memory.pressure`) tells of, by a trigger as the kernel's documentation of PSI describes them, or a
 * change of a control group's `memory.events`. -1 with errno set. */
int gesso_pressure_open(const char *path, const char *trigger);
int gesso_change_open(const char *path);

/* Waits until one of some descriptors is ready: so many of pressure first, then those of changes, and last an eventfd that
 * ends the wait; ones below 0 are left out. Returns which; -2 less its place for one that has failed; -1 after another
 * error. Of a change, all that is known is read. At most 8. */
int gesso_pressure_wait(const int *descriptors, int pressures, int count);

/* The kernel's number of the calling thread. */
int64_t gesso_thread_id(void);

/* A small number of the calling thread: threads get 0, 1, 2, … when they first ask. */
unsigned gesso_thread_ordinal(void);

/* A place of the calling thread for one pointer, null at first. */
void **gesso_thread_place(void);

/* Reading what another thread may take away: what a thread finds between begin and end stays, as whoever takes something
 * away frees it only when all have ended who may have found it. A thread's turn is odd while it reads; nobody
 * else writes to it, and so reading costs no more however many threads read. It must not wait for anything, nor begin
 * twice. */
enum { GESSO_READERS = 1024 }; /* as many threads may have looked up and live; the rest have to do without */

typedef struct gesso_reader {
    _Alignas(128) atomic_ulong turn; /* processors fetch lines of 64 bytes in pairs */
} gesso_reader;

extern _Thread_local gesso_reader *gesso_own_reader;
/* A reader for this thread, until it ends; NULL if so many threads have one that there is none left. */
gesso_reader *gesso_reader_take(void);

/* NULL: this thread may not read so. */
static inline gesso_reader *gesso_reader_begin(void)
{
    gesso_reader *reader = gesso_own_reader;
    if (!reader && !(reader = gesso_reader_take())) return NULL;
    unsigned long turn = atomic_load_explicit(&reader->turn, memory_order_relaxed);
    /* All that is read is read after that is known: otherwise whoever waits may see nobody. */
    atomic_exchange_explicit(&reader->turn, turn + 1, memory_order_seq_cst);
#ifndef __x86_64__
    atomic_thread_fence(memory_order_seq_cst);
#endif
    return reader;
}

static inline void gesso_reader_end(gesso_reader *reader)
{
    unsigned long turn = atomic_load_explicit(&reader->turn, memory_order_relaxed);
    atomic_store_explicit(&reader->turn, turn + 1, memory_order_release);
}

/* Who reads now: its number and turn. */
typedef struct gesso_busy {
    int reader;
    unsigned long turn;
} gesso_busy;

/* Finds those who read, and so may have found what was taken away before; `busy` has room for GESSO_READERS. */
int gesso_readers_busy(gesso_busy *busy);
/* Whether that reading has ended. */
bool gesso_busy_ended(gesso_busy busy);
/* Waits for it: some ten nanoseconds, unless the system has stopped the thread. */
void gesso_busy_wait(gesso_busy busy);

/* How many threads may have a reader, of those that have none yet; 0: as many as there can be. For tests. */
void gesso_readers_limit(int count);

/* Files: 0 or more, or a negative errno. */

/* Makes a file so long, with its blocks, or fails at once if there is no room. */
int gesso_file_preallocate(int file, int64_t length);
/* Renames within a directory; with `replaces` of 0 not over an entry that is there (-EEXIST). */
int gesso_file_rename(int directory, const char *from, const char *to, int replaces);
/* Begins to write to the disk what was written to a file, without waiting. */
int gesso_file_start_sync(int file);
/* Copies bytes between two files, without their coming up here where the kernel can. */
int64_t gesso_file_copy(int from, int64_t offset, int to, size_t length);

#endif

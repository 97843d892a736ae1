/* gesso_system.h: calls of Linux that Swift's own modules do not have. Private to the Swift library. */
#ifndef GESSO_SYSTEM_H
#define GESSO_SYSTEM_H

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

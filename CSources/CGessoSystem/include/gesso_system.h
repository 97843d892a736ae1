/* gesso_system.h: calls of Linux that Swift's own modules do not have. Private to the Swift library. */
#ifndef GESSO_SYSTEM_H
#define GESSO_SYSTEM_H

#include <stdint.h>

/* A non-blocking eventfd that is closed on exec; -1 with errno set. */
int gesso_eventfd(void);

/* Processors in this process's affinity mask; 0 if the system does not tell. */
int gesso_affinity_count(void);

/* The kernel's number of the calling thread. */
int64_t gesso_thread_id(void);

/* A small number of the calling thread: threads get 0, 1, 2, … when they first ask. */
unsigned gesso_thread_ordinal(void);

/* A place of the calling thread for one pointer, null at first. */
void **gesso_thread_place(void);

#endif

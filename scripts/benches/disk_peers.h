/* disk_peers.h: what the disk bench's peers store, and what a peer is. */
#ifndef DISK_PEERS_H
#define DISK_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM = 8, KEY_ROOM = 24, PATH_ROOM = 4096 };

typedef struct {
    const uint8_t *bytes;
    size_t length;
} record;

/* `get` copies into the caller's memory, and is 0 if there is no such entry. */
typedef struct {
    const char *name;
    void (*open)(const char *folder);
    void (*begin)(void);
    void (*put)(size_t i, record value);
    size_t (*get)(size_t i, uint8_t *out, size_t capacity);
    void (*remove)(size_t i);
    void (*commit)(void);
    void (*close)(void);
} peer;

extern char (*keys)[KEY_ROOM];
extern size_t key_length; /* of all of them */
/* Set up as those who know a store well would do it for these entries, and not as it comes. */
extern bool is_tuned;

__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);

/* `null` if there is none. */
const peer *peer_named(const char *name);

void make_folder(int parent, const char *path);
void open_root(const char *folder);
void close_root(void);
void write_file(const char *path, record value, bool durably);

#endif

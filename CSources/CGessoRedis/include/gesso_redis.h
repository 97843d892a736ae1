/* gesso_redis.h: a connection to a server by TCP, a Unix socket, or TLS. Private to the Swift library.
 *
 * Nothing here waits, but for names to be resolved. A link belongs to one thread. */
#ifndef GESSO_REDIS_H
#define GESSO_REDIS_H

#include <stddef.h>
#include <stdint.h>

typedef struct gesso_link gesso_link;

typedef struct gesso_link_options {
    const char *path; /* of a Unix socket; null: host and port count */
    const char *host, *port;
    int is_secure;
    const char *authorities; /* a file of certificates; null: those of the system */
    const char *certificate, *key; /* files of the client's own; null: none */
} gesso_link_options;

/* What a link waits for before it goes on, if a call did not end. */
enum { GESSO_LINK_DONE = 0, GESSO_LINK_WANTS_READ = -1, GESSO_LINK_WANTS_WRITE = -2, GESSO_LINK_FAILED = -3 };

/* Begins to connect. Never null but without memory: what is wrong is said by the next call. */
gesso_link *gesso_link_open(const gesso_link_options *options);
void gesso_link_close(gesso_link *link);

int gesso_link_descriptor(const gesso_link *link);

/* Goes on with connecting: one of the above. */
int gesso_link_connect(gesso_link *link);
/* Bytes, more than 0; or one of the above. The end of the connection is a failure. */
int64_t gesso_link_read(gesso_link *link, void *bytes, size_t length);
int64_t gesso_link_write(gesso_link *link, const void *bytes, size_t length);

/* Why a call has failed. */
const char *gesso_link_error(const gesso_link *link);

#endif

#define _GNU_SOURCE
#include "include/gesso_system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

int gesso_pressure_open(const char *path, const char *trigger)
{
    int descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return -1;
    /* The kernel wants the byte that ends the text, too. */
    if (write(descriptor, trigger, strlen(trigger) + 1) >= 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int gesso_change_open(const char *path)
{
    int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (descriptor < 0) return -1;
    if (inotify_add_watch(descriptor, path, IN_MODIFY) >= 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int gesso_pressure_wait(const int *descriptors, int pressures, int count)
{
    enum { MOST = 8 };
    struct pollfd polled[MOST];
    if (count < 1 || count > MOST) {
        errno = EINVAL;
        return -1;
    }
    /* A file of pressure can always be read: only what is urgent of it counts. */
    for (int i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = descriptors[i], .events = i < pressures ? POLLPRI : POLLIN};
    while (poll(polled, (nfds_t)count, -1) < 0)
        if (errno != EINTR) return -1;
    for (int i = count - 1; i >= 0; i--) {
        if (!polled[i].revents) continue;
        if (polled[i].revents & (POLLERR | POLLNVAL)) return -2 - i;
        char events[4096];
        if (i >= pressures && i + 1 < count)
            while (read(descriptors[i], events, sizeof events) > 0) {}
        return i;
    }
    return -1;
}

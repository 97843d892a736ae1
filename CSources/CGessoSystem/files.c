#define _GNU_SOURCE
#include "include/gesso_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int result(int value) { return value < 0 ? -errno : value; }

int gesso_file_preallocate(int file, int64_t length) { return result(fallocate(file, 0, 0, length)); }

int gesso_file_rename(int directory, const char *from, const char *to, int replaces)
{
    return result(renameat2(directory, from, directory, to, replaces ? 0 : RENAME_NOREPLACE));
}

int gesso_file_start_sync(int file) { return result(sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE)); }

int64_t gesso_file_copy(int from, int64_t offset, int to, size_t length)
{
    off_t place = offset;
    ssize_t copied = copy_file_range(from, &place, to, NULL, length, 0);
    return copied < 0 ? -errno : copied;
}

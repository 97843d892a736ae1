/* The disk bench's peers: `disk_peers PEER OPERATION DIR COUNT SEED [SMALLEST LARGEST]` prints lines `NAME VALUE`.
 *
 * PEER is file, sqlite, lmdb or rocksdb, with put, get and delete, sqlite-tuned or rocksdb-tuned, or naive with durable. What is stored, and how often
 * it is committed, is the same for all of them and for `gesso-bench disk`. So is what a value begins with: the checksum
 * of the rest, made while the clock runs. As set up here, none but naive waits for the disk at each commit, and all
 * outlive the end of the process at any moment. */
#include "disk_peers.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BATCH = 32, POOL = 1 << 20, MOST_ENTRIES = 99999999 };

static const char *peer_name;
bool is_tuned;

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "disk_peers: %s: ", peer_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

/* MARK: What is stored */

static size_t count, smallest = 2048, largest = 204800;
static uint64_t seed;
static uint8_t pool[CHECKSUM + POOL];
static uint32_t *sizes;
char (*keys)[KEY_ROOM];
size_t key_length;

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/* Keys and sizes are made before the clock runs: they are no part of a store. */
static void make_entries(void)
{
    uint64_t state = seed, pool_state = ~seed;
    sizes = malloc(count * sizeof *sizes);
    keys = malloc(count * sizeof *keys);
    if (!sizes || !keys) fail("no memory for %zu entries", count);
    for (size_t i = 0; i < count; i++) {
        double u = (double)(next_random(&state) >> 11) * 0x1p-53;
        sizes[i] = (uint32_t)((double)smallest * pow((double)largest / (double)smallest, u));
        key_length = (size_t)snprintf(keys[i], KEY_ROOM, "picture.%08zu", i);
    }
    for (size_t i = 0; i < POOL; i += 8) memcpy(pool + CHECKSUM + i, &(uint64_t){next_random(&pool_state)}, 8);
}

/* Made in place, as copying would be no part of a store, either. It holds until the next one is made. */
static record make_record(size_t i, size_t size)
{
    uint8_t *bytes = pool + i * 4099 % (POOL - size), *payload = bytes + CHECKSUM;
    memcpy(payload, &(uint64_t){i}, 8);
    memcpy(bytes, &(uint64_t){XXH3_64bits(payload, size)}, CHECKSUM);
    return (record){bytes, CHECKSUM + size};
}

static bool is_record(const uint8_t *bytes, size_t length, size_t i)
{
    if (length != CHECKSUM + sizes[i]) return false;
    uint64_t checksum, number;
    memcpy(&checksum, bytes, CHECKSUM);
    memcpy(&number, bytes + CHECKSUM, 8);
    return number == i && checksum == XXH3_64bits(bytes + CHECKSUM, sizes[i]);
}

/* MARK: Operations */

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The one that 99 of 100 do not exceed. */
static double percentile_99(double *values, size_t number)
{
    qsort(values, number, sizeof *values, compare_doubles);
    return values[(number * 99 + 99) / 100 - 1];
}

static void put(const peer *p, const char *folder)
{
    size_t batches = 0;
    double *times = malloc((count / BATCH + 1) * sizeof *times);
    if (!times) fail("no memory for %zu entries", count);
    p->open(folder);
    double start = microseconds(), batch_start = start;
    for (size_t i = 0; i < count;) {
        p->begin();
        for (size_t end = i + BATCH; i < end && i < count; i++) p->put(i, make_record(i, sizes[i]));
        p->commit();
        double now = microseconds();
        times[batches++] = now - batch_start;
        batch_start = now;
    }
    p->close();
    printf("put %.4f\n", (microseconds() - start) / (double)count);
    printf("batch-p99 %.4f\n", percentile_99(times, batches) / 1000);
    free(times);
}

static void get_one(const peer *p, size_t i, uint8_t *buffer, size_t capacity)
{
    size_t length = p->get(i, buffer, capacity);
    if (!length) fail("%s is not there", keys[i]);
    if (!is_record(buffer, length, i)) fail("%s has wrong bytes", keys[i]);
}

static uint8_t *make_buffer(size_t *capacity)
{
    *capacity = CHECKSUM + largest + 1; /* so that a value which is too long is seen */
    uint8_t *buffer = malloc(*capacity);
    if (!buffer) fail("no memory for a value");
    return buffer;
}

static void get(const peer *p, const char *folder)
{
    size_t capacity, gets = 4 * count;
    uint8_t *buffer = make_buffer(&capacity);
    uint64_t state = seed + 1;
    p->open(folder);
    for (size_t i = 0; i < count; i++) get_one(p, i, buffer, capacity);
    double start = microseconds();
    for (size_t n = 0; n < gets; n++) get_one(p, next_random(&state) % count, buffer, capacity);
    printf("get %.4f\n", (microseconds() - start) / (double)gets);
    p->close();
    free(buffer);
}

/* Afterwards, whether those are gone and no others. */
static void check_deleted(const peer *p, const char *folder)
{
    size_t capacity;
    uint8_t *buffer = make_buffer(&capacity);
    p->open(folder);
    for (size_t i = 0; i < count; i++) {
        if (i % 2) get_one(p, i, buffer, capacity);
        else if (p->get(i, buffer, capacity)) fail("%s is still there", keys[i]);
    }
    p->close();
    free(buffer);
}

static void delete(const peer *p, const char *folder)
{
    p->open(folder);
    double start = microseconds();
    for (size_t i = 0; i < count;) {
        p->begin();
        for (size_t end = i + 2 * BATCH; i < end && i < count; i += 2) p->remove(i);
        p->commit();
    }
    p->close();
    double took = microseconds() - start;
    check_deleted(p, folder);
    printf("delete %.4f\n", took / (double)((count + 1) / 2));
}

/* What a program does that needs each file to outlive a power failure, and knows of no better way. */
static void durable(const char *folder)
{
    open_root(folder);
    double start = microseconds();
    for (size_t i = 0; i < count; i++) write_file(keys[i], make_record(i, 20000), true);
    printf("durable %.4f\n", (microseconds() - start) / (double)count);
    close_root();
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value < least || value > most)
        fail("%s is no number from %llu to %llu", text, (unsigned long long)least, (unsigned long long)most);
    return value;
}

/* What comes before "-tuned". */
static const peer *named(const char *name)
{
    char plain[16];
    const char *end = strstr(name, "-tuned");
    is_tuned = end != NULL;
    size_t length = end ? (size_t)(end - name) : strlen(name);
    if (length >= sizeof plain) return NULL;
    memcpy(plain, name, length);
    plain[length] = 0;
    return peer_named(plain);
}

static void run(const char *operation, const char *folder)
{
    const peer *p = named(peer_name);
    if (p && !strcmp(operation, "put")) put(p, folder);
    else if (p && !strcmp(operation, "get")) get(p, folder);
    else if (p && !strcmp(operation, "delete")) delete(p, folder);
    else if (!strcmp(peer_name, "naive") && !strcmp(operation, "durable")) durable(folder);
    else fail("there is no such peer, or it has no operation \"%s\"", operation);
}

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 8) {
        fputs("usage: disk_peers PEER OPERATION DIR COUNT SEED [SMALLEST LARGEST]\n", stderr);
        return 1;
    }
    peer_name = argv[1];
    count = number(argv[4], 1, MOST_ENTRIES);
    seed = number(argv[5], 0, UINT64_MAX);
    if (argc == 8) {
        smallest = number(argv[6], 8, POOL - 1);
        largest = number(argv[7], smallest, POOL - 1);
    }
    make_entries();
    make_folder(AT_FDCWD, argv[3]);
    run(argv[2], argv[3]);
    free(sizes);
    free(keys);
    return 0;
}

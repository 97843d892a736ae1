/* The blocks that a thread has made lately. */
#include "text_block.h"

#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 64, LONGEST_KEY = 8192 };

typedef struct entry {
    uint8_t *key; /* all that a layout depends on */
    size_t length;
    uint64_t hash, used;
    gesso_text_block *block;
} entry;

typedef struct block_memory {
    uint64_t clock;
    entry entries[REMEMBERED];
    uint8_t key[LONGEST_KEY]; /* the one that is looked for */
} block_memory;

static void end_memory(gpointer value)
{
    block_memory *m = value;
    for (int i = 0; i < REMEMBERED; i++) {
        free(m->entries[i].key);
        gesso_text_block_release(m->entries[i].block);
    }
    free(m);
}

static block_memory *thread_memory(void)
{
    static GPrivate thread = G_PRIVATE_INIT(end_memory);
    block_memory *m = g_private_get(&thread);
    if (!m && (m = calloc(1, sizeof *m))) g_private_set(&thread, m);
    return m;
}

/* Appends to a key; a length of 0 for one that is too long stays 0. */
static void add(uint8_t *key, size_t *length, const void *bytes, size_t count)
{
    if (*length == 0 || count > LONGEST_KEY - *length) {
        *length = 0;
        return;
    }
    if (count) memcpy(key + *length, bytes, count);
    *length += count;
}

static void add_text(uint8_t *key, size_t *length, const char *text, size_t count)
{
    add(key, length, &count, sizeof count);
    add(key, length, text, count);
}

/* The length of a key; 0 if it would be too long. */
static size_t make_key(
    uint8_t *key, const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    gesso_transform t)
{
    const double numbers[] = {
        t.a, t.b, t.c, t.d, width, height, options->maximum_lines, options->alignment, options->line_break,
        options->line_spacing};
    size_t length = sizeof numbers;
    memcpy(key, numbers, sizeof numbers);
    for (size_t i = 0; i < count && length; i++) {
        const gesso_text_run *r = &runs[i];
        const double look[] = {
            r->size, r->weight, r->italic + 2 * r->underline + 4 * r->strikethrough, r->red, r->green, r->blue, r->alpha};
        add(key, &length, look, sizeof look);
        add_text(key, &length, r->family, r->family ? strlen(r->family) : 0);
        add_text(key, &length, r->utf8, r->length);
    }
    return length;
}

static uint64_t hash_of(const uint8_t *bytes, size_t length)
{
    uint64_t hash = length, word;
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u, hash ^= hash >> 32;
    }
    for (; length > 0; bytes++, length--) hash = (hash ^ *bytes) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static void keep(block_memory *m, size_t length, uint64_t hash, gesso_text_block *block)
{
    entry *e = &m->entries[0];
    for (int i = 1; i < REMEMBERED; i++)
        if (m->entries[i].used < e->used) e = &m->entries[i];
    uint8_t *key = malloc(length);
    if (!key) return;
    memcpy(key, m->key, length);
    free(e->key);
    gesso_text_block_release(e->block);
    block->references++;
    *e = (entry){key, length, hash, ++m->clock, block};
}

gesso_status gesso_text_block_get(
    const gesso_text_run *runs, size_t count, const gesso_text_options *options, double width, double height,
    gesso_transform transform, gesso_text_block **block)
{
    block_memory *m = thread_memory();
    size_t length = m ? make_key(m->key, runs, count, options, width, height, transform) : 0;
    uint64_t hash = length ? hash_of(m->key, length) : 0;
    for (int i = 0; length && i < REMEMBERED; i++) {
        entry *e = &m->entries[i];
        if (e->hash != hash || e->length != length || memcmp(e->key, m->key, length) != 0) continue;
        e->used = ++m->clock;
        e->block->references++;
        *block = e->block;
        return GESSO_OK;
    }
    gesso_status status = gesso_text_block_create(runs, count, options, width, height, transform, block);
    if (!status && length) keep(m, length, hash, *block);
    return status;
}

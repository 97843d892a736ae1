/* Bytes that claim to be blobs. A mutator that knows the format makes the checksums fit again, or nothing would get past
 * them; and what decodes is encoded and decoded once more. */
#include "gesso.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>

enum { OLD_HEADER = 64, OLD_ENTRY = 24, ENTRY = 14, MODES = 7, OLD_MODES = 5 };

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t length, size_t most);

static uint32_t load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static void store_hash(uint8_t *at, const uint8_t *bytes, size_t length)
{
    uint64_t hash = XXH3_64bits(bytes, length);
    memcpy(at, &hash, 8);
}

/* Bands one after the other, in as many bytes as there are, with their checksums: version 1. */
static void repair_old(uint8_t *blob, size_t length)
{
    if (length < OLD_HEADER + OLD_ENTRY) return;
    static const uint8_t magic[8] = {0x89, 'G', 'B', 'L', 1, 0, OLD_HEADER, 0};
    memcpy(blob, magic, 8);
    /* Pictures of a size that is worth the time. */
    uint32_t width = load32(blob + 12) % 600 + 1, height = load32(blob + 16) % 600 + 1, format = load32(blob + 20) % 3 + 1;
    uint32_t rows = load32(blob + 32) % height + 1, bands = height / rows + (height % rows != 0);
    if (OLD_HEADER + (uint64_t)bands * OLD_ENTRY > length) rows = height, bands = 1;
    uint32_t words[] = {format == 2, width, height, format};
    memcpy(blob + 8, words, sizeof words);
    double scale = 1;
    memcpy(blob + 24, &scale, 8);
    memcpy(blob + 32, &rows, 4);
    memcpy(blob + 36, &bands, 4);
    uint64_t total = length, offset = OLD_HEADER + (uint64_t)bands * OLD_ENTRY;
    memcpy(blob + 40, &total, 8);
    for (uint32_t i = 0; i < bands; i++) {
        uint8_t *entry = blob + OLD_HEADER + (size_t)i * OLD_ENTRY;
        uint64_t left = length - offset;
        uint32_t size = i == bands - 1 || load32(entry + 8) > left ? (uint32_t)left : load32(entry + 8);
        memcpy(entry, &offset, 8);
        memcpy(entry + 8, &size, 4);
        entry[12] %= OLD_MODES, entry[13] = entry[14] = entry[15] = 0;
        store_hash(entry + 16, blob + offset, size);
        offset += size;
    }
    store_hash(blob + 48, blob + OLD_HEADER, (size_t)bands * OLD_ENTRY);
    store_hash(blob + 56, blob, 56);
}

/* A number, of which the bytes stay as many; and what it may be, in them. */
static uint32_t repair_number(uint8_t *blob, size_t *at, uint32_t most)
{
    uint32_t value = blob[*at] & 127;
    if (blob[*at] > 127) value |= (uint32_t)(blob[*at + 1] & 127) << 7;
    value = value % most + 1;
    if (value > 127 && blob[*at] < 128) value = 127;
    if (blob[*at] < 128) return blob[(*at)++] = (uint8_t)value;
    blob[*at] = (uint8_t)(value | 128), blob[*at + 1] = (uint8_t)(value >> 7);
    *at += 2;
    return value;
}

/* The same, of version 2. */
static void repair(uint8_t *blob, size_t length)
{
    enum { LEAST = 6 + 3 * 2 + 9 + ENTRY + 8 };
    if (length < LEAST) return;
    static const uint8_t magic[5] = {0x89, 'G', 'B', 'L', 2};
    memcpy(blob, magic, 5);
    uint8_t format = blob[5] % 3 + 1;
    blob[5] = (uint8_t)(format | (format == 2 ? 4 : 0));
    size_t at = 6;
    repair_number(blob, &at, 600);
    uint32_t height = repair_number(blob, &at, 600);
    size_t rows_at = at;
    uint32_t rows = repair_number(blob, &at, height);
    double scale = 1;
    if (blob[at++] == 0) memcpy(blob + at, &scale, 8), at += 8;
    uint32_t bands = height / rows + (height % rows != 0);
    if (at + (uint64_t)bands * ENTRY + 8 > length) { /* one, by as many bytes */
        bool is_long = blob[rows_at] > 127;
        if (!is_long && height > 127) return;
        blob[rows_at] = (uint8_t)(height | (is_long ? 128 : 0));
        if (is_long) blob[rows_at + 1] = (uint8_t)(height >> 7);
        bands = 1;
    }
    uint8_t *table = blob + at, *first = table + (size_t)bands * ENTRY + 8;
    uint64_t most = length - (size_t)(first - blob), begin = 0;
    for (uint32_t i = 0; i < bands; i++) {
        uint8_t *entry = table + (size_t)i * ENTRY;
        uint64_t end = 0;
        memcpy(&end, entry + 1, 5);
        if (i == bands - 1 || end > most) end = most;
        if (end < begin) end = begin;
        entry[0] %= MODES;
        if (entry[0] == 3) entry[0] = 5; /* as version 2 has it */
        memcpy(entry + 1, &end, 5);
        store_hash(entry + 6, first + begin, (size_t)(end - begin));
        begin = end;
    }
    store_hash(first - 8, blob, (size_t)(first - 8 - blob));
}

/* A picture's own blob, to begin with: no mutation finds the way from nothing. */
static size_t sample(unsigned seed, uint8_t *out, size_t most)
{
    gesso_bitmap *bitmap;
    uint32_t width = 1 + seed % 41, height = 1 + seed / 41 % 31, state = seed;
    if (gesso_bitmap_create(width, height, (gesso_format)(1 + seed % 3), 1, &bitmap)) return 0;
    for (uint32_t y = 0; y < height; y++) {
        uint8_t *row = (uint8_t *)gesso_bitmap_mutable_pixels(bitmap) + (ptrdiff_t)y * gesso_bitmap_stride(bitmap);
        for (size_t i = 0; i < width * gesso_format_bytes_per_pixel(gesso_bitmap_format(bitmap)); i++) {
            state = state * 1664525 + 1013904223;
            row[i] = seed % 5 == 0 ? (uint8_t)(state >> 24) : seed % 5 < 3 ? (uint8_t)((state >> 29) + i + y) : (state >> 30 ? 255 : 9);
        }
    }
    uint8_t *bytes;
    size_t length = 0;
    if (gesso_blob_encode_new(bitmap, NULL, &bytes, &length) == GESSO_OK) {
        if (length <= most) memcpy(out, bytes, length);
        else length = 0;
        gesso_free(bytes);
    }
    gesso_bitmap_release(bitmap);
    return length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t most, unsigned seed)
{
    if (length < 48 || seed % 50 == 0) {
        size_t made = sample(seed, bytes, most);
        if (made) return made;
    }
    length = LLVMFuzzerMutate(bytes, length, most);
    /* And some stay broken. */
    if (seed % 16) (length > 4 && bytes[4] == 1 ? repair_old : repair)(bytes, length);
    return length;
}

static void require(bool condition)
{
    if (!condition) abort();
}

/* What the rows are in. */
static gesso_bitmap *kept;

/* Rows by themselves, of whatever the bytes are, into every other row of memory: those that the last byte names. */
static gesso_bitmap *read_rows(const uint8_t *bytes, size_t length, const gesso_blob_info *info, uint32_t *first)
{
    static gesso_blob_reading reading = {.struct_size = sizeof reading};
    if (!reading.workspace) reading.workspace = gesso_blob_workspace_create();
    gesso_bitmap *part;
    if ((uint64_t)info->width * info->height > 1 << 20) return NULL;
    if (gesso_bitmap_create(info->width, 2 * info->height, info->format, 1, &part)) return NULL;
    *first = bytes[length - 1] % info->height;
    uint32_t count = 1 + bytes[length - 1] % (info->height - *first);
    gesso_bitmap *target;
    require(gesso_bitmap_wrap(
                gesso_bitmap_mutable_pixels(part), info->width, count, 2 * gesso_bitmap_stride(part), info->format, 1, NULL,
                NULL, &target) == GESSO_OK);
    if (gesso_blob_decode_rows(bytes, length, &reading, *first, count, target)) gesso_bitmap_release(target), target = NULL;
    kept = part;
    return target;
}

static void compare_rows(const gesso_blob_info *info, const gesso_bitmap *part, uint32_t first, const gesso_bitmap *whole)
{
    uint32_t count = gesso_bitmap_height(part);
    size_t row = info->width * gesso_format_bytes_per_pixel(info->format);
    for (uint32_t y = 0; y < count; y++)
        require(memcmp(
                    (const uint8_t *)gesso_bitmap_pixels(part) + (ptrdiff_t)y * gesso_bitmap_stride(part),
                    (const uint8_t *)gesso_bitmap_pixels(whole) + (ptrdiff_t)(first + y) * gesso_bitmap_stride(whole), row)
                == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    gesso_blob_info info = {.struct_size = sizeof info};
    gesso_blob_band band = {.struct_size = sizeof band};
    gesso_limits limits = {.struct_size = sizeof limits, .maximum_bytes = 4 << 20};
    gesso_blob_reading reading = {.struct_size = sizeof reading, .limits = &limits};
    gesso_status probed = gesso_blob_probe(bytes, length, &info), verified = gesso_blob_verify(bytes, length, NULL);
    gesso_blob_bands_get(bytes, length, 0, 1, &band);
    gesso_bitmap *bitmap = NULL, *part = NULL;
    uint32_t first = 0;
    bool has_rows = probed == GESSO_OK && (uint64_t)info.width * info.height <= 1 << 20;
    if (has_rows) part = read_rows(bytes, length, &info, &first);
    gesso_status decoded = gesso_blob_decode(bytes, length, &reading, &bitmap);
    if (decoded == GESSO_OK && has_rows) require(part), compare_rows(&info, part, first, bitmap);
    gesso_bitmap_release(part);
    if (has_rows) gesso_bitmap_release(kept), kept = NULL;
    require((decoded == GESSO_OK) == (bitmap != NULL));
    if (decoded != GESSO_OK) {
        require(reading.fault.what && reading.fault.offset <= length);
        return 0;
    }
    require(probed == GESSO_OK && verified == GESSO_OK && gesso_bitmap_width(bitmap) == info.width);
    for (int level = GESSO_BLOB_FAST; level <= GESSO_BLOB_SMALL && info.width * info.height < 4096; level++) {
        gesso_blob_options options = {.struct_size = sizeof options, .level = (gesso_blob_level)level};
        uint8_t *again;
        size_t again_length;
        gesso_bitmap *back = NULL;
        require(gesso_blob_encode_new(bitmap, &options, &again, &again_length) == GESSO_OK);
        require(gesso_blob_decode(again, again_length, NULL, &back) == GESSO_OK);
        gesso_bitmap_release(back);
        gesso_free(again);
    }
    gesso_bitmap_release(bitmap);
    return 0;
}

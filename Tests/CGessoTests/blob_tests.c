/* Blobs: every way to write a band down, rows by themselves, and bytes that somebody made up. */
#include "check.h"
#include "hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { KINDS = 10 };

/* Pictures that different modes are for. */
static gesso_bitmap *picture(int kind, uint32_t width, uint32_t height, gesso_format format)
{
    gesso_bitmap *bitmap = NULL;
    CHECK_STATUS(gesso_bitmap_create(width, height, format, 1 + kind % 3, &bitmap), GESSO_OK);
    uint64_t seed = (uint64_t)kind * 1000 + width;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t r = 0, g = 0, b = 0, a = 255;
            switch (kind) {
            case 0: r = g = b = 30; break;                                             /* one colour */
            case 1: r = x < width / 2 ? 200 : 20, b = y / 9 % 2 ? 90 : 10; break;        /* areas */
            case 2: r = x * 255 / width, g = y * 255 / height, b = (x + y) & 255; break; /* gradients */
            case 3: a = x * 255 / width, r = a / 2, g = a / 3; break;                    /* translucent ones */
            case 4: r = (uint32_t)random_next(&seed) & 255, g = (uint32_t)random_next(&seed) & 255, b = g ^ 31; break;
            case 5: /* a photo's noise on a slope */
                g = (x + y) / 3 % 200 + (uint32_t)random_next(&seed) % 7, r = g + 9 + (uint32_t)random_next(&seed) % 4, b = g / 2;
                break;
            case 6: /* letters: few pixels of their own */
                r = g = b = random_next(&seed) % 23 ? 255 : (uint32_t)random_next(&seed) & 255;
                break;
            case 9: { /* letters in a colour on another one */
                uint32_t inked = random_next(&seed) % 5 ? 0 : (uint32_t)random_next(&seed) % 12;
                r = 40 + inked * 9, g = 200 - inked * 13, b = inked * 5;
                break;
            }
            case 7: a = random_next(&seed) % 5 ? 0 : 255, r = a; break;
            default: a = (uint32_t)random_next(&seed) & 255, g = a / 2, b = a; break;
            }
            uint8_t *row = (uint8_t *)gesso_bitmap_mutable_pixels(bitmap) + (ptrdiff_t)y * gesso_bitmap_stride(bitmap);
            if (format == GESSO_FORMAT_A8)
                row[x] = (uint8_t)(kind == 3 ? a : g);
            else
                ((uint32_t *)row)[x] = (format == GESSO_FORMAT_XRGB32 ? 255 : a) << 24 | (r & 255) << 16 | (g & 255) << 8 | (b & 255);
        }
    return bitmap;
}

static uint8_t *encoded(const gesso_bitmap *bitmap, gesso_blob_level level, size_t *length)
{
    uint8_t *bytes = NULL;
    gesso_blob_options options = {.struct_size = sizeof options, .level = level};
    CHECK_STATUS(gesso_blob_encode_new(bitmap, &options, &bytes, length), GESSO_OK);
    CHECK(*length <= gesso_blob_bound(bitmap));
    return bytes;
}

static bool rows_are_same(const gesso_bitmap *a, uint32_t first_a, const gesso_bitmap *b, uint32_t first_b, uint32_t count)
{
    size_t row = gesso_bitmap_width(a) * gesso_format_bytes_per_pixel(gesso_bitmap_format(a));
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(
                (const uint8_t *)gesso_bitmap_pixels(a) + (ptrdiff_t)(first_a + i) * gesso_bitmap_stride(a),
                (const uint8_t *)gesso_bitmap_pixels(b) + (ptrdiff_t)(first_b + i) * gesso_bitmap_stride(b), row) != 0)
            return false;
    return true;
}

static void every_picture_comes_back(void)
{
    unsigned modes = 0;
    const char *names[] = {"stored", "solid", "lz4", "masks", "filter"};
    const uint32_t sizes[][2] = {{1, 1}, {1, 40}, {7, 9}, {8, 8}, {9, 31}, {33, 70}, {64, 64}, {300, 260}, {257, 600}};
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int format = GESSO_FORMAT_ARGB32; format <= GESSO_FORMAT_A8; format++)
                for (int level = GESSO_BLOB_FAST; level <= GESSO_BLOB_SMALL; level++) {
                    gesso_bitmap *bitmap = picture(kind, sizes[s][0], sizes[s][1], (gesso_format)format), *back = NULL;
                    size_t length;
                    uint8_t *blob = encoded(bitmap, (gesso_blob_level)level, &length);
                    CHECK_STATUS(gesso_blob_verify(blob, length, NULL), GESSO_OK);
                    CHECK_STATUS(gesso_blob_decode(blob, length, NULL, &back), GESSO_OK);
                    CHECK(back && rows_are_same(bitmap, 0, back, 0, sizes[s][1]));
                    gesso_blob_info info = {.struct_size = sizeof info};
                    CHECK_STATUS(gesso_blob_probe(blob, length, &info), GESSO_OK);
                    uint32_t rows = 0;
                    gesso_blob_band bands[16] = {{.struct_size = sizeof *bands}};
                    CHECK(info.band_count <= 16);
                    CHECK_STATUS(gesso_blob_bands_get(blob, length, 0, info.band_count + 1, bands), GESSO_INVALID_ARGUMENT);
                    CHECK_STATUS(gesso_blob_bands_get(blob, length, 0, info.band_count, bands), GESSO_OK);
                    for (uint32_t i = 0; i < info.band_count; i++) {
                        gesso_blob_band band = bands[i];
                        for (unsigned m = 0; m < 5; m++)
                            if (strcmp(band.mode, names[m]) == 0) modes |= 1u << m;
                        CHECK(band.first_row == rows);
                        rows += band.row_count;
                    }
                    CHECK(rows == sizes[s][1]);
                    gesso_bitmap_release(back);
                    gesso_bitmap_release(bitmap);
                    gesso_free(blob);
                }
    CHECK(modes == 31); /* each mode was used */
}

static void rows_are_decoded_by_themselves(void)
{
    gesso_bitmap *bitmap = picture(5, 301, 700, GESSO_FORMAT_ARGB32); /* some bands */
    size_t length;
    uint8_t *blob = encoded(bitmap, GESSO_BLOB_FAST, &length);
    gesso_blob_reading reading = {.struct_size = sizeof reading, .workspace = gesso_blob_workspace_create()};
    uint64_t seed = 3;
    /* Into a bitmap with a padded stride, in whose other rows nothing changes. */
    static uint8_t memory[1300 * 720];
    for (int i = 0; i < 60; i++) {
        uint32_t first = (uint32_t)random_next(&seed) % 700, count = (uint32_t)random_next(&seed) % (701 - first);
        gesso_bitmap *target = NULL;
        memset(memory, 0xee, sizeof memory);
        CHECK_STATUS(gesso_bitmap_wrap(memory, 301, 710, 1300, GESSO_FORMAT_ARGB32, 1, NULL, NULL, &target), GESSO_OK);
        CHECK_STATUS(gesso_blob_decode_rows(blob, length, i % 2 ? &reading : NULL, first, count, target), GESSO_OK);
        CHECK(rows_are_same(bitmap, first, target, 0, count));
        for (size_t k = 0; k < 96; k++) CHECK(memory[(size_t)count * 1300 + 1204 + k] == 0xee && memory[(size_t)count * 1300 + k] == 0xee);
        gesso_bitmap_release(target);
    }
    gesso_bitmap *small = picture(0, 301, 5, GESSO_FORMAT_ARGB32), *narrow = picture(0, 300, 700, GESSO_FORMAT_ARGB32);
    CHECK_STATUS(gesso_blob_decode_rows(blob, length, NULL, 695, 6, small), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_blob_decode_rows(blob, length, NULL, 0, 6, small), GESSO_INVALID_ARGUMENT);
    CHECK_STATUS(gesso_blob_decode_rows(blob, length, NULL, 0, 5, narrow), GESSO_INVALID_ARGUMENT);
    gesso_bitmap_freeze(small);
    CHECK_STATUS(gesso_blob_decode_rows(blob, length, NULL, 0, 5, small), GESSO_FROZEN);
    gesso_blob_workspace_release(reading.workspace);
    gesso_bitmap_release(small);
    gesso_bitmap_release(narrow);
    gesso_bitmap_release(bitmap);
    gesso_free(blob);
}

/* Makes the checksums fit again, as somebody would who wants to be read. */
static void repair(uint8_t *blob, size_t length)
{
    uint32_t bands;
    memcpy(&bands, blob + 36, 4);
    if (64 + (uint64_t)bands * 24 > length) return;
    for (uint32_t i = 0; i < bands; i++) {
        uint64_t offset, hash;
        uint32_t size;
        memcpy(&offset, blob + 64 + i * 24, 8);
        memcpy(&size, blob + 64 + i * 24 + 8, 4);
        if (offset > length || size > length - offset) continue;
        hash = XXH3_64bits(blob + offset, size);
        memcpy(blob + 64 + i * 24 + 16, &hash, 8);
    }
    uint64_t hash = XXH3_64bits(blob + 64, (size_t)bands * 24);
    memcpy(blob + 48, &hash, 8);
    hash = XXH3_64bits(blob, 56);
    memcpy(blob + 56, &hash, 8);
}

static bool is_as_opaque_as_it_says(const gesso_bitmap *bitmap)
{
    for (uint32_t y = 0; gesso_bitmap_format(bitmap) == GESSO_FORMAT_XRGB32 && y < gesso_bitmap_height(bitmap); y++)
        for (uint32_t x = 0; x < gesso_bitmap_width(bitmap); x++)
            if (pixel(bitmap, (int)x, (int)y) >> 24 != 255) return false;
    return true;
}

static void forged_blobs_are_read_safely(void)
{
    uint64_t seed = 77;
    int accepted = 0, refused = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int format = GESSO_FORMAT_ARGB32; format <= GESSO_FORMAT_A8; format++) {
            gesso_bitmap *bitmap = picture(kind, 61, 43, (gesso_format)format);
            size_t length;
            uint8_t *blob = encoded(bitmap, GESSO_BLOB_FAST, &length), *forged = malloc(length);
            for (int i = 0; i < 700; i++) {
                memcpy(forged, blob, length);
                int changes = 1 + (int)(random_next(&seed) % 3);
                for (int c = 0; c < changes; c++) {
                    /* Mostly what a band begins with, and its mode; the header now and then. */
                    size_t at = (size_t)random_next(&seed) % length;
                    if (i % 3 == 0) at = 88 + (size_t)random_next(&seed) % 24;
                    if (i % 7 == 0) at = 64 + 12;
                    if (i % 11 == 0) at = 8 + (size_t)random_next(&seed) % 32;
                    if (at < length) forged[at] = (uint8_t)(i % 2 ? random_next(&seed) : random_next(&seed) % 6);
                }
                repair(forged, length);
                gesso_limits limits = {.struct_size = sizeof limits, .maximum_bytes = 1 << 20};
                gesso_blob_reading reading = {.struct_size = sizeof reading, .limits = &limits};
                gesso_bitmap *back = NULL;
                if (gesso_blob_decode(forged, length, &reading, &back) == GESSO_OK) {
                    accepted++;
                    CHECK(is_as_opaque_as_it_says(back));
                    gesso_bitmap_release(back);
                } else {
                    refused++;
                    CHECK(reading.fault.what != NULL && reading.fault.offset <= length);
                }
            }
            free(forged);
            gesso_free(blob);
            gesso_bitmap_release(bitmap);
        }
    CHECK(accepted > 0 && refused > 0);
}

static void a_level_is_not_larger_for_trying_more(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        gesso_bitmap *bitmap = picture(kind, 300, 260, GESSO_FORMAT_ARGB32);
        size_t fast, small;
        gesso_free(encoded(bitmap, GESSO_BLOB_FAST, &fast));
        gesso_free(encoded(bitmap, GESSO_BLOB_SMALL, &small));
        CHECK(small <= fast);
        gesso_bitmap_release(bitmap);
    }
}

static void threads_write_the_same(void)
{
    gesso_bitmap *bitmap = picture(5, 1500, 1100, GESSO_FORMAT_XRGB32), *back = NULL;
    size_t length, shared_length = 0, bound = gesso_blob_bound(bitmap);
    uint8_t *blob = encoded(bitmap, GESSO_BLOB_FAST, &length), *shared = malloc(bound);
    gesso_blob_workspace *workspace = gesso_blob_workspace_create();
    for (uint32_t threads = 1; threads < 100; threads = threads * 3 + 1) {
        gesso_blob_options options = {.struct_size = sizeof options, .workspace = workspace, .thread_count = threads};
        CHECK_STATUS(gesso_blob_encode(bitmap, &options, shared, bound, &shared_length), GESSO_OK);
        CHECK(shared_length == length && memcmp(shared, blob, length) == 0);
        gesso_blob_reading reading = {.struct_size = sizeof reading, .workspace = workspace, .thread_count = threads};
        CHECK_STATUS(gesso_blob_decode(shared, length, &reading, &back), GESSO_OK);
        CHECK(rows_are_same(bitmap, 0, back, 0, 1100));
        gesso_bitmap_release(back);
        /* The first of damaged bands is the one that is told. */
        gesso_blob_band bands[12] = {{.struct_size = sizeof *bands}};
        CHECK_STATUS(gesso_blob_bands_get(shared, length, 0, 12, bands), GESSO_OK);
        for (int i = 11; i > 2; i -= 3) shared[bands[i].offset + bands[i].length / 2] ^= 4;
        CHECK_STATUS(gesso_blob_decode(shared, length, &reading, &back), GESSO_CORRUPT);
        CHECK(reading.fault.offset == bands[5].offset && strcmp(reading.fault.what, "checksum of a band") == 0);
    }
    gesso_blob_workspace_release(workspace);
    free(shared);
    gesso_free(blob);
    gesso_bitmap_release(bitmap);
}

/* What a changed byte is refused for, and where. */
static void faults_say_what_and_where(void)
{
    gesso_bitmap *bitmap = picture(5, 301, 700, GESSO_FORMAT_ARGB32);
    size_t length;
    uint8_t *blob = encoded(bitmap, GESSO_BLOB_FAST, &length), *copy = malloc(length + 1);
    gesso_blob_band last = {.struct_size = sizeof last};
    CHECK_STATUS(gesso_blob_bands_get(blob, length, 3, 1, &last), GESSO_OK);
    const struct { size_t at; int change; size_t cut; gesso_status status; uint64_t offset; const char *what; } cases[] = {
        {0, 1, 0, GESSO_NOT_RECOGNIZED, 0, "mark"},
        {0, 0, length - 30, GESSO_TRUNCATED, 30, "header"},
        {0, 0, 7, GESSO_TRUNCATED, length - 7, "bytes"},
        {4, 3, 0, GESSO_UNSUPPORTED, 4, "version"},
        {13, 1, 0, GESSO_CORRUPT, 56, "checksum of the header"},
        {64 + 9, 1, 0, GESSO_CORRUPT, 48, "checksum of the table"},
        {last.offset + 20, 1, 0, GESSO_CORRUPT, last.offset, "checksum of a band"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(copy, blob, length);
        copy[cases[i].at] ^= (uint8_t)cases[i].change;
        gesso_blob_fault fault = {.struct_size = sizeof fault};
        CHECK_STATUS(gesso_blob_verify(copy, length - cases[i].cut, &fault), cases[i].status);
        CHECK(fault.offset == cases[i].offset && strcmp(fault.what, cases[i].what) == 0);
        gesso_blob_reading reading = {.struct_size = sizeof reading};
        gesso_bitmap *back = NULL;
        CHECK_STATUS(gesso_blob_decode(copy, length - cases[i].cut, &reading, &back), cases[i].status);
        CHECK(reading.fault.offset == cases[i].offset && strcmp(reading.fault.what, cases[i].what) == 0);
    }
    gesso_limits limits = {.struct_size = sizeof limits, .maximum_height = 699};
    gesso_blob_reading reading = {.struct_size = sizeof reading, .limits = &limits};
    gesso_bitmap *back = NULL;
    CHECK_STATUS(gesso_blob_decode(blob, length, &reading, &back), GESSO_OVER_LIMIT);
    CHECK(reading.fault.offset == 12 && strcmp(reading.fault.what, "size of the picture") == 0);
    free(copy);
    gesso_free(blob);
    gesso_bitmap_release(bitmap);
}

/* Blobs that version 1.0 of the format wrote, of every mode, kind of pixel and number of bands: they are read for ever.
 * They lie in Tests/Fixtures/blobs; GESSO_KEEP_BLOBS=1 writes those that are missing, and never another one over them. */
static void kept_blobs_are_read_for_ever(void)
{
    unsigned modes = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int format = GESSO_FORMAT_ARGB32; format <= GESSO_FORMAT_A8; format++) {
            bool has_bands = kind == 1;
            gesso_bitmap *bitmap = picture(kind, has_bands ? 301 : 40, has_bands ? 300 : 26, (gesso_format)format), *back = NULL;
            char path[100];
            snprintf(path, sizeof path, "Tests/Fixtures/blobs/1.0-%d-%d.gbl", kind, format);
            FILE *file = fopen(path, "rb");
            static uint8_t blob[1 << 16];
            if (!file && getenv("GESSO_KEEP_BLOBS")) {
                size_t length;
                uint8_t *bytes = encoded(bitmap, GESSO_BLOB_FAST, &length);
                FILE *kept = fopen(path, "wb");
                CHECK(kept && fwrite(bytes, 1, length, kept) == length && fclose(kept) == 0);
                gesso_free(bytes);
                file = fopen(path, "rb");
            }
            CHECK(file != NULL);
            if (!file) continue;
            size_t length = fread(blob, 1, sizeof blob, file);
            fclose(file);
            CHECK_STATUS(gesso_blob_decode(blob, length, NULL, &back), GESSO_OK);
            CHECK(rows_are_same(bitmap, 0, back, 0, gesso_bitmap_height(bitmap)));
            CHECK(gesso_bitmap_scale(back) == gesso_bitmap_scale(bitmap) && gesso_bitmap_format(back) == (gesso_format)format);
            if (kind == 9 && format == GESSO_FORMAT_ARGB32) CHECK(blob[88 + 16] == 5); /* opaque, of a palette */
            for (uint32_t band = 0; band < 2; band++) modes |= 1u << blob[64 + 24 * band * has_bands + 12];
            gesso_bitmap_release(back);
            gesso_bitmap_release(bitmap);
        }
    CHECK(modes == 31);
}

static void hashes_are_xxh3(void)
{
    enum { MOST = 5000 };
    static uint8_t bytes[MOST];
    for (int i = 0; i < MOST; i++) bytes[i] = (uint8_t)(i * 151 + i / 256);
    for (size_t length = 0; length < MOST; length += length < 1100 ? 1 : 97)
        for (int offset = 0; offset < 2 && offset + length <= MOST; offset++) {
            XXH128_hash_t expected = XXH3_128bits(bytes + offset, length);
            gesso_hash found = gesso_hash_bytes(bytes + offset, length);
            CHECK(found.low == expected.low64 && found.high == expected.high64);
            CHECK(gesso_hash64(bytes + offset, length) == XXH3_64bits(bytes + offset, length));
        }
    gesso_hash none = gesso_hash_bytes(NULL, 0);
    CHECK(none.low == XXH3_128bits("", 0).low64);
}

const check_test blob_tests[] = {
    TEST(every_picture_comes_back, "a blob gives every picture back, whatever mode is for it"),
    TEST(rows_are_decoded_by_themselves, "rows are decoded by themselves"),
    TEST(threads_write_the_same, "a picture that threads share is written and read as by one"),
    TEST(faults_say_what_and_where, "a fault says what does not fit, and at which byte"),
    TEST(kept_blobs_are_read_for_ever, "blobs that an older version wrote are read"),
    TEST(forged_blobs_are_read_safely, "a forged blob with the right checksums is read safely"),
    TEST(a_level_is_not_larger_for_trying_more, "the level small is not larger than fast"),
    TEST(hashes_are_xxh3, "hashes are XXH3, of any length, by whatever vectors"),
    {0}};

/* Blobs: every way to write a band down, and rows by themselves. */
#include "blob_pictures.h"
#include "hash.h"

static void every_picture_comes_back(void)
{
    unsigned modes = 0;
    const char *names[] = {"stored", "solid", "lz4", "masks", "filter", "operations"};
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
                        for (unsigned m = 0; m < 6; m++)
                            if (strcmp(band.mode, names[m]) == 0) modes |= 1u << m;
                        CHECK(band.first_row == rows);
                        rows += band.row_count;
                    }
                    CHECK(rows == sizes[s][1]);
                    gesso_bitmap_release(back);
                    gesso_bitmap_release(bitmap);
                    gesso_free(blob);
                }
    CHECK(modes == 63); /* each mode was used */
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
    for (int format = GESSO_FORMAT_XRGB32; format <= GESSO_FORMAT_A8; format++) {
        gesso_bitmap *other = picture(0, 301, 5, (gesso_format)format);
        CHECK_STATUS(gesso_blob_decode_rows(blob, length, NULL, 0, 5, other), GESSO_INVALID_ARGUMENT);
        gesso_bitmap_release(other);
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

static void a_level_is_not_larger_for_trying_more(void)
{
    int smaller = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        gesso_bitmap *bitmap = picture(kind, 300, 260, GESSO_FORMAT_ARGB32);
        size_t fast, small;
        gesso_free(encoded(bitmap, GESSO_BLOB_FAST, &fast));
        gesso_free(encoded(bitmap, GESSO_BLOB_SMALL, &small));
        CHECK(small <= fast);
        smaller += small < fast;
        gesso_bitmap_release(bitmap);
    }
    CHECK(smaller >= 3);
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

/* Every scale comes back as it was, whether it takes a byte or eight. */
static void scales_come_back(void)
{
    const double scales[] = {1, 2, 3, 255, 256, 0.5, 1.25, 1.1, 254.999, 1e-300, 1e300};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        gesso_bitmap *bitmap = NULL, *back = NULL;
        CHECK_STATUS(gesso_bitmap_create(9, 2, GESSO_FORMAT_A8, scales[i], &bitmap), GESSO_OK);
        size_t length;
        uint8_t *blob = encoded(bitmap, GESSO_BLOB_FAST, &length);
        CHECK_STATUS(gesso_blob_decode(blob, length, NULL, &back), GESSO_OK);
        CHECK(gesso_bitmap_scale(back) == scales[i]);
        gesso_bitmap_release(back);
        gesso_free(blob);
        gesso_bitmap_release(bitmap);
    }
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
    TEST(scales_come_back, "every scale comes back"),
    TEST(a_level_is_not_larger_for_trying_more, "the level small is not larger than fast"),
    TEST(hashes_are_xxh3, "hashes are XXH3, of any length, by whatever vectors"),
    {0}};

/* The ways to write a band down that have no masks: differences and operations, as BLOB.md has them. */
#include "check.h"

#include "band.h"

/* A band written by hand, as BLOB.md has it: three rows of four pixels. */
static void operations_are_as_they_are_described(void)
{
    const uint8_t good[] = {
        249, 0x30, 0x20, 0x10, 0x80,  /* a pixel */
        250, 0x40,                    /* black at a quarter, as no pixel is opaque yet */
        192 + 1,                      /* two more of it */
        248, 0x33, 0x22, 0x11,        /* another one of its alpha */
        249, 0xff, 0x00, 0x64, 0xff,  /* an opaque one */
        64 + (0 << 4 | 3 << 2 | 2),   /* less 2 of red, 1 more green */
        220 + 1,                      /* two as those above: of rows one and two */
        128 + (16 + 5), 0xc << 4 | 3, /* left, and 5 more green, 9 more red, no more blue */
        160 + (16 - 1), 8 << 4 | 8,   /* above, and 1 less of each */
        250, 0x80};                   /* half of the last opaque color */
    uint32_t pixels[12];
    const uint32_t expected[12] = {
        0x80102030, 0x40000000, 0x40000000, 0x40000000, /* first row */
        0x40112233, 0xff6400ff, 0xff6201ff, 0x40000000, /* the last one is as that above */
        0x40112233, 0x401a2733, 0xff6100fe, 0x80000000};
    CHECK(gesso_operations_decode(good, sizeof good, pixels, 4, 12));
    for (int i = 0; i < 11; i++) CHECK(pixels[i] == expected[i]);
    /* (0x61, 0x00, 0xfe) · 128 / 255, rounded */
    CHECK(pixels[11] == 0x8031007f);
    for (size_t cut = 0; cut < sizeof good; cut++) {
        uint8_t *exactly = malloc(cut + 1); /* so that the sanitizer sees what is read behind */
        memcpy(exactly + 1, good, cut);
        CHECK(!gesso_operations_decode(exactly + 1, cut, pixels, 4, 12));
        free(exactly);
    }
    uint8_t changed[sizeof good + 1];
    memcpy(changed, good, sizeof good);
    changed[sizeof good] = 192;
    CHECK(!gesso_operations_decode(changed, sizeof good + 1, pixels, 4, 12));
    for (unsigned unknown = 251; unknown < 256; unknown++) {
        changed[5] = (uint8_t)unknown;
        CHECK(!gesso_operations_decode(changed, sizeof good, pixels, 4, 12));
    }
    /* Runs: 28 and more, of a first row of nothing; and of one that is longer than what is left. */
    const uint8_t runs[] = {219, 2, 247, 1, 64 + 42, 0};
    uint32_t many[61];
    CHECK(gesso_operations_decode(runs, sizeof runs, many, 40, 61));
    for (int i = 0; i < 61; i++) CHECK(many[i] == 0);
    CHECK(!gesso_operations_decode(runs, 4, many, 40, 58) && gesso_operations_decode(runs, 4, many, 40, 59));
    CHECK(!gesso_operations_decode(runs, 3, many, 40, 59) && !gesso_operations_decode(runs, 1, many, 40, 30));
    /* What has been, by its place in the table: 0xff6400ff · 0x9e3779b1 is 0x7166374f modulo 2^32, and its upper bits 28. */
    const uint8_t known[] = {249, 0xff, 0x00, 0x64, 0xff, 250, 0, 28};
    CHECK(gesso_operations_decode(known, sizeof known, many, 40, 3));
    CHECK(many[0] == 0xff6400ff && many[1] == 0 && many[2] == 0xff6400ff);
    /* Where all have to be opaque, one that is not. */
    CHECK(gesso_band_decode(GESSO_BAND_OPERATIONS, known, 5, NULL, (uint8_t *)many, 1, 1, 4, true));
    CHECK(!gesso_band_decode(GESSO_BAND_OPERATIONS, known, 7, NULL, (uint8_t *)many, 2, 2, 4, true));
    CHECK(!gesso_band_decode(GESSO_BAND_OPERATIONS, known, 5, NULL, (uint8_t *)many, 1, 1, 1, false));
}

/* Words of few values, whose neighbours are often alike: what is written is read, and no byte more is written than there is
 * room for. */
static void operations_come_back(void)
{
    uint64_t seed = 5;
    enum { MOST = 900 };
    for (int round = 0; round < 400; round++) {
        uint32_t pixels[MOST], back[MOST];
        uint32_t width = 1 + (uint32_t)random_next(&seed) % 30, rows = 1 + (uint32_t)random_next(&seed) % 30;
        size_t count = (size_t)width * rows;
        uint32_t variety = 1 + (uint32_t)random_next(&seed) % 40, span = 1u << random_next(&seed) % 8;
        for (size_t i = 0; i < count; i++) {
            uint32_t chance = (uint32_t)random_next(&seed), step = (uint32_t)random_next(&seed) % span * 0x010101;
            uint32_t before = i ? pixels[i - 1] : 0, above = i >= width ? pixels[i - width] : 0;
            uint32_t alpha = (uint32_t)random_next(&seed) % 3 * 127 + 1;
            pixels[i] = chance % variety == 0 ? (uint32_t)random_next(&seed)
                : chance % 5 == 0             ? alpha << 24 | ((before + step) & 0xffffff)
                : chance % 3 == 0             ? above + step
                : chance % 7 == 0             ? pixels[random_next(&seed) % (i + 1)] * (i > 0)
                                              : before;
        }
        gesso_band band = {(const uint8_t *)pixels, width, count, 4};
        uint8_t *out = malloc(5 * count + 2);
        size_t length = gesso_operations_encode(&band, out, 5 * count + 2);
        CHECK(length > 0 && gesso_operations_decode(out, length, back, width, count));
        CHECK(memcmp(back, pixels, 4 * count) == 0);
        /* As much room as that may not do, as an operation is not tried where the longest would not fit. */
        for (size_t room = length < 12 ? 0 : length - 12; room <= length; room++) {
            uint8_t *exactly = malloc(room + 1);
            size_t again = gesso_operations_encode(&band, exactly + 1, room);
            CHECK(again == 0 || (again == length && memcmp(exactly + 1, out, length) == 0));
            CHECK(again == 0 || again <= room);
            free(exactly);
        }
        free(out);
    }
}

/* A row of eight pixels by differences, written by hand, as BLOB.md has it. */
static void filters_are_as_they_are_described(void)
{
    const uint8_t good[] = {
        1,                                                          /* opaque, to the left */
        7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,                /* green: 32, folded 64, in 7 bits; and zeros */
        5, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0,                            /* red less green: -16, folded 31 */
        6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};                     /* blue less green: 16, folded 32 */
    uint8_t *scratch = malloc(gesso_filter_scratch(8)), changed[sizeof good + 3];
    uint32_t pixels[8];
    CHECK(gesso_filter_decode(good, sizeof good, scratch, pixels, 8, 8, true));
    for (int i = 0; i < 8; i++) CHECK(pixels[i] == 0xff102030);
    memcpy(changed, good, sizeof good);
    changed[0] = 1 | 4;
    CHECK(!gesso_filter_decode(changed, sizeof good, scratch, pixels, 8, 8, true));
    changed[0] = 1, changed[sizeof good] = 0;
    CHECK(!gesso_filter_decode(changed, sizeof good + 1, scratch, pixels, 8, 8, true));
    for (size_t cut = 0; cut < sizeof good; cut++) {
        uint8_t *exactly = malloc(cut + 1); /* so that the sanitizer sees what is read behind */
        memcpy(exactly + 1, good, cut);
        CHECK(!gesso_filter_decode(exactly + 1, cut, scratch, pixels, 8, 8, true));
        free(exactly);
    }
    /* With alpha: -1, folded 1. */
    changed[0] = 0;
    memcpy(changed + sizeof good, (uint8_t[]){1, 1, 0}, 3);
    CHECK(gesso_filter_decode(changed, sizeof changed, scratch, pixels, 8, 8, false));
    for (int i = 0; i < 8; i++) CHECK(pixels[i] == 0xff102030);
    CHECK(!gesso_filter_decode(changed, sizeof changed, scratch, pixels, 8, 8, true));
    free(scratch);
}

const check_test band_way_tests[] = {
    TEST(operations_are_as_they_are_described, "operations are as they are described, and others are refused"),
    TEST(operations_come_back, "operations make the pixels that they were made of, in the room that there is"),
    TEST(filters_are_as_they_are_described, "filters are as they are described, and refused if they contradict themselves"),
    {0}};

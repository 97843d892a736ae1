/* What bands of blobs are coded by: packing, masks, planes, and that every instruction set does the same. */
#include "check.h"

#include "band.h"
#include "kernels.h"

#include <lz4.h>

/* Takes away each of a word's bytes by itself: what packing is of. */
static uint32_t subtract_bytes(uint32_t a, uint32_t b)
{
    uint32_t result = 0;
    for (int shift = 0; shift < 32; shift += 8) result |= (uint32_t)(uint8_t)((a >> shift) - (b >> shift)) << shift;
    return result;
}

static void every_set_packs_the_same(void)
{
    const char *names[] = {"sse2", "avx2", "neon"};
    const gesso_kernels *reference = gesso_kernels_named("scalar");
    uint64_t seed = 51;
    for (int round = 0; round < 400; round++) {
        enum { BLOCKS = 9 };
        uint8_t values[16 * BLOCKS], packed[2][16 * BLOCKS + 16], widths[2][BLOCKS], back[16 * BLOCKS];
        for (int i = 0; i < 16 * BLOCKS; i++) {
            int reach = 1 << (round + i / 16) % 9; /* each width there is */
            values[i] = (uint8_t)((int)(random_next(&seed) % (uint32_t)reach) - reach / 2);
        }
        size_t blocks = 1 + (size_t)round % BLOCKS, bytes[2];
        memset(widths, 0, sizeof widths);
        bytes[0] = reference->pack(widths[0], packed[0], values, blocks);
        reference->unpack(back, widths[0], packed[0], blocks, bytes[0]);
        CHECK(memcmp(back, values, 16 * blocks) == 0);
        for (int n = 0; n < 3; n++) {
            const gesso_kernels *k = gesso_kernels_named(names[n]);
            if (!k) continue;
            memset(widths[1], 0, sizeof widths[1]);
            bytes[1] = k->pack(widths[1], packed[1], values, blocks);
            CHECK(bytes[1] == bytes[0] && memcmp(widths[1], widths[0], BLOCKS) == 0 && memcmp(packed[1], packed[0], bytes[0]) == 0);
            uint8_t *exactly = malloc(bytes[0] + 1); /* so that the sanitizer sees what is read behind */
            memcpy(exactly + 1, packed[0], bytes[0]);
            k->unpack(back, widths[0], exactly + 1, blocks, bytes[0]);
            CHECK(memcmp(back, values, 16 * blocks) == 0);
            free(exactly);
        }
    }
}

typedef struct byte_change {
    size_t at;
    uint8_t value;
} byte_change;

/* A band written by hand, as BLOB.md has it, and changes after which it contradicts itself: nine opaque pixels. The second is
 * a literal, and the third is as it. */
static void check_masks(
    bool is_long, const uint8_t *good, size_t length, const byte_change *bad, size_t count, size_t masks)
{
    size_t size = gesso_masks_scratch(10, 9);
    uint8_t *scratch = malloc(size), *changed = malloc(length);
    uint32_t pixels[10];
    CHECK(gesso_masks_decode(is_long, good, length, scratch, pixels, 9, 9, true));
    for (int i = 0; i < 9; i++) CHECK(pixels[i] == (i == 1 || i == 2 ? 0xff405060 : 0xff102030));
    for (size_t i = 0; i < count; i++) {
        memcpy(changed, good, length);
        changed[bad[i].at] = bad[i].value;
        CHECK(!gesso_masks_decode(is_long, changed, length, scratch, pixels, 9, 9, true));
    }
    for (size_t cut = 0; cut < length; cut++) {
        uint8_t *exactly = malloc(cut + 1); /* so that the sanitizer sees what is read behind */
        memcpy(exactly + 1, good, cut);
        CHECK(!gesso_masks_decode(is_long, exactly + 1, cut, scratch, pixels, 9, 9, true));
        free(exactly);
    }
    uint8_t *longer = malloc(length + 1);
    memcpy(longer, good, length);
    longer[length] = good[length - 1];
    CHECK(!gesso_masks_decode(is_long, longer, length + 1, scratch, pixels, 9, 9, true));
    free(longer);
    const byte_change of_masks[] = {
        {0, 0x03} /* another group */, {0, 0}, {0, 0x04} /* one that is not there */, {1, 0}, {1, 0x03}, {1, 0x02},
        {2, 0}, {2, 0x02} /* as the left, and not different */, {2, 0x04}, {2, 0x0e}, {3, 0}, {3, 0x08}, {3, 0x06}};
    for (size_t i = 0; i < sizeof of_masks / sizeof *of_masks; i++) {
        memcpy(changed, good, length);
        changed[masks + of_masks[i].at] = of_masks[i].value;
        CHECK(!gesso_masks_decode(is_long, changed, length, scratch, pixels, 9, 9, true));
    }
    /* A bit for a pixel that is not there: the second group has one. */
    memcpy(changed, good, length);
    changed[masks] = 0x02, changed[masks + 2] = 0x03, changed[masks + 3] = 0x02;
    CHECK(!gesso_masks_decode(is_long, changed, length, scratch, pixels, 9, 9, true));
    CHECK(gesso_masks_decode(is_long, changed, length, scratch, pixels, 9, 10, true));
    free(changed);
    free(scratch);
}

static void masks_are_as_they_are_described(void)
{
    const uint8_t good[] = {
        1, 1, 1, 1, 4,          /* opaque; a marked group, one as the left, a literal; four bytes of masks */
        0x30, 0x20, 0x10,       /* the first pixel */
        0x01, 0x01, 0x06, 0x04, /* marked, has left, differs, left */
        0x50, 0xf0, 0x10};      /* green; red and blue less green */
    const byte_change bad[] = {
        {0, 0}, {0, 5} /* a palette */, {0, 3} /* bits */, {0, 9} /* black, and three bytes more */, {0, 17}, {0, 129},
        {1, 0}, {1, 2}, {1, 200}, {2, 0}, {2, 2}, {3, 0}, {3, 2}, {3, 12}, {4, 3}, {4, 5}, {4, 200}};
    check_masks(false, good, sizeof good, bad, sizeof bad / sizeof *bad, 8);
}

static void long_masks_are_as_they_are_described(void)
{
    const uint8_t good[] = {
        1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, /* the same numbers, and then flags: opaque */
        0x01, 0x01, 0x06, 0x04, 0x50, 0xf0, 0x10,
        0x30, 0x20, 0x10, 0xff}; /* the first pixel */
    const byte_change bad[] = {
        {0, 2}, {0, 0}, {0, 200}, {4, 0}, {4, 2}, {8, 0}, {8, 2}, {8, 12}, {12, 3}, {12, 5}, {12, 200}, {16, 0}, {16, 5},
        {16, 9}, {16, 19} /* what this head does not know */, {30, 0xfe}};
    check_masks(true, good, sizeof good, bad, sizeof bad / sizeof *bad, 20);
}

/* Planes of differences, of which some are by LZ4, and alpha then is as it is: nine pixels on nothing, by hand. */
static void planes_by_lz4_are_as_they_are_described(void)
{
    const uint8_t good[] = {
        2 | 8 | 16 | 128, 2, 0, 2, 4, /* differences, the first pixel 0, green and alpha by LZ4; two marked groups, two literals */
        0x03, 0x00, 0x01, 0x01,       /* which are the first pixel of each group */
        2, 0x04, 0x05,                /* green: two bytes as they are */
        0x02, 0, 0, 0x01, 0,          /* red less green: a block of two bits, of 2 and 0, which are 1 and 0 folded */
        0x00,                         /* blue less green: 0 */
        2, 0x80, 0x90};               /* alpha */
    uint8_t scratch[20000], changed[sizeof good];
    uint32_t pixels[9];
    CHECK(gesso_masks_scratch(9, 8) <= sizeof scratch);
    CHECK(gesso_masks_decode(false, good, sizeof good, scratch, pixels, 8, 9, false));
    CHECK(pixels[0] == 0x80050404 && pixels[8] == 0x900a0909); /* on the pixel above, but for its alpha */
    for (int i = 1; i < 8; i++) CHECK(pixels[i] == 0);
    for (size_t cut = 0; cut < sizeof good; cut++)
        CHECK(!gesso_masks_decode(false, good, cut, scratch, pixels, 8, 9, false));
    uint8_t longer[sizeof good + 1] = {0};
    memcpy(longer, good, sizeof good);
    CHECK(!gesso_masks_decode(false, longer, sizeof longer, scratch, pixels, 8, 9, false));
    const byte_change bad[] = {
        {9, 1}, {9, 3}, {9, 0x83}, {12, 0x09}, {13, 0x04} /* a number behind the last one */, {18, 3}, {18, 0xff}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(changed, good, sizeof good);
        changed[bad[i].at] = bad[i].value;
        CHECK(!gesso_masks_decode(false, changed, sizeof good, scratch, pixels, 8, 9, false));
    }
}

/* Counts that would lead out of the memory for them, and lists that say nothing: by hand. */
static void masks_have_as_much_as_they_say(void)
{
    enum { MANY = 100000 };
    size_t size = gesso_masks_scratch(9, 9);
    uint8_t *scratch = malloc(size), *zeros = calloc(2, MANY), *bytes = malloc(4 * MANY);
    uint32_t pixels[9];
    /* Nine opaque pixels, of which none is marked. */
    const uint8_t none[] = {1, 0, 0, 0, 1, 1, 2, 3, 0x00};
    CHECK(gesso_masks_decode(false, none, sizeof none, scratch, pixels, 9, 9, true) && pixels[8] == 0xff030201);
    /* So many literals, as differences of no bits. */
    memcpy(bytes, (uint8_t[]){1 | 2, 1, 1, 0xa0, 0x8d, 0x06, 4, 1, 2, 3, 0x01, 0x01, 0x06, 0x04}, 14);
    memcpy(bytes + 14, zeros, 3 * (MANY / 16 / 2 + 1));
    for (size_t length = 14 + 3 * MANY / 32; length < 14 + 3 * MANY / 32 + 4; length++)
        CHECK(!gesso_masks_decode(false, bytes, length, scratch, pixels, 9, 9, true));
    /* So many marked groups, in few bytes. */
    memcpy(bytes, (uint8_t[]){1, 0xa0, 0x8d, 0x06, 0, 0}, 6);
    size_t lists = 1 + MANY / 8 + MANY;
    int coded = LZ4_compress_default((const char *)zeros, (char *)bytes + 12, (int)lists, 2 * MANY);
    bytes[6] = (uint8_t)(coded | 128), bytes[7] = (uint8_t)(coded >> 7);
    CHECK(coded > 127 && coded < 16384);
    memcpy(bytes + 8, (uint8_t[]){1, 2, 3}, 3);
    memmove(bytes + 11, bytes + 12, (size_t)coded);
    CHECK(!gesso_masks_decode(false, bytes, 11 + (size_t)coded, scratch, pixels, 9, 9, true));
    /* A marked group without a pixel; one with pixels as the left of which none is; a palette of nothing. */
    const uint8_t no_pixel[] = {1, 1, 0, 0, 3, 1, 2, 3, 0x01, 0x00, 0x00};
    CHECK(!gesso_masks_decode(false, no_pixel, sizeof no_pixel, scratch, pixels, 9, 9, true));
    const uint8_t no_left[] = {1, 1, 1, 1, 4, 1, 2, 3, 0x01, 0x01, 0x02, 0x00, 9, 0, 0};
    CHECK(!gesso_masks_decode(false, no_left, sizeof no_left, scratch, pixels, 9, 9, true));
    const uint8_t no_literal[] = {1 | 4, 0, 0, 0, 1, 1, 2, 3, 0x00, 0, 0, 0, 0};
    CHECK(!gesso_masks_decode(false, no_literal, sizeof no_literal, scratch, pixels, 9, 9, true));
    /* What only the short head can say. */
    const uint8_t planes[] = {
        2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 2 | 16, 0, 0, 0, 0x03, 0x00, 0x01, 0x01, 2, 4, 5, 0, 0, 0, 0, 0, 0, 0};
    CHECK(!gesso_masks_decode(true, planes, sizeof planes, scratch, pixels, 8, 9, false));
    free(bytes);
    free(zeros);
    free(scratch);
}

/* What is written as it is, or by LZ4, may say anything of the fourth byte. */
static void opaque_bands_are_opaque(void)
{
    uint32_t pixels[64], back[64];
    uint8_t coded[400];
    size_t size = gesso_band_scratch(64, 8);
    uint8_t *scratch = malloc(size);
    for (int last = 254; last < 256; last++) {
        for (int i = 0; i < 64; i++) pixels[i] = 0xff112233;
        pixels[63] = (uint32_t)last << 24 | 0x112233;
        int length = LZ4_compress_default((const char *)pixels, (char *)coded, sizeof pixels, sizeof coded);
        bool is_opaque = last == 255;
        CHECK(gesso_band_decode(
                  GESSO_BAND_STORED, (uint8_t *)pixels, sizeof pixels, scratch, (uint8_t *)back, 8, 64, 4, true) == is_opaque);
        CHECK(gesso_band_decode(
                  GESSO_BAND_LZ4, coded, (size_t)length, scratch, (uint8_t *)back, 8, 64, 4, true) == is_opaque);
        CHECK(gesso_band_decode(GESSO_BAND_LZ4, coded, (size_t)length, scratch, (uint8_t *)back, 8, 64, 4, false));
        /* Neither is the other, nor shorter or longer than it is. */
        CHECK(!gesso_band_decode(GESSO_BAND_STORED, coded, (size_t)length, scratch, (uint8_t *)back, 8, 64, 4, false));
        CHECK(!gesso_band_decode(
            GESSO_BAND_LZ4, (uint8_t *)pixels, sizeof pixels, scratch, (uint8_t *)back, 8, 64, 4, false));
        CHECK(!gesso_band_decode(GESSO_BAND_LZ4, coded, (size_t)length - 1, scratch, (uint8_t *)back, 8, 64, 4, false));
        CHECK(!gesso_band_decode(GESSO_BAND_LZ4, coded, (size_t)length, scratch, (uint8_t *)back, 8, 63, 4, false));
        CHECK(!gesso_band_decode(
            GESSO_BAND_STORED, (uint8_t *)pixels, sizeof pixels, scratch, (uint8_t *)back, 8, 63, 4, false));
    }
    /* Rows of less than a group have no masks. */
    const uint8_t none[] = {1, 0, 0, 0, 1, 1, 2, 3, 0x00};
    CHECK(gesso_band_decode(GESSO_BAND_MASKS, none, sizeof none, scratch, (uint8_t *)back, 8, 16, 4, true));
    CHECK(!gesso_band_decode(GESSO_BAND_MASKS, none, sizeof none, scratch, (uint8_t *)back, 7, 14, 4, true));
    free(scratch);
}

/* The loops of bands, for rows and lengths that are no multiples of what they take at a time. */
static void every_set_finds_the_same_masks(void)
{
    enum { MOST = 1600, ROOM = MOST + 128 };
    const char *names[] = {"sse2", "avx2", "neon"};
    const gesso_kernels *sets[4] = {gesso_kernels_named("scalar")};
    for (int i = 0; i < 3; i++) sets[i + 1] = gesso_kernels_named(names[i]);
    uint64_t seed = 77;
    for (int round = 0; round < 300; round++) {
        uint32_t width = 8 + (uint32_t)random_next(&seed) % (round % 4 ? 150 : 700), row[MOST], colours = 1 + (uint32_t)random_next(&seed) % 5;
        size_t count = width + random_next(&seed) % (MOST - width);
        uint32_t *pixels = malloc(count * 4), rarity = 1 + (uint32_t)random_next(&seed) % 40;
        for (size_t i = 0; i < count; i++)
            pixels[i] = i && random_next(&seed) % rarity ? pixels[i - 1] : (uint32_t)random_next(&seed) % colours * 0x01020305;
        for (uint32_t x = 0; x < width + 8; x++) row[x] = pixels[0];
        gesso_masks reference = {0};
        static uint8_t masks[4][4][ROOM];
        static uint32_t words[4][ROOM], aboves[4][ROOM], sums[4][ROOM];
        static uint8_t planes[4][4 * ROOM];
        memset(masks, 0, sizeof masks), memset(planes, 0, sizeof planes);
        for (int n = 0; n < 4; n++) {
            if (!sets[n]) continue;
            gesso_masks m = {.marked = masks[n][0], .has_left = masks[n][1], .differs = masks[n][2], .left = masks[n][3]};
            sets[n]->find_masks(pixels, count, width, row, &m, words[n], aboves[n]);
            if (n == 0) reference = m;
            CHECK(m.marked_count == reference.marked_count && m.left_count == reference.left_count);
            CHECK(m.literal_count == reference.literal_count);
            size_t groups = (count + 7) / 8, literals = m.literal_count;
            CHECK(memcmp(m.marked, reference.marked, (groups + 7) / 8) == 0);
            CHECK(memcmp(m.has_left, reference.has_left, (m.marked_count + 7) / 8) == 0);
            CHECK(memcmp(m.differs, reference.differs, m.marked_count) == 0);
            CHECK(memcmp(m.left, reference.left, m.left_count) == 0);
            CHECK(memcmp(words[n], words[0], literals * 4) == 0 && memcmp(aboves[n], aboves[0], literals * 4) == 0);
            uint32_t of = round % 2 ? 0x00ffffff : 0xffffffff; /* alpha may be by itself */
            uint32_t deltas[ROOM] = {0}, *exactly = malloc(count * 4);
            for (size_t i = 0; i < literals; i++) deltas[i] = subtract_bytes(words[n][i], aboves[n][i] & of);
            CHECK(sets[n]->expand_masks(exactly, count, width, row, &m, words[n], 0, 0));
            CHECK(memcmp(exactly, pixels, count * 4) == 0);
            CHECK(sets[n]->expand_masks(exactly, count, width, row, &m, deltas, of, 0));
            CHECK(memcmp(exactly, pixels, count * 4) == 0);
            m.literal_count++;
            CHECK(!sets[n]->expand_masks(exactly, count, width, row, &m, words[n], 0, 0));
            free(exactly);
            sets[n]->split_planes(planes[n], count, pixels, words[0], literals, round % 2);
            for (size_t i = 0; i < literals; i++) {
                uint32_t less = subtract_bytes(pixels[i], words[0][i]), green = less >> 8;
                CHECK(planes[n][i] == (uint8_t)green && planes[n][count + i] == (uint8_t)((less >> 16) - green));
                CHECK(planes[n][2 * count + i] == (uint8_t)(less - green));
            }
            sets[n]->split_planes(planes[n], count, pixels, NULL, count, round % 2);
            CHECK(memcmp(planes[n], planes[0], 4 * count) == 0);
            uint32_t *joined = sums[n];
            sets[n]->join_planes(joined, planes[n], count, count, round % 2);
            for (size_t i = 0; i < count; i++) CHECK((joined[i] ^ pixels[i]) << (round % 2 ? 0 : 8) == 0);
            sets[n]->running_sums(sums[n], pixels, count, 0x80ff0133);
            CHECK(memcmp(sums[n], sums[0], count * 4) == 0);
        }
        for (size_t i = 0; i < count; i++) CHECK(subtract_bytes(sums[0][i], i ? sums[0][i - 1] : 0x80ff0133) == pixels[i]);
        free(pixels);
    }
}

static void palettes_have_at_most_256_colours(void)
{
    enum { COUNT = 900 };
    uint64_t seed = 5;
    for (int alpha = 0; alpha < 2; alpha++)
        for (uint32_t colours = 1; colours <= 257; colours += colours == 2 ? 253 : 1) {
            uint32_t palette[257], words[COUNT], back[COUNT];
            uint8_t indices[COUNT + 64], coded[2 * COUNT + 64], room[COUNT + 64];
            for (uint32_t i = 0; i < colours; i++)
                palette[i] = (alpha ? (uint32_t)random_next(&seed) & 255 : 255) << 24 | ((uint32_t)random_next(&seed) & 0xffff00) | (i & 255);
            for (uint32_t i = 0; i < COUNT; i++) words[i] = palette[i < colours ? i : (uint32_t)random_next(&seed) % colours];
            if (colours == 257) palette[256] ^= 0x800000, words[256] = palette[256]; /* certainly another one */
            size_t length = gesso_palette_encode(words, COUNT, alpha, GESSO_BLOB_FAST, indices, coded, sizeof coded);
            CHECK((length > 0) == (colours <= 256));
            if (length == 0) continue;
            uint8_t *exactly = malloc(length); /* so that the sanitizer sees what is read behind */
            memcpy(exactly, coded, length);
            CHECK(gesso_palette_decode(exactly, length, room, back, COUNT, alpha));
            for (int i = 0; i < COUNT; i++) CHECK((back[i] ^ words[i]) << (alpha ? 0 : 8) == 0);
            for (size_t cut = 0; cut < length; cut++) {
                uint8_t *shorter = malloc(cut + 1);
                memcpy(shorter, coded, cut);
                CHECK(!gesso_palette_decode(shorter, cut, room, back, COUNT, alpha));
                free(shorter);
            }
            free(exactly);
            CHECK(gesso_palette_encode(words, COUNT, alpha, GESSO_BLOB_FAST, indices, coded, 3) == 0 || colours < 3);
        }
    /* One literal, of a colour that is not there. */
    uint32_t words[1] = {0xff112233};
    uint8_t indices[80], coded[200], room[80];
    size_t length = gesso_palette_encode(words, 1, false, GESSO_BLOB_FAST, indices, coded, sizeof coded);
    CHECK(length > 0 && coded[0] == 0 && gesso_palette_decode(coded, length, room, words, 1, false));
    coded[length - 1] = 1;
    CHECK(!gesso_palette_decode(coded, length, room, words, 1, false));
}

const check_test band_tests[] = {
    TEST(palettes_have_at_most_256_colours, "palettes have up to 256 colours, and no literal is of another one"),
    TEST(masks_are_as_they_are_described, "masks are as they are described, and refused if they contradict themselves"),
    TEST(long_masks_are_as_they_are_described, "and so are those with the long head of version 1"),
    TEST(planes_by_lz4_are_as_they_are_described, "planes of differences may be LZ4's, and alpha is by itself then"),
    TEST(masks_have_as_much_as_they_say, "counts that lead out of memory are refused, and lists that say nothing"),
    TEST(opaque_bands_are_opaque, "an opaque band is refused if a pixel is not, and masks of narrow rows"),
    TEST(every_set_finds_the_same_masks, "every instruction set finds the same masks, planes and sums, and takes them back"),
    TEST(every_set_packs_the_same, "every instruction set packs the same, and reads no byte more"),
    {0}};

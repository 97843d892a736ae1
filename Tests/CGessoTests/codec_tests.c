/* PNG and blobs: what goes in comes out, and nothing else does. */
#include "check.h"

static gesso_bitmap *bitmap_like(const gesso_bitmap *like)
{
    return random_bitmap(gesso_bitmap_width(like), gesso_bitmap_height(like), gesso_bitmap_format(like), 12);
}

/* Sample bitmaps: noise, solid, a drawing, one pixel, several bands, padding. */
static gesso_bitmap *sample(int index)
{
    gesso_format formats[] = {GESSO_FORMAT_ARGB32, GESSO_FORMAT_XRGB32, GESSO_FORMAT_A8};
    if (index < 3) return random_bitmap(33, 7, formats[index], 20 + (uint64_t)index);
    if (index < 6) return random_bitmap(1, 1, formats[index - 3], 30);
    if (index == 6) {
        gesso_context *context = context_of(64, 64, GESSO_FORMAT_XRGB32, 2);
        return finished(context); /* black */
    }
    gesso_context *context = context_of(300, index == 7 ? 500 : 40, GESSO_FORMAT_ARGB32, 2);
    gesso_context_set_shadow(context, 0, 1, 4, 0, 0, 0, 0.5);
    gesso_context_set_fill_color(context, 0.2, 0.4, 0.9, 1);
    gesso_context_add_rounded_rect(context, 4, 4, 100, 200, 10, 10);
    gesso_context_fill_path(context, GESSO_FILL_RULE_WINDING);
    return finished(context);
}
enum { SAMPLES = 9 };

static void png_round_trips(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        gesso_bitmap *bitmap = sample(i), *decoded = NULL, *again = NULL;
        uint8_t *bytes = NULL, *second = NULL;
        size_t length = 0, second_length = 0;
        CHECK_STATUS(gesso_png_encode(bitmap, 6, &bytes, &length), GESSO_OK);
        CHECK_STATUS(gesso_png_decode(bytes, length, NULL, &decoded), GESSO_OK);
        if (gesso_bitmap_is_opaque(bitmap)) CHECK(same_pixels(bitmap, decoded));
        if (gesso_bitmap_format(bitmap) == GESSO_FORMAT_A8)
            for (uint32_t x = 0; x < gesso_bitmap_width(bitmap); x++)
                CHECK(pixel(decoded, (int)x, 0) == (uint32_t)((const uint8_t *)gesso_bitmap_pixels(bitmap))[x] << 24);
        if (gesso_bitmap_format(bitmap) == GESSO_FORMAT_ARGB32) {
            /* Premultiplied colour survives: straight values are exact enough to come back the same. */
            CHECK(same_pixels(bitmap, decoded));
            CHECK_STATUS(gesso_png_encode(decoded, 1, &second, &second_length), GESSO_OK);
            CHECK_STATUS(gesso_png_decode(second, second_length, NULL, &again), GESSO_OK);
            CHECK(same_pixels(decoded, again));
        }
        gesso_free(bytes);
        gesso_free(second);
        gesso_bitmap_release(again);
        gesso_bitmap_release(decoded);
        gesso_bitmap_release(bitmap);
    }
}

static void damaged_png_is_an_error(void)
{
    gesso_bitmap *bitmap = sample(0), *decoded = NULL;
    uint8_t *bytes = NULL;
    size_t length = 0;
    CHECK_STATUS(gesso_png_encode(bitmap, 6, &bytes, &length), GESSO_OK);
    for (size_t cut = 0; cut < length; cut++) {
        /* A copy of its own, so that a read past the end is seen. */
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        gesso_status status = gesso_png_decode(copy, cut, NULL, &decoded);
        /* The very last bytes are the checksum of a chunk without content, which nobody misses. */
        if (cut < length - 4) CHECK(status != GESSO_OK);
        if (status == GESSO_OK) {
            CHECK(same_pixels(bitmap, decoded));
            gesso_bitmap_release(decoded);
        }
        free(copy);
    }
    for (size_t at = 0; at < length - 4; at++) {
        bytes[at] ^= 0x5a;
        gesso_status status = gesso_png_decode(bytes, length, NULL, &decoded);
        /* Ancillary chunks there are none; every byte is under a CRC. */
        CHECK(status != GESSO_OK);
        bytes[at] ^= 0x5a;
    }
    gesso_free(bytes);
    gesso_bitmap_release(bitmap);
}

static void limits_come_first(void)
{
    gesso_bitmap *bitmap = sample(7), *decoded = NULL;
    uint8_t *png = NULL, *blob = malloc(gesso_blob_bound(bitmap));
    size_t png_length = 0, blob_length = 0;
    CHECK_STATUS(gesso_png_encode(bitmap, 6, &png, &png_length), GESSO_OK);
    CHECK_STATUS(gesso_blob_encode(bitmap, NULL, blob, gesso_blob_bound(bitmap), &blob_length), GESSO_OK);
    gesso_limits limits[] = {
        {.struct_size = sizeof(gesso_limits), .maximum_width = 299},
        {.struct_size = sizeof(gesso_limits), .maximum_height = 499},
        {.struct_size = sizeof(gesso_limits), .maximum_bytes = 300 * 500 * 4 - 1}};
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(gesso_png_decode(png, png_length, &limits[i], &decoded), GESSO_OVER_LIMIT);
        CHECK_STATUS(gesso_blob_decode(blob, blob_length, &(gesso_blob_reading){.struct_size = sizeof(gesso_blob_reading), .limits = &limits[i]}, &decoded), GESSO_OVER_LIMIT);
    }
    gesso_limits fits = {
        .struct_size = sizeof fits, .maximum_width = 300, .maximum_height = 500, .maximum_bytes = 300 * 500 * 4};
    CHECK_STATUS(gesso_blob_decode(blob, blob_length, &(gesso_blob_reading){.struct_size = sizeof(gesso_blob_reading), .limits = &fits}, &decoded), GESSO_OK);
    gesso_bitmap_release(decoded);
    gesso_free(png);
    free(blob);
    gesso_bitmap_release(bitmap);
}

static void blobs_round_trip(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        gesso_bitmap *bitmap = sample(i), *decoded = NULL;
        size_t bound = gesso_blob_bound(bitmap), length = 0;
        uint8_t *blob = malloc(bound);
        CHECK_STATUS(gesso_blob_encode(bitmap, NULL, blob, bound - 1, &length), GESSO_BUFFER_TOO_SMALL);
        CHECK_STATUS(gesso_blob_encode(bitmap, NULL, blob, bound, &length), GESSO_OK);
        CHECK(length <= bound);
        gesso_blob_info info = {.struct_size = sizeof info};
        CHECK_STATUS(gesso_blob_probe(blob, length, &info), GESSO_OK);
        CHECK(info.width == gesso_bitmap_width(bitmap) && info.height == gesso_bitmap_height(bitmap));
        CHECK(info.is_opaque == gesso_bitmap_is_opaque(bitmap) && info.scale == gesso_bitmap_scale(bitmap));
        CHECK(info.total_bytes == length);
        CHECK_STATUS(gesso_blob_decode(blob, length, NULL, &decoded), GESSO_OK);
        CHECK(same_pixels(bitmap, decoded) && gesso_bitmap_scale(decoded) == gesso_bitmap_scale(bitmap));
        gesso_bitmap_release(decoded);
        gesso_bitmap_release(bitmap);
        free(blob);
    }
}

static void damaged_blobs_are_errors(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        gesso_bitmap *bitmap = sample(i), *decoded = NULL;
        size_t length = 0;
        uint8_t *blob = malloc(gesso_blob_bound(bitmap));
        CHECK_STATUS(gesso_blob_encode(bitmap, NULL, blob, gesso_blob_bound(bitmap), &length), GESSO_OK);
        size_t step = length > 4000 ? 97 : 1;
        for (size_t cut = 0; cut < length; cut += cut < 400 ? 1 : step) {
            uint8_t *copy = malloc(cut + 1);
            memcpy(copy, blob, cut);
            CHECK(gesso_blob_decode(copy, cut, NULL, &decoded) != GESSO_OK);
            free(copy);
        }
        for (size_t at = 0; at < length; at += at < 400 ? 1 : step)
            for (int bit = 0; bit < 8; bit++) {
                blob[at] ^= 1 << bit;
                gesso_status status = gesso_blob_decode(blob, length, NULL, &decoded);
                /* The minor version is anyone's; but it, too, is under the header's checksum. */
                CHECK(status != GESSO_OK);
                blob[at] ^= 1 << bit;
            }
        uint8_t *longer = malloc(length + 1);
        memcpy(longer, blob, length);
        longer[length] = 0;
        CHECK(gesso_blob_decode(longer, length + 1, NULL, &decoded) != GESSO_OK);
        free(longer);
        free(blob);
        gesso_bitmap_release(bitmap);
    }
}

static void foreign_bytes_are_not_recognized(void)
{
    const char *texts[] = {"", "G", "GIF89a and more and more and more and more and more and more and more", "\x89", "\x89GB?"};
    size_t lengths[] = {0, 1, 70, 0, 4};
    gesso_bitmap *decoded = NULL;
    for (int i = 0; i < 5; i++) {
        const uint8_t *bytes = (const uint8_t *)texts[i];
        CHECK(gesso_png_decode(bytes, lengths[i], NULL, &decoded) == GESSO_NOT_RECOGNIZED);
        CHECK(gesso_blob_decode(bytes, lengths[i], NULL, &decoded) == GESSO_NOT_RECOGNIZED);
    }
    CHECK(decoded == NULL);
}

static void conversions_are_inverse(void)
{
    for (uint32_t alpha = 0; alpha < 256; alpha++)
        for (uint32_t value = 0; value <= alpha; value++) {
            uint32_t word = alpha << 24 | value << 16 | value << 8 | value, back;
            uint8_t bytes[4];
            gesso_unpremultiply_rgba(&word, bytes, 1);
            gesso_premultiply_rgba(bytes, &back, 1);
            CHECK(back == word);
        }
}

static void padding_does_not_leak(void)
{
    /* What lies between the rows of a wrapped bitmap never gets into a file. */
    uint8_t memory[2][64];
    uint8_t *blobs[2], *pngs[2];
    size_t lengths[2], png_lengths[2];
    for (int i = 0; i < 2; i++) {
        memset(memory[i], i ? 0xee : 0x11, 64);
        for (int y = 0; y < 4; y++) memset(memory[i] + 16 * y, y, 5);
        gesso_bitmap *bitmap = NULL;
        CHECK_STATUS(gesso_bitmap_wrap(memory[i], 5, 4, 16, GESSO_FORMAT_A8, 1, NULL, NULL, &bitmap), GESSO_OK);
        blobs[i] = malloc(gesso_blob_bound(bitmap));
        CHECK_STATUS(gesso_blob_encode(bitmap, NULL, blobs[i], gesso_blob_bound(bitmap), &lengths[i]), GESSO_OK);
        CHECK_STATUS(gesso_png_encode(bitmap, 6, &pngs[i], &png_lengths[i]), GESSO_OK);
        gesso_bitmap_release(bitmap);
    }
    CHECK(lengths[0] == lengths[1] && memcmp(blobs[0], blobs[1], lengths[0]) == 0);
    CHECK(png_lengths[0] == png_lengths[1] && memcmp(pngs[0], pngs[1], png_lengths[0]) == 0);
    for (int i = 0; i < 2; i++) free(blobs[i]), gesso_free(pngs[i]);
}

static void samples_differ(void)
{
    gesso_bitmap *one = sample(0), *other = bitmap_like(one);
    CHECK(!same_pixels(one, other)); /* so that the comparisons above can fail */
    gesso_bitmap_release(one);
    gesso_bitmap_release(other);
}

const check_test codec_tests[] = {
    TEST(samples_differ, "bitmaps with other pixels are told apart"),
    TEST(png_round_trips, "a PNG comes back as the bitmap that it was made of"),
    TEST(damaged_png_is_an_error, "a cut or changed PNG is an error"),
    TEST(limits_come_first, "what is over a limit is refused, and what is at it is not"),
    TEST(blobs_round_trip, "a blob comes back as the bitmap that it was made of"),
    TEST(damaged_blobs_are_errors, "a cut, changed or longer blob is an error, at every place"),
    TEST(foreign_bytes_are_not_recognized, "bytes of another kind are not recognized"),
    TEST(conversions_are_inverse, "premultiplying undoes unpremultiplying, for every value"),
    TEST(padding_does_not_leak, "what lies between rows stays out of files"),
    {0}};

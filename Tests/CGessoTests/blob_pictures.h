/* What the tests of blobs share: pictures that the different modes are for. */
#ifndef BLOB_PICTURES_H
#define BLOB_PICTURES_H

#include "check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { KINDS = 12, KINDS_OF_VERSION_1 = 10 };

/* Pictures that different modes are for. */
static inline gesso_bitmap *picture(int kind, uint32_t width, uint32_t height, gesso_format format)
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
            case 10: /* a slope, with noise in one colour: what changes from row to row repeats */
                if (x % 8 > 4) break;
                g = 2 * x + 3 * y, b = g + 40, r = (uint32_t)random_next(&seed) % 37, a = x % 3 ? 200 : 255;
                break;
            case 11: { /* a disc with a soft edge, and a slope on it */
                int dx = 2 * (int)x - (int)width, dy = 2 * (int)y - (int)height, edge = (int)(width * width - width) * 3 / 4;
                int inside = edge - dx * dx - dy * dy, soft = 2 * (int)width;
                a = inside >= soft ? 255 : inside <= 0 ? 0 : (uint32_t)(inside * 255 / soft);
                r = (a * (uint32_t)(90 + y / 3) + 127) / 255, g = (a * 120 + 127) / 255, b = (a * (uint32_t)(20 + x / 5) + 127) / 255;
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

static inline uint8_t *encoded(const gesso_bitmap *bitmap, gesso_blob_level level, size_t *length)
{
    uint8_t *bytes = NULL;
    gesso_blob_options options = {.struct_size = sizeof options, .level = level};
    CHECK_STATUS(gesso_blob_encode_new(bitmap, &options, &bytes, length), GESSO_OK);
    CHECK(*length <= gesso_blob_bound(bitmap));
    return bytes;
}

static inline bool rows_are_same(const gesso_bitmap *a, uint32_t first_a, const gesso_bitmap *b, uint32_t first_b, uint32_t count)
{
    size_t row = gesso_bitmap_width(a) * gesso_format_bytes_per_pixel(gesso_bitmap_format(a));
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(
                (const uint8_t *)gesso_bitmap_pixels(a) + (ptrdiff_t)(first_a + i) * gesso_bitmap_stride(a),
                (const uint8_t *)gesso_bitmap_pixels(b) + (ptrdiff_t)(first_b + i) * gesso_bitmap_stride(b), row) != 0)
            return false;
    return true;
}

#endif

/* EXIF's orientation: reading it, and turning pixels by it. */
#include "files_internal.h"

#include <libexif/exif-data.h>
#include <spng.h>
#include <stdlib.h>
#include <string.h>

int gesso_exif_orientation(const uint8_t *bytes, size_t length)
{
    static const uint8_t prefix[6] = {'E', 'x', 'i', 'f', 0, 0};
    int orientation = 1;
    if (!bytes || length < 8 || length > 1 << 20) return orientation;
    bool prefixed = memcmp(bytes, prefix, 6) == 0;
    size_t size = prefixed ? length : length + 6;
    uint8_t *copy = malloc(size);
    ExifData *data = copy ? exif_data_new() : NULL;
    if (data) {
        memcpy(copy, prefix, 6);
        memcpy(copy + (prefixed ? 0 : 6), bytes, length);
        exif_data_load_data(data, copy, (unsigned)size);
        ExifEntry *entry = exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
        if (entry && entry->format == EXIF_FORMAT_SHORT && entry->components == 1 && entry->size >= 2) {
            int value = exif_get_short(entry->data, exif_data_get_byte_order(data));
            if (value >= 1 && value <= 8) orientation = value;
        }
        exif_data_unref(data);
    }
    free(copy);
    return orientation;
}

int gesso_png_orientation(const uint8_t *bytes, size_t length)
{
    int orientation = 1;
    spng_ctx *png = spng_ctx_new(0);
    struct spng_exif exif;
    if (png && spng_set_png_buffer(png, bytes, length) == SPNG_OK && spng_set_chunk_limits(png, 16 << 20, 64 << 20) == 0
        && spng_get_exif(png, &exif) == SPNG_OK)
        orientation = gesso_exif_orientation((const uint8_t *)exif.data, exif.length);
    spng_ctx_free(png);
    return orientation;
}

gesso_status gesso_orient(gesso_bitmap *bitmap, int orientation, gesso_bitmap **upright)
{
    if (orientation <= 1 || orientation > 8) {
        *upright = bitmap;
        return GESSO_OK;
    }
    uint32_t width = gesso_bitmap_width(bitmap), height = gesso_bitmap_height(bitmap);
    bool turned = orientation >= 5;
    gesso_bitmap *result;
    gesso_status status = gesso_bitmap_create(
        turned ? height : width, turned ? width : height, gesso_bitmap_format(bitmap), gesso_bitmap_scale(bitmap),
        &result);
    if (!status) {
        /* Where the stored picture's first pixel goes, and the steps for one pixel along its row and column. */
        ptrdiff_t out_row = gesso_bitmap_stride(result) / 4, w = width, h = height;
        ptrdiff_t start = 0, along = 1, down = out_row;
        switch (orientation) {
        case 2: start = w - 1, along = -1, down = out_row; break;
        case 3: start = (h - 1) * out_row + w - 1, along = -1, down = -out_row; break;
        case 4: start = (h - 1) * out_row, along = 1, down = -out_row; break;
        case 5: start = 0, along = out_row, down = 1; break;
        case 6: start = h - 1, along = out_row, down = -1; break;
        case 7: start = (w - 1) * out_row + h - 1, along = -out_row, down = -1; break;
        case 8: start = (w - 1) * out_row, along = -out_row, down = 1; break;
        }
        uint32_t *out = gesso_bitmap_mutable_pixels(result);
        for (ptrdiff_t y = 0; y < h; y++) {
            const uint32_t *in =
                (const uint32_t *)((const uint8_t *)gesso_bitmap_pixels(bitmap) + y * gesso_bitmap_stride(bitmap));
            ptrdiff_t at = start + y * down;
            for (ptrdiff_t x = 0; x < w; x++, at += along) out[at] = in[x];
        }
        *upright = result;
    }
    gesso_bitmap_release(bitmap);
    return status;
}

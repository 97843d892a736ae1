/* The way from a file's bytes to an upright picture of the size that was asked for. */
#include "files_internal.h"

#include <math.h>
#include <string.h>

gesso_image_type gesso_image_type_of(const uint8_t *bytes, size_t length)
{
    if (!bytes) return GESSO_IMAGE_UNKNOWN;
    if (length >= 4 && memcmp(bytes, "\x89PNG", 4) == 0) return GESSO_IMAGE_PNG;
    if (length >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0) return GESSO_IMAGE_JPEG;
    if (length >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0) return GESSO_IMAGE_WEBP;
    return GESSO_IMAGE_UNKNOWN;
}

void gesso_target_size(
    const gesso_decoding *decoding, uint32_t width, uint32_t height, uint32_t *target_width, uint32_t *target_height)
{
    bool turned = decoding->orientation >= 5;
    double most_wide = turned ? decoding->target_height : decoding->target_width;
    double most_high = turned ? decoding->target_width : decoding->target_height;
    double factor = 1;
    if (most_wide > 0) factor = fmin(factor, most_wide / width);
    if (most_high > 0) factor = fmin(factor, most_high / height);
    *target_width = (uint32_t)fmax(1, round(width * factor));
    *target_height = (uint32_t)fmax(1, round(height * factor));
}

uint64_t gesso_decoding_limit(const gesso_decoding *decoding)
{
    const gesso_limits *limits = decoding->limits;
    uint64_t most = limits && limits->maximum_bytes ? limits->maximum_bytes : (uint64_t)1 << 30;
    return most < INT64_MAX ? most : INT64_MAX;
}

gesso_status gesso_decoding_check(const gesso_decoding *decoding, uint64_t width, uint64_t height)
{
    uint64_t most_wide = 32766, most_high = 32766, most_bytes = gesso_decoding_limit(decoding);
    if (decoding->limits && decoding->limits->maximum_width) most_wide = decoding->limits->maximum_width;
    if (decoding->limits && decoding->limits->maximum_height) most_high = decoding->limits->maximum_height;
    if (width == 0 || height == 0) return GESSO_CORRUPT;
    if (width > most_wide || height > most_high) return GESSO_OVER_LIMIT;
    return width * 4 > most_bytes / height ? GESSO_OVER_LIMIT : GESSO_OK;
}

/* Makes a picture smaller by the best filter there is. Takes `bitmap` over, also when it fails. */
static gesso_status shrink(gesso_bitmap *bitmap, uint32_t width, uint32_t height, gesso_bitmap **result)
{
    if (gesso_bitmap_width(bitmap) == width && gesso_bitmap_height(bitmap) == height) {
        *result = bitmap;
        return GESSO_OK;
    }
    gesso_bitmap *small = NULL;
    gesso_context *context;
    gesso_status status = gesso_bitmap_create(width, height, gesso_bitmap_format(bitmap), 1, &small);
    if (!status) status = gesso_context_create_for_bitmap(&context, small);
    if (!status) {
        gesso_context_set_interpolation(context, GESSO_INTERPOLATION_HIGH);
        gesso_context_set_blend_mode(context, GESSO_BLEND_COPY);
        gesso_context_draw_bitmap(context, bitmap, 0, 0, width, height);
        status = gesso_context_finish(context, NULL);
    }
    gesso_bitmap_release(bitmap);
    if (status)
        gesso_bitmap_release(small);
    else
        *result = small;
    return status;
}

static gesso_status decode_png(gesso_decoding *decoding, gesso_bitmap **bitmap)
{
    if (!decoding->ignores_orientation)
        decoding->orientation = gesso_png_orientation(decoding->bytes, decoding->length);
    return gesso_png_decode(decoding->bytes, decoding->length, decoding->limits, bitmap);
}

gesso_status gesso_image_decode(
    const uint8_t *bytes, size_t length, const gesso_image_options *options, gesso_bitmap **result)
{
    if (!bytes || !result || (options && options->struct_size < sizeof *options)) return GESSO_INVALID_ARGUMENT;
    if (options && options->limits.struct_size && options->limits.struct_size < sizeof options->limits)
        return GESSO_INVALID_ARGUMENT;
    gesso_decoding decoding = {.bytes = bytes, .length = length, .orientation = 1};
    if (options) {
        if (options->limits.struct_size) decoding.limits = &options->limits;
        decoding.target_width = options->target_width;
        decoding.target_height = options->target_height;
        decoding.ignores_orientation = options->ignores_orientation;
    }
    gesso_bitmap *bitmap;
    gesso_status status;
    switch (gesso_image_type_of(bytes, length)) {
    case GESSO_IMAGE_PNG: status = decode_png(&decoding, &bitmap); break;
    case GESSO_IMAGE_JPEG: status = gesso_jpeg_decode(&decoding, &bitmap); break;
    case GESSO_IMAGE_WEBP: status = gesso_webp_decode(&decoding, &bitmap); break;
    default: return GESSO_NOT_RECOGNIZED;
    }
    if (status) return status;
    uint32_t width, height;
    gesso_target_size(&decoding, gesso_bitmap_width(bitmap), gesso_bitmap_height(bitmap), &width, &height);
    status = shrink(bitmap, width, height, &bitmap);
    return status ? status : gesso_orient(bitmap, decoding.orientation, result);
}

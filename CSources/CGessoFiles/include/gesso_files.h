/* gesso_files.h: pictures from files. PNG (libspng), JPEG (libjpeg-turbo) and WebP (libwebp), in and out of memory.
 *
 * Thread-safety: every function may be called on any thread. Conventions: see gesso.h.
 */
#ifndef GESSO_FILES_H
#define GESSO_FILES_H

#include "gesso.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gesso_image_type {
    GESSO_IMAGE_UNKNOWN = 0, GESSO_IMAGE_PNG = 1, GESSO_IMAGE_JPEG = 2, GESSO_IMAGE_WEBP = 3,
    GESSO_IMAGE_TYPE_FORCE_INT32 = 0x7fffffff
} gesso_image_type;

/* By the first bytes; a name's extension says nothing. */
GESSO_API gesso_image_type gesso_image_type_of(const uint8_t *bytes, size_t length);

typedef struct gesso_image_options {
    size_t struct_size;
    gesso_limits limits;     /* on what is decoded; `limits.struct_size` as well, or 0 for the defaults */
    uint32_t target_width;   /* pixels, as it is shown: the picture is made smaller, in its own proportions, until it
                              * fits; never larger. 0: no bound */
    uint32_t target_height;
    bool ignores_orientation; /* else the picture is turned upright as its EXIF orientation says */
} gesso_image_options;

/* Decodes a PNG, JPEG or WebP into a mutable bitmap of scale 1, opaque (XRGB32) if the file is. A JPEG is decoded
 * near the target size, without its full size in memory. Of an animation, the first frame.
 * Errors: NOT_RECOGNIZED, TRUNCATED, CORRUPT, OVER_LIMIT, UNSUPPORTED, OUT_OF_MEMORY.
 * Ownership: the caller releases `*bitmap`. Since 0.1. */
GESSO_API gesso_status gesso_image_decode(
    const uint8_t *bytes, size_t length, const gesso_image_options *options, gesso_bitmap **bitmap);

/* Encodes as JPEG (4:2:0, from quality 0.9 on 4:4:4), transparent pixels on white.
 * - quality: 0…1.
 * Errors: INVALID_ARGUMENT, TOO_LARGE over 65,500 pixels, OUT_OF_MEMORY. Ownership: freed with gesso_free. */
GESSO_API gesso_status gesso_jpeg_encode(
    const gesso_bitmap *bitmap, double quality, uint8_t **bytes, size_t *length);

/* Encodes as WebP.
 * - quality: 0…1, or negative for lossless.
 * Errors: INVALID_ARGUMENT, TOO_LARGE over 16,383 pixels, OUT_OF_MEMORY. Ownership: freed with gesso_free. */
GESSO_API gesso_status gesso_webp_encode(
    const gesso_bitmap *bitmap, double quality, uint8_t **bytes, size_t *length);

#ifdef __cplusplus
}
#endif

#endif

#ifndef GESSO_FILES_INTERNAL_H
#define GESSO_FILES_INTERNAL_H

#include "include/gesso_files.h"

/* What a decoder of one format is asked, and tells. Sizes are as stored in the file, before it is turned upright. */
typedef struct gesso_decoding {
    const uint8_t *bytes;
    size_t length;
    const gesso_limits *limits;
    uint32_t target_width, target_height; /* of the upright picture; 0: no bound */
    bool ignores_orientation;
    int orientation; /* out: EXIF's 1…8; 1 is upright */
} gesso_decoding;

gesso_status gesso_jpeg_decode(gesso_decoding *decoding, gesso_bitmap **bitmap);
gesso_status gesso_webp_decode(gesso_decoding *decoding, gesso_bitmap **bitmap);

/* The size that a stored picture is wanted in: fitted into the target, which is turned if `orientation` says so. */
void gesso_target_size(
    const gesso_decoding *decoding, uint32_t width, uint32_t height, uint32_t *target_width, uint32_t *target_height);

/* EXIF's orientation, from the bytes of an EXIF block with or without its "Exif" prefix; 1 if there is none. */
int gesso_exif_orientation(const uint8_t *bytes, size_t length);
/* The same of a whole PNG file, which keeps it in an eXIf chunk. */
int gesso_png_orientation(const uint8_t *bytes, size_t length);

/* Turns a picture upright. Takes `bitmap` over, also when it fails. */
gesso_status gesso_orient(gesso_bitmap *bitmap, int orientation, gesso_bitmap **upright);

/* The caller's limits, checked as gesso.h says. */
gesso_status gesso_decoding_check(const gesso_decoding *decoding, uint64_t width, uint64_t height);
/* Bytes that decoding may take. */
uint64_t gesso_decoding_limit(const gesso_decoding *decoding);

#endif

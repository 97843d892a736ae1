#include "files_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>

static gesso_status status_of_webp(VP8StatusCode code)
{
    switch (code) {
    case VP8_STATUS_OK: return GESSO_OK;
    case VP8_STATUS_OUT_OF_MEMORY: return GESSO_OUT_OF_MEMORY;
    case VP8_STATUS_UNSUPPORTED_FEATURE: return GESSO_UNSUPPORTED;
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: return GESSO_TRUNCATED;
    default: return GESSO_CORRUPT;
    }
}

/* The first frame of an animation, and the EXIF block, both of which only the demuxer knows. */
static void read_container(gesso_decoding *decoding, WebPIterator *frame, WebPDemuxer *demuxer, WebPData *picture)
{
    if (!demuxer) return;
    WebPChunkIterator chunk;
    if (!decoding->ignores_orientation && WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk)) {
        decoding->orientation = gesso_exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    if (WebPDemuxGetFrame(demuxer, 1, frame) && frame->complete) *picture = frame->fragment;
}

gesso_status gesso_webp_decode(gesso_decoding *decoding, gesso_bitmap **result)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return GESSO_UNSUPPORTED;
    WebPData picture = {decoding->bytes, decoding->length};
    WebPIterator frame = {0};
    WebPDemuxer *demuxer = WebPDemux(&picture);
    read_container(decoding, &frame, demuxer, &picture);
    gesso_bitmap *bitmap = NULL;
    gesso_status status = status_of_webp(WebPGetFeatures(picture.bytes, picture.size, &config.input));
    uint32_t width = 0, height = 0;
    if (!status) {
        uint32_t stored_width = (uint32_t)config.input.width, stored_height = (uint32_t)config.input.height;
        gesso_target_size(decoding, stored_width, stored_height, &width, &height);
        /* The lossless kind is decoded in full before it is made smaller. */
        if (config.input.format == 2) status = gesso_decoding_check(decoding, stored_width, stored_height);
        config.options.use_scaling = width != stored_width || height != stored_height;
        config.options.scaled_width = (int)width;
        config.options.scaled_height = (int)height;
        if (!status) status = gesso_decoding_check(decoding, width, height);
    }
    if (!status)
        status = gesso_bitmap_create(
            width, height, config.input.has_alpha ? GESSO_FORMAT_ARGB32 : GESSO_FORMAT_XRGB32, 1, &bitmap);
    if (!status) {
        /* Straight, and premultiplied below: WebP's own rounding would not bring our colours back. */
        config.output.colorspace = MODE_RGBA;
        config.output.is_external_memory = 1;
        config.output.u.RGBA.rgba = gesso_bitmap_mutable_pixels(bitmap);
        config.output.u.RGBA.stride = (int)gesso_bitmap_stride(bitmap);
        config.output.u.RGBA.size = gesso_bitmap_byte_count(bitmap);
        status = status_of_webp(WebPDecode(picture.bytes, picture.size, &config));
        WebPFreeDecBuffer(&config.output);
    }
    for (uint32_t y = 0; !status && y < height; y++) {
        uint8_t *row = (uint8_t *)gesso_bitmap_mutable_pixels(bitmap) + (ptrdiff_t)y * gesso_bitmap_stride(bitmap);
        gesso_premultiply_rgba(row, (uint32_t *)row, width);
    }
    WebPDemuxReleaseIterator(&frame);
    WebPDemuxDelete(demuxer);
    if (status)
        gesso_bitmap_release(bitmap);
    else
        *result = bitmap;
    return status;
}

/* Straight RGBA bytes of all of the picture. */
static uint8_t *straight_pixels(const gesso_bitmap *bitmap)
{
    uint32_t width = gesso_bitmap_width(bitmap), height = gesso_bitmap_height(bitmap);
    uint8_t *pixels = calloc((size_t)width * height, 4);
    if (!pixels) return NULL;
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *in = (const uint8_t *)gesso_bitmap_pixels(bitmap) + (ptrdiff_t)y * gesso_bitmap_stride(bitmap);
        uint8_t *out = pixels + (size_t)y * width * 4;
        if (gesso_bitmap_format(bitmap) == GESSO_FORMAT_A8) {
            for (uint32_t x = 0; x < width; x++) out[4 * (size_t)x + 3] = in[x];
            continue;
        }
        gesso_unpremultiply_rgba((const uint32_t *)in, out, width);
        if (gesso_bitmap_is_opaque(bitmap))
            for (uint32_t x = 0; x < width; x++) {
                uint32_t word = ((const uint32_t *)in)[x];
                out[4 * (size_t)x] = (uint8_t)(word >> 16), out[4 * (size_t)x + 1] = (uint8_t)(word >> 8);
                out[4 * (size_t)x + 2] = (uint8_t)word, out[4 * (size_t)x + 3] = 255;
            }
    }
    return pixels;
}

static gesso_status status_of_encoder(WebPEncodingError error)
{
    return error == VP8_ENC_ERROR_BAD_DIMENSION || error == VP8_ENC_ERROR_FILE_TOO_BIG ? GESSO_TOO_LARGE
                                                                                       : GESSO_OUT_OF_MEMORY;
}

gesso_status gesso_webp_encode(const gesso_bitmap *bitmap, double quality, uint8_t **bytes, size_t *length)
{
    if (!bitmap || !bytes || !length || !(quality <= 1)) return GESSO_INVALID_ARGUMENT;
    uint32_t width = gesso_bitmap_width(bitmap), height = gesso_bitmap_height(bitmap);
    if (width > WEBP_MAX_DIMENSION || height > WEBP_MAX_DIMENSION) return GESSO_TOO_LARGE;
    WebPConfig config;
    WebPPicture picture;
    if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) return GESSO_UNSUPPORTED;
    config.lossless = quality < 0;
    config.exact = config.lossless;
    config.quality = quality < 0 ? 70 : (float)(quality * 100); /* for lossless: how much effort */
    picture.use_argb = config.lossless;
    picture.width = (int)width;
    picture.height = (int)height;
    WebPMemoryWriter writer;
    WebPMemoryWriterInit(&writer);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    uint8_t *pixels = straight_pixels(bitmap);
    gesso_status status = GESSO_OUT_OF_MEMORY;
    if (pixels && WebPPictureImportRGBA(&picture, pixels, (int)width * 4))
        status = WebPEncode(&config, &picture) ? GESSO_OK : status_of_encoder(picture.error_code);
    uint8_t *copy = !status && writer.size ? malloc(writer.size) : NULL;
    if (!status && !copy) status = GESSO_OUT_OF_MEMORY;
    if (copy) {
        memcpy(copy, writer.mem, writer.size); /* so that gesso_free frees it, and not WebP's allocator */
        *bytes = copy;
        *length = writer.size;
    }
    WebPMemoryWriterClear(&writer);
    WebPPictureFree(&picture);
    free(pixels);
    return status;
}

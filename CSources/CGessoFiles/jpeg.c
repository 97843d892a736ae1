#include "files_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

/* A progressive file can hold scans without end, each of which costs a pass over the picture. */
enum { MOST_SCANS = 200 };

typedef struct failure {
    struct jpeg_error_mgr manager; /* first, so that the library's pointer is ours */
    jmp_buf jump;
    gesso_status status;
} failure;

static void give_up(j_common_ptr jpeg, gesso_status status)
{
    failure *f = (failure *)jpeg->err;
    /* What was noticed first is the reason of what follows. */
    if (f->status == GESSO_OK) f->status = status;
    longjmp(f->jump, 1);
}

static void fail(j_common_ptr jpeg)
{
    switch (jpeg->err->msg_code) {
    case JERR_OUT_OF_MEMORY: give_up(jpeg, GESSO_OUT_OF_MEMORY); break;
    case JERR_NO_BACKING_STORE: give_up(jpeg, GESSO_OVER_LIMIT); break; /* over max_memory_to_use */
    case JERR_INPUT_EOF:
    case JERR_INPUT_EMPTY: give_up(jpeg, GESSO_TRUNCATED); break;
    case JERR_IMAGE_TOO_BIG: give_up(jpeg, GESSO_TOO_LARGE); break;
    case JERR_CONVERSION_NOTIMPL:
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION: give_up(jpeg, GESSO_UNSUPPORTED); break;
    default: give_up(jpeg, GESSO_CORRUPT);
    }
}

/* Warnings that mean missing or wrong pixels are errors; leftovers between markers, which cameras write, are not. */
static void warn(j_common_ptr jpeg, int level)
{
    if (level >= 0) return;
    switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF: give_up(jpeg, GESSO_TRUNCATED); break;
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: give_up(jpeg, GESSO_CORRUPT); break;
    default: break;
    }
}

static void print_nothing(j_common_ptr jpeg) { (void)jpeg; }

static void count_scans(j_common_ptr jpeg)
{
    if (jpeg->is_decompressor && ((j_decompress_ptr)jpeg)->input_scan_number > MOST_SCANS)
        give_up(jpeg, GESSO_UNSUPPORTED);
}

static struct jpeg_error_mgr *begin_errors(failure *f)
{
    jpeg_std_error(&f->manager);
    f->manager.error_exit = fail;
    f->manager.emit_message = warn;
    f->manager.output_message = print_nothing;
    f->status = GESSO_OK;
    return &f->manager;
}

/* Inverted CMYK, as every program that writes it does: 255 is no ink. */
static void convert_cmyk(uint32_t *words, const uint8_t *cmyk, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++) {
        uint32_t k = cmyk[4 * x + 3];
        uint32_t red = cmyk[4 * x] * k / 255, green = cmyk[4 * x + 1] * k / 255, blue = cmyk[4 * x + 2] * k / 255;
        words[x] = 0xff000000 | red << 16 | green << 8 | blue;
    }
}

static int orientation_of(j_decompress_ptr jpeg)
{
    for (jpeg_saved_marker_ptr marker = jpeg->marker_list; marker; marker = marker->next)
        if (marker->marker == JPEG_APP0 + 1 && marker->data_length > 6 && memcmp(marker->data, "Exif\0", 6) == 0)
            return gesso_exif_orientation(marker->data, marker->data_length);
    return 1;
}

/* Lets the decoder leave out what the target does not need: the smallest n/8 that is still as large. */
static void set_scale(j_decompress_ptr jpeg, const gesso_decoding *decoding)
{
    uint32_t width, height;
    gesso_target_size(decoding, jpeg->image_width, jpeg->image_height, &width, &height);
    jpeg->scale_denom = 8;
    for (jpeg->scale_num = 1; jpeg->scale_num < 8; jpeg->scale_num++) {
        jpeg_calc_output_dimensions(jpeg);
        if (jpeg->output_width >= width && jpeg->output_height >= height) break;
    }
    jpeg_calc_output_dimensions(jpeg);
}

gesso_status gesso_jpeg_decode(gesso_decoding *decoding, gesso_bitmap **result)
{
    struct jpeg_decompress_struct jpeg;
    struct jpeg_progress_mgr progress = {.progress_monitor = count_scans};
    failure f;
    gesso_bitmap *volatile bitmap = NULL;
    uint8_t *volatile row = NULL;
    jpeg.err = begin_errors(&f);
    if (setjmp(f.jump) == 0) {
        jpeg_create_decompress(&jpeg);
        jpeg.progress = &progress;
        /* A progressive file is decoded by way of all of its coefficients, however small the target is. */
        jpeg.mem->max_memory_to_use = (long)gesso_decoding_limit(decoding);
        jpeg_mem_src(&jpeg, decoding->bytes, decoding->length);
        jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xffff);
        jpeg_read_header(&jpeg, TRUE);
        if (!decoding->ignores_orientation) decoding->orientation = orientation_of(&jpeg);
        bool cmyk = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
        jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_BGRA;
        set_scale(&jpeg, decoding);
        f.status = gesso_decoding_check(decoding, jpeg.output_width, jpeg.output_height);
        gesso_bitmap *created = NULL;
        if (!f.status)
            f.status = gesso_bitmap_create(jpeg.output_width, jpeg.output_height, GESSO_FORMAT_XRGB32, 1, &created);
        bitmap = created;
        if (!f.status && cmyk && !(row = malloc((size_t)jpeg.output_width * 4))) f.status = GESSO_OUT_OF_MEMORY;
        if (!f.status) {
            jpeg_start_decompress(&jpeg);
            uint8_t *pixels = gesso_bitmap_mutable_pixels(created);
            while (jpeg.output_scanline < jpeg.output_height) {
                uint8_t *target = pixels + (ptrdiff_t)jpeg.output_scanline * gesso_bitmap_stride(created);
                JSAMPROW rows[1] = {cmyk ? row : target};
                jpeg_read_scanlines(&jpeg, rows, 1);
                if (cmyk) convert_cmyk((uint32_t *)target, row, jpeg.output_width);
            }
            jpeg_finish_decompress(&jpeg);
        }
    }
    jpeg_destroy_decompress(&jpeg);
    free(row);
    if (f.status)
        gesso_bitmap_release(bitmap);
    else
        *result = bitmap;
    return f.status;
}

/* A row as opaque words, transparent pixels on white. */
static void flatten_row(const gesso_bitmap *bitmap, uint32_t y, uint32_t *row)
{
    const uint8_t *pixels = (const uint8_t *)gesso_bitmap_pixels(bitmap) + (ptrdiff_t)y * gesso_bitmap_stride(bitmap);
    uint32_t width = gesso_bitmap_width(bitmap);
    if (gesso_bitmap_format(bitmap) == GESSO_FORMAT_A8) {
        for (uint32_t x = 0; x < width; x++) row[x] = (255u - pixels[x]) * 0x010101u;
        return;
    }
    memcpy(row, pixels, (size_t)width * 4);
    if (gesso_bitmap_is_opaque(bitmap)) return;
    for (uint32_t x = 0; x < width; x++) {
        uint32_t white = 255 - (row[x] >> 24);
        row[x] = (row[x] & 0xffffff) + white * 0x010101u; /* premultiplied: no component carries over */
    }
}

/* A buffer that grows, and that is always the one to free: the library's own is not, once it ran out of memory. */
typedef struct destination {
    struct jpeg_destination_mgr manager; /* first, so that the library's pointer is ours */
    uint8_t *bytes;
    size_t capacity, length;
} destination;

static void point_at_room(destination *d, size_t used)
{
    d->manager.next_output_byte = d->bytes + used;
    d->manager.free_in_buffer = d->capacity - used;
}

static void init_destination(j_compress_ptr jpeg) { point_at_room((destination *)jpeg->dest, 0); }

static boolean grow_destination(j_compress_ptr jpeg)
{
    destination *d = (destination *)jpeg->dest;
    size_t used = d->capacity; /* called when all of it is full, whatever free_in_buffer says */
    uint8_t *bytes = realloc(d->bytes, 2 * d->capacity);
    if (!bytes) give_up((j_common_ptr)jpeg, GESSO_OUT_OF_MEMORY);
    d->bytes = bytes;
    d->capacity *= 2;
    point_at_room(d, used);
    return TRUE;
}

static void end_destination(j_compress_ptr jpeg)
{
    destination *d = (destination *)jpeg->dest;
    d->length = d->capacity - d->manager.free_in_buffer;
}

gesso_status gesso_jpeg_encode(const gesso_bitmap *bitmap, double quality, uint8_t **bytes, size_t *length)
{
    if (!bitmap || !bytes || !length || !(quality >= 0 && quality <= 1)) return GESSO_INVALID_ARGUMENT;
    uint32_t width = gesso_bitmap_width(bitmap), height = gesso_bitmap_height(bitmap);
    if (width > JPEG_MAX_DIMENSION || height > JPEG_MAX_DIMENSION) return GESSO_TOO_LARGE;
    struct jpeg_compress_struct jpeg;
    failure f;
    destination d = {
        .manager = {
            .init_destination = init_destination, .empty_output_buffer = grow_destination,
            .term_destination = end_destination},
        .capacity = 1 << 15};
    uint32_t *row = malloc((size_t)width * 4);
    d.bytes = malloc(d.capacity);
    jpeg.err = begin_errors(&f);
    if (!row || !d.bytes) {
        free(row);
        free(d.bytes);
        return GESSO_OUT_OF_MEMORY;
    }
    if (setjmp(f.jump) == 0) {
        jpeg_create_compress(&jpeg);
        jpeg.dest = &d.manager;
        jpeg.image_width = width;
        jpeg.image_height = height;
        jpeg.input_components = 4;
        jpeg.in_color_space = JCS_EXT_BGRX;
        jpeg_set_defaults(&jpeg);
        jpeg_set_quality(&jpeg, (int)lround(quality * 100), TRUE);
        if (quality >= 0.9) jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
        jpeg.optimize_coding = TRUE;
        jpeg_start_compress(&jpeg, TRUE);
        for (uint32_t y = 0; y < height; y++) {
            flatten_row(bitmap, y, row);
            JSAMPROW rows[1] = {(JSAMPROW)row};
            jpeg_write_scanlines(&jpeg, rows, 1);
        }
        jpeg_finish_compress(&jpeg);
    }
    jpeg_destroy_compress(&jpeg);
    free(row);
    if (f.status) {
        free(d.bytes);
        return f.status;
    }
    *bytes = d.bytes;
    *length = d.length;
    return GESSO_OK;
}

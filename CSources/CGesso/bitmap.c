#include "internal.h"

static _Atomic uint64_t last_number;
static _Atomic uint64_t bitmaps_created, bitmaps_alive, bytes_alive;

gesso_status gesso_memory_statistics_get(gesso_memory_statistics *statistics)
{
    if (!statistics || statistics->struct_size < sizeof *statistics) return GESSO_INVALID_ARGUMENT;
    statistics->bitmaps_created = atomic_load_explicit(&bitmaps_created, memory_order_relaxed);
    statistics->bitmaps_alive = atomic_load_explicit(&bitmaps_alive, memory_order_relaxed);
    statistics->bytes_alive = atomic_load_explicit(&bytes_alive, memory_order_relaxed);
    return GESSO_OK;
}

size_t gesso_format_bytes_per_pixel(gesso_format format)
{
    switch (format) {
    case GESSO_FORMAT_ARGB32:
    case GESSO_FORMAT_XRGB32: return 4;
    case GESSO_FORMAT_A8: return 1;
    default: return 0;
    }
}

ptrdiff_t gesso_row_bytes(uint32_t width, gesso_format format)
{
    uint64_t bytes = (uint64_t)width * gesso_format_bytes_per_pixel(format);
    return bytes <= PTRDIFF_MAX - 3 ? (ptrdiff_t)bytes : 0;
}

static gesso_status check(uint32_t width, uint32_t height, gesso_format format, double scale)
{
    if (!gesso_format_bytes_per_pixel(format) || !isfinite(scale) || scale <= 0) return GESSO_INVALID_ARGUMENT;
    return width && height ? GESSO_OK : GESSO_INVALID_SIZE;
}

static gesso_bitmap *make(uint32_t width, uint32_t height, gesso_format format, double scale)
{
    gesso_bitmap *bitmap = calloc(1, sizeof *bitmap);
    if (!bitmap) return NULL;
    atomic_init(&bitmap->references, 1);
    atomic_init(&bitmap->frozen, false);
    bitmap->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    bitmap->width = width;
    bitmap->height = height;
    bitmap->format = format;
    bitmap->scale = scale;
    return bitmap;
}

static gesso_status create(
    uint32_t width, uint32_t height, gesso_format format, double scale, bool cleared, gesso_bitmap **result)
{
    if (!result) return GESSO_INVALID_ARGUMENT;
    gesso_status status = check(width, height, format, scale);
    if (status) return status;
    /* Rows of whole words: what Cairo asks of every format. */
    uint64_t stride = ((uint64_t)width * gesso_format_bytes_per_pixel(format) + 3) & ~(uint64_t)3;
    if (stride > GESSO_BITMAP_BYTES_LIMIT / height || stride * height > SIZE_MAX) return GESSO_TOO_LARGE;
    size_t bytes = (size_t)(stride * height);
    gesso_bitmap *bitmap = make(width, height, format, scale);
    if (!bitmap) return GESSO_OUT_OF_MEMORY;
    bitmap->pixels = cleared ? calloc(1, bytes) : malloc(bytes);
    if (!bitmap->pixels) {
        free(bitmap);
        return GESSO_OUT_OF_MEMORY;
    }
    bitmap->stride = (ptrdiff_t)stride;
    bitmap->owned_bytes = bytes;
    atomic_fetch_add_explicit(&bitmaps_created, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bitmaps_alive, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes_alive, bytes, memory_order_relaxed);
    *result = bitmap;
    return GESSO_OK;
}

gesso_status gesso_bitmap_create(
    uint32_t width, uint32_t height, gesso_format format, double scale, gesso_bitmap **bitmap)
{
    return create(width, height, format, scale, true, bitmap);
}

gesso_status gesso_bitmap_create_uninitialized(
    uint32_t width, uint32_t height, gesso_format format, double scale, gesso_bitmap **bitmap)
{
    return create(width, height, format, scale, false, bitmap);
}

gesso_status gesso_bitmap_wrap(
    void *pixels, uint32_t width, uint32_t height, ptrdiff_t stride, gesso_format format, double scale,
    gesso_release_function release, void *user_data, gesso_bitmap **result)
{
    if (!result || !pixels) return GESSO_INVALID_ARGUMENT;
    gesso_status status = check(width, height, format, scale);
    if (status) return status;
    ptrdiff_t row = gesso_row_bytes(width, format);
    if (row == 0) return GESSO_TOO_LARGE;
    if (stride < row) return GESSO_INVALID_SIZE;
    if (format != GESSO_FORMAT_A8 && ((uintptr_t)pixels % 4 || stride % 4)) return GESSO_INVALID_ARGUMENT;
    if ((uint64_t)stride > GESSO_BITMAP_BYTES_LIMIT / height) return GESSO_TOO_LARGE;
    gesso_bitmap *bitmap = make(width, height, format, scale);
    if (!bitmap) return GESSO_OUT_OF_MEMORY;
    bitmap->pixels = pixels;
    bitmap->stride = stride;
    bitmap->release = release;
    bitmap->user_data = user_data;
    *result = bitmap;
    return GESSO_OK;
}

gesso_status gesso_bitmap_crop(
    gesso_bitmap *bitmap, uint32_t x, uint32_t y, uint32_t width, uint32_t height, gesso_bitmap **cropped)
{
    if (!bitmap || !cropped) return GESSO_INVALID_ARGUMENT;
    if (!gesso_bitmap_is_frozen(bitmap)) return GESSO_INVALID_STATE;
    if (!width || !height || (uint64_t)x + width > bitmap->width || (uint64_t)y + height > bitmap->height)
        return GESSO_INVALID_SIZE;
    gesso_bitmap *crop = make(width, height, bitmap->format, bitmap->scale);
    if (!crop) return GESSO_OUT_OF_MEMORY;
    crop->stride = bitmap->stride;
    crop->pixels = bitmap->pixels + (ptrdiff_t)y * bitmap->stride + gesso_row_bytes(x, bitmap->format);
    /* A crop of a crop refers to the first owner, so that chains do not grow. */
    crop->parent = gesso_bitmap_retain(bitmap->parent ? bitmap->parent : bitmap);
    atomic_store_explicit(&crop->frozen, true, memory_order_relaxed);
    *cropped = crop;
    return GESSO_OK;
}

gesso_status gesso_bitmap_copy(const gesso_bitmap *bitmap, gesso_bitmap **result)
{
    if (!bitmap || !result) return GESSO_INVALID_ARGUMENT;
    gesso_bitmap *copy;
    /* Cleared, so that the padding of the rows holds nothing of an earlier owner. */
    gesso_status status = gesso_bitmap_create(bitmap->width, bitmap->height, bitmap->format, bitmap->scale, &copy);
    if (status) return status;
    size_t row = (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
    for (uint32_t y = 0; y < bitmap->height; y++)
        memcpy(copy->pixels + (ptrdiff_t)y * copy->stride, bitmap->pixels + (ptrdiff_t)y * bitmap->stride, row);
    *result = copy;
    return GESSO_OK;
}

gesso_bitmap *gesso_bitmap_retain(gesso_bitmap *bitmap)
{
    if (bitmap) atomic_fetch_add_explicit(&bitmap->references, 1, memory_order_relaxed);
    return bitmap;
}

void gesso_bitmap_release(gesso_bitmap *bitmap)
{
    /* Acquire and release: whoever frees has to see all that other threads did before they let go. */
    if (!bitmap || atomic_fetch_sub_explicit(&bitmap->references, 1, memory_order_acq_rel) != 1) return;
    if (bitmap->owned_bytes) {
        free(bitmap->pixels);
        atomic_fetch_sub_explicit(&bitmaps_alive, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&bytes_alive, bitmap->owned_bytes, memory_order_relaxed);
    }
    if (bitmap->release) bitmap->release(bitmap->user_data);
    gesso_bitmap_release(bitmap->parent);
    free(bitmap);
}

void gesso_bitmap_freeze(gesso_bitmap *bitmap)
{
    if (bitmap) atomic_store_explicit(&bitmap->frozen, true, memory_order_release);
}

bool gesso_bitmap_is_frozen(const gesso_bitmap *bitmap)
{
    return bitmap && atomic_load_explicit(&bitmap->frozen, memory_order_acquire);
}

gesso_status gesso_bitmap_set_scale(gesso_bitmap *bitmap, double scale)
{
    if (!bitmap || !isfinite(scale) || scale <= 0) return GESSO_INVALID_ARGUMENT;
    if (gesso_bitmap_is_frozen(bitmap)) return GESSO_FROZEN;
    bitmap->scale = scale;
    return GESSO_OK;
}

uint32_t gesso_bitmap_width(const gesso_bitmap *bitmap) { return bitmap ? bitmap->width : 0; }
uint32_t gesso_bitmap_height(const gesso_bitmap *bitmap) { return bitmap ? bitmap->height : 0; }
ptrdiff_t gesso_bitmap_stride(const gesso_bitmap *bitmap) { return bitmap ? bitmap->stride : 0; }
gesso_format gesso_bitmap_format(const gesso_bitmap *bitmap) { return bitmap ? bitmap->format : GESSO_FORMAT_ARGB32; }
double gesso_bitmap_scale(const gesso_bitmap *bitmap) { return bitmap ? bitmap->scale : 0; }
bool gesso_bitmap_is_opaque(const gesso_bitmap *bitmap) { return bitmap && bitmap->format == GESSO_FORMAT_XRGB32; }

size_t gesso_bitmap_byte_count(const gesso_bitmap *bitmap)
{
    if (!bitmap) return 0;
    return (size_t)bitmap->stride * (bitmap->height - 1) + (size_t)gesso_row_bytes(bitmap->width, bitmap->format);
}

const void *gesso_bitmap_pixels(const gesso_bitmap *bitmap) { return bitmap ? bitmap->pixels : NULL; }

void *gesso_bitmap_mutable_pixels(gesso_bitmap *bitmap)
{
    return bitmap && !gesso_bitmap_is_frozen(bitmap) ? bitmap->pixels : NULL;
}

cairo_format_t gesso_cairo_format(gesso_format format)
{
    return format == GESSO_FORMAT_A8 ? CAIRO_FORMAT_A8
        : format == GESSO_FORMAT_XRGB32 ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32;
}

gesso_status gesso_surface_check(const gesso_bitmap *bitmap)
{
    if (bitmap->width > GESSO_CAIRO_LIMIT || bitmap->height > GESSO_CAIRO_LIMIT || bitmap->stride > INT32_MAX)
        return GESSO_TOO_LARGE;
    return bitmap->stride % 4 ? GESSO_UNSUPPORTED : GESSO_OK;
}

cairo_surface_t *gesso_surface_over(const gesso_bitmap *bitmap)
{
    return cairo_image_surface_create_for_data(
        bitmap->pixels, gesso_cairo_format(bitmap->format), (int)bitmap->width, (int)bitmap->height,
        (int)bitmap->stride);
}

#include "internal.h"

uint32_t gesso_version(void)
{
    return GESSO_VERSION_MAJOR * 10000 + GESSO_VERSION_MINOR * 100 + GESSO_VERSION_PATCH;
}

const char *gesso_status_string(gesso_status status)
{
    switch (status) {
    case GESSO_OK: return "no error";
    case GESSO_INVALID_ARGUMENT: return "an argument is null, not a finite number, or not one of the allowed values";
    case GESSO_INVALID_SIZE: return "a width or height is zero or negative, or a stride does not fit the width";
    case GESSO_TOO_LARGE: return "larger than this kind of object can be";
    case GESSO_OUT_OF_MEMORY: return "out of memory";
    case GESSO_FROZEN: return "the bitmap is frozen and no longer changes";
    case GESSO_INVALID_STATE: return "a call out of order: an end or a restore without its begin, or the reverse";
    case GESSO_UNSUPPORTED: return "valid, but of a kind that this version does not handle";
    case GESSO_NOT_RECOGNIZED: return "the bytes are not of this format";
    case GESSO_TRUNCATED: return "the bytes end too early";
    case GESSO_CORRUPT: return "the bytes are damaged";
    case GESSO_OVER_LIMIT: return "larger than the caller's limit";
    case GESSO_BUFFER_TOO_SMALL: return "the buffer is too small";
    case GESSO_CAIRO_FAILED: return "Cairo failed";
    case GESSO_FONT_FAILED: return "no font could be loaded";
    case GESSO_STATUS_FORCE_INT32: break;
    }
    return "an unknown status";
}

gesso_status gesso_status_of_cairo(cairo_status_t status)
{
    switch (status) {
    case CAIRO_STATUS_SUCCESS: return GESSO_OK;
    case CAIRO_STATUS_NO_MEMORY: return GESSO_OUT_OF_MEMORY;
    case CAIRO_STATUS_INVALID_RESTORE:
    case CAIRO_STATUS_INVALID_POP_GROUP: return GESSO_INVALID_STATE;
    case CAIRO_STATUS_INVALID_MATRIX:
    case CAIRO_STATUS_INVALID_DASH: return GESSO_INVALID_ARGUMENT;
    case CAIRO_STATUS_INVALID_SIZE: return GESSO_TOO_LARGE;
    default: return GESSO_CAIRO_FAILED;
    }
}

gesso_status gesso_limits_check(
    const gesso_limits *limits, uint64_t width, uint64_t height, uint64_t bytes_per_pixel)
{
    uint64_t maximum_width = GESSO_CAIRO_LIMIT, maximum_height = GESSO_CAIRO_LIMIT;
    uint64_t maximum_bytes = (uint64_t)1 << 30;
    if (limits) {
        if (limits->struct_size < sizeof *limits) return GESSO_INVALID_ARGUMENT;
        if (limits->maximum_width) maximum_width = limits->maximum_width;
        if (limits->maximum_height) maximum_height = limits->maximum_height;
        if (limits->maximum_bytes) maximum_bytes = limits->maximum_bytes;
    }
    if (width == 0 || height == 0) return GESSO_CORRUPT;
    if (width > maximum_width || height > maximum_height) return GESSO_OVER_LIMIT;
    /* Both fit 32 bits here, so the products fit 64. */
    if (width * bytes_per_pixel > maximum_bytes / height) return GESSO_OVER_LIMIT;
    return GESSO_OK;
}

void gesso_free(void *bytes) { free(bytes); }

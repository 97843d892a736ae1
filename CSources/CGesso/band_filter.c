/* Pixels as what they are to a neighbour, in few bits: for photos. */
#include "band.h"
#include "bit_pack.h"

enum { HEAD = 1, OPAQUE = 1, UP = 2, SLACK = 64 };

static size_t pitch_of(size_t count) { return gesso_pack_padded(count) + SLACK; }

size_t gesso_filter_scratch(size_t count) { return 4 * pitch_of(count) + 4 * gesso_pack_bound(count) + 4 * count + 2 * SLACK; }

/* How far words are from others, by planes of their differences: about what packing makes of them. */
static uint64_t distance(const uint32_t *words, const uint32_t *others, size_t count, uint8_t *planes)
{
    gesso_kernels_get()->split_planes(planes, count, words, others, count, true);
    uint32_t sum = 0;
    for (size_t i = 0; i < 4 * count; i++) sum += (uint32_t)abs((int8_t)planes[i]);
    return sum;
}

/* Whether pixels are more like those above than like those before them, in some rows. */
static bool is_better_up(const uint32_t *pixels, size_t count, uint32_t width, uint8_t *planes)
{
    enum { ROWS = 8 };
    uint64_t left = 0, up = 0;
    size_t rows = count / width;
    for (size_t k = 0; k < ROWS && rows > 1; k++) {
        const uint32_t *row = pixels + (1 + k * (rows - 1) / ROWS) * width + 1;
        left += distance(row, row - 1, width - 1, planes);
        up += distance(row, row - width, width - 1, planes);
    }
    return up < left;
}

size_t gesso_filter_encode(const gesso_band *band, uint8_t *scratch, uint8_t *out, size_t capacity)
{
    const uint32_t *pixels = (const uint32_t *)band->pixels;
    size_t count = band->count, pitch = pitch_of(count);
    uint8_t *planes = scratch;
    uint32_t all = ~0u;
    for (size_t i = 0; i < count; i++) all &= pixels[i];
    bool is_opaque = all >> 24 == 255, up = is_better_up(pixels, count, band->width, planes);
    int plane_count = is_opaque ? 3 : 4;
    /* The first pixel is to black, the first row to the left. */
    const gesso_kernels *kernels = gesso_kernels_get();
    size_t row = up && band->width < count ? band->width : count;
    kernels->split_planes(planes, pitch, pixels, NULL, 1, !is_opaque);
    kernels->split_planes(planes + 1, pitch, pixels + 1, pixels, row - 1, !is_opaque);
    if (row < count) kernels->split_planes(planes + row, pitch, pixels + row, pixels, count - row, !is_opaque);
    /* Straight to where it goes, if there is room for the most that it can become. */
    bool straight = HEAD + (size_t)plane_count * gesso_pack_bound(count) + SLACK <= capacity;
    uint8_t *packed = straight ? out + HEAD : scratch + 4 * pitch;
    size_t bytes = 0;
    for (int i = 0; i < plane_count; i++) bytes += gesso_pack(packed + bytes, planes + (size_t)i * pitch, count);
    if (HEAD + bytes > capacity) return 0;
    out[0] = (uint8_t)((is_opaque ? OPAQUE : 0) | (up ? UP : 0));
    if (!straight) memcpy(out + HEAD, packed, bytes);
    return HEAD + bytes;
}

bool gesso_filter_decode(
    const uint8_t *in, size_t length, uint8_t *scratch, uint32_t *pixels, uint32_t width, size_t count, bool must_be_opaque)
{
    size_t pitch = pitch_of(count);
    if (length < HEAD || in[0] > (OPAQUE | UP)) return false;
    bool is_opaque = in[0] & OPAQUE, up = in[0] & UP;
    if (must_be_opaque && !is_opaque) return false;
    in += HEAD, length -= HEAD;
    for (int i = 0; i < (is_opaque ? 3 : 4); i++) {
        size_t used;
        if (!gesso_unpack(scratch + (size_t)i * pitch, count, in, length, &used)) return false;
        in += used, length -= used;
    }
    if (length != 0) return false;
    /* The residuals first where the pixels are to be; each row needs the one above only. */
    uint32_t *residuals = (uint32_t *)(scratch + 4 * pitch);
    const gesso_kernels *kernels = gesso_kernels_get();
    kernels->join_planes(residuals, scratch, pitch, count, !is_opaque);
    size_t row = up && width < count ? width : count;
    kernels->running_sums(pixels, residuals, row, is_opaque ? 0xff000000 : 0);
    for (size_t begin = row; begin < count; begin += width)
        kernels->add_words(
            pixels + begin, residuals + begin, pixels + begin - width, count - begin < width ? count - begin : width);
    return true;
}

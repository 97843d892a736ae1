/* The masks of blobs in AVX2: groups of eight pixels, sixty-four pixels at a time, of which mostly few groups are marked.
 * Nothing here branches on what a group looks like, which no processor could foresee. */
#ifndef GESSO_KERNELS_AVX2_BLOB_H
#define GESSO_KERNELS_AVX2_BLOB_H

#include "kernels.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,popcnt"))) static inline
#define ALWAYS_INLINE __attribute__((always_inline))

/* For each set of a group's pixels, by bytes: which these are, one after the other; how many there are before each of them,
 * and 128 for the others; and, if these are as the one to the left, which pixel each is in the end, 128 for the one before
 * the group. A byte of 128 becomes a sign, by which vectors are blended. */
static uint64_t avx2_chosen[256], avx2_ranks[256], avx2_origins[256];

static void avx2_begin(void)
{
    for (unsigned set = 0; set < 256; set++) {
        uint64_t chosen = 0, ranks = 0, origins = 0, count = 0, origin = 128;
        for (unsigned k = 0; k < 8; k++) {
            bool is_in = set >> k & 1;
            if (!is_in) origin = k;
            origins |= origin << 8 * k;
            ranks |= (is_in ? count : 128) << 8 * k;
            if (is_in) chosen |= (uint64_t)k << 8 * count++;
        }
        avx2_chosen[set] = chosen, avx2_ranks[set] = ranks, avx2_origins[set] = origins;
    }
}

AVX2 ALWAYS_INLINE __m256i avx2_load(const uint32_t *pixels) { return _mm256_loadu_si256((const __m256i *)pixels); }
AVX2 ALWAYS_INLINE void avx2_store(uint32_t *pixels, __m256i x) { _mm256_storeu_si256((__m256i *)pixels, x); }
AVX2 ALWAYS_INLINE __m256i avx2_places(const uint64_t *eight)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)eight));
}
AVX2 ALWAYS_INLINE unsigned avx2_equal(__m256i a, __m256i b)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)));
}
/* b where a place has a sign, and otherwise a. */
AVX2 ALWAYS_INLINE __m256i avx2_blend(__m256i a, __m256i b, __m256i places)
{
    return _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(places)));
}

/* A marked group: its masks, and its literals with those above them. */
AVX2 ALWAYS_INLINE void avx2_find_group(
    __m256i here, __m256i up, uint32_t before, unsigned differs, gesso_masks *m, uint32_t *words, uint32_t *aboves)
{
    __m256i left = _mm256_permutevar8x32_epi32(here, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
    left = _mm256_blend_epi32(left, _mm256_set1_epi32((int)before), 1);
    unsigned as_left = differs & avx2_equal(here, left), literal = differs & ~as_left;
    m->differs[m->marked_count] = (uint8_t)differs;
    m->has_left[m->marked_count / 8] |= (uint8_t)((as_left != 0) << m->marked_count % 8);
    m->left[m->left_count] = (uint8_t)as_left;
    m->marked_count++;
    m->left_count += as_left != 0;
    __m256i places = avx2_places(avx2_chosen + literal);
    avx2_store(words + m->literal_count, _mm256_permutevar8x32_epi32(here, places));
    avx2_store(aboves + m->literal_count, _mm256_permutevar8x32_epi32(up, places));
    m->literal_count += (unsigned)__builtin_popcount(literal);
}

AVX2 void avx2_find_masks(
    const uint32_t *pixels, size_t count, uint32_t width, const uint32_t *row, gesso_masks *masks, uint32_t *words,
    uint32_t *aboves)
{
    gesso_masks m = *masks;
    m.marked_count = m.left_count = m.literal_count = 0;
    for (size_t i = 0; i < count; i += 64) {
        /* The last group may have fewer pixels: the others are as those above. */
        size_t pixels_here = count - i < 64 ? count - i : 64, groups = (pixels_here + 7) / 8;
        uint32_t mixed[64], filled[64];
        const uint32_t *above = gesso_above(pixels, i, groups * 8, width, row, mixed), *here = pixels + i;
        if (pixels_here % 8) {
            memcpy(filled, above, groups * 32);
            memcpy(filled, here, pixels_here * 4);
            here = filled;
        }
        uint64_t differs = 0;
        for (size_t g = 0; g < groups; g++)
            differs |= (uint64_t)(avx2_equal(avx2_load(here + 8 * g), avx2_load(above + 8 * g)) ^ 255) << 8 * g;
        unsigned marked = 0;
        while (differs) {
            unsigned g = (unsigned)__builtin_ctzll(differs) / 8;
            marked |= 1u << g;
            avx2_find_group(
                avx2_load(here + 8 * g), avx2_load(above + 8 * g), pixels[i + g ? i + 8 * g - 1 : 0],
                (unsigned)(differs >> 8 * g) & 255, &m, words, aboves);
            differs &= ~((uint64_t)255 << 8 * g);
        }
        m.marked[i / 64] = (uint8_t)marked;
    }
    *masks = m;
}

/* What is left to read. */
typedef struct avx2_reader {
    const uint8_t *differs, *left;
    const uint32_t *words;
    unsigned is_invalid;
    __m256i delta, solid;
} avx2_reader;

/* A marked group. */
AVX2 ALWAYS_INLINE __m256i avx2_expand_group(avx2_reader *r, __m256i up, unsigned has_left, uint32_t before)
{
    unsigned as_left = *r->left & (0u - has_left), differs = *r->differs++, literal = differs & ~as_left;
    r->left += has_left;
    r->is_invalid |= as_left & ~differs;
    __m256i places = avx2_places(avx2_ranks + literal), origins = avx2_places(avx2_origins + as_left);
    __m256i found = _mm256_permutevar8x32_epi32(avx2_load(r->words), places);
    r->words += (unsigned)__builtin_popcount(literal);
    found = _mm256_or_si256(_mm256_add_epi8(found, _mm256_and_si256(up, r->delta)), r->solid);
    __m256i result = _mm256_permutevar8x32_epi32(avx2_blend(found, up, places), origins);
    return avx2_blend(result, _mm256_set1_epi32((int)before), origins);
}

AVX2 bool avx2_expand_masks(
    uint32_t *pixels, size_t count, uint32_t width, const uint32_t *row, const gesso_masks *masks, const uint32_t *words,
    bool is_delta, uint32_t solid)
{
    avx2_reader r = {masks->differs, masks->left, words, 0, _mm256_set1_epi32(is_delta ? -1 : 0), _mm256_set1_epi32((int)solid)};
    for (size_t i = 0; i < count;) {
        unsigned marked = masks->marked[i / 64];
        if (marked == 0 && i >= width) { /* one copy, as far as it does not reach what it copies */
            size_t end = i + 64;
            while (end < count && masks->marked[end / 64] == 0) end += 64;
            if (end > count) end = count;
            for (size_t piece; i < end; i += piece) {
                piece = end - i < width ? end - i : width;
                memcpy(pixels + i, pixels + i - width, piece * 4);
            }
            continue;
        }
        /* Bits of the marked groups from here on, at least eight: a byte is read behind those of has_left. */
        size_t begun = (size_t)(r.differs - masks->differs);
        unsigned has_left = (masks->has_left[begun / 8] | (unsigned)masks->has_left[begun / 8 + 1] << 8) >> begun % 8;
        uint32_t mixed[64];
        if (i == 0 || width < 64 || count - i < 64) {
            /* Groups may have others of these above them. */
            for (size_t end = i + 64; i < end && i < count; i += 8, marked >>= 1) {
                __m256i result = avx2_load(gesso_above(pixels, i, 8, width, row, mixed));
                if (marked & 1) {
                    result = avx2_expand_group(&r, result, has_left & 1, i ? pixels[i - 1] : row[0]);
                    has_left >>= 1;
                }
                if (count - i >= 8) {
                    avx2_store(pixels + i, result);
                } else {
                    avx2_store(mixed, result);
                    memcpy(pixels + i, mixed, (count - i) * 4);
                }
            }
            continue;
        }
        const uint32_t *above = gesso_above(pixels, i, 64, width, row, mixed);
        for (size_t g = 0; g < 8; g++) avx2_store(pixels + i + 8 * g, avx2_load(above + 8 * g));
        for (; marked; marked &= marked - 1, has_left >>= 1) {
            uint32_t *group = pixels + i + 8 * (unsigned)__builtin_ctz(marked);
            avx2_store(group, avx2_expand_group(&r, avx2_load(group), has_left & 1, group[-1]));
        }
        i += 64;
    }
    return !r.is_invalid && r.words == words + masks->literal_count;
}

/* As in SSE2, of two squares of 8 × 8 bits in each half. */
AVX2 ALWAYS_INLINE __m256i avx2_turn(__m256i x)
{
    __m256i t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 7)), _mm256_set1_epi64x(0x00aa00aa00aa00aa));
    x = _mm256_xor_si256(_mm256_xor_si256(x, t), _mm256_slli_epi64(t, 7));
    t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 14)), _mm256_set1_epi64x(0x0000cccc0000cccc));
    x = _mm256_xor_si256(_mm256_xor_si256(x, t), _mm256_slli_epi64(t, 14));
    t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 28)), _mm256_set1_epi64x(0x00000000f0f0f0f0));
    return _mm256_xor_si256(_mm256_xor_si256(x, t), _mm256_slli_epi64(t, 28));
}

/* Bits that the largest byte of a block takes. */
AVX2 ALWAYS_INLINE unsigned avx2_width(__m128i folded)
{
    __m128i all = _mm_or_si128(folded, _mm_srli_si128(folded, 8));
    uint64_t eight = (uint64_t)_mm_cvtsi128_si64(all);
    uint32_t four = (uint32_t)(eight | eight >> 32), any = (four | four >> 8 | four >> 16 | four >> 24) & 255;
    return 31 - (unsigned)__builtin_clz(any << 1 | 1);
}

/* Two blocks at a time. */
AVX2 size_t avx2_pack(uint8_t *widths, uint8_t *planes, const uint8_t *values, size_t blocks)
{
    const __m256i zip = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    uint8_t *out = planes;
    size_t block = 0;
    for (; block + 2 <= blocks; block += 2, values += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)values);
        __m256i folded = _mm256_xor_si256(_mm256_add_epi8(x, x), _mm256_cmpgt_epi8(_mm256_setzero_si256(), x));
        unsigned first = avx2_width(_mm256_castsi256_si128(folded)), second = avx2_width(_mm256_extracti128_si256(folded, 1));
        widths[block / 2] = (uint8_t)(first | second << 4);
        __m256i turned = _mm256_shuffle_epi8(avx2_turn(folded), zip);
        _mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(turned));
        out += 2 * first;
        _mm_storeu_si128((__m128i *)out, _mm256_extracti128_si256(turned, 1));
        out += 2 * second;
    }
    return (size_t)(out - planes) + sse2_pack(widths + block / 2, out, values, blocks - block);
}

AVX2 void avx2_unpack(uint8_t *values, const uint8_t *widths, const uint8_t *planes, size_t blocks, size_t bytes)
{
    static const uint8_t kept[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    const __m256i unzip = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    const uint8_t *end = planes + bytes;
    size_t block = 0;
    for (; block + 2 <= blocks && end - planes >= 32; block += 2, values += 32) {
        unsigned first = 2 * (widths[block / 2] & 15), second = 2 * (widths[block / 2] >> 4);
        __m128i low = _mm_loadu_si128((const __m128i *)planes);
        __m128i high = _mm_loadu_si128((const __m128i *)(planes + first));
        low = _mm_and_si128(low, _mm_loadu_si128((const __m128i *)(kept + 16 - first)));
        high = _mm_and_si128(high, _mm_loadu_si128((const __m128i *)(kept + 16 - second)));
        planes += first + second;
        __m256i folded = avx2_turn(_mm256_shuffle_epi8(_mm256_set_m128i(high, low), unzip));
        __m256i half = _mm256_and_si256(_mm256_srli_epi16(folded, 1), _mm256_set1_epi8(127));
        __m256i sign = _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_and_si256(folded, _mm256_set1_epi8(1)));
        _mm256_storeu_si256((__m256i *)values, _mm256_xor_si256(half, sign));
    }
    sse2_unpack(values, widths + block / 2, planes, blocks - block, (size_t)(end - planes));
}

/* Eight words, less others, as four bytes of each plane and then the next four. */
AVX2 ALWAYS_INLINE __m256i avx2_apart(const uint32_t *words, const uint32_t *others, bool has_others)
{
    const __m256i apart = _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 5, 9, 13, 2, 6, 10, 14, 0, 4, 8, 12, 3, 7, 11, 15));
    __m256i x = avx2_load(words);
    return _mm256_shuffle_epi8(has_others ? _mm256_sub_epi8(x, avx2_load(others)) : x, apart);
}

/* Thirty-two pixels at a time. */
AVX2 ALWAYS_INLINE size_t avx2_split(
    uint8_t *planes, size_t pitch, const uint32_t *words, const uint32_t *others, bool has_others, size_t count, bool has_alpha)
{
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    uint8_t *g = planes, *r = g + pitch, *b = r + pitch, *a = b + pitch;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __m256i x[4];
        for (size_t k = 0; k < 4; k++)
            x[k] = avx2_apart(words + i + 8 * k, has_others ? others + i + 8 * k : NULL, has_others);
        __m256i gr01 = _mm256_unpacklo_epi32(x[0], x[1]), gr23 = _mm256_unpacklo_epi32(x[2], x[3]);
        __m256i ba01 = _mm256_unpackhi_epi32(x[0], x[1]), ba23 = _mm256_unpackhi_epi32(x[2], x[3]);
        __m256i green = _mm256_unpacklo_epi64(gr01, gr23), red = _mm256_unpackhi_epi64(gr01, gr23);
        __m256i blue = _mm256_unpacklo_epi64(ba01, ba23), alpha = _mm256_unpackhi_epi64(ba01, ba23);
        _mm256_storeu_si256((__m256i *)(g + i), _mm256_permutevar8x32_epi32(green, in_order));
        _mm256_storeu_si256((__m256i *)(r + i), _mm256_permutevar8x32_epi32(_mm256_sub_epi8(red, green), in_order));
        _mm256_storeu_si256((__m256i *)(b + i), _mm256_permutevar8x32_epi32(_mm256_sub_epi8(blue, green), in_order));
        if (has_alpha) _mm256_storeu_si256((__m256i *)(a + i), _mm256_permutevar8x32_epi32(alpha, in_order));
    }
    return i;
}

AVX2 void avx2_split_planes(
    uint8_t *planes, size_t pitch, const uint32_t *words, const uint32_t *others, size_t count, bool has_alpha)
{
    size_t i = others ? avx2_split(planes, pitch, words, others, true, count, has_alpha)
                      : avx2_split(planes, pitch, words, NULL, false, count, has_alpha);
    if (i < count) sse2_split_planes(planes + i, pitch, words + i, others ? others + i : NULL, count - i, has_alpha);
}

#undef AVX2
#undef ALWAYS_INLINE

#endif

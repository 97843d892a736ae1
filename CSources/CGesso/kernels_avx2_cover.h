/* Shapes and letters of one colour in AVX2, over what is there, as much as they cover it. */
#ifndef GESSO_KERNELS_AVX2_COVER_H
#define GESSO_KERNELS_AVX2_COVER_H

#include "kernels_avx2.h"

#define AVX2 __attribute__((target("avx2"))) static inline
#define ALWAYS_INLINE __attribute__((always_inline))

/* What coverage is multiplied by, for the components of a word and for its alpha. */
typedef struct avx2_word {
    __m256i factors, alpha;
} avx2_word;

AVX2 ALWAYS_INLINE avx2_word avx2_word_of(uint32_t word)
{
    uint64_t factors = 0;
    for (int i = 0; i < 32; i += 8) factors |= (uint64_t)avx2_factors[word >> i & 255] << 2 * i;
    return (avx2_word){_mm256_set1_epi64x((int64_t)factors), _mm256_set1_epi16(avx2_factors[word >> 24])};
}

/* Of eight pixels that a word covers as much as bytes say, by halves, in 16-bit components: what is drawn, and what is left
 * of what is there. */
typedef struct avx2_covered {
    __m256i low, high, low_rest, high_rest;
} avx2_covered;

AVX2 ALWAYS_INLINE avx2_covered avx2_cover(const avx2_word *word, bool is_opaque, __m256i bytes)
{
    const __m256i zero = _mm256_setzero_si256(), all = _mm256_set1_epi16(255);
    __m256i low = _mm256_unpacklo_epi8(bytes, zero), high = _mm256_unpackhi_epi8(bytes, zero);
    __m256i low_alpha = is_opaque ? low : _mm256_mulhrs_epi16(low, word->alpha);
    __m256i high_alpha = is_opaque ? high : _mm256_mulhrs_epi16(high, word->alpha);
    return (avx2_covered){
        _mm256_mulhrs_epi16(low, word->factors), _mm256_mulhrs_epi16(high, word->factors),
        _mm256_xor_si256(low_alpha, all), _mm256_xor_si256(high_alpha, all)};
}

AVX2 ALWAYS_INLINE __m256i avx2_over_covered(const avx2_covered *c, __m256i there)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = avx2_mul255(_mm256_unpacklo_epi8(there, zero), c->low_rest);
    __m256i high = avx2_mul255(_mm256_unpackhi_epi8(there, zero), c->high_rest);
    return _mm256_packus_epi16(_mm256_add_epi16(c->low, low), _mm256_add_epi16(c->high, high));
}

/* Eight pixels of one word, times their coverage, over others; an opaque one's alpha is the coverage. */
AVX2 ALWAYS_INLINE __m256i avx2_cover_eight(
    const avx2_word *word, bool is_opaque, const uint8_t *coverage, __m256i there)
{
    avx2_covered covered = avx2_cover(word, is_opaque, avx2_coverage(coverage));
    return avx2_over_covered(&covered, there);
}

/* A run of pixels in a row, and the same in another one that looks like it, or null. */
AVX2 ALWAYS_INLINE void avx2_cover_run(
    uint32_t *target, uint32_t *other, const uint8_t *restrict coverage, size_t count, const avx2_word *word, bool is_opaque)
{
    size_t x = 0;
    for (; x + 8 <= count; x += 8) {
        avx2_covered covered = avx2_cover(word, is_opaque, avx2_coverage(coverage + x));
        __m256i *out = (__m256i *)(target + x);
        _mm256_storeu_si256(out, avx2_over_covered(&covered, _mm256_loadu_si256(out)));
        if (!other) continue;
        out = (__m256i *)(other + x);
        _mm256_storeu_si256(out, avx2_over_covered(&covered, _mm256_loadu_si256(out)));
    }
    if (x == count) return;
    avx2_covered covered = avx2_cover(word, is_opaque, avx2_coverage(coverage + x));
    __m256i last = avx2_first(count - x), there = _mm256_maskload_epi32((const int *)(target + x), last);
    _mm256_maskstore_epi32((int *)(target + x), last, avx2_over_covered(&covered, there));
    if (!other) return;
    there = _mm256_maskload_epi32((const int *)(other + x), last);
    _mm256_maskstore_epi32((int *)(other + x), last, avx2_over_covered(&covered, there));
}

AVX2 void avx2_over_word_masked(
    uint32_t *restrict target, const uint8_t *restrict coverage, size_t count, uint32_t word)
{
    avx2_word parts = avx2_word_of(word);
    avx2_cover_run(target, NULL, coverage, count, &parts, false);
}

/* A row of a mask, and another one that looks like it, or null. */
AVX2 ALWAYS_INLINE void avx2_mask_row(
    uint32_t *row, uint32_t *other, const gesso_mask *mask, gesso_mask_row spans, const avx2_word *parts, uint32_t word,
    bool is_opaque)
{
    const gesso_span *span = mask->spans + spans.first, *last = mask->spans + spans.end;
    for (; span < last; span++) {
        uint32_t *out = row + span->x, *other_out = other ? other + span->x : NULL;
        size_t count = (size_t)span->length;
        if (span->value < 0) {
            avx2_cover_run(out, other_out, mask->bytes + span->at, count, parts, is_opaque);
        } else if (is_opaque && span->value == 255) {
            avx2_fill(out, count, word);
            if (other) avx2_fill(other_out, count, word);
        } else {
            uint32_t part = avx2_word_times(word, (uint32_t)span->value);
            avx2_over_word(out, count, part);
            if (other) avx2_over_word(other_out, count, part);
        }
    }
}

/* From both ends: most shapes are mirrored, and of rows that have the same spans, coverage is worked out once. */
AVX2 ALWAYS_INLINE void avx2_mask_rows(
    uint8_t *target, ptrdiff_t stride, const gesso_mask *mask, int32_t first, int32_t end, uint32_t word, bool is_opaque)
{
    avx2_word parts = avx2_word_of(word);
    const gesso_mask_row *rows = mask->rows;
    for (; first < end; first++) {
        uint32_t *row = (uint32_t *)(target + first * stride);
        gesso_mask_row spans = rows[first], last = rows[end - 1];
        if (first + 1 < end && spans.first == last.first && spans.end == last.end) {
            avx2_mask_row(row, (uint32_t *)(target + --end * stride), mask, spans, &parts, word, is_opaque);
        } else {
            avx2_mask_row(row, NULL, mask, spans, &parts, word, is_opaque);
        }
    }
}

AVX2 void avx2_mask_word(
    uint8_t *target, ptrdiff_t stride, const gesso_mask *mask, int32_t first, int32_t end, uint32_t word)
{
    if (word >> 24 == 255)
        avx2_mask_rows(target, stride, mask, first, end, word, true);
    else
        avx2_mask_rows(target, stride, mask, first, end, word, false);
}

/* Whole vectors of coverage that are 0 are most of what is around letters. */
AVX2 ALWAYS_INLINE void avx2_cover_rows(
    uint8_t *target, ptrdiff_t stride, const uint8_t *coverage, ptrdiff_t coverage_stride, size_t width, size_t height,
    uint32_t word, bool is_opaque)
{
    avx2_word parts = avx2_word_of(word);
    __m256i last = avx2_first(width & 7);
    for (; height > 0; height--, target += stride, coverage += coverage_stride) {
        uint32_t *row = (uint32_t *)target;
        size_t x = 0;
        for (; x + 8 <= width; x += 8) {
            uint64_t eight;
            memcpy(&eight, coverage + x, 8);
            if (eight == 0) continue;
            __m256i *out = (__m256i *)(row + x);
            _mm256_storeu_si256(out, avx2_cover_eight(&parts, is_opaque, coverage + x, _mm256_loadu_si256(out)));
        }
        if (x == width) continue;
        __m256i there = _mm256_maskload_epi32((const int *)(row + x), last);
        _mm256_maskstore_epi32((int *)(row + x), last, avx2_cover_eight(&parts, is_opaque, coverage + x, there));
    }
}

AVX2 void avx2_cover_word(
    uint8_t *target, ptrdiff_t stride, const uint8_t *coverage, ptrdiff_t coverage_stride, size_t width, size_t height,
    uint32_t word)
{
    if (word >> 24 == 255)
        avx2_cover_rows(target, stride, coverage, coverage_stride, width, height, word, true);
    else
        avx2_cover_rows(target, stride, coverage, coverage_stride, width, height, word, false);
}

#undef AVX2
#undef ALWAYS_INLINE

#endif

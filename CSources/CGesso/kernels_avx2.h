/* Drawing over by coverage in AVX2: eight pixels at a time, the last ones by masked loads and stores, which touch nothing
 * outside of the run. */
#ifndef GESSO_KERNELS_AVX2_H
#define GESSO_KERNELS_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2"))) static inline

/* x · y / 255, rounded, of 16-bit lanes. */
AVX2 __m256i avx2_mul255(__m256i x, __m256i y)
{
    __m256i t = _mm256_add_epi16(_mm256_mullo_epi16(x, y), _mm256_set1_epi16(128));
    return _mm256_srli_epi16(_mm256_add_epi16(t, _mm256_srli_epi16(t, 8)), 8);
}

/* 255 − alpha, in each lane of a pixel. */
AVX2 __m256i avx2_rest(__m256i pixels)
{
    __m256i alpha = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(pixels, 0xff), 0xff);
    return _mm256_sub_epi16(_mm256_set1_epi16(255), alpha);
}

/* Eight pixels, times their coverage, over eight others. */
AVX2 __m256i avx2_over_covered(__m256i source, __m256i target, const uint8_t *coverage)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i four_times = _mm256_setr_epi8(
        0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
    int64_t bytes;
    memcpy(&bytes, coverage, 8);
    __m256i covered = _mm256_shuffle_epi8(_mm256_set1_epi64x(bytes), four_times);
    __m256i low = avx2_mul255(_mm256_unpacklo_epi8(source, zero), _mm256_unpacklo_epi8(covered, zero));
    __m256i high = avx2_mul255(_mm256_unpackhi_epi8(source, zero), _mm256_unpackhi_epi8(covered, zero));
    low = _mm256_add_epi16(low, avx2_mul255(_mm256_unpacklo_epi8(target, zero), avx2_rest(low)));
    high = _mm256_add_epi16(high, avx2_mul255(_mm256_unpackhi_epi8(target, zero), avx2_rest(high)));
    return _mm256_packus_epi16(low, high);
}

/* All bits set in the first `count` of eight lanes. */
AVX2 __m256i avx2_first(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

__attribute__((target("avx2"))) static void avx2_over_word_masked(
    uint32_t *restrict target, const uint8_t *restrict coverage, size_t count, uint32_t word)
{
    __m256i source = _mm256_set1_epi32((int)word);
    for (; count >= 8; count -= 8, target += 8, coverage += 8) {
        __m256i there = _mm256_loadu_si256((const __m256i *)target);
        _mm256_storeu_si256((__m256i *)target, avx2_over_covered(source, there, coverage));
    }
    if (count == 0) return;
    __m256i first = avx2_first(count);
    __m256i there = _mm256_maskload_epi32((const int *)target, first);
    _mm256_maskstore_epi32((int *)target, first, avx2_over_covered(source, there, coverage));
}

__attribute__((target("avx2"))) static void avx2_over_masked(
    uint32_t *restrict target, const uint32_t *restrict source, const uint8_t *restrict coverage, size_t count,
    uint32_t solid)
{
    __m256i opaque = _mm256_set1_epi32((int)solid);
    for (; count >= 8; count -= 8, target += 8, source += 8, coverage += 8) {
        __m256i there = _mm256_loadu_si256((const __m256i *)target);
        __m256i pixels = _mm256_or_si256(_mm256_loadu_si256((const __m256i *)source), opaque);
        _mm256_storeu_si256((__m256i *)target, avx2_over_covered(pixels, there, coverage));
    }
    if (count == 0) return;
    __m256i first = avx2_first(count);
    __m256i there = _mm256_maskload_epi32((const int *)target, first);
    __m256i pixels = _mm256_or_si256(_mm256_maskload_epi32((const int *)source, first), opaque);
    _mm256_maskstore_epi32((int *)target, first, avx2_over_covered(pixels, there, coverage));
}

#undef AVX2

#endif

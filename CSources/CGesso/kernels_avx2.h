/* Drawing over in AVX2: eight pixels at a time, the last ones by masked loads and stores, which touch nothing outside of
 * the run. */
#ifndef GESSO_KERNELS_AVX2_H
#define GESSO_KERNELS_AVX2_H

#include "kernels.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2"))) static inline
#define ALWAYS_INLINE __attribute__((always_inline))

/* x · y / 255, rounded, of 16-bit lanes: (t + t / 256) / 256 of t = x · y + 128 is t · 257 / 65,536. */
AVX2 ALWAYS_INLINE __m256i avx2_mul255(__m256i x, __m256i y)
{
    __m256i t = _mm256_add_epi16(_mm256_mullo_epi16(x, y), _mm256_set1_epi16(128));
    return _mm256_mulhi_epu16(t, _mm256_set1_epi16(257));
}

/* x · c / 32,768, rounded, which one instruction gives, is x · y / 255, rounded, for each x, if c is the right one: near
 * y · 32,768 / 255, and for a few not the nearest. */
static int16_t avx2_factors[256];

static inline bool avx2_is_factor(int32_t factor, int32_t y)
{
    int32_t wrong = 0;
    for (int32_t x = 0; x < 256; x++) wrong += (x * factor + 16384) >> 15 != ((x * y + 128) * 257) >> 16;
    return wrong == 0;
}

static void avx2_find_factors(void)
{
    for (int32_t y = 0; y < 256; y++) {
        int32_t nearest = y == 255 ? INT16_MAX : (y * 65536 + 255) / 510, step = y < 128 ? -1 : 1;
        avx2_factors[y] = (int16_t)(avx2_is_factor(nearest, y) ? nearest : nearest + step);
    }
}

AVX2 uint32_t avx2_word_times(uint32_t word, uint32_t byte)
{
    __m128i factor = _mm_set1_epi16(avx2_factors[byte]), parts = _mm_cvtepu8_epi16(_mm_cvtsi32_si128((int)word));
    __m128i product = _mm_mulhrs_epi16(parts, factor);
    return (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(product, product));
}

/* Eight pixels times bytes, a byte for each component. */
AVX2 ALWAYS_INLINE __m256i avx2_times(__m256i pixels, __m256i bytes)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = avx2_mul255(_mm256_unpacklo_epi8(pixels, zero), _mm256_unpacklo_epi8(bytes, zero));
    __m256i high = avx2_mul255(_mm256_unpackhi_epi8(pixels, zero), _mm256_unpackhi_epi8(bytes, zero));
    return _mm256_packus_epi16(low, high);
}

/* The same of a byte's factor, for all components. */
AVX2 ALWAYS_INLINE __m256i avx2_times_factor(__m256i pixels, __m256i factor)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = _mm256_mulhrs_epi16(_mm256_unpacklo_epi8(pixels, zero), factor);
    return _mm256_packus_epi16(low, _mm256_mulhrs_epi16(_mm256_unpackhi_epi8(pixels, zero), factor));
}

AVX2 ALWAYS_INLINE __m256i avx2_over_pixels(__m256i source, __m256i target)
{
    const __m256i alphas = _mm256_setr_epi8(
        3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15, 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
    __m256i rest = _mm256_xor_si256(_mm256_shuffle_epi8(source, alphas), _mm256_set1_epi8(-1));
    return _mm256_add_epi8(source, avx2_times(target, rest));
}

/* The coverage of eight pixels, for each component. */
AVX2 ALWAYS_INLINE __m256i avx2_coverage(const uint8_t *coverage)
{
    const __m256i four_times = _mm256_setr_epi8(
        0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
    int64_t bytes;
    memcpy(&bytes, coverage, 8);
    return _mm256_shuffle_epi8(_mm256_set1_epi64x(bytes), four_times);
}

/* All bits set in the first `count` of eight lanes. */
AVX2 ALWAYS_INLINE __m256i avx2_first(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

AVX2 void avx2_fill(uint32_t *restrict target, size_t count, uint32_t word)
{
    __m256i pixels = _mm256_set1_epi32((int)word);
    if (count < 8) {
        _mm256_maskstore_epi32((int *)target, avx2_first(count), pixels);
        return;
    }
    uint32_t *last = target + count - 8; /* which the stores before it may overlap */
    if (count >= 64) { /* stores across two lines of the cache take twice as long: all but the first and the last lie in one */
        _mm256_storeu_si256((__m256i *)target, pixels);
        target = (uint32_t *)(((uintptr_t)target + 32) & ~(uintptr_t)31);
    }
    for (; target + 32 <= last; target += 32) {
        _mm256_storeu_si256((__m256i *)target, pixels);
        _mm256_storeu_si256((__m256i *)(target + 8), pixels);
        _mm256_storeu_si256((__m256i *)(target + 16), pixels);
        _mm256_storeu_si256((__m256i *)(target + 24), pixels);
    }
    for (; target < last; target += 8) _mm256_storeu_si256((__m256i *)target, pixels);
    _mm256_storeu_si256((__m256i *)last, pixels);
}

/* One loop for all: `expression` gives eight pixels of `there`, the target's, and of `index`. */
#define AVX2_EACH(load_source, expression) \
    size_t index = 0; \
    for (; index + 8 <= count; index += 8) { \
        __m256i there = _mm256_loadu_si256((const __m256i *)(target + index)); \
        __m256i pixels = load_source(_mm256_loadu_si256((const __m256i *)(AVX2_SOURCE + index))); \
        _mm256_storeu_si256((__m256i *)(target + index), expression); \
    } \
    if (index == count) return; \
    __m256i first = avx2_first(count - index); \
    __m256i there = _mm256_maskload_epi32((const int *)(target + index), first); \
    __m256i pixels = load_source(_mm256_maskload_epi32((const int *)(AVX2_SOURCE + index), first)); \
    _mm256_maskstore_epi32((int *)(target + index), first, expression);

AVX2 void avx2_over_word(uint32_t *restrict target, size_t count, uint32_t word)
{
    __m256i source = _mm256_set1_epi32((int)word), rest = _mm256_set1_epi16(avx2_factors[255 - (word >> 24)]);
#define AVX2_SOURCE target
#define WHATEVER(x) source
    AVX2_EACH(WHATEVER, _mm256_add_epi8(pixels, avx2_times_factor(there, rest)))
#undef WHATEVER
#undef AVX2_SOURCE
}

/* Four pixels to a vector of 16-bit components, and two vectors to a store. */
AVX2 void avx2_ramp(uint32_t *restrict target, size_t count, const uint16_t from[4], const int16_t step[4])
{
    /* Packing takes the lower halves of both first: pixels 0, 1, 4, 5 with 2, 3, 6, 7. */
    const __m256i low_places = _mm256_setr_epi16(0, 0, 0, 0, 1, 1, 1, 1, 4, 4, 4, 4, 5, 5, 5, 5);
    int64_t begin, each;
    memcpy(&begin, from, sizeof begin);
    memcpy(&each, step, sizeof each);
    __m256i by_one = _mm256_set1_epi64x(each), further = _mm256_slli_epi16(by_one, 3);
    __m256i low = _mm256_add_epi16(_mm256_set1_epi64x(begin), _mm256_mullo_epi16(by_one, low_places));
    __m256i high = _mm256_add_epi16(low, _mm256_slli_epi16(by_one, 1));
    for (size_t i = 0; i < count; i += 8) {
        __m256i pixels = _mm256_packus_epi16(_mm256_srli_epi16(low, 8), _mm256_srli_epi16(high, 8));
        if (i + 8 <= count)
            _mm256_storeu_si256((__m256i *)(target + i), pixels);
        else
            _mm256_maskstore_epi32((int *)(target + i), avx2_first(count - i), pixels);
        low = _mm256_add_epi16(low, further);
        high = _mm256_add_epi16(high, further);
    }
}

#define AVX2_SOURCE source
#define AS_THEY_ARE(x) x
#define OPAQUE(x) _mm256_or_si256(x, opaque)

/* Pictures are opaque, or nothing, for long stretches: those are copied, or left alone. Thirty-two pixels are asked at a
 * time, which those of neither kind do not feel. */
AVX2 void avx2_over(uint32_t *restrict target, const uint32_t *restrict source, size_t count)
{
    enum { AHEAD = 288 };
    const __m256i alpha = _mm256_set1_epi32((int)0xff000000);
    for (; count >= 32; count -= 32, target += 32, source += 32) {
        const __m256i *in = (const __m256i *)source;
        __m256i *out = (__m256i *)target;
        if (count > AHEAD) { /* rows of whole screens come from memory, which is asked for early */
            for (int line = 32; line > 0; line -= 16) {
                _mm_prefetch((const char *)(source + AHEAD - line), _MM_HINT_T0);
                _mm_prefetch((const char *)(target + AHEAD - line), _MM_HINT_T0);
            }
        }
        __m256i a = _mm256_loadu_si256(in), b = _mm256_loadu_si256(in + 1);
        __m256i c = _mm256_loadu_si256(in + 2), d = _mm256_loadu_si256(in + 3);
        if (_mm256_testc_si256(_mm256_and_si256(_mm256_and_si256(a, b), _mm256_and_si256(c, d)), alpha)) {
            _mm256_storeu_si256(out, a), _mm256_storeu_si256(out + 1, b);
            _mm256_storeu_si256(out + 2, c), _mm256_storeu_si256(out + 3, d);
            continue;
        }
        __m256i any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
        if (_mm256_testz_si256(any, any)) continue;
        _mm256_storeu_si256(out, avx2_over_pixels(a, _mm256_loadu_si256(out)));
        _mm256_storeu_si256(out + 1, avx2_over_pixels(b, _mm256_loadu_si256(out + 1)));
        _mm256_storeu_si256(out + 2, avx2_over_pixels(c, _mm256_loadu_si256(out + 2)));
        _mm256_storeu_si256(out + 3, avx2_over_pixels(d, _mm256_loadu_si256(out + 3)));
    }
    AVX2_EACH(AS_THEY_ARE, avx2_over_pixels(pixels, there))
}

AVX2 void avx2_over_alpha(
    uint32_t *restrict target, const uint32_t *restrict source, size_t count, uint32_t alpha, uint32_t solid)
{
    __m256i opaque = _mm256_set1_epi32((int)solid), factor = _mm256_set1_epi16(avx2_factors[alpha & 255]);
    AVX2_EACH(OPAQUE, avx2_over_pixels(avx2_times_factor(pixels, factor), there))
}

AVX2 void avx2_over_masked(
    uint32_t *restrict target, const uint32_t *restrict source, const uint8_t *restrict coverage, size_t count,
    uint32_t solid)
{
    __m256i opaque = _mm256_set1_epi32((int)solid);
    AVX2_EACH(OPAQUE, avx2_over_pixels(avx2_times(pixels, avx2_coverage(coverage + index)), there))
}

/* Sums by weights: as in SSE2, with more at a time. */
AVX2 void avx2_weigh_rows(
    uint16_t *restrict sums, const uint8_t *restrict first, ptrdiff_t stride, const uint32_t *restrict weights,
    size_t rows, size_t count)
{
    const __m256i zero = _mm256_setzero_si256();
    size_t begin = 0;
    for (; begin + 64 <= count; begin += 64) {
        __m256i a = zero, b = zero, c = zero, d = zero;
        const uint8_t *samples = first + begin;
        for (size_t row = 0; row < rows; row++, samples += stride) {
            __m256i weight = _mm256_set1_epi16((short)(weights[row] > 65535 ? 65535 : weights[row]));
            __m256i low = _mm256_loadu_si256((const __m256i *)samples);
            __m256i high = _mm256_loadu_si256((const __m256i *)(samples + 32));
            a = _mm256_add_epi16(a, _mm256_mulhi_epu16(_mm256_unpacklo_epi8(zero, low), weight));
            b = _mm256_add_epi16(b, _mm256_mulhi_epu16(_mm256_unpackhi_epi8(zero, low), weight));
            c = _mm256_add_epi16(c, _mm256_mulhi_epu16(_mm256_unpacklo_epi8(zero, high), weight));
            d = _mm256_add_epi16(d, _mm256_mulhi_epu16(_mm256_unpackhi_epi8(zero, high), weight));
        }
        /* Unpacking went by halves of vectors. */
        __m256i *out = (__m256i *)(sums + begin);
        _mm256_storeu_si256(out, _mm256_permute2x128_si256(a, b, 0x20));
        _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(a, b, 0x31));
        _mm256_storeu_si256(out + 2, _mm256_permute2x128_si256(c, d, 0x20));
        _mm256_storeu_si256(out + 3, _mm256_permute2x128_si256(c, d, 0x31));
    }
    if (begin < count) sse2_weigh_rows(sums + begin, first + begin, stride, weights, rows, count - begin);
}

/* One pixel's sum, of even and of odd samples. */
AVX2 ALWAYS_INLINE __m128i avx2_weigh_pixel(const uint16_t *in, const uint16_t *weight, size_t each)
{
    if (each == 2) return _mm_mulhi_epu16(_mm_loadu_si128((const __m128i *)in), _mm_loadu_si128((const __m128i *)weight));
    __m256i sum = _mm256_setzero_si256();
    for (size_t i = 0; i < 4 * each; i += 16) {
        __m256i four = _mm256_loadu_si256((const __m256i *)(in + i));
        sum = _mm256_add_epi16(sum, _mm256_mulhi_epu16(four, _mm256_loadu_si256((const __m256i *)(weight + i))));
    }
    return _mm_add_epi16(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
}

AVX2 ALWAYS_INLINE void avx2_weigh_each(
    uint32_t *restrict target, const uint16_t *restrict values, const int32_t *restrict firsts,
    const uint16_t *restrict weights, size_t each, size_t count)
{
    const __m128i half = _mm_set1_epi16(128);
    size_t x = 0;
    for (; x + 4 <= count; x += 4, firsts += 4, weights += 16 * each) {
        __m128i a = avx2_weigh_pixel(values + 4 * (size_t)firsts[0], weights, each);
        __m128i b = avx2_weigh_pixel(values + 4 * (size_t)firsts[1], weights + 4 * each, each);
        __m128i c = avx2_weigh_pixel(values + 4 * (size_t)firsts[2], weights + 8 * each, each);
        __m128i d = avx2_weigh_pixel(values + 4 * (size_t)firsts[3], weights + 12 * each, each);
        __m128i low = _mm_add_epi16(_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b));
        __m128i high = _mm_add_epi16(_mm_unpacklo_epi64(c, d), _mm_unpackhi_epi64(c, d));
        low = _mm_srli_epi16(_mm_add_epi16(low, half), 8), high = _mm_srli_epi16(_mm_add_epi16(high, half), 8);
        _mm_storeu_si128((__m128i *)(target + x), _mm_packus_epi16(low, high));
    }
    if (x < count) sse2_weigh_columns(target + x, values, firsts, weights, each, count - x);
}

AVX2 void avx2_weigh_columns(
    uint32_t *restrict target, const uint16_t *restrict values, const int32_t *restrict firsts,
    const uint16_t *restrict weights, size_t each, size_t count)
{
    /* The counts that are usual are known when it is compiled. */
    if (each == 2)
        avx2_weigh_each(target, values, firsts, weights, 2, count);
    else if (each == 4)
        avx2_weigh_each(target, values, firsts, weights, 4, count);
    else
        avx2_weigh_each(target, values, firsts, weights, each, count);
}

#undef AVX2_SOURCE
#undef OPAQUE
#undef AS_THEY_ARE
#undef AVX2_EACH
#undef AVX2
#undef ALWAYS_INLINE

#endif

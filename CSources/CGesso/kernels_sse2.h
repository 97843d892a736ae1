/* Sums by weights, on SSE2's product of 16 bits by 16 bits that keeps the upper half. */
#ifndef GESSO_KERNELS_SSE2_H
#define GESSO_KERNELS_SSE2_H

#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void sse2_weigh_rows(
    uint16_t *restrict sums, const uint8_t *restrict first, ptrdiff_t stride, const uint32_t *restrict weights,
    size_t rows, size_t count)
{
    const __m128i zero = _mm_setzero_si128();
    size_t begin = 0;
    /* In pieces whose sums stay in registers. */
    for (; begin + 32 <= count; begin += 32) {
        __m128i a = zero, b = zero, c = zero, d = zero;
        const uint8_t *samples = first + begin;
        for (size_t row = 0; row < rows; row++, samples += stride) {
            __m128i weight = _mm_set1_epi16((short)(weights[row] > 65535 ? 65535 : weights[row]));
            __m128i low = _mm_loadu_si128((const __m128i *)samples);
            __m128i high = _mm_loadu_si128((const __m128i *)(samples + 16));
            a = _mm_add_epi16(a, _mm_mulhi_epu16(_mm_unpacklo_epi8(zero, low), weight));
            b = _mm_add_epi16(b, _mm_mulhi_epu16(_mm_unpackhi_epi8(zero, low), weight));
            c = _mm_add_epi16(c, _mm_mulhi_epu16(_mm_unpacklo_epi8(zero, high), weight));
            d = _mm_add_epi16(d, _mm_mulhi_epu16(_mm_unpackhi_epi8(zero, high), weight));
        }
        _mm_storeu_si128((__m128i *)(sums + begin), a);
        _mm_storeu_si128((__m128i *)(sums + begin + 8), b);
        _mm_storeu_si128((__m128i *)(sums + begin + 16), c);
        _mm_storeu_si128((__m128i *)(sums + begin + 24), d);
    }
    for (; begin < count; begin++) {
        uint16_t sum = 0;
        for (size_t row = 0; row < rows; row++) {
            uint32_t weight = weights[row] > 65535 ? 65535 : weights[row];
            sum += (uint16_t)(((uint32_t)first[(ptrdiff_t)row * stride + (ptrdiff_t)begin] << 8) * weight >> 16);
        }
        sums[begin] = sum;
    }
}

static void sse2_weigh_columns(
    uint32_t *restrict target, const uint16_t *restrict values, const int32_t *restrict firsts,
    const uint16_t *restrict weights, size_t each, size_t count)
{
    const __m128i half = _mm_setr_epi16(128, 128, 128, 128, 0, 0, 0, 0);
    for (size_t x = 0; x < count; x++) {
        const uint16_t *in = values + 4 * (size_t)firsts[x], *weight = weights + 4 * each * x;
        __m128i total = half;
        for (size_t i = 0; i < each; i += 2, in += 8, weight += 8)
            total = _mm_add_epi16(
                total, _mm_mulhi_epu16(_mm_loadu_si128((const __m128i *)in), _mm_loadu_si128((const __m128i *)weight)));
        total = _mm_srli_epi16(_mm_add_epi16(total, _mm_srli_si128(total, 8)), 8);
        target[x] = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(total, total));
    }
}

#endif

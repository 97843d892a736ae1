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

/* Turns two squares of 8 × 8 bits: bit c of byte r becomes bit r of byte c. By blocks of 1, 2 and 4: Hacker's Delight. */
static inline __m128i sse2_turn(__m128i x)
{
    __m128i t = _mm_and_si128(_mm_xor_si128(x, _mm_srli_epi64(x, 7)), _mm_set1_epi64x(0x00aa00aa00aa00aa));
    x = _mm_xor_si128(_mm_xor_si128(x, t), _mm_slli_epi64(t, 7));
    t = _mm_and_si128(_mm_xor_si128(x, _mm_srli_epi64(x, 14)), _mm_set1_epi64x(0x0000cccc0000cccc));
    x = _mm_xor_si128(_mm_xor_si128(x, t), _mm_slli_epi64(t, 14));
    t = _mm_and_si128(_mm_xor_si128(x, _mm_srli_epi64(x, 28)), _mm_set1_epi64x(0x00000000f0f0f0f0));
    return _mm_xor_si128(_mm_xor_si128(x, t), _mm_slli_epi64(t, 28));
}

/* All planes at once, of which as many stay as the width says. */
static size_t sse2_pack(uint8_t *widths, uint8_t *planes, const uint8_t *values, size_t blocks)
{
    uint8_t *out = planes;
    for (size_t block = 0; block < blocks; block++, values += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)values);
        __m128i folded = _mm_xor_si128(_mm_add_epi8(x, x), _mm_cmpgt_epi8(_mm_setzero_si128(), x));
        __m128i all = _mm_or_si128(folded, _mm_srli_si128(folded, 8));
        all = _mm_or_si128(all, _mm_srli_si128(all, 4));
        uint32_t four = (uint32_t)_mm_cvtsi128_si32(all), any = (four | four >> 8 | four >> 16 | four >> 24) & 255;
        unsigned width = 32 - (unsigned)__builtin_clz(any << 1 | 1) - 1;
        widths[block / 2] |= (uint8_t)(width << block % 2 * 4);
        __m128i turned = sse2_turn(folded);
        _mm_storeu_si128((__m128i *)out, _mm_unpacklo_epi8(turned, _mm_srli_si128(turned, 8)));
        out += 2 * width;
    }
    return (size_t)(out - planes);
}

static void sse2_unpack(uint8_t *values, const uint8_t *widths, const uint8_t *planes, size_t blocks, size_t bytes)
{
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const uint8_t *end = planes + bytes;
    for (size_t block = 0; block < blocks; block++, values += 16) {
        unsigned width = widths[block / 2] >> block % 2 * 4 & 15;
        uint8_t last[16] = {0};
        const uint8_t *in = planes;
        if (end - planes < 16) {
            memcpy(last, planes, 2 * width); /* the last ones, behind which nothing may be read */
            in = last;
        }
        planes += 2 * width;
        __m128i x = _mm_loadu_si128((const __m128i *)in);
        x = _mm_and_si128(x, _mm_cmplt_epi8(places, _mm_set1_epi8((char)(2 * width))));
        x = _mm_packus_epi16(_mm_and_si128(x, _mm_set1_epi16(255)), _mm_srli_epi16(x, 8));
        __m128i folded = sse2_turn(x);
        __m128i half = _mm_and_si128(_mm_srli_epi16(folded, 1), _mm_set1_epi8(127));
        __m128i sign = _mm_sub_epi8(_mm_setzero_si128(), _mm_and_si128(folded, _mm_set1_epi8(1)));
        _mm_storeu_si128((__m128i *)values, _mm_xor_si128(half, sign));
    }
}

/* Four words at a time: sums of pairs, of fours, and what there was before. */
static void sse2_running_sums(uint32_t *sums, const uint32_t *words, size_t count, uint32_t last)
{
    __m128i before = _mm_set1_epi32((int)last);
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        __m128i x = _mm_loadu_si128((const __m128i *)(words + i));
        x = _mm_add_epi8(x, _mm_slli_si128(x, 4));
        x = _mm_add_epi8(_mm_add_epi8(x, _mm_slli_si128(x, 8)), before);
        _mm_storeu_si128((__m128i *)(sums + i), x);
        before = _mm_shuffle_epi32(x, 0xff);
    }
    last = (uint32_t)_mm_cvtsi128_si32(before);
    for (; i < count; i++) sums[i] = last = gesso_add_bytes(last, words[i]);
}

#endif

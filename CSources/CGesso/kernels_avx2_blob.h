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

/* Which of eight bytes are not 0; and the chosen ones, one after the other. */
AVX2 ALWAYS_INLINE unsigned avx2_not_zero(__m128i bytes)
{
    return ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) & 255;
}
AVX2 ALWAYS_INLINE __m128i avx2_choose(__m128i bytes, unsigned chosen)
{
    return _mm_shuffle_epi8(bytes, _mm_loadl_epi64((const __m128i *)(avx2_chosen + chosen)));
}

/* The masks of sixty-four pixels, of which some are not as those above. Up to eight bytes more are written to lists. */
AVX2 ALWAYS_INLINE unsigned avx2_add_masks(uint64_t differs, uint64_t as_left, gesso_masks *m)
{
    __m128i differences = _mm_cvtsi64_si128((long long)differs), lefts = _mm_cvtsi64_si128((long long)as_left);
    unsigned marked = avx2_not_zero(differences), with_left = avx2_not_zero(lefts);
    unsigned count = (unsigned)__builtin_popcount(marked);
    _mm_storel_epi64((__m128i *)(m->differs + m->marked_count), avx2_choose(differences, marked));
    _mm_storel_epi64((__m128i *)(m->left + m->left_count), avx2_choose(lefts, with_left));
    unsigned bits = avx2_not_zero(avx2_choose(lefts, marked)) & ((1u << count) - 1);
    uint16_t two;
    memcpy(&two, m->has_left + m->marked_count / 8, 2);
    two |= (uint16_t)(bits << m->marked_count % 8);
    memcpy(m->has_left + m->marked_count / 8, &two, 2);
    m->marked_count += count;
    m->left_count += (unsigned)__builtin_popcount(with_left);
    return marked;
}

/* The literals of a group, with those above them. */
AVX2 ALWAYS_INLINE void avx2_add_literals(
    const uint32_t *here, const uint32_t *above, unsigned literal, gesso_masks *m, uint32_t *words, uint32_t *aboves)
{
    __m256i places = avx2_places(avx2_chosen + literal);
    avx2_store(words + m->literal_count, _mm256_permutevar8x32_epi32(avx2_load(here), places));
    avx2_store(aboves + m->literal_count, _mm256_permutevar8x32_epi32(avx2_load(above), places));
    m->literal_count += (unsigned)__builtin_popcount(literal);
}

/* Groups with literals that are not gathered yet: how many there are in sixty-four pixels cannot be foreseen, and in many
 * of these it does not matter. */
enum { AVX2_GATHERED = 32 };
typedef struct avx2_groups {
    size_t count;
    uint32_t at[8 * AVX2_GATHERED + 8];
    uint8_t literals[8 * AVX2_GATHERED + 8];
} avx2_groups;

AVX2 ALWAYS_INLINE void avx2_remember(avx2_groups *groups, size_t i, uint64_t literals)
{
    __m128i bytes = _mm_cvtsi64_si128((long long)literals);
    unsigned which = avx2_not_zero(bytes);
    _mm_storel_epi64((__m128i *)(groups->literals + groups->count), avx2_choose(bytes, which));
    __m256i at = _mm256_slli_epi32(avx2_places(avx2_chosen + which), 3);
    avx2_store(groups->at + groups->count, _mm256_add_epi32(at, _mm256_set1_epi32((int)i)));
    groups->count += (unsigned)__builtin_popcount(which);
}

AVX2 ALWAYS_INLINE void avx2_gather(
    avx2_groups *groups, const uint32_t *pixels, uint32_t width, gesso_masks *m, uint32_t *words, uint32_t *aboves)
{
    for (size_t k = 0; k < groups->count; k++) {
        const uint32_t *here = pixels + groups->at[k];
        avx2_add_literals(here, here - width, groups->literals[k], m, words, aboves);
    }
    groups->count = 0;
}

AVX2 void avx2_find_masks(
    const uint32_t *pixels, size_t count, uint32_t width, const uint32_t *row, gesso_masks *masks, uint32_t *words,
    uint32_t *aboves)
{
    gesso_masks m = *masks;
    avx2_groups gathered;
    m.marked_count = m.left_count = m.literal_count = gathered.count = 0;
    for (size_t i = 0; i < count; i += 64) {
        size_t pixels_here = count - i < 64 ? count - i : 64, groups = (pixels_here + 7) / 8;
        uint32_t mixed[64], filled[72];
        const uint32_t *above = gesso_above(pixels, i, groups * 8, width, row, mixed), *here = pixels + i;
        if (i == 0 || pixels_here % 8) {
            /* Nothing is before the first pixel; the last group may have fewer: the others are as those above. */
            filled[7] = pixels[i ? i - 1 : 0];
            memcpy(filled + 8, above, groups * 32);
            here = memcpy(filled + 8, here, pixels_here * 4);
        }
        uint64_t differs = 0, as_left = 0;
        for (size_t g = 0; g < groups; g++)
            differs |= (uint64_t)(avx2_equal(avx2_load(here + 8 * g), avx2_load(above + 8 * g)) ^ 255) << 8 * g;
        m.marked[i / 64] = 0;
        if (differs == 0) continue;
        for (size_t g = 0; g < groups; g++)
            as_left |= (uint64_t)avx2_equal(avx2_load(here + 8 * g), avx2_load(here + 8 * g - 1)) << 8 * g;
        as_left &= differs;
        m.marked[i / 64] = (uint8_t)avx2_add_masks(differs, as_left, &m);
        uint64_t literals = differs & ~as_left;
        if (literals == 0) continue;
        if (here == pixels + i && i >= width) {
            avx2_remember(&gathered, i, literals);
            if (gathered.count > 8 * (AVX2_GATHERED - 1)) avx2_gather(&gathered, pixels, width, &m, words, aboves);
            continue;
        }
        avx2_gather(&gathered, pixels, width, &m, words, aboves);
        for (size_t g = 0; g < groups; g++)
            avx2_add_literals(here + 8 * g, above + 8 * g, (unsigned)(literals >> 8 * g) & 255, &m, words, aboves);
    }
    avx2_gather(&gathered, pixels, width, &m, words, aboves);
    *masks = m;
}

/* What is left to read. */
typedef struct avx2_reader {
    const uint8_t *differs, *left;
    const uint32_t *words;
    unsigned is_invalid;
    __m256i differences, solid;
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
    found = _mm256_or_si256(_mm256_add_epi8(found, _mm256_and_si256(up, r->differences)), r->solid);
    __m256i result = _mm256_permutevar8x32_epi32(avx2_blend(found, up, places), origins);
    return avx2_blend(result, _mm256_set1_epi32((int)before), origins);
}

/* Bits from one on, at least 57: eight bytes are read behind each list. */
AVX2 ALWAYS_INLINE uint64_t avx2_bits(const uint8_t *bits, size_t at)
{
    uint64_t eight;
    memcpy(&eight, bits + at / 8, 8);
    return eight >> at % 8;
}

/* A group by itself, which may be shorter, and others of which may be above it. */
AVX2 ALWAYS_INLINE void avx2_expand_alone(
    avx2_reader *r, uint32_t *pixels, size_t i, size_t count, uint32_t width, const uint32_t *row, bool is_marked,
    bool has_left)
{
    uint32_t mixed[8];
    __m256i result = avx2_load(gesso_above(pixels, i, 8, width, row, mixed));
    if (is_marked) result = avx2_expand_group(r, result, has_left, i ? pixels[i - 1] : row[0]);
    avx2_store(mixed, result);
    memcpy(pixels + i, mixed, (count - i < 8 ? count - i : 8) * 4);
}

/* As many whole groups as a row has at a time, up to 56: first all as those above, and then the marked ones, for it cannot
 * be foreseen how many these are. */
AVX2 bool avx2_expand_masks(
    uint32_t *pixels, size_t count, uint32_t width, const uint32_t *row, const gesso_masks *masks, const uint32_t *words,
    uint32_t differences, uint32_t solid)
{
    enum { MOST_GROUPS = 56 };
    avx2_reader r = {
        masks->differs, masks->left, words, 0, _mm256_set1_epi32((int)differences), _mm256_set1_epi32((int)solid)};
    size_t groups = width / 8 < MOST_GROUPS ? width / 8 : MOST_GROUPS, step = groups * 8;
    uint64_t of_step = ((uint64_t)1 << groups) - 1;
    for (size_t i = 0; i < count;) {
        uint64_t marked = avx2_bits(masks->marked, i / 8) & of_step;
        bool is_alone = i < width || count - i < step;
        if (marked == 0 && !is_alone) { /* one copy, as far as it does not reach what it copies */
            size_t end = i + step;
            while (count - end >= step && (avx2_bits(masks->marked, end / 8) & of_step) == 0) end += step;
            for (size_t piece; i < end; i += piece) {
                piece = end - i < width ? end - i : width;
                memcpy(pixels + i, pixels + i - width, piece * 4);
            }
            continue;
        }
        uint64_t has_left = avx2_bits(masks->has_left, (size_t)(r.differs - masks->differs));
        if (is_alone) {
            avx2_expand_alone(&r, pixels, i, count, width, row, marked & 1, has_left & 1);
            i += 8;
            continue;
        }
        uint32_t *here = pixels + i;
        const uint32_t *above = here - width;
        memcpy(here, above, step * 4);
        for (; marked; marked &= marked - 1, has_left >>= 1) {
            size_t k = 8 * (size_t)__builtin_ctzll(marked);
            avx2_store(here + k, avx2_expand_group(&r, avx2_load(above + k), has_left & 1, here[(ptrdiff_t)k - 1]));
        }
        i += step;
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

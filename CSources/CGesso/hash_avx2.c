/* XXH3 with AVX2. */
#if defined(__x86_64__) && defined(__clang__)
#include "hash.h"

#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#define XXH_INLINE_ALL
#define XXH_VECTOR 2 /* XXH_AVX2, which the compiler's flags do not ask for */
#include <xxhash.h>

uint64_t gesso_hash64_avx2(const void *bytes, size_t length) { return XXH3_64bits(bytes, length); }

gesso_hash gesso_hash128_avx2(const void *bytes, size_t length)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, length);
    return (gesso_hash){.low = hash.low64, .high = hash.high64};
}
#pragma clang attribute pop
#endif

#include "hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Shorter ones are not hashed by vectors. */
enum { LEAST = 240 };

#ifdef GESSO_HASH_HAS_AVX2
static int has_avx2(size_t length) { return length > LEAST && __builtin_cpu_supports("avx2"); }
#endif

uint64_t gesso_hash64(const void *bytes, size_t length)
{
#ifdef GESSO_HASH_HAS_AVX2
    if (has_avx2(length)) return gesso_hash64_avx2(bytes, length);
#endif
    return XXH3_64bits(bytes, length);
}

gesso_hash gesso_hash_bytes(const void *bytes, size_t length)
{
    if (!bytes) bytes = "", length = 0;
#ifdef GESSO_HASH_HAS_AVX2
    if (has_avx2(length)) return gesso_hash128_avx2(bytes, length);
#endif
    XXH128_hash_t hash = XXH3_128bits(bytes, length);
    return (gesso_hash){.low = hash.low64, .high = hash.high64};
}

#include "internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

gesso_hash gesso_hash_bytes(const void *bytes, size_t length)
{
    XXH128_hash_t hash = XXH3_128bits(bytes ? bytes : "", bytes ? length : 0);
    return (gesso_hash){.low = hash.low64, .high = hash.high64};
}

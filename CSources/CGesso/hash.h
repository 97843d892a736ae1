/* hash.h: XXH3, by the widest vectors that the processor has. */
#ifndef GESSO_HASH_H
#define GESSO_HASH_H

#include "internal.h"

/* 64 bits. */
uint64_t gesso_hash64(const void *bytes, size_t length);

#if defined(__x86_64__) && defined(__clang__)
#define GESSO_HASH_HAS_AVX2
uint64_t gesso_hash64_avx2(const void *bytes, size_t length);
gesso_hash gesso_hash128_avx2(const void *bytes, size_t length);
#endif

#endif

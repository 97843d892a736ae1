/* The compiler makes vectors of most of these loops. The edges of shapes are runs of a few pixels, where its loops spend
 * their time on beginning and ending, and it does not see the instruction that resampling needs: those are written by
 * hand. */
#include "kernels.h"

#include "include/gesso.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* All sets round alike: none may fuse what others cannot. */
#pragma STDC FP_CONTRACT OFF

/* The reference: one pixel at a time. */
#define KERNEL(name) scalar_##name
#define TARGET
#define LOOP _Pragma("clang loop vectorize(disable) interleave(disable)")
#define NAME "scalar"
#define WEIGHED(name) scalar_##name
#define SUMS(name) scalar_##name
#include "kernels.inc"

#if defined(__x86_64__)
#include "kernels_sse2.h"
#define WEIGHED_BY_HAND
#define PACKS_BY_HAND
#define KERNEL(name) sse2_##name
#define TARGET
#define LOOP
#define NAME "sse2"
#define WEIGHED(name) sse2_##name
#define SUMS(name) sse2_##name
#include "kernels.inc"

#include "kernels_avx2.h"
#include "kernels_avx2_cover.h"
#include "kernels_avx2_blob.h"
#define BY_HAND
#define BLOBS_BY_HAND
#define KERNEL(name) avx2_##name
#define TARGET __attribute__((target("avx2")))
#define LOOP
#define NAME "avx2"
#define WEIGHED(name) avx2_##name
#define SUMS(name) sse2_##name
#include "kernels.inc"
#undef BY_HAND
#undef BLOBS_BY_HAND
#undef PACKS_BY_HAND
#undef WEIGHED_BY_HAND

/* The wider ones are for coverage only: elsewhere memory is the limit, or what is drawn is not as wide. */
#define KERNEL(name) avx512_##name
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define LOOP
#include "kernels_cover.inc"
#undef KERNEL
#undef TARGET
#undef LOOP

static gesso_kernels avx512_kernels;

/* Processors before these instructions lower their clock for such vectors. */
static bool has_fast_avx512(void)
{
    return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static void begin_avx(void)
{
    avx2_find_factors();
    avx2_begin();
    avx512_kernels = avx2_kernels;
    avx512_kernels.name = "avx512";
    avx512_kernels.cover_edges = avx512_cover_edges;
    avx512_kernels.cover_ring = avx512_cover_ring;
    avx512_kernels.cover_bytes = avx512_cover_bytes;
}
#elif defined(__aarch64__)
#define KERNEL(name) neon_##name
#define TARGET
#define LOOP
#define NAME "neon"
#define WEIGHED(name) neon_##name
#define SUMS(name) neon_##name
#include "kernels.inc"
#endif

const gesso_kernels *gesso_kernels_named(const char *name)
{
    if (strcmp(name, "scalar") == 0) return &scalar_kernels;
#if defined(__x86_64__)
    if (strcmp(name, "sse2") == 0) return &sse2_kernels;
    bool is_wide = strcmp(name, "avx512") == 0;
    if (is_wide ? has_fast_avx512() : strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2")) {
        static pthread_once_t begun = PTHREAD_ONCE_INIT;
        pthread_once(&begun, begin_avx);
        return is_wide ? &avx512_kernels : &avx2_kernels;
    }
#elif defined(__aarch64__)
    if (strcmp(name, "neon") == 0) return &neon_kernels;
#endif
    return NULL;
}

static const gesso_kernels *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
    const char *forced = getenv("GESSO_SIMD");
    if (forced) chosen = gesso_kernels_named(forced);
    const char *names[] = {"avx512", "avx2", "neon", "sse2", "scalar"};
    for (int i = 0; !chosen && i < 5; i++) chosen = gesso_kernels_named(names[i]);
}

const gesso_kernels *gesso_kernels_get(void)
{
    pthread_once(&once, choose);
    return chosen;
}

const char *gesso_cpu_features(void) { return gesso_kernels_get()->name; }

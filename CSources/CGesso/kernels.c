/* The compiler makes vectors of most of these loops. The edges of shapes are runs of a few pixels, where its loops spend
 * their time on beginning and ending, and it does not see the instruction that resampling needs: those are written by
 * hand. */
#include "kernels.h"

#include "include/gesso.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2")) {
        static pthread_once_t begun = PTHREAD_ONCE_INIT;
        pthread_once(&begun, avx2_begin);
        return &avx2_kernels;
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
    const char *names[] = {"avx2", "neon", "sse2", "scalar"};
    for (int i = 0; !chosen && i < 4; i++) chosen = gesso_kernels_named(names[i]);
}

const gesso_kernels *gesso_kernels_get(void)
{
    pthread_once(&once, choose);
    return chosen;
}

const char *gesso_cpu_features(void) { return gesso_kernels_get()->name; }

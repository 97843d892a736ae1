/* The compiler makes vectors of these loops: as fast as ours by hand, and the same bytes by construction. */
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
#include "kernels.inc"

#if defined(__x86_64__)
#define KERNEL(name) sse2_##name
#define TARGET
#define LOOP
#define NAME "sse2"
#include "kernels.inc"

#define KERNEL(name) avx2_##name
#define TARGET __attribute__((target("avx2")))
#define LOOP
#define NAME "avx2"
#include "kernels.inc"
#elif defined(__aarch64__)
#define KERNEL(name) neon_##name
#define TARGET
#define LOOP
#define NAME "neon"
#include "kernels.inc"
#endif

const gesso_kernels *gesso_kernels_named(const char *name)
{
    if (strcmp(name, "scalar") == 0) return &scalar_kernels;
#if defined(__x86_64__)
    if (strcmp(name, "sse2") == 0) return &sse2_kernels;
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2")) return &avx2_kernels;
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

/* What the machine can do: memory that streams, and the peak of int8 and int32 arithmetic. Threads
 * share it as they share the loops of operators: what holds those up holds up probes too. */
#include "cvmgen_threads.h"
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

/* What copies and streams read and write. */
typedef struct streams {
    const uint32_t *x;
    uint32_t *y, *sums;
    int64_t read, written, chunks;
    uint32_t zero;
} streams;

static void copy_part(const void *context, int64_t low, int64_t high)
{
    const streams *const call = context;
    const uint32_t *restrict const x = call->x;
    uint32_t *restrict const y = call->y;
    const uint32_t zero = call->zero;
    for (int64_t i = low; i < high; ++i)
        y[i] = x[i] | zero;
}

/* Copy n elements. Compilers make memcpy of a loop that only copies, which takes another way to
 * memory; the caller's 0 keeps it a loop. */
void probe_copy(const uint32_t *x, uint32_t *y, int64_t n, uint32_t zero)
{
    const streams call = {.x = x, .y = y, .zero = zero};
    cvmgen_share(n, true, copy_part, &call);
}

static void stream_part(const void *context, int64_t low, int64_t high)
{
    const streams *const call = context;
    const uint32_t *restrict const x = call->x;
    uint32_t *restrict const y = call->y;
    const int64_t n = call->read, m = call->written, chunks = call->chunks;
    for (int64_t c = low; c < high; ++c) {
        const int64_t end = n * (c + 1) / chunks, last = m * (c + 1) / chunks;
        uint32_t sum = 0;
        for (int64_t i = n * c / chunks; i < end; ++i)
            sum += x[i];
        for (int64_t j = m * c / chunks; j < last; ++j)
            y[j] = sum;
        call->sums[c] = sum;
    }
}

/* Read n elements and write m, chunk by chunk in turns, so that both pass through the caches
 * together. The sum of each chunk is kept: compilers leave out what nobody asks for. */
void probe_stream(const uint32_t *x, int64_t n, uint32_t *y, int64_t m, uint32_t *sums,
                  int64_t chunks)
{
    const streams call = {x, y, sums, n, m, chunks, 0};
    cvmgen_share(chunks, true, stream_part, &call);
}

/* The peak of the best int8 product of this machine: `DOT(i)` adds VECTOR products to accumulator
 * i, with the operands that stand behind the accumulators. */
#if defined(__AVX512VNNI__)
#define NAME "vpdpbusd, 512 bits"
#define VECTOR 64
#define DOT(i) "vpdpbusd %12, %12, %" #i "\n"
#define KEPT "v"
typedef __m512i vector;
#elif defined(__AVXVNNI__)
#define NAME "vpdpbusd, 256 bits"
#define VECTOR 32
#define DOT(i) "%{vex%} vpdpbusd %12, %12, %" #i "\n"
#define KEPT "x"
typedef __m256i vector;
#elif defined(__AVX2__)
/* Products of 16 bits, since sums of two of 8 saturate. */
#define NAME "vpmaddwd, 256 bits"
#define VECTOR 16
#define DOT(i) "vpmaddwd %12, %12, %%ymm15\nvpaddd %%ymm15, %" #i ", %" #i "\n"
#define KEPT "x"
#define CHANGED "xmm15"
typedef __m256i vector;
#elif defined(__ARM_FEATURE_DOTPROD)
#define NAME "sdot, 128 bits"
#define VECTOR 16
#define DOT(i) "sdot %" #i ".4s, %12.16b, %12.16b\n"
#define KEPT "w"
typedef int8x16_t vector;
#else
#define NAME "int32 multiply-add"
#endif

#ifndef CHANGED
#define CHANGED "cc"
#endif

const char *probe_dot_name(void)
{
    return NAME;
}

#ifdef DOT
/* Steps of sums of products. One statement holds a step of all accumulators: compilers move them
 * between statements. */
static void dot_part(const void *context, int64_t low, int64_t high)
{
    const vector operand = {0};
    vector a = operand, b = a, c = a, d = a, e = a, f = a;
    vector g = a, h = a, i = a, j = a, k = a, l = a;
    for (int64_t s = low; s < high; ++s)
        __asm__ volatile(DOT(0) DOT(1) DOT(2) DOT(3) DOT(4) DOT(5)
                         DOT(6) DOT(7) DOT(8) DOT(9) DOT(10) DOT(11)
                         : "+" KEPT(a), "+" KEPT(b), "+" KEPT(c), "+" KEPT(d),
                           "+" KEPT(e), "+" KEPT(f), "+" KEPT(g), "+" KEPT(h),
                           "+" KEPT(i), "+" KEPT(j), "+" KEPT(k), "+" KEPT(l)
                         : KEPT(operand)
                         : CHANGED);
    (void)context;
}
#endif

/* int32 multiply and add on numbers that stay in registers. */
enum { LANES = 256 };
static void multiply_add_part(const void *context, int64_t low, int64_t high)
{
    const uint32_t factor = *(const uint32_t *)context | 1;
    uint32_t acc[LANES], sum = 0;
    for (int i = 0; i < LANES; ++i)
        acc[i] = (uint32_t)i;
    for (int64_t s = low; s < high; ++s)
        for (int i = 0; i < LANES; ++i)
            acc[i] = acc[i] * factor + 12345u;
    for (int i = 0; i < LANES; ++i)
        sum += acc[i];
    __asm__ volatile("" : : "r"(sum)); /* or nobody asks for it */
}

/* Both return how many products all threads have made. */
int64_t probe_multiply_add(int64_t steps, uint32_t factor)
{
    cvmgen_share(steps, true, multiply_add_part, &factor);
    return steps * LANES;
}

int64_t probe_dot(int64_t steps, uint32_t factor)
{
#ifdef DOT
    (void)factor;
    cvmgen_share(steps, true, dot_part, NULL);
    return steps * 12 * VECTOR;
#else
    return probe_multiply_add(steps, factor);
#endif
}

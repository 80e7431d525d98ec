/* What the machine can do: memory that streams, and the peak of int8 and int32 arithmetic. */
#include <stdint.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

#define CHUNK 4096

/* Copy n elements. Compilers make memcpy of a loop that only copies, which takes another way to
 * memory; the caller's 0 keeps it a loop. */
void probe_copy(const int32_t *restrict x, int32_t *restrict y, int64_t n, int32_t zero)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i)
        y[i] = x[i] | zero;
}

/* Read n elements and write m, in turns, so that both pass through the caches together. */
uint32_t probe_stream(const uint32_t *restrict x, int64_t n, uint32_t *restrict y, int64_t m)
{
    const int64_t larger = n > m ? n : m, chunks = (larger + CHUNK - 1) / CHUNK;
    uint32_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int64_t c = 0; c < chunks; ++c) {
        const int64_t end = n * (c + 1) / chunks, last = m * (c + 1) / chunks;
        uint32_t sum = 0;
        for (int64_t i = n * c / chunks; i < end; ++i)
            sum += x[i];
        for (int64_t j = m * c / chunks; j < last; ++j)
            y[j] = sum;
        total += sum;
    }
    return total;
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

int64_t probe_multiply_add(int64_t steps, int64_t threads, int32_t *sink);

/* Returns how many products each of `threads` has made. One statement holds a step of all
 * accumulators: compilers move them between statements. */
int64_t probe_dot(int64_t steps, int64_t threads, int32_t *sink)
{
#ifdef DOT
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < threads; ++t) {
        const vector operand = {0};
        vector a = operand, b = a, c = a, d = a, e = a, f = a;
        vector g = a, h = a, i = a, j = a, k = a, l = a;
        for (int64_t s = 0; s < steps; ++s)
            __asm__ volatile(DOT(0) DOT(1) DOT(2) DOT(3) DOT(4) DOT(5)
                             DOT(6) DOT(7) DOT(8) DOT(9) DOT(10) DOT(11)
                             : "+" KEPT(a), "+" KEPT(b), "+" KEPT(c), "+" KEPT(d),
                               "+" KEPT(e), "+" KEPT(f), "+" KEPT(g), "+" KEPT(h),
                               "+" KEPT(i), "+" KEPT(j), "+" KEPT(k), "+" KEPT(l)
                             : KEPT(operand)
                             : CHANGED);
        sink[t] = 0;
    }
    return steps * 12 * VECTOR;
#else
    return probe_multiply_add(steps, threads, sink);
#endif
}

/* int32 multiply and add on numbers that stay in registers; returns as `probe_dot` does. */
int64_t probe_multiply_add(int64_t steps, int64_t threads, int32_t *sink)
{
    enum { LANES = 256 };
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < threads; ++t) {
        uint32_t acc[LANES], factor = (uint32_t)sink[t] | 1;
        for (int i = 0; i < LANES; ++i)
            acc[i] = (uint32_t)i;
        for (int64_t s = 0; s < steps; ++s)
            for (int i = 0; i < LANES; ++i)
                acc[i] = acc[i] * factor + 12345u;
        uint32_t sum = 0;
        for (int i = 0; i < LANES; ++i)
            sum += acc[i];
        sink[t] = (int32_t)sum;
    }
    return steps * LANES;
}

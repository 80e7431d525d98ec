/* CUDA's functions on integers and its atomics. */
#ifndef CVMGEN_CPU_FUNCTIONS_H
#define CVMGEN_CPU_FUNCTIONS_H

static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
static inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
static inline int __ffs(int bits) { return __builtin_ffs(bits); }
static inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
static inline int __clz(int bits) { return bits ? __builtin_clz((unsigned)bits) : 32; }
static inline int __clzll(long long bits) {
    return bits ? __builtin_clzll((unsigned long long)bits) : 64;
}

static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline long long __mul64hi(long long a, long long b) {
    return (long long)((__int128)a * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

/* sum plus the products of four bytes with four; modulo 2^32, as on a device. */
static inline int __dp4a(int a, int b, int sum) {
    unsigned result = (unsigned)sum;
    for (int shift = 0; shift < 32; shift += 8)
        result += (unsigned)((int8_t)(a >> shift) * (int8_t)(b >> shift));
    return (int)result;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (int shift = 0; shift < 32; shift += 8)
        sum += (unsigned)(uint8_t)(a >> shift) * (uint8_t)(b >> shift);
    return sum;
}
static inline int __dp4a(char4 a, char4 b, int sum) {
    return (int)((unsigned)sum + (unsigned)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w));
}
static inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) {
    return sum + (unsigned)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}

template <typename T> static inline T __ldg(const T *at) { return *at; }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}

/* ---------------------------------------------------------------- atomics */

/* Threads take turns, so that none of these needs to be atomic here; they are so that a race
   detector tells them from other accesses. */
#define CVMGEN_CPU_ATOMIC(name, T, call)                                                 \
    static inline T name(T *at, T value) { return call(at, value, __ATOMIC_RELAXED); }
#define CVMGEN_CPU_ATOMIC_CHOICE(name, T, sign)                                          \
    static inline T name(T *at, T value) {                                               \
        T found = __atomic_load_n(at, __ATOMIC_RELAXED);                                 \
        while (value sign found &&                                                       \
               !__atomic_compare_exchange_n(at, &found, value, false, __ATOMIC_RELAXED,  \
                                            __ATOMIC_RELAXED)) {                         \
        }                                                                                \
        return found;                                                                    \
    }
#define CVMGEN_CPU_ATOMICS(T)                                                            \
    CVMGEN_CPU_ATOMIC(atomicAdd, T, __atomic_fetch_add)                                  \
    CVMGEN_CPU_ATOMIC(atomicSub, T, __atomic_fetch_sub)                                  \
    CVMGEN_CPU_ATOMIC(atomicAnd, T, __atomic_fetch_and)                                  \
    CVMGEN_CPU_ATOMIC(atomicOr, T, __atomic_fetch_or)                                    \
    CVMGEN_CPU_ATOMIC(atomicXor, T, __atomic_fetch_xor)                                  \
    CVMGEN_CPU_ATOMIC(atomicExch, T, __atomic_exchange_n)                                \
    CVMGEN_CPU_ATOMIC_CHOICE(atomicMin, T, <)                                            \
    CVMGEN_CPU_ATOMIC_CHOICE(atomicMax, T, >)                                            \
    static inline T atomicCAS(T *at, T expected, T value) {                              \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED,       \
                                    __ATOMIC_RELAXED);                                   \
        return expected;                                                                 \
    }
CVMGEN_CPU_ATOMICS(int)
CVMGEN_CPU_ATOMICS(unsigned)
CVMGEN_CPU_ATOMICS(unsigned long long)
CVMGEN_CPU_ATOMIC_CHOICE(atomicMin, long long, <)
CVMGEN_CPU_ATOMIC_CHOICE(atomicMax, long long, >)
#undef CVMGEN_CPU_ATOMICS
#undef CVMGEN_CPU_ATOMIC_CHOICE
#undef CVMGEN_CPU_ATOMIC
#endif

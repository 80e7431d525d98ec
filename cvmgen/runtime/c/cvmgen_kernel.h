/* What generated kernels call, on the host and in CUDA. */
#ifndef CVMGEN_KERNEL_H
#define CVMGEN_KERNEL_H
#include "cvmgen.h"
#ifndef __CUDACC_RTC__
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#endif

#ifdef __CUDACC__
#define CVMGEN_FUNCTION static inline __host__ __device__
#else
#define CVMGEN_FUNCTION static inline
#endif

/* Functions of which each call has a copy of its own, for the values that it names. */
#ifdef __GNUC__
#define CVMGEN_INLINE static inline __attribute__((always_inline))
#else
#define CVMGEN_INLINE static inline
#endif

/* Functions that proofs of values take for what they are called: their text is tested. */
#ifndef CVMGEN_ROUTINE
#define CVMGEN_ROUTINE CVMGEN_FUNCTION
#endif

/* Before a loop whose iterations share no memory: where its pointers are locals and not parameters,
   compilers do not see that they are restrict. clang tests before the loop whether they overlap,
   which takes no time to speak of; its own pragma would make vectors where it knows better. */
#if defined(__GNUC__) && !defined(__clang__)
#define CVMGEN_APART _Pragma("GCC ivdep")
#else
#define CVMGEN_APART
#endif

/* A short loop that stays one until vectors are made of it. Written out before, gcc 12 makes wrong
   sums of totals that are added to under conditions. */
#if defined(__GNUC__) && !defined(__clang__)
#define CVMGEN_TOGETHER _Pragma("GCC unroll 1")
#else
#define CVMGEN_TOGETHER
#endif

/* ---------------------------------------------------------------- scalars */

CVMGEN_FUNCTION int32_t cvmgen_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
CVMGEN_FUNCTION int32_t cvmgen_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
CVMGEN_FUNCTION int64_t cvmgen_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
CVMGEN_FUNCTION int64_t cvmgen_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
CVMGEN_FUNCTION int32_t cvmgen_abs_i32(int32_t a) { return a < 0 ? -a : a; }
CVMGEN_FUNCTION int64_t cvmgen_abs_i64(int64_t a) { return a < 0 ? -a : a; }
/* a + b, or the nearer end of int32. */
CVMGEN_ROUTINE int32_t cvmgen_saturating_add_i32(int32_t a, int32_t b) {
    const int32_t sum = (int32_t)((uint32_t)a + (uint32_t)b);
    return ((a ^ sum) & (b ^ sum)) < 0 ? (a >> 31) ^ INT32_MAX : sum;
}
/* a * 2^e, or the nearer end of int32, for 0 <= e <= 31. */
CVMGEN_ROUTINE int32_t cvmgen_saturating_shl_i32(int32_t a, int32_t e) {
    const int32_t shifted = (int32_t)((uint32_t)a << e);
    return shifted >> e == a ? shifted : (a >> 31) ^ INT32_MAX;
}
/* (a + b) / 2^e, rounded down, for 0 <= e <= 31 and 0 <= b <= 2^e. */
CVMGEN_ROUTINE int32_t cvmgen_shr_sum_i32(int32_t a, int32_t b, int32_t e) {
    const int32_t mask = (int32_t)((1u << e) - 1);
    return (a >> e) + ((a & mask) > mask - b ? 1 : 0);
}
#if defined(__SIZEOF_INT128__) || defined(__CUDACC_RTC_INT128__)
CVMGEN_FUNCTION __int128 cvmgen_min_i128(__int128 a, __int128 b) { return a < b ? a : b; }
CVMGEN_FUNCTION __int128 cvmgen_max_i128(__int128 a, __int128 b) { return a > b ? a : b; }
CVMGEN_FUNCTION __int128 cvmgen_abs_i128(__int128 a) { return a < 0 ? -a : a; }
/* Integers beyond int64 become its nearest end. */
CVMGEN_FUNCTION int64_t cvmgen_saturate(__int128 value) {
    if (value > INT64_MAX) return INT64_MAX;
    return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}
CVMGEN_ROUTINE __int128 cvmgen_trunc_div_i128(__int128 a, __int128 b) {
    return b == 0 ? 0 : a / b;
}
CVMGEN_ROUTINE __int128 cvmgen_floor_div_i128(__int128 a, __int128 b) {
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
CVMGEN_FUNCTION __int128 cvmgen_floor_mod_i128(__int128 a, __int128 b) {
    if (b == 0) return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}
CVMGEN_FUNCTION __int128 cvmgen_ceildiv_i128(__int128 a, __int128 b) {
    if (b == 0) return 0;
    return a / b + (a % b != 0 && (a < 0) == (b < 0));
}
#endif

/* Quotients rounded toward zero, down and up, and the remainder of the second; 0 for a divisor of
   0. A quotient beyond int64 becomes its end. */
CVMGEN_ROUTINE int64_t cvmgen_trunc_div(int64_t a, int64_t b) {
    if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
    return b == 0 ? 0 : a / b;
}
CVMGEN_ROUTINE int64_t cvmgen_floor_div(int64_t a, int64_t b) {
    if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
CVMGEN_FUNCTION int64_t cvmgen_floor_mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0; /* a % -1 traps where a / -1 overflows */
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}
CVMGEN_FUNCTION int64_t cvmgen_ceildiv(int64_t a, int64_t b) {
    if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
    if (b == 0) return 0;
    return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

/* floor(log2(n)) and ceil(log2(n)) for n >= 1; 0 below. */
CVMGEN_FUNCTION int32_t cvmgen_floor_log2(int64_t n) {
    if (n < 1) return 0;
#ifdef __CUDA_ARCH__
    return 63 - __clzll(n);
#else
    return 63 - __builtin_clzll((unsigned long long)n);
#endif
}
CVMGEN_FUNCTION int32_t cvmgen_ceil_log2(int64_t n) {
    return n <= 1 ? 0 : cvmgen_floor_log2(n - 1) + 1;
}
/* The square root rounded down; 0 of n < 0. Of numbers below 2^52 a double's root is below each
   integer that the exact one is below; those beyond are rounded before, which one step mends. */
CVMGEN_ROUTINE int32_t cvmgen_isqrt_i32(int32_t n) {
    return (int32_t)sqrt((double)(n > 0 ? n : 0));
}
CVMGEN_ROUTINE int64_t cvmgen_isqrt_i64(int64_t n) {
    const int64_t most = 3037000499; /* the root of INT64_MAX */
    const int64_t about = (int64_t)sqrt((double)(n > 0 ? n : 0));
    const int64_t cut = about < most ? about : most;
    const int64_t root = cut - (cut * cut > n && cut > 0);
    return root + (n - root * root > 2 * root);
}
/* By squares; modulo 2^64, or 2^128. */
CVMGEN_ROUTINE int64_t cvmgen_power(int64_t base, int64_t exponent) {
    uint64_t result = 1, square = (uint64_t)base;
    for (; exponent > 0; exponent >>= 1, square *= square)
        if (exponent & 1) result *= square;
    return (int64_t)result;
}
#if defined(__SIZEOF_INT128__) || defined(__CUDACC_RTC_INT128__)
CVMGEN_ROUTINE __int128 cvmgen_power_i128(__int128 base, int64_t exponent) {
    unsigned __int128 result = 1, square = (unsigned __int128)base;
    for (; exponent > 0; exponent >>= 1, square *= square)
        if (exponent & 1) result *= square;
    return (__int128)result;
}
CVMGEN_ROUTINE __int128 cvmgen_isqrt_i128(__int128 n) {
    if (n < (__int128)1 << 62) return cvmgen_isqrt_i64((int64_t)n);
    /* The double is off by less than 2^11; the mean of it and n by it is not below the root, and
       above it by less than 1. */
    const uint64_t about = (uint64_t)sqrt((double)n);
    const uint64_t mean = (uint64_t)((about + (unsigned __int128)n / about) / 2);
    return mean - ((unsigned __int128)mean * mean > (unsigned __int128)n);
}
CVMGEN_FUNCTION int32_t cvmgen_floor_log2_i128(__int128 n) {
    if (n >> 64 != 0) return 64 + cvmgen_floor_log2((int64_t)(n >> 64));
    return n > INT64_MAX ? 63 : cvmgen_floor_log2((int64_t)n);
}
CVMGEN_FUNCTION int32_t cvmgen_ceil_log2_i128(__int128 n) {
    return n <= 1 ? 0 : cvmgen_floor_log2_i128(n - 1) + 1;
}
#endif

/* ---------------------------------------------------------------- real numbers

   Arithmetic of 64 bits by IEEE 754, each operation rounded on its own and in the order in which
   it is written: no contraction to fused operations, no reassociation. */

#if defined(__FAST_MATH__) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0)
#error "compile without -ffast-math, and for a machine whose doubles have 64 bits in registers"
#endif
#ifdef __CUDA_ARCH__
#define CVMGEN_INFINITY __longlong_as_double(0x7ff0000000000000)
#define CVMGEN_NAN __longlong_as_double(0x7ff8000000000000)
#else
#define CVMGEN_INFINITY ((double)INFINITY)
#define CVMGEN_NAN ((double)NAN)
#endif

/* a - b: with constants that come to 0 for a, gcc takes it for -b where b is made of an integer,
   and of 0 that is -0. */
CVMGEN_FUNCTION double cvmgen_minus(double a, double b) { return a - b; }
CVMGEN_FUNCTION bool cvmgen_isnan(double a) { return a != a; }
/* An integer that is the greater, the greater the number is: -0 below +0, NaN above all. */
CVMGEN_FUNCTION int64_t cvmgen_order(double a) {
    int64_t bits;
    if (a != a) return INT64_MAX;
    memcpy(&bits, &a, sizeof bits);
    return bits >= 0 ? bits : bits ^ INT64_MAX;
}
/* IEEE 754-2019 minimum and maximum: NaN where one is NaN, and -0 below +0. They choose and do not
   branch, so that loops that take them become vectors. */
CVMGEN_FUNCTION double cvmgen_min_f64(double a, double b) {
    const double same = copysign(1.0, a) < 0 ? a : b, other = a < b || a != a ? a : b;
    return a == b ? same : other;
}
CVMGEN_FUNCTION double cvmgen_max_f64(double a, double b) {
    const double same = copysign(1.0, a) < 0 ? b : a, other = a > b || a != a ? a : b;
    return a == b ? same : other;
}
CVMGEN_FUNCTION double cvmgen_abs_f64(double a) { return fabs(a); }
CVMGEN_FUNCTION double cvmgen_floor_f64(double a) { return floor(a); }
CVMGEN_FUNCTION double cvmgen_ceil_f64(double a) { return ceil(a); }
CVMGEN_FUNCTION double cvmgen_trunc_f64(double a) { return trunc(a); }
/* To the nearest integer, halves away from 0: what is added is less than a half, so that no number
   below one becomes 1, and a half does as the sum is rounded. */
CVMGEN_ROUTINE double cvmgen_round_f64(double a) {
    return trunc(a + copysign(0.49999999999999994, a));
}
CVMGEN_ROUTINE double cvmgen_roundeven_f64(double a) { return rint(a); }
CVMGEN_FUNCTION double cvmgen_sqrt_f64(double a) { return sqrt(a); }
/* Of 32 bits, where what is rounded to these is the same. */
CVMGEN_FUNCTION float cvmgen_min_f32(float a, float b) {
    const float same = copysignf(1.0f, a) < 0 ? a : b, other = a < b || a != a ? a : b;
    return a == b ? same : other;
}
CVMGEN_FUNCTION float cvmgen_max_f32(float a, float b) {
    const float same = copysignf(1.0f, a) < 0 ? b : a, other = a > b || a != a ? a : b;
    return a == b ? same : other;
}
CVMGEN_FUNCTION float cvmgen_abs_f32(float a) { return fabsf(a); }
CVMGEN_FUNCTION float cvmgen_floor_f32(float a) { return floorf(a); }
CVMGEN_FUNCTION float cvmgen_ceil_f32(float a) { return ceilf(a); }
CVMGEN_FUNCTION float cvmgen_trunc_f32(float a) { return truncf(a); }
CVMGEN_ROUTINE float cvmgen_roundeven_f32(float a) { return rintf(a); }
CVMGEN_FUNCTION float cvmgen_sqrt_f32(float a) { return sqrtf(a); }
CVMGEN_FUNCTION double cvmgen_fma_f64(double a, double b, double c) { return fma(a, b, c); }
/* Toward zero; 0 of NaN, and the nearest end of int64 beyond it. */
CVMGEN_FUNCTION int64_t cvmgen_to_int(double a) {
    if (a != a) return 0;
    if (a >= 9223372036854775808.0) return INT64_MAX;
    return a <= -9223372036854775808.0 ? INT64_MIN : (int64_t)a;
}
/* max(low, min(a, high)) for low <= 0 <= high, toward zero; 0 of NaN. Bits of numbers from 0 on
   have their order, and those of negative ones, -0 first, the other one, as integers without a
   sign. */
CVMGEN_ROUTINE int32_t cvmgen_cut_to_int_f32(float a, float low, float high) {
    int32_t bits, most;
    uint32_t least, cut;
    memcpy(&bits, &a, sizeof bits);
    memcpy(&most, &high, sizeof most);
    memcpy(&least, &low, sizeof least);
    least |= 0x80000000;
    cut = (uint32_t)(bits < most ? bits : most);
    cut = cut < least ? cut : least;
    cut &= 0 - (uint32_t)(a == a); /* a choice may become a branch, of which there are no vectors */
    float inside;
    memcpy(&inside, &cut, sizeof inside);
    return (int32_t)inside;
}
/* What is stored of a real number: rounded to nearest even, NaN in its one form. */
#ifdef __CUDA_ARCH__
/* The choice is one of bits: a GPU gives NaN that it computes or converts a form of its own, as
   0x7fffffff, and a choice of numbers may be made before the conversion. */
CVMGEN_FUNCTION float cvmgen_stored_f32(double a) {
    return __int_as_float(a != a ? 0x7fc00000 : __float_as_int((float)a));
}
CVMGEN_FUNCTION float cvmgen_canonical_f32(float a) {
    return __int_as_float(a != a ? 0x7fc00000 : __float_as_int(a));
}
CVMGEN_FUNCTION double cvmgen_stored_f64(double a) {
    return __longlong_as_double(a != a ? 0x7ff8000000000000 : __double_as_longlong(a));
}
#else
CVMGEN_FUNCTION float cvmgen_stored_f32(double a) { return a != a ? (float)CVMGEN_NAN : (float)a; }
CVMGEN_FUNCTION float cvmgen_canonical_f32(float a) { return a != a ? (float)CVMGEN_NAN : a; }
CVMGEN_FUNCTION double cvmgen_stored_f64(double a) { return a != a ? CVMGEN_NAN : a; }
#endif

/* Numbers of 16 bits: five of exponent, ten behind the point. What has no exponent is a multiple of
   2^-24. No conversion of the processor's is asked: not all have one, nor of all 64 bits at
   once. */
CVMGEN_ROUTINE double cvmgen_of_float16(uint16_t element) {
    const uint64_t sign = (uint64_t)(element >> 15) << 63, rest = element & 0x7fff;
    const double small = (double)(int32_t)rest / 16777216.0;
    uint64_t bits = (rest << 42) + ((uint64_t)(rest < 0x7c00 ? 1008 : 2016) << 52);
    double found;
    if (rest < 0x400) memcpy(&bits, &small, sizeof bits);
    bits |= sign;
    memcpy(&found, &bits, sizeof found);
    return found;
}
/* Rounded to nearest even at once, NaN in its one form. */
CVMGEN_ROUTINE uint16_t cvmgen_stored_float16(double a) {
    uint64_t bits, rest;
    memcpy(&bits, &a, sizeof bits);
    rest = bits & INT64_MAX;
    if (a != a) return 0x7e00;
    if (rest >= UINT64_C(0x40effe0000000000)) { /* 65520 */
        rest = 0x7c00;
    } else if (rest < UINT64_C(0x3f10000000000000)) { /* 2^-14 */
        const double whole = fabs(a) * 16777216.0 + 4503599627370496.0; /* 2^24, 2^52 */
        memcpy(&rest, &whole, sizeof rest);
        rest &= 0x7ff;
    } else {
        rest += ((UINT64_C(1) << 41) - 1) + (rest >> 42 & 1);
        rest = (rest >> 42) - (UINT64_C(1008) << 10);
    }
    return (uint16_t)(bits >> 63 << 15 | rest);
}
/* The upper half of a number of 32 bits. */
CVMGEN_ROUTINE double cvmgen_of_bfloat16(uint16_t element) {
    const uint32_t bits = (uint32_t)element << 16;
    float found;
    memcpy(&found, &bits, sizeof found);
    return (double)found;
}
/* Rounded to nearest even at once, NaN in its one form. What has no exponent is a multiple of
   2^-133. */
CVMGEN_ROUTINE uint16_t cvmgen_stored_bfloat16(double a) {
    uint64_t bits, rest;
    memcpy(&bits, &a, sizeof bits);
    rest = bits & INT64_MAX;
    if (a != a) return 0x7fc0;
    if (rest >= UINT64_C(0x47eff00000000000)) { /* (2 - 2^-8) * 2^127 */
        rest = 0x7f80;
    } else if (rest < UINT64_C(0x3810000000000000)) { /* 2^-126 */
        const double whole = fabs(a) * 10889035741470030830827987437816582766592.0 /* 2^133 */
            + 4503599627370496.0; /* 2^52 */
        memcpy(&rest, &whole, sizeof rest);
        rest &= 0xff;
    } else {
        rest += ((UINT64_C(1) << 44) - 1) + (rest >> 45 & 1);
        rest = (rest >> 45) - (UINT64_C(896) << 7);
    }
    return (uint16_t)(bits >> 63 << 15 | rest);
}

/* An integer of four bits, with its sign in front or with zeros; of another byte the byte
   itself. */
CVMGEN_FUNCTION int32_t cvmgen_of_int4(int8_t element) {
    return element > 7 && element < 16 ? element - 16 : element;
}

/* ---------------------------------------------------------------- lists */

/* Whether a value is an entry of a selected list. */
CVMGEN_FUNCTION bool cvmgen_among(int64_t value, const int64_t *entries, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (entries[i] == value) return true;
    return false;
}
CVMGEN_FUNCTION bool cvmgen_among_ascending(int64_t value, const int64_t *entries, int64_t count) {
    int64_t low = 0;
    while (low < count) {
        const int64_t middle = low + (count - low) / 2;
        if (entries[middle] == value) return true;
        if (entries[middle] < value)
            low = middle + 1;
        else
            count = middle;
    }
    return false;
}

CVMGEN_FUNCTION int64_t cvmgen_size(const cvmgen_list *list) {
    int64_t size = 1;
    for (int64_t i = 0; i < list->length; ++i) size *= list->at[i];
    return size;
}
CVMGEN_FUNCTION int64_t cvmgen_last(const cvmgen_list *list) { return list->at[list->length - 1]; }

/* The number of rows of a box: all dimensions but the last. */
CVMGEN_FUNCTION int64_t cvmgen_rows(const cvmgen_list *box) {
    int64_t rows = 1;
    for (int64_t i = 0; i + 1 < box->length; ++i) rows *= box->at[i];
    return rows;
}
CVMGEN_FUNCTION int64_t cvmgen_flatten_index(const cvmgen_list *index, const cvmgen_list *extents) {
    int64_t position = 0;
    for (int64_t i = 0; i < extents->length; ++i)
        position = position * extents->at[i] + index->at[i];
    return position;
}
CVMGEN_FUNCTION cvmgen_list cvmgen_unflatten(int64_t position, const cvmgen_list *extents) {
    cvmgen_list index;
    index.length = extents->length;
    index.at[0] = 0;  /* a list without entries is not read, but compilers warn of it */
    for (int64_t i = extents->length - 1; i >= 0; --i) {
        index.at[i] = position % extents->at[i];
        position /= extents->at[i];
    }
    return index;
}
CVMGEN_FUNCTION cvmgen_list cvmgen_zeros(int64_t length) {
    cvmgen_list list;
    list.length = length;
    for (int64_t i = 0; i < length; ++i) list.at[i] = 0;
    return list;
}
CVMGEN_FUNCTION cvmgen_list cvmgen_ones(int64_t length) {
    cvmgen_list list;
    list.length = length;
    for (int64_t i = 0; i < length; ++i) list.at[i] = 1;
    return list;
}
CVMGEN_FUNCTION int64_t cvmgen_dot(const cvmgen_list *index, const cvmgen_list *steps) {
    int64_t sum = 0;
    for (int64_t i = 0; i < index->length; ++i) sum += index->at[i] * steps->at[i];
    return sum;
}
/* The offset at which row `row` of a box begins, walking by `steps`. */
CVMGEN_FUNCTION int64_t cvmgen_walk_offset(int64_t row, const cvmgen_list *box,
                                           const cvmgen_list *steps) {
    int64_t offset = 0;
    for (int64_t i = box->length - 2; i > 0; --i) {
        offset += row % box->at[i] * steps->at[i];
        row /= box->at[i];
    }
    return offset + row * steps->at[0]; /* of a single row, row is 0 */
}

/* ---------------------------------------------------------------- sorting */

/* What a list is sorted by: its entry r by the `width` numbers from at[r * width] on, the first of
   them before the others. */
typedef struct cvmgen_keys {
    const int64_t *at;
    int64_t width;
} cvmgen_keys;

/* Whether the keys of entry `a` are at most those of entry `b`. */
CVMGEN_FUNCTION bool cvmgen_in_order(cvmgen_keys keys, int64_t a, int64_t b) {
    if (keys.width == 1) return keys.at[a] <= keys.at[b];
    for (int64_t k = 0; k < keys.width; ++k) {
        const int64_t one = keys.at[a * keys.width + k], other = keys.at[b * keys.width + k];
        if (one != other) return one < other;
    }
    return true;
}
/* The first `count` entries of what order[a..middle) and order[b..end) merge to; both are sorted,
   and of equal keys those of the former come first. */
CVMGEN_FUNCTION void cvmgen_merge_runs(const int64_t *order, int64_t a, int64_t middle, int64_t b,
                                       int64_t end, cvmgen_keys keys, int64_t *merged,
                                       int64_t count) {
    for (int64_t at = 0; at < count; ++at)
        if (b == end || (a < middle && cvmgen_in_order(keys, order[a], order[b])))
            merged[at] = order[a++];
        else
            merged[at] = order[b++];
}
/* Sort the numbers low..high-1 by the keys of these entries, into these places of `order` or, as
   each round of merging goes from one to the other, of `other`; returns which. That depends on
   `size` alone, which is at least high - low: parts of one size end in the same array. */
CVMGEN_FUNCTION int64_t *cvmgen_sort_part(cvmgen_keys keys, int64_t low, int64_t high, int64_t size,
                                          int64_t *order, int64_t *other) {
    const int64_t shortest = 16; /* runs that insertion makes faster than merging does */
    for (int64_t i = low; i < high; ++i) {
        const int64_t start = i - (i - low) % shortest;
        int64_t at = i;
        for (; at > start && !cvmgen_in_order(keys, order[at - 1], i); --at)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int64_t run = shortest; run < size; run *= 2) {
        int64_t *const merged = other;
        for (int64_t at = low; at < high; at += 2 * run) {
            const int64_t middle = cvmgen_min_i64(at + run, high);
            const int64_t end = cvmgen_min_i64(middle + run, high);
            if (middle == end || cvmgen_in_order(keys, order[middle - 1], order[middle]))
                for (int64_t i = at; i < end; ++i) merged[i] = order[i];
            else
                cvmgen_merge_runs(order, at, middle, middle, end, keys, merged + at, end - at);
        }
        other = order;
        order = merged;
    }
    return order;
}
/* A list that has no name, as one that has an address until the end of the statement. */
typedef struct cvmgen_boxed { cvmgen_list list[1]; } cvmgen_boxed;
CVMGEN_FUNCTION cvmgen_boxed cvmgen_box(cvmgen_list list) {
    cvmgen_boxed boxed;
    boxed.list[0] = list;
    return boxed;
}
CVMGEN_FUNCTION cvmgen_list cvmgen_part(cvmgen_list list, int64_t low, int64_t high) {
    cvmgen_list part;
    part.length = high - low;
    for (int64_t i = low; i < high; ++i) part.at[i - low] = list.at[i];
    return part;
}
CVMGEN_FUNCTION bool cvmgen_contains(const cvmgen_list *list, int64_t value) {
    for (int64_t i = 0; i < list->length; ++i)
        if (list->at[i] == value) return true;
    return false;
}
CVMGEN_FUNCTION cvmgen_list cvmgen_difference(cvmgen_list set, cvmgen_list other) {
    cvmgen_list result;
    result.length = 0;
    for (int64_t i = 0; i < set.length; ++i)
        if (!cvmgen_contains(&other, set.at[i])) result.at[result.length++] = set.at[i];
    return result;
}
/* Add a value to a set, which is an ascending list and has room for it. */
CVMGEN_FUNCTION void cvmgen_include(cvmgen_list *set, int64_t value) {
    int64_t at = set->length;
    if (cvmgen_contains(set, value)) return;
    for (; at > 0 && set->at[at - 1] > value; --at) set->at[at] = set->at[at - 1];
    set->at[at] = value;
    ++set->length;
}
#endif

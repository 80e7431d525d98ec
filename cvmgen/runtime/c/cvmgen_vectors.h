/* Vectors as GCC and clang have them for every processor. */
#ifndef CVMGEN_VECTORS_H
#define CVMGEN_VECTORS_H
#include "cvmgen_kernel.h"

#if defined(__clang__)
#define CVMGEN_UNROLLED _Pragma("unroll")
#elif defined(__GNUC__)
#define CVMGEN_UNROLLED _Pragma("GCC unroll 16")
#else
#define CVMGEN_UNROLLED
#endif

/* The entries of two vectors that __VA_ARGS__ names, those of the second one behind the first. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define CVMGEN_SHUFFLED(vector, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#if !defined(CVMGEN_SHUFFLED) && defined(__GNUC__) && !defined(__clang__)
#define CVMGEN_SHUFFLED(vector, a, b, ...) __builtin_shuffle(a, b, (vector){__VA_ARGS__})
#endif

#endif

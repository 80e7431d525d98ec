/* Neighboring elements in one access, for generated CUDA kernels. */
#ifndef CVMGEN_VECTOR_H
#define CVMGEN_VECTOR_H
#include "cvmgen_cuda.h"

/* How many vectors of `lanes` elements hold so many elements. */
CVMGEN_FUNCTION int64_t cvmgen_vectors(int64_t elements, int64_t lanes) {
    return elements > 0 ? (elements + lanes - 1) / lanes : 0;
}

/* at / size for at >= 0 and size > 0; 64-bit divisions are slow and seldom needed. */
static inline __device__ int64_t cvmgen_quotient(int64_t at, int64_t size) {
    return (at | size) >> 32 ? at / size : (int64_t)((uint32_t)at / (uint32_t)size);
}
/* The innermost index at a place among rows of this size; the place becomes that of the row. */
static inline __device__ int64_t cvmgen_innermost(int64_t *place, int64_t size) {
    const int64_t row = cvmgen_quotient(*place, size), index = *place - row * size;
    *place = row;
    return index;
}

/* Elements that a thread works on side by side, each in a lane. Memory is accessed 16 bytes at a
   time where all lanes are in use and their elements lie side by side at such an address. */
template <typename T, int N> struct cvmgen_vector {
    static constexpr int bytes = N * sizeof(T) < 16 ? N * sizeof(T) : 16; /* of an access */
    static constexpr int pieces = N * sizeof(T) / bytes;
    struct alignas(bytes) piece {
        T at[bytes / sizeof(T)];
    };
    union {
        T at[N];
        piece part[pieces];
    };

    __device__ cvmgen_vector() {}
    /* The elements from `from` on, so far apart. Lanes that are not in use repeat the last: what
       is computed of them is defined, and stored nowhere. Without elements all are 0. */
    __device__ cvmgen_vector(const T *from, int64_t step, int lanes) {
        if (from == NULL) {
            CVMGEN_UNROLL
            for (int lane = 0; lane < N; ++lane) at[lane] = 0;
        } else if (whole(from, step, lanes)) {
            CVMGEN_UNROLL
            for (int k = 0; k < pieces; ++k) part[k] = ((const piece *)from)[k];
        } else {
            CVMGEN_UNROLL
            for (int lane = 0; lane < N; ++lane) {
                at[lane] = *from;
                if (lane + 1 < lanes) from += step;
            }
        }
    }
    __device__ void store(T *to, int64_t step, int lanes) const {
        if (whole(to, step, lanes)) {
            CVMGEN_UNROLL
            for (int k = 0; k < pieces; ++k) ((piece *)to)[k] = part[k];
        } else {
            CVMGEN_UNROLL
            for (int lane = 0; lane < N; ++lane) {
                if (lane < lanes) *to = at[lane];
                if (lane + 1 < lanes) to += step;
            }
        }
    }
    static __device__ bool whole(const T *first, int64_t step, int lanes) {
        return step == 1 && lanes == N && (size_t)first % bytes == 0;
    }
};
/* The vector of the elements from `from` on, so far apart; zeros where `from` is NULL. */
template <int N, typename T>
static inline __device__ cvmgen_vector<T, N> cvmgen_load(const T *from, int64_t step, int lanes) {
    return cvmgen_vector<T, N>(from, step, lanes);
}
#endif

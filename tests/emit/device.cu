/* Kernels that use what CUDA gives to the threads of a block, and host code that starts them. */
#include "cvmgen_cuda.h"

#ifndef CVMGEN_DYNAMIC_SHARED
#define CVMGEN_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif
#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

/* ---------------------------------------------------------------- results */

/* A row of `found` for each lane. */
KERNEL device_lanes(const int64_t *x, int64_t *found) {
    const int lane = threadIdx.x % 32;
    const int own = (int)x[threadIdx.x];
    const double real = 0.5 * (double)x[threadIdx.x];
    int64_t *row = found + 16 * threadIdx.x;
    row[0] = __shfl_sync(ALL, own, (lane + 5) % 32);
    row[1] = __shfl_sync(ALL, x[threadIdx.x], 3, 8);
    row[2] = __shfl_up_sync(ALL, (unsigned)own, 3);
    row[3] = __shfl_up_sync(ALL, own, 1, 4);
    row[4] = __shfl_down_sync(ALL, own, 30);
    row[5] = (int64_t)(2 * __shfl_down_sync(ALL, real, 2, 16));
    row[6] = __shfl_xor_sync(ALL, own, 9);
    row[7] = __shfl_xor_sync(ALL, own, 4, 4);
    row[8] = __shfl_xor_sync(ALL, own > 0, 1) - __shfl_xor_sync(ALL, (int8_t)own, 1) % 2;
    row[8] = 100 * row[8] + __any_sync(ALL, own == 7) + 2 * __all_sync(ALL, own < 1000);
    row[9] = __ballot_sync(ALL, own % 3 == 0);
    row[10] = __reduce_add_sync(ALL, own);
    row[11] = __reduce_min_sync(ALL, own) + (int64_t)__reduce_min_sync(ALL, (unsigned)own);
    row[12] = __reduce_max_sync(ALL, own) + (int64_t)__reduce_max_sync(ALL, (unsigned)own);
    row[13] = __reduce_and_sync(ALL, (unsigned)own);
    row[14] = __reduce_or_sync(ALL, (unsigned)own) - __reduce_xor_sync(ALL, (unsigned)own);
    row[15] = -1;
    if (lane % 2 == 1) row[15] = __shfl_sync(0xaaaaaaaau, own, 31 - (lane ^ 1));
}

/* Each thread adds what is its own to the cells of its block. */
KERNEL device_atomics(const int64_t *x, int *ints, unsigned *words, unsigned long long *wide) {
    const int own = (int)x[threadIdx.x];
    atomicAdd(ints, own);
    atomicMin(ints + 1, own);
    atomicMax(ints + 2, own);
    if (atomicCAS(ints + 3, 0, 1) == 0) ints[4] = own;
    atomicAnd(words, ~(1u << threadIdx.x % 32));
    atomicOr(words + 1, 1u << threadIdx.x % 32);
    atomicMax(words + 2, (unsigned)own);
    if (threadIdx.x == 0) words[3] = atomicExch(words + 4, 99u);
    atomicAdd(wide, (unsigned long long)x[threadIdx.x]);
    atomicMin(wide + 1, (unsigned long long)x[threadIdx.x]);
    atomicMax(wide + 2, (unsigned long long)x[threadIdx.x]);
}

KERNEL device_integers(const int64_t *x, int64_t *found) {
    const int64_t a = x[2 * threadIdx.x], b = x[2 * threadIdx.x + 1];
    int64_t *row = found + 16 * threadIdx.x;
    row[0] = __popc((unsigned)a) + 100 * __popcll((unsigned long long)a);
    row[1] = __ffs((int)a) + 100 * __ffsll((long long)a);
    row[2] = __clz((int)a) + 100 * __clzll((long long)a);
    row[3] = __mulhi((int)a, (int)b);
    row[4] = __umulhi((unsigned)a, (unsigned)b);
    row[5] = (int64_t)__umul64hi((unsigned long long)a, (unsigned long long)b);
    row[6] = __mul64hi((long long)a, (long long)b);
    row[7] = __dp4a((int)a, (int)b, 7);
    row[8] = __dp4a((unsigned)a, (unsigned)b, 7u);
    row[9] = __dp4a(make_char4(1, -2, 3, -128), make_char4(127, 5, -6, -128), (int)a);
    row[10] = __dp4a(make_uchar4(1, 2, 3, 255), make_uchar4(255, 5, 6, 255), (unsigned)a);
    row[11] = __ldg(x + 2 * threadIdx.x);
}

/* Where each thread is, in blocks and grids of three dimensions. */
KERNEL device_places(int64_t *found) {
    const uint3 size = make_uint3(blockDim.x, blockDim.y, blockDim.z);
    const int64_t block = blockIdx.x + (int64_t)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int64_t thread = threadIdx.x + size.x * (threadIdx.y + size.y * threadIdx.z);
    const int64_t before = __popc(__ballot_sync(ALL, 1) & ((1u << thread % 32) - 1));
    found[block * (size.x * size.y * size.z) + thread] = 1000 * block + thread / 32 * 32 + before;
}

/* Vectors of 16 bytes through dynamic memory: the reverse of x. */
KERNEL device_reverse(const int4 *x, int4 *y, int64_t count) {
    CVMGEN_DYNAMIC_SHARED(memory);
    int4 *const rows = reinterpret_cast<int4 *>(memory);
    for (int64_t at = threadIdx.x; at < count; at += blockDim.x) rows[at] = x[at];
    __syncthreads();
    for (int64_t at = threadIdx.x; at < count; at += blockDim.x) {
        const int4 row = rows[count - 1 - at];
        y[at] = make_int4(row.w, row.z, row.y, row.x);
    }
}

/* ---------------------------------------------------------------- faults */

KERNEL device_beside(int64_t *x, int64_t at) { x[at] = 0; }
KERNEL device_other_lanes(int64_t *x) { x[threadIdx.x] = __ballot_sync(1u, 1); }
KERNEL device_unequal_lanes(int64_t *x) {
    if (threadIdx.x < 8) x[threadIdx.x] = __ballot_sync(threadIdx.x < 4 ? 0xffu : 0xfeu, 1);
}
KERNEL device_absent_value(int64_t *x) {
    if (threadIdx.x < 8) x[threadIdx.x] = __shfl_sync(0xffu, (int)threadIdx.x, 8);
}
KERNEL device_warps(int64_t *x) {
    if (threadIdx.x < 32)
        __syncwarp();
    else
        __syncthreads();
    x[threadIdx.x] = 1;
}

#ifndef __CUDACC_RTC__
static int status_of(cvmgen_error *error, cudaError_t status) {
    return cvmgen_device_status(error, status);
}

extern "C" int run_lanes(cvmgen_error *error, const int64_t *x, int64_t *found) {
    void *arguments[] = {&x, &found};
    return status_of(error, cudaLaunchKernel(device_lanes, 1, 64, arguments, 0, NULL));
}
extern "C" int run_atomics(cvmgen_error *error, const int64_t *x, int *ints, unsigned *words,
                           unsigned long long *wide) {
    void *arguments[] = {&x, &ints, &words, &wide};
    return status_of(error, cudaLaunchKernel(device_atomics, 1, 100, arguments, 0, NULL));
}
extern "C" int run_integers(cvmgen_error *error, const int64_t *x, int64_t *found, int64_t count) {
    void *arguments[] = {&x, &found};
    const dim3 block((unsigned)count);
    return status_of(error, cudaLaunchKernel(device_integers, 1, block, arguments, 0, NULL));
}
extern "C" int run_places(cvmgen_error *error, int64_t *found) {
    void *arguments[] = {&found};
    const dim3 grid(2, 3, 4), block(5, 4, 3);
    return status_of(error, cudaLaunchKernel(device_places, grid, block, arguments, 0, NULL));
}
extern "C" int run_shape(cvmgen_error *error, unsigned x, unsigned y, unsigned z, int64_t *found) {
    void *arguments[] = {&found};
    const dim3 block(x, y, z);
    return status_of(error, cudaLaunchKernel(device_places, 1, block, arguments, 0, NULL));
}
extern "C" int run_reverse(cvmgen_error *error, const void *x, void *y, int64_t count,
                           int64_t allowed) {
    void *arguments[] = {&x, &y, &count};
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    cudaError_t status = cudaSuccess;
    if (allowed > 0) status = cudaFuncSetAttribute(device_reverse, most, (int)allowed);
    if (status == cudaSuccess)
        status = cudaLaunchKernel(device_reverse, 1, 96, arguments, 16 * (size_t)count, NULL);
    return status_of(error, status);
}
extern "C" int run_beside(cvmgen_error *error, int64_t at) {
    void *memory = NULL;
    cudaError_t status = cudaMallocAsync(&memory, 5 * sizeof(int64_t), NULL);
    void *arguments[] = {&memory, &at};
    if (status == cudaSuccess)
        status = cudaLaunchKernel(device_beside, 1, 1, arguments, 0, NULL);
    const int found = status_of(error, status);
    return found == CVMGEN_OK ? status_of(error, cudaFreeAsync(memory, NULL))
                              : (cudaFreeAsync(memory, NULL), found);
}
extern "C" int run_free(cvmgen_error *error, int64_t *memory) {
    return status_of(error, cudaFreeAsync(memory, NULL));
}
extern "C" int run_fault(cvmgen_error *error, int which, int64_t *x) {
    void (*const faults[])(int64_t *) = {device_other_lanes, device_unequal_lanes,
                                         device_absent_value, device_warps};
    void *arguments[] = {&x};
    return status_of(error, cudaLaunchKernel(faults[which], 1, 64, arguments, 0, NULL));
}
#endif

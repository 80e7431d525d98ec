/* Kernels with races and without: what the race detector must tell apart. */
#include "cvmgen_cuda.h"
#include "store.h"

#ifndef CVMGEN_DYNAMIC_SHARED
#define CVMGEN_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif

#define KERNEL extern "C" __global__ void

/* between the threads of a block, no barrier: a read */
KERNEL race_read(int64_t *x) {
    __shared__ int64_t kept[64];
    kept[threadIdx.x] = x[threadIdx.x]; /* here */
    x[threadIdx.x] = kept[(threadIdx.x + 1) % blockDim.x]; /* here */
}
/* a write behind a read */
KERNEL race_write(int64_t *x) {
    __shared__ int64_t kept[64];
    kept[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    const int64_t found = kept[(threadIdx.x + 1) % blockDim.x]; /* here */
    kept[threadIdx.x] = found; /* here */
}
/* all write one place */
KERNEL race_same(int64_t *x) {
    x[64] = 7; /* here */
}
/* blocks write one place */
KERNEL race_blocks(int64_t *x) {
    if (threadIdx.x == 0) x[64] = 7; /* here */
}
/* one block reads what another wrote */
KERNEL race_other_block(int64_t *x) {
    if (threadIdx.x == 0 && blockIdx.x == 0) x[64] = 7; /* here */
    if (threadIdx.x == 0 && blockIdx.x == 1) x[65] = x[64]; /* here */
}
/* of two additions one is not atomic */
KERNEL race_atomic(int64_t *x) {
    if (threadIdx.x == 0)
        x[64] += 1; /* here */
    else
        atomicAdd((unsigned long long *)x + 64, 1ull); /* here */
}
/* a vector over an element of another thread */
KERNEL race_vector(int64_t *x) {
    longlong2 *const pair = (longlong2 *)(x + 2 * (threadIdx.x / 2));
    if (threadIdx.x == 0 && blockIdx.x == 0) *pair = make_longlong2(3, 4); /* here */
    if (threadIdx.x == 1 && blockIdx.x == 0) x[1] = 5; /* here */
}
/* a shuffle puts no memory in order */
KERNEL race_shuffle(int64_t *x) {
    __shared__ int64_t kept[64];
    kept[threadIdx.x] = x[threadIdx.x]; /* here */
    __shfl_sync(0xffffffffu, 1, 0);
    x[threadIdx.x] = kept[threadIdx.x ^ 1]; /* here */
}
/* lanes that did not meet */
KERNEL race_lanes(int64_t *x) {
    __shared__ int64_t kept[64];
    kept[threadIdx.x] = x[threadIdx.x]; /* here */
    __syncwarp(threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
    x[threadIdx.x] = kept[threadIdx.x ^ 16]; /* here */
}
/* in a function */
KERNEL race_function(int64_t *x) {
    store(x + 64); /* here */
}
/* shared memory that nobody wrote */
KERNEL race_unwritten(int64_t *x) {
    __shared__ int64_t kept[64];
    if (threadIdx.x < 5) kept[threadIdx.x] = 0;
    __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = kept[threadIdx.x]; /* here */
}
/* dynamic memory, no barrier */
KERNEL race_dynamic(int64_t *x) {
    CVMGEN_DYNAMIC_SHARED(bytes);
    int64_t *const kept = (int64_t *)bytes;
    kept[threadIdx.x] = x[threadIdx.x]; /* here */
    x[threadIdx.x] = kept[(threadIdx.x + 1) % blockDim.x]; /* here */
}

/* barriers, blocks that share nothing, dynamic memory */
KERNEL clean_barriers(int64_t *x) {
    CVMGEN_DYNAMIC_SHARED(bytes);
    int64_t *const own = x + blockIdx.x * blockDim.x, *const more = (int64_t *)bytes;
    __shared__ int64_t kept[64];
    for (int round = 0; round < 3; ++round) {
        kept[threadIdx.x] = own[threadIdx.x];
        more[threadIdx.x] = kept[threadIdx.x];
        __syncthreads();
        own[threadIdx.x] = kept[(threadIdx.x + 1) % blockDim.x] + more[(threadIdx.x + 2) % 32];
        __syncthreads();
    }
}
/* lanes that meet, in two steps */
KERNEL clean_lanes(int64_t *x) {
    __shared__ int64_t kept[64];
    kept[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncwarp(threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
    __syncwarp(0x00010001u >> threadIdx.x % 32 & 1 ? 0x00010001u : 0xfffefffeu);
    if (threadIdx.x % 32 == 0)
        x[blockIdx.x * blockDim.x + threadIdx.x] = kept[threadIdx.x + 31];
}
/* atomics */
KERNEL clean_atomics(int64_t *x) {
    atomicAdd((unsigned long long *)x + 64, (unsigned long long)threadIdx.x);
    atomicMax((unsigned long long *)x + 65, (unsigned long long)threadIdx.x);
}
/* all read what nobody writes */
KERNEL clean_reads(int64_t *x) {
    x[1 + blockIdx.x * blockDim.x + threadIdx.x] = x[0];
}

#ifndef __CUDACC_RTC__
#define RUN(kernel)                                                                          \
    extern "C" int run_##kernel(cvmgen_error *error, int64_t blocks, int64_t *x) {           \
        void *arguments[] = {&x};                                                            \
        cvmgen_begin(error, #kernel);                                                        \
        return cvmgen_device_status(error, cudaLaunchKernel(kernel, (unsigned)blocks, 32,    \
                                                            arguments, 256, NULL));          \
    }
RUN(race_read)
RUN(race_write)
RUN(race_same)
RUN(race_blocks)
RUN(race_other_block)
RUN(race_atomic)
RUN(race_vector)
RUN(race_shuffle)
RUN(race_lanes)
RUN(race_function)
RUN(race_unwritten)
RUN(race_dynamic)
RUN(clean_barriers)
RUN(clean_lanes)
RUN(clean_atomics)
RUN(clean_reads)
#endif

/* Runs generated CUDA operators on the CPU, to be included in front of a .cu file. Blocks run one
   after the other, so that static memory serves as that which a block shares. */
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "cuda_fibers.h"

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorLaunchFailure = 719
};
typedef struct CUstream_st *cudaStream_t;

/* What a test sets and sees. */
struct cuda_on_cpu_state {
    int64_t blocks, threads; /* of the grid and of each block; a test that sets them has its way */
    int64_t fixed;           /* not 0: they are set */
    int64_t backwards;       /* not 0: the last thread runs first */
    int64_t fail;            /* not 0: launches fail */
    int64_t launches;        /* that have been made */
    int64_t pending_errors;  /* not yet taken by cudaGetLastError: a cudaError_t */
    cudaStream_t stream;     /* of the last launch, allocation or release */
    int64_t memory;          /* not 0: allocations beyond as many bytes fail */
    int64_t allocated;       /* pieces of memory that were not released */
};
extern "C" {
inline cuda_on_cpu_state cuda_on_cpu = {};
}

inline const char *cudaGetErrorString(cudaError_t status) {
    switch (status) {
        case cudaSuccess: return "no error";
        case cudaErrorMemoryAllocation: return "out of memory";
        default: return "unspecified launch failure";
    }
}
inline cudaError_t cudaGetLastError() {
    const cudaError_t pending = (cudaError_t)cuda_on_cpu.pending_errors;
    cuda_on_cpu.pending_errors = cudaSuccess;
    return pending;
}
inline cudaError_t cuda_failed(cudaError_t status) {
    cuda_on_cpu.pending_errors = status;
    return status;
}

/* ---------------------------------------------------------------- memory */

/* Bytes in front of each piece of memory and behind it that nobody may change; its own begin
   with the same value, which is no sensible one. */
enum { CUDA_MARGIN = 64, CUDA_UNSET = 0xA5 };
inline std::map<void *, size_t> cuda_memory; /* sizes */

inline cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t stream) {
    cuda_on_cpu.stream = stream;
    if (cuda_on_cpu.memory && size > (size_t)cuda_on_cpu.memory)
        return cuda_failed(cudaErrorMemoryAllocation);
    char *whole = static_cast<char *>(malloc(size + 2 * CUDA_MARGIN));
    if (whole == NULL) return cuda_failed(cudaErrorMemoryAllocation);
    memset(whole, CUDA_UNSET, size + 2 * CUDA_MARGIN);
    *memory = whole + CUDA_MARGIN;
    cuda_memory[*memory] = size;
    ++cuda_on_cpu.allocated;
    return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
    cuda_on_cpu.stream = stream;
    if (memory == NULL) return cudaSuccess;
    const auto found = cuda_memory.find(memory);
    if (found == cuda_memory.end()) {
        fprintf(stderr, "memory is released that was not allocated\n");
        abort();
    }
    unsigned char *own = static_cast<unsigned char *>(memory), *behind = own + found->second;
    for (int i = 0; i < CUDA_MARGIN; ++i)
        if (own[-1 - i] != CUDA_UNSET || behind[i] != CUDA_UNSET) {
            fprintf(stderr, "a kernel wrote beside its memory of %zu bytes\n", found->second);
            abort();
        }
    free(own - CUDA_MARGIN);
    cuda_memory.erase(found);
    --cuda_on_cpu.allocated;
    return cudaSuccess;
}

enum cudaMemcpyKind { cudaMemcpyDeviceToHost = 2 };
inline cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream) {
    cuda_on_cpu.stream = stream;
    memset(memory, value, size);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind,
                                   cudaStream_t stream) {
    cuda_on_cpu.stream = stream;
    memcpy(to, from, size);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cuda_on_cpu.stream = stream;
    return cudaSuccess;
}
inline unsigned long long atomicMin(unsigned long long *at, unsigned long long value) {
    const unsigned long long before = *at;
    if (value < before) *at = value;
    return before;
}

/* ---------------------------------------------------------------- launching */

template <typename... Parameters> struct cuda_call {
    void (*kernel)(Parameters...);
    void **arguments;

    template <size_t... Is> void with(std::index_sequence<Is...>) {
        kernel(*static_cast<Parameters *>(arguments[Is])...);
    }
    static void run(void *self) {
        static_cast<cuda_call *>(self)->with(std::index_sequence_for<Parameters...>());
    }
};

template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void **arguments,
                             size_t, cudaStream_t stream) {
    cuda_on_cpu_state &state = cuda_on_cpu;
    if (state.fail) return cuda_failed(cudaErrorLaunchFailure);
    ++state.launches;
    state.stream = stream;
    if (!state.fixed) {
        state.blocks = grid.x;
        state.threads = block.x;
    }
    gridDim = dim3((unsigned)state.blocks);
    blockDim = dim3((unsigned)state.threads);
    cuda_call<Parameters...> call = {kernel, arguments};
    cuda_threads.kernel = call.run;
    cuda_threads.arguments = &call;
    cuda_threads.backwards = state.backwards != 0;
    for (int64_t at = 0; at < state.blocks; ++at) {
        blockIdx = dim3((unsigned)(state.backwards ? state.blocks - 1 - at : at));
        cuda_threads.run();
    }
    return cudaSuccess;
}

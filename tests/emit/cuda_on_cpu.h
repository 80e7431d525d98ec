/* Runs generated CUDA operators on the CPU, to be included in front of a .cu file: kernels without
   barriers and shared memory, one thread after the other. */
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    explicit dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline dim3 gridDim, blockDim, blockIdx, threadIdx;

enum cudaError_t { cudaSuccess = 0, cudaErrorLaunchFailure = 719 };
typedef struct CUstream_st *cudaStream_t;

/* What a test sets and sees. */
struct cuda_on_cpu_state {
    int64_t blocks, threads; /* of the grid and of each block; a test that sets them has its way */
    int64_t fixed;           /* not 0: they are set */
    int64_t backwards;       /* not 0: the last thread runs first */
    int64_t fail;            /* not 0: launches fail */
    int64_t launches;        /* that have been made */
    int64_t pending_errors;  /* not yet taken by cudaGetLastError */
    cudaStream_t stream;     /* of the last launch */
};
extern "C" {
inline cuda_on_cpu_state cuda_on_cpu = {};
}

inline const char *cudaGetErrorString(cudaError_t status) {
    return status == cudaSuccess ? "no error" : "unspecified launch failure";
}
inline cudaError_t cudaGetLastError() {
    const bool pending = cuda_on_cpu.pending_errors != 0;
    cuda_on_cpu.pending_errors = 0;
    return pending ? cudaErrorLaunchFailure : cudaSuccess;
}

template <typename... Parameters, size_t... Is>
void cuda_on_cpu_call(void (*kernel)(Parameters...), void **arguments, std::index_sequence<Is...>) {
    kernel(*static_cast<Parameters *>(arguments[Is])...);
}

template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void **arguments,
                             size_t, cudaStream_t stream) {
    cuda_on_cpu_state &state = cuda_on_cpu;
    if (state.fail) {
        state.pending_errors = 1;
        return cudaErrorLaunchFailure;
    }
    ++state.launches;
    state.stream = stream;
    if (!state.fixed) {
        state.blocks = grid.x;
        state.threads = block.x;
    }
    gridDim = dim3((unsigned)state.blocks);
    blockDim = dim3((unsigned)state.threads);
    const int64_t threads = state.blocks * state.threads;
    for (int64_t at = 0; at < threads; ++at) {
        const int64_t thread = state.backwards ? threads - 1 - at : at;
        blockIdx = dim3((unsigned)(thread / state.threads));
        threadIdx = dim3((unsigned)(thread % state.threads));
        cuda_on_cpu_call(kernel, arguments, std::index_sequence_for<Parameters...>());
    }
    return cudaSuccess;
}

/* Launches and barriers for the machine that runs CUDA text on terms: `cvmgen verify --values`. */

#include "cpu/cvmgen_cpu.h"
#include <stdlib.h>
#include <string.h>

extern "C" int cvmgen_machine_has(const char *feature);
extern "C" void cvmgen_machine_threads(uint32_t count, void (*begin)(uint32_t),
                                       void (*enter)(uint32_t));
extern "C" int64_t cvmgen_machine_wait(uint32_t number, int operation, uint32_t lanes,
                                       const char *file, int line, int64_t value, uint32_t lane);

uint3 threadIdx, blockIdx, blockDim, gridDim;
cvmgen_cpu_block cvmgen_cpu_running;
static cvmgen_cpu_state state;
static cvmgen_cpu_copies copies;
static const cvmgen_cpu_kernel *running;
static uint3 next;

cvmgen_cpu_state *cvmgen_cpu_this_thread(void) {
    state.always_tiles = cvmgen_machine_has("tiles");
    state.always_votes = cvmgen_machine_has("votes");
    return &state;
}
cvmgen_cpu_copies &cvmgen_cpu_own_copies() { return copies; }

static uint3 index_of(uint32_t number) {
    const uint32_t rows = number / blockDim.x;
    return {number % blockDim.x, rows % blockDim.y, rows / blockDim.y};
}
static void enter(uint32_t number) { threadIdx = index_of(number); }
static void begin(uint32_t number) {
    next = index_of(number);
    cvmgen_cpu_running.begun = 0;
    cvmgen_cpu_running.threads = 1;
    cvmgen_cpu_running.index = &next;
    running->run(running->call);
}
int64_t cvmgen_cpu_wait(const cvmgen_cpu_barrier &barrier, int64_t value, uint32_t lane) {
    const uint32_t number = cvmgen_cpu_thread();
    return cvmgen_machine_wait(number, barrier.operation, barrier.lanes, barrier.file,
                               barrier.line, value, lane);
}
cudaError_t cvmgen_cpu_launch(const cvmgen_cpu_kernel &kernel, dim3 grid, dim3 block,
                              size_t dynamic, cudaStream_t) {
    if (cvmgen_machine_has("one block")) grid = dim3(1);
    gridDim = {grid.x, grid.y, grid.z};
    blockDim = {block.x, block.y, block.z};
    cvmgen_cpu_running.tensor_cores = cvmgen_machine_has("tensor cores");
    running = &kernel;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                cvmgen_cpu_running.dynamic = (unsigned char *)malloc(dynamic);
                cvmgen_machine_threads(block.x * block.y * block.z, begin, enter);
                free(cvmgen_cpu_running.dynamic);
            }
    return cudaSuccess;
}
cudaError_t cvmgen_cpu_set_dynamic(const void *, int) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return ""; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t) {
    *memory = malloc(size);
    return cudaSuccess;
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t) {
    free(memory);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t) {
    memset(memory, value, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind,
                            cudaStream_t) {
    memcpy(to, from, size);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

/* A device that is this machine's CPU: memory, launches, errors. */
#include "cvmgen_cpu_block.h"
#include "cvmgen_cpu_races.h"
#include "cvmgen_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

/* Shared memory of a block: what every launch may take, and what a kernel can be allowed on all
   devices of compute capability 8 and above. */
enum { USUAL_DYNAMIC = 48 << 10, MOST_DYNAMIC = 99 << 10 };
const uint64_t MOST_BLOCKS_X = INT32_MAX, MOST_BLOCKS = 65535; /* along y and z */

/* Bytes in front of each piece of memory and behind it that nobody may change; its own begin with
   the same value, which is no sensible one. A sanitizer has margins of its own. */
#ifdef CVMGEN_CPU_ADDRESSES
enum { MARGIN = 0 };
#else
enum { MARGIN = 64 };
#endif
enum { UNSET = 0xA5 };

struct piece {
    piece *next;
    size_t size;
    unsigned char *bytes; /* a margin, the memory, a margin */

    unsigned char *memory() { return bytes + MARGIN; }
};

/* Dynamic shared memory that launches of a kernel may ask for. */
struct allowance {
    allowance *next;
    const void *kernel;
    size_t size;
};

thread_local cvmgen_cpu_state state;
thread_local piece *pieces;
thread_local char failure[480]; /* how the last kernel failed; empty: it did not */
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the block that runs, and of these: */
allowance *allowances;

cudaError_t failed(cudaError_t status) {
    state.pending_error = status;
    return status;
}

/* Whether the margins of a piece are as they were; says which are not. */
bool is_whole(piece *each, const char *&side) {
    const unsigned char *memory = each->memory(), *end = memory + each->size;
    for (int at = 0; at < MARGIN; ++at)
        if (memory[at - MARGIN] != UNSET || end[at] != UNSET) {
            side = end[at] != UNSET ? "behind" : "in front of";
            return false;
        }
    return true;
}
/* Make the margins of a piece what they should be. */
void set_margins(piece *each) {
    memset(each->memory() - MARGIN, UNSET, MARGIN);
    memset(each->memory() + each->size, UNSET, MARGIN);
}
cudaError_t check_margins() {
    cudaError_t status = cudaSuccess;
    const char *side;
    for (piece *each = pieces; each != NULL; each = each->next)
        if (!is_whole(each, side)) {
            snprintf(failure, sizeof failure, "a kernel wrote %s its memory of %zu bytes", side,
                     each->size);
            set_margins(each);
            status = cudaErrorIllegalAddress;
        }
    return status;
}

/* ---------------------------------------------------------------- grids */

bool is_possible(const dim3 &grid, const dim3 &block) {
    const uint64_t count = (uint64_t)block.x * block.y * block.z;
    return 0 < count && block.x <= CVMGEN_CPU_THREADS && block.y <= CVMGEN_CPU_THREADS &&
           block.z <= 64 && count <= CVMGEN_CPU_THREADS && 0 < grid.x &&
           grid.x <= MOST_BLOCKS_X && 0 < grid.y && grid.y <= MOST_BLOCKS && 0 < grid.z &&
           grid.z <= MOST_BLOCKS;
}

/* All numbers below `count` once, in an order. */
struct sequence {
    uint64_t count, at, step;

    sequence(uint64_t count, int64_t order, cvmgen_cpu_random *random)
        : count(count), at(0), step(1) {
        if (order == CVMGEN_CPU_REVERSE) at = step = count - 1;
        if (order != CVMGEN_CPU_RANDOM || count < 3) return;
        at = random->below(count);
        step = 1 + random->below(count - 1);
        while (common_divisor(step, count) > 1) ++step;
    }
    static uint64_t common_divisor(uint64_t a, uint64_t b) {
        while (b != 0) {
            const uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    }
    uint64_t next() {
        const uint64_t found = at;
        at = (at + step) % count;
        return found;
    }
};

uint3 block_of(uint64_t number) {
    const uint64_t rows = number / gridDim.x;
    return {(unsigned)(number % gridDim.x), (unsigned)(rows % gridDim.y),
            (unsigned)(rows / gridDim.y)};
}

/* With the lock held: all blocks, up to one that fails. */
cudaError_t run_grid(const cvmgen_cpu_kernel &kernel, const dim3 &grid, const dim3 &block,
                     size_t dynamic) {
    cvmgen_cpu_random random = {state.seed};
    const uint64_t count = (uint64_t)grid.x * grid.y * grid.z;
    gridDim = {grid.x, grid.y, grid.z};
    blockDim = {block.x, block.y, block.z};
    cvmgen_cpu_running.late_copies = state.late_copies != 0;
    cvmgen_cpu_running.tensor_cores = state.tensor_cores != 0;
    cvmgen_cpu_arrange(state.order, &random);
    sequence numbers(count, state.order, &random);
    for (uint64_t at = 0; at < count; ++at) {
        const uint64_t number = numbers.next();
        blockIdx = block_of(number);
        if (state.order == CVMGEN_CPU_RANDOM && at > 0) cvmgen_cpu_arrange(state.order, &random);
        /* What another block left is not there to read. */
        memset(cvmgen_cpu_running.dynamic, UNSET, dynamic);
        cvmgen_cpu_races_block(number);
        if (const char *what = cvmgen_cpu_run_block(kernel)) {
            snprintf(failure, sizeof failure, "%s", what);
            return cudaErrorLaunchFailure;
        }
    }
    return cudaSuccess;
}

/* With the lock held: run_grid, in memory of the size that blocks share. */
cudaError_t run_shared(const cvmgen_cpu_kernel &kernel, const dim3 &grid, const dim3 &block,
                       size_t dynamic) {
    unsigned char *const memory = (unsigned char *)malloc(dynamic > 0 ? dynamic : 1);
    if (memory == NULL) return cudaErrorMemoryAllocation;
    cvmgen_cpu_running.dynamic = memory;
    cvmgen_cpu_races_launch((uint64_t)grid.x * grid.y * grid.z, memory, dynamic);
    const cudaError_t status = run_grid(kernel, grid, block, dynamic);
    free(memory);
    return status;
}

/* With the lock held. */
size_t allowed(const void *kernel) {
    for (const allowance *each = allowances; each != NULL; each = each->next)
        if (each->kernel == kernel) return each->size;
    return USUAL_DYNAMIC;
}

}  // namespace

cvmgen_cpu_state *cvmgen_cpu_this_thread(void) { return &state; }

cudaError_t cvmgen_cpu_launch(const cvmgen_cpu_kernel &kernel, dim3 grid, dim3 block,
                              size_t dynamic, cudaStream_t stream) {
    if (cvmgen_on_driver()) return cvmgen_driver_launch(kernel, grid, block, dynamic, stream);
    failure[0] = 0;
    if (state.blocks) grid = dim3((unsigned)state.blocks);
    if (state.threads) block = dim3((unsigned)state.threads);
    if (state.fail) return failed(cudaErrorLaunchFailure);
    if (!is_possible(grid, block)) return failed(cudaErrorInvalidConfiguration);
    if (state.on_launch != NULL) state.on_launch(kernel.function);
    ++state.launches;
    state.stream = stream;
    state.ran_blocks = (int64_t)grid.x * grid.y * grid.z;
    state.ran_threads = (int64_t)block.x * block.y * block.z;
    state.ran_dynamic = (int64_t)dynamic;
    pthread_mutex_lock(&lock);
    cudaError_t status = cudaErrorInvalidValue;
    if (dynamic <= allowed(kernel.function)) status = run_shared(kernel, grid, block, dynamic);
    pthread_mutex_unlock(&lock);
    if (status == cudaSuccess) status = check_margins();
    return status == cudaSuccess ? status : failed(status);
}

cudaError_t cvmgen_cpu_set_dynamic(const void *kernel, int size) {
    if (cvmgen_on_driver()) return cvmgen_driver_set_dynamic(kernel, size);
    if (size < 0 || size > MOST_DYNAMIC) return failed(cudaErrorInvalidValue);
    allowance *made = (allowance *)malloc(sizeof *made);
    if (made == NULL) return failed(cudaErrorMemoryAllocation);
    pthread_mutex_lock(&lock);
    allowance *each = allowances;
    while (each != NULL && each->kernel != kernel) each = each->next;
    if (each == NULL) {
        *made = {allowances, kernel, 0};
        each = allowances = made;
    }
    each->size = (size_t)size;
    pthread_mutex_unlock(&lock);
    if (each != made) free(made);
    return cudaSuccess;
}

/* ---------------------------------------------------------------- errors */

const char *cudaGetErrorString(cudaError_t status) {
    if (cvmgen_on_driver()) return cvmgen_driver_error(status);
    const bool is_of_kernel = status == cudaErrorLaunchFailure || status == cudaErrorIllegalAddress;
    if (is_of_kernel && failure[0] != 0) return failure;
    switch (status) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInvalidConfiguration: return "invalid configuration argument";
        case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
        case cudaErrorLaunchFailure: return "unspecified launch failure";
    }
    return "unrecognized error code";
}
cudaError_t cudaPeekAtLastError() { return (cudaError_t)state.pending_error; }
cudaError_t cudaGetLastError() {
    const cudaError_t pending = cudaPeekAtLastError();
    state.pending_error = cudaSuccess;
    return pending;
}

/* ---------------------------------------------------------------- memory */

cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t stream) {
    if (cvmgen_on_driver()) return cvmgen_driver_allocate(memory, size, stream);
    const size_t around = 2 * MARGIN;
    state.stream = stream;
    if ((state.memory && size > (size_t)state.memory) || size > PTRDIFF_MAX - around)
        return failed(cudaErrorMemoryAllocation);
    piece *made = (piece *)malloc(sizeof *made);
    unsigned char *bytes = (unsigned char *)malloc(size + around);
    if (made == NULL || bytes == NULL) {
        free(made);
        free(bytes);
        return failed(cudaErrorMemoryAllocation);
    }
    *made = {pieces, size, bytes};
    pieces = made;
    set_margins(made);
    memset(made->memory(), UNSET, size);
    *memory = made->memory();
    ++state.allocations;
    return cudaSuccess;
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
    if (cvmgen_on_driver()) return cvmgen_driver_release(memory, stream);
    state.stream = stream;
    if (memory == NULL) return cudaSuccess;
    piece **at = &pieces;
    while (*at != NULL && (*at)->memory() != memory) at = &(*at)->next;
    if (*at == NULL) return failed(cudaErrorInvalidValue);
    piece *found = *at;
    *at = found->next;
    free(found->bytes);
    free(found);
    --state.allocations;
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream) {
    if (cvmgen_on_driver()) return cvmgen_driver_fill(memory, value, size, stream);
    state.stream = stream;
    memset(memory, value, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    if (cvmgen_on_driver()) return cvmgen_driver_copy(to, from, size, kind, stream);
    state.stream = stream;
    memcpy(to, from, size);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (cvmgen_on_driver()) return cvmgen_driver_synchronize(stream);
    state.stream = stream;
    return cudaSuccess;
}

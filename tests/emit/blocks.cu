/* Kernels that call what the threads of a block do together, each block for one row of its input,
   and the host code that starts them. */
#include "cvmgen_block.h"
#include "cvmgen_cuda.h"

#define KERNEL extern "C" __global__ void __launch_bounds__(CVMGEN_BLOCK, CVMGEN_RESIDENT)

/* found[row]: where holds[row] is not 0, ascending; counts[row]: how many there are. */
KERNEL blocks_select(const int8_t *holds, int64_t rows, int64_t length, int64_t *found,
                     int64_t *counts) {
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        int64_t count = 0;
        const int64_t share = cvmgen_block_share(length);
        for (int64_t first = 0; first < length; first += share * blockDim.x) {
            const int64_t start = first + share * threadIdx.x;
            const int64_t stop = cvmgen_min_i64(start + share, length);
            uint32_t chosen = 0;
            int64_t total;
            for (int64_t at = start; at < stop; ++at)
                if (holds[row * length + at] != 0) chosen |= 1u << (at - start);
            int64_t place = count + cvmgen_block_rank(chosen, &total);
            for (; chosen != 0; chosen &= chosen - 1)
                found[row * length + place++] = start + cvmgen_lowest_bit(chosen);
            count += total;
        }
        if (threadIdx.x == 0) counts[row] = count;
    }
}

/* joint[row]: all bits of values[row], of which each thread brings some. */
KERNEL blocks_or(const uint64_t *values, int64_t rows, int64_t length, uint64_t *joint) {
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        uint64_t own = 0;
        for (int64_t at = threadIdx.x; at < length; at += blockDim.x) own |= values[row * length + at];
        const uint64_t found = cvmgen_block_or(own);
        if (threadIdx.x == blockDim.x / 2) joint[row] = found;
    }
}

/* kept[row]: bit by bit the candidates that no kept one before them rules out, by the
   columns of mask[row]. */
KERNEL blocks_keep(const uint64_t *mask, int64_t rows, int64_t length, uint64_t *kept) {
    const int64_t columns = (length + 63) / 64;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
        for (int64_t column = 0; column < columns; ++column) {
            const int64_t place = row * columns + column;
            const uint64_t found = cvmgen_block_keep(mask + place * length, 64 * column, length);
            if (threadIdx.x == 0) kept[place] = found;
        }
}

/* votes[row]: of the first threads, one for each of holds[row], how many hold; all; any. */
KERNEL blocks_vote(const int8_t *holds, int64_t rows, int64_t length, int64_t *votes) {
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const bool there = threadIdx.x < length;
        const bool held = there && holds[row * length + threadIdx.x] != 0;
        const int64_t count = cvmgen_block_count(held);
        const bool all = cvmgen_block_all(held || !there), any = cvmgen_block_any(held);
        if (threadIdx.x == 0) {
            votes[3 * row] = count;
            votes[3 * row + 1] = all;
            votes[3 * row + 2] = any;
        }
    }
}

/* sorted[row]: the numbers below `length`, by keys[row]. Threads write and read the list and its
   keys where others sort. */
KERNEL blocks_sort(const int64_t *keys, int64_t width, int64_t rows, int64_t length,
                   int64_t *memory, int64_t *sorted) {
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        int64_t *const list = memory + row * (3 + width) * length, *const spare = list + length;
        int64_t *const own = spare + 2 * length;
        const int64_t last = length - 1;
        for (int64_t at = threadIdx.x; at < length; at += blockDim.x) {
            list[last - at] = last - at;
            for (int64_t k = 0; k < width; ++k)
                own[(last - at) * width + k] = keys[(row * length + last - at) * width + k];
        }
        cvmgen_block_sort(list, own, width, spare, length);
        for (int64_t at = threadIdx.x; at < length; at += blockDim.x)
            sorted[row * length + last - at] = list[last - at];
    }
}

/* Without a barrier: each row counted by the threads of its block. */
KERNEL blocks_count(int64_t rows, int64_t *counts) {
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
        if (threadIdx.x == blockDim.x - 1) counts[row] += blockDim.x;
}

/* Faults: barriers that some threads do not reach. */
KERNEL blocks_leave(int64_t *x) {
    if (threadIdx.x == 3) return;
    __syncthreads();
    x[threadIdx.x] = 1;
}
KERNEL blocks_part(int64_t *x) {
    if (threadIdx.x < 2)
        __syncthreads();
    else
        __syncthreads();
    x[threadIdx.x] = 1;
}
KERNEL blocks_rounds(int64_t *x) {
    for (unsigned i = 0; i <= threadIdx.x; ++i) {
        x[threadIdx.x] = i;
        __syncthreads();
    }
}
KERNEL blocks_lane(int64_t *x) {
    if (threadIdx.x > 0) x[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
}

#ifndef __CUDACC_RTC__
extern "C" int run_select(cvmgen_error *error, const int8_t *holds, int64_t rows, int64_t length,
                          int64_t *found, int64_t *counts) {
    return cvmgen_launch_blocks(error, NULL, rows, blocks_select, holds, rows, length, found,
                                counts);
}
extern "C" int run_or(cvmgen_error *error, const uint64_t *values, int64_t rows, int64_t length,
                      uint64_t *joint) {
    return cvmgen_launch_blocks(error, NULL, rows, blocks_or, values, rows, length, joint);
}
extern "C" int run_keep(cvmgen_error *error, const uint64_t *mask, int64_t rows, int64_t length,
                        uint64_t *kept) {
    return cvmgen_launch_blocks(error, NULL, rows, blocks_keep, mask, rows, length, kept);
}
extern "C" int64_t mask_words(int64_t lists, int64_t capacity) {
    return cvmgen_mask_words(lists, capacity);
}
extern "C" int run_vote(cvmgen_error *error, const int8_t *holds, int64_t rows, int64_t length,
                        int64_t *votes) {
    return cvmgen_launch_blocks(error, NULL, rows, blocks_vote, holds, rows, length, votes);
}
extern "C" int run_sort(cvmgen_error *error, const int64_t *keys, int64_t width, int64_t rows,
                        int64_t length, int64_t *sorted) {
    int64_t *memory;
    int status = cvmgen_device_scratch(error, NULL, rows * (3 + width) * length, &memory);
    if (status == CVMGEN_OK)
        status = cvmgen_launch_blocks(error, NULL, rows, blocks_sort, keys, width, rows, length,
                                      memory, sorted);
    cvmgen_device_free(NULL, memory);
    return status;
}
extern "C" int run_count(cvmgen_error *error, int64_t rows, int64_t *counts) {
    return cvmgen_launch_blocks(error, NULL, rows, blocks_count, rows, counts);
}
extern "C" int run_fault(cvmgen_error *error, int which, int64_t *x) {
    void (*const faults[])(int64_t *) = {blocks_leave, blocks_part, blocks_rounds, blocks_lane};
    return cvmgen_launch_blocks(error, NULL, 1, faults[which], x);
}
extern "C" int run_scratch(cvmgen_error *error, cudaStream_t stream, int64_t count) {
    int64_t *memory;
    const int status = cvmgen_device_scratch(error, stream, count, &memory);
    if ((memory == NULL) == (status == CVMGEN_OK)) return -1;
    cvmgen_device_free(stream, memory);
    return status;
}
#endif

/* What threads of a block know of themselves, and how they wait for each other. */
#ifndef CVMGEN_CPU_THREADS_H
#define CVMGEN_CPU_THREADS_H

extern CVMGEN_CPU_INTERNAL uint3 threadIdx, blockIdx, blockDim, gridDim;
enum { warpSize = 32 };

/* The block that runs. A place is a thread's in the order in which they begin. */
struct cvmgen_cpu_block {
    uint32_t threads, begun;
    uint32_t ready;         /* how many have passed a barrier and may go on */
    const uint3 *index;     /* threadIdx by place */
    unsigned char *dynamic; /* its dynamic shared memory */
    bool late_copies;       /* asynchronous copies land when they are waited for */
    bool tensor_cores;      /* warps multiply as tensor cores do */
};
extern CVMGEN_CPU_INTERNAL cvmgen_cpu_block cvmgen_cpu_running;

/* Become the next thread that has not begun, unless others may go on, or all have begun. */
CVMGEN_UNINSTRUMENTED static inline bool cvmgen_cpu_begin_thread() {
    cvmgen_cpu_block &block = cvmgen_cpu_running;
    if (block.begun == block.threads || block.ready > 0) return false;
    threadIdx = block.index[block.begun++];
    return true;
}

/* ---------------------------------------------------------------- barriers */

/* What the threads of a barrier find together. */
enum cvmgen_cpu_operation {
    CVMGEN_CPU_COUNT, /* of a block: how many of the values are not 0 */
    CVMGEN_CPU_BALLOT, /* of a warp, as all others: the lanes whose value is not 0 */
    CVMGEN_CPU_SHUFFLE, /* the value of a lane */
    CVMGEN_CPU_MEMORY,  /* what they wrote; none of the others promises that */
    CVMGEN_CPU_ADD,
    CVMGEN_CPU_AND,
    CVMGEN_CPU_OR,
    CVMGEN_CPU_XOR,
    CVMGEN_CPU_MIN,
    CVMGEN_CPU_MAX
};

/* A barrier at a place of the text. Lanes beyond the threads of a block are not waited for. */
struct cvmgen_cpu_barrier {
    cvmgen_cpu_operation operation;
    uint32_t lanes; /* of a warp; 0: of the block */
    const char *file;
    int line;
};

/* Wait until all threads of the barrier have come with their values; what they find. `lane` is
   the one whose value a shuffle takes. */
CVMGEN_CPU_INTERNAL int64_t cvmgen_cpu_wait(const cvmgen_cpu_barrier &barrier, int64_t value,
                                            uint32_t lane);

/* The place of a barrier is that of its caller, which default arguments tell. */
#define CVMGEN_CPU_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define CVMGEN_CPU_FUNCTION CVMGEN_UNINSTRUMENTED static inline

CVMGEN_CPU_FUNCTION int __syncthreads_count(int holds, CVMGEN_CPU_PLACE) {
    return (int)cvmgen_cpu_wait({CVMGEN_CPU_COUNT, 0, file, line}, holds, 0);
}
CVMGEN_CPU_FUNCTION void __syncthreads(CVMGEN_CPU_PLACE) { __syncthreads_count(0, file, line); }
CVMGEN_CPU_FUNCTION int __syncthreads_or(int holds, CVMGEN_CPU_PLACE) {
    return __syncthreads_count(holds, file, line) != 0;
}
CVMGEN_CPU_FUNCTION int __syncthreads_and(int holds, CVMGEN_CPU_PLACE) {
    return __syncthreads_count(!holds, file, line) == 0;
}

CVMGEN_CPU_FUNCTION unsigned __ballot_sync(unsigned lanes, int holds, CVMGEN_CPU_PLACE) {
    return (unsigned)cvmgen_cpu_wait({CVMGEN_CPU_BALLOT, lanes, file, line}, holds, 0);
}
CVMGEN_CPU_FUNCTION void __syncwarp(unsigned lanes = 0xffffffffu, CVMGEN_CPU_PLACE) {
    cvmgen_cpu_wait({CVMGEN_CPU_MEMORY, lanes, file, line}, 0, 0);
}
CVMGEN_CPU_FUNCTION int __any_sync(unsigned lanes, int holds, CVMGEN_CPU_PLACE) {
    return __ballot_sync(lanes, holds, file, line) != 0;
}
CVMGEN_CPU_FUNCTION int __all_sync(unsigned lanes, int holds, CVMGEN_CPU_PLACE) {
    return __ballot_sync(lanes, !holds, file, line) == 0;
}

/* ---------------------------------------------------------------- lanes */

/* The thread in its block, counted as lanes are: x first. */
CVMGEN_CPU_FUNCTION uint32_t cvmgen_cpu_thread() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
CVMGEN_CPU_FUNCTION uint32_t cvmgen_cpu_lane() { return cvmgen_cpu_thread() % warpSize; }

/* The value of a lane. */
template <typename T>
CVMGEN_CPU_FUNCTION T cvmgen_cpu_shuffle(unsigned lanes, T value, uint32_t lane, const char *file,
                                         int line) {
    int64_t bits = 0;
    T found;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = cvmgen_cpu_wait({CVMGEN_CPU_SHUFFLE, lanes, file, line}, bits, lane);
    __builtin_memcpy(&found, &bits, sizeof found);
    return found;
}

/* Lanes in groups of `width`, a power of 2: the first of a lane's group, and its place there. */
CVMGEN_CPU_FUNCTION uint32_t cvmgen_cpu_place(int width) {
    return cvmgen_cpu_lane() & (uint32_t)(width - 1);
}
CVMGEN_CPU_FUNCTION uint32_t cvmgen_cpu_group(int width) {
    return cvmgen_cpu_lane() - cvmgen_cpu_place(width);
}
/* Where a lane of the group at `place` lies; one beyond the group's end is the calling one. */
CVMGEN_CPU_FUNCTION uint32_t cvmgen_cpu_source(uint64_t place, int width) {
    return place < (uint32_t)width ? cvmgen_cpu_group(width) + (uint32_t)place : cvmgen_cpu_lane();
}

/* For the types that CUDA has them for: smaller ones are promoted. */
#define CVMGEN_CPU_SHUFFLES(T)                                                           \
    CVMGEN_CPU_FUNCTION T __shfl_sync(unsigned lanes, T value, int lane,                 \
                                      int width = warpSize, CVMGEN_CPU_PLACE) {          \
        const uint32_t place = (uint32_t)lane & (uint32_t)(width - 1);                   \
        const uint32_t source = cvmgen_cpu_source(place, width);                         \
        return cvmgen_cpu_shuffle(lanes, value, source, file, line);                     \
    }                                                                                    \
    CVMGEN_CPU_FUNCTION T __shfl_up_sync(unsigned lanes, T value, unsigned delta,        \
                                         int width = warpSize, CVMGEN_CPU_PLACE) {       \
        const uint32_t own = cvmgen_cpu_place(width);                                    \
        const uint32_t source = cvmgen_cpu_source(own - (delta <= own ? delta : 0), width); \
        return cvmgen_cpu_shuffle(lanes, value, source, file, line);                     \
    }                                                                                    \
    CVMGEN_CPU_FUNCTION T __shfl_down_sync(unsigned lanes, T value, unsigned delta,      \
                                           int width = warpSize, CVMGEN_CPU_PLACE) {     \
        const uint64_t place = cvmgen_cpu_place(width) + (uint64_t)delta;                \
        const uint32_t source = cvmgen_cpu_source(place, width);                         \
        return cvmgen_cpu_shuffle(lanes, value, source, file, line);                     \
    }                                                                                    \
    CVMGEN_CPU_FUNCTION T __shfl_xor_sync(unsigned lanes, T value, int mask,             \
                                          int width = warpSize, CVMGEN_CPU_PLACE) {      \
        const uint32_t other = cvmgen_cpu_lane() ^ (uint32_t)mask;                       \
        const bool inside = other < cvmgen_cpu_group(width) + (uint32_t)width;           \
        const uint32_t source = inside ? other : cvmgen_cpu_lane();                      \
        return cvmgen_cpu_shuffle(lanes, value, source, file, line);                     \
    }
CVMGEN_CPU_SHUFFLES(int)
CVMGEN_CPU_SHUFFLES(unsigned)
CVMGEN_CPU_SHUFFLES(long)
CVMGEN_CPU_SHUFFLES(unsigned long)
CVMGEN_CPU_SHUFFLES(long long)
CVMGEN_CPU_SHUFFLES(unsigned long long)
CVMGEN_CPU_SHUFFLES(float)
CVMGEN_CPU_SHUFFLES(double)
#undef CVMGEN_CPU_SHUFFLES

#define CVMGEN_CPU_REDUCE(name, T, operation)                                            \
    CVMGEN_CPU_FUNCTION T name(unsigned lanes, T value, CVMGEN_CPU_PLACE) {              \
        return (T)cvmgen_cpu_wait({operation, lanes, file, line}, (int64_t)value, 0);    \
    }
CVMGEN_CPU_REDUCE(__reduce_add_sync, int, CVMGEN_CPU_ADD)
CVMGEN_CPU_REDUCE(__reduce_add_sync, unsigned, CVMGEN_CPU_ADD)
CVMGEN_CPU_REDUCE(__reduce_min_sync, int, CVMGEN_CPU_MIN)
CVMGEN_CPU_REDUCE(__reduce_min_sync, unsigned, CVMGEN_CPU_MIN)
CVMGEN_CPU_REDUCE(__reduce_max_sync, int, CVMGEN_CPU_MAX)
CVMGEN_CPU_REDUCE(__reduce_max_sync, unsigned, CVMGEN_CPU_MAX)
CVMGEN_CPU_REDUCE(__reduce_and_sync, unsigned, CVMGEN_CPU_AND)
CVMGEN_CPU_REDUCE(__reduce_or_sync, unsigned, CVMGEN_CPU_OR)
CVMGEN_CPU_REDUCE(__reduce_xor_sync, unsigned, CVMGEN_CPU_XOR)
#undef CVMGEN_CPU_REDUCE
#endif

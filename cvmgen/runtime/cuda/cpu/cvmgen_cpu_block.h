/* What launching asks of the scheduler of a block. */
#ifndef CVMGEN_CPU_BLOCK_H
#define CVMGEN_CPU_BLOCK_H
#include "cvmgen_cpu.h"

enum { CVMGEN_CPU_THREADS = 1024 }; /* of a block at most */

/* Numbers that look random and follow from the first. */
struct cvmgen_cpu_random {
    uint64_t state;

    uint64_t below(uint64_t end) {
        state += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t mixed = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        return (mixed ^ mixed >> 31) % end;
    }
};

/* The order of the threads of a block whose dimensions are blockDim. */
CVMGEN_CPU_INTERNAL void cvmgen_cpu_arrange(int64_t order, cvmgen_cpu_random *random);

/* Run all threads of the block blockIdx to their end; what went wrong, or NULL. Its memory must
   not be kept. */
CVMGEN_CPU_INTERNAL const char *cvmgen_cpu_run_block(const cvmgen_cpu_kernel &kernel);
#endif

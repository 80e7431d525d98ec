/* What finds races is told by launching and by the scheduler of a block. */
#ifndef CVMGEN_CPU_RACES_H
#define CVMGEN_CPU_RACES_H
#include "cvmgen_cpu.h"

#ifdef CVMGEN_CPU_RACES
/* So many blocks begin, and share so much dynamic memory each. */
CVMGEN_CPU_INTERNAL void cvmgen_cpu_races_launch(uint64_t blocks, const void *dynamic, size_t size);
/* A block begins. */
CVMGEN_CPU_INTERNAL void cvmgen_cpu_races_block(uint64_t number);
/* All threads of the block have met, or these lanes of the warp of threads begin..end-1. */
CVMGEN_CPU_INTERNAL void cvmgen_cpu_races_barrier();
CVMGEN_CPU_INTERNAL void cvmgen_cpu_races_warp(uint32_t begin, uint32_t end, uint32_t lanes);
/* Threads run on this stack, which is nobody else's. */
CVMGEN_CPU_INTERNAL void cvmgen_cpu_races_watch(const char *stack, size_t size);
/* They stopped; the first race of the block, or NULL. */
CVMGEN_CPU_INTERNAL const char *cvmgen_cpu_races_found();
/* The block has ended; what it read in shared memory that nobody had written, or NULL. */
CVMGEN_CPU_INTERNAL const char *cvmgen_cpu_races_unwritten();
#else
static inline void cvmgen_cpu_races_launch(uint64_t, const void *, size_t) {}
static inline void cvmgen_cpu_races_block(uint64_t) {}
static inline void cvmgen_cpu_races_barrier() {}
static inline void cvmgen_cpu_races_warp(uint32_t, uint32_t, uint32_t) {}
static inline void cvmgen_cpu_races_watch(const char *, size_t) {}
static inline const char *cvmgen_cpu_races_found() { return NULL; }
static inline const char *cvmgen_cpu_races_unwritten() { return NULL; }
#endif
#endif

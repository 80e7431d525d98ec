/* CUDA C++ for the CPU, to be put in front of a .cu file: g++ -x c++ -std=c++17 -include
   cpu/cvmgen_cpu.h.

   The text of kernels stays as it is. Each thread of a block is a fiber, blocks run one after the
   other, and so what the threads of a block share is static memory. Launches from several
   threads of the host take turns. */
#ifndef CVMGEN_CPU_H
#define CVMGEN_CPU_H
#include <stddef.h>
#include <stdint.h>

/* Builds that look for faults. For -fsanitize=thread the library of the compiler is not needed:
   what its calls need is in cvmgen_cpu_races.cc. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define CVMGEN_CPU_ADDRESSES
#elif __has_feature(thread_sanitizer)
#define CVMGEN_CPU_RACES
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CVMGEN_CPU_ADDRESSES
#elif defined(__SANITIZE_THREAD__)
#define CVMGEN_CPU_RACES
#endif

/* Kernels are visible: on a GPU one is found by the name of its function. */
#define __global__ __attribute__((visibility("default")))
/* GCC does not tell of stores of what a call returns: where races are looked for, there are no
   calls. */
#ifdef CVMGEN_CPU_RACES
#define __device__ __attribute__((always_inline))
#pragma GCC diagnostic ignored "-Wattributes"
#else
#define __device__
#endif
#define __host__
#define __grid_constant__
#define __shared__ static
#define __constant__ static __attribute__((unused))
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))

/* What belongs to the runtime and not to a kernel. */
#define CVMGEN_CPU_INTERNAL __attribute__((visibility("hidden")))
/* Variables of the runtime that the text of kernels reaches, and that are nobody's races: known by
   their place. */
#ifdef CVMGEN_CPU_RACES
#define CVMGEN_CPU_PRIVATE __attribute__((section("cvmgen_private")))
#else
#define CVMGEN_CPU_PRIVATE
#endif
/* Functions that run on the stacks of fibers but are not the text of a kernel: their accesses are
   not looked at. */
#if defined(CVMGEN_CPU_RACES) && defined(__clang__)
#define CVMGEN_UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#elif defined(CVMGEN_CPU_RACES)
#define CVMGEN_UNINSTRUMENTED __attribute__((no_sanitize_thread))
#else
#define CVMGEN_UNINSTRUMENTED
#endif

/* Memory of a block whose size the launch gives. */
#define CVMGEN_DYNAMIC_SHARED(name) unsigned char *const name = cvmgen_cpu_running.dynamic

#include "cvmgen_cpu_vectors.h"

#include "cvmgen_cpu_threads.h"

#include "cvmgen_cpu_functions.h"

#include "cvmgen_cpu_copies.h"

#include "cvmgen_cpu_device.h"
#endif

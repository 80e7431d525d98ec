/* A GPU behind the host code of operators: what they launch and allocate goes to CUDA's driver
   instead of fibers. */
#ifndef CVMGEN_DRIVER_H
#define CVMGEN_DRIVER_H
#include "cvmgen_cpu.h"

/* Functions of the driver's library, in the types of cuda.h without that header: a CUresult is an
   int, a CUdeviceptr a uint64_t, and handles are pointers. */
struct cvmgen_driver {
    int (*push_context)(void *context);
    int (*pop_context)(void **context);
    int (*get_function)(void **function, void *module, const char *name);
    int (*set_attribute)(void *function, int attribute, int value);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic,
                  cudaStream_t stream, void **arguments, void **extra);
    int (*allocate)(uint64_t *memory, size_t size, void *pool, cudaStream_t stream);
    int (*release)(uint64_t memory, cudaStream_t stream);
    int (*fill)(uint64_t memory, unsigned char value, size_t size, cudaStream_t stream);
    int (*to_device)(uint64_t to, const void *from, size_t size, cudaStream_t stream);
    int (*to_host)(void *to, uint64_t from, size_t size, cudaStream_t stream);
    int (*on_device)(uint64_t to, uint64_t from, size_t size, cudaStream_t stream);
    int (*synchronize)(cudaStream_t stream);
    int (*capture)(cudaStream_t stream, int *status, uint64_t *number, void **graph,
                   void *const **dependencies, size_t *count);
    int (*error_name)(int status, const char **name);
    int (*error_text)(int status, const char **text);
    void *pool; /* a CUmemoryPool */
};

/* Machine code of kernels in a context, and those that were found in it so far: NULL at first. */
struct cvmgen_module {
    void *handle; /* a CUmodule */
    struct cvmgen_found_kernel *found;
};

typedef int (*cvmgen_operator)(const void *args, cudaStream_t stream, void *error);
typedef int (*cvmgen_noting_operator)(const void *args, cudaStream_t stream, int64_t *overflow,
                                      void *error);

/* Call an operator whose tensors lie in device memory; `module` has its kernels. The context is
   current meanwhile, and the one before it afterwards. */
extern "C" int cvmgen_driver_call(const cvmgen_driver *driver, void *context,
                                  cvmgen_module *module, cvmgen_operator call, const void *args,
                                  cudaStream_t stream, void *error);
/* The same of an operator whose kernels note what does not fit. Told is the graph that captures
   the call, and the number of the capture; 0 where none does. */
struct cvmgen_noting {
    int64_t *overflow; /* where they note it; NULL: nothing does */
    uint64_t capture;
    void *graph;
};
extern "C" int cvmgen_driver_call_noting(const cvmgen_driver *driver, void *context,
                                         cvmgen_module *module, cvmgen_noting_operator call,
                                         const void *args, cudaStream_t stream,
                                         cvmgen_noting *noting, void *error);
/* Find kernels before they are launched, which may be while a graph is captured; a CUresult. */
extern "C" int cvmgen_driver_find(const cvmgen_driver *driver, void *context,
                                  cvmgen_module *module, const void *const *kernels, int count);

/* ---------------------------------------------------------------- what the host code calls */

/* Whether the calling thread is in an operator that was called so. */
CVMGEN_CPU_INTERNAL bool cvmgen_on_driver();
/* The kernel that the thread launched last. */
CVMGEN_CPU_INTERNAL const cvmgen_cpu_kernel *cvmgen_driver_launched();

CVMGEN_CPU_INTERNAL cudaError_t cvmgen_driver_launch(const cvmgen_cpu_kernel &kernel, dim3 grid,
                                                     dim3 block, size_t dynamic,
                                                     cudaStream_t stream);
CVMGEN_CPU_INTERNAL cudaError_t cvmgen_driver_set_dynamic(const void *kernel, int size);
CVMGEN_CPU_INTERNAL cudaError_t cvmgen_driver_allocate(void **memory, size_t size,
                                                       cudaStream_t stream);
CVMGEN_CPU_INTERNAL cudaError_t cvmgen_driver_release(void *memory, cudaStream_t stream);
CVMGEN_CPU_INTERNAL cudaError_t cvmgen_driver_fill(void *memory, int value, size_t size,
                                                   cudaStream_t stream);
CVMGEN_CPU_INTERNAL cudaError_t cvmgen_driver_copy(void *to, const void *from, size_t size,
                                                   cudaMemcpyKind kind, cudaStream_t stream);
CVMGEN_CPU_INTERNAL cudaError_t cvmgen_driver_synchronize(cudaStream_t stream);
/* The driver's name of an error and what it means; of a launch, which kernel's. */
CVMGEN_CPU_INTERNAL const char *cvmgen_driver_error(cudaError_t status);
#endif

/* What CUDA's runtime gives to hosts, as far as generated operators use it. */
#ifndef CVMGEN_CPU_DEVICE_H
#define CVMGEN_CPU_DEVICE_H

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
typedef struct CUstream_st *cudaStream_t;

#define CVMGEN_CPU_API extern "C" CVMGEN_CPU_INTERNAL

/* An error's meaning; of the last kernel of this thread that failed, what happened. */
CVMGEN_CPU_API const char *cudaGetErrorString(cudaError_t status);
CVMGEN_CPU_API cudaError_t cudaGetLastError();
CVMGEN_CPU_API cudaError_t cudaPeekAtLastError();

/* Memory belongs to the thread that asked for it. A kernel of this thread that writes beside it
   fails. */
CVMGEN_CPU_API cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t stream);
CVMGEN_CPU_API cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
CVMGEN_CPU_API cudaError_t cudaMemsetAsync(void *memory, int value, size_t size,
                                           cudaStream_t stream);
CVMGEN_CPU_API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
                                           cudaMemcpyKind kind, cudaStream_t stream);
CVMGEN_CPU_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);

/* ---------------------------------------------------------------- launching */

/* A kernel, how a fiber runs threads of it, and where the launch has its arguments. */
struct cvmgen_cpu_kernel {
    const void *function;
    void (*run)(const void *call);
    const void *call;
    void **arguments;
};

CVMGEN_CPU_INTERNAL cudaError_t cvmgen_cpu_launch(const cvmgen_cpu_kernel &kernel, dim3 grid,
                                                  dim3 block, size_t dynamic, cudaStream_t stream);
CVMGEN_CPU_INTERNAL cudaError_t cvmgen_cpu_set_dynamic(const void *kernel, int size);

/* The next of a launch's arguments. */
template <typename T> CVMGEN_CPU_FUNCTION T &cvmgen_cpu_argument(void **&next) {
    return *static_cast<T *>(*next++);
}

template <typename... Parameters> struct cvmgen_cpu_call {
    void (*kernel)(Parameters...);
    void **arguments;

    struct threads {
        CVMGEN_UNINSTRUMENTED threads(void (*kernel)(Parameters...), Parameters &...arguments) {
            while (cvmgen_cpu_begin_thread()) kernel(arguments...);
        }
    };
    CVMGEN_UNINSTRUMENTED static void run(const void *call) {
        const cvmgen_cpu_call &self = *static_cast<const cvmgen_cpu_call *>(call);
        [[maybe_unused]] void **next = self.arguments;
        /* Braces, so that arguments are taken from left to right. */
        threads{self.kernel, cvmgen_cpu_argument<Parameters>(next)...};
    }
};

template <typename... Parameters>
static cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                    void **arguments, size_t dynamic, cudaStream_t stream) {
    const cvmgen_cpu_call<Parameters...> call = {kernel, arguments};
    return cvmgen_cpu_launch({(const void *)kernel, call.run, &call, arguments}, grid, block,
                             dynamic, stream);
}

/* The dynamic shared memory that launches of a kernel may ask for. */
template <typename... Parameters>
static inline cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute,
                                               int value) {
    return cvmgen_cpu_set_dynamic((const void *)kernel, value);
}

/* ---------------------------------------------------------------- what a host thread sets, sees */

enum cvmgen_cpu_order { CVMGEN_CPU_FORWARD, CVMGEN_CPU_REVERSE, CVMGEN_CPU_RANDOM };

/* The state of a host thread. What is 0 is not set. */
struct cvmgen_cpu_state {
    /* How kernels run. */
    int64_t order;           /* of blocks, and of threads in each: a cvmgen_cpu_order */
    uint64_t seed;           /* of random orders */
    int64_t blocks, threads; /* run this grid and these blocks, along x, whatever is launched */
    int64_t fail;            /* launches fail */
    int64_t memory;          /* allocations of more bytes fail */
    int64_t late_copies;     /* asynchronous copies land when they are waited for */
    int64_t tensor_cores;    /* contractions multiply as tensor cores do */
    int64_t always_tiles;    /* contractions of any size are made by tiles; 2: by large ones */
    int64_t always_votes;    /* selections are made without masks of pairs */
    void (*on_launch)(const void *kernel); /* is told of each kernel in front of its launch */
    /* What became of them. */
    int64_t launches;           /* that have been made */
    int64_t ran_blocks;         /* in the last of them */
    int64_t ran_threads;        /* in each block of it */
    int64_t ran_dynamic;        /* bytes of dynamic shared memory of each */
    int64_t allocations;        /* that were not released */
    int64_t pending_error;      /* not yet taken by cudaGetLastError: a cudaError_t */
    cudaStream_t stream;        /* of the last launch, allocation or release */
};

/* The state of the calling thread, until it ends. */
extern "C" cvmgen_cpu_state *cvmgen_cpu_this_thread(void);
#endif

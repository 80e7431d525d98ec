/* Calls of CUDA's driver: a kernel is found by the name of its function on the host. */
#include "cvmgen_driver.h"

#include "cvmgen_runtime.h"

#include <dlfcn.h>

/* A kernel of a module by the function that stands for it on the host. */
struct cvmgen_found_kernel {
    cvmgen_found_kernel *next;
    const void *kernel;
    void *function; /* a CUfunction */
};

namespace {

/* A CUfunction_attribute, a CUresult, a CUstreamCaptureStatus. */
enum { MAX_DYNAMIC_SHARED = 8, NOT_FOUND = 500, CAPTURING = 1 };

/* What the calling thread is in; all NULL between calls. */
struct calling {
    const cvmgen_driver *driver;
    cvmgen_module *module;
    cvmgen_cpu_kernel launched;
    bool in_launch; /* whether it was a launch that failed */
};
thread_local calling active;
thread_local char failure[480];

uint64_t address(const void *memory) { return (uint64_t)(uintptr_t)memory; }

/* The driver gives most errors the numbers of the runtime. */
cudaError_t status_of(int status, bool in_launch = false) {
    active.in_launch = in_launch;
    return (cudaError_t)status;
}

/* The name of a kernel; NULL for one that no library shows. */
const char *name_of(const void *kernel) {
    Dl_info found;
    if (kernel == NULL || dladdr(kernel, &found) == 0 || found.dli_saddr != kernel) return NULL;
    return found.dli_sname;
}

/* The kernel's machine code. Threads that look for it at once may each add it: all find the
   same. */
int find(const void *kernel, void **function) {
    cvmgen_found_kernel **first = &active.module->found;
    cvmgen_found_kernel *each = __atomic_load_n(first, __ATOMIC_ACQUIRE);
    while (each != NULL && each->kernel != kernel) each = each->next;
    if (each != NULL) {
        *function = each->function;
        return 0;
    }
    const char *name = name_of(kernel);
    if (name == NULL) return NOT_FOUND;
    if (int status = active.driver->get_function(function, active.module->handle, name))
        return status;
    each = (cvmgen_found_kernel *)malloc(sizeof *each);
    if (each == NULL) return cudaErrorMemoryAllocation;
    *each = {__atomic_load_n(first, __ATOMIC_ACQUIRE), kernel, *function};
    while (!__atomic_compare_exchange_n(first, &each->next, each, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE)) {
    }
    return 0;
}

/* Call an operator in a context. */
template <typename Call>
int call_in(const cvmgen_driver *driver, void *context, cvmgen_module *module, void *error,
            const Call &call) {
    const calling before = active;
    active = {driver, module, {}, false};
    int status = driver->push_context(context);
    if (status != 0) {
        cvmgen_error *told = (cvmgen_error *)error;
        cvmgen_begin(told, "");
        const char *const said = cvmgen_driver_error(status_of(status));
        status = cvmgen_fail(told, CVMGEN_DEVICE, cvmgen_format("CUDA: %s", said).text);
    } else {
        status = call();
        driver->pop_context(&context);
    }
    active = before;
    return status;
}

}  // namespace

int cvmgen_driver_call(const cvmgen_driver *driver, void *context, cvmgen_module *module,
                       cvmgen_operator call, const void *args, cudaStream_t stream, void *error) {
    return call_in(driver, context, module, error, [&] { return call(args, stream, error); });
}
int cvmgen_driver_call_noting(const cvmgen_driver *driver, void *context, cvmgen_module *module,
                              cvmgen_noting_operator call, const void *args, cudaStream_t stream,
                              cvmgen_noting *noting, void *error) {
    return call_in(driver, context, module, error, [&] {
        int capturing = 0;
        /* Of the default stream it fails while another one is captured: the call says so. */
        if (driver->capture(stream, &capturing, &noting->capture, &noting->graph, NULL, NULL) != 0
            ||
            capturing != CAPTURING)
            noting->capture = 0;
        return call(args, stream, noting->overflow, error);
    });
}

int cvmgen_driver_find(const cvmgen_driver *driver, void *context, cvmgen_module *module,
                       const void *const *kernels, int count) {
    const calling before = active;
    void *function = NULL;
    active = {driver, module, {}, false};
    int status = driver->push_context(context);
    if (status == 0) {
        for (int at = 0; at < count && status == 0; ++at) status = find(kernels[at], &function);
        driver->pop_context(&context);
    }
    active = before;
    return status;
}

bool cvmgen_on_driver() { return active.driver != NULL; }
const cvmgen_cpu_kernel *cvmgen_driver_launched() { return &active.launched; }

cudaError_t cvmgen_driver_launch(const cvmgen_cpu_kernel &kernel, dim3 grid, dim3 block,
                                 size_t dynamic, cudaStream_t stream) {
    void *function = NULL;
    active.launched = kernel;
    int status = dynamic <= UINT32_MAX ? find(kernel.function, &function) : cudaErrorInvalidValue;
    if (status == 0)
        status = active.driver->launch(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                       (unsigned)dynamic, stream, kernel.arguments, NULL);
    return status_of(status, true);
}

cudaError_t cvmgen_driver_set_dynamic(const void *kernel, int size) {
    void *function = NULL;
    active.launched.function = kernel;
    int status = find(kernel, &function);
    if (status == 0) status = active.driver->set_attribute(function, MAX_DYNAMIC_SHARED, size);
    return status_of(status, true);
}

cudaError_t cvmgen_driver_allocate(void **memory, size_t size, cudaStream_t stream) {
    uint64_t found = 0;
    const int status = active.driver->allocate(&found, size, active.driver->pool, stream);
    if (status == 0) *memory = (void *)(uintptr_t)found;
    return status_of(status);
}
cudaError_t cvmgen_driver_release(void *memory, cudaStream_t stream) {
    return status_of(active.driver->release(address(memory), stream));
}
cudaError_t cvmgen_driver_fill(void *memory, int value, size_t size, cudaStream_t stream) {
    return status_of(active.driver->fill(address(memory), (unsigned char)value, size, stream));
}
cudaError_t cvmgen_driver_copy(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                               cudaStream_t stream) {
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return status_of(active.driver->to_device(address(to), from, size, stream));
        case cudaMemcpyDeviceToHost:
            return status_of(active.driver->to_host(to, address(from), size, stream));
        case cudaMemcpyDeviceToDevice:
            return status_of(active.driver->on_device(address(to), address(from), size, stream));
        default: return status_of(cudaErrorInvalidValue);
    }
}
cudaError_t cvmgen_driver_synchronize(cudaStream_t stream) {
    return status_of(active.driver->synchronize(stream));
}

const char *cvmgen_driver_error(cudaError_t status) {
    const char *name = NULL, *text = NULL, *kernel = NULL;
    active.driver->error_name(status, &name);
    active.driver->error_text(status, &text);
    if (active.in_launch) kernel = name_of(active.launched.function);
    if (name == NULL || text == NULL)
        snprintf(failure, sizeof failure, "error %d", (int)status);
    else
        snprintf(failure, sizeof failure, "%s: %s%s%s", name, text, kernel != NULL ? ", in " : "",
                 kernel != NULL ? kernel : "");
    return failure;
}

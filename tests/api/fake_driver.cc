/* A CUDA driver whose device is this machine: it is linked into a library of operators and has the
   names of libcuda.so.1, so that all code around a GPU runs on a machine without one.

   It reads the cubins that are loaded: a kernel is there if they have its code, and gets as many
   bytes of each argument as they say. It then runs on the library's fibers, in a thread of its
   own. What a real driver would refuse is refused: no current context, streams and memory that it
   did not give, more dynamic shared memory than a kernel was allowed. */
#include "cpu/cvmgen_driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <pthread.h>
#include <set>
#include <string>
#include <string.h>
#include <vector>

namespace {

enum status {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719
};
const struct { int status; const char *name, *text; } MEANINGS[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

struct function {
    const void *kernel;
    std::vector<size_t> sizes; /* of its parameters */
};
struct module_of_kernels {
    std::map<std::string, function> functions;
};

/* What a test sets and sees. */
struct fake_driver {
    int64_t devices, memory, fail_launches;          /* how many, bytes at once, whether */
    int64_t launches, modules, allocations, depth;   /* so far, so far, now, of contexts */
    int64_t waits, threshold;                        /* of streams for events, of the pool */
    void *stream;                                    /* of the last launch, copy or release */
    char kernel[128];                                /* that was launched last */
};
fake_driver driver = {1, 0, 0, 0, 0, 0, 0, 0, 0, NULL, ""};

thread_local std::vector<void *> contexts;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
std::map<uint64_t, size_t> memory;
std::set<void *> streams = {NULL, (void *)1, (void *)2};
char a_context, a_pool;

struct locked {
    locked() { pthread_mutex_lock(&lock); }
    ~locked() { pthread_mutex_unlock(&lock); }
};

/* What every use of a stream needs. */
int use(void *stream) {
    if (contexts.empty()) return INVALID_CONTEXT;
    const locked held;
    if (streams.count(stream) == 0) return INVALID_HANDLE;
    driver.stream = stream;
    return SUCCESS;
}
bool is_memory(uint64_t address, size_t size) {
    const locked held;
    auto after = memory.upper_bound(address);
    if (after == memory.begin()) return false;
    --after;
    return address - after->first + size <= after->second;
}

/* ---------------------------------------------------------------- cubins */

struct image {
    const unsigned char *bytes;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;

    explicit image(const void *bytes)
        : bytes((const unsigned char *)bytes), header((const Elf64_Ehdr *)bytes),
          sections((const Elf64_Shdr *)(this->bytes + header->e_shoff)) {}
    bool is_cubin() const {
        return memcmp(bytes, ELFMAG, SELFMAG) == 0 && header->e_machine == EM_CUDA;
    }
    const Elf64_Shdr *find(const std::string &name) const {
        const char *names = (const char *)bytes + sections[header->e_shstrndx].sh_offset;
        for (int at = 0; at < header->e_shnum; ++at)
            if (name == names + sections[at].sh_name) return &sections[at];
        return NULL;
    }
};

/* The sizes of a kernel's parameters: records of `form, attribute, uint16 size or value`, those
   of form 4 with so many bytes behind; 0x17 describes one parameter. */
std::vector<size_t> parameter_sizes(const image &cubin, const Elf64_Shdr &section) {
    std::map<uint16_t, size_t> found;
    const unsigned char *at = cubin.bytes + section.sh_offset, *end = at + section.sh_size;
    while (at + 4 <= end) {
        uint16_t size, ordinal;
        uint32_t flags;
        memcpy(&size, at + 2, sizeof size);
        if (at[0] == 4 && at[1] == 0x17) {
            memcpy(&ordinal, at + 8, sizeof ordinal);
            memcpy(&flags, at + 12, sizeof flags);
            found[ordinal] = flags >> 18;
        }
        at += 4 + (at[0] == 4 ? size : 0);
    }
    std::vector<size_t> sizes;
    for (const auto &each : found) sizes.push_back(each.second);
    return sizes;
}

/* ---------------------------------------------------------------- launches */

/* As cvmgen_cpu_call has it. */
struct kernel_call {
    const void *kernel;
    void **arguments;
};
struct launch {
    cvmgen_cpu_kernel kernel;
    dim3 grid, block;
    size_t dynamic;
    cudaError_t status;
};
void *run(void *given) {
    launch &one = *(launch *)given;
    one.status = cvmgen_cpu_launch(one.kernel, one.grid, one.block, one.dynamic, NULL);
    return NULL;
}
struct allowed {
    const void *kernel;
    int size;
    cudaError_t status;
};
void *allow(void *given) {
    allowed &one = *(allowed *)given;
    one.status = cvmgen_cpu_set_dynamic(one.kernel, one.size);
    return NULL;
}
/* In a thread that is in no call of an operator: there the library runs kernels on fibers. */
int elsewhere(void *(*work)(void *), void *given) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, given) != 0) return OUT_OF_MEMORY;
    pthread_join(thread, NULL);
    return SUCCESS;
}

}  // namespace

extern "C" {

fake_driver *fake_driver_state() { return &driver; }
void fake_driver_stream(void *stream, int is_there) {
    const locked held;
    if (is_there) streams.insert(stream); else streams.erase(stream);
}

/* An operator that asks for dynamic shared memory. */
struct fake_driver_asked {
    const char *kernel;
    int64_t bytes;
};
int fake_driver_ask(const void *args, cudaStream_t, void *) {
    const fake_driver_asked &asked = *(const fake_driver_asked *)args;
    Dl_info self;
    dladdr((const void *)&fake_driver_ask, &self);
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    void (*kernel)() = (void (*)())dlsym(library, asked.kernel);
    dlclose(library);
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)asked.bytes);
}

int cuInit(unsigned) { return driver.devices > 0 ? SUCCESS : NO_DEVICE; }
int cuDeviceGetCount(int *count) { *count = (int)driver.devices; return SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return SUCCESS; }
int cuDeviceGetName(char *name, int size, int) {
    snprintf(name, (size_t)size, "a device of fibers");
    return SUCCESS;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
    *value = attribute == 75 ? 8 : attribute == 115;
    return SUCCESS;
}
int cuDeviceGetDefaultMemPool(void **pool, int) { *pool = &a_pool; return SUCCESS; }
int cuMemPoolGetAttribute(void *, int, void *value) {
    memcpy(value, &driver.threshold, sizeof driver.threshold);
    return SUCCESS;
}
int cuMemPoolSetAttribute(void *, int, void *value) {
    memcpy(&driver.threshold, value, sizeof driver.threshold);
    return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void **context, int) { *context = &a_context; return SUCCESS; }
int cuCtxPushCurrent_v2(void *context) {
    if (context != &a_context) return INVALID_CONTEXT;
    contexts.push_back(context);
    driver.depth = (int64_t)contexts.size();
    return SUCCESS;
}
int cuCtxPopCurrent_v2(void **context) {
    if (contexts.empty()) return INVALID_CONTEXT;
    *context = contexts.back();
    contexts.pop_back();
    driver.depth = (int64_t)contexts.size();
    return SUCCESS;
}

int cuModuleLoadData(void **module, const void *bytes) {
    const image cubin(bytes);
    if (contexts.empty()) return INVALID_CONTEXT;
    if (!cubin.is_cubin()) return INVALID_IMAGE;
    module_of_kernels *made = new module_of_kernels;
    Dl_info self;
    dladdr((const void *)&cuModuleLoadData, &self);
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    const char *names =
        (const char *)cubin.bytes + cubin.sections[cubin.header->e_shstrndx].sh_offset;
    for (int at = 0; at < cubin.header->e_shnum; ++at) {
        const std::string section = names + cubin.sections[at].sh_name;
        if (section.compare(0, 6, ".text.") != 0) continue;
        const std::string name = section.substr(6);
        const Elf64_Shdr *about = cubin.find(".nv.info." + name);
        made->functions[name] = {dlsym(library, name.c_str()), parameter_sizes(cubin, *about)};
    }
    dlclose(library);
    *module = made;
    ++driver.modules;
    return SUCCESS;
}
int cuModuleGetFunction(void **found, void *module, const char *name) {
    module_of_kernels *kernels = (module_of_kernels *)module;
    auto place = kernels->functions.find(name);
    if (place == kernels->functions.end() || place->second.kernel == NULL) return NOT_FOUND;
    *found = &place->second;
    return SUCCESS;
}
int cuFuncSetAttribute(void *found, int attribute, int value) {
    allowed one = {((function *)found)->kernel, value, cudaSuccess};
    if (attribute != 8) return INVALID_VALUE;
    const int status = elsewhere(allow, &one);
    return status ? status : one.status;
}
int cuLaunchKernel(void *found, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic,
                   void *stream, void **arguments, void **extra) {
    const function &kernel = *(function *)found;
    const cvmgen_cpu_kernel &typed = *cvmgen_driver_launched();
    std::vector<std::vector<unsigned char>> values;
    std::vector<void *> copies;
    if (int status = use(stream)) return status;
    if (driver.fail_launches) return LAUNCH_FAILED;
    if (extra != NULL || typed.function != kernel.kernel) return INVALID_VALUE;
    for (size_t at = 0; at < kernel.sizes.size(); ++at) {
        const unsigned char *from = (const unsigned char *)arguments[at];
        values.emplace_back(from, from + kernel.sizes[at]);
    }
    for (auto &each : values) copies.push_back(each.data());
    const kernel_call call = {kernel.kernel, copies.data()};
    launch one = {{kernel.kernel, typed.run, &call, copies.data()},
                  dim3(grid_x, grid_y, grid_z),
                  dim3(block_x, block_y, block_z),
                  dynamic,
                  cudaSuccess};
    Dl_info info;
    dladdr(kernel.kernel, &info);
    snprintf(driver.kernel, sizeof driver.kernel, "%s", info.dli_sname);
    ++driver.launches;
    const int status = elsewhere(run, &one);
    return status ? status : one.status;
}

int cuMemAllocAsync(uint64_t *address, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (size == 0) return INVALID_VALUE;
    if (driver.memory && size > (size_t)driver.memory) return OUT_OF_MEMORY;
    void *made = aligned_alloc(256, (size + 255) / 256 * 256);
    if (made == NULL) return OUT_OF_MEMORY;
    memset(made, 0xA5, size);
    *address = (uint64_t)(uintptr_t)made;
    const locked held;
    memory[*address] = size;
    ++driver.allocations;
    return SUCCESS;
}
int cuMemFreeAsync(uint64_t address, void *stream) {
    if (int status = use(stream)) return status;
    const locked held;
    if (memory.erase(address) == 0) return INVALID_VALUE;
    free((void *)(uintptr_t)address);
    --driver.allocations;
    return SUCCESS;
}
int cuMemsetD8Async(uint64_t address, unsigned char value, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (!is_memory(address, size)) return INVALID_VALUE;
    memset((void *)(uintptr_t)address, value, size);
    return SUCCESS;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (!is_memory(to, size) || is_memory((uint64_t)(uintptr_t)from, size)) return INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, from, size);
    return SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (!is_memory(from, size) || is_memory((uint64_t)(uintptr_t)to, size)) return INVALID_VALUE;
    memcpy(to, (const void *)(uintptr_t)from, size);
    return SUCCESS;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (!is_memory(from, size) || !is_memory(to, size)) return INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    return SUCCESS;
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    const int device = 0;
    if (attribute != 9 || !is_memory(address, 1)) return INVALID_VALUE;
    memcpy(value, &device, sizeof device);
    return SUCCESS;
}

int cuStreamSynchronize(void *stream) { return use(stream); }
int cuStreamWaitEvent(void *stream, void *event, unsigned) {
    ++driver.waits;
    return event == NULL ? (int)INVALID_HANDLE : use(stream);
}
int cuEventCreate(void **event, unsigned) {
    *event = malloc(1);
    return contexts.empty() ? INVALID_CONTEXT : SUCCESS;
}
int cuEventRecord(void *event, void *stream) {
    return event == NULL ? (int)INVALID_HANDLE : use(stream);
}
int cuEventSynchronize(void *) { return SUCCESS; }
int cuEventElapsedTime(float *milliseconds, void *, void *) {
    *milliseconds = 1;
    return SUCCESS;
}
int cuEventDestroy_v2(void *event) {
    free(event);
    return SUCCESS;
}

int cuGetErrorName(int status, const char **name) {
    *name = NULL;
    for (const auto &each : MEANINGS)
        if (each.status == status) *name = each.name;
    return *name == NULL ? INVALID_VALUE : SUCCESS;
}
int cuGetErrorString(int status, const char **text) {
    *text = NULL;
    for (const auto &each : MEANINGS)
        if (each.status == status) *text = each.text;
    return *text == NULL ? INVALID_VALUE : SUCCESS;
}
}

/* A CUDA driver whose device is this machine: it is linked into a library of operators and has the
   names of libcuda.so.1, so that all code around a GPU runs on a machine without one.

   It reads the cubins that are loaded: a kernel is there if they have its code, and gets as many
   bytes of each argument as they say. It then runs on the library's fibers, in a thread of its
   own. What a real driver would refuse is refused: no current context, streams and memory that it
   did not give, more dynamic shared memory than a kernel was allowed, what a captured stream does
   not admit, and everything in a process that was forked.

   Work is done at once or, where a test asks for it, when somebody waits for its stream. */
#include "cpu/cvmgen_driver.h"

#include <deque>
#include <dlfcn.h>
#include <elf.h>
#include <functional>
#include <map>
#include <memory>
#include <pthread.h>
#include <regex>
#include <set>
#include <string>
#include <string.h>
#include <unistd.h>
#include <vector>

namespace {

enum status {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILED = 719,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_ISOLATION = 905,
    CAPTURE_IMPLICIT = 906
};
const struct { int status; const char *name, *text; } MEANINGS[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

struct function {
    std::string name;
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
    int64_t version, architecture;                   /* 13000, 80 */
    int64_t fail_images, fail_late;                  /* whether; a status that all then give */
    int64_t found, trims, graphs;                    /* kernels so far, trims so far, graphs now */
    int64_t late, syncs;                             /* whether work waits, waits of the host */
    void *stream;                                    /* of the last launch, copy or release */
    char kernel[128];                                /* that was launched last */
};
fake_driver driver = {1, 0, 0, 0, 0, 0, 0, 0, 0, 13000, 80, 0, 0, 0, 0, 0, 0, 0, NULL, ""};
pid_t process;

thread_local std::vector<void *> contexts;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
std::map<uint64_t, size_t> memory;
std::set<void *> streams = {NULL, (void *)1, (void *)2};
char a_context, a_pool;
std::string trace; /* what streams waited for, and what was released in which */

/* What is captured, and what is made of it: nodes are run in their order. */
struct user_object {
    void *given;
    void (*destroy)(void *);
};
struct graph {
    std::vector<std::function<int()>> nodes;
    std::set<uint64_t> memory;
    std::vector<user_object> objects;
    bool is_valid = true;
    ~graph();
};
typedef std::shared_ptr<graph> graph_pointer;
struct event {
    void *stream;
    graph_pointer captured;
    int64_t turn; /* how much had been put into the stream */
};
std::map<void *, graph_pointer> captured; /* by stream */
thread_local int capture_mode = 0;        /* global */

bool is_default(void *stream) { return stream == NULL || stream == (void *)1; }
void invalidate() {
    for (auto &each : captured) each.second->is_valid = false;
}
graph_pointer capture_of(void *stream) {
    const auto found = captured.find(stream);
    return found == captured.end() ? NULL : found->second;
}
/* What may wait for streams: it is refused while one is captured, unless the thread asks for it. */
int unsafe() {
    if (captured.empty() || capture_mode == 2) return SUCCESS;
    invalidate();
    return CAPTURE_UNSUPPORTED;
}

struct locked {
    locked() { pthread_mutex_lock(&lock); }
    ~locked() { pthread_mutex_unlock(&lock); }
};

/* What every use of a stream needs. */
int use(void *stream) {
    if (driver.fail_late) return (int)driver.fail_late;
    if (contexts.empty()) return INVALID_CONTEXT;
    const locked held;
    if (streams.count(stream) == 0) return INVALID_HANDLE;
    if (is_default(stream) && !captured.empty()) {
        invalidate();
        return CAPTURE_IMPLICIT;
    }
    driver.stream = stream;
    return SUCCESS;
}
/* Work that is not done yet, by stream, and how much was put in and done. */
struct turns {
    std::deque<std::function<int()>> waiting;
    int64_t put = 0, done = 0;
};
std::map<void *, turns> queues;
void *name_of(void *stream) { return is_default(stream) ? NULL : stream; }

/* Do the next work of a stream; whether there was one. What fails then fails in all calls. */
bool step(void *stream) {
    std::function<int()> work;
    {
        const locked held;
        turns &own = queues[name_of(stream)];
        if (own.waiting.empty()) return false;
        work = own.waiting.front();
        own.waiting.pop_front();
    }
    if (int status = work()) driver.fail_late = status;
    const locked held;
    ++queues[name_of(stream)].done;
    return true;
}
int64_t done_of(void *stream) {
    const locked held;
    return queues[name_of(stream)].done;
}
void run_until(void *stream, int64_t turn) {
    while (done_of(stream) < turn && step(stream)) {
    }
}
void run_all(void *stream) {
    while (step(stream)) {
    }
}
/* Do it when the stream has come to it. */
int in_turn(void *stream, const std::function<int()> &work) {
    if (driver.late) {
        const locked held;
        turns &own = queues[name_of(stream)];
        own.waiting.push_back(work);
        ++own.put;
        return SUCCESS;
    }
    run_all(stream);
    return work();
}
/* Do it, or let the graph do it that the stream is captured for. */
int run_or_capture(void *stream, const std::function<int()> &work) {
    const graph_pointer into = capture_of(stream);
    if (into == NULL) return in_turn(stream, work);
    into->nodes.push_back(work);
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

/* A kernel of PTX and its parameters, as `.param .align 8 .b8 name_param_0[24]`. */
std::map<std::string, std::vector<size_t>> entries(const std::string &ptx) {
    static const std::regex entry("\\.entry\\s+(\\w+)\\s*\\(([^)]*)\\)");
    static const std::regex parameter("\\.param[^,]*?\\.[bfsu](8|16|32|64)\\b[^,\\[]*(?:\\[(\\d+)\\])?");
    std::map<std::string, std::vector<size_t>> found;
    for (std::sregex_iterator at(ptx.begin(), ptx.end(), entry), end; at != end; ++at) {
        const std::string parameters = (*at)[2];
        std::vector<size_t> &sizes = found[(*at)[1]];
        for (std::sregex_iterator each(parameters.begin(), parameters.end(), parameter);
             each != end; ++each)
            sizes.push_back(std::stoul((*each)[1]) / 8 *
                            ((*each)[2].matched ? std::stoul((*each)[2]) : 1));
    }
    return found;
}

/* Destructors run in a thread of the driver. */
void *destroy_all(void *given) {
    for (const user_object &each : ((graph *)given)->objects) each.destroy(each.given);
    return NULL;
}
graph::~graph() {
    elsewhere(destroy_all, this);
    for (uint64_t each : memory) free((void *)(uintptr_t)each);
    --driver.graphs;
}

}  // namespace

extern "C" {

fake_driver *fake_driver_state() { return &driver; }
/* What was waited for and released since it was asked last. */
const char *fake_driver_trace() {
    static std::string told;
    told.swap(trace);
    trace.clear();
    return told.c_str();
}
/* Do as much of what waits in a stream. */
void fake_driver_run(void *stream, int count) {
    while (count-- > 0 && step(stream)) {
    }
}
void fake_driver_stream(void *stream, int is_there) {
    if (!is_there) run_all(stream);
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

int cuInit(unsigned) {
    if (process == 0) process = getpid();
    return driver.devices > 0 ? SUCCESS : NO_DEVICE;
}
int cuDriverGetVersion(int *version) { *version = (int)driver.version; return SUCCESS; }
int cuDeviceGetCount(int *count) { *count = (int)driver.devices; return SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return SUCCESS; }
int cuDeviceGetName(char *name, int size, int) {
    snprintf(name, (size_t)size, "a device of fibers");
    return SUCCESS;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
    *value = attribute == 75   ? (int)driver.architecture / 10
             : attribute == 76 ? (int)driver.architecture % 10
                               : attribute == 115;
    return SUCCESS;
}
int cuMemPoolCreate(void **pool, const void *wanted) {
    const int *const fields = (const int *)wanted; /* kind, handles, location */
    if (fields[0] != 1 || fields[1] != 0 || fields[2] != 1 || fields[3] != 0) return INVALID_VALUE;
    *pool = &a_pool;
    return SUCCESS;
}
int cuMemPoolTrimTo(void *pool, size_t) {
    ++driver.trims;
    return pool == &a_pool ? SUCCESS : INVALID_VALUE;
}
int cuMemPoolSetAttribute(void *, int, void *value) {
    memcpy(&driver.threshold, value, sizeof driver.threshold);
    return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void **context, int) { *context = &a_context; return SUCCESS; }
int cuCtxPushCurrent_v2(void *context) {
    if (getpid() != process) return NOT_INITIALIZED;
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
    const bool is_elf = memcmp(bytes, ELFMAG, SELFMAG) == 0;
    if (contexts.empty()) return INVALID_CONTEXT;
    if (int status = unsafe()) return status;
    if (driver.fail_images) return INVALID_IMAGE;
    module_of_kernels *made = new module_of_kernels;
    std::map<std::string, std::vector<size_t>> kernels;
    Dl_info self;
    dladdr((const void *)&cuModuleLoadData, &self);
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (is_elf) {
        const image cubin(bytes);
        if (!cubin.is_cubin()) return INVALID_IMAGE;
        const char *names =
            (const char *)cubin.bytes + cubin.sections[cubin.header->e_shstrndx].sh_offset;
        for (int at = 0; at < cubin.header->e_shnum; ++at) {
            const std::string section = names + cubin.sections[at].sh_name;
            if (section.compare(0, 6, ".text.") != 0) continue;
            const std::string name = section.substr(6);
            kernels[name] = parameter_sizes(cubin, *cubin.find(".nv.info." + name));
        }
    } else {
        kernels = entries((const char *)bytes);
    }
    for (const auto &each : kernels)
        made->functions[each.first] = {each.first, dlsym(library, each.first.c_str()),
                                       each.second};
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
    ++driver.found;
    return SUCCESS;
}
int cuModuleGetFunctionCount(unsigned *count, void *module) {
    *count = (unsigned)((module_of_kernels *)module)->functions.size();
    return SUCCESS;
}
int cuModuleEnumerateFunctions(void **found, unsigned count, void *module) {
    for (auto &each : ((module_of_kernels *)module)->functions)
        if (count-- > 0) *found++ = &each.second;
    return SUCCESS;
}
int cuFuncGetName(const char **name, void *found) {
    *name = ((function *)found)->name.c_str();
    return SUCCESS;
}
int cuFuncLoad(void *) { return unsafe(); }
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
    const auto run_kernel = typed.run;
    const dim3 grid(grid_x, grid_y, grid_z), block(block_x, block_y, block_z);
    return run_or_capture(stream, [=, &kernel]() mutable {
        for (auto &each : values) copies.push_back(each.data());
        const kernel_call call = {kernel.kernel, copies.data()};
        launch one = {{kernel.kernel, run_kernel, &call, copies.data()}, grid, block, dynamic,
                      cudaSuccess};
        snprintf(driver.kernel, sizeof driver.kernel, "%s", kernel.name.c_str());
        ++driver.launches;
        const int status = elsewhere(run, &one);
        copies.clear();
        return status ? status : (int)one.status;
    });
}

int cuMemAllocFromPoolAsync(uint64_t *address, size_t size, void *pool, void *stream) {
    if (int status = use(stream)) return status;
    if (size == 0 || pool != &a_pool) return INVALID_VALUE;
    if (driver.memory && size > (size_t)driver.memory) return OUT_OF_MEMORY;
    void *made = aligned_alloc(256, (size + 255) / 256 * 256);
    if (made == NULL) return OUT_OF_MEMORY;
    memset(made, 0xA5, size);
    *address = (uint64_t)(uintptr_t)made;
    const locked held;
    memory[*address] = size;
    if (const graph_pointer into = capture_of(stream))
        into->memory.insert(*address);
    else
        ++driver.allocations;
    return SUCCESS;
}
int cuMemFreeAsync(uint64_t address, void *stream) {
    if (int status = use(stream)) return status;
    const locked held;
    const graph_pointer into = capture_of(stream);
    if (into != NULL && into->memory.count(address) == 0) {
        into->is_valid = false;
        return INVALID_VALUE;
    }
    if (into != NULL) return SUCCESS; /* it goes with the graph */
    if (memory.erase(address) == 0) return INVALID_VALUE;
    char text[64];
    snprintf(text, sizeof text, "free in %p; ", stream);
    trace += text;
    --driver.allocations;
    turns &own = queues[name_of(stream)];
    if (driver.late && ++own.put)
        own.waiting.push_back([=] { return free((void *)(uintptr_t)address), (int)SUCCESS; });
    else
        free((void *)(uintptr_t)address);
    return SUCCESS;
}
/* Memory of the host that the device reaches. */
int cuMemHostAlloc(void **found, size_t size, unsigned flags) {
    if (contexts.empty()) return INVALID_CONTEXT;
    if (int status = unsafe()) return status;
    if (flags != 3) return INVALID_VALUE; /* portable, mapped */
    *found = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    memset(*found, 0xA5, size);
    return SUCCESS;
}
int cuMemHostGetDevicePointer_v2(uint64_t *found, void *memory, unsigned flags) {
    *found = (uint64_t)(uintptr_t)memory;
    return flags == 0 && !contexts.empty() ? SUCCESS : INVALID_VALUE;
}
int cuMemsetD8Async(uint64_t address, unsigned char value, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (!is_memory(address, size)) return INVALID_VALUE;
    return run_or_capture(stream, [=] {
        memset((void *)(uintptr_t)address, value, size);
        return (int)SUCCESS;
    });
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (!is_memory(to, size) || is_memory((uint64_t)(uintptr_t)from, size)) return INVALID_VALUE;
    if (capture_of(stream) == NULL) { /* its bytes as they are now */
        const std::vector<char> bytes((const char *)from, (const char *)from + size);
        return in_turn(stream, [=] {
            memcpy((void *)(uintptr_t)to, bytes.data(), size);
            return (int)SUCCESS;
        });
    }
    return run_or_capture(stream, [=] {
        memcpy((void *)(uintptr_t)to, from, size);
        return (int)SUCCESS;
    });
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (!is_memory(from, size) || is_memory((uint64_t)(uintptr_t)to, size)) return INVALID_VALUE;
    return run_or_capture(stream, [=] {
        memcpy(to, (const void *)(uintptr_t)from, size);
        return (int)SUCCESS;
    });
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
    if (int status = use(stream)) return status;
    if (!is_memory(from, size) || !is_memory(to, size)) return INVALID_VALUE;
    return run_or_capture(stream, [=] {
        memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
        return (int)SUCCESS;
    });
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    const int device = 0;
    if (attribute != 9 || !is_memory(address, 1)) return INVALID_VALUE;
    memcpy(value, &device, sizeof device);
    return SUCCESS;
}

int cuStreamCreate(void **stream, unsigned) {
    *stream = malloc(1);
    const locked held;
    streams.insert(*stream);
    return contexts.empty() ? INVALID_CONTEXT : SUCCESS;
}
int cuStreamDestroy_v2(void *stream) {
    const locked held;
    return streams.erase(stream) ? SUCCESS : INVALID_HANDLE;
}
int cuStreamSynchronize(void *stream) {
    ++driver.syncs;
    if (int status = use(stream)) return status;
    if (capture_of(stream) == NULL) {
        if (int status = unsafe()) return status;
        run_all(stream);
        return (int)driver.fail_late;
    }
    invalidate();
    return CAPTURE_UNSUPPORTED;
}
int cuCtxSynchronize() {
    ++driver.syncs;
    if (int status = use((void *)1)) return status;
    for (void *each : std::set<void *>(streams)) run_all(each);
    return (int)driver.fail_late;
}
int cuStreamWaitEvent(void *stream, void *given, unsigned) {
    if (given == NULL) return INVALID_HANDLE;
    const event &after = *(const event *)given;
    char text[64];
    ++driver.waits;
    if (int status = use(stream)) return status;
    if (after.captured != NULL) captured[stream] = after.captured; /* it is part of it from here on */
    else if (capture_of(stream) != NULL) {
        invalidate();
        return CAPTURE_ISOLATION;
    }
    snprintf(text, sizeof text, "%p after %p; ", stream, after.stream);
    trace += text;
    if (capture_of(stream) != NULL) return SUCCESS;
    void *const other = after.stream;
    const int64_t turn = after.turn;
    return in_turn(stream, [=] { return run_until(other, turn), (int)SUCCESS; });
}
int cuEventCreate(void **made, unsigned) {
    *made = new event();
    return contexts.empty() ? INVALID_CONTEXT : SUCCESS;
}
int cuEventRecord(void *given, void *stream) {
    if (given == NULL) return INVALID_HANDLE;
    if (int status = use(stream)) return status;
    const graph_pointer into = capture_of(stream);
    const locked held;
    *(event *)given = {stream, into, queues[name_of(stream)].put};
    return SUCCESS;
}
int cuEventQuery(void *given) {
    const event &asked = *(const event *)given;
    if (driver.fail_late) return (int)driver.fail_late;
    if (int status = unsafe()) return status;
    if (asked.captured != NULL) return INVALID_VALUE;
    return done_of(asked.stream) < asked.turn ? NOT_READY : SUCCESS;
}
int cuEventSynchronize(void *) { return SUCCESS; }
int cuEventElapsedTime(float *milliseconds, void *, void *) {
    *milliseconds = 1;
    return SUCCESS;
}
int cuEventDestroy_v2(void *given) {
    delete (event *)given;
    return SUCCESS;
}

/* ---------------------------------------------------------------- graphs */

int cuThreadExchangeStreamCaptureMode(int *mode) {
    std::swap(*mode, capture_mode);
    return SUCCESS;
}
int cuStreamBeginCapture_v2(void *stream, int) {
    if (is_default(stream)) return CAPTURE_UNSUPPORTED;
    if (int status = use(stream)) return status;
    const locked held;
    captured[stream] = std::make_shared<graph>();
    ++driver.graphs;
    return SUCCESS;
}
int cuStreamEndCapture(void *stream, void **made) {
    const locked held;
    const graph_pointer found = capture_of(stream);
    for (auto at = captured.begin(); at != captured.end();)
        at = at->second == found ? captured.erase(at) : std::next(at);
    if (found == NULL) return INVALID_VALUE;
    if (!found->is_valid) return CAPTURE_INVALIDATED;
    *made = new graph_pointer(found);
    return SUCCESS;
}
int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *number, void **found, void *,
                              void *) {
    if (driver.fail_late) return (int)driver.fail_late;
    if (is_default(stream) && !captured.empty()) return CAPTURE_IMPLICIT;
    graph_pointer in = capture_of(stream);
    *status = in != NULL;
    *number = (uint64_t)(uintptr_t)in.get();
    *found = in.get();
    return SUCCESS;
}
int cuUserObjectCreate(void **object, void *given, void (*destroy)(void *), unsigned references,
                       unsigned flags) {
    *object = new user_object{given, destroy};
    return references == 1 && flags == 1 ? SUCCESS : INVALID_VALUE;
}
int cuGraphRetainUserObject(void *into, void *object, unsigned count, unsigned flags) {
    ((graph *)into)->objects.push_back(*(user_object *)object);
    delete (user_object *)object;
    return count == 1 && flags == 1 ? SUCCESS : INVALID_VALUE;
}
int cuGraphInstantiateWithFlags(void **made, void *given, unsigned long long) {
    *made = new graph_pointer(*(graph_pointer *)given);
    return SUCCESS;
}
int cuGraphLaunch(void *given, void *stream) {
    if (int status = use(stream)) return status;
    const graph_pointer made = *(graph_pointer *)given;
    return in_turn(stream, [=] {
        for (auto &each : made->nodes)
            if (int status = each()) return status;
        return (int)SUCCESS;
    });
}
int cuGraphDestroy(void *given) {
    delete (graph_pointer *)given;
    return SUCCESS;
}
int cuGraphExecDestroy(void *given) { return cuGraphDestroy(given); }

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

/* The handlers that XLA calls for every operator: by the number that is its attribute they find a
   bound call, and run it on the memory of the buffers. */
#include "cvmgen.h"
#include "xla/ffi/api/c_api.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int run_function(cvmgen_bound *bound, void *const *data, cvmgen_error *error);

/* The same call, prepared for a GPU: what `start` is given in front of the stream, the structures
   of its tensors, and where kernels note what does not fit (NULL: `start` does not take it). */
typedef struct gpu_call {
    const void *driver;
    void *context, *module, *run;
    const void *args;
    void ***tensors; /* each begins with the address of its elements */
    void *noting, *start;
} gpu_call;
typedef int start_function(const void *driver, void *context, void *module, void *run,
                           const void *args, void *stream, cvmgen_error *error);
typedef int noting_function(const void *driver, void *context, void *module, void *run,
                            const void *args, void *stream, void *noting, cvmgen_error *error);

enum { MOST_GPUS = 64 };

/* A call runs in one thread at a time. Calls are never removed: programs that were compiled may be
   run whenever their process lives. */
typedef struct call {
    cvmgen_bound *bound;
    run_function *run;
    int64_t tensors;
    const gpu_call *gpus[MOST_GPUS];
    pthread_mutex_t busy;
} call;

static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;
static call **calls;
static int64_t count, capacity;

/* The number of a call from now on, or -1 where there is no memory for it. */
int64_t cvmgen_jax_keep(cvmgen_bound *bound, run_function *run, int64_t tensors) {
    call *const made = malloc(sizeof *made);
    if (made == NULL) return -1;
    *made = (call){.bound = bound, .run = run, .tensors = tensors};
    pthread_mutex_init(&made->busy, NULL);
    pthread_mutex_lock(&growing);
    int64_t number = -1;
    if (count == capacity) {
        const int64_t more = capacity == 0 ? 64 : 2 * capacity;
        call **const moved = realloc(calls, (size_t)more * sizeof *moved);
        if (moved != NULL) calls = moved, capacity = more;
    }
    if (count < capacity) {
        number = count;
        calls[count++] = made;
    }
    pthread_mutex_unlock(&growing);
    if (number < 0) free(made);
    return number;
}

static XLA_FFI_Error *refused(const XLA_FFI_Api *api, const char *message) {
    XLA_FFI_Error_Create_Args args = {.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE,
                                      .message = message,
                                      .errc = XLA_FFI_Error_Code_INVALID_ARGUMENT};
    return api->XLA_FFI_Error_Create(&args);
}

/* What the attribute `number` says, or -1. */
static int64_t number_of(const XLA_FFI_Attrs *attributes) {
    for (int64_t at = 0; at < attributes->size; ++at) {
        const XLA_FFI_ByteSpan *const name = attributes->names[at];
        if (attributes->types[at] != XLA_FFI_AttrType_SCALAR || name->len != 6) continue;
        const XLA_FFI_Scalar *const value = attributes->attrs[at];
        if (memcmp(name->ptr, "number", 6) == 0 && value->dtype == XLA_FFI_DataType_S64)
            return *(const int64_t *)value->value;
    }
    return -1;
}

static call *found(int64_t number) {
    pthread_mutex_lock(&growing);
    call *const each = number >= 0 && number < count ? calls[number] : NULL;
    pthread_mutex_unlock(&growing);
    return each;
}

/* Prepare a call for a GPU; what is given stays the caller's, and stays. 0, or -1 for a number that
   is none. */
int cvmgen_jax_keep_gpu(int64_t number, int64_t gpu, const gpu_call *prepared) {
    call *const each = found(number);
    if (each == NULL || gpu < 0 || gpu >= MOST_GPUS) return -1;
    each->gpus[gpu] = prepared;
    return 0;
}

/* Whether XLA asks for the version of its interface alone, which is told. */
static int asks_for_version(XLA_FFI_CallFrame *frame) {
    const XLA_FFI_Extension_Base *const asked = frame->extension_start;
    if (asked == NULL || asked->type != XLA_FFI_Extension_Metadata) return 0;
    XLA_FFI_Metadata *const told = ((const XLA_FFI_Metadata_Extension *)asked)->metadata;
    told->api_version.major_version = XLA_FFI_API_MAJOR;
    told->api_version.minor_version = XLA_FFI_API_MINOR;
    return 1;
}

/* The call of a frame, or NULL. */
static call *call_of(const XLA_FFI_CallFrame *frame) {
    call *const each = found(number_of(&frame->attrs));
    const int fits = each != NULL && frame->args.size + frame->rets.size == each->tensors;
    return fits ? each : NULL;
}

/* Where the elements of a tensor lie: of inputs, then of results. */
static void *data_of(const XLA_FFI_CallFrame *frame, int64_t at) {
    const int64_t inputs = frame->args.size;
    void *const buffer = at < inputs ? frame->args.args[at] : frame->rets.rets[at - inputs];
    return ((const XLA_FFI_Buffer *)buffer)->data;
}

static const char FOREIGN[] = "cvmgen: a program of another process; trace it again here";

/* What a call says of its end. */
static XLA_FFI_Error *told(const XLA_FFI_Api *api, int status, const cvmgen_error *error) {
    if (status == CVMGEN_OK) return NULL;
    char message[sizeof *error + 16];
    const char *const value = error->value, *const rule = error->rule;
    const int none = value[0] == 0;
    if (error->argument[0] == 0)
        snprintf(message, sizeof message, "%s: %s%s%s%s", error->operator_name, rule,
                 none ? "" : " (", value, none ? "" : ")");
    else
        snprintf(message, sizeof message, "%s: %s%s%s: %s", error->operator_name, error->argument,
                 none ? "" : " = ", value, rule);
    return refused(api, message);
}

XLA_FFI_Error *cvmgen_jax_call(XLA_FFI_CallFrame *frame) {
    if (asks_for_version(frame)) return NULL;
    call *const each = call_of(frame);
    if (each == NULL) return refused(frame->api, FOREIGN);
    void **const data = malloc((size_t)each->tensors * sizeof *data);
    if (data == NULL) return refused(frame->api, "cvmgen: there is no memory for a call");
    for (int64_t at = 0; at < each->tensors; ++at) data[at] = data_of(frame, at);
    cvmgen_error error;
    pthread_mutex_lock(&each->busy);
    const int status = each->run(each->bound, data, &error);
    pthread_mutex_unlock(&each->busy);
    free(data);
    return told(frame->api, status, &error);
}

/* The same on a GPU, in the stream that XLA uses there: it returns when the kernels are started. */
XLA_FFI_Error *cvmgen_jax_call_gpu(XLA_FFI_CallFrame *frame) {
    if (asks_for_version(frame)) return NULL;
    call *const each = call_of(frame);
    if (each == NULL) return refused(frame->api, FOREIGN);
    XLA_FFI_Stream_Get_Args stream = {.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE,
                                      .ctx = frame->ctx};
    XLA_FFI_DeviceOrdinal_Get_Args gpu = {
        .struct_size = XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE, .ctx = frame->ctx};
    XLA_FFI_Error *failed = frame->api->XLA_FFI_Stream_Get(&stream);
    if (failed == NULL) failed = frame->api->XLA_FFI_DeviceOrdinal_Get(&gpu);
    if (failed != NULL) return failed;
    const int ordinal = gpu.device_ordinal;
    const gpu_call *const there =
        ordinal >= 0 && ordinal < MOST_GPUS ? each->gpus[ordinal] : NULL;
    if (there == NULL) return refused(frame->api, "cvmgen: the call was traced without this GPU");
    cvmgen_error error;
    pthread_mutex_lock(&each->busy);
    for (int64_t at = 0; at < each->tensors; ++at) *there->tensors[at] = data_of(frame, at);
    const int status =
        there->noting == NULL
            ? ((start_function *)there->start)(there->driver, there->context, there->module,
                                               there->run, there->args, stream.stream, &error)
            : ((noting_function *)there->start)(there->driver, there->context, there->module,
                                                there->run, there->args, stream.stream,
                                                there->noting, &error);
    pthread_mutex_unlock(&each->busy);
    return told(frame->api, status, &error);
}

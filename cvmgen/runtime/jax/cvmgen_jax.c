/* The handler that XLA calls for every operator: by the number that is its attribute it finds a bound
   call, and runs it on the memory of the buffers. */
#include "cvmgen.h"
#include "xla/ffi/api/c_api.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int run_function(cvmgen_bound *bound, void *const *data, cvmgen_error *error);

/* A call runs in one thread at a time. Calls are never removed: programs that were compiled may be
   run whenever their process lives. */
typedef struct call {
    cvmgen_bound *bound;
    run_function *run;
    int64_t tensors;
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

XLA_FFI_Error *cvmgen_jax_call(XLA_FFI_CallFrame *frame) {
    const XLA_FFI_Extension_Base *const asked = frame->extension_start;
    if (asked != NULL && asked->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *const told = ((const XLA_FFI_Metadata_Extension *)asked)->metadata;
        told->api_version.major_version = XLA_FFI_API_MAJOR;
        told->api_version.minor_version = XLA_FFI_API_MINOR;
        return NULL;
    }
    call *const each = found(number_of(&frame->attrs));
    if (each == NULL || frame->args.size + frame->rets.size != each->tensors)
        return refused(frame->api, "cvmgen: a program of another process; trace it again here");
    void **const data = malloc((size_t)each->tensors * sizeof *data);
    if (data == NULL) return refused(frame->api, "cvmgen: there is no memory for a call");
    for (int64_t at = 0; at < frame->args.size; ++at)
        data[at] = ((const XLA_FFI_Buffer *)frame->args.args[at])->data;
    for (int64_t at = 0; at < frame->rets.size; ++at)
        data[frame->args.size + at] = ((const XLA_FFI_Buffer *)frame->rets.rets[at])->data;
    cvmgen_error error;
    pthread_mutex_lock(&each->busy);
    const int status = each->run(each->bound, data, &error);
    pthread_mutex_unlock(&each->busy);
    free(data);
    if (status == CVMGEN_OK) return NULL;
    char message[sizeof error + 16];
    const char *const value = error.value, *const rule = error.rule;
    const int none = value[0] == 0;
    if (error.argument[0] == 0)
        snprintf(message, sizeof message, "%s: %s%s%s%s", error.operator_name, rule,
                 none ? "" : " (", value, none ? "" : ")");
    else
        snprintf(message, sizeof message, "%s: %s%s%s: %s", error.operator_name, error.argument,
                 none ? "" : " = ", value, rule);
    return refused(frame->api, message);
}

/* XLA as far as a handler asks it: a frame of a call, the stream and the device that it runs on. */
#include "xla/ffi/api/c_api.h"
#include <stdio.h>
#include <string.h>

static char message[2048];
static void *a_stream;
static int a_device, an_error;

static XLA_FFI_Error *create(XLA_FFI_Error_Create_Args *args) {
    snprintf(message, sizeof message, "%s", args->message);
    return (XLA_FFI_Error *)&an_error;
}
static XLA_FFI_Error *get_stream(XLA_FFI_Stream_Get_Args *args) {
    args->stream = a_stream;
    return NULL;
}
static XLA_FFI_Error *get_device(XLA_FFI_DeviceOrdinal_Get_Args *args) {
    args->device_ordinal = a_device;
    return NULL;
}

/* What a handler says: nothing, or why it refuses. */
const char *frame_call(XLA_FFI_Handler *handler, int64_t number, void *stream, int device,
                       int64_t inputs, int64_t results, void **data) {
    XLA_FFI_Api api = {.XLA_FFI_Error_Create = create,
                       .XLA_FFI_Stream_Get = get_stream,
                       .XLA_FFI_DeviceOrdinal_Get = get_device};
    XLA_FFI_Buffer buffers[16];
    void *places[16];
    for (int64_t at = 0; at < inputs + results; ++at) {
        buffers[at] = (XLA_FFI_Buffer){.data = data[at]};
        places[at] = &buffers[at];
    }
    XLA_FFI_ByteSpan name = {"number", 6}, *names[] = {&name};
    XLA_FFI_Scalar scalar = {XLA_FFI_DataType_S64, &number};
    XLA_FFI_AttrType type = XLA_FFI_AttrType_SCALAR;
    void *values[] = {&scalar};
    XLA_FFI_CallFrame frame = {
        .api = &api,
        .args = {.size = inputs, .args = places},
        .rets = {.size = results, .rets = places + inputs},
        .attrs = {.size = 1, .types = &type, .names = names, .attrs = values}};
    a_stream = stream, a_device = device, message[0] = 0;
    handler(&frame);
    return message;
}

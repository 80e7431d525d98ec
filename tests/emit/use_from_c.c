/* Calls generated operators as a C program does: a convolution, refused calls, a DLPack tensor. */
#include <stdio.h>
#include <string.h>

#include "cvm.h"

static cvmgen_tensor tensor(void *data, int32_t dtype, int32_t precision, int32_t rank,
                            const int64_t *extents) {
    cvmgen_tensor made;
    memset(&made, 0, sizeof made);
    made.data = data;
    made.dtype = dtype;
    made.precision = precision;
    made.rank = rank;
    for (int32_t i = 0; i < rank; ++i) made.extents[i] = extents[i];
    return made;
}

static void print_tensor(const char *name, const cvmgen_tensor *tensor) {
    int64_t size = 1;
    printf("%s (", name);
    for (int32_t i = 0; i < tensor->rank; ++i) {
        printf(i ? ", %lld" : "%lld", (long long)tensor->extents[i]);
        size *= tensor->extents[i];
    }
    printf(") precision %d:", (int)tensor->precision);
    for (int64_t i = 0; i < size; ++i) printf(" %d", (int)((const int32_t *)tensor->data)[i]);
    printf("\n");
}

static void print_error(int status, const cvmgen_error *error) {
    printf("%d %s | %s | %s | %s\n", status, error->operator_name, error->argument, error->value,
           error->rule);
}

/* X of int8 and W of int32, padding 1: infer first, then give the result its memory. */
static int convolve(void) {
    int8_t x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    int32_t w[4] = {1, 0, 0, -1}, b[1] = {100}, y[16];
    const cvmgen_tensor X = tensor(x, CVMGEN_INT8, 5, 4, (const int64_t[]){1, 1, 3, 3});
    const cvmgen_tensor W = tensor(w, CVMGEN_INT32, 2, 4, (const int64_t[]){1, 1, 2, 2});
    const cvmgen_tensor B = tensor(b, CVMGEN_INT32, 8, 1, (const int64_t[]){1});
    cvmgen_tensor Y = tensor(y, CVMGEN_INT32, 0, 0, NULL);
    cvmgen_error error;
    cvm_conv2d_args args;
    int status;

    cvm_conv2d_defaults(&args);
    printf("defaults: padding %d %d stride %d %d dilation %d %d groups %d\n", (int)args.padding[0],
           (int)args.padding[1], (int)args.stride[0], (int)args.stride[1], (int)args.dilation[0],
           (int)args.dilation[1], (int)args.groups);
    args.X = &X;
    args.W = &W;
    args.B = &B;
    args.Y = &Y;
    args.padding[0] = args.padding[1] = 1;
    status = cvm_conv2d_infer(&args, &error);
    if (status != CVMGEN_OK) {
        print_error(status, &error);
        return 1;
    }
    status = cvm_conv2d(&args, &error);
    if (status != CVMGEN_OK) {
        print_error(status, &error);
        return 1;
    }
    print_tensor("Y", &Y);

    args.groups = 2;
    status = cvm_conv2d(&args, &error);
    print_error(status, &error);
    args.groups = 1;
    x[4] = 16;
    args.check_values = 1;
    status = cvm_conv2d(&args, &error);
    print_error(status, &error);
    return cvm_conv2d(&args, NULL) != status; /* who does not ask gets no reason */
}

/* A DLPack tensor whose data begin eight bytes into its memory. */
static int from_dlpack(void) {
    int32_t memory[6] = {0, 0, -1, 2, -3, 4}, y[4];
    int64_t shape[2] = {2, 2}, strides[2] = {2, 1}, columns[2] = {1, 2};
    cvmgen_dlpack_tensor source;
    cvmgen_tensor X, Y = tensor(y, CVMGEN_INT32, 0, 0, NULL);
    cvm_negative_args args;
    cvmgen_error error;
    int status;

    memset(&source, 0, sizeof source);
    source.data = memory;
    source.device.device_type = 1;
    source.ndim = 2;
    source.dtype.bits = 32;
    source.dtype.lanes = 1;
    source.shape = shape;
    source.strides = strides;
    source.byte_offset = 8;
    status = cvmgen_from_dlpack(&source, 0, &X, &error);
    if (status != CVMGEN_OK) {
        print_error(status, &error);
        return 1;
    }
    cvm_negative_defaults(&args);
    args.X = &X;
    args.Y = &Y;
    status = cvm_negative_infer(&args, &error) || cvm_negative(&args, &error);
    if (status != CVMGEN_OK) {
        print_error(status, &error);
        return 1;
    }
    print_tensor("Y", &Y);

    source.strides = columns;
    print_error(cvmgen_from_dlpack(&source, 0, &X, &error), &error);
    source.strides = NULL;
    source.dtype.code = 1;
    print_error(cvmgen_from_dlpack(&source, 0, &X, &error), &error);
    source.dtype.code = 5;
    source.dtype.bits = 64;
    print_error(cvmgen_from_dlpack(&source, 0, &X, &error), &error);
    source.dtype.code = 0;
    source.dtype.bits = 32;
    source.ndim = 17;
    print_error(cvmgen_from_dlpack(&source, 0, &X, &error), &error);
    source.ndim = 2;
    source.device.device_type = 2;
    print_error(cvmgen_from_dlpack(&source, 0, &X, &error), &error);
    return 0;
}

/* Tensors without dimensions and without elements; whose strides say nothing. */
static int no_elements(void) {
    int32_t memory[1] = {5};
    int64_t shape[2] = {2, 0}, strides[2] = {7, 9};
    cvmgen_dlpack_tensor source;
    cvmgen_tensor X, Z;
    cvmgen_error error;

    memset(&source, 0, sizeof source);
    source.data = memory;
    source.device.device_type = 1;
    source.dtype.bits = 32;
    source.dtype.lanes = 1;
    if (cvmgen_from_dlpack(&source, 0, &X, &error)) return 1;
    source.data = NULL;
    source.ndim = 2;
    source.shape = shape;
    source.strides = strides;
    if (cvmgen_from_dlpack(&source, 0, &Z, &error)) return 1;
    printf("rank %d, rank %d of extents %d %d\n", (int)X.rank, (int)Z.rank, (int)Z.extents[0],
           (int)Z.extents[1]);
    return X.data != memory || Z.data != NULL;
}

int main(void) { return convolve() || from_dlpack() || no_elements(); }

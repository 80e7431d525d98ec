/* Binds a call as a C program does: checked once, its weights packed once, run on other memory. */
#include <stdio.h>
#include <string.h>

#include "cvm.h"

enum { ROWS = 24, COLUMNS = 40, DEPTH = 50 };

static cvmgen_tensor matrix(void *data, int32_t dtype, int64_t rows, int64_t columns) {
    cvmgen_tensor made;
    memset(&made, 0, sizeof made);
    made.data = data;
    made.dtype = dtype;
    made.precision = dtype == CVMGEN_INT8 ? 8 : 0;
    made.rank = 2;
    made.extents[0] = rows;
    made.extents[1] = columns;
    return made;
}

/* How many results are not what they should be. */
static int wrong(const int8_t *x, const int8_t *w, const int32_t *y) {
    int count = 0;
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) {
            int sum = 0;
            for (int k = 0; k < DEPTH; ++k) sum += x[i * DEPTH + k] * w[j * DEPTH + k];
            count += sum != y[i * COLUMNS + j];
        }
    return count;
}

int main(void) {
    static int8_t x[2][ROWS * DEPTH], w[COLUMNS * DEPTH];
    static int32_t y[2][ROWS * COLUMNS];
    cvmgen_tensor X = matrix(NULL, CVMGEN_INT8, ROWS, DEPTH);
    cvmgen_tensor W = matrix(w, CVMGEN_INT8, COLUMNS, DEPTH);
    cvmgen_tensor Y = matrix(NULL, CVMGEN_INT32, ROWS, COLUMNS);
    cvmgen_bound *bound;
    cvmgen_error error;
    cvm_dense_args args;

    for (int i = 0; i < ROWS * DEPTH; ++i) {
        x[0][i] = (int8_t)(i * 37 % 256 - 128);
        x[1][i] = (int8_t)(i * 91 % 256 - 128);
    }
    for (int i = 0; i < COLUMNS * DEPTH; ++i) w[i] = (int8_t)(i * 53 % 256 - 128);
    cvm_dense_defaults(&args);
    args.X = &X;
    args.W = &W;
    args.Y = &Y;
    if (cvm_dense_bind(&args, 1u << 1, &bound, &error)) return 1; /* W stays as it is */
    memset(&X, 0, sizeof X);                                      /* nobody needs it any more */
    memset(&args, 0, sizeof args);
    printf("%d | %s | %s\n", cvmgen_run(bound, NULL, &error), error.argument, error.rule);
    for (int time = 0; time < 2; ++time) {
        void *const data[] = {x[time], NULL, y[time]};
        const int status = cvmgen_run(bound, data, &error);
        printf("%d: %d wrong\n", status, wrong(x[time], w, y[time]));
    }
    x[1][7] = 3;
    printf("%d: ", cvmgen_run(bound, NULL, &error));
    printf("%d wrong\n", wrong(x[1], w, y[1]));
    cvmgen_release(bound);
    cvmgen_release(NULL);

    W.extents[1] = 3;
    X = matrix(x[0], CVMGEN_INT8, ROWS, DEPTH);
    args.X = &X;
    args.W = &W;
    printf("%d | %s | ", cvm_dense_bind(&args, 0, &bound, &error), error.argument);
    printf("%s | %d\n", error.value, bound == NULL);
    return 0;
}

/* Non-max suppression from C, with generated/c and nothing else. From the root of the checkout:

   cc -std=c11 -O3 -ffp-contract=off -fno-tree-slp-vectorize -pthread -Igenerated/c \
      examples/c/boxes.c generated/c/cvmgen*.c generated/c/cvm/non_max_suppression.c -lm -o boxes && ./boxes

   Without -pthread it runs in one thread. A library of all operators to link with, static or
   shared:

   cc -std=c11 -O3 -ffp-contract=off -fno-tree-slp-vectorize -pthread -fPIC -Igenerated/c \
      -c generated/c/cvmgen*.c generated/c/cvm/[a-z]*.c && ar rcs libcvm.a *.o
   cc -std=c11 -O3 -ffp-contract=off -fno-tree-slp-vectorize -pthread -fPIC -Igenerated/c \
      -shared generated/c/cvmgen*.c generated/c/cvm/[a-z]*.c -lm -o libcvm.so */
#include <stdio.h>
#include <stdlib.h>

#include "cvm.h"

/* A refused call says which argument breaks which rule. */
static void check(int status, const cvmgen_error *error) {
    if (status == CVMGEN_OK) return;
    fprintf(stderr, "%s: %s %s: %s\n", error->operator_name, error->argument, error->value,
            error->rule);
    exit(1);
}

int main(void) {
    /* A batch of four rows: class, score, and two corners of a box. */
    int32_t rows[1][4][6] = {{
        {0, 90, 10, 10, 50, 50}, /* kept */
        {0, 80, 12, 11, 52, 49}, /* much like the first one, and of its class */
        {1, 70, 12, 11, 52, 49}, /* of another class */
        {0, 60, 90, 90, 99, 99}, /* elsewhere */
    }};
    int32_t counts[1] = {4};
    /* Precision 0 is measured: the call takes the smallest that holds all elements. */
    const cvmgen_tensor X = {.data = rows, .extents = {1, 4, 6}, .rank = 3, .dtype = CVMGEN_INT32};
    const cvmgen_tensor valid_count = {
        .data = counts, .extents = {1}, .rank = 1, .dtype = CVMGEN_INT32};
    cvmgen_tensor Y = {.dtype = CVMGEN_INT32};
    cvmgen_error error;
    cvm_non_max_suppression_args args;

    cvmgen_set_threads(2);
    cvm_non_max_suppression_defaults(&args);
    args.X = &X;
    args.valid_count = &valid_count;
    args.Y = &Y;
    /* The shape and the precision of the result first, then memory for it, then the result. */
    check(cvm_non_max_suppression_infer(&args, &error), &error);
    int32_t *const kept = malloc((size_t)(Y.extents[1] * Y.extents[2]) * sizeof *kept);
    if (kept == NULL) return 1;
    Y.data = kept;
    check(cvm_non_max_suppression(&args, &error), &error);
    for (const int32_t *row = kept; row < kept + 4 * 6; row += 6)
        printf("class %d score %d box %d %d %d %d\n", (int)row[0], (int)row[1], (int)row[2],
               (int)row[3], (int)row[4], (int)row[5]);
    free(kept);
    return 0;
}

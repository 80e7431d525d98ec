/* What generated operators keep of a call that is checked once. */
#ifndef CVMGEN_BOUND_H
#define CVMGEN_BOUND_H
#include "cvmgen_contract.h"
#include "cvmgen_runtime.h"

/* The beginning of each operator's own structure. `tensors` are the inputs that are given and the
   outputs, in order; the argument structure points to them. */
struct cvmgen_bound {
    int (*run)(cvmgen_bound *bound, cvmgen_error *error);
    cvmgen_tensor *tensors;
    const cvmgen_tensor **pointers;
    int64_t *numbers;
    int64_t tensor_count;
    cvmgen_workspace *spaces; /* of nests, lists and tables */
    int64_t space_count;
};

/* A structure of `size` bytes, all 0, with memory for so many tensors, pointers to them, and
   numbers; NULL where there is none. */
void *cvmgen_new_bound(cvmgen_error *error, size_t size, int64_t tensors, int64_t pointers,
                       int64_t numbers);

/* Copies of what arguments point to, as long as the structure; NULL of NULL. */
static inline cvmgen_tensor *cvmgen_keep_tensor(cvmgen_bound *bound, const cvmgen_tensor *tensor) {
    if (tensor == NULL) return NULL;
    bound->tensors[bound->tensor_count] = *tensor;
    return &bound->tensors[bound->tensor_count++];
}
static inline const cvmgen_tensor *const *cvmgen_keep_tensors(cvmgen_bound *bound,
                                                              const cvmgen_tensor *const *tensors,
                                                              int64_t count) {
    const cvmgen_tensor **const kept = bound->pointers;
    for (int64_t at = 0; at < count; ++at)
        kept[at] = cvmgen_keep_tensor(bound, tensors[at]);
    bound->pointers += count;
    return kept;
}
static inline int64_t *cvmgen_keep_number(cvmgen_bound *bound, const int64_t *number) {
    if (number == NULL) return NULL;
    *bound->numbers = *number;
    return bound->numbers++;
}
static inline double *cvmgen_keep_real(cvmgen_bound *bound, const double *number) {
    if (number == NULL) return NULL;
    double *const kept = (double *)(void *)bound->numbers++;
    *kept = *number;
    return kept;
}

/* Memory for `count` elements of so many int64 each, as cvmgen_scratch() gives it; with a workspace
   it is that of the call before, and stays there. */
static inline int cvmgen_keep_scratch(cvmgen_error *error, const char *name, int64_t count,
                                      int64_t words, cvmgen_workspace *space, int64_t **memory) {
    if (space == NULL) return cvmgen_scratch(error, name, count, words, memory);
    if (space->list.memory == NULL || space->list.bytes < count * words) {
        free(space->list.memory);
        space->list.memory = NULL;
        const int status = cvmgen_scratch(error, name, count, words, memory);
        if (status != CVMGEN_OK) return status;
        space->list.memory = *memory;
        space->list.bytes = count * words;
    }
    *memory = (int64_t *)space->list.memory;
    return CVMGEN_OK;
}
#endif

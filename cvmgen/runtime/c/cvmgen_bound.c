/* Calls that are checked once and run often. */
#include "cvmgen_bound.h"
#include "cvmgen_runtime.h"

void *cvmgen_new_bound(cvmgen_error *error, size_t size, int64_t tensors, int64_t pointers,
                       int64_t numbers) {
    const size_t start = (size + 15) / 16 * 16;
    const size_t tensor_bytes = (size_t)tensors * sizeof(cvmgen_tensor);
    const size_t pointer_bytes = (size_t)pointers * sizeof(cvmgen_tensor *);
    const size_t number_bytes = (size_t)numbers * sizeof(int64_t);
    char *const memory = (char *)calloc(1, start + tensor_bytes + pointer_bytes + number_bytes);
    if (memory == NULL) {
        cvmgen_fail(error, CVMGEN_NO_MEMORY, "no memory for a bound call");
        return NULL;
    }
    cvmgen_bound *const bound = (cvmgen_bound *)(void *)memory;
    bound->tensors = (cvmgen_tensor *)(void *)(memory + start);
    bound->numbers = (int64_t *)(void *)(memory + start + tensor_bytes);
    char *const behind = memory + start + tensor_bytes + number_bytes;
    bound->pointers = (const cvmgen_tensor **)(void *)behind;
    return bound;
}

int cvmgen_run(cvmgen_bound *bound, void *const *data, cvmgen_error *error) {
    for (int64_t at = 0; data != NULL && at < bound->tensor_count; ++at)
        if (data[at] != NULL) bound->tensors[at].data = data[at];
    return bound->run(bound, error);
}

void cvmgen_release(cvmgen_bound *bound) {
    if (bound == NULL) return;
    for (int64_t at = 0; at < bound->space_count; ++at) cvmgen_free_workspace(&bound->spaces[at]);
    free(bound);
}

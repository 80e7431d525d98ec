/* exp, sigmoid and tanh of many numbers: by vectors, and those that these do not decide one by
   one. */
#include "cvmgen_functions.h"
#include "cvmgen_runtime.h"
#include "cvmgen_elementary.h"

enum { BLOCK = 64 };

#define CVMGEN_RUN(name)                                                              \
    CVMGEN_FOR_AVX512                                                                 \
    void cvmgen_##name##_run(double *values, int64_t count) {                         \
        for (int64_t at = 0; at < count; at += BLOCK) {                               \
            double *const block = values + at, found[BLOCK];                          \
            int64_t open[BLOCK], some = 0;                                            \
            const int64_t length = cvmgen_min_i64(BLOCK, count - at);                 \
            for (int64_t k = 0; k < length; ++k) {                                    \
                const cvmgen_quick quick = cvmgen_quick_##name(block[k]);             \
                found[k] = quick.value;                                               \
                open[k] = !quick.sure;                                                \
                some |= open[k];                                                      \
            }                                                                         \
            for (int64_t k = 0; k < length && some; ++k)                              \
                if (open[k]) found[k] = cvmgen_##name##_f64(block[k]);                \
            memcpy(block, found, (size_t)length * sizeof *block);                     \
        }                                                                             \
    }
CVMGEN_RUN(exp)
CVMGEN_RUN(sigmoid)
CVMGEN_RUN(tanh)

/* Local arrays an entry further. */
#ifndef CVMGEN_SLIDES_H
#define CVMGEN_SLIDES_H
#include <stdint.h>
#include <string.h>
#include "cvmgen_vectors.h"

/* cvmgen_slide_*: target[0] = first and target[k] = source[k - 1] for 0 < k < count, a multiple of
   the entries of 64 bytes. Where entries are in registers they stay there: a loop would store them
   and read them again from a place between, which waits until memory has them. */
#ifdef CVMGEN_SHUFFLED
#define CVMGEN_SLIDE(kind, type, lanes, ...)                                                      \
    typedef type cvmgen_slid_##kind __attribute__((vector_size(64)));                             \
    CVMGEN_INLINE void cvmgen_slide_##kind(type *restrict target, const type *restrict source,    \
                                           type first, int count) {                               \
        cvmgen_slid_##kind before = (cvmgen_slid_##kind){0} + first;                              \
        for (int k = 0; k < count; k += lanes) {                                                  \
            cvmgen_slid_##kind entries;                                                           \
            memcpy(&entries, source + k, sizeof entries);                                         \
            before = CVMGEN_SHUFFLED(cvmgen_slid_##kind, before, entries, __VA_ARGS__);           \
            memcpy(target + k, &before, sizeof before);                                           \
            before = entries;                                                                     \
        }                                                                                         \
    }
#else
#define CVMGEN_SLIDE(kind, type, lanes, ...)                                                      \
    CVMGEN_INLINE void cvmgen_slide_##kind(type *restrict target, const type *restrict source,    \
                                           type first, int count) {                               \
        target[0] = first;                                                                        \
        for (int k = 1; k < count; ++k) target[k] = source[k - 1];                                \
    }
#endif
CVMGEN_SLIDE(i32, int32_t, 16, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
CVMGEN_SLIDE(i64, int64_t, 8, 7, 8, 9, 10, 11, 12, 13, 14)
#endif

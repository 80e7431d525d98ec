/* Slides of as many entries as vectors hold, and of more: by vectors, and without them as WITHOUT
   says. The exit status is the number of those that are wrong. */
#include "cvmgen_vectors.h"
#ifdef WITHOUT
#undef CVMGEN_SHUFFLED
#endif
#include "cvmgen_slides.h"

#define WRONG(kind, type, entries)                                                        \
    static int wrong_##kind##_##entries(void) {                                           \
        type source[entries + 1], target[entries + 1];                                    \
        int found = 0;                                                                    \
        for (int k = 0; k <= entries; ++k) source[k] = 5 - 3 * k, target[k] = 77;         \
        cvmgen_slide_##kind(target, source, INT32_MIN, entries);                          \
        for (int k = 1; k < entries; ++k) found += target[k] != source[k - 1];            \
        return found + (target[0] != INT32_MIN) + (target[entries] != 77);                \
    }
WRONG(i32, int32_t, 16)
WRONG(i32, int32_t, 48)
WRONG(i64, int64_t, 8)
WRONG(i64, int64_t, 32)

int main(void) {
    return wrong_i32_16() + wrong_i32_48() + wrong_i64_8() + wrong_i64_32();
}

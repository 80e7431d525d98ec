/* Long runs of elements, by threads. */
#include "cvmgen_runs.h"
#include "cvmgen_threads.h"

#define PAGE 4096

typedef struct run {
    char *to;
    const char *from;
    int64_t bytes, to_step, from_step; /* of an element; in elements */
} run;

static void copy_pages(const void *context, int64_t low, int64_t high) {
    const run *const call = context;
    const int64_t size = cvmgen_min_i64(high * PAGE, call->bytes) - low * PAGE;
    memcpy(call->to + low * PAGE, call->from + low * PAGE, (size_t)size);
}
void cvmgen_copy_long(void *to, const void *from, int64_t bytes) {
    const run call = {.to = to, .from = from, .bytes = bytes};
    cvmgen_share(cvmgen_ceildiv(bytes, PAGE), true, copy_pages, &call);
}

#define COPY_STEPS(type)                                             \
    {                                                                \
        type *const to = (type *)call->to;                           \
        const type *const from = (const type *)call->from;           \
        CVMGEN_APART                                                 \
        for (int64_t i = low; i < high; ++i)                         \
            to[i * call->to_step] = from[i * call->from_step];       \
        break;                                                       \
    }
static void copy_steps(const void *context, int64_t low, int64_t high) {
    const run *const call = context;
    switch (call->bytes) {
    case 1: COPY_STEPS(int8_t)
    case 2: COPY_STEPS(int16_t)
    case 4: COPY_STEPS(int32_t)
    default: COPY_STEPS(int64_t)
    }
}
void cvmgen_copy_steps_long(void *to, const void *from, int64_t bytes, int64_t count,
                            int64_t to_step, int64_t from_step) {
    const run call = {to, from, bytes, to_step, from_step};
    cvmgen_share(count, true, copy_steps, &call);
}
void cvmgen_fill_long(void *to, const void *value, int64_t bytes, int64_t count, int64_t step) {
    cvmgen_copy_steps_long(to, value, bytes, count, step, 0);
}

/* ---------------------------------------------------------------- what parts find together */

typedef struct magnitudes {
    const cvmgen_tensor *tensor;
    uint32_t *bits;
} magnitudes;

static void find_magnitudes(const void *context, int64_t low, int64_t high) {
    const magnitudes *const call = context;
    const uint32_t bits = cvmgen_magnitudes_in(call->tensor, low, high);
    __atomic_fetch_or(call->bits, bits, __ATOMIC_RELAXED);
}
uint32_t cvmgen_magnitudes(const cvmgen_tensor *tensor, int64_t size) {
    uint32_t bits = 0;
    const magnitudes call = {tensor, &bits};
    cvmgen_share(size, size >= CVMGEN_PIECE, find_magnitudes, &call);
    return bits;
}
void cvmgen_note_overflow(int64_t *first, int64_t at) {
    cvmgen_lock();
    if (at < *first) *first = at;
    cvmgen_unlock();
}

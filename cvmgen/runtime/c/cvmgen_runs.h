/* Elements that lie side by side, or as far apart as each other, copied and filled. */
#ifndef CVMGEN_RUNS_H
#define CVMGEN_RUNS_H
#include "cvmgen_runtime.h"

/* Runs of more elements, or bytes, are worth threads. */
#define CVMGEN_PIECE (INT64_C(1) << 19)

/* By threads: elements of 1, 2, 4 or 8 bytes each. */
void cvmgen_copy_long(void *to, const void *from, int64_t bytes);
void cvmgen_copy_steps_long(void *to, const void *from, int64_t bytes, int64_t count,
                            int64_t to_step, int64_t from_step);
void cvmgen_fill_long(void *to, const void *value, int64_t bytes, int64_t count, int64_t step);

/* What the compiler can be told: to fetch a line that is read or written soon. */
#ifdef __GNUC__
#define CVMGEN_SOON(place) __builtin_prefetch(place)
#define CVMGEN_SOON_WRITTEN(place) __builtin_prefetch(place, 1)
#else
#define CVMGEN_SOON(place) (void)(place)
#define CVMGEN_SOON_WRITTEN(place) (void)(place)
#endif
/* So many bytes behind a place, where there may be no memory. */
static inline void cvmgen_fetch(const void *place, int64_t ahead) {
    CVMGEN_SOON((const void *)((uintptr_t)place + (uintptr_t)ahead));
}

/* Up to 32 bytes, of which those in the middle may be copied twice: a row of a few elements is
   there before a call of memcpy would have begun. */
static inline void cvmgen_copy_few(char *to, const char *from, int64_t bytes) {
    if (bytes >= 16) {
        memcpy(to, from, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, from, 4);
        memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else {
        for (int64_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
}
/* 32 bytes, by one register where there is one. */
static inline void cvmgen_copy_vector(void *to, const void *from) {
#if defined(__GNUC__) && defined(__x86_64__)
    typedef char vector __attribute__((vector_size(32)));
    vector copied;
#else
    char copied[32];
#endif
    memcpy(&copied, from, 32);
    memcpy(to, &copied, 32);
}
static inline void cvmgen_copy_bytes(char *to, const char *from, int64_t bytes) {
    if (bytes <= 32)
        cvmgen_copy_few(to, from, bytes);
    else if (bytes < 2 * CVMGEN_PIECE)
        memcpy(to, from, (size_t)bytes);
    else
        cvmgen_copy_long(to, from, bytes);
}

/* For each element type: copy_ and fill_ for elements side by side, copy_steps_ and fill_steps_
   for elements that lie as far apart as the steps say. An empty run touches nothing. */
#define CVMGEN_RUNS(kind, type)                                                                \
    static inline void cvmgen_copy_##kind(type *to, const type *from, int64_t count) {         \
        if (count > 0)                                                                         \
            cvmgen_copy_bytes((char *)to, (const char *)from, count * (int64_t)sizeof(type));  \
    }                                                                                          \
    static inline void cvmgen_fill_steps_##kind(type *to, type value, int64_t count,           \
                                                int64_t step) {                                \
        if (count < CVMGEN_PIECE)                                                              \
            for (int64_t i = 0; i < count; ++i) to[i * step] = value;                          \
        else                                                                                   \
            cvmgen_fill_long(to, &value, (int64_t)sizeof(type), count, step);                  \
    }                                                                                          \
    static inline void cvmgen_fill_##kind(type *to, type value, int64_t count) {               \
        cvmgen_fill_steps_##kind(to, value, count, 1);                                         \
    }                                                                                          \
    static inline void cvmgen_copy_steps_##kind(type *to, const type *from, int64_t count,     \
                                                int64_t to_step, int64_t from_step) {          \
        if (to_step == 1 && from_step == 1)                                                    \
            cvmgen_copy_##kind(to, from, count);                                               \
        else if (to_step == 1 && from_step == 0 && count > 0)                                  \
            cvmgen_fill_##kind(to, *from, count);                                              \
        else if (count < CVMGEN_PIECE)                                                         \
            for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];         \
        else                                                                                   \
            cvmgen_copy_steps_long(to, from, (int64_t)sizeof(type), count, to_step, from_step); \
    }
CVMGEN_RUNS(i8, int8_t)
CVMGEN_RUNS(i16, int16_t)
CVMGEN_RUNS(u8, uint8_t)
CVMGEN_RUNS(u16, uint16_t)
CVMGEN_RUNS(i32, int32_t)
CVMGEN_RUNS(i64, int64_t)

/* The same by the type of what is written, where that is a parameter. */
#define CVMGEN_RUN(name, to)        \
    _Generic(*(to),                 \
        int8_t: cvmgen_##name##_i8,   \
        int16_t: cvmgen_##name##_i16, \
        uint8_t: cvmgen_##name##_u8,  \
        uint16_t: cvmgen_##name##_u16, \
        int32_t: cvmgen_##name##_i32, \
        int64_t: cvmgen_##name##_i64)
#define cvmgen_copy(to, from, count) CVMGEN_RUN(copy, to)(to, from, count)
#define cvmgen_fill(to, value, count) CVMGEN_RUN(fill, to)(to, value, count)
#define cvmgen_copy_steps(to, from, count, to_step, from_step) \
    CVMGEN_RUN(copy_steps, to)(to, from, count, to_step, from_step)
#define cvmgen_fill_steps(to, value, count, step) \
    CVMGEN_RUN(fill_steps, to)(to, value, count, step)
#endif

/* Squares of elements, turned: rows of the source become columns of the target. */
#ifndef CVMGEN_SQUARES_H
#define CVMGEN_SQUARES_H
#include "cvmgen_turns.h"
#include "cvmgen_vectors.h"

/* Rows begin at places of the source, columns go to places of the target, both in bytes. */
typedef void cvmgen_square(char *to, const int64_t *targets, const char *from,
                           const int64_t *sources);

/* cvmgen_square_*: as many vectors of 16 bytes as a vector has elements. With each round, two
   halves of the rows are put together like the teeth of a zip. */
#ifdef CVMGEN_SHUFFLED
#define CVMGEN_SQUARE(kind, type, lanes, rounds)                                                \
    typedef type cvmgen_vector_##kind __attribute__((vector_size(lanes * sizeof(type))));       \
    CVMGEN_INLINE void cvmgen_square_##kind(char *to, const int64_t *targets, const char *from, \
                                            const int64_t *sources) {                           \
        cvmgen_vector_##kind rows[lanes], zipped[lanes];                                        \
        CVMGEN_UNROLLED                                                                         \
        for (int i = 0; i < lanes; ++i) memcpy(&rows[i], from + sources[i], sizeof rows[i]);    \
        CVMGEN_UNROLLED                                                                         \
        for (int round = 0; round < rounds; ++round) {                                          \
            CVMGEN_UNROLLED                                                                     \
            for (int i = 0; i < lanes / 2; ++i) {                                               \
                zipped[2 * i] = CVMGEN_LOW_##kind(rows[i], rows[i + lanes / 2]);                \
                zipped[2 * i + 1] = CVMGEN_HIGH_##kind(rows[i], rows[i + lanes / 2]);           \
            }                                                                                   \
            CVMGEN_UNROLLED                                                                     \
            for (int i = 0; i < lanes; ++i) rows[i] = zipped[i];                                \
        }                                                                                       \
        CVMGEN_UNROLLED                                                                         \
        for (int i = 0; i < lanes; ++i) memcpy(to + targets[i], &rows[i], sizeof rows[i]);      \
    }
#define CVMGEN_ZIP(kind, a, b, ...) CVMGEN_SHUFFLED(cvmgen_vector_##kind, a, b, __VA_ARGS__)
#define CVMGEN_LOW_i8(a, b) \
    CVMGEN_ZIP(i8, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define CVMGEN_HIGH_i8(a, b) \
    CVMGEN_ZIP(i8, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define CVMGEN_LOW_i16(a, b) CVMGEN_ZIP(i16, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define CVMGEN_HIGH_i16(a, b) CVMGEN_ZIP(i16, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define CVMGEN_LOW_i32(a, b) CVMGEN_ZIP(i32, a, b, 0, 4, 1, 5)
#define CVMGEN_HIGH_i32(a, b) CVMGEN_ZIP(i32, a, b, 2, 6, 3, 7)
#define CVMGEN_LOW_i64(a, b) CVMGEN_ZIP(i64, a, b, 0, 2)
#define CVMGEN_HIGH_i64(a, b) CVMGEN_ZIP(i64, a, b, 1, 3)
#else
#define CVMGEN_SQUARE(kind, type, lanes, rounds)                                                \
    CVMGEN_INLINE void cvmgen_square_##kind(char *to, const int64_t *targets, const char *from, \
                                            const int64_t *sources) {                           \
        for (int i = 0; i < lanes; ++i)                                                         \
            for (int j = 0; j < lanes; ++j)                                                     \
                memcpy(to + targets[i] + j * (int64_t)sizeof(type),                             \
                       from + sources[j] + i * (int64_t)sizeof(type), sizeof(type));            \
    }
#endif
CVMGEN_SQUARE(i8, int8_t, 16, 4)
CVMGEN_SQUARE(i16, int16_t, 8, 3)
CVMGEN_SQUARE(i32, int32_t, 4, 2)
CVMGEN_SQUARE(i64, int64_t, 2, 1)

/* cvmgen_lines_*: whole lines on both sides. cvmgen_crowded_lines_*: by way of memory of their own,
   for lines that are a power of 2 apart: they would push each other out of the cache before they
   are complete. */
CVMGEN_INLINE void cvmgen_lines_by(char *to, const int64_t *targets, const char *from,
                                   const int64_t *sources, int64_t bytes, int64_t lanes,
                                   cvmgen_square *square) {
    for (int64_t u = 0; u < CVMGEN_LINE / bytes; u += lanes)
        for (int64_t s = 0; s < CVMGEN_LINE / bytes; s += lanes)
            square(to + u * bytes, targets + s, from + s * bytes, sources + u);
}
CVMGEN_INLINE void cvmgen_crowded_lines_by(char *to, const int64_t *targets, const char *from,
                                           const int64_t *sources, int64_t bytes, int64_t lanes,
                                           cvmgen_square *square) {
    const int64_t side = CVMGEN_LINE / bytes;
    char lines[CVMGEN_LINE * CVMGEN_LINE];
    int64_t places[CVMGEN_LINE];
    for (int64_t i = 0; i < side; ++i) places[i] = i * CVMGEN_LINE;
    cvmgen_lines_by(lines, places, from, sources, bytes, lanes, square);
    for (int64_t i = 0; i < side; ++i) memcpy(to + targets[i], lines + places[i], CVMGEN_LINE);
}
#define CVMGEN_LINES(name, kind, bytes, lanes)                                                    \
    CVMGEN_INLINE void cvmgen_##name##_##kind(char *to, const int64_t *targets, const char *from, \
                                              const int64_t *sources) {                           \
        cvmgen_##name##_by(to, targets, from, sources, bytes, lanes, cvmgen_square_##kind);       \
    }
CVMGEN_LINES(lines, i8, 1, 16)
CVMGEN_LINES(lines, i16, 2, 8)
CVMGEN_LINES(lines, i32, 4, 4)
CVMGEN_LINES(lines, i64, 8, 2)
CVMGEN_LINES(crowded_lines, i8, 1, 16)
CVMGEN_LINES(crowded_lines, i16, 2, 8)
CVMGEN_LINES(crowded_lines, i32, 4, 4)
CVMGEN_LINES(crowded_lines, i64, 8, 2)

/* cvmgen_square_i32_i8, cvmgen_square_i8_i32: squares of bytes that become words, or come from
   words. */
static const int64_t cvmgen_rows_of_16[] = {0,   16,  32,  48,  64,  80,  96,  112,
                                            128, 144, 160, 176, 192, 208, 224, 240};
CVMGEN_INLINE void cvmgen_square_i32_i8(char *to, const int64_t *targets, const char *from,
                                        const int64_t *sources) {
    int8_t bytes[16 * 16];
    int32_t words[16];
    cvmgen_square_i8((char *)bytes, cvmgen_rows_of_16, from, sources);
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) words[j] = bytes[16 * i + j];
        memcpy(to + targets[i], words, sizeof words);
    }
}
CVMGEN_INLINE void cvmgen_square_i8_i32(char *to, const int64_t *targets, const char *from,
                                        const int64_t *sources) {
    int8_t bytes[16 * 16];
    int32_t words[16];
    for (int i = 0; i < 16; ++i) {
        memcpy(words, from + sources[i], sizeof words);
        for (int j = 0; j < 16; ++j) bytes[16 * i + j] = (int8_t)words[j];
    }
    cvmgen_square_i8(to, targets, (const char *)bytes, cvmgen_rows_of_16);
}

/* cvmgen_wide_lines_*: the same where a register holds a line. For each quarter of the rows, the
   squares in the four lanes of 16 bytes are turned, then the lanes of all quarters.
   CVMGEN_NARROW is for tests of what other machines run. */
#if defined(CVMGEN_SHUFFLED) && defined(__x86_64__) && !defined(CVMGEN_NARROW)
#define CVMGEN_WIDE
#define CVMGEN_TEETH_1(a, n) a, a + n
#define CVMGEN_TEETH_2(a, n) CVMGEN_TEETH_1(a, n), CVMGEN_TEETH_1(a + 1, n)
#define CVMGEN_TEETH_4(a, n) CVMGEN_TEETH_2(a, n), CVMGEN_TEETH_2(a + 2, n)
#define CVMGEN_TEETH_8(a, n) CVMGEN_TEETH_4(a, n), CVMGEN_TEETH_4(a + 4, n)
#define CVMGEN_IN_LANES(kind, a, b, first, lanes, teeth)                                  \
    CVMGEN_SHUFFLED(cvmgen_wide_##kind, a, b, teeth(first, 4 * lanes),                    \
                    teeth(first + lanes, 4 * lanes), teeth(first + 2 * lanes, 4 * lanes), \
                    teeth(first + 3 * lanes, 4 * lanes))
typedef int64_t cvmgen_lanes __attribute__((vector_size(CVMGEN_LINE)));
#define CVMGEN_EVEN(a, b) CVMGEN_SHUFFLED(cvmgen_lanes, a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define CVMGEN_ODD(a, b) CVMGEN_SHUFFLED(cvmgen_lanes, a, b, 2, 3, 6, 7, 10, 11, 14, 15)
/* Put lane k of four vectors side by side to targets[k * apart]. */
CVMGEN_INLINE void cvmgen_turn_lanes(char *to, const int64_t *targets, int64_t apart,
                                     const cvmgen_lanes *vectors) {
    const cvmgen_lanes even[] = {CVMGEN_EVEN(vectors[0], vectors[1]),
                                 CVMGEN_EVEN(vectors[2], vectors[3])};
    const cvmgen_lanes odd[] = {CVMGEN_ODD(vectors[0], vectors[1]),
                                CVMGEN_ODD(vectors[2], vectors[3])};
    const cvmgen_lanes turned[] = {CVMGEN_EVEN(even[0], even[1]), CVMGEN_EVEN(odd[0], odd[1]),
                                   CVMGEN_ODD(even[0], even[1]), CVMGEN_ODD(odd[0], odd[1])};
    CVMGEN_UNROLLED
    for (int k = 0; k < 4; ++k) memcpy(to + targets[k * apart], &turned[k], CVMGEN_LINE);
}
#define CVMGEN_WIDE_LINES(kind, type, lanes, rounds, teeth)                                     \
    typedef type cvmgen_wide_##kind __attribute__((vector_size(CVMGEN_LINE)));                  \
    CVMGEN_INLINE void cvmgen_wide_lines_##kind(char *to, const int64_t *targets,               \
                                                const char *from, const int64_t *sources) {     \
        cvmgen_lanes quarters[lanes][4];                                                        \
        CVMGEN_UNROLLED                                                                         \
        for (int quarter = 0; quarter < 4; ++quarter) {                                         \
            cvmgen_wide_##kind rows[lanes], zipped[lanes];                                      \
            CVMGEN_UNROLLED                                                                     \
            for (int i = 0; i < lanes; ++i)                                                     \
                memcpy(&rows[i], from + sources[quarter * lanes + i], CVMGEN_LINE);             \
            CVMGEN_UNROLLED                                                                     \
            for (int round = 0; round < rounds; ++round) {                                      \
                CVMGEN_UNROLLED                                                                 \
                for (int i = 0; i < lanes / 2; ++i) {                                           \
                    const cvmgen_wide_##kind a = rows[i], b = rows[i + lanes / 2];              \
                    zipped[2 * i] = CVMGEN_IN_LANES(kind, a, b, 0, lanes, teeth);               \
                    zipped[2 * i + 1] = CVMGEN_IN_LANES(kind, a, b, lanes / 2, lanes, teeth);   \
                }                                                                               \
                CVMGEN_UNROLLED                                                                 \
                for (int i = 0; i < lanes; ++i) rows[i] = zipped[i];                            \
            }                                                                                   \
            CVMGEN_UNROLLED                                                                     \
            for (int i = 0; i < lanes; ++i) quarters[i][quarter] = (cvmgen_lanes)rows[i];       \
        }                                                                                       \
        CVMGEN_UNROLLED                                                                         \
        for (int i = 0; i < lanes; ++i) cvmgen_turn_lanes(to, targets + i, lanes, quarters[i]); \
    }
CVMGEN_WIDE_LINES(i8, int8_t, 16, 4, CVMGEN_TEETH_8)
CVMGEN_WIDE_LINES(i16, int16_t, 8, 3, CVMGEN_TEETH_4)
CVMGEN_WIDE_LINES(i32, int32_t, 4, 2, CVMGEN_TEETH_2)
CVMGEN_WIDE_LINES(i64, int64_t, 2, 1, CVMGEN_TEETH_1)
#endif
#endif

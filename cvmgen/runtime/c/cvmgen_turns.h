/* Boxes of which the target walks one dimension fastest, the source another one. */
#ifndef CVMGEN_TURNS_H
#define CVMGEN_TURNS_H
#include "cvmgen_runs.h"

/* A dimension of the box: how far apart its entries lie in the target and in the source. */
typedef struct cvmgen_axis { int64_t extent, to, from; } cvmgen_axis;

/* The dimensions in the order of the target, the one that it walks fastest last. */
typedef struct cvmgen_axes {
    int rank;
    cvmgen_axis at[CVMGEN_LIST_CAPACITY];
} cvmgen_axes;

static inline int64_t cvmgen_pieces(int64_t count, int64_t size) {
    return (count + size - 1) / size;
}

#define CVMGEN_LINE 64 /* bytes that caches fetch at once */

/* Whether both sides have elements side by side, along different dimensions. */
bool cvmgen_is_turned(const cvmgen_axes *axes);

/* Move such a box. An element has the given bytes on each side: the same, or 1 and 4. */
void cvmgen_move_turned(char *to, int64_t to_bytes, const char *from, int64_t from_bytes,
                        const cvmgen_axes *axes);

/* Runs of the source side by side: element k of run r, which begins `step` elements behind the one
   before, goes to to[k * lanes + r]. Of fewer runs than lanes, the last is there several times.
   There are at most CVMGEN_MOST_LANES, a multiple of 16; elements have 1, 2, 4 or 8 bytes. */
#define CVMGEN_MOST_LANES 64
void cvmgen_turn_runs(void *to, const void *from, int64_t step, int64_t runs, int64_t count,
                      int64_t lanes, int64_t bytes);
#endif

/* Contractions by the register tile: sums of products of an element of x and one of w.

   Each total belongs to a batch, a row and a column: its elements of x depend on the row and the
   summed indices, those of w on the column and the summed indices, all affinely. The elements of w
   are packed into panels; those of x are staged as bytes, an image of the places that the lines of
   the rows lead to, with all that is summed at one place side by side. A window slides over the
   image: each of its lines is a run of the tile. */
#ifndef CVMGEN_CONTRACT_H
#define CVMGEN_CONTRACT_H
#include "cvmgen_tile.h"

#define CVMGEN_MOST_LOOPS 8

typedef struct cvmgen_contraction {
    int64_t x_start, w_start; /* the elements where all indices are 0 */
    int64_t x_count, w_count; /* elements of the tensors; others are not read */
    int64_t border; /* what x is at places where it has no element, of int8 */
    int64_t zero;   /* what is subtracted from each x, there too */
    int64_t staged; /* 1 where x holds bytes that are 128 above its elements, as those of uint8 */
    /* A block of totals never goes on from one group of so many rows, or columns, to the next. */
    int64_t row_group, column_group;
    /* Where totals are stored as they are, from this element on; NULL where they are not. In a
       group the next row, or column, is the y_step of the last index further. */
    void *y; /* of int32_t */
    int batch_count, line_count, column_count, summed_count;
    struct { int64_t extent, x_step, w_step, y_step; } batches[CVMGEN_MOST_LOOPS];
    /* The indices of a row. The place start + step * index + tap_step * summed[tap], in steps of
       x_step elements, is one of 0..places-1, or there is none; tap is -1 where no summed index
       moves the place, and the element at place `start` is at x_start. */
    struct {
        int64_t extent, step;
        int64_t tap, tap_step;
        int64_t start, places, x_step, y_step;
    } lines[CVMGEN_MOST_LOOPS];
    struct { int64_t extent, w_step, y_step; } columns[CVMGEN_MOST_LOOPS];
    struct { int64_t extent, x_step, w_step; } summed[CVMGEN_MOST_LOOPS]; /* taps have no x_step */
} cvmgen_contraction;

/* The totals of rows row..row+rows-1 and columns column..column+columns-1 of a batch; each is a
   position among all lines, columns or batches, the last index fastest. Total (r, c) of them is
   totals[r * step + c], or totals[c * step + r] where the contraction is turned. */
typedef struct cvmgen_totals {
    int64_t batch, row, rows, column, columns;
    const int32_t *totals;
    int64_t step;
} cvmgen_totals;
/* What becomes of totals that are not stored as they are: `call` is whatever the caller of
   cvmgen_contract() gave. Blocks come from several threads, in any order, each once. */
typedef void cvmgen_take_totals(const void *call, const cvmgen_totals *block);

/* Memory that contractions of one shape use one after the other, or `list`, that of a list or a
   table. With `keeps_w`, w is the same in all of them and packed by the first. All 0 at first. */
typedef struct cvmgen_workspace {
    struct { void *memory; int64_t bytes; } plan, image, panels, tables, narrow, list;
    bool keeps_w, packed;
} cvmgen_workspace;

/* A tensor of int8, or of int32. */
typedef struct cvmgen_factor {
    const void *data;
    bool wide;
} cvmgen_factor;

/* Sums of so many products of int8 fit int32. */
#define CVMGEN_EXACT_DEPTH ((INT64_C(1) << 17) - 1)
/* As many do where `zero` is subtracted from one of the factors: each product is at most
   (128 + |zero|) * 128, and all of them are to be below 2^31. -1 where tiles cannot take `zero` at
   all, not even for sums of nothing. */
static inline int64_t cvmgen_exact_depth_above(int64_t zero) {
    const int64_t most = INT64_C(1) << 24;
    return -most < zero && zero < most ? (most - 1) / (128 + (zero < 0 ? -zero : zero)) : -1;
}

/* Whether it is worth a try to read the elements as int8. */
static inline bool cvmgen_may_be_int8(const cvmgen_tensor *tensor) {
    return tensor->dtype == CVMGEN_INT8 || tensor->precision <= 8;
}

#ifdef __cplusplus
extern "C" {
#endif
/* Compute all totals, each modulo 2^32, and store them or give them to `take`. Returns false,
   having done nothing, where tiles do not pay, an element of int32 does not fit int8, or there is
   no memory: the nest is to be run as the formula says it. `workspace` may be NULL. */
bool cvmgen_contract(const cvmgen_contraction *contraction, cvmgen_factor x, cvmgen_factor w,
                     bool turned, cvmgen_take_totals *take, const void *call,
                     cvmgen_workspace *workspace);
void cvmgen_free_workspace(cvmgen_workspace *workspace);
#ifdef __cplusplus
}
#endif
#endif

/* Sums of products of real numbers: blocks that stay in the first cache, and registers for the
   sums. */
#include "cvmgen_products.h"
#include "cvmgen_tile_variants.h"
#include "cvmgen_turns.h"

/* A panel has of each term the elements of COLUMNS columns; so many terms of a block are taken at a
   time that they stay in the cache. */
enum { PIECE = 64, STEP = 8 };

/* ---------------------------------------------------------------- variants */

/* The product of two numbers of 24 bits has 48 and is a number of 64 bits, whatever their
   exponents: rounding it changes nothing, and an instruction that does not may take it. */
#ifdef CVMGEN_X86
#include <immintrin.h>

typedef double cvmgen_doubles_8 __attribute__((vector_size(64)));
typedef double cvmgen_place_8 __attribute__((vector_size(64), aligned(8)));
#define BLOCK(name) name##_avx512
#define TARGET CVMGEN_TARGET("avx512f")
#define VECTOR cvmgen_doubles_8
#define PLACE cvmgen_place_8
#define LANES 8
#define ROWS 8
#define EACH(value) ((VECTOR)_mm512_set1_pd(value))
#define ADD_PRODUCT(sum, a, b, exact) \
    ((exact) ? (VECTOR)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(sum)) \
             : (sum) + (a) * (b))
#include "cvmgen_products_panel.h"

typedef double cvmgen_doubles_4 __attribute__((vector_size(32)));
typedef double cvmgen_place_4 __attribute__((vector_size(32), aligned(8)));
#define BLOCK(name) name##_avx2
#define TARGET CVMGEN_TARGET("avx2")
#define VECTOR cvmgen_doubles_4
#define PLACE cvmgen_place_4
#define LANES 4
#define ROWS 2
#define EACH(value) ((VECTOR)_mm256_set1_pd(value))
#define ADD_PRODUCT(sum, a, b, exact) ((void)(exact), (sum) + (a) * (b))
#include "cvmgen_products_panel.h"
#endif

#ifdef __GNUC__
typedef double cvmgen_doubles_2 __attribute__((vector_size(16)));
typedef double cvmgen_place_2 __attribute__((vector_size(16), aligned(8)));
#define LANES 2
#define EACH(value) ((cvmgen_doubles_2){value, value})
#else
typedef double cvmgen_doubles_2, cvmgen_place_2;
#define LANES 1
#define EACH(value) (value)
#endif
#define BLOCK(name) name##_plain
#define TARGET
#define VECTOR cvmgen_doubles_2
#define PLACE cvmgen_place_2
#define ROWS 1
#define ADD_PRODUCT(sum, a, b, exact) ((void)(exact), (sum) + (a) * (b))
#include "cvmgen_products_panel.h"

/* Add to totals of some rows and of a panel the products of so many terms. */
typedef void add_panel(double *totals, const double *x, int64_t rows, const double *panel,
                       int64_t terms, bool exact);
/* By the instructions of the variant of the register tile that is in use, whose name has theirs. */
static add_panel *adder(void) {
#ifdef CVMGEN_X86
    const char *const name = cvmgen_variant();
    if (strstr(name, "avx512") != NULL) return add_avx512;
    if (strstr(name, "avx2") != NULL) return add_avx2;
#endif
    return add_plain;
}

/* ---------------------------------------------------------------- blocks */

static double element(const cvmgen_lines *from, int64_t at) {
    return from->wide ? ((const double *)from->data)[at] : (double)((const float *)from->data)[at];
}
CVMGEN_FOR_AVX512
static void widen_run(double *restrict to, const float *restrict from, int64_t count) {
    for (int64_t k = 0; k < count; ++k) to[k] = (double)from[k];
}
/* `count` elements, `step` of them apart, as numbers of 64 bits. */
static void widen(double *restrict to, const cvmgen_lines *from, int64_t at, int64_t step,
                  int64_t count) {
    if (step != 1) {
        for (int64_t k = 0; k < count; ++k) to[k] = element(from, at + k * step);
    } else if (from->wide) {
        memcpy(to, (const double *)from->data + at, (size_t)count * sizeof *to);
    } else {
        widen_run(to, (const float *)from->data + at, count);
    }
}
/* So many terms of a panel, from one of its columns on. */
static void pack_panel(double *to, const cvmgen_lines *w, int64_t at, int64_t columns,
                       int64_t terms) {
    float narrow[COLUMNS * PIECE];
    if (w->term == 1 && w->wide) {
        cvmgen_turn_runs(to, (const double *)w->data + at, w->line, columns, terms, COLUMNS, 8);
    } else if (w->term == 1) {
        cvmgen_turn_runs(narrow, (const float *)w->data + at, w->line, columns, terms, COLUMNS, 4);
        widen_run(to, narrow, COLUMNS * terms);
    } else {
        for (int64_t k = 0; k < terms; ++k, to += COLUMNS) {
            widen(to, w, at + k * w->term, w->line, columns);
            for (int64_t c = columns; c < COLUMNS; ++c) to[c] = 0.0;
        }
    }
}

/* How many of `terms` terms from `first` on a row has. */
static int64_t terms_of(int64_t depth, int64_t first, int64_t terms) {
    return depth < first ? 0 : depth - first < terms ? depth - first : terms;
}

void cvmgen_add_products(double *totals, cvmgen_lines x, int64_t rows, cvmgen_lines w,
                         int64_t columns, int64_t depth, int64_t longer) {
    double rows_of_x[CVMGEN_PRODUCT_ROWS * PIECE], panel[COLUMNS * PIECE];
    const int64_t last = depth + (rows - 1) * longer, most = last > depth ? last : depth;
    add_panel *const add = adder();
    const bool exact = !x.wide && !w.wide;
    for (int64_t first = 0; first < most; first += PIECE) {
        const int64_t terms = terms_of(most, first, PIECE);
        for (int64_t r = 0; r < rows; ++r)
            widen(rows_of_x + r * PIECE, &x, r * x.line + first * x.term, x.term,
                  terms_of(depth + r * longer, first, terms));
        for (int64_t c = 0; c < columns; c += COLUMNS) {
            const int64_t some = columns - c < COLUMNS ? columns - c : COLUMNS;
            pack_panel(panel, &w, c * w.line + first * w.term, some, terms);
            for (int64_t r = 0, together; r < rows; r += together) {
                /* Rows that have as many terms, or terms that all of some rows have, and the
                   others. */
                together = longer == 0 ? rows : rows - r < STEP ? rows - r : STEP;
                const int64_t one = terms_of(depth + r * longer, first, terms);
                const int64_t other = terms_of(depth + (r + together - 1) * longer, first, terms);
                const int64_t shared = one < other ? one : other;
                double *const to = totals + r * CVMGEN_PRODUCT_COLUMNS + c;
                const double *const from = rows_of_x + r * PIECE;
                add(to, from, together, panel, shared, exact);
                for (int64_t i = 0; i < together && one != other; ++i)
                    add(to + i * CVMGEN_PRODUCT_COLUMNS, from + i * PIECE + shared, 1,
                        panel + COLUMNS * shared,
                        terms_of(depth + (r + i) * longer, first, terms) - shared, exact);
            }
        }
    }
}

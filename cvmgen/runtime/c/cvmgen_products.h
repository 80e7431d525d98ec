/* Sums of products of real numbers: each in its order, many of them side by side. */
#ifndef CVMGEN_PRODUCTS_H
#define CVMGEN_PRODUCTS_H
#include <stdbool.h>
#include <stdint.h>

/* Elements of float32 or, if they are wide, of float64: from one line to the next it is `line`
   elements, from one term of a sum to the next `term`. */
typedef struct cvmgen_lines {
    const void *data;
    bool wide;
    int64_t line, term;
} cvmgen_lines;

enum { CVMGEN_PRODUCT_ROWS = 64, CVMGEN_PRODUCT_COLUMNS = 32 };

/* totals[r * CVMGEN_PRODUCT_COLUMNS + c] += x[r][k] * w[c][k] for 0 <= k < depth + r * longer, one
   k after the other: each product is rounded, and each sum. There are at most CVMGEN_PRODUCT_ROWS
   rows and CVMGEN_PRODUCT_COLUMNS columns; totals of columns that are not there become anything. No
   other element is read. */
void cvmgen_add_products(double *totals, cvmgen_lines x, int64_t rows, cvmgen_lines w,
                         int64_t columns, int64_t depth, int64_t longer);

#endif

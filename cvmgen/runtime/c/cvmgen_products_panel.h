/* The sums of a panel, for one instruction set.

   Where this is included, BLOCK(name) makes names of its own, TARGET says for which instructions
   functions are compiled, VECTOR is one of LANES numbers, PLACE one in memory, ROWS rows of a panel
   fill registers and ADD_PRODUCT(sum, a, b, exact) is sum + a * b, both rounded unless the product
   is exact. */
TARGET CVMGEN_INLINE void BLOCK(rows)(double *totals, const double *x, const double *panel,
                                      int64_t terms, const int rows, const bool exact) {
    VECTOR sums[ROWS][COLUMNS / LANES];
    CVMGEN_UNROLL
    for (int r = 0; r < rows; ++r)
        CVMGEN_UNROLL
        for (int v = 0; v < COLUMNS / LANES; ++v)
            sums[r][v] = *(const PLACE *)(totals + r * CVMGEN_PRODUCT_COLUMNS + v * LANES);
    for (int64_t k = 0; k < terms; ++k, ++x, panel += COLUMNS) {
        VECTOR w[COLUMNS / LANES];
        CVMGEN_UNROLL
        for (int v = 0; v < COLUMNS / LANES; ++v) w[v] = *(const PLACE *)(panel + v * LANES);
        CVMGEN_UNROLL
        for (int r = 0; r < rows; ++r) {
            const VECTOR each = EACH(x[r * PIECE]);
            CVMGEN_UNROLL
            for (int v = 0; v < COLUMNS / LANES; ++v)
                sums[r][v] = ADD_PRODUCT(sums[r][v], each, w[v], exact);
        }
    }
    CVMGEN_UNROLL
    for (int r = 0; r < rows; ++r)
        CVMGEN_UNROLL
        for (int v = 0; v < COLUMNS / LANES; ++v)
            *(PLACE *)(totals + r * CVMGEN_PRODUCT_COLUMNS + v * LANES) = sums[r][v];
}
TARGET CVMGEN_INLINE void BLOCK(all)(double *totals, const double *x, int64_t rows,
                                     const double *panel, int64_t terms, const bool exact) {
    for (; rows >= ROWS; rows -= ROWS) {
        BLOCK(rows)(totals, x, panel, terms, ROWS, exact);
        totals += ROWS * CVMGEN_PRODUCT_COLUMNS;
        x += ROWS * PIECE;
    }
    for (; rows > 0; --rows) {
        BLOCK(rows)(totals, x, panel, terms, 1, exact);
        totals += CVMGEN_PRODUCT_COLUMNS;
        x += PIECE;
    }
}
TARGET static void BLOCK(add)(double *totals, const double *x, int64_t rows,
                              const double *panel, int64_t terms, bool exact) {
    if (exact)
        BLOCK(all)(totals, x, rows, panel, terms, true);
    else
        BLOCK(all)(totals, x, rows, panel, terms, false);
}
#undef BLOCK
#undef TARGET
#undef VECTOR
#undef PLACE
#undef LANES
#undef ROWS
#undef EACH
#undef ADD_PRODUCT

/* The body of the register tile in plain C, for one instruction set.

   Where this is included, GENERIC(name) makes names of its own, TARGET says for which instructions
   functions are compiled, X_NUMBER and W_NUMBER hold bytes of rows and of columns. */

/* Bytes first..first+count-1 of a row, run after run, and zeros up to a whole STEP. */
CVMGEN_INLINE void GENERIC(lay_row)(X_NUMBER *restrict to, const cvmgen_tile *tile, int64_t row,
                                    int64_t first, int64_t count) {
    const int64_t length = 4 * tile->run_quads;
    int64_t run = first / length, within = first % length, end;
    for (int64_t at = 0; at < count; at = end, within = 0, ++run) {
        const uint8_t *const from = tile->x + tile->rows[row] + tile->runs[run] + within - at;
        end = cvmgen_min_i64(at + length - within, count);
        for (int64_t k = at; k < end; ++k) to[k] = (X_NUMBER)from[k];
    }
    for (int64_t k = count; k % STEP != 0; ++k) to[k] = 0;
}

/* `count` bytes of each column of a panel, from one of its quads on, and zeros up to a whole
   STEP. */
CVMGEN_INLINE void GENERIC(lay_columns)(W_NUMBER *restrict to, const int8_t *restrict quad,
                                        int64_t count) {
    for (int64_t at = 0; at < count; at += 4, quad += 4 * COLUMNS)
        for (int64_t c = 0; c < COLUMNS; ++c)
            for (int64_t k = 0; k < 4; ++k) to[c * DEPTH + at + k] = (W_NUMBER)quad[4 * c + k];
    for (int64_t k = count; k % STEP != 0; ++k)
        for (int64_t c = 0; c < COLUMNS; ++c) to[c * DEPTH + k] = 0;
}

/* Add the products of `rows` rows and BLOCK columns. Each of these sums is a loop over neighbours,
   for which compilers know what multiplies and adds many at once. */
CVMGEN_INLINE void GENERIC(add_block)(const X_NUMBER *restrict x, const W_NUMBER *restrict w,
                                      int64_t count, uint32_t *to, int64_t row_step,
                                      int64_t column_step, const int rows) {
    const int64_t end = (count + STEP - 1) / STEP * STEP;
    int32_t sums[BLOCK][BLOCK] = {{0}};
    for (int64_t k = 0; k < end; ++k) {
        CVMGEN_UNROLL
        for (int r = 0; r < rows; ++r)
            CVMGEN_UNROLL
            for (int c = 0; c < BLOCK; ++c) sums[r][c] += x[r * DEPTH + k] * w[c * DEPTH + k];
    }
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < BLOCK; ++c) to[r * row_step + c * column_step] += (uint32_t)sums[r][c];
}

TARGET static void GENERIC(run)(const cvmgen_tile *tile) {
    _Alignas(STEP) X_NUMBER x[BLOCK * DEPTH];
    _Alignas(STEP) W_NUMBER w[COLUMNS * DEPTH];
    const int64_t depth = 4 * tile->run_count * tile->run_quads;
    const int64_t row_step = tile->turned ? 1 : tile->step;
    const int64_t column_step = tile->turned ? tile->step : 1;
    for (int64_t p = 0; p < tile->panel_count; ++p) {
        const int8_t *const panel = tile->panels + p * cvmgen_panel_bytes(depth / 4);
        uint32_t *const totals = (uint32_t *)tile->totals + p * COLUMNS * column_step;
        begin_totals(tile, panel, totals, row_step, column_step);
        for (int64_t first = 0, count; first < depth; first += count) {
            count = cvmgen_min_i64(DEPTH, depth - first);
            GENERIC(lay_columns)(w, panel + COLUMNS * (4 + first), count);
            for (int64_t row = 0, rows; row < tile->row_count; row += rows) {
                uint32_t *const to = totals + row * row_step;
                rows = tile->row_count - row < BLOCK ? 1 : BLOCK;
                for (int64_t r = 0; r < rows; ++r)
                    GENERIC(lay_row)(x + r * DEPTH, tile, row + r, first, count);
                for (int64_t c = 0; c < COLUMNS; c += BLOCK)
                    if (rows == BLOCK)
                        GENERIC(add_block)(x, w + c * DEPTH, count, to + c * column_step, row_step,
                                           column_step, BLOCK);
                    else
                        GENERIC(add_block)(x, w + c * DEPTH, count, to + c * column_step, row_step,
                                           column_step, 1);
            }
        }
    }
}
#undef GENERIC
#undef TARGET
#undef X_NUMBER
#undef W_NUMBER

/* Every variant of the register tile that this processor has against its definition: prints the
   name of each, and fails at the first total that differs. */
#include "cvmgen_tile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t state = 1;
static int64_t below(int64_t end) {
    state = state * 1664525 + 1013904223;
    return (int64_t)(state >> 8) % end;
}

static int differs(const cvmgen_tile *tile, int64_t size) {
    const int64_t rows = tile->row_count, columns = 16 * tile->panel_count;
    const int64_t lines = tile->turned ? columns : rows, wide = tile->turned ? rows : columns;
    for (int64_t line = 0; line < lines; ++line)
        for (int64_t at = 0; at < tile->step; ++at) {
            const int64_t r = tile->turned ? at : line, c = tile->turned ? line : at;
            const int32_t found = tile->totals[line * tile->step + at];
            const int8_t *w = tile->panels + c / 16 * size + 64 + c % 16 * 4;
            uint32_t wanted = 0;
            if (at >= wide) {
                if (found != -1) return 1; /* written beyond the block */
                continue;
            }
            for (int64_t run = 0; run < tile->run_count; ++run)
                for (int64_t k = 0; k < 4 * tile->run_quads; ++k) {
                    if (k > 0 && k % 4 == 0) w += 64;
                    const uint8_t x = tile->x[tile->rows[r] + tile->runs[run] + k];
                    const int32_t element = tile->elements ? (int8_t)x : x - 128;
                    wanted += (uint32_t)(element - tile->zero) * (uint32_t)w[k % 4];
                    if (k + 1 == 4 * tile->run_quads) w += 64;
                }
            if (found != (int32_t)wanted) return 1;
        }
    return 0;
}

/* A tile of random size with the largest and smallest elements among random ones. */
static int tries(void) {
    int64_t rows[40], runs[9];
    const int64_t row_count = 1 + below(40), panel_count = 1 + below(9);
    const int64_t run_quads = 1 + below(below(16) ? 12 : 80), run_count = 1 + below(9);
    const int64_t length = 256 + 4 * run_quads, apart = below(2) ? 1 + below(3) : 0;
    const int64_t size = cvmgen_panel_bytes(run_count * run_quads);
    const bool turned = below(2);
    const int64_t step = (turned ? row_count : 16 * panel_count) + below(5);
    const int64_t lines = turned ? 16 * panel_count : row_count;
    uint8_t *x = malloc((size_t)length);
    int8_t *panels = aligned_alloc(64, (size_t)(panel_count * size));
    int32_t *totals = malloc((size_t)(lines * step) * sizeof *totals);
    int bad;
    for (int64_t i = 0; i < length; ++i) x[i] = (uint8_t)(below(4) ? below(256) : below(2) * 255);
    for (int64_t i = 0; i < row_count; ++i) rows[i] = apart ? i * apart : below(129);
    for (int64_t i = 0; i < run_count; ++i) runs[i] = below(129);
    for (int64_t i = 0; i < panel_count * size; ++i)
        panels[i] = (int8_t)(below(4) ? below(256) - 128 : below(2) * 255 - 128);
    for (int64_t p = 0; p < panel_count; ++p)
        for (int64_t c = 0; c < 16; ++c) {
            int32_t sum = 0;
            for (int64_t at = 64 + 4 * c; at < size; at += 64)
                for (int64_t k = 0; k < 4; ++k) sum += panels[p * size + at + k];
            for (int64_t k = 0; k < 4; ++k) /* the lowest byte first */
                panels[p * size + 4 * c + k] = (int8_t)((uint32_t)sum >> 8 * k);
        }
    const int64_t zeros[] = {0, -128, 127, 255, (1 << 24) - 1, 1 - (1 << 24), below(256) - 128};
    memset(totals, 255, (size_t)(lines * step) * sizeof *totals);
    const cvmgen_tile tile = {x,      rows, runs,      run_count,   run_quads, panels,
                              totals, step, row_count, panel_count, (int32_t)zeros[below(7)],
                              turned, cvmgen_takes_elements(false) && below(2)};
    cvmgen_run_tile(&tile);
    bad = differs(&tile, size);
    free(x);
    free(panels);
    free(totals);
    return bad;
}

static int turns(void) {
    const int64_t rows = 1 + below(50), columns = 1 + below(50);
    const int64_t from_step = columns + below(3), to_step = rows + below(3);
    int8_t *from = malloc((size_t)(rows * from_step));
    uint8_t *to = calloc((size_t)(columns * to_step), 1);
    int bad = 0;
    for (int64_t i = 0; i < rows * from_step; ++i) from[i] = (int8_t)(1 + below(100));
    cvmgen_turn_bytes(to, to_step, from, from_step, rows, columns, 0x80);
    for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < to_step; ++i)
            bad |= to[j * to_step + i] != (i < rows ? from[i * from_step + j] + 128 : 0);
    free(from);
    free(to);
    return bad;
}

static int narrows(void) {
    enum { COUNT = 9000 };
    static int32_t from[COUNT];
    static int8_t to[COUNT];
    static const int32_t beyond[] = {128, -129, INT32_MAX, INT32_MIN, 256, -256};
    int bad = 0;
    for (int i = 0; i < COUNT; ++i) from[i] = (int32_t)below(256) - 128;
    bad |= !cvmgen_narrow_run(to, from, COUNT);
    for (int i = 0; i < COUNT; ++i) bad |= to[i] != from[i];
    for (int i = 0; i < 6; ++i) {
        const int64_t at = below(COUNT);
        const int32_t kept = from[at];
        from[at] = beyond[i];
        bad |= cvmgen_narrow_run(to, from, COUNT);
        from[at] = kept;
    }
    return bad;
}

int main(void) {
    const char *name;
    if (cvmgen_use_variant("none such") != CVMGEN_REFUSED || turns() || narrows()) return 1;
    for (int number = 0; (name = cvmgen_variant_name(number)) != NULL; ++number) {
        if (cvmgen_use_variant(name) || strcmp(name, cvmgen_variant()) != 0) return 2;
        for (int i = 0; i < 400; ++i)
            if (tries() || turns()) return 3;
        puts(name);
    }
    return 0;
}

/* Which variant of the register tile runs, and the blocks that most of them make. */
#include "cvmgen_tile_variants.h"
#include <stdlib.h>

/* ---------------------------------------------------------------- choice */

static const cvmgen_variant_row *const tables[] = {cvmgen_x86_variants, cvmgen_arm_variants,
                                                   cvmgen_generic_variants};

/* The variant behind `before` among those that the processor has; the first for NULL. */
static const cvmgen_variant_row *next_variant(const cvmgen_variant_row *before) {
    bool behind = before == NULL;
    for (size_t table = 0; table < sizeof tables / sizeof *tables; ++table)
        for (const cvmgen_variant_row *row = tables[table]; row->name != NULL; ++row) {
            if (behind && row->there()) return row;
            behind = behind || row == before;
        }
    return NULL;
}
/* The first whose name begins so; the best for NULL. */
static const cvmgen_variant_row *find_variant(const char *name) {
    const cvmgen_variant_row *row = next_variant(NULL);
    while (name != NULL && row != NULL && strncmp(row->name, name, strlen(name)) != 0)
        row = next_variant(row);
    return row;
}

static const cvmgen_variant_row *volatile chosen; /* whoever comes first chooses the same */

static const cvmgen_variant_row *current_variant(void) {
    if (chosen == NULL) {
        const cvmgen_variant_row *const named = find_variant(getenv("CVMGEN_VARIANT"));
        chosen = named != NULL ? named : find_variant(NULL);
    }
    return chosen;
}
const char *cvmgen_variant(void) { return current_variant()->name; }
const char *cvmgen_variant_name(int number) {
    const cvmgen_variant_row *row = next_variant(NULL);
    while (row != NULL && number-- > 0) row = next_variant(row);
    return row == NULL ? NULL : row->name;
}
int cvmgen_use_variant(const char *name) {
    const cvmgen_variant_row *const found = find_variant(name);
    if (found == NULL) return CVMGEN_REFUSED;
    chosen = found;
    return CVMGEN_OK;
}
bool cvmgen_takes_elements(bool as_fast) {
    return current_variant()->elements >= (as_fast ? CVMGEN_AS_FAST : CVMGEN_SLOWER);
}
void cvmgen_run_tile(const cvmgen_tile *tile) {
    const cvmgen_variant_row *row = current_variant();
    /* Another thread has just chosen another variant. */
    if (tile->elements && row->elements == CVMGEN_NOT_TAKEN) {
        row = next_variant(NULL);
        while (row->elements == CVMGEN_NOT_TAKEN) row = next_variant(row);
    }
    row->run(tile);
}

/* ---------------------------------------------------------------- blocks */

void cvmgen_run_blocks(const cvmgen_tile *tile, const cvmgen_blocks *blocks) {
    const int64_t size = cvmgen_panel_bytes(tile->run_count * tile->run_quads);
    const int64_t most = tile->turned ? COLUMNS : tile->row_count; /* rows at a time */
    int32_t square[COLUMNS * 4 * COLUMNS];
    for (int64_t panel = 0, panels; panel < tile->panel_count; panel += panels) {
        const int64_t left = tile->panel_count - panel;
        const int8_t *const first = tile->panels + panel * size;
        cvmgen_block *block = blocks->one;
        panels = 1;
        if (blocks->single != NULL && tile->row_count == 1) {
            block = blocks->single;
        } else if (blocks->four != NULL && tile->row_count <= FEW_ROWS && left >= 4) {
            block = blocks->four;
            panels = 4;
        } else if (blocks->two != NULL && left >= 2) {
            block = blocks->two;
            panels = 2;
        }
        for (int64_t row = 0; row < tile->row_count; row += most) {
            const int64_t rows = cvmgen_min_i64(most, tile->row_count - row);
            if (!tile->turned) {
                block(tile, row, rows, first, tile->totals + panel * COLUMNS, tile->step);
                continue;
            }
            block(tile, row, rows, first, square, panels * COLUMNS);
            for (int64_t p = 0; p < panels; ++p)
                blocks->turn(tile->totals + (panel + p) * COLUMNS * tile->step + row, tile->step,
                             square + p * COLUMNS, panels * COLUMNS, rows);
        }
    }
}

/* Columns of a contraction, packed in panels. */
#include "cvmgen_geometry.h"
#include "cvmgen_runtime.h"
#include "cvmgen_threads.h"

enum { LEAST_SHARED = 1 << 16 }; /* bytes of panels that are worth several threads */

/* Where the elements of a column stand, k for k; -1 for what fills the last quad of a run. */
static void find_places(const cvmgen_geometry *g, int64_t *places) {
    const cvmgen_contraction *const given = g->given;
    const int last = given->line_count - 1;
    const int64_t along = g->joined ? cvmgen_taps(given, last) : 1;
    for (int64_t run = 0; run < g->run_count; ++run) {
        int64_t start = 0, rest = run;
        for (int line = last - g->joined; line >= 0; --line) {
            const int64_t taps = cvmgen_taps(given, line);
            if (taps > 1) start += rest % taps * given->summed[given->lines[line].tap].w_step;
            rest /= taps;
        }
        for (int64_t at = 0; at < 4 * g->run_quads; ++at, ++places) {
            int64_t place = start;
            rest = at % g->channels;
            if (at >= along * g->channels) {
                *places = -1;
                continue;
            }
            if (g->joined) place += at / g->channels * given->summed[given->lines[last].tap].w_step;
            for (int i = given->summed_count - 1; i >= 0; --i)
                if (!cvmgen_is_tap(given, i)) {
                    place += rest % given->summed[i].extent * given->summed[i].w_step;
                    rest /= given->summed[i].extent;
                }
            *places = place;
        }
    }
}

static int64_t column_start(const cvmgen_contraction *given, int64_t column) {
    int64_t start = 0;
    for (int i = given->column_count - 1; i >= 0; --i) {
        start += column % given->columns[i].extent * given->columns[i].w_step;
        column /= given->columns[i].extent;
    }
    return start;
}

int64_t cvmgen_w_batch(const cvmgen_contraction *given, int64_t batch, int64_t *start) {
    int64_t set = 0, sets = 1;
    *start = given->w_start;
    for (int i = given->batch_count - 1; i >= 0; --i) {
        const int64_t extent = given->batches[i].extent, index = batch % extent;
        batch /= extent;
        if (given->batches[i].w_step == 0) continue;
        *start += index * given->batches[i].w_step;
        set += index * sets;
        sets *= extent;
    }
    return set;
}

/* Whether the elements of each run follow each other in memory. */
static bool side_by_side(const cvmgen_geometry *g, const int64_t *places) {
    const int64_t length = 4 * g->run_quads;
    for (int64_t k = 0; k < g->run_count * length; ++k)
        if (places[k] < 0 || (k % length > 0 && places[k] != places[k - 1] + 1)) return false;
    return true;
}

static void pack_panel(const cvmgen_geometry *g, int8_t *panel, const int8_t *w, int64_t first,
                       const int64_t *places, bool in_runs) {
    const int64_t quads = g->run_count * g->run_quads;
    const int64_t count = cvmgen_min_i64(CVMGEN_TILE_COLUMNS, g->columns - first);
    int8_t *const start = panel + 4 * CVMGEN_TILE_COLUMNS;
    if (in_runs && count == CVMGEN_TILE_COLUMNS && g->given->column_count == 1) {
        const int8_t *const column = w + column_start(g->given, first);
        for (int64_t run = 0; run < g->run_count; ++run) {
            const int64_t at = 4 * run * g->run_quads;
            cvmgen_pack_quads(start + at * CVMGEN_TILE_COLUMNS, column + places[at],
                              g->given->columns[0].w_step, g->run_quads);
        }
        cvmgen_sum_panel(panel, quads);
        return;
    }
    memset(panel, 0, (size_t)cvmgen_panel_bytes(quads));
    for (int64_t c = 0; c < count; ++c) {
        const int8_t *const column = w + column_start(g->given, first + c);
        int8_t *to = start + 4 * c;
        for (int64_t quad = 0; quad < quads; ++quad, to += 4 * CVMGEN_TILE_COLUMNS)
            for (int64_t k = 0; k < 4; ++k) {
                const int64_t place = places[4 * quad + k];
                if (place >= 0) to[k] = column[place];
            }
    }
    cvmgen_sum_panel(panel, quads);
}

/* The panels of one batch. */
typedef struct packing {
    const cvmgen_geometry *g;
    int8_t *panels;
    const int8_t *w;
    const int64_t *places;
    bool in_runs;
} packing;

static void pack_some(const void *context, int64_t low, int64_t high) {
    const packing *const todo = context;
    for (int64_t panel = low; panel < high; ++panel)
        pack_panel(todo->g, todo->panels + panel * todo->g->panel_bytes, todo->w,
                   panel * CVMGEN_TILE_COLUMNS, todo->places, todo->in_runs);
}

void cvmgen_pack_panels(const cvmgen_geometry *g, int8_t *panels, const int8_t *w,
                        int64_t *places) {
    find_places(g, places);
    packing todo = {.g = g, .places = places, .in_runs = side_by_side(g, places)};
    for (int64_t batch = 0, done = 0; batch < g->batches && done < g->w_batches; ++batch) {
        int64_t start;
        if (cvmgen_w_batch(g->given, batch, &start) != done) continue;
        todo.panels = panels + done++ * g->panels_bytes;
        todo.w = w + start;
        cvmgen_share(g->panels, g->panels_bytes > LEAST_SHARED, pack_some, &todo);
    }
}

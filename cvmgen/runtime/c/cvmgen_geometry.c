/* Contractions as rows, panels and runs. */
#include "cvmgen_geometry.h"
#include "cvmgen_runtime.h"

enum {
    LEAST_DEPTH = 4,   /* fewer products to a total do not fill a quad */
    LEAST_COLUMNS = 4, /* fewer fill too little of a panel */
    LEAST_USES = 8,    /* a panel for fewer rows costs more to pack than its products */
};
static const int64_t MOST_BYTES = INT64_C(1) << 31; /* of an image, or of panels */

static int64_t product_of(const int64_t *extents, int count) {
    int64_t product = 1;
    for (int i = 0; i < count; ++i) product = cvmgen_saturating_mul(product, extents[i]);
    return product;
}
/* Whether the elements from `low` to `high` more than `start` are among `count`. */
static bool inside(int64_t start, int64_t low, int64_t high, int64_t count) {
    return cvmgen_saturating_add(start, low) >= 0 && cvmgen_saturating_add(start, high) < count;
}
/* Widen low..high by what an index adds. */
static void reach(int64_t extent, int64_t step, int64_t *low, int64_t *high) {
    const int64_t far = cvmgen_saturating_mul(extent - 1, step);
    *(far < 0 ? low : high) = cvmgen_saturating_add(*(far < 0 ? low : high), far);
}
static bool all_inside(const cvmgen_contraction *given) {
    int64_t x_low = 0, x_high = 0, w_low = 0, w_high = 0;
    for (int i = 0; i < given->batch_count; ++i) {
        reach(given->batches[i].extent, given->batches[i].x_step, &x_low, &x_high);
        reach(given->batches[i].extent, given->batches[i].w_step, &w_low, &w_high);
    }
    for (int i = 0; i < given->column_count; ++i)
        reach(given->columns[i].extent, given->columns[i].w_step, &w_low, &w_high);
    for (int i = 0; i < given->summed_count; ++i) {
        reach(given->summed[i].extent, given->summed[i].w_step, &w_low, &w_high);
        if (!cvmgen_is_tap(given, i))
            reach(given->summed[i].extent, given->summed[i].x_step, &x_low, &x_high);
    }
    for (int i = 0; i < given->line_count; ++i) {
        /* Of the places that the image has, those of the tensor, counted from `start`. */
        const int64_t start = given->lines[i].start, taps = cvmgen_taps(given, i);
        const int64_t last = cvmgen_saturating_add(
            cvmgen_saturating_mul(given->lines[i].extent - 1, given->lines[i].step),
            cvmgen_saturating_mul(taps - 1, given->lines[i].tap_step));
        const int64_t first = cvmgen_max_i64(0, -start);
        const int64_t end = cvmgen_min_i64(last, given->lines[i].places - 1 - start);
        int64_t low = 0, high = 0;
        if (end < first) continue;
        reach(end + 1, given->lines[i].x_step, &low, &high);
        x_high = cvmgen_saturating_add(x_high, high);
        x_low = cvmgen_saturating_add(x_low, low);
        if (first > 0) { /* the nearest place that is there */
            const int64_t skipped = cvmgen_saturating_mul(first, given->lines[i].x_step);
            if (skipped > 0)
                x_low = cvmgen_saturating_add(x_low, skipped);
            else
                x_high = cvmgen_saturating_add(x_high, skipped);
        }
    }
    return inside(given->x_start, x_low, x_high, given->x_count) &&
           inside(given->w_start, w_low, w_high, given->w_count);
}

static bool counted(cvmgen_geometry *g) {
    const cvmgen_contraction *const given = g->given;
    int64_t extents[MOST] = {0};
    int count;
    for (int i = 0; i < given->batch_count; ++i) extents[i] = given->batches[i].extent;
    g->batches = product_of(extents, given->batch_count);
    for (int i = 0; i < given->line_count; ++i) extents[i] = given->lines[i].extent;
    g->rows = product_of(extents, given->line_count);
    for (int i = 0; i < given->column_count; ++i) extents[i] = given->columns[i].extent;
    g->columns = product_of(extents, given->column_count);
    for (int i = 0; i < given->summed_count; ++i) extents[i] = given->summed[i].extent;
    g->depth = product_of(extents, given->summed_count);
    g->w_batches = 1;
    for (int i = 0; i < given->batch_count; ++i)
        if (given->batches[i].w_step != 0) g->w_batches *= given->batches[i].extent;
    for (int i = count = 0; i < given->summed_count; ++i)
        if (!cvmgen_is_tap(given, i)) extents[count++] = given->summed[i].extent;
    g->channels = product_of(extents, count);
    return g->batches > 0 && g->rows > 0 && g->columns > 0 && g->depth > 0;
}

/* The image and its runs; false where it would be too large. */
static bool laid_out(cvmgen_geometry *g) {
    const cvmgen_contraction *const given = g->given;
    const int last = given->line_count - 1;
    int64_t bytes = g->channels, run;
    for (int i = last; i >= 0; --i) {
        const int64_t step = given->lines[i].step, tap_step = given->lines[i].tap_step;
        /* Without a window only the places that a row stands at are staged. */
        const bool alone = cvmgen_taps(given, i) == 1;
        if (step < 1 || (!alone && tap_step < 1)) return false;
        g->unit[i] = alone ? step : 1;
        g->move[i] = alone ? 1 : step;
        g->places[i] = cvmgen_saturating_add(
            cvmgen_saturating_mul(given->lines[i].extent - 1, g->move[i]),
            alone ? 1 : cvmgen_saturating_mul(cvmgen_taps(given, i) - 1, tap_step) + 1);
        g->bytes[i] = bytes;
        bytes = cvmgen_saturating_mul(bytes, g->places[i]);
        if (bytes > MOST_BYTES) return false;
    }
    g->joined = cvmgen_taps(given, last) > 1 && given->lines[last].tap_step == 1;
    run = g->joined ? g->channels * cvmgen_taps(given, last) : g->channels;
    g->run_count = g->depth / run;
    g->run_quads = (run + 3) / 4;
    g->panels = (g->columns + CVMGEN_TILE_COLUMNS - 1) / CVMGEN_TILE_COLUMNS;
    g->panel_bytes = cvmgen_panel_bytes(g->run_count * g->run_quads);
    g->panels_bytes = g->panels * g->panel_bytes;
    return cvmgen_saturating_mul(g->panels_bytes, g->w_batches) <= MOST_BYTES;
}

static bool pays(const cvmgen_geometry *g, bool packed) {
    const int64_t uses = packed ? LEAST_USES : g->rows * (g->batches / g->w_batches);
    return g->depth >= LEAST_DEPTH && g->columns >= LEAST_COLUMNS && uses >= LEAST_USES;
}

bool cvmgen_measure_contraction(cvmgen_geometry *g, bool packed) {
    return counted(g) && pays(g, packed) && all_inside(g->given) && laid_out(g);
}

void cvmgen_find_runs(const cvmgen_geometry *g, int64_t *runs) {
    const cvmgen_contraction *const given = g->given;
    for (int64_t run = 0; run < g->run_count; ++run) {
        int64_t rest = run;
        runs[run] = 0;
        for (int line = given->line_count - 1 - g->joined; line >= 0; --line) {
            const int64_t taps = cvmgen_taps(given, line);
            runs[run] += rest % taps * given->lines[line].tap_step * g->bytes[line];
            rest /= taps;
        }
    }
}

/* Whether the places of a line are its indices, all of which exist. */
static bool is_plain(const cvmgen_contraction *given, int line) {
    return cvmgen_taps(given, line) == 1 && given->lines[line].step == 1 &&
           given->lines[line].start == 0 &&
           given->lines[line].places == given->lines[line].extent;
}
void cvmgen_join_lines(cvmgen_contraction *given) {
    for (int i = 0; i + 1 < given->line_count;) {
        const int64_t extent = given->lines[i + 1].extent;
        const int64_t x_step = cvmgen_saturating_mul(extent, given->lines[i + 1].x_step);
        const int64_t y_step = cvmgen_saturating_mul(extent, given->lines[i + 1].y_step);
        const bool single = given->lines[i].extent == 1 && is_plain(given, i);
        const bool follows = is_plain(given, i) && is_plain(given, i + 1) &&
                             given->lines[i].x_step == x_step && given->lines[i].y_step == y_step;
        if (!single && !follows) {
            ++i;
            continue;
        }
        if (follows) {
            given->lines[i + 1].extent = cvmgen_saturating_mul(extent, given->lines[i].extent);
            given->lines[i + 1].places = given->lines[i + 1].extent;
        }
        --given->line_count;
        memmove(given->lines + i, given->lines + i + 1,
                (size_t)(given->line_count - i) * sizeof *given->lines);
    }
}

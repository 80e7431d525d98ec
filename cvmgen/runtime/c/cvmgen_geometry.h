/* What the files about contractions share. */
#ifndef CVMGEN_GEOMETRY_H
#define CVMGEN_GEOMETRY_H
#include "cvmgen_contract.h"

#define MOST CVMGEN_MOST_LOOPS

/* A contraction as numbers of rows, panels and runs, and its image. */
typedef struct cvmgen_geometry {
    const cvmgen_contraction *given;
    int64_t batches, rows, columns, depth;
    int64_t panels, run_count, run_quads;
    int64_t w_batches;    /* batches whose panels differ */
    int64_t panel_bytes, panels_bytes; /* of one panel, of those of a batch */
    /* Of each line: places of the image, steps of the tensor's places between two of them, steps
       of the image's places from index to index, bytes between two places. */
    int64_t places[MOST], unit[MOST], move[MOST], bytes[MOST];
    int64_t channels; /* bytes of a place */
    bool joined;      /* a run goes along the last line's tap */
} cvmgen_geometry;

/* Totals whose rows are staged together: some batches, or some lines of one. */
typedef struct cvmgen_strip {
    int64_t batch, batches, line, lines;
} cvmgen_strip;

/* How many places the tap of a line leads to from one index; 1 without a tap. */
static inline int64_t cvmgen_taps(const cvmgen_contraction *given, int line) {
    const int64_t tap = given->lines[line].tap;
    return tap < 0 ? 1 : given->summed[tap].extent;
}
static inline bool cvmgen_is_tap(const cvmgen_contraction *given, int summed) {
    for (int i = 0; i < given->line_count; ++i)
        if (given->lines[i].tap == summed) return true;
    return false;
}

/* Write the lines of a contraction as few, so that a line is long. */
void cvmgen_join_lines(cvmgen_contraction *given);
/* Find the geometry of what `g->given` is; false where tiles do not pay, `packed` or not, or cannot
   be made. */
bool cvmgen_measure_contraction(cvmgen_geometry *g, bool packed);
/* Where the runs of a row begin, counted from its start. */
void cvmgen_find_runs(const cvmgen_geometry *g, int64_t *runs);

/* Pack the columns of w; `places` is memory for the places of 4 * run_count * run_quads
   elements. */
void cvmgen_pack_panels(const cvmgen_geometry *g, int8_t *panels, const int8_t *w, int64_t *places);
/* The elements of w of a batch, and which of the sets of panels is its own. */
int64_t cvmgen_w_batch(const cvmgen_contraction *given, int64_t batch, int64_t *start);

/* Whether the rows lie in the tensor as they would in an image, but for what is added to bytes. */
bool cvmgen_lies_staged(const cvmgen_geometry *g);
/* Stage the rows of a strip; by several threads, if so. */
void cvmgen_stage(const cvmgen_geometry *g, const cvmgen_strip *strip, uint8_t *image,
                  const int8_t *x, bool threads);
/* The places of the first line that some of its indices lead to. */
int64_t cvmgen_places_of(const cvmgen_geometry *g, int64_t lines);
#endif

/* Rows of a contraction, staged as an image. */
#include "cvmgen_geometry.h"
#include "cvmgen_runtime.h"
#include "cvmgen_threads.h"

enum {
    STAGED_ZERO = 0x80, /* 0 as a staged byte */
    MANY_LINES = 16,    /* as many are staged as they are, */
    PIECE = 32,         /* of few so many places at a time */
    LEAST_SHARED = 1 << 15, /* bytes of an image that are worth several threads */
};

CVMGEN_FOR_AVX512
static void flip_run(uint8_t *restrict to, const int8_t *restrict from, int64_t count,
                     uint8_t flip) {
    for (int64_t i = 0; i < count; ++i) to[i] = (uint8_t)from[i] ^ flip;
}

/* How many of the last channels follow each other by one step; `loop` is behind theirs. */
static int64_t inner_channels(const cvmgen_contraction *given, int64_t *step, int *loop) {
    int64_t inner = 1;
    *step = 1;
    for (*loop = given->summed_count - 1; *loop >= 0; --*loop) {
        const int64_t extent = given->summed[*loop].extent, x_step = given->summed[*loop].x_step;
        if (cvmgen_is_tap(given, *loop) || extent == 1) continue;
        if (inner > 1 && x_step != inner * *step) break;
        if (inner == 1) *step = x_step;
        inner *= extent;
    }
    return inner;
}

bool cvmgen_lies_staged(const cvmgen_geometry *g) {
    const cvmgen_contraction *const given = g->given;
    int64_t step;
    int loop;
    return g->batches == 1 && given->line_count == 1 && given->lines[0].start == 0 &&
           g->unit[0] * (g->places[0] - 1) < given->lines[0].places &&
           inner_channels(given, &step, &loop) == g->channels && step == 1 &&
           g->channels == g->unit[0] * given->lines[0].x_step &&
           g->channels % 4 == 0 && g->run_count == 1; /* nothing is read behind the last row */
}

/* `count` places `step` elements apart, each with all its channels. */
static void stage_places(const cvmgen_geometry *g, uint8_t *to, const int8_t *from, int64_t step,
                         int64_t count) {
    const cvmgen_contraction *const given = g->given;
    int64_t inner_step;
    int loop;
    const int64_t inner = inner_channels(given, &inner_step, &loop);
    const uint8_t flip = given->staged ? 0 : STAGED_ZERO;
    if (inner == g->channels && inner_step == 1 && step == inner) {
        flip_run(to, from, count * inner, flip);
        return;
    }
    for (int64_t channel = 0; channel < g->channels; channel += inner) {
        const int8_t *first = from;
        int64_t rest = channel / inner;
        for (int i = loop; i >= 0; --i)
            if (!cvmgen_is_tap(given, i)) {
                first += rest % given->summed[i].extent * given->summed[i].x_step;
                rest /= given->summed[i].extent;
            }
        if (inner_step == 1 && inner > 1)
            for (int64_t i = 0; i < count; ++i)
                flip_run(to + i * g->channels + channel, first + i * step, inner, flip);
        else if (step == 1)
            cvmgen_turn_bytes(to + channel, g->channels, first, inner_step, inner, count, flip);
        else
            for (int64_t i = 0; i < count; ++i)
                for (int64_t c = 0; c < inner; ++c)
                    to[i * g->channels + channel + c] =
                        (uint8_t)first[i * step + c * inner_step] ^ flip;
    }
}

/* Places low..high-1 of the last line, those of the others by their position `outer`; the first
   place of the first line that is staged is `origin`. */
static void stage_piece(const cvmgen_geometry *g, uint8_t *image, const int8_t *x, int64_t outer,
                        int64_t origin, int64_t low, int64_t high) {
    const cvmgen_contraction *const given = g->given;
    const int last = given->line_count - 1;
    uint8_t *to = image;
    bool there = true;
    for (int i = last; i >= 0; --i) {
        int64_t place = i == last ? 0 : i == 0 ? outer : outer % g->places[i];
        if (i < last) {
            to += place * g->bytes[i];
            outer = i == 0 ? 0 : outer / g->places[i];
        }
        if (i == 0) place += origin;
        place *= g->unit[i];
        x += place * given->lines[i].x_step;
        if (i < last) {
            place += given->lines[i].start;
            there = there && 0 <= place && place < given->lines[i].places;
        }
    }
    /* The places of the last line that are in the tensor. */
    const int64_t start = given->lines[last].start + (last == 0 ? origin * g->unit[0] : 0);
    const int64_t unit = g->unit[last];
    int64_t first = cvmgen_ceildiv(-start, unit);
    int64_t end = cvmgen_ceildiv(given->lines[last].places - start, unit);
    first = cvmgen_min_i64(cvmgen_max_i64(first, low), high);
    end = cvmgen_min_i64(cvmgen_max_i64(end, first), high);
    if (!there) end = first;
    const int border = STAGED_ZERO ^ (uint8_t)given->border;
    memset(to + low * g->channels, border, (size_t)((first - low) * g->channels));
    if (first < end)
        stage_places(g, to + first * g->channels,
                     x + first * unit * given->lines[last].x_step,
                     unit * given->lines[last].x_step, end - first);
    memset(to + end * g->channels, border, (size_t)((high - end) * g->channels));
}

static int64_t x_batch(const cvmgen_contraction *given, int64_t batch) {
    int64_t start = given->x_start;
    for (int i = given->batch_count - 1; i >= 0; --i) {
        start += batch % given->batches[i].extent * given->batches[i].x_step;
        batch /= given->batches[i].extent;
    }
    return start;
}

int64_t cvmgen_places_of(const cvmgen_geometry *g, int64_t lines) {
    return g->places[0] - (g->given->lines[0].extent - lines) * g->move[0];
}

/* A strip to stage: pieces of its last lines. */
typedef struct staging {
    const cvmgen_geometry *g;
    const cvmgen_strip *strip;
    uint8_t *image;
    const int8_t *x;
    /* Last lines of a batch, places of one, and of a piece of it, and its pieces. */
    int64_t outer, along, piece, pieces;
} staging;

static void stage_one(const staging *todo, int64_t task) {
    const cvmgen_geometry *const g = todo->g;
    const int64_t batch = task / (todo->outer * todo->pieces);
    const int64_t low = task % todo->pieces * todo->piece;
    stage_piece(g, todo->image + batch * cvmgen_places_of(g, todo->strip->lines) * g->bytes[0],
                todo->x + x_batch(g->given, todo->strip->batch + batch),
                task / todo->pieces % todo->outer, todo->strip->line * g->move[0], low,
                cvmgen_min_i64(low + todo->piece, todo->along));
}
static void stage_some(const void *context, int64_t low, int64_t high) {
    for (int64_t task = low; task < high; ++task) stage_one(context, task);
}

void cvmgen_stage(const cvmgen_geometry *g, const cvmgen_strip *strip, uint8_t *image,
                  const int8_t *x, bool threads) {
    const int last = g->given->line_count - 1;
    const int64_t first_places = cvmgen_places_of(g, strip->lines);
    const int64_t along = last == 0 ? first_places : g->places[last];
    staging todo = {.g = g, .strip = strip, .image = image, .x = x, .along = along};
    todo.outer = last == 0 ? 1 : first_places;
    for (int i = 1; i < last; ++i) todo.outer *= g->places[i];
    todo.piece = strip->batches * todo.outer >= MANY_LINES ? along : PIECE;
    todo.pieces = (along + todo.piece - 1) / todo.piece;
    cvmgen_share(strip->batches * todo.outer * todo.pieces,
                 threads && strip->batches * first_places * g->bytes[0] >= LEAST_SHARED,
                 stage_some, &todo);
}

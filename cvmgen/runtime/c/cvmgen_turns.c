/* Boxes of which the target walks one dimension fastest, the source another one. */
#include "cvmgen_turns.h"
#include "cvmgen_squares.h"
#include "cvmgen_threads.h"
#include "cvmgen_x86.h"

/* A part of the box: `across` elements that lie side by side in the target, from places that are
   `sources` apart from the first one, times `along` elements that lie side by side in the source
   and go to places that are `targets` apart. Both are in bytes. */
typedef struct cvmgen_turn {
    char *to;
    const char *from;
    int64_t across, along;
    const int64_t *sources, *targets;
    int64_t to_step, from_step; /* in elements, where all neighbours lie as far apart; or 0 */
    bool target_first;          /* the target's run is walked first, for a few of the source's */
    bool crowded;               /* few of the target's lines are in the cache at a time */
    bool lines_to, lines_from;  /* the runs of a side begin at the same place of a line */
} cvmgen_turn;

typedef void cvmgen_turned_block(const cvmgen_turn *turn);

/* ---------------------------------------------------------------- blocks */

#define CVMGEN_AHEAD 4 /* squares whose lines are fetched before they are due */

/* How many elements come before the first one that begins a line; none if no square fits behind. */
static inline int64_t cvmgen_head(const void *place, int64_t bytes, int64_t count, int64_t side) {
    const int64_t passed = (int64_t)((uintptr_t)place % CVMGEN_LINE);
    return count < 2 * side || passed % bytes != 0 ? 0 : (CVMGEN_LINE - passed) / bytes % side;
}

/* Squares from one end of a run to the other: a first one, those that begin with lines, and a last
   one, over what is done already where that does not end with a line. */
#define CVMGEN_SQUARES(at, low, count, side, head)                                \
    for (int64_t at = 0, low; low = cvmgen_min_i64(at, count - side), at < count; \
         at = at < head ? head : at + side)

CVMGEN_INLINE void cvmgen_turn_by(const cvmgen_turn *turn, int64_t to_bytes, int64_t from_bytes,
                                  int64_t side, cvmgen_square *square, bool ahead) {
    const int64_t *const sources = turn->sources, *const targets = turn->targets;
    char *const to = turn->to;
    const char *const from = turn->from;
    const int64_t u_head = turn->lines_to ? cvmgen_head(to, to_bytes, turn->across, side) : 0;
    const int64_t s_head = turn->lines_from ? cvmgen_head(from, from_bytes, turn->along, side) : 0;
    if (turn->target_first)
        CVMGEN_SQUARES(s_at, s, turn->along, side, s_head)
        CVMGEN_SQUARES(u_at, u, turn->across, side, u_head) {
            for (int64_t i = 0; i < side && ahead; ++i)
                CVMGEN_SOON(from + s * from_bytes + sources[u + CVMGEN_AHEAD * side + i]);
            square(to + u * to_bytes, targets + s, from + s * from_bytes, sources + u);
        }
    else
        CVMGEN_SQUARES(u_at, u, turn->across, side, u_head)
        CVMGEN_SQUARES(s_at, s, turn->along, side, s_head) {
            for (int64_t i = 0; i < side && ahead; ++i) {
                CVMGEN_SOON(from + (s + CVMGEN_AHEAD * side) * from_bytes + sources[u + i]);
                CVMGEN_SOON_WRITTEN(to + u * to_bytes + targets[s + side + i]);
            }
            square(to + u * to_bytes, targets + s, from + s * from_bytes, sources + u);
        }
}

/* Runs too short for squares: along the longer side, whose elements mostly lie as far apart on the
   other side as the shorter one is long, as the pixels of a picture do. */
#define CVMGEN_FROM_GROUPS(n)            \
    for (int64_t u = 0; u < across; ++u) \
        for (int64_t s = 0; s < n; ++s) to[s * step + u] = from[u * n + s];
#define CVMGEN_TO_GROUPS(n)             \
    for (int64_t s = 0; s < along; ++s) \
        for (int64_t u = 0; u < n; ++u) to[s * n + u] = from[u * step + s];
#define CVMGEN_FEW(kind, to_type, from_type)                                                      \
    CVMGEN_FOR_AVX2                                                                               \
    static void cvmgen_from_groups_##kind(to_type *restrict to, const from_type *restrict from,   \
                                          int64_t across, int64_t along, int64_t step) {          \
        if (along == 2) {                                                                         \
            CVMGEN_FROM_GROUPS(2)                                                                 \
        } else if (along == 3) {                                                                  \
            CVMGEN_FROM_GROUPS(3)                                                                 \
        } else {                                                                                  \
            CVMGEN_FROM_GROUPS(4)                                                                 \
        }                                                                                         \
    }                                                                                             \
    CVMGEN_FOR_AVX2                                                                               \
    static void cvmgen_to_groups_##kind(to_type *restrict to, const from_type *restrict from,     \
                                        int64_t across, int64_t along, int64_t step) {            \
        if (across == 2) {                                                                        \
            CVMGEN_TO_GROUPS(2)                                                                   \
        } else if (across == 3) {                                                                 \
            CVMGEN_TO_GROUPS(3)                                                                   \
        } else {                                                                                  \
            CVMGEN_TO_GROUPS(4)                                                                   \
        }                                                                                         \
    }                                                                                             \
    static void cvmgen_turn_few_##kind(const cvmgen_turn *turn) {                                 \
        const int64_t across = turn->across, along = turn->along;                                 \
        const int64_t to_step = turn->to_step, from_step = turn->from_step;                       \
        if (along >= 2 && along <= 4 && from_step == along && to_step != 0) {                     \
            cvmgen_from_groups_##kind((to_type *)turn->to, (const from_type *)turn->from, across, \
                                      along, to_step);                                            \
            return;                                                                               \
        }                                                                                         \
        if (across >= 2 && across <= 4 && to_step == across && from_step != 0) {                  \
            cvmgen_to_groups_##kind((to_type *)turn->to, (const from_type *)turn->from, across,   \
                                    along, from_step);                                            \
            return;                                                                               \
        }                                                                                         \
        for (int64_t s = 0; s < along; ++s) {                                                     \
            to_type *restrict const to = (to_type *)(turn->to + turn->targets[s]);                \
            const from_type *restrict const from = (const from_type *)turn->from + s;             \
            if (from_step != 0)                                                                   \
                for (int64_t u = 0; u < across; ++u) to[u] = (to_type)from[u * from_step];        \
            else                                                                                  \
                for (int64_t u = 0; u < across; ++u)                                              \
                    to[u] = (to_type)from[turn->sources[u] / (int64_t)sizeof(from_type)];         \
        }                                                                                         \
    }
CVMGEN_FEW(i8, int8_t, int8_t)
CVMGEN_FEW(i16, int16_t, int16_t)
CVMGEN_FEW(i32, int32_t, int32_t)
CVMGEN_FEW(i64, int64_t, int64_t)
CVMGEN_FEW(i32_i8, int32_t, int8_t)
CVMGEN_FEW(i8_i32, int8_t, int32_t)

/* By squares of whole lines, or by smaller ones, or without. */
#define CVMGEN_TURN(kind, to_bytes, from_bytes, side, lines, apart, lanes, square)     \
    static void cvmgen_turn_##kind(const cvmgen_turn *turn) {                          \
        const int64_t shorter = cvmgen_min_i64(turn->across, turn->along);             \
        if (shorter >= side && turn->crowded)                                          \
            cvmgen_turn_by(turn, to_bytes, from_bytes, side, cvmgen_##apart, true);    \
        else if (shorter >= side)                                                      \
            cvmgen_turn_by(turn, to_bytes, from_bytes, side, cvmgen_##lines, true);    \
        else if (shorter >= lanes)                                                     \
            cvmgen_turn_by(turn, to_bytes, from_bytes, lanes, cvmgen_##square, false); \
        else                                                                           \
            cvmgen_turn_few_##kind(turn);                                              \
    }
CVMGEN_TURN(i8, 1, 1, 64, lines_i8, crowded_lines_i8, 16, square_i8)
CVMGEN_TURN(i16, 2, 2, 32, lines_i16, crowded_lines_i16, 8, square_i16)
CVMGEN_TURN(i32, 4, 4, 16, lines_i32, crowded_lines_i32, 4, square_i32)
CVMGEN_TURN(i64, 8, 8, 8, lines_i64, crowded_lines_i64, 2, square_i64)
CVMGEN_TURN(i32_i8, 4, 1, 16, square_i32_i8, square_i32_i8, 16, square_i32_i8)
CVMGEN_TURN(i8_i32, 1, 4, 16, square_i8_i32, square_i8_i32, 16, square_i8_i32)

#ifdef CVMGEN_WIDE
#define CVMGEN_TURN_WIDE(kind, to_bytes, from_bytes, side, lines)                             \
    __attribute__((target("avx512f,avx512bw,avx512vl"))) static void cvmgen_turn_wide_##kind( \
        const cvmgen_turn *turn) {                                                            \
        if (cvmgen_min_i64(turn->across, turn->along) < side)                                 \
            cvmgen_turn_##kind(turn);                                                         \
        else                                                                                  \
            cvmgen_turn_by(turn, to_bytes, from_bytes, side, cvmgen_##lines, true);           \
    }
CVMGEN_TURN_WIDE(i8, 1, 1, 64, wide_lines_i8)
CVMGEN_TURN_WIDE(i16, 2, 2, 32, wide_lines_i16)
CVMGEN_TURN_WIDE(i32, 4, 4, 16, wide_lines_i32)
CVMGEN_TURN_WIDE(i64, 8, 8, 8, wide_lines_i64)
CVMGEN_TURN_WIDE(i32_i8, 4, 1, 16, square_i32_i8)
CVMGEN_TURN_WIDE(i8_i32, 1, 4, 16, square_i8_i32)
#endif

/* The function for elements of so many bytes. */
#define CVMGEN_CHOSEN(prefix, to_bytes, from_bytes) \
    (to_bytes > from_bytes   ? prefix##i32_i8       \
     : to_bytes < from_bytes ? prefix##i8_i32       \
     : to_bytes == 1         ? prefix##i8           \
     : to_bytes == 2         ? prefix##i16          \
     : to_bytes == 4         ? prefix##i32          \
                             : prefix##i64)
#ifdef CVMGEN_WIDE
static bool cvmgen_may_turn_wide(void) {
    static int may; /* or may not, if negative; whoever comes first finds the same */
    int found = __atomic_load_n(&may, __ATOMIC_RELAXED);
    if (found == 0) {
        found = cvmgen_x86_has("avx512bw") && cvmgen_x86_has("avx512vl") ? 1 : -1;
        __atomic_store_n(&may, found, __ATOMIC_RELAXED);
    }
    return found > 0;
}
#endif
static cvmgen_turned_block *cvmgen_turned_block_of(int64_t to_bytes, int64_t from_bytes) {
#ifdef CVMGEN_WIDE
    if (cvmgen_may_turn_wide())
        return CVMGEN_CHOSEN(cvmgen_turn_wide_, to_bytes, from_bytes);
#endif
    return CVMGEN_CHOSEN(cvmgen_turn_, to_bytes, from_bytes);
}

/* ---------------------------------------------------------------- runs side by side */

/* Few runs at a time, from one end of them to the other: they may lie so that the cache holds only
   few of their lines. */
CVMGEN_INLINE void cvmgen_turn_runs_by(char *to, const char *from, const int64_t *sources,
                                       int64_t count, int64_t lanes, int64_t bytes, int64_t side,
                                       cvmgen_square *square) {
    const int64_t whole = count / side * side, apart = lanes * bytes;
    int64_t targets[16];
    for (int64_t k = 0; k < side; ++k) targets[k] = k * apart;
    for (int64_t r = 0; r < lanes; r += side)
        for (int64_t k = 0; k < whole; k += side)
            square(to + k * apart + r * bytes, targets, from + k * bytes, sources + r);
    for (int64_t k = whole; k < count; ++k)
        for (int64_t r = 0; r < lanes; ++r)
            memcpy(to + k * apart + r * bytes, from + sources[r] + k * bytes, (size_t)bytes);
}

#define CVMGEN_TURN_RUNS(kind, bytes, side)                                                       \
    CVMGEN_FOR_AVX2                                                                               \
    static void cvmgen_turn_runs_##kind(char *to, const char *from, const int64_t *sources,       \
                                        int64_t count, int64_t lanes) {                           \
        cvmgen_turn_runs_by(to, from, sources, count, lanes, bytes, side, cvmgen_square_##kind);  \
    }
CVMGEN_TURN_RUNS(i8, 1, 16)
CVMGEN_TURN_RUNS(i16, 2, 8)
CVMGEN_TURN_RUNS(i32, 4, 4)
CVMGEN_TURN_RUNS(i64, 8, 2)

void cvmgen_turn_runs(void *to, const void *from, int64_t step, int64_t runs, int64_t count,
                      int64_t lanes, int64_t bytes) {
    int64_t sources[CVMGEN_MOST_LANES];
    for (int64_t r = 0; r < lanes; ++r)
        sources[r] = cvmgen_min_i64(r, runs - 1) * step * bytes;
    if (bytes == 1)
        cvmgen_turn_runs_i8(to, from, sources, count, lanes);
    else if (bytes == 2)
        cvmgen_turn_runs_i16(to, from, sources, count, lanes);
    else if (bytes == 4)
        cvmgen_turn_runs_i32(to, from, sources, count, lanes);
    else
        cvmgen_turn_runs_i64(to, from, sources, count, lanes);
}

/* ---------------------------------------------------------------- the box in blocks */

#define CVMGEN_MOST 2048     /* elements of a run in a block, but for what completes its lines */
#define CVMGEN_SHORT 1024    /* bytes of runs of the target that are written one after the other */
#define CVMGEN_AT_ONCE 32768 /* bytes of small entries that a thread turns one after the other */
#define CVMGEN_ALIAS 2048    /* bytes between lines of which a cache holds few at a time */
#define CVMGEN_PLACES (CVMGEN_MOST + (CVMGEN_AHEAD + 2) * CVMGEN_LINE)

/* Dimensions that a side walks one behind the other without gaps, the fastest one first. */
typedef struct cvmgen_path {
    cvmgen_axes axes;
    int64_t length;
} cvmgen_path;

static inline int64_t cvmgen_step(const cvmgen_axis *axis, bool of_source) {
    return of_source ? axis->from : axis->to;
}

/* Take the dimension that goes on with a path from those that are left. */
static bool cvmgen_lengthen(cvmgen_path *path, cvmgen_axes *left, bool of_source) {
    for (int i = left->rank - 1; i >= 0; --i)
        if (cvmgen_step(&left->at[i], of_source) == path->length) {
            path->length *= left->at[i].extent;
            path->axes.at[path->axes.rank++] = left->at[i];
            for (--left->rank; i < left->rank; ++i) left->at[i] = left->at[i + 1];
            return true;
        }
    return false;
}

/* How far the elements of a path, from `first` on, lie apart on a side, in bytes; those behind its
   end are of no meaning. */
static void cvmgen_places(const cvmgen_path *path, bool of_source, int64_t bytes, int64_t first,
                          int64_t count, int64_t *places) {
    const cvmgen_axis *const axes = path->axes.at;
    int64_t at[CVMGEN_LIST_CAPACITY], place = 0;
    for (int i = 0; i < path->axes.rank; ++i) {
        at[i] = first % axes[i].extent;
        first /= axes[i].extent;
    }
    for (int64_t k = 0; k < count;) {
        const int64_t step = cvmgen_step(axes, of_source) * bytes;
        const int64_t end = cvmgen_min_i64(count, k + axes->extent - at[0]);
        for (; k < end; ++k, place += step) places[k] = place;
        place -= step * axes->extent;
        at[0] = 0;
        for (int i = 1; i < path->axes.rank; ++i) {
            const int64_t outer = cvmgen_step(&axes[i], of_source) * bytes;
            place += outer;
            if (++at[i] < axes[i].extent) break;
            place -= outer * axes[i].extent;
            at[i] = 0;
        }
    }
}

/* The first element of a path on a side. */
static int64_t cvmgen_place(const cvmgen_axes *axes, bool of_source, int64_t at) {
    int64_t place = 0;
    for (int i = 0; i < axes->rank; ++i) {
        place += at % axes->at[i].extent * cvmgen_step(&axes->at[i], of_source);
        at /= axes->at[i].extent;
    }
    return place;
}

/* How long the parts are in which a run is walked: alike, and whole lines. */
static int64_t cvmgen_part_size(int64_t length, int64_t wanted) {
    const int64_t parts = cvmgen_pieces(length, cvmgen_min_i64(wanted, CVMGEN_MOST));
    return cvmgen_pieces(cvmgen_pieces(length, parts), CVMGEN_LINE) * CVMGEN_LINE;
}

/* The part of a run that has the given number, where parts begin with lines of the cache. */
static int64_t cvmgen_part_begin(const char *run, int64_t bytes, int64_t number, int64_t size) {
    const int64_t passed = (int64_t)((uintptr_t)run % CVMGEN_LINE) / bytes;
    return number == 0 ? 0 : number * size - passed;
}

/* Whether all elements of a path begin at the same place of a line. */
static bool cvmgen_by_lines(const cvmgen_path *path, bool of_source, int64_t bytes) {
    bool lines = true;
    for (int i = 0; i < path->axes.rank; ++i)
        lines = lines && cvmgen_step(&path->axes.at[i], of_source) * bytes % CVMGEN_LINE == 0;
    return lines;
}

bool cvmgen_is_turned(const cvmgen_axes *axes) {
    const int last = axes->rank - 1;
    bool found = false;
    for (int i = 0; i < last; ++i) found = found || axes->at[i].from == 1;
    return found && axes->at[last].to == 1 && axes->at[last].from != 0 && axes->at[last].from != 1;
}

/* A box as a run of the target times a run of the source, for each entry of what is left. */
typedef struct cvmgen_turned {
    char *to;
    const char *from;
    int64_t to_bytes, from_bytes;
    cvmgen_path across, along;
    cvmgen_axes left;
    bool target_first, crowded, lines_to, lines_from;
    int64_t across_part, along_part, across_parts, along_parts;
    int64_t entries, entries_at_once;
    cvmgen_turned_block *turn;
} cvmgen_turned;

static inline char *cvmgen_entry_to(const cvmgen_turned *box, int64_t entry) {
    return box->to + cvmgen_place(&box->left, false, entry) * box->to_bytes;
}
static inline const char *cvmgen_entry_from(const cvmgen_turned *box, int64_t entry) {
    return box->from + cvmgen_place(&box->left, true, entry) * box->from_bytes;
}

/* A block, or the only one of each of several entries: its places are the same in all of them. */
static void cvmgen_turn_block(const cvmgen_turned *box, int64_t number) {
    const int64_t parts = box->across_parts * box->along_parts;
    const int64_t first = number / parts * box->entries_at_once;
    const int64_t end = cvmgen_min_i64(first + box->entries_at_once, box->entries);
    const int64_t u_part = number % box->across_parts;
    const int64_t s_part = number % parts / box->across_parts;
    char *const to = cvmgen_entry_to(box, first);
    const char *const from = cvmgen_entry_from(box, first);
    const int64_t u_low = cvmgen_part_begin(to, box->to_bytes, u_part, box->across_part);
    const int64_t s_low = cvmgen_part_begin(from, box->from_bytes, s_part, box->along_part);
    const int64_t u_high = u_part + 1 == box->across_parts
        ? box->across.length
        : cvmgen_part_begin(to, box->to_bytes, u_part + 1, box->across_part);
    const int64_t s_high = s_part + 1 == box->along_parts
        ? box->along.length
        : cvmgen_part_begin(from, box->from_bytes, s_part + 1, box->along_part);
    const int64_t shorter = cvmgen_min_i64(u_high - u_low, s_high - s_low);
    const int64_t side = CVMGEN_LINE / cvmgen_max_i64(box->to_bytes, box->from_bytes);
    const int64_t fetched = shorter < side ? 0 : (CVMGEN_AHEAD + 1) * CVMGEN_LINE / box->to_bytes;
    const int64_t to_low = (u_low + cvmgen_place(&box->along.axes, false, s_low)) * box->to_bytes;
    const int64_t from_low =
        (s_low + cvmgen_place(&box->across.axes, true, u_low)) * box->from_bytes;
    int64_t sources[CVMGEN_PLACES], targets[CVMGEN_PLACES];
    cvmgen_places(&box->across, true, box->from_bytes, u_low, u_high - u_low + fetched, sources);
    cvmgen_places(&box->along, false, box->to_bytes, s_low, s_high - s_low + fetched, targets);
    for (int64_t entry = first; entry < end; ++entry) {
        const cvmgen_turn turn = {
            cvmgen_entry_to(box, entry) + to_low, cvmgen_entry_from(box, entry) + from_low,
            u_high - u_low, s_high - s_low, sources, targets,
            box->along.axes.rank == 1 ? box->along.axes.at[0].to : 0,
            box->across.axes.rank == 1 ? box->across.axes.at[0].from : 0,
            box->target_first, box->crowded, box->lines_to, box->lines_from,
        };
        box->turn(&turn);
    }
}

static void cvmgen_turn_blocks(const void *context, int64_t low, int64_t high) {
    for (int64_t number = low; number < high; ++number) cvmgen_turn_block(context, number);
}

/* The order of blocks and what they hold: where the target's runs are short and lie one behind the
   other, it is filled from one end to the other; elsewhere a few of its lines are at a time. */
static void cvmgen_divide(cvmgen_turned *box) {
    const cvmgen_path *const across = &box->across, *const along = &box->along;
    box->target_first = across->length * box->to_bytes > CVMGEN_SHORT ||
                        across->length >= along->length ||
                        along->axes.at[0].to != across->length;
    if (box->target_first) {
        box->across_part = cvmgen_part_size(across->length, 2048 / box->to_bytes);
        box->along_part = cvmgen_part_size(along->length, 1280 / box->from_bytes);
    } else {
        box->across_part = cvmgen_part_size(across->length, CVMGEN_MOST);
        box->along_part = cvmgen_part_size(along->length, 8192 / box->from_bytes);
    }
    box->across_parts = cvmgen_pieces(across->length, box->across_part);
    box->along_parts = cvmgen_pieces(along->length, box->along_part);
}

void cvmgen_move_turned(char *to, int64_t to_bytes, const char *from, int64_t from_bytes,
                        const cvmgen_axes *axes) {
    cvmgen_turned box = {.to = to, .from = from, .to_bytes = to_bytes, .from_bytes = from_bytes};
    box.left = *axes;
    box.across.length = box.along.length = box.entries = 1;
    for (bool longer = true; longer;) {
        longer = cvmgen_lengthen(&box.across, &box.left, false);
        longer = cvmgen_lengthen(&box.along, &box.left, true) || longer;
    }
    for (int i = 0; i < box.left.rank; ++i) box.entries *= box.left.at[i].extent;
    box.lines_to = cvmgen_by_lines(&box.along, false, to_bytes);
    box.lines_from = cvmgen_by_lines(&box.across, true, from_bytes);
    box.crowded = box.along.axes.at[0].to * to_bytes % CVMGEN_ALIAS == 0;
    box.turn = cvmgen_turned_block_of(to_bytes, from_bytes);
    cvmgen_divide(&box);
    const int64_t parts = box.across_parts * box.along_parts;
    const int64_t bytes = box.across.length * box.along.length * to_bytes;
    box.entries_at_once = parts > 1 ? 1 : cvmgen_pieces(CVMGEN_AT_ONCE, bytes);
    cvmgen_share(cvmgen_pieces(box.entries, box.entries_at_once) * parts,
                 box.entries * bytes >= CVMGEN_PIECE, cvmgen_turn_blocks, &box);
}

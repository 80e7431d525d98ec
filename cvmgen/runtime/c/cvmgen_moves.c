/* Elements of a box moved from one walk to another, whatever its rank. */
#include "cvmgen_moves.h"
#include "cvmgen_threads.h"
#include "cvmgen_turns.h"

/* Sort the dimensions, leave out those of one entry, join those that both sides walk on. */
static cvmgen_axes cvmgen_sorted(const cvmgen_list *to_steps, const cvmgen_list *from_steps,
                                 const cvmgen_list *box) {
    cvmgen_axes axes;
    int kept = 0;
    axes.rank = 0;
    for (int64_t i = 0; i < box->length; ++i) {
        const cvmgen_axis axis = {box->at[i], to_steps->at[i], from_steps->at[i]};
        int at = axes.rank;
        if (axis.extent == 1) continue;
        for (; at > 0 && cvmgen_abs_i64(axes.at[at - 1].to) < cvmgen_abs_i64(axis.to); --at)
            axes.at[at] = axes.at[at - 1];
        axes.at[at] = axis;
        ++axes.rank;
    }
    for (int i = 0; i < axes.rank; ++i) {
        const cvmgen_axis axis = axes.at[i];
        cvmgen_axis *const outer = &axes.at[kept - (kept > 0)];
        if (kept > 0 && outer->to == axis.to * axis.extent &&
            outer->from == axis.from * axis.extent) {
            outer->extent *= axis.extent;
            outer->to = axis.to;
            outer->from = axis.from;
        } else {
            axes.at[kept++] = axis;
        }
    }
    axes.rank = kept;
    return axes;
}

/* ---------------------------------------------------------------- rows

   Both sides walk the last dimension fastest, or the source stays where it is. */

/* How the elements of both sides are stored: the same on both, or the one as a number of 8 bits and
   the other of 32. */
typedef struct cvmgen_sizes { int64_t to, from; } cvmgen_sizes;

/* A line is a run, or a run of elements each of which is spread over several places; what the
   source repeats is made once and copied from the target: caches have it there. Spread elements are
   spread again, since what was just written is slow to read across the vectors that wrote it. */
typedef struct cvmgen_lines {
    cvmgen_axis rows;
    int64_t times;
    cvmgen_axis run, spread;
    int left;   /* dimensions in front of the rows */
    bool plain; /* elements side by side on both sides are bytes to copy */
} cvmgen_lines;

#define CVMGEN_DISTANCE 3584 /* bytes between a row that is copied and one that is fetched */
#define CVMGEN_LONG 16384    /* bytes of which memcpy has its own way to memory */

/* Copy rows, each so many times: in vectors, of which the last may overlap the one before it, while
   rows further on are fetched. Calls of memcpy would take longer than most rows. */
CVMGEN_FOR_AVX512
static void cvmgen_copy_rows(char *to, const char *from, int64_t rows, int64_t bytes,
                             int64_t to_step, int64_t from_step, int64_t times) {
    const int64_t last = bytes - CVMGEN_LINE;
    const int64_t ahead = cvmgen_pieces(CVMGEN_DISTANCE, bytes * times);
    for (int64_t row = 0; row < rows; ++row, to += to_step, from += from_step)
        for (int64_t i = 0; i < times; ++i) {
            char *const copy = to + i * bytes;
            if (bytes >= CVMGEN_LONG) {
                memcpy(copy, from, (size_t)bytes);
                continue;
            }
            for (int64_t at = 0; at < last; at += CVMGEN_LINE) {
                CVMGEN_SOON(from + at + ahead * from_step);
                CVMGEN_SOON_WRITTEN(copy + at + ahead * to_step);
                memcpy(copy + at, from + at, CVMGEN_LINE);
            }
            if (last >= 0) {
                memcpy(copy + last, from + last, CVMGEN_LINE);
            } else if (bytes > 32) {
                memcpy(copy, from, 32);
                memcpy(copy + bytes - 32, from + bytes - 32, 32);
            } else {
                cvmgen_copy_few(copy, from, bytes);
            }
        }
}

/* Compilers that find the same loop twice, once for a step that is known, keep the slower one. */
#ifdef __GNUC__
#define CVMGEN_OWN_CODE __attribute__((noinline))
#else
#define CVMGEN_OWN_CODE
#endif

/* An element `times` in a row, in code of its own for the usual numbers. There stores are written
   out: of a loop over a few bytes clang makes memset, and of the loop around that no vectors. */
#define CVMGEN_SPREAD(times, stores)      \
    for (int64_t i = 0; i < count; ++i) { \
        const int64_t at = i * times;     \
        stores;                           \
    }

#define CVMGEN_ROWS(kind, to_type, from_type)                                                      \
    static inline void cvmgen_spread_##kind(to_type *restrict to, const from_type *restrict from,  \
                                            int64_t count, int64_t times) {                        \
        if (times == 2) {                                                                          \
            CVMGEN_SPREAD(2, to[at] = to[at + 1] = from[i])                                        \
        } else if (times == 3) {                                                                   \
            CVMGEN_SPREAD(3, to[at] = to[at + 1] = to[at + 2] = from[i])                           \
        } else if (times == 4) {                                                                   \
            CVMGEN_SPREAD(4, to[at] = to[at + 1] = to[at + 2] = to[at + 3] = from[i])              \
        } else {                                                                                   \
            CVMGEN_SPREAD(times, for (int64_t j = 0; j < times; ++j) to[at + j] = from[i])         \
        }                                                                                          \
    }                                                                                              \
    CVMGEN_FOR_AVX2 static void cvmgen_every_##kind(to_type *restrict to,                          \
                                                    const from_type *restrict from,                \
                                                    int64_t count) {                               \
        for (int64_t i = 0; i < count; ++i) to[i] = (to_type)from[i];                              \
    }                                                                                              \
    CVMGEN_OWN_CODE static void cvmgen_every_second_##kind(to_type *restrict to,                   \
                                                           const from_type *restrict from,         \
                                                           int64_t count) {                        \
        for (int64_t i = 0; i < count; ++i) to[i] = (to_type)from[2 * i];                          \
    }                                                                                              \
    CVMGEN_OWN_CODE static void cvmgen_backwards_##kind(to_type *restrict to,                      \
                                                        const from_type *restrict from,            \
                                                        int64_t count) {                           \
        for (int64_t i = 0; i < count; ++i) to[i] = (to_type)from[-i];                             \
    }                                                                                              \
    static inline void cvmgen_row_##kind(to_type *restrict to, const from_type *restrict from,     \
                                         cvmgen_axis run) {                                        \
        const int64_t count = run.extent;                                                          \
        if (run.to == 1 && run.from == 1)                                                          \
            cvmgen_every_##kind(to, from, count);                                                  \
        else if (run.to == 1 && run.from == 0)                                                     \
            for (int64_t i = 0; i < count; ++i) to[i] = (to_type)*from;                            \
        else if (run.to == 1 && run.from == 2)                                                     \
            cvmgen_every_second_##kind(to, from, count);                                           \
        else if (run.to == 1 && run.from == -1)                                                    \
            cvmgen_backwards_##kind(to, from, count);                                              \
        else                                                                                       \
            for (int64_t i = 0; i < count; ++i) to[i * run.to] = (to_type)from[i * run.from];      \
    }                                                                                              \
    CVMGEN_FOR_AVX2 static void cvmgen_lines_of_##kind(to_type *restrict to,                       \
                                                       const from_type *restrict from,             \
                                                       const cvmgen_lines *lines) {                \
        const cvmgen_axis run = lines->run, spread = lines->spread;                                \
        const int64_t length = run.extent * spread.extent, times = lines->times;                   \
        const bool apart = cvmgen_abs_i64(run.from) > 1;                                           \
        const int64_t size = run.extent * cvmgen_abs_i64(run.from) * (int64_t)sizeof(from_type);   \
        const int64_t ahead = apart ? cvmgen_pieces(CVMGEN_DISTANCE, size) * lines->rows.from : 0; \
        for (int64_t row = 0; row < lines->rows.extent; ++row) {                                   \
            for (int64_t at = 0; at < size && apart; at += CVMGEN_LINE)                            \
                CVMGEN_SOON((const char *)(from + ahead) + at);                                    \
            if (spread.extent > 1) {                                                               \
                for (int64_t i = 0; i < times; ++i)                                                \
                    cvmgen_spread_##kind(to + i * length, from, run.extent, spread.extent);        \
            } else {                                                                               \
                cvmgen_row_##kind(to, from, run);                                                  \
                for (int64_t i = 1; i < times; ++i)                                                \
                    memcpy(to + i * length, to, (size_t)length * sizeof(to_type));                 \
            }                                                                                      \
            to += lines->rows.to;                                                                  \
            from += lines->rows.from;                                                              \
        }                                                                                          \
    }
CVMGEN_ROWS(i8, int8_t, int8_t)
CVMGEN_ROWS(i16, int16_t, int16_t)
CVMGEN_ROWS(i32, int32_t, int32_t)
CVMGEN_ROWS(i64, int64_t, int64_t)
CVMGEN_ROWS(i32_i8, int32_t, int8_t)
CVMGEN_ROWS(i8_i32, int8_t, int32_t)

/* The last dimensions as lines; those in front of them are left. */
static cvmgen_lines cvmgen_lines_in(const cvmgen_axes *axes, cvmgen_sizes sizes) {
    static const cvmgen_axis one = {1, 0, 0};
    const cvmgen_axis *axis = axes->at + axes->rank;
    cvmgen_lines lines = {one, 1, one, one, 0, false};
    if (axis > axes->at) lines.run = *--axis;
    if (axis > axes->at && lines.run.from == 0 && lines.run.to == 1 && axis[-1].from == 1 &&
        axis[-1].to == lines.run.extent) {
        lines.spread = lines.run;
        lines.run = *--axis;
    }
    if (axis > axes->at && axis[-1].from == 0 &&
        lines.run.to == lines.spread.extent && /* without gaps */
        axis[-1].to == lines.run.extent * lines.spread.extent)
        lines.times = (--axis)->extent;
    if (axis > axes->at) lines.rows = *--axis;
    lines.left = (int)(axis - axes->at);
    lines.plain = sizes.to == sizes.from && lines.run.to == 1 && lines.run.from == 1;
    return lines;
}

static void cvmgen_move_lines(char *to, const char *from, const cvmgen_lines *lines,
                              cvmgen_sizes sizes) {
    const int64_t bytes = sizes.to;
    if (lines->plain)
        cvmgen_copy_rows(to, from, lines->rows.extent, lines->run.extent * bytes,
                         lines->rows.to * bytes, lines->rows.from * bytes, lines->times);
    else if (bytes != sizes.from && bytes == 4)
        cvmgen_lines_of_i32_i8((int32_t *)to, (const int8_t *)from, lines);
    else if (bytes != sizes.from)
        cvmgen_lines_of_i8_i32((int8_t *)to, (const int32_t *)from, lines);
    else if (bytes == 1)
        cvmgen_lines_of_i8((int8_t *)to, (const int8_t *)from, lines);
    else if (bytes == 2)
        cvmgen_lines_of_i16((int16_t *)to, (const int16_t *)from, lines);
    else if (bytes == 4)
        cvmgen_lines_of_i32((int32_t *)to, (const int32_t *)from, lines);
    else
        cvmgen_lines_of_i64((int64_t *)to, (const int64_t *)from, lines);
}

/* The dimensions from `at` on. `dense` has, for each of those in front of the lines, the elements
   of one of its entries, if the target has them side by side. */
static void cvmgen_move_rows(char *to, const char *from, const cvmgen_axes *axes,
                             const cvmgen_lines *lines, const int64_t *dense, int at,
                             cvmgen_sizes sizes) {
    const cvmgen_axis *const axis = &axes->at[at];
    if (at == lines->left) {
        cvmgen_move_lines(to, from, lines, sizes);
        return;
    }
    for (int64_t i = 0; i < axis->extent; ++i) {
        char *const part = to + i * axis->to * sizes.to;
        if (i > 0 && axis->from == 0 && axis->to == dense[at])
            cvmgen_copy_rows(part, to, 1, axis->to * sizes.to, 0, 0, 1);
        else
            cvmgen_move_rows(part, from + i * axis->from * sizes.from, axes, lines, dense, at + 1,
                             sizes);
    }
}

static void cvmgen_move_box(char *to, const char *from, const cvmgen_axes *axes,
                            cvmgen_sizes sizes) {
    const cvmgen_lines lines = cvmgen_lines_in(axes, sizes);
    int64_t dense[CVMGEN_LIST_CAPACITY], size = 1;
    for (int i = axes->rank - 1; i >= 0; --i) {
        dense[i] = size;
        size = axes->at[i].to == size ? size * axes->at[i].extent : 0;
    }
    cvmgen_move_rows(to, from, axes, &lines, dense, 0, sizes);
}

/* The same in parts: entries of the outer dimensions, and pieces of the one at `cut`. */
typedef struct cvmgen_parts {
    char *to;
    const char *from;
    const cvmgen_axes *axes;
    cvmgen_sizes sizes;
    int cut;
    int64_t pieces, size; /* how many, and how many of its entries each has */
} cvmgen_parts;

static void cvmgen_move_part(const cvmgen_parts *box, int64_t number) {
    const cvmgen_axis *const at = box->axes->at, whole = at[box->cut];
    cvmgen_axes part = *box->axes;
    int64_t left = number / box->pieces, low = number % box->pieces * box->size;
    int64_t target = low * whole.to, source = low * whole.from;
    for (int i = box->cut - 1; i >= 0; --i) {
        target += left % at[i].extent * at[i].to;
        source += left % at[i].extent * at[i].from;
        left /= at[i].extent;
        part.at[i].extent = 1;
    }
    part.at[box->cut].extent = cvmgen_min_i64(box->size, whole.extent - low);
    if (part.at[box->cut].extent > 0)
        cvmgen_move_box(box->to + target * box->sizes.to, box->from + source * box->sizes.from,
                        &part, box->sizes);
}
static void cvmgen_move_some(const void *context, int64_t low, int64_t high) {
    for (int64_t number = low; number < high; ++number) cvmgen_move_part(context, number);
}

/* A piece is of about half a CVMGEN_PIECE. */
static void cvmgen_move_parts(char *to, const char *from, const cvmgen_axes *axes,
                              int64_t elements, cvmgen_sizes sizes) {
    const int64_t most = CVMGEN_PIECE / 2;
    cvmgen_parts box = {.to = to, .from = from, .axes = axes, .sizes = sizes};
    int64_t entry = elements * sizes.to, outer = 1;
    if (entry < 4 * most || axes->rank == 0) {
        cvmgen_move_box(to, from, axes, sizes);
        return;
    }
    for (; box.cut < axes->rank - 1 && entry / axes->at[box.cut].extent > most; ++box.cut) {
        entry /= axes->at[box.cut].extent;
        outer *= axes->at[box.cut].extent;
    }
    const int64_t whole = axes->at[box.cut].extent;
    box.pieces = cvmgen_min_i64(cvmgen_pieces(entry, most), whole);
    box.size = cvmgen_pieces(whole, box.pieces);
    cvmgen_share(outer * box.pieces, true, cvmgen_move_some, &box);
}

/* ---------------------------------------------------------------- any box */

void cvmgen_move(void *to, const cvmgen_list *to_steps, const void *from,
                 const cvmgen_list *from_steps, const cvmgen_list *box, int64_t to_bytes,
                 int64_t from_bytes) {
    const cvmgen_axes axes = cvmgen_sorted(to_steps, from_steps, box);
    const cvmgen_sizes sizes = {to_bytes, from_bytes};
    const int64_t elements = cvmgen_size(box);
    if (elements == 0) return;
    if (axes.rank == 1 && axes.at[0].to == 1 && axes.at[0].from == 1 && to_bytes == from_bytes)
        cvmgen_copy_bytes(to, from, elements * to_bytes);
    else if (cvmgen_is_turned(&axes))
        cvmgen_move_turned(to, to_bytes, from, from_bytes, &axes);
    else
        cvmgen_move_parts(to, from, &axes, elements, sizes);
}

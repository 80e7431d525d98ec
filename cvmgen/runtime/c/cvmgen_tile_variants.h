/* What the variants of the register tile are made of. */
#ifndef CVMGEN_TILE_VARIANTS_H
#define CVMGEN_TILE_VARIANTS_H
#include "cvmgen_kernel.h"
#include "cvmgen_tile.h"
#include "cvmgen_x86.h"
#include <string.h>

#if defined(__GNUC__) && defined(__aarch64__) && defined(__linux__) && !defined(__ARM_BIG_ENDIAN)
#define CVMGEN_ARM
#endif
#ifdef __GNUC__
#define CVMGEN_TARGET(features) __attribute__((target(features)))
#else
#define CVMGEN_TARGET(features)
#endif
#ifdef __clang__
#define CVMGEN_UNROLL _Pragma("clang loop unroll(full)")
#define CVMGEN_UNROLL_BY_2 _Pragma("clang loop unroll_count(2)")
#elif defined(__GNUC__)
#define CVMGEN_UNROLL _Pragma("GCC unroll 16")
#define CVMGEN_UNROLL_BY_2 _Pragma("GCC unroll 2")
#else
#define CVMGEN_UNROLL
#define CVMGEN_UNROLL_BY_2
#endif

#define COLUMNS CVMGEN_TILE_COLUMNS

typedef enum cvmgen_taken { CVMGEN_NOT_TAKEN, CVMGEN_SLOWER, CVMGEN_AS_FAST } cvmgen_taken;
typedef struct cvmgen_variant_row {
    const char *name;
    bool (*there)(void);
    void (*run)(const cvmgen_tile *tile);
    cvmgen_taken elements; /* whether rows may hold them */
} cvmgen_variant_row;

/* Those of a kind of processor, the best first; behind the last one without a name. */
extern const cvmgen_variant_row cvmgen_x86_variants[], cvmgen_arm_variants[];
extern const cvmgen_variant_row cvmgen_generic_variants[];

/* Sums in a panel have their lowest byte first: what this machine's words are in memory, or
   back. */
CVMGEN_INLINE void cvmgen_order_sums(uint32_t *sums) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (int c = 0; c < COLUMNS; ++c) sums[c] = __builtin_bswap32(sums[c]);
#else
    (void)sums;
#endif
}

/* The totals of some rows, from `row` on, and of as many panels as the function is for, the first
   of which is `panel`. */
typedef void cvmgen_block(const cvmgen_tile *tile, int64_t row, int64_t rows, const int8_t *panel,
                          int32_t *to, int64_t step);
/* Put to[c * step + r] = from[r * from_step + c] for r < rows and c < COLUMNS. Reads COLUMNS rows,
   writes no more than `rows` of a column. */
typedef void cvmgen_turn(int32_t *to, int64_t step, const int32_t *from, int64_t from_step,
                         int64_t rows);

/* How a variant makes totals: of one panel or two; of four for at most FEW_ROWS rows, enough sums
   at once that an instruction need not wait for the one before it; of one for a single row. */
enum { FEW_ROWS = 4 };
typedef struct cvmgen_blocks {
    cvmgen_block *one, *two, *four, *single; /* but for the first NULL where they do not pay */
    cvmgen_turn *turn;
} cvmgen_blocks;
void cvmgen_run_blocks(const cvmgen_tile *tile, const cvmgen_blocks *blocks);
cvmgen_turn cvmgen_turn_totals; /* by what every processor of its kind has */

/* Blocks of so many rows, and what is left of them: each number is a constant somewhere, so that
   the sums are registers. The tile is copied, since for all that compilers know totals change
   it. */
#define CVMGEN_CASE(name, rows, panels)                          \
    case rows:                                                   \
        name##_sums(&given, row, panel, to, step, rows, panels); \
        break;
#define CVMGEN_BLOCK_OF_4(name, target, panels)                                                 \
    target static void name##_4_by_##panels(const cvmgen_tile *tile, int64_t row, int64_t rows, \
                                            const int8_t *panel, int32_t *to, int64_t step) {   \
        const cvmgen_tile given = *tile;                                                        \
        for (; rows >= 4; rows -= 4, row += 4, to += 4 * step)                                  \
            name##_sums(&given, row, panel, to, step, 4, panels);                               \
        switch (rows) {                                                                         \
            CVMGEN_CASE(name, 1, panels)                                                        \
            CVMGEN_CASE(name, 2, panels)                                                        \
            CVMGEN_CASE(name, 3, panels)                                                        \
        }                                                                                       \
    }
#define CVMGEN_BLOCK_OF_8(name, target, panels)                                                 \
    target static void name##_8_by_##panels(const cvmgen_tile *tile, int64_t row, int64_t rows, \
                                            const int8_t *panel, int32_t *to, int64_t step) {   \
        const cvmgen_tile given = *tile;                                                        \
        for (; rows >= 8; rows -= 8, row += 8, to += 8 * step)                                  \
            name##_sums(&given, row, panel, to, step, 8, panels);                               \
        switch (rows) {                                                                         \
            CVMGEN_CASE(name, 1, panels)                                                        \
            CVMGEN_CASE(name, 2, panels)                                                        \
            CVMGEN_CASE(name, 3, panels)                                                        \
            CVMGEN_CASE(name, 4, panels)                                                        \
            CVMGEN_CASE(name, 5, panels)                                                        \
            CVMGEN_CASE(name, 6, panels)                                                        \
            CVMGEN_CASE(name, 7, panels)                                                        \
        }                                                                                       \
    }
#endif

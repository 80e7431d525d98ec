/* What brings elements and totals into the order in which they are read. */
#include "cvmgen_tile_variants.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

bool cvmgen_narrow_run(int8_t *to, const int32_t *from, int64_t count) {
    for (int64_t at = 0; at < count; at += 4096) {
        const int64_t end = cvmgen_min_i64(at + 4096, count);
        uint32_t beyond = 0;
        for (int64_t i = at; i < end; ++i) {
            beyond |= (uint32_t)from[i] + 128;
            to[i] = (int8_t)from[i];
        }
        if (beyond > 255) return false;
    }
    return true;
}

void cvmgen_sum_panel(int8_t *panel, int64_t quads) {
    const int8_t *w = panel + 4 * COLUMNS;
    uint32_t sums[COLUMNS] = {0};
    for (int64_t quad = 0; quad < quads; ++quad, w += 4 * COLUMNS)
        for (int c = 0; c < COLUMNS; ++c)
            sums[c] += (uint32_t)(w[4 * c] + w[4 * c + 1] + w[4 * c + 2] + w[4 * c + 3]);
    cvmgen_order_sums(sums);
    memcpy(panel, sums, sizeof sums);
}

/* ---------------------------------------------------------------- element by element */

static void turn_few_totals(int32_t *to, int64_t step, const int32_t *from, int64_t from_step,
                            int64_t rows) {
    for (int64_t c = 0; c < COLUMNS; ++c)
        for (int64_t r = 0; r < rows; ++r) to[c * step + r] = from[r * from_step + c];
}
static void pack_few_quads(int8_t *to, const int8_t *from, int64_t from_step, int64_t quads) {
    for (int64_t quad = 0; quad < quads; ++quad)
        for (int64_t c = 0; c < COLUMNS; ++c)
            memcpy(to + 4 * (COLUMNS * quad + c), from + c * from_step + 4 * quad, 4);
}
static void turn_few_bytes(uint8_t *to, int64_t to_step, const int8_t *from, int64_t from_step,
                           int64_t rows, int64_t columns, uint8_t flip) {
    for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i)
            to[j * to_step + i] = (uint8_t)from[i * from_step + j] ^ flip;
}

#ifdef __SSE2__
/* ---------------------------------------------------------------- square by square */

/* Of 4 rows, `from_bytes` apart, 4 numbers of 32 bits each. */
CVMGEN_INLINE void turn_square(int32_t *to, int64_t step, const void *from, int64_t from_bytes) {
    const char *const rows = (const char *)from;
    __m128i a[4];
    CVMGEN_UNROLL
    for (int r = 0; r < 4; ++r) a[r] = _mm_loadu_si128((const __m128i *)(rows + r * from_bytes));
    const __m128i low = _mm_unpacklo_epi32(a[0], a[1]), high = _mm_unpackhi_epi32(a[0], a[1]);
    const __m128i next_low = _mm_unpacklo_epi32(a[2], a[3]);
    const __m128i next_high = _mm_unpackhi_epi32(a[2], a[3]);
    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi64(low, next_low));
    _mm_storeu_si128((__m128i *)(to + step), _mm_unpackhi_epi64(low, next_low));
    _mm_storeu_si128((__m128i *)(to + 2 * step), _mm_unpacklo_epi64(high, next_high));
    _mm_storeu_si128((__m128i *)(to + 3 * step), _mm_unpackhi_epi64(high, next_high));
}
void cvmgen_turn_totals(int32_t *to, int64_t step, const int32_t *from, int64_t from_step,
                        int64_t rows) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
        for (int c = 0; c < COLUMNS; c += 4)
            turn_square(to + c * step + r, step, from + r * from_step + c, 4 * from_step);
    turn_few_totals(to + r, step, from + r * from_step, from_step, rows - r);
}
void cvmgen_pack_quads(int8_t *to, const int8_t *from, int64_t from_step, int64_t quads) {
    int64_t quad = 0;
    for (; quad + 4 <= quads; quad += 4)
        for (int c = 0; c < COLUMNS; c += 4)
            turn_square((int32_t *)(void *)(to + 4 * (COLUMNS * quad + c)), COLUMNS,
                        from + c * from_step + 4 * quad, from_step);
    pack_few_quads(to + 4 * COLUMNS * quad, from + 4 * quad, from_step, quads - quad);
}

/* 16 rows of `width` bytes: each round brings rows together that are half as far apart. */
CVMGEN_INLINE void turn_bytes(uint8_t *to, int64_t to_step, const int8_t *from, int64_t from_step,
                              uint8_t flip, const int width) {
    const __m128i flips = _mm_set1_epi8((char)flip);
    __m128i a[16], b[16];
    CVMGEN_UNROLL
    for (int i = 0; i < 16; ++i) {
        __m128i row = _mm_setzero_si128();
        memcpy(&row, from + i * from_step, (size_t)width);
        a[i] = _mm_xor_si128(row, flips);
    }
    CVMGEN_UNROLL
    for (int round = 0; round < 4; ++round) {
        CVMGEN_UNROLL
        for (int i = 0; i < 8; ++i) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
        }
        CVMGEN_UNROLL
        for (int i = 0; i < 16; ++i) a[i] = b[i];
    }
    CVMGEN_UNROLL
    for (int j = 0; j < width; ++j) _mm_storeu_si128((__m128i *)(to + j * to_step), a[j]);
}
/* Where 16 rows, or so many columns, do not go up in a whole, the last squares overlap. */
CVMGEN_INLINE void turn_by(uint8_t *to, int64_t to_step, const int8_t *from, int64_t from_step,
                           int64_t rows, int64_t columns, uint8_t flip, const int width) {
    for (int64_t next = 0; next < columns; next += width) {
        const int64_t j = cvmgen_min_i64(next, columns - width);
        for (int64_t following = 0; following < rows; following += 16) {
            const int64_t i = cvmgen_min_i64(following, rows - 16);
            turn_bytes(to + j * to_step + i, to_step, from + i * from_step + j, from_step, flip,
                       width);
        }
    }
}
void cvmgen_turn_bytes(uint8_t *to, int64_t to_step, const int8_t *from, int64_t from_step,
                       int64_t rows, int64_t columns, uint8_t flip) {
    if (rows < 16 || columns < 4)
        turn_few_bytes(to, to_step, from, from_step, rows, columns, flip);
    else if (columns < 8)
        turn_by(to, to_step, from, from_step, rows, columns, flip, 4);
    else if (columns < 16)
        turn_by(to, to_step, from, from_step, rows, columns, flip, 8);
    else
        turn_by(to, to_step, from, from_step, rows, columns, flip, 16);
}
#else
void cvmgen_turn_totals(int32_t *to, int64_t step, const int32_t *from, int64_t from_step,
                        int64_t rows) {
    turn_few_totals(to, step, from, from_step, rows);
}
void cvmgen_pack_quads(int8_t *to, const int8_t *from, int64_t from_step, int64_t quads) {
    pack_few_quads(to, from, from_step, quads);
}
void cvmgen_turn_bytes(uint8_t *to, int64_t to_step, const int8_t *from, int64_t from_step,
                       int64_t rows, int64_t columns, uint8_t flip) {
    turn_few_bytes(to, to_step, from, from_step, rows, columns, flip);
}
#endif

/* Elements of a box moved from one walk to another. */
#ifndef CVMGEN_MOVES_H
#define CVMGEN_MOVES_H
#include "cvmgen_runtime.h"

/* to[at . to_steps] = from[at . from_steps] for each multi-index `at` of a box, whatever its rank.
   An element has 1, 2, 4 or 8 bytes, on both sides as many, or it is an integer of 1 byte on one of
   them and of 4 on the other. No two elements go to one place. */
void cvmgen_move(void *to, const cvmgen_list *to_steps, const void *from,
                 const cvmgen_list *from_steps, const cvmgen_list *box, int64_t to_bytes,
                 int64_t from_bytes);

/* cvmgen_move_i32 moves elements of int32_t; cvmgen_move_i32_i8 makes them of int8_t. */
#define CVMGEN_MOVE(kind, to_type, from_type)                                                     \
    static inline void cvmgen_move_##kind(to_type *to, const cvmgen_list *to_steps,               \
                                          const from_type *from, const cvmgen_list *from_steps,   \
                                          const cvmgen_list *box) {                               \
        cvmgen_move(to, to_steps, from, from_steps, box, (int64_t)sizeof(to_type),                \
                    (int64_t)sizeof(from_type));                                                  \
    }
CVMGEN_MOVE(i8, int8_t, int8_t)
CVMGEN_MOVE(i16, int16_t, int16_t)
CVMGEN_MOVE(u8, uint8_t, uint8_t)
CVMGEN_MOVE(u16, uint16_t, uint16_t)
CVMGEN_MOVE(i32, int32_t, int32_t)
CVMGEN_MOVE(i64, int64_t, int64_t)
CVMGEN_MOVE(i32_i8, int32_t, int8_t)
CVMGEN_MOVE(i8_i32, int8_t, int32_t)
#endif

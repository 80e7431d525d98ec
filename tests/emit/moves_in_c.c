/* Moves boxes, from memory of just their size to memory of just their size: for test_moves.py.

   A box comes as the bytes of an element, how many elements there are on both sides, where the
   walk of the source begins, the rank, and for each dimension its extent and both steps; it is
   answered by the number of elements of the target that are wrong. */
#include "cvmgen_moves.h"

static int64_t number(void) {
    int64_t value;
    if (scanf("%" SCNd64, &value) != 1) exit(2);
    return value;
}
static char *memory(int64_t bytes, unsigned seed) {
    char *made = malloc((size_t)bytes);
    if (made == NULL) exit(2);
    for (int64_t i = 0; i < bytes; ++i) made[i] = (char)((seed = seed * 1103515245u + 1) >> 16);
    return made;
}
static int64_t wrong(int64_t bytes) {
    const int64_t target_size = number(), source_size = number(), first = number();
    cvmgen_list box = {0}, to_steps = {0}, from_steps = {0};
    char *const moved = memory(target_size * bytes, 1);
    char *const expected = memory(target_size * bytes, 1);
    char *const source = memory(source_size * bytes, 2);
    int64_t found = 0;
    for (int64_t left = number(); left > 0; --left) {
        cvmgen_append(&box, number());
        cvmgen_append(&to_steps, number());
        cvmgen_append(&from_steps, number());
    }
    for (int64_t i = 0; i < cvmgen_size(&box); ++i) {
        const cvmgen_list at = cvmgen_unflatten(i, &box);
        const int64_t from = first + cvmgen_dot(&at, &from_steps);
        memcpy(expected + cvmgen_dot(&at, &to_steps) * bytes, source + from * bytes, (size_t)bytes);
    }
    cvmgen_move(moved, &to_steps, source + first * bytes, &from_steps, &box, bytes);
    for (int64_t i = 0; i < target_size; ++i)
        found += memcmp(moved + i * bytes, expected + i * bytes, (size_t)bytes) != 0;
    free(moved), free(expected), free(source);
    return found;
}

int main(void) {
    int64_t bytes;
    while (scanf("%" SCNd64, &bytes) == 1) printf("%" PRId64 "\n", wrong(bytes));
    return 0;
}

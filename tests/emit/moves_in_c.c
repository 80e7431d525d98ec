/* Moves boxes, from memory of just their size to memory of just their size: for test_moves.py.

   A box comes as the bytes of an element on both sides, how many elements there are on both sides, where the
   walk of the source begins, the rank, and for each dimension its extent and both steps; runs that
   are to lie side by side come as 0, the bytes of an element, the step between runs, how many there
   are and how long, and the lanes for them. Both are answered by the number of elements of the
   target that are wrong. */
#include "cvmgen_moves.h"
#include "cvmgen_turns.h"

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
/* The element of the target that an element of the source becomes. */
static void put(char *to, int64_t bytes, const char *from, int64_t from_bytes) {
    int32_t word = 0;
    if (bytes == from_bytes) {
        memcpy(to, from, (size_t)bytes);
    } else if (from_bytes == 1) {
        word = *(const int8_t *)from;
        memcpy(to, &word, sizeof word);
    } else {
        memcpy(&word, from, sizeof word);
        *(int8_t *)to = (int8_t)word;
    }
}
static int64_t wrong(int64_t bytes) {
    const int64_t from_bytes = number();
    const int64_t target_size = number(), source_size = number(), first = number();
    cvmgen_list box = {0}, to_steps = {0}, from_steps = {0};
    char *const moved = memory(target_size * bytes, 1);
    char *const expected = memory(target_size * bytes, 1);
    char *const source = memory(source_size * from_bytes, 2);
    int64_t found = 0;
    for (int64_t left = number(); left > 0; --left) {
        cvmgen_append(&box, number());
        cvmgen_append(&to_steps, number());
        cvmgen_append(&from_steps, number());
    }
    for (int64_t i = 0; i < cvmgen_size(&box); ++i) {
        const cvmgen_list at = cvmgen_unflatten(i, &box);
        const int64_t from = first + cvmgen_dot(&at, &from_steps);
        put(expected + cvmgen_dot(&at, &to_steps) * bytes, bytes, source + from * from_bytes,
            from_bytes);
    }
    cvmgen_move(moved, &to_steps, source + first * from_bytes, &from_steps, &box, bytes,
                from_bytes);
    for (int64_t i = 0; i < target_size; ++i)
        found += memcmp(moved + i * bytes, expected + i * bytes, (size_t)bytes) != 0;
    free(moved), free(expected), free(source);
    return found;
}

static int64_t wrong_runs(void) {
    const int64_t bytes = number(), step = number(), runs = number(), count = number();
    const int64_t lanes = number();
    char *const turned = memory(count * lanes * bytes, 1);
    char *const source = memory(((runs - 1) * step + count) * bytes, 2);
    int64_t found = 0;
    cvmgen_turn_runs(turned, source, step, runs, count, lanes, bytes);
    for (int64_t k = 0; k < count; ++k)
        for (int64_t r = 0; r < lanes; ++r) {
            const int64_t from = (r < runs ? r : runs - 1) * step + k;
            found += memcmp(turned + (k * lanes + r) * bytes, source + from * bytes,
                            (size_t)bytes) != 0;
        }
    free(turned), free(source);
    return found;
}

int main(void) {
    int64_t bytes;
    while (scanf("%" SCNd64, &bytes) == 1)
        printf("%" PRId64 "\n", bytes == 0 ? wrong_runs() : wrong(bytes));
    return 0;
}

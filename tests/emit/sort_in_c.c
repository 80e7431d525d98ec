/* Sorts the lists that it reads, each in memory of just its size: for test_sort.py.

   A list comes as its length, its width and its keys; it holds the numbers below its length, and
   is printed as a line. With the argument "scratch" counts come, of which memory is asked for. */
#include "cvmgen_runtime.h"

static int64_t *entries(int64_t count) {
    cvmgen_error error;
    int64_t *memory;
    if (cvmgen_scratch(&error, "s", count, 1, &memory)) exit(2);
    return memory;
}
static void sort(int64_t count, int64_t width) {
    int64_t *list = entries(count), *keys = entries(count * width), *spare = entries(2 * count);
    int64_t *kept = entries(count * width);
    for (int64_t i = 0; i < count; ++i) list[i] = i;
    for (int64_t i = 0; i < count * width; ++i)
        if (scanf("%" SCNd64, keys + i) != 1) exit(2);
    memcpy(kept, keys, (size_t)(count * width) * sizeof *keys);
    cvmgen_sort(list, keys, width, spare, count);
    if (memcmp(kept, keys, (size_t)(count * width) * sizeof *keys)) exit(3);
    for (int64_t i = 0; i < count; ++i) printf("%" PRId64 " ", list[i]);
    printf("\n");
    free(list), free(keys), free(spare), free(kept);
}
static void ask(int64_t count) {
    cvmgen_error error;
    int64_t *memory, *other;
    cvmgen_begin(&error, "a.b");
    const int status = cvmgen_scratch(&error, "s", count, 1, &memory);
    if (cvmgen_scratch(NULL, "s", count, 1, &other) != status) exit(3);
    printf("%d %d %s %s\n", status, (int)error.status, memory ? "memory" : "NULL", error.value);
    free(memory), free(other);
}

int main(int argc, char **argv) {
    int64_t count, width;
    const bool asks = argc > 1 && strcmp(argv[1], "scratch") == 0;
    while (scanf("%" SCNd64, &count) == 1)
        if (asks)
            ask(count);
        else if (scanf("%" SCNd64, &width) == 1)
            sort(count, width);
    return 0;
}

/* Tasks are done once each; where a thread comes late, calls do without threads for a while. */
#include "cvmgen.h"
#include "cvmgen_threads.h"
#include <omp.h>

enum { MOST = 100 };
typedef struct watch {
    int done[MOST], together[MOST]; /* by several threads */
    int begun;                      /* the second task is */
    double start;
} watch;

static void count_task(const void *context, int64_t number) {
    watch *const seen = (watch *)context;
    seen->done[number] += 1;
    seen->together[number] = omp_in_parallel();
}
/* Whether so many tasks were shared by threads; -1 if one was not done just once. */
static int are_shared(int64_t count) {
    watch seen = {.begun = 0};
    int shared = 0;
    cvmgen_share(count, count_task, &seen);
    for (int64_t i = 0; i < MOST; ++i) {
        if (seen.done[i] != (i < count)) return -1;
        shared |= seen.together[i];
    }
    return shared;
}

/* The first task is done when the second has begun, which goes on for longer than that took. */
static void late_task(const void *context, int64_t number) {
    watch *const seen = (watch *)context;
    const double limit = seen->start + 1;
    int begun = 0;
    if (number == 1) {
#pragma omp atomic write
        seen->begun = 1;
        const double now = omp_get_wtime(), end = now + 2 * (now - seen->start) + 0.005;
        while (omp_get_wtime() < end) continue;
    }
    while (number == 0 && !begun && omp_get_wtime() < limit) {
#pragma omp atomic read
        begun = seen->begun;
    }
}

int main(void) {
    int shared = 0, left = 0;
    cvmgen_set_threads(1);
    for (int64_t count = 0; count <= MOST; ++count)
        if (are_shared(count) != 0) return 1;
    cvmgen_set_threads(3);
    for (int attempt = 0; attempt < 100 && !(shared && left); ++attempt) {
        watch late = {.begun = 0};
        for (int64_t count = 0; count <= MOST; ++count) {
            const int found = are_shared(count);
            if (found < 0) return 2;
            shared |= found;
        }
        late.start = omp_get_wtime();
        cvmgen_share(2, late_task, &late);
        left |= are_shared(MOST) == 0;
    }
    return shared && left ? 0 : 3;
}

/* Iterations are done once each, by several threads where there are some; in a child too. */
#include "cvmgen.h"
#include "cvmgen_threads.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 2000 };
typedef struct watch {
    int done[MOST];
    int64_t total;
    pthread_t caller;
    bool elsewhere, nested; /* another thread did some; iterations share others */
} watch;

static void count_within(const void *context, int64_t low, int64_t high) {
    for (int64_t i = low; i < high; ++i) ++((int *)context)[i];
}
/* Few iterations take long: other threads have the time to begin. */
static void count(const void *context, int64_t low, int64_t high) {
    watch *const seen = (watch *)context;
    const struct timespec pause = {0, 500000};
    int64_t total = 0;
    for (int64_t i = low; i < high; ++i) {
        int within[8] = {0};
        ++seen->done[i];
        if (seen->nested) cvmgen_share(8, true, count_within, within);
        for (int k = 0; k < 8; ++k) total += within[k] == seen->nested;
    }
    if (high - low == 1) nanosleep(&pause, NULL);
    cvmgen_lock();
    seen->total += total;
    seen->elsewhere |= !pthread_equal(pthread_self(), seen->caller);
    cvmgen_unlock();
}
/* Whether other threads did some of so many iterations; -1 if one was not done just once. */
static int are_shared(int64_t number, bool worth, bool nested) {
    watch *const seen = calloc(1, sizeof *seen);
    seen->caller = pthread_self();
    seen->nested = nested;
    cvmgen_share(number, worth, count, seen);
    int found = seen->total == 8 * number ? seen->elsewhere : -1;
    for (int64_t i = 0; i < MOST; ++i)
        if (seen->done[i] != (i < number)) found = -1;
    free(seen);
    return found;
}
static int try_numbers(int threads) {
    int found = 0;
    cvmgen_set_threads(threads);
    for (int64_t number = 0; number <= MOST; number += 1 + number / 4) {
        const int shared = are_shared(number, true, false);
        if (shared < 0 || are_shared(number, true, true) < 0) return -1;
        if (are_shared(number, false, false) != 0) return -1;
        found |= shared;
    }
    return found;
}
static int try_often(void) {
    int found = 0;
    for (int i = 0; i < 20 && found == 0; ++i) found = try_numbers(3);
    return found;
}

/* Calls from two threads: one of them has no others to share with. */
static void *call(void *wrong) {
    for (int i = 0; i < 50; ++i)
        if (are_shared(MOST, true, false) < 0) *(int *)wrong = 1;
    return NULL;
}
static int try_at_once(void) {
    int wrong[2] = {0};
    pthread_t other;
    if (pthread_create(&other, NULL, call, &wrong[0]) != 0) return 1;
    call(&wrong[1]);
    pthread_join(other, NULL);
    return wrong[0] | wrong[1];
}

int main(void) {
    int status = 0;
    if (try_numbers(1) != 0) return 1;
    if (try_often() != THREADS) return 2;
    if (try_at_once()) return 3;
#ifndef __SANITIZE_THREAD__ /* which does without forks of several threads */
    const pid_t child = fork();
    if (child == 0) return try_often() == THREADS ? 0 : 4;
    if (waitpid(child, &status, 0) != child) return 5;
#endif
    return WIFEXITED(status) ? WEXITSTATUS(status) : 6;
}

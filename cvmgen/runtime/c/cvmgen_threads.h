/* Threads that share the iterations of a loop. */
#ifndef CVMGEN_THREADS_H
#define CVMGEN_THREADS_H
#include <stdbool.h>
#include <stdint.h>

/* The iterations from `low` on, below `high`. */
typedef void cvmgen_task(const void *context, int64_t low, int64_t high);

#ifdef __cplusplus
extern "C" {
#endif
/* Do the iterations 0..count-1, each once, by as many threads as cvmgen_set_threads allows, if that
   is worth it. Iterations that stand beside each other go to one thread, and to the same one from
   call to call, as far as that keeps all of them busy. A call inside of a part has no threads. */
void cvmgen_share(int64_t count, bool worth, cvmgen_task *task, const void *context);
/* The same by so many threads at most, where so many parts of the iterations are worth a call of
   `task` each, and no more of them. */
void cvmgen_share_among(int threads, int64_t count, int64_t parts, cvmgen_task *task,
                        const void *context);

/* Around what parts change together. */
void cvmgen_lock(void);
void cvmgen_unlock(void);

/* How many threads calls may use: what cvmgen_set_threads has said, or as many as is usual. */
int cvmgen_thread_count(void);
#ifdef __cplusplus
}
#endif
#endif

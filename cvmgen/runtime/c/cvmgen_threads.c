/* Threads that share the iterations of a loop: who is done takes what is left of others.

   A call waits for no thread that has not begun: another program, or the threads of another
   library, may have its processor. The calling thread goes through all that is left of those,
   closes the call, and waits for those only that are inside. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for the processors that threads may use */
#endif
#include "cvmgen_threads.h"
#include "cvmgen_kernel.h"

/* What says so is -pthread. Machines of 32 bits may lack what changes 64 bits at once. */
#if defined(_REENTRANT) && __GCC_ATOMIC_LLONG_LOCK_FREE == 2 && \
    (defined(__unix__) || defined(__APPLE__))
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && defined(CPU_COUNT) && !defined(__ANDROID__)
#define CVMGEN_PLACES /* the system says on which processors threads are, and may be told */
#endif

enum {
    MOST_THREADS = 256,
    PARTS = 16,   /* of the iterations of a thread, if so many are worth it */
    KEPT = 2,     /* of so many parts are left to a thread that is late in a short call */
    ALIGNED = 64, /* far longer parts begin with lines of the cache */
    PAUSES = 16,  /* between two looks at the clock */
    STACK = 1 << 21,
};
static const int64_t AWAKE = 100000; /* nanoseconds for which a thread looks for another call */
static const int64_t WAKING = 20000; /* nanoseconds of work that are worth to wake threads */
static const int64_t CACHED = 100000; /* nanoseconds of work on what caches may hold */
static const int64_t SHORT = 4000;   /* nanoseconds of a call that is not worth it, ever */

/* Parts that stand beside each other for one thread, on a line of the cache of their own: the first
   of those that are left, and above it the one behind the last. */
enum { END_AT = 32 };
typedef struct share {
    _Alignas(64) uint64_t left;
} share;

/* Threads may begin with a call as long as it is open. The state says so by one bit; below it is
   how many threads are inside, above it how many may be, and the number that tells a call from
   others. All else is of the calling thread, and of those inside. */
enum { INSIDE = 0xffff, OPEN = 1 << 16, THREADS_AT = 20, MOST_AT = 0xfff, NUMBER_AT = 32 };
static struct {
    _Alignas(64) uint64_t state;
    _Alignas(64) share shares[MOST_THREADS];
    cvmgen_task *task;
    const void *context;
    int64_t count, parts, unit; /* iterations, what they are divided into, where parts begin */
    int threads, processor; /* where the calling thread was */
    int64_t alone, closed; /* nanoseconds of work while threads slept, and when that ended */
    _Alignas(64) int taken; /* by a call */
    int asleep, workers;
    bool leaving;
    pthread_t worker[MOST_THREADS];
#ifdef CVMGEN_PLACES
    cpu_set_t usual; /* the processors of the thread that started the others */
    int avoided;     /* one more than the processor that sleeping threads do not wake up on */
#endif
} pool;
static pthread_mutex_t sleeping = PTHREAD_MUTEX_INITIALIZER, together = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;

static inline void pause_shortly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---------------------------------------------------------------- the iterations of a call */

/* The first part of a share. */
static int64_t first_of(int thread) { return pool.parts * thread / pool.threads; }
/* The first iteration of a part. */
static int64_t begin_of(int64_t part) {
    if (part == pool.parts) return pool.count;
    return pool.count * part / pool.parts / pool.unit * pool.unit;
}
static bool work_on(int64_t first, int64_t end) {
    if (first < end) pool.task(pool.context, begin_of(first), begin_of(end));
    return first < end;
}
/* Do the first part that is left of a share; false if none is, which is seen first: an atomic
   operation waits until all that the part before it has stored has left. */
static bool work_on_own(share *own) {
    uint64_t left = __atomic_load_n(&own->left, __ATOMIC_RELAXED);
    if ((uint32_t)left >= left >> END_AT) return false;
    left = __atomic_fetch_add(&own->left, 1, __ATOMIC_RELAXED);
    const int64_t first = (uint32_t)left;
    return work_on(first, first < (int64_t)(left >> END_AT) ? first + 1 : first);
}
/* Do the last part of another thread's share; false if none is left, or no more than are kept for
   the thread, which has begun. */
static bool work_on_other(int thread, int64_t kept) {
    share *const other = &pool.shares[thread];
    uint64_t left = __atomic_load_n(&other->left, __ATOMIC_RELAXED);
    int64_t first, end;
    do {
        first = (uint32_t)left, end = (int64_t)(left >> END_AT);
        if (first + (first > first_of(thread) ? kept : 0) >= end) return false;
    } while (!__atomic_compare_exchange_n(&other->left, &left, left - (UINT64_C(1) << END_AT), true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return work_on(end - 1, end);
}
/* Do all that is left, beginning with the share of one thread, but for parts that are kept for
   others. What a short call reads and writes is in the caches of who did it before: to get that
   takes longer than to wait for one who is a little late. */
static void work_as(int thread, int64_t kept) {
    const bool few = pool.parts < pool.threads * PARTS;
    const int64_t begin = few ? 0 : now();
    while (work_on_own(&pool.shares[thread])) continue;
    if (few || now() - begin > CACHED) kept = 0;
    for (int i = 1; i < pool.threads; ++i)
        while (work_on_other((thread + i) % pool.threads, kept)) continue;
}
/* Do so share by share, with as few calls. */
static void work_alone(void) {
    for (int i = 0; i < pool.threads; ++i) {
        const uint64_t left = __atomic_exchange_n(&pool.shares[i].left, 0, __ATOMIC_RELAXED);
        work_on((uint32_t)left, (int64_t)(left >> END_AT));
    }
}

/* ---------------------------------------------------------------- threads */

/* Whether a thread may begin with a call that it has not seen. */
static inline bool may_begin(uint64_t state, int thread, uint64_t seen) {
    return (state & OPEN) != 0 && state >> NUMBER_AT != seen &&
           thread < (int)(state >> THREADS_AT & MOST_AT);
}
/* Threads beside the calling thread, on its processor, would wait for milliseconds while others are
   free. So they wake up elsewhere, and those that find themselves there leave it. */
#ifdef CVMGEN_PLACES
static bool keep_away(pthread_t thread, int processor) {
    cpu_set_t others = pool.usual;
    CPU_CLR(processor, &others);
    return CPU_COUNT(&others) > 0 && pthread_setaffinity_np(thread, sizeof others, &others) == 0;
}
static void send_away(void) {
    const int avoided = pool.processor + 1;
    if (__atomic_exchange_n(&pool.avoided, avoided, __ATOMIC_RELAXED) == avoided) return;
    for (int i = 0; i < pool.workers; ++i) keep_away(pool.worker[i], pool.processor);
}
/* True where this thread has left; it may have waited then. */
static bool made_way(void) {
    const int processor = __atomic_load_n(&pool.processor, __ATOMIC_RELAXED);
    if (sched_getcpu() != processor || !keep_away(pthread_self(), processor)) return false;
    __atomic_store_n(&pool.avoided, 0, __ATOMIC_RELAXED);
    return true;
}
#else
static void send_away(void) {}
static bool made_way(void) { return false; }
#endif

/* Look for such a call for a while: most often another one comes soon. Where one stays open with
   nothing left to do, its calling thread may wait for this processor. */
static bool find_call(int thread, uint64_t seen, uint64_t *state) {
    const int64_t begin = now();
    int64_t passed = 0;
    for (; passed < AWAKE; passed = now() - begin) {
        for (int i = 0; i < PAUSES; ++i) {
            *state = __atomic_load_n(&pool.state, __ATOMIC_ACQUIRE);
            if (may_begin(*state, thread, seen)) return true;
            pause_shortly();
        }
        if ((*state & OPEN) != 0 && passed > AWAKE / 2) sched_yield();
    }
    return false;
}
/* Sleep until a call wakes this thread; false if there will be none. */
static bool sleep_until_called(int thread, uint64_t seen) {
    pthread_mutex_lock(&sleeping);
    __atomic_fetch_add(&pool.asleep, 1, __ATOMIC_SEQ_CST);
    if (!pool.leaving && !may_begin(__atomic_load_n(&pool.state, __ATOMIC_SEQ_CST), thread, seen))
        pthread_cond_wait(&called, &sleeping);
    __atomic_fetch_sub(&pool.asleep, 1, __ATOMIC_SEQ_CST);
    const bool leaving = pool.leaving;
    pthread_mutex_unlock(&sleeping);
    return !leaving;
}
static void *work_for_calls(void *number) {
    const int thread = (int)(intptr_t)number;
    uint64_t seen = UINT64_MAX, state;
    do {
        while (find_call(thread, seen, &state)) {
            if (made_way() ||
                !__atomic_compare_exchange_n(&pool.state, &state, state + 1, false,
                                             __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                continue;
            seen = state >> NUMBER_AT;
            work_as(thread, KEPT);
            __atomic_fetch_sub(&pool.state, 1, __ATOMIC_RELEASE);
        }
    } while (sleep_until_called(thread, seen));
    return NULL;
}
static void wake_all(bool to_leave) {
    pthread_mutex_lock(&sleeping);
    pool.leaving = to_leave;
    pthread_cond_broadcast(&called);
    pthread_mutex_unlock(&sleeping);
}

/* The child of a fork has the thread that made it only. */
static void forget_threads(void) {
    memset(&pool, 0, sizeof pool);
    pthread_mutex_init(&sleeping, NULL);
    pthread_mutex_init(&together, NULL);
    pthread_cond_init(&called, NULL);
}
static void prepare_for_forks(void) { pthread_atfork(NULL, NULL, forget_threads); }

/* Where the library goes, what threads run goes too. */
__attribute__((destructor)) static void end_threads(void) {
    __atomic_store_n(&pool.taken, 1, __ATOMIC_RELAXED); /* later calls have no threads */
    wake_all(true);
    for (int i = 0; i < pool.workers; ++i) pthread_join(pool.worker[i], NULL);
}

/* Start threads until there are so many; signals are for those of the program. */
static void start_threads(int count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_once(&once, prepare_for_forks);
#ifdef CVMGEN_PLACES
    if (pool.workers == 0) sched_getaffinity(0, sizeof pool.usual, &pool.usual);
#endif
    if (pthread_attr_init(&attributes) != 0) return;
    pthread_attr_setstacksize(&attributes, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (pool.workers < count) {
        void *const number = (void *)(intptr_t)(pool.workers + 1);
        if (pthread_create(&pool.worker[pool.workers], &attributes, work_for_calls, number) != 0)
            break;
        ++pool.workers;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* ---------------------------------------------------------------- calls */

/* Wake threads where that takes less time than they spare: in a call that goes on for long, as its
   first part shows, or in one of many that follow each other. Else there is nobody to share
   with. */
static void work_and_wake(void) {
    const int64_t begin = now();
    if (begin - pool.closed > AWAKE) pool.alone = 0;
    work_on_own(&pool.shares[0]);
    const int64_t left = (now() - begin) * (pool.parts - 1);
    if (left >= SHORT) pool.alone += left;
    if (pool.alone >= WAKING) {
        pool.alone = 0;
        send_away();
        wake_all(false);
        work_as(0, 0); /* who wakes up comes late */
    } else {
        work_alone();
    }
    pool.closed = now();
}
static void share_out(int64_t count, int threads, int64_t worth, cvmgen_task *task,
                      const void *context) {
    /* Several ones for a thread are to be longer: each begins with an atomic operation. */
    const int64_t each = cvmgen_max_i64(1, cvmgen_min_i64(worth / threads / 2, PARTS));
    pool.task = task;
    pool.context = context;
    pool.count = count;
    pool.parts = cvmgen_min_i64(count, threads * each);
    pool.unit = count / pool.parts >= PARTS * ALIGNED ? ALIGNED : 1;
    pool.threads = threads;
#ifdef CVMGEN_PLACES
    __atomic_store_n(&pool.processor, sched_getcpu(), __ATOMIC_RELAXED);
#endif
    for (int i = 0; i < threads; ++i)
        pool.shares[i].left = (uint64_t)first_of(i + 1) << END_AT | (uint64_t)first_of(i);
    uint64_t state = __atomic_load_n(&pool.state, __ATOMIC_RELAXED);
    state = ((state >> NUMBER_AT) + 1) << NUMBER_AT | (uint64_t)threads << THREADS_AT | OPEN;
    __atomic_store_n(&pool.state, state, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool.asleep, __ATOMIC_SEQ_CST) > 0)
        work_and_wake();
    else
        work_as(0, KEPT);
    state = __atomic_and_fetch(&pool.state, ~(uint64_t)OPEN, __ATOMIC_ACQUIRE);
    for (int i = 1; (state & INSIDE) != 0; ++i) {
        pause_shortly();
        if (i % (16 * PAUSES) == 0) sched_yield();
        state = __atomic_load_n(&pool.state, __ATOMIC_ACQUIRE);
    }
}

void cvmgen_share_among(int threads, int64_t count, int64_t parts, cvmgen_task *task,
                        const void *context) {
    threads = (int)cvmgen_min_i64(cvmgen_min_i64(count, parts), threads);
    if (threads > 1 && __atomic_exchange_n(&pool.taken, 1, __ATOMIC_ACQUIRE) == 0) {
        threads = (int)cvmgen_min_i64(threads, MOST_THREADS);
        if (threads > pool.workers + 1) start_threads(threads - 1);
        threads = (int)cvmgen_min_i64(threads, pool.workers + 1);
        if (threads > 1) share_out(count, threads, parts, task, context);
        __atomic_store_n(&pool.taken, 0, __ATOMIC_RELEASE);
        if (threads > 1) return;
    }
    if (count > 0) task(context, 0, count);
}
void cvmgen_lock(void) { pthread_mutex_lock(&together); }
void cvmgen_unlock(void) { pthread_mutex_unlock(&together); }

/* ---------------------------------------------------------------- how many */

static int most_usual;

/* What other libraries obey too, or the processors that this process may use. */
static void find_usual(void) {
    const char *const wanted = getenv("OMP_NUM_THREADS");
    const long given = wanted == NULL ? 0 : strtol(wanted, NULL, 10);
    most_usual = (int)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CVMGEN_PLACES
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) == 0) most_usual = CPU_COUNT(&own);
#endif
    if (0 < given && given <= MOST_THREADS) most_usual = (int)given;
}
static int usual_threads(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_usual);
    return most_usual;
}
#else
static int usual_threads(void) { return 1; }
void cvmgen_share_among(int threads, int64_t count, int64_t parts, cvmgen_task *task,
                        const void *context) {
    (void)threads, (void)parts;
    if (count > 0) task(context, 0, count);
}
void cvmgen_lock(void) {}
void cvmgen_unlock(void) {}
#endif

static int threads_set; /* 0: none are */

void cvmgen_set_threads(int count) {
    __atomic_store_n(&threads_set, count > 0 ? count : 0, __ATOMIC_RELAXED);
}
int cvmgen_thread_count(void) {
    const int count = __atomic_load_n(&threads_set, __ATOMIC_RELAXED);
    return count > 0 ? count : usual_threads();
}
void cvmgen_share(int64_t count, bool worth, cvmgen_task *task, const void *context) {
    cvmgen_share_among(worth ? cvmgen_thread_count() : 1, count, INT64_MAX, task, context);
}

/* The threads of a block as fibers of one thread of the host.

   A fiber runs one thread after the other, so that kernels without barriers cost no switch. One
   whose thread meets a barrier waits in it, and another fiber goes on. A barrier opens when all
   threads that it is for wait in it, at one place of the text; behind it the first threads run as
   far as they get before the others, so that a barrier that is missing shows. When all threads
   that are left wait, some went elsewhere: the kernel fails. */
#include "cvmgen_cpu_block.h"

#include <stdarg.h>
#include <stdio.h>

#include "cvmgen_cpu_fibers.h"
#include "cvmgen_cpu_races.h"

CVMGEN_CPU_PRIVATE uint3 threadIdx, blockIdx, blockDim, gridDim;
CVMGEN_CPU_PRIVATE cvmgen_cpu_block cvmgen_cpu_running;

namespace {

/* A thread, while it waits. */
struct waiting {
    cvmgen_cpu_fiber *fiber; /* that holds it; NULL: not begun, at work or ended */
    cvmgen_cpu_barrier barrier;
    int64_t value; /* what it brought, then what it found */
    uint32_t lane; /* whose value it asks for */
    bool open;     /* it may go on */
};

/* All of this is of the block that runs: launches take turns. Threads have numbers, x first, and
   places in the order in which they begin. */
waiting threads[CVMGEN_CPU_THREADS];
uint3 indices[CVMGEN_CPU_THREADS];                 /* by place */
uint32_t places[CVMGEN_CPU_THREADS];               /* by number */
uint32_t numbers[CVMGEN_CPU_THREADS];              /* by place */
uint64_t ready[CVMGEN_CPU_THREADS / 64];           /* bits by place: may go on */
uint32_t held[CVMGEN_CPU_THREADS / warpSize];      /* of each warp: lanes that wait for others */
uint32_t arrived;                                  /* how many wait for the block */
CVMGEN_CPU_PRIVATE cvmgen_cpu_copies copies[CVMGEN_CPU_THREADS]; /* by number */
bool copying;                                      /* some of them are not empty */
cvmgen_cpu_kernel kernel;
cvmgen_cpu_fiber scheduler, *current, *idle;
char failure[400];

/* ---------------------------------------------------------------- what goes wrong */

__attribute__((format(printf, 1, 2))) CVMGEN_UNINSTRUMENTED void say(const char *format, ...) {
    const size_t used = strlen(failure);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure + used, sizeof failure - used, format, arguments);
    va_end(arguments);
}
CVMGEN_UNINSTRUMENTED void say_index(const char *what, const uint3 &index, const uint3 &size) {
    if (size.y * size.z == 1)
        say("%s %u", what, index.x);
    else
        say("%s (%u, %u, %u)", what, index.x, index.y, index.z);
}
CVMGEN_UNINSTRUMENTED void say_thread(const char *before, uint32_t number) {
    say("%s", before);
    say_index("thread", indices[places[number]], blockDim);
}
CVMGEN_UNINSTRUMENTED void say_place(uint32_t number) {
    const cvmgen_cpu_barrier &barrier = threads[number].barrier;
    const char *file = barrier.file;
    if (strncmp(file, "./", 2) == 0) file += 2; /* found in a folder named to the compiler */
    say(" waits at %s:%d", file, barrier.line);
}
CVMGEN_UNINSTRUMENTED void say_where(uint32_t number) {
    say_index("block", blockIdx, gridDim);
    say_thread(": ", number);
    say_place(number);
}

/* ---------------------------------------------------------------- barriers */

CVMGEN_UNINSTRUMENTED bool same(const cvmgen_cpu_barrier &a, const cvmgen_cpu_barrier &b) {
    return a.operation == b.operation && a.lanes == b.lanes && a.line == b.line &&
           (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* The numbers of the threads that a barrier may be for. */
struct range {
    uint32_t begin, end;
};
CVMGEN_UNINSTRUMENTED range range_of(uint32_t number) {
    const uint32_t all = cvmgen_cpu_running.threads, first = number / warpSize * warpSize;
    if (threads[number].barrier.lanes == 0) return {0, all};
    return {first, all - first < warpSize ? all : first + warpSize};
}
CVMGEN_UNINSTRUMENTED bool is_for(uint32_t number, uint32_t other) {
    const uint32_t lanes = threads[number].barrier.lanes;
    return lanes == 0 || (lanes >> other % warpSize & 1);
}
CVMGEN_UNINSTRUMENTED bool is_in(uint32_t number, uint32_t other) {
    const waiting &thread = threads[other];
    return thread.fiber != NULL && !thread.open &&
           same(thread.barrier, threads[number].barrier);
}
CVMGEN_UNINSTRUMENTED bool complete(uint32_t number) {
    const uint32_t lanes = threads[number].barrier.lanes;
    const range those = range_of(number);
    if (lanes == 0) {
        if (arrived < those.end) return false;
    } else {
        const uint32_t there = UINT32_MAX >> (warpSize - (those.end - those.begin));
        if (lanes & there & ~held[number / warpSize]) return false;
    }
    for (uint32_t each = those.begin; each < those.end; ++each)
        if (is_for(number, each) && !is_in(number, each)) return false;
    return true;
}

/* One value of a warp's threads and the next. */
CVMGEN_UNINSTRUMENTED int64_t combined(cvmgen_cpu_operation operation, int64_t a, int64_t b) {
    switch (operation) {
        case CVMGEN_CPU_AND: return a & b;
        case CVMGEN_CPU_OR: return a | b;
        case CVMGEN_CPU_XOR: return a ^ b;
        case CVMGEN_CPU_MIN: return a < b ? a : b;
        case CVMGEN_CPU_MAX: return a > b ? a : b;
        default: return a + b;
    }
}
/* What all threads of a barrier find, unless each finds its own. */
CVMGEN_UNINSTRUMENTED int64_t found_by_all(uint32_t number) {
    const cvmgen_cpu_operation operation = threads[number].barrier.operation;
    const range those = range_of(number);
    bool first = true;
    int64_t found = 0;
    for (uint32_t each = those.begin; each < those.end; ++each) {
        if (!is_for(number, each)) continue;
        int64_t value = threads[each].value;
        if (operation == CVMGEN_CPU_COUNT) value = value != 0;
        if (operation == CVMGEN_CPU_BALLOT) value = (int64_t)(value != 0) << each % warpSize;
        found = first ? value : combined(operation, found, value);
        first = false;
    }
    return found;
}
CVMGEN_UNINSTRUMENTED void shuffle(uint32_t number) {
    const range those = range_of(number);
    int64_t values[warpSize];
    for (uint32_t each = those.begin; each < those.end; ++each)
        values[each - those.begin] = threads[each].value;
    for (uint32_t each = those.begin; each < those.end; ++each)
        if (is_for(number, each)) threads[each].value = values[threads[each].lane];
}
CVMGEN_UNINSTRUMENTED void open(uint32_t number) {
    const range those = range_of(number);
    const bool shuffles = threads[number].barrier.operation == CVMGEN_CPU_SHUFFLE;
    const int64_t found = shuffles ? 0 : found_by_all(number);
    if (shuffles) shuffle(number);
    for (uint32_t each = those.begin; each < those.end; ++each) {
        if (!is_for(number, each)) continue;
        if (!shuffles) threads[each].value = found;
        threads[each].open = true;
        ready[places[each] / 64] |= UINT64_C(1) << places[each] % 64;
        ++cvmgen_cpu_running.ready;
    }
    const cvmgen_cpu_barrier &barrier = threads[number].barrier;
    if (barrier.lanes == 0) {
        arrived = 0;
        cvmgen_cpu_races_barrier();
    } else {
        held[number / warpSize] &= ~barrier.lanes;
        if (barrier.operation == CVMGEN_CPU_MEMORY)
            cvmgen_cpu_races_warp(those.begin, those.end, barrier.lanes);
    }
}

/* Whether a thread may wait where it does. */
CVMGEN_UNINSTRUMENTED bool is_legal(uint32_t number) {
    const waiting &thread = threads[number];
    const uint32_t lanes = thread.barrier.lanes;
    const range those = range_of(number);
    if (thread.barrier.operation == CVMGEN_CPU_COUNT) return true;
    if (!(lanes >> number % warpSize & 1)) {
        say_where(number);
        say(" for the lanes 0x%08x, and is not one of them", lanes);
        return false;
    }
    const bool there = thread.lane < those.end - those.begin && (lanes >> thread.lane & 1);
    if (thread.barrier.operation == CVMGEN_CPU_SHUFFLE && !there) {
        say_where(number);
        say(" for the value of lane %u, which is not one of the lanes 0x%08x", thread.lane, lanes);
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the scheduler */

/* On a fiber: run threads while no other may go on, and be idle in between. */
CVMGEN_UNINSTRUMENTED void run_threads() {
    cvmgen_cpu_enter(current);
    for (;;) {
        kernel.run(kernel.call);
        current->next = idle;
        idle = current;
        cvmgen_cpu_switch(current, &scheduler);
    }
}
CVMGEN_UNINSTRUMENTED void resume(cvmgen_cpu_fiber *fiber) {
    current = fiber;
    cvmgen_cpu_races_watch(fiber->stack, CVMGEN_CPU_STACK);
    cvmgen_cpu_switch(&scheduler, fiber);
    const char *race = cvmgen_cpu_races_found();
    if (race != NULL && failure[0] == 0) say("%s", race);
}
CVMGEN_UNINSTRUMENTED void begin() {
    cvmgen_cpu_fiber *fiber = idle;
    if (fiber != NULL)
        idle = fiber->next;
    else
        fiber = cvmgen_cpu_make_fiber(run_threads);
    if (fiber != NULL)
        resume(fiber);
    else
        say("no memory for the stack of a thread");
}
/* Let the first thread that may go on do so. */
CVMGEN_UNINSTRUMENTED void go_on() {
    uint32_t word = 0;
    while (ready[word] == 0) ++word;
    const uint32_t place = word * 64 + (uint32_t)__builtin_ctzll(ready[word]);
    waiting &thread = threads[numbers[place]];
    cvmgen_cpu_fiber *fiber = thread.fiber;
    ready[word] &= ready[word] - 1;
    --cvmgen_cpu_running.ready;
    thread.fiber = NULL;
    thread.open = false;
    threadIdx = indices[place];
    resume(fiber);
}

/* A thread waits for another that does not come. */
CVMGEN_UNINSTRUMENTED void fail(uint32_t number) {
    const range those = range_of(number);
    uint32_t other = those.begin;
    while (other + 1 < those.end && (!is_for(number, other) || is_in(number, other))) ++other;
    say_where(number);
    say_thread(" for ", other);
    if (threads[other].fiber == NULL) {
        say(", which has ended");
        return;
    }
    say(", which");
    say_place(other);
    const uint32_t lanes = threads[other].barrier.lanes;
    if (lanes != 0 && lanes != threads[number].barrier.lanes) say(" for the lanes 0x%08x", lanes);
}
/* Take all fibers back from threads that will not end. */
CVMGEN_UNINSTRUMENTED void abandon() {
    for (uint32_t number = 0; number < cvmgen_cpu_running.threads; ++number) {
        cvmgen_cpu_fiber *fiber = threads[number].fiber;
        if (fiber == NULL) continue;
        threads[number] = {};
        cvmgen_cpu_restart(fiber, run_threads);
        fiber->next = idle;
        idle = fiber;
    }
    memset(ready, 0, sizeof ready);
}

/* What a fiber sees again behind a switch: other threads changed it in between. */
__attribute__((noinline)) CVMGEN_UNINSTRUMENTED int64_t found(uint32_t number) {
    return threads[number].value;
}

}  // namespace

CVMGEN_UNINSTRUMENTED int64_t cvmgen_cpu_wait(const cvmgen_cpu_barrier &barrier, int64_t value,
                                              uint32_t lane) {
    const uint32_t number = cvmgen_cpu_thread();
    threads[number] = {current, barrier, value, lane, false};
    if (is_legal(number)) {
        if (barrier.operation == CVMGEN_CPU_COUNT)
            ++arrived;
        else
            held[number / warpSize] |= 1u << number % warpSize;
        if (complete(number)) open(number);
    }
    cvmgen_cpu_switch(current, &scheduler);
    return found(number);
}

CVMGEN_UNINSTRUMENTED void cvmgen_cpu_arrange(int64_t order, cvmgen_cpu_random *random) {
    const uint32_t count = blockDim.x * blockDim.y * blockDim.z;
    for (uint32_t at = 0; at < count; ++at)
        numbers[at] = order == CVMGEN_CPU_REVERSE ? count - 1 - at : at;
    for (uint32_t at = count; order == CVMGEN_CPU_RANDOM && at > 1; --at) {
        const uint32_t other = (uint32_t)random->below(at), number = numbers[at - 1];
        numbers[at - 1] = numbers[other];
        numbers[other] = number;
    }
    for (uint32_t at = 0; at < count; ++at) {
        const uint32_t number = numbers[at], rows = number / blockDim.x;
        places[number] = at;
        indices[at] = {number % blockDim.x, rows % blockDim.y, rows / blockDim.y};
    }
}

CVMGEN_UNINSTRUMENTED cvmgen_cpu_copies &cvmgen_cpu_own_copies() {
    copying = true;
    return copies[cvmgen_cpu_thread()];
}

CVMGEN_UNINSTRUMENTED const char *cvmgen_cpu_run_block(const cvmgen_cpu_kernel &which) {
    cvmgen_cpu_block &block = cvmgen_cpu_running;
    block.threads = blockDim.x * blockDim.y * blockDim.z;
    block.begun = block.ready = arrived = 0;
    block.index = indices;
    kernel = which;
    failure[0] = 0;
    memset(held, 0, sizeof held);
    if (copying) memset(copies, 0, sizeof copies);
    copying = false;
    while (failure[0] == 0 && (block.ready > 0 || block.begun < block.threads))
        if (block.ready > 0)
            go_on();
        else
            begin();
    for (uint32_t number = 0; number < block.threads && failure[0] == 0; ++number)
        if (threads[number].fiber != NULL) fail(number);
    const char *unwritten = cvmgen_cpu_races_unwritten();
    if (unwritten != NULL && failure[0] == 0) say("%s", unwritten);
    if (failure[0] == 0) return NULL;
    abandon();
    return failure;
}

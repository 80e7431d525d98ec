/* The threads of a CUDA block as fibers of one CPU thread, with barriers between them.

   A fiber runs one thread after the other, so that kernels without barriers cost no switch. One
   whose thread meets a barrier waits in it, and another fiber goes on. A barrier opens when all
   threads that it is for wait in it, at one place of the text; behind it the first threads run as
   far as they get before the others, so that a barrier that is missing shows. When all threads
   that are left wait, some went elsewhere: the program says so and ends. */
#pragma once
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

struct dim3 {
    unsigned x, y, z;
    explicit dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline dim3 gridDim, blockDim, blockIdx, threadIdx;

struct cuda_fiber {
    ucontext_t context;
};

/* A barrier of a program: for these lanes of a warp, or with 0 for the block. */
struct cuda_barrier {
    unsigned lanes;
    const char *file;
    int line;

    bool operator==(const cuda_barrier &other) const {
        return lanes == other.lanes && file == other.file && line == other.line;
    }
};

struct cuda_thread {
    cuda_fiber *fiber = NULL; /* that holds it in a barrier; NULL: not begun, at work or ended */
    cuda_barrier barrier = {};
    bool holds = false; /* what it brought to the barrier */
    int64_t found = 0;  /* what the barrier gave it on opening */
    bool open = false;  /* it may go on */
    bool ended = false;
};

struct cuda_block {
    enum { STACK = 64 << 10, GUARD = 64 << 10, WARP = 32 };

    void (*kernel)(void *);
    void *arguments;
    bool backwards;
    ucontext_t scheduler;
    cuda_fiber *current;
    std::vector<cuda_fiber *> idle;
    std::vector<cuda_thread> threads;
    size_t begun;           /* how many */
    size_t held;            /* how many wait for the block */
    std::set<size_t> ready; /* those that may go on, by their place in the order */

    /* Run all threads of a block to their end. */
    void run() {
        begun = held = 0;
        threads.assign(blockDim.x, cuda_thread());
        while (begun < threads.size() || !ready.empty())
            if (ready.empty())
                resume(idle.empty() ? make_fiber() : take_idle());
            else
                go_on(nth(*ready.begin()));
        for (size_t at = 0; at < threads.size(); ++at)
            if (threads[at].fiber) fail(at);
    }

    /* Wait until all threads of the barrier have come. Of a block: how many of them hold; of a
       warp: its lanes that do. */
    int64_t wait(const cuda_barrier &barrier, bool holds) {
        const size_t at = threadIdx.x;
        threads[at].fiber = current;
        threads[at].barrier = barrier;
        threads[at].holds = holds;
        held += barrier.lanes == 0;
        if (complete(at)) open(at);
        swapcontext(&current->context, &scheduler);
        return threads[at].found;
    }

  private:
    /* In the order in which threads run: the thread of a place, the place of a thread. */
    size_t nth(size_t number) const { return backwards ? threads.size() - 1 - number : number; }

    cuda_fiber *take_idle() {
        cuda_fiber *fiber = idle.back();
        idle.pop_back();
        return fiber;
    }
    /* A fiber lives as long as the program. In front of its stack lies memory that faults. */
    cuda_fiber *make_fiber() {
        cuda_fiber *fiber = new cuda_fiber();
        void *memory = mmap(NULL, GUARD + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *stack = static_cast<char *>(memory) + GUARD;
        if (memory == MAP_FAILED || mprotect(stack, STACK, PROT_READ | PROT_WRITE)) abort();
        getcontext(&fiber->context);
        fiber->context.uc_stack.ss_sp = stack;
        fiber->context.uc_stack.ss_size = STACK;
        fiber->context.uc_link = NULL;
        makecontext(&fiber->context, run_fiber, 0);
        return fiber;
    }
    static void run_fiber();
    /* On a fiber: begin threads while no other may go on, and be idle in between. */
    void run_threads() {
        for (;;) {
            while (begun < threads.size() && ready.empty()) {
                threadIdx = dim3((unsigned)nth(begun++));
                kernel(arguments);
                threads[threadIdx.x].ended = true;
            }
            idle.push_back(current);
            swapcontext(&current->context, &scheduler);
        }
    }
    void resume(cuda_fiber *fiber) {
        current = fiber;
        swapcontext(&scheduler, &fiber->context);
    }

    void go_on(size_t at) {
        cuda_fiber *fiber = threads[at].fiber;
        threads[at].fiber = NULL;
        threads[at].open = false;
        ready.erase(nth(at));
        threadIdx = dim3((unsigned)at);
        resume(fiber);
    }

    /* The threads that the barrier of a thread may be for. */
    size_t begin(size_t waiting) const {
        return threads[waiting].barrier.lanes == 0 ? 0 : waiting / WARP * WARP;
    }
    size_t end(size_t waiting) const {
        const size_t last = begin(waiting) + WARP;
        const bool all = threads[waiting].barrier.lanes == 0 || last > threads.size();
        return all ? threads.size() : last;
    }
    bool is_for(size_t waiting, size_t other) const {
        const unsigned lanes = threads[waiting].barrier.lanes;
        return lanes == 0 || (lanes >> other % WARP & 1);
    }
    bool is_in(size_t waiting, size_t other) const {
        const cuda_thread &thread = threads[other];
        return thread.fiber && !thread.open && thread.barrier == threads[waiting].barrier;
    }
    bool complete(size_t waiting) const {
        if (threads[waiting].barrier.lanes == 0 && held < threads.size()) return false;
        for (size_t i = begin(waiting); i < end(waiting); ++i)
            if (is_for(waiting, i) && !is_in(waiting, i)) return false;
        return is_for(waiting, waiting);
    }
    void open(size_t waiting) {
        const bool whole = threads[waiting].barrier.lanes == 0;
        int64_t found = 0;
        for (size_t i = begin(waiting); i < end(waiting); ++i)
            if (is_for(waiting, i) && threads[i].holds)
                found += whole ? 1 : INT64_C(1) << i % WARP;
        for (size_t i = begin(waiting); i < end(waiting); ++i)
            if (is_for(waiting, i)) {
                threads[i].found = found;
                threads[i].open = true;
                ready.insert(nth(i));
            }
        if (whole) held = 0;
    }
    /* A thread waits for another that does not come. */
    [[noreturn]] void fail(size_t waiting) const {
        const cuda_barrier &barrier = threads[waiting].barrier;
        size_t other = begin(waiting);
        while (other + 1 < end(waiting) && (!is_for(waiting, other) || is_in(waiting, other)))
            ++other;
        fprintf(stderr, "block %u: thread %zu waits at %s:%d for thread %zu, which ", blockIdx.x,
                waiting, barrier.file, barrier.line, other);
        if (threads[other].ended)
            fprintf(stderr, "has ended\n");
        else
            fprintf(stderr, "waits at %s:%d\n", threads[other].barrier.file,
                    threads[other].barrier.line);
        abort();
    }
};
inline cuda_block cuda_threads;
inline void cuda_block::run_fiber() { cuda_threads.run_threads(); }

/* ---------------------------------------------------------------- barriers of the language */

/* The place of a barrier is that of its caller, which default arguments tell. */
#define CUDA_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(CUDA_PLACE) { cuda_threads.wait({0, file, line}, false); }
inline int __syncthreads_count(int holds, CUDA_PLACE) {
    return (int)cuda_threads.wait({0, file, line}, holds != 0);
}
inline int __syncthreads_or(int holds, CUDA_PLACE) {
    return cuda_threads.wait({0, file, line}, holds != 0) != 0;
}
inline int __syncthreads_and(int holds, CUDA_PLACE) {
    return cuda_threads.wait({0, file, line}, holds == 0) == 0;
}

/* Lanes that the block does not have hold nothing and are not waited for. */
inline unsigned __ballot_sync(unsigned lanes, int holds, CUDA_PLACE) {
    return (unsigned)cuda_threads.wait({lanes, file, line}, holds != 0);
}
inline void __syncwarp(unsigned lanes = 0xffffffffu, CUDA_PLACE) {
    cuda_threads.wait({lanes, file, line}, false);
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

/* The threads of a CUDA block as fibers of one CPU thread, with barriers between them.

   A fiber runs one thread after the other, so that kernels without barriers cost no switch; one
   that meets a barrier waits in it, and the next fiber goes on with the threads that have not
   begun. A barrier opens when all threads that it is for wait in it, at one place of the text.
   When no barrier can open, threads wait for others that went elsewhere: the program is told so
   and ends. */
#pragma once
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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
    cuda_fiber *waiting = NULL; /* in a barrier; NULL: not begun, at work or ended */
    bool ended = false;
    cuda_barrier barrier = {};
    int64_t given = 0; /* what it brought to the barrier */
    int64_t seen = 0;  /* what others find that it brought, until the next one opens */
};

struct cuda_block {
    enum { STACK = 64 << 10, GUARD = 64 << 10, WARP = 32 };

    void (*kernel)(void *);
    void *arguments;
    bool backwards;
    size_t begun; /* threads */
    std::vector<cuda_thread> threads;
    std::vector<cuda_fiber *> idle;
    cuda_fiber *current;
    ucontext_t scheduler;

    /* Run all threads of a block to their end. */
    void run() {
        begun = 0;
        threads.assign(blockDim.x, cuda_thread());
        while (begun < threads.size()) resume(idle.empty() ? make_fiber() : take_idle());
        while (open_a_barrier()) {}
        for (size_t i = 0; i < threads.size(); ++i)
            if (threads[i].waiting) fail(i);
    }

    /* Wait until all threads of the barrier have come; then each sees what the others gave. */
    void wait(const cuda_barrier &barrier, int64_t given) {
        cuda_thread &self = threads[threadIdx.x];
        self.waiting = current;
        self.barrier = barrier;
        self.given = given;
        swapcontext(&current->context, &scheduler);
    }

    /* Where the threads of this thread's warp begin and end. */
    size_t warp_begin() const { return threadIdx.x / WARP * WARP; }
    size_t warp_end() const {
        const size_t end = warp_begin() + WARP;
        return end < threads.size() ? end : threads.size();
    }

  private:
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
    /* On a fiber: run threads while there are any, and be idle until there are others. */
    void run_threads() {
        for (;;) {
            while (begun < threads.size()) {
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

    bool is_for(size_t waiting, size_t other) const {
        const unsigned lanes = threads[waiting].barrier.lanes;
        return lanes == 0 || (waiting / WARP == other / WARP && lanes >> other % WARP & 1);
    }
    bool is_in(size_t waiting, size_t other) const {
        return threads[other].waiting && threads[other].barrier == threads[waiting].barrier;
    }
    bool complete(size_t waiting) const {
        if (!is_for(waiting, waiting)) return false;
        for (size_t i = 0; i < threads.size(); ++i)
            if (is_for(waiting, i) && !is_in(waiting, i)) return false;
        return true;
    }
    /* Let the threads of a barrier go on where all have come; false where there is none. */
    bool open_a_barrier() {
        for (size_t number = 0; number < threads.size(); ++number) {
            const size_t at = nth(number);
            if (!threads[at].waiting || !complete(at)) continue;
            open(at);
            return true;
        }
        return false;
    }
    void open(size_t member) {
        std::vector<size_t> members;
        for (size_t number = 0; number < threads.size(); ++number)
            if (is_for(member, nth(number))) members.push_back(nth(number));
        for (size_t at : members) threads[at].seen = threads[at].given;
        for (size_t at : members) {
            cuda_fiber *fiber = threads[at].waiting;
            threads[at].waiting = NULL;
            threadIdx = dim3((unsigned)at);
            resume(fiber);
        }
    }
    /* A thread waits for another that does not come. */
    [[noreturn]] void fail(size_t waiting) const {
        const cuda_barrier &barrier = threads[waiting].barrier;
        size_t other = 0;
        while (other + 1 < threads.size() && (!is_for(waiting, other) || is_in(waiting, other)))
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

/* Wait for the whole block; the sum of what all threads gave. */
inline int64_t cuda_sum(int64_t given, const char *file, int line) {
    int64_t sum = 0;
    cuda_threads.wait({0, file, line}, given);
    for (const cuda_thread &each : cuda_threads.threads) sum += each.seen;
    return sum;
}
inline void __syncthreads(CUDA_PLACE) { cuda_sum(0, file, line); }
inline int __syncthreads_count(int holds, CUDA_PLACE) {
    return (int)cuda_sum(holds != 0, file, line);
}
inline int __syncthreads_or(int holds, CUDA_PLACE) { return cuda_sum(holds != 0, file, line) != 0; }
inline int __syncthreads_and(int holds, CUDA_PLACE) {
    return cuda_sum(holds == 0, file, line) == 0;
}

inline void __syncwarp(unsigned lanes = 0xffffffffu, CUDA_PLACE) {
    cuda_threads.wait({lanes, file, line}, 0);
}
/* Lanes that the block does not have hold nothing. */
inline unsigned __ballot_sync(unsigned lanes, int holds, CUDA_PLACE) {
    const size_t begin = cuda_threads.warp_begin(), end = cuda_threads.warp_end();
    unsigned held = 0;
    cuda_threads.wait({lanes, file, line}, holds != 0);
    for (size_t i = begin; i < end; ++i)
        if (lanes >> (i - begin) & 1) held |= (unsigned)cuda_threads.threads[i].seen << (i - begin);
    return held;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

/* Stacks to run on, and the switch from one to another. */
#ifndef CVMGEN_CPU_FIBERS_H
#define CVMGEN_CPU_FIBERS_H
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Machines for which there is no switch below, or a compiler's -DCVMGEN_CPU_UCONTEXT. */
#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(CVMGEN_CPU_UCONTEXT)
#define CVMGEN_CPU_UCONTEXT
#endif
#ifdef CVMGEN_CPU_UCONTEXT
#include <ucontext.h>
#endif
#ifdef CVMGEN_CPU_ADDRESSES
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* A place to go back to: a stack and what is kept on it. */
struct cvmgen_cpu_fiber {
#ifdef CVMGEN_CPU_UCONTEXT
    ucontext_t context;
#else
    void *top; /* where the registers lie that calls preserve */
#endif
#ifdef CVMGEN_CPU_ADDRESSES
    void *locals;       /* what the sanitizer keeps of it meanwhile */
    const void *lowest; /* byte of the stack that it was entered from, and the size of that */
    size_t size;
#endif
    char *stack;            /* its lowest byte; NULL: the stack of a thread of the host */
    cvmgen_cpu_fiber *next; /* of a list */
};

/* In front of a stack, toward which it grows, lies memory that faults. */
enum { CVMGEN_CPU_STACK = 256 << 10, CVMGEN_CPU_GUARD = 64 << 10 };

#ifndef CVMGEN_CPU_UCONTEXT
/* Keep the registers that calls preserve on this stack, and take those kept on another. */
extern "C" CVMGEN_CPU_INTERNAL void cvmgen_cpu_swap(void **from, void *to);

#define CVMGEN_CPU_TEXT(name) CVMGEN_CPU_TEXT_(name)
#define CVMGEN_CPU_TEXT_(name) #name
#define CVMGEN_CPU_SWAP CVMGEN_CPU_TEXT(__USER_LABEL_PREFIX__) "cvmgen_cpu_swap"
__asm__(".text\n"
        ".balign 16\n"
        ".globl " CVMGEN_CPU_SWAP "\n"
#ifdef __ELF__
        ".hidden " CVMGEN_CPU_SWAP "\n"
        ".type " CVMGEN_CPU_SWAP ", %function\n"
#endif
        CVMGEN_CPU_SWAP ":\n"
#ifdef __x86_64__
        "pushq %rbp\n"
        "pushq %rbx\n"
        "pushq %r12\n"
        "pushq %r13\n"
        "pushq %r14\n"
        "pushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\n"
        "popq %r14\n"
        "popq %r13\n"
        "popq %r12\n"
        "popq %rbx\n"
        "popq %rbp\n"
        "ret\n"
#else
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]\n"
        "stp x21, x22, [sp, #16]\n"
        "stp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]\n"
        "stp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\n"
        "stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "mov x9, sp\n"
        "str x9, [x0]\n"
        "mov sp, x1\n"
        "ldp x19, x20, [sp]\n"
        "ldp x21, x22, [sp, #16]\n"
        "ldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]\n"
        "ldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\n"
        "ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\n"
        "ret\n"
#endif
#ifdef __ELF__
        ".size " CVMGEN_CPU_SWAP ", . - " CVMGEN_CPU_SWAP "\n"
#endif
);
#endif

/* Let the next switch to a fiber call `start`, which enters it and never returns. */
CVMGEN_UNINSTRUMENTED static inline void cvmgen_cpu_restart(cvmgen_cpu_fiber *fiber,
                                                            void (*start)()) {
#ifdef CVMGEN_CPU_ADDRESSES
    __asan_unpoison_memory_region(fiber->stack, CVMGEN_CPU_STACK);
    fiber->locals = NULL;
#endif
#ifdef CVMGEN_CPU_UCONTEXT
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = CVMGEN_CPU_STACK;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, start, 0);
#else
    void **top = (void **)(fiber->stack + CVMGEN_CPU_STACK);
#ifdef __x86_64__
    /* From the top: no caller, whom to return to, six registers. */
    top -= 8;
    memset(top, 0, 8 * sizeof *top);
    top[6] = (void *)start;
#else
    top -= 20;
    memset(top, 0, 20 * sizeof *top);
    top[11] = (void *)start; /* x30, the register to return to */
#endif
    fiber->top = top;
#endif
}

/* A fiber that begins with `start`; NULL where there is no memory. It is never released. */
CVMGEN_UNINSTRUMENTED static inline cvmgen_cpu_fiber *cvmgen_cpu_make_fiber(void (*start)()) {
    const size_t size = CVMGEN_CPU_GUARD + CVMGEN_CPU_STACK;
    void *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    char *stack = (char *)memory + CVMGEN_CPU_GUARD;
    cvmgen_cpu_fiber *fiber = (cvmgen_cpu_fiber *)calloc(1, sizeof *fiber);
    if (fiber == NULL || mprotect(stack, CVMGEN_CPU_STACK, PROT_READ | PROT_WRITE) != 0) {
        free(fiber);
        munmap(memory, size);
        return NULL;
    }
    fiber->stack = stack;
    cvmgen_cpu_restart(fiber, start);
    return fiber;
}

/* The sanitizer of addresses is told of each switch: of the stack that is next before it, and
   behind it, on that stack, that this one is in use; it answers which one was left. */
CVMGEN_UNINSTRUMENTED static inline void cvmgen_cpu_leave([[maybe_unused]] cvmgen_cpu_fiber *from,
                                                          [[maybe_unused]] cvmgen_cpu_fiber *to) {
#ifdef CVMGEN_CPU_ADDRESSES
    const void *lowest = to->stack != NULL ? to->stack : from->lowest;
    const size_t size = to->stack != NULL ? (size_t)CVMGEN_CPU_STACK : from->size;
    __sanitizer_start_switch_fiber(&from->locals, lowest, size);
#endif
}
CVMGEN_UNINSTRUMENTED static inline void cvmgen_cpu_enter([[maybe_unused]] cvmgen_cpu_fiber *to) {
#ifdef CVMGEN_CPU_ADDRESSES
    __sanitizer_finish_switch_fiber(to->locals, &to->lowest, &to->size);
#endif
}

/* Leave the running fiber for another, until something switches back. Fibers with stacks of their
   own switch to no other but the one that they were entered from. */
CVMGEN_UNINSTRUMENTED static inline void cvmgen_cpu_switch(cvmgen_cpu_fiber *from,
                                                           cvmgen_cpu_fiber *to) {
    cvmgen_cpu_leave(from, to);
#ifdef CVMGEN_CPU_UCONTEXT
    swapcontext(&from->context, &to->context);
#else
    cvmgen_cpu_swap(&from->top, to->top);
#endif
    cvmgen_cpu_enter(from);
}
#endif

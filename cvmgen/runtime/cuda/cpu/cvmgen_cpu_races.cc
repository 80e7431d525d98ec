/* Races between threads, found while one runs after the other.

   The compiler calls a function here for each access to memory (-fsanitize=thread). Of each byte
   it is kept who wrote it last and two who read it since. Two accesses of one launch race if they
   are of two threads, at least one writes, not both are atomic, and nothing puts them in order:
   within a block, a barrier of the block or __syncwarp; between blocks, nothing. So a race shows
   in any order of threads. Reads of shared memory that nobody of the block had written are told as
   well, once the block has ended: it may be a race with one who wrote later.

   Of two readers the second is one of another block than the first, or of another warp, if there
   was one: a writer races with one of these if it races with any. */
#include "cvmgen_cpu_races.h"

#ifdef CVMGEN_CPU_RACES
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cvmgen_cpu_block.h"

/* The linker's: where this library lies, its memory without initial values, in which is what
   blocks share, and the runtime's variables. */
extern "C" CVMGEN_CPU_INTERNAL const char __ehdr_start[];
extern "C" CVMGEN_CPU_INTERNAL const char __bss_start[], _end[];
extern "C" CVMGEN_CPU_INTERNAL const char __start_cvmgen_private[], __stop_cvmgen_private[];

namespace {

/* A place of the text, as addresses of instructions: behind an access, and behind the call of a
   kernel that led there; NULL: the access is the kernel's own. */
struct text_place {
    const char *access, *call;
};
struct access_to_byte {
    uint64_t block; /* counted over all launches, from 1 on; 0: none */
    text_place place;
    uint32_t barriers; /* that the block had passed */
    uint32_t clock;    /* of the thread */
    uint16_t thread;
    bool atomic;
};
struct byte_record {
    access_to_byte write, reads[2];
};

enum { PAGE = 4096, PAGES = 256 };
struct page {
    page *next;
    uintptr_t number;
    byte_record bytes[PAGE];
};
page *pages[PAGES]; /* by number, the remainder */
int kept_pages;

/* The block that runs, and the launch. */
uint64_t first_block = 1, launched_blocks, this_block;
uint32_t barriers;
const char *dynamic_begin, *dynamic_end;
/* Of each thread: which clock it knows of each lane of its warp. Its own goes on where it meets
   others. */
uint32_t known[CVMGEN_CPU_THREADS][warpSize];
bool met;
/* Of each thread: how deep in calls it is, and the outermost call of a kernel. */
uint32_t depths[CVMGEN_CPU_THREADS];
const char *calls[CVMGEN_CPU_THREADS];

const char *stack_begin, *stack_end; /* NULL: no thread runs */
char failure[400], unwritten[200]; /* empty: none */

/* ---------------------------------------------------------------- what is told */

CVMGEN_UNINSTRUMENTED size_t say_place(char *to, size_t size, const text_place &place) {
    int used = snprintf(to, size, "{0x%" PRIxPTR, place.access - __ehdr_start - 1);
    if (place.call != NULL)
        used += snprintf(to + used, size - used, "<0x%" PRIxPTR, place.call - __ehdr_start - 1);
    return used + snprintf(to + used, size - used, "}");
}
CVMGEN_UNINSTRUMENTED uint64_t number_of(const access_to_byte &access) {
    return access.block - first_block;
}
CVMGEN_UNINSTRUMENTED void say_race(bool shared, bool writes, const access_to_byte &now,
                                    bool wrote, const access_to_byte &before) {
    char here[64], there[64], block[40] = "";
    say_place(here, sizeof here, now.place);
    say_place(there, sizeof there, before.place);
    if (now.block != before.block)
        snprintf(block, sizeof block, " of block %" PRIu64, number_of(before));
    snprintf(failure, sizeof failure,
             "race for %s memory: block %" PRIu64 ": thread %u %s at %s what thread %u%s %s at %s",
             shared ? "shared" : "global", number_of(now), now.thread, writes ? "writes" : "reads",
             here, before.thread, block, wrote ? "wrote" : "read", there);
}
CVMGEN_UNINSTRUMENTED void say_unwritten(const access_to_byte &now) {
    char here[64];
    say_place(here, sizeof here, now.place);
    snprintf(unwritten, sizeof unwritten,
             "block %" PRIu64 ": thread %u reads shared memory at %s that nobody had written",
             number_of(now), now.thread, here);
}

/* ---------------------------------------------------------------- what is kept */

/* The record of a byte; NULL where there is no memory for it. */
CVMGEN_UNINSTRUMENTED byte_record *record_of(const char *byte) {
    const uintptr_t number = (uintptr_t)byte / PAGE;
    page **first = &pages[number % PAGES], *each = *first;
    while (each != NULL && each->number != number) each = each->next;
    if (each == NULL) {
        each = (page *)calloc(1, sizeof *each);
        if (each == NULL) return NULL;
        each->number = number;
        each->next = *first;
        *first = each;
        ++kept_pages;
    }
    return &each->bytes[(uintptr_t)byte % PAGE];
}

CVMGEN_UNINSTRUMENTED bool in_order(const access_to_byte &before, const access_to_byte &now) {
    if (before.thread == now.thread || before.barriers != now.barriers) return true;
    return before.thread / warpSize == now.thread / warpSize &&
           known[now.thread][before.thread % warpSize] > before.clock;
}
CVMGEN_UNINSTRUMENTED bool race(const access_to_byte &before, const access_to_byte &now,
                                bool shared) {
    if (before.block < first_block || (before.atomic && now.atomic)) return false;
    return before.block == now.block ? !in_order(before, now) : !shared;
}

CVMGEN_UNINSTRUMENTED void keep_read(access_to_byte (&reads)[2], const access_to_byte &now) {
    const access_to_byte &last = reads[0];
    const bool elsewhere =
        last.block != now.block || last.thread / warpSize != now.thread / warpSize;
    if (last.thread != now.thread && (elsewhere || reads[1].block != now.block)) reads[1] = last;
    reads[0] = now;
}

CVMGEN_UNINSTRUMENTED bool is_shared(const char *byte) {
    return (dynamic_begin <= byte && byte < dynamic_end) ||
           (__bss_start <= byte && byte < _end);
}

CVMGEN_UNINSTRUMENTED bool is_private(const char *byte) {
    return (stack_begin <= byte && byte < stack_end) ||
           (__start_cvmgen_private <= byte && byte < __stop_cvmgen_private);
}

enum kind { READ = 1, WRITE = 2, BOTH = 3 };

CVMGEN_UNINSTRUMENTED void note_byte(const char *byte, kind how, const access_to_byte &now) {
    byte_record *record = record_of(byte);
    if (record == NULL) return;
    const bool shared = is_shared(byte), writes = how & WRITE;
    if (shared && (how & READ) && record->write.block != now.block && unwritten[0] == 0)
        say_unwritten(now);
    if (race(record->write, now, shared)) say_race(shared, writes, now, true, record->write);
    if (writes) {
        for (const access_to_byte &read : record->reads)
            if (race(read, now, shared)) say_race(shared, true, now, false, read);
        record->write = now;
    } else {
        keep_read(record->reads, now);
    }
}
CVMGEN_UNINSTRUMENTED void note(const volatile void *memory, size_t size, kind how, bool atomic,
                                const void *from) {
    const char *const begin = (const char *)memory;
    if (stack_begin == NULL || failure[0] != 0 || is_private(begin)) return;
    const uint32_t thread = cvmgen_cpu_thread();
    const text_place place = {(const char *)from, depths[thread] > 1 ? calls[thread] : NULL};
    const uint32_t clock = known[thread][thread % warpSize];
    const access_to_byte now = {this_block, place, barriers, clock, (uint16_t)thread, atomic};
    for (size_t at = 0; at < size && failure[0] == 0; ++at) note_byte(begin + at, how, now);
}

}  // namespace

/* ---------------------------------------------------------------- what happens */

CVMGEN_UNINSTRUMENTED void cvmgen_cpu_races_launch(uint64_t blocks, const void *dynamic,
                                                   size_t size) {
    first_block += launched_blocks;
    launched_blocks = blocks;
    dynamic_begin = (const char *)dynamic;
    dynamic_end = dynamic_begin + size;
    if (kept_pages < PAGES) return;
    /* What former launches did does not count any more. */
    for (page *&first : pages)
        while (first != NULL) {
            page *next = first->next;
            free(first);
            first = next;
        }
    kept_pages = 0;
}
CVMGEN_UNINSTRUMENTED void cvmgen_cpu_races_block(uint64_t number) {
    this_block = first_block + number;
    barriers = 0;
    failure[0] = unwritten[0] = 0;
    memset(depths, 0, sizeof depths);
    if (met) memset(known, 0, sizeof known);
    met = false;
}
CVMGEN_UNINSTRUMENTED void cvmgen_cpu_races_barrier() { ++barriers; }
CVMGEN_UNINSTRUMENTED void cvmgen_cpu_races_warp(uint32_t begin, uint32_t end, uint32_t lanes) {
    uint32_t all[warpSize] = {0};
    met = true;
    for (uint32_t thread = begin; thread < end; ++thread) {
        if (!(lanes >> thread % warpSize & 1)) continue;
        ++known[thread][thread % warpSize];
        for (uint32_t lane = 0; lane < warpSize; ++lane)
            if (known[thread][lane] > all[lane]) all[lane] = known[thread][lane];
    }
    for (uint32_t thread = begin; thread < end; ++thread)
        if (lanes >> thread % warpSize & 1) memcpy(known[thread], all, sizeof all);
}
CVMGEN_UNINSTRUMENTED void cvmgen_cpu_races_watch(const char *stack, size_t size) {
    stack_begin = stack;
    stack_end = stack + size;
}
CVMGEN_UNINSTRUMENTED const char *cvmgen_cpu_races_found() {
    stack_begin = NULL;
    return failure[0] != 0 ? failure : NULL;
}
CVMGEN_UNINSTRUMENTED const char *cvmgen_cpu_races_unwritten() {
    return unwritten[0] != 0 ? unwritten : NULL;
}

/* ---------------------------------------------------------------- what the compiler calls */

#define CVMGEN_CPU_HOOK CVMGEN_CPU_API CVMGEN_UNINSTRUMENTED
#define CVMGEN_CPU_CALLER __builtin_return_address(0)

#define CVMGEN_CPU_ACCESS(name, size, how)                                                \
    CVMGEN_CPU_HOOK void name(void *memory) {                                             \
        note(memory, size, how, false, CVMGEN_CPU_CALLER);                                \
    }
#define CVMGEN_CPU_ACCESSES(size)                                                         \
    CVMGEN_CPU_ACCESS(__tsan_read##size, size, READ)                                      \
    CVMGEN_CPU_ACCESS(__tsan_write##size, size, WRITE)                                    \
    CVMGEN_CPU_ACCESS(__tsan_unaligned_read##size, size, READ)                            \
    CVMGEN_CPU_ACCESS(__tsan_unaligned_write##size, size, WRITE)
CVMGEN_CPU_ACCESSES(1)
CVMGEN_CPU_ACCESSES(2)
CVMGEN_CPU_ACCESSES(4)
CVMGEN_CPU_ACCESSES(8)
CVMGEN_CPU_ACCESSES(16)

CVMGEN_CPU_HOOK void __tsan_read_range(void *memory, size_t size) {
    note(memory, size, READ, false, CVMGEN_CPU_CALLER);
}
CVMGEN_CPU_HOOK void __tsan_write_range(void *memory, size_t size) {
    note(memory, size, WRITE, false, CVMGEN_CPU_CALLER);
}
CVMGEN_CPU_HOOK void *__tsan_memcpy(void *to, const void *from, size_t size) {
    note(from, size, READ, false, CVMGEN_CPU_CALLER);
    note(to, size, WRITE, false, CVMGEN_CPU_CALLER);
    return memcpy(to, from, size);
}
CVMGEN_CPU_HOOK void *__tsan_memmove(void *to, const void *from, size_t size) {
    note(from, size, READ, false, CVMGEN_CPU_CALLER);
    note(to, size, WRITE, false, CVMGEN_CPU_CALLER);
    return memmove(to, from, size);
}
CVMGEN_CPU_HOOK void *__tsan_memset(void *memory, int value, size_t size) {
    note(memory, size, WRITE, false, CVMGEN_CPU_CALLER);
    return memset(memory, value, size);
}

CVMGEN_CPU_HOOK void __tsan_init() {}
CVMGEN_CPU_HOOK void __tsan_func_entry(void *from) {
    if (stack_begin == NULL) return;
    const uint32_t thread = cvmgen_cpu_thread();
    if (++depths[thread] == 2) calls[thread] = (const char *)from;
}
CVMGEN_CPU_HOOK void __tsan_func_exit() {
    if (stack_begin != NULL) --depths[cvmgen_cpu_thread()];
}

#define CVMGEN_CPU_ATOMIC_HOOK(bits, T, name, call)                                       \
    CVMGEN_CPU_HOOK T __tsan_atomic##bits##_##name(volatile void *memory, T value, int) { \
        note(memory, sizeof(T), BOTH, true, CVMGEN_CPU_CALLER);                           \
        return call((volatile T *)memory, value, __ATOMIC_RELAXED);                       \
    }
#define CVMGEN_CPU_EXCHANGE_HOOK(bits, T, name)                                           \
    CVMGEN_CPU_HOOK bool __tsan_atomic##bits##_compare_exchange_##name(                   \
        volatile void *memory, void *expected, T value, int, int) {                       \
        note(memory, sizeof(T), BOTH, true, CVMGEN_CPU_CALLER);                           \
        return __atomic_compare_exchange_n((volatile T *)memory, (T *)expected, value, false, \
                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED);           \
    }
#define CVMGEN_CPU_ATOMIC_HOOKS(bits, T)                                                  \
    CVMGEN_CPU_HOOK T __tsan_atomic##bits##_load(const volatile void *memory, int) {      \
        note(memory, sizeof(T), READ, true, CVMGEN_CPU_CALLER);                           \
        return *(const volatile T *)memory;                                               \
    }                                                                                     \
    CVMGEN_CPU_HOOK void __tsan_atomic##bits##_store(volatile void *memory, T value, int) { \
        note(memory, sizeof(T), WRITE, true, CVMGEN_CPU_CALLER);                          \
        *(volatile T *)memory = value;                                                    \
    }                                                                                     \
    CVMGEN_CPU_HOOK T __tsan_atomic##bits##_compare_exchange_val(                         \
        volatile void *memory, T expected, T value, int, int) {                           \
        note(memory, sizeof(T), BOTH, true, CVMGEN_CPU_CALLER);                           \
        __atomic_compare_exchange_n((volatile T *)memory, &expected, value, false,        \
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);                  \
        return expected;                                                                  \
    }                                                                                     \
    CVMGEN_CPU_EXCHANGE_HOOK(bits, T, strong)                                             \
    CVMGEN_CPU_EXCHANGE_HOOK(bits, T, weak)                                               \
    CVMGEN_CPU_ATOMIC_HOOK(bits, T, exchange, __atomic_exchange_n)                        \
    CVMGEN_CPU_ATOMIC_HOOK(bits, T, fetch_add, __atomic_fetch_add)                        \
    CVMGEN_CPU_ATOMIC_HOOK(bits, T, fetch_sub, __atomic_fetch_sub)                        \
    CVMGEN_CPU_ATOMIC_HOOK(bits, T, fetch_and, __atomic_fetch_and)                        \
    CVMGEN_CPU_ATOMIC_HOOK(bits, T, fetch_or, __atomic_fetch_or)                          \
    CVMGEN_CPU_ATOMIC_HOOK(bits, T, fetch_xor, __atomic_fetch_xor)
CVMGEN_CPU_ATOMIC_HOOKS(32, uint32_t)
CVMGEN_CPU_ATOMIC_HOOKS(64, uint64_t)
#endif

/* What an x86 processor has: the processor itself is asked, since some compilers' libraries do not
   know. */
#define _DEFAULT_SOURCE /* syscall() */
#include "cvmgen_x86.h"

#ifdef CVMGEN_X86
#include <cpuid.h>
#include <stddef.h>
#include <string.h>

/* What the system keeps of a thread that waits: vectors, and matrices. */
enum { SAVES_YMM = 0x06, SAVES_ZMM = 0xe6, SAVES_TMM = 0x60000 };

#ifdef CVMGEN_AMX
#include <sys/syscall.h>
#include <unistd.h>

/* Linux gives a process matrices when it asks for them: all its threads, those to come too. It
   refuses where a thread would have no room for them on a stack for signals. */
static bool may_use_matrices(void) {
    const long ask = 0x1023, matrices = 18; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    return syscall(SYS_arch_prctl, ask, matrices) == 0;
}
#else
static bool may_use_matrices(void) { return false; }
#endif

bool cvmgen_x86_has(const char *feature) {
    /* A bit of EBX, ECX or EDX, as CPUID gives them for leaf 7. XGETBV tells what is saved, where
       the OSXSAVE of leaf 1 says that it may be asked. */
    static const struct { const char *name; unsigned ebx, ecx, edx, saved; } features[] = {
        {"avx2", 1u << 5, 0, 0, SAVES_YMM},
        {"avx512f", 1u << 16, 0, 0, SAVES_ZMM},
        {"avx512bw", 1u << 30, 0, 0, SAVES_ZMM},
        {"avx512vl", 1u << 31, 0, 0, SAVES_ZMM},
        {"avx512vnni", 0, 1u << 11, 0, SAVES_ZMM},
        {"amx_tile", 0, 0, 1u << 24, SAVES_TMM},
        {"amx_int8", 0, 0, 1u << 25, SAVES_TMM},
    };
    const unsigned osxsave = 1u << 27;
    unsigned eax, ebx, ecx, edx, saved;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & osxsave) == 0) return false;
    __asm__("xgetbv" : "=a"(saved), "=d"(edx) : "c"(0));
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
    for (size_t i = 0; i < sizeof features / sizeof *features; ++i)
        if (strcmp(features[i].name, feature) == 0)
            return (saved & features[i].saved) == features[i].saved &&
                   (ebx & features[i].ebx) == features[i].ebx &&
                   (ecx & features[i].ecx) == features[i].ecx &&
                   (edx & features[i].edx) == features[i].edx &&
                   (features[i].saved != SAVES_TMM || may_use_matrices());
    return false;
}
#else
bool cvmgen_x86_has(const char *feature) {
    (void)feature;
    return false;
}
#endif

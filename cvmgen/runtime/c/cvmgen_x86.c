/* What an x86 processor has: the processor itself is asked, since some compilers' libraries do not
   know. */
#include "cvmgen_x86.h"

#ifdef CVMGEN_X86
#include <cpuid.h>
#include <stddef.h>
#include <string.h>

enum { SAVES_YMM = 0x06, SAVES_ZMM = 0xe6 }; /* what the system keeps of a thread that waits */

bool cvmgen_x86_has(const char *feature) {
    /* A bit of EBX or of ECX, as CPUID gives them for leaf 7. XGETBV tells what is saved, where the
       OSXSAVE of leaf 1 says that it may be asked. */
    static const struct { const char *name; unsigned ebx, ecx, saved; } features[] = {
        {"avx2", 1u << 5, 0, SAVES_YMM},
        {"avx512f", 1u << 16, 0, SAVES_ZMM},
        {"avx512bw", 1u << 30, 0, SAVES_ZMM},
        {"avx512vl", 1u << 31, 0, SAVES_ZMM},
        {"avx512vnni", 0, 1u << 11, SAVES_ZMM},
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
                   (ecx & features[i].ecx) == features[i].ecx;
    return false;
}
#else
bool cvmgen_x86_has(const char *feature) {
    (void)feature;
    return false;
}
#endif

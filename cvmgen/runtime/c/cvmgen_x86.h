/* What an x86 processor has. */
#ifndef CVMGEN_X86_H
#define CVMGEN_X86_H
#include <stdbool.h>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define CVMGEN_X86
#endif
/* Compilers whose assemblers know registers that are matrices, and a system that is asked for
   them. */
#if defined(__x86_64__) && defined(__linux__) && \
    (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 11)
#define CVMGEN_AMX
#endif

/* Whether the processor has one of the features that kernels need, and the system its registers.
   To ask takes microseconds on virtual machines. */
bool cvmgen_x86_has(const char *feature);

#endif

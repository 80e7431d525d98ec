/* Where calls of CUDA operators put their work, and what only their kernels find. */
#ifndef CVMGEN_STREAM_H
#define CVMGEN_STREAM_H
#include <stdint.h>

typedef struct CUstream_st *cvmgen_stream; /* a cudaStream_t; NULL is the default stream */

/* That an integer does not fit its type may show in a kernel alone, when its call has returned. An
   operator with such results takes `overflow`: a word for each of its outputs, in their order. A
   word is CVMGEN_NO_OVERFLOW at first (NULL stands for no words, where all values fit their types,
   as real numbers do), and kernels put there the place of the first element that does not fit. When
   the host has waited for them, ..._cuda_refused() refuses what the words tell, and makes them as
   at first; until then they keep it, whatever calls of these shapes follow.

   The words lie in memory of the host that the device reaches, of cudaHostAlloc() or
   cuMemHostAlloc(), and stay there as long as kernels and graphs may write to them. A call copies
   nothing back and does not wait, so that graphs can capture it. */
#define CVMGEN_NO_OVERFLOW INT64_C(0x7f7f7f7f7f7f7f7f)

#endif

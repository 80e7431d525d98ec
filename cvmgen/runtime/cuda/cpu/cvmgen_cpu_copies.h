/* Copies to shared memory that land by themselves.

   On a device a copy lands at some time before its thread has waited for it. Here it lands at once,
   or, where a host thread asks for late copies, only in the wait: what reads too early shows. */
#ifndef CVMGEN_CPU_COPIES_H
#define CVMGEN_CPU_COPIES_H
#define CVMGEN_COPIES

struct cvmgen_cpu_copy {
    void *to;
    const void *from;
    uint32_t group;
};

/* The copies of a thread that have not landed, and the number of the group of the next one. */
struct cvmgen_cpu_copies {
    enum { MOST = 16 }; /* beyond them the first lands: it may */
    cvmgen_cpu_copy pending[MOST];
    uint32_t count, group;
};
/* Those of the running thread. */
CVMGEN_CPU_INTERNAL cvmgen_cpu_copies &cvmgen_cpu_own_copies();

static inline void cvmgen_cpu_land(const cvmgen_cpu_copy &copy) {
    *(uint4 *)copy.to = *(const uint4 *)copy.from;
}
/* Let copies land from the first on, as long as they are of groups in front of `group`, or there
   are more than `most`. */
static inline void cvmgen_cpu_land_until(cvmgen_cpu_copies &own, uint32_t group, uint32_t most) {
    uint32_t landed = 0;
    while (landed < own.count &&
           ((int32_t)(own.pending[landed].group - group) < 0 || own.count - landed > most))
        cvmgen_cpu_land(own.pending[landed++]);
    own.count -= landed;
    for (uint32_t at = 0; at < own.count; ++at) own.pending[at] = own.pending[at + landed];
}

static inline void cvmgen_copy_16(void *to, const void *from) {
    cvmgen_cpu_copies &own = cvmgen_cpu_own_copies();
    if (!cvmgen_cpu_running.late_copies) return cvmgen_cpu_land({to, from, 0});
    cvmgen_cpu_land_until(own, own.pending[0].group, cvmgen_cpu_copies::MOST - 1);
    own.pending[own.count++] = {to, from, own.group};
}
static inline void cvmgen_copies_commit() { ++cvmgen_cpu_own_copies().group; }
template <int N> static inline void cvmgen_copies_wait() {
    cvmgen_cpu_copies &own = cvmgen_cpu_own_copies();
    cvmgen_cpu_land_until(own, own.group - N, cvmgen_cpu_copies::MOST);
}

/* Which kernels are launched, and how they multiply, as the host thread wishes. */
#define CVMGEN_TENSOR_CORES (cvmgen_cpu_running.tensor_cores)
#define CVMGEN_ALWAYS_TILES (cvmgen_cpu_this_thread()->always_tiles != 0)
#define CVMGEN_ALWAYS_LARGE (cvmgen_cpu_this_thread()->always_tiles == 2)
#define CVMGEN_ALWAYS_VOTES (cvmgen_cpu_this_thread()->always_votes != 0)
#endif

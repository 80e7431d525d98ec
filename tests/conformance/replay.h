/* Calls that were made on another machine, and what they answered there. */
#include "cvmgen.h"

/* The functions of an operator, for arguments of any type. */
typedef struct replayed_functions {
    int (*infer)(const void *args, cvmgen_error *error);
    int (*run)(const void *args, cvmgen_error *error);
    int (*bind)(const void *args, uint64_t constants, cvmgen_bound **bound, cvmgen_error *error);
} replayed_functions;
#define REPLAYED(operator)                                                                      \
    static int operator##_infers(const void *args, cvmgen_error *error) {                       \
        return operator##_infer(args, error);                                                   \
    }                                                                                           \
    static int operator##_runs(const void *args, cvmgen_error *error) {                         \
        return operator(args, error);                                                           \
    }                                                                                           \
    static int operator##_binds(const void *args, uint64_t constants, cvmgen_bound **bound,     \
                                cvmgen_error *error) {                                          \
        return operator##_bind(args, constants, bound, error);                                  \
    }                                                                                           \
    static const replayed_functions operator##_functions = {operator##_infers, operator##_runs, \
                                                            operator##_binds};

/* A call and its answer; refused by a rule, or accepted if that is NULL. A call that was refused
   before there were results has none. */
typedef struct replayed_call {
    const char *text;
    const replayed_functions *functions;
    const void *args;
    cvmgen_tensor *results;
    const cvmgen_tensor *answers;
    int count;
    const char *argument, *value, *rule;
} replayed_call;

extern const replayed_call replayed_calls[];
extern const int replayed_count;

/* exp, sigmoid and tanh of many numbers at once, with the bits of those of one. */
#ifndef CVMGEN_FUNCTIONS_H
#define CVMGEN_FUNCTIONS_H
#include <stdint.h>

/* Each number becomes what the function makes of it. */
void cvmgen_exp_run(double *values, int64_t count);
void cvmgen_sigmoid_run(double *values, int64_t count);
void cvmgen_tanh_run(double *values, int64_t count);
#endif

/* A library that is loaded, used by threads of the program, forked with, unloaded, and loaded again. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cvm.h"

enum { ROUNDS = 20, CALLERS = 3, CALLS = 20, M = 64, K = 96, N = 80 };
typedef struct caller {
    void *library;
    pthread_t thread;
    int8_t x[M * K], w[N * K];
    int32_t y[M * N];
    int wrong;
} caller;

static cvmgen_tensor matrix(void *data, int32_t dtype, int32_t precision, int64_t rows,
                            int64_t columns) {
    const cvmgen_tensor made = {data, {rows, columns}, 2, dtype, precision, 0};
    return made;
}
static void *found(void *library, const char *name) {
    void *const function = dlsym(library, name);
    if (function == NULL) printf("no %s\n", name);
    return function;
}
/* Bound calls of its own, each thread's, checked against a plain sum. */
static void *call(void *context) {
    caller *const own = context;
    const cvmgen_tensor X = matrix(own->x, CVMGEN_INT8, 8, M, K);
    const cvmgen_tensor W = matrix(own->w, CVMGEN_INT8, 8, N, K);
    cvmgen_tensor Y = matrix(own->y, CVMGEN_INT32, 0, M, N);
    cvmgen_error error;
    cvm_dense_args args;
    int (*bind)(const cvm_dense_args *, uint64_t, cvmgen_bound **, cvmgen_error *);
    int (*run)(cvmgen_bound *, void *const *, cvmgen_error *);
    void (*release)(cvmgen_bound *);
    *(void **)&bind = found(own->library, "cvm_dense_bind");
    *(void **)&run = found(own->library, "cvmgen_run");
    *(void **)&release = found(own->library, "cvmgen_release");
    for (int i = 0; i < M * K; ++i) own->x[i] = (int8_t)(i * 7 % 101 - 50);
    for (int i = 0; i < N * K; ++i) own->w[i] = (int8_t)(i * 5 % 97 - 48);
    memset(&args, 0, sizeof args);
    args.X = &X;
    args.W = &W;
    args.Y = &Y;
    for (int at = 0; at < CALLS; ++at) {
        cvmgen_bound *bound = NULL;
        memset(own->y, 0, sizeof own->y);
        own->wrong += bind(&args, 2, &bound, &error) || run(bound, NULL, &error);
        own->wrong += run(bound, NULL, &error);
        release(bound);
        for (int i = 0; i < M * N; i += 37) {
            int32_t total = 0;
            for (int k = 0; k < K; ++k) total += own->x[i / N * K + k] * own->w[i % N * K + k];
            own->wrong += total != own->y[i];
        }
    }
    return NULL;
}

int main(int count, char **names) {
    static caller callers[CALLERS];
    int wrong = count != 2;
    for (int round = 0; round < ROUNDS && !wrong; ++round) {
        void *const library = dlopen(names[1], RTLD_NOW | RTLD_LOCAL);
        void (*threads)(int);
        if (library == NULL) return printf("%s\n", dlerror()), 1;
        *(void **)&threads = found(library, "cvmgen_set_threads");
        threads(2);
        for (int i = 0; i < CALLERS; ++i) {
            callers[i].library = library;
            pthread_create(&callers[i].thread, NULL, call, &callers[i]);
        }
        for (int i = 0; i < CALLERS; ++i) {
            pthread_join(callers[i].thread, NULL);
            wrong += callers[i].wrong;
        }
        fflush(stdout);
        if (round % 5 == 0) { /* a child that calls, and ends with the library loaded */
            int status = 1;
            const pid_t child = fork();
            if (child == 0) {
                call(&callers[0]);
                _exit(callers[0].wrong != 0);
            }
            waitpid(child, &status, 0);
            wrong += status != 0;
        }
        dlclose(library);
        if (round % 5 == 1) { /* what the library had asked to be told is gone with it */
            int status = 1;
            const pid_t child = fork();
            if (child == 0) _exit(0);
            waitpid(child, &status, 0);
            wrong += status != 0;
        }
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}

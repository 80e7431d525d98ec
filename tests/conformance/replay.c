/* Makes recorded calls once more, by every variant of the register tile: prints the name of each,
   and fails at the first answer that differs. */
#include "replay.h"
#include "cvmgen_tile.h"
#include <stdio.h>
#include <string.h>

enum { UNWRITTEN = 0x5a };

static size_t bytes_of(const cvmgen_tensor *tensor) {
    static const size_t bytes[] = {[CVMGEN_INT8] = 1,  [CVMGEN_INT32] = 4, [CVMGEN_INT16] = 2,
                                   [CVMGEN_INT64] = 8, [CVMGEN_BOOL] = 1,  [CVMGEN_FLOAT32] = 4,
                                   [CVMGEN_FLOAT64] = 8};
    size_t size = bytes[tensor->dtype];
    for (int32_t i = 0; i < tensor->rank; ++i) size *= (size_t)tensor->extents[i];
    return size;
}
static int same_shape(const cvmgen_tensor *one, const cvmgen_tensor *other) {
    return one->rank == other->rank && one->precision == other->precision &&
           memcmp(one->extents, other->extents, (size_t)one->rank * sizeof *one->extents) == 0;
}
static int same_refusal(const replayed_call *call, const cvmgen_error *error) {
    return strcmp(error->argument, call->argument) == 0 && strcmp(error->value, call->value) == 0 &&
           strcmp(error->rule, call->rule) == 0;
}
static void forget(const replayed_call *call) {
    for (int i = 0; i < call->count; ++i)
        if (call->results[i].data != NULL)
            memset(call->results[i].data, UNWRITTEN, bytes_of(&call->results[i]));
}
/* The place of the first wrong byte, in "results 0, byte 3", or an empty text. */
static const char *wrong_bytes(const replayed_call *call) {
    static char text[80];
    for (int i = 0; i < call->count; ++i) {
        const unsigned char *found = call->results[i].data, *answer = call->answers[i].data;
        for (size_t at = 0; found != NULL && at < bytes_of(&call->answers[i]); ++at)
            if (found[at] != answer[at]) {
                snprintf(text, sizeof text, "result %d, byte %d: %d and not %d", i, (int)at,
                         found[at], answer[at]);
                return text;
            }
    }
    return "";
}
/* A call that is bound, with inputs that may change or not, and run twice. */
static const char *wrong_bound(const replayed_call *call, uint64_t constants, cvmgen_error *error) {
    cvmgen_bound *bound;
    const char *wrong = "";
    if (call->functions->bind(call->args, constants, &bound, error)) return "is not bound";
    for (int i = 0; i < 2 && *wrong == 0; ++i) {
        forget(call);
        wrong = cvmgen_run(bound, NULL, error) ? "is refused when run" : wrong_bytes(call);
    }
    cvmgen_release(bound);
    return wrong;
}
/* What is wrong with a call; empty if nothing is. */
static const char *wrong(const replayed_call *call, cvmgen_error *error) {
    const char *found;
    int refused = call->functions->infer(call->args, error);
    if (!refused && call->count > 0) {
        for (int i = 0; i < call->count && call->rule == NULL; ++i)
            if (!same_shape(&call->results[i], &call->answers[i])) return "shape or precision";
        forget(call);
        refused = call->functions->run(call->args, error);
    }
    if (call->rule != NULL)
        return refused && same_refusal(call, error) ? "" : "is not refused by its rule";
    if (refused) return "is refused";
    found = wrong_bytes(call);
    if (*found == 0) found = wrong_bound(call, 0, error);
    if (*found == 0) found = wrong_bound(call, UINT64_MAX, error);
    return found;
}

int main(void) {
    const char *name;
    for (int number = 0; (name = cvmgen_variant_name(number)) != NULL; ++number) {
        if (cvmgen_use_variant(name)) return 2;
        for (int i = 0; i < replayed_count; ++i) {
            cvmgen_error error = {0};
            const char *what = wrong(&replayed_calls[i], &error);
            if (*what == 0) continue;
            printf("%s: %s: %s\n", name, replayed_calls[i].text, what);
            printf("  %s | %s | %s\n", error.argument, error.value, error.rule);
            return 1;
        }
        puts(name);
    }
    return 0;
}

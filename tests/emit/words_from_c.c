/* Attributes with words from C: constants of the header, defaults, and a refused code. */
#include <stdio.h>

#include "extra.h"

int main(void) {
    int32_t x[] = {1, 2, 3, 4}, y[16];
    const cvmgen_tensor X = {
        .data = x, .extents = {2, 2}, .rank = 2, .dtype = CVMGEN_INT32, .precision = 4};
    cvmgen_tensor Y = {.data = y, .dtype = CVMGEN_INT32};
    extra_padded_sums_args args;
    cvmgen_error error;

    extra_padded_sums_defaults(&args);
    args.X = &X, args.Y = &Y;
    args.window[0] = args.window[1] = 2;
    printf("%d\n", (int)args.padding_word);
    for (int32_t word = 0; word <= EXTRA_PADDED_SUMS_PADDING_FULL + 1; ++word) {
        args.padding_word = word;
        if (extra_padded_sums_infer(&args, &error) || extra_padded_sums(&args, &error)) {
            printf("%s | %s | %s\n", error.argument, error.value, error.rule);
            continue;
        }
        for (int i = 0; i < Y.extents[0] * Y.extents[1]; ++i) printf(i ? " %d" : "%d", (int)y[i]);
        printf("\n");
    }

    extra_row_extreme_args extreme;
    extra_row_extreme_defaults(&extreme);
    printf("%d\n", extreme.side == EXTRA_ROW_EXTREME_SIDE_MAX);
    extra_totals_args totals;
    extra_totals_defaults(&totals);
    printf("%d %d\n", totals.axes_word == EXTRA_TOTALS_AXES_ALL, (int)totals.sign);
    return 0;
}

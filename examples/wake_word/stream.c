/* A wake word in a stream of features, by a model that `cvmgen build --model` made, without an
   allocation: all memory is static. Features come from standard input, as many bytes for each run as
   the model takes; a line for each run says what it gives, of 255.

       cvmgen build --model okay_nabu.tflite --out net --name wake
       cc -O3 -Inet -DFEATURES=wake_serving_default_input_audio_0_size \
           examples/wake_word/stream.c net/[a-z]*.c -pthread -o stream
       ./stream < features.bin

   wake_word.py writes such features of a recording, and runs this. */
#include "wake.h"
#include <stdio.h>

static _Alignas(64) unsigned char state[wake_state_size];

int main(void) {
    int8_t features[FEATURES];
    uint8_t heard[wake_head_size];
    wake_begin(state);
    while (fread(features, 1, sizeof features, stdin) == sizeof features) {
        if (wake_run(features, heard, state, NULL) != 0) return 1;
        printf("%d\n", heard[0]);
    }
    return 0;
}

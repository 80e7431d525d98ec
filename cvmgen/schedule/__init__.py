"""Schedules: how nests are rewritten for a target, by the class of the nest and never by name.

A nest takes the schedule of the first class that knows its shape (`schedule/classes.py`); classes
give loops and accumulators the names, roles, that schedules speak of. An action
(`schedule/actions/`) is a rewrite of a typed nest that is legal by itself, for the nest as it is
by then, or refused at its line: no schedule changes a bit. Behind each one the nest is verified
(`schedule/legality.py`). `move` hands a box to `cvmgen_moves.c`, which finds the runs of both
sides at the call, since rank is a run-time value: rows go by vectors, boxes whose sides walk in
different orders through `cvmgen_turns.c`, in squares of cache lines (`cvmgen_squares.h`, vector
extensions).

`stage` copies what windows read with its padding, in planes by the phase of the step
(`schedule/staging.py`), `separate` combines their columns first, where `analysis/windows.py` proves
that they may, in one row for several lines of results (`schedule/columns.py`), or in registers
where small windows are two columns apart (`schedule/column_pairs.py`, `cvmgen_slides.h`); `abreast`
and `turn` lay runs that are summed in their order side by side, so that several sums grow in
vectors; `narrow` lets sums of products of int8 grow with 32 bits; `append` moves rows before it is
known whether they pass, `overlap` by whole vectors, two at a time; `pieces` have one length, in
which compilers keep vectors in registers; `peel` takes guards that are linear in an index
(`analysis/guards.py`) out of the middle, `base` what places share out of loops.

`tile` leaves the nest as it is and adds a plan for the register tile (`analysis/tiling.py`), which
`cvmgen_contract.c` carries out: `cvmgen_image.c` stages rows as bytes, `cvmgen_panels.c` packs
columns; what follows from a contraction alone stays in the workspace of a bound call. Where there
is work for threads, rows that lie as they would be staged are read in place: the tile of
AVX512-VNNI makes bytes of elements. `cvmgen_tile_*.c` makes blocks of totals: intrinsics in a
file for each kind of processor, and plain C compiled for several instruction sets. Its meaning is
a formula in `intrinsics.sched` that tests evaluate for each variant; `schedule/intrinsics.py`
checks the block against the code.

Copies of loops for values that a call may have, as steps of 1, become calls of one inline function
(`schedule/inline.py`), where they are long. Kernels with vector loops are compiled for several
instruction sets where the compiler can, and the loader chooses. A loop in threads is a function for
a part of its iterations (`emit/c_parts.py`), which `cvmgen_threads.c` shares among threads of its
own; its pointers are locals there, of which compilers do not see that they are `restrict`: hence
CVMGEN_APART. Greatest real numbers become integers of the same order first
(`typing/real_extremes.py`). For CUDA a schedule names a mapping (`gpu/`) and its numbers.
"""

"""How the iterations of a nest become threads of a GPU: each mapping rewrites a typed nest.

What comes out is IR: kernels whose loops say which threads share their iterations (`ir.threads`),
and what the host computes, asks and launches; `emit` prints it. A mapping is chosen by the shape of
the nest and never by the name of an operator, in the order and with the numbers of
`spec/schedules/cuda.sched`; each is an analysis in `analysis/`, a module here of the name that
schedules have for it, and a header with what is the same for all nests. The host chooses at each
call between a mapping's kernels, by extents.

- `tensor_tiles`: a sum of products of two inputs: tiles of totals from int8 slices in shared
  memory, by tensor cores
- `shared_boxes`: neighbouring results read overlapping boxes: a block copies its box
- `teams`: a thread, a warp, a block or several blocks for each result; operations that give the
  same bits in every order
- `vectors`: neighbouring elements, loaded and stored 16 bytes at a time
- `blocks`: a block makes a selected list; `pair_mask`: candidates that rule each other out are
  tested as pairs into a mask of bits
- `threads`: a thread for each iteration of the outermost loops

Every `.cu` file runs unchanged on the CPU: `generated/cuda/cpu/` has what CUDA gives to kernels
and hosts, a fiber for each thread of a block. The library made of both also serves GPUs: launches
and memory then go to a table of driver functions that the caller brings (`cpu/cvmgen_driver.cc`,
`api/driver.py`), and a kernel is found in the operator's cubin by the name of its function. With
`-fsanitize=thread` it brings hooks of its own that find races between threads of the device
(`cpu/cvmgen_cpu_races.cc`); `build/reports.py` leads such reports back to formulas. PTX stands in
a few helpers of `cvmgen_tiles.h`, each with a twin in CUDA C that the CPU runs.
"""

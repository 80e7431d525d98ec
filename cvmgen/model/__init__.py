"""Whole models as C or CUDA: the nests of all steps for known shapes, fused and placed in one file.

A plan of any opset is the source (`graph/plan.py`). `known/specialize.py` evaluates a step's host
code and puts what it gives into the nests; `model/tested.py` refuses what only runs could find out;
`model/fuse.py` joins pointwise steps to what they read; `model/layouts.py` chooses orders, borders
and bytes; `model/products.py` finds what a register tile computes and packs its parameter. Then a
kernel is a nest as those of operators are, with constant extents (`model/nests.py`), which becomes
another one by the actions of `schedule/actions/`, as `model.sched` says; `model/tiles.py` has what
the action `tile` puts in its place. `model/stages.py` owns the order of these stages, and
`model/printer.py` prints what they leave, with a function for the parts that threads take of it.

For CUDA the same steps are mapped to threads instead (`model/device.py`), by the mappings of
`schedule/gpu/`; a sum of products is a tile of tensor cores, for which `model/device_tiles.py` lays
out other memory than the register tile has. `model/emit_cuda.py` prints kernels and launches.
"""

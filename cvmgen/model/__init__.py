"""Whole models as C: the nests of all steps for known shapes, fused and placed in one file.

`known/specialize.py` evaluates a step's host code and puts what it gives into the nests;
`model/fuse.py` joins pointwise steps to what they read; `model/layouts.py` chooses orders, borders
and bytes; `model/products.py` finds what a register tile computes and packs its parameter. Then a
kernel is a nest as those of operators are (`model/nests.py`), with constant extents: `model.sched`
says by which actions of `schedule/actions/` it becomes another one, and `model/tiles.py` what the
action `tile` puts in its place. `model/steps.py` prints it, with a function for the parts that
threads take of it.
"""

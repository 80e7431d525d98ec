"""Whole models as C: the nests of all steps for known shapes, fused and placed in one file.

`known/specialize.py` evaluates a step's host code and puts what it gives into the nests;
`model/fuse.py` joins pointwise steps to what they read; `known/known_types.py` types with known
ranges; `model/layouts.py` chooses orders, borders and bytes; `model/products.py` finds what a
register tile computes and packs its parameter. A step that is worth it is a function for a part
of its iterations (`emit/c_shares.py`), as a loop of a kernel. `model.sched` decides for each
step: `model/schedules.py` has the classes and the actions, and the printers carry out what these
decide.
"""

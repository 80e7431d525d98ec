"""What holds of kernels, and how it is known: obligations for all sizes, values checked.

An obligation is a claim in integers, read off the IR of a kernel: this index is below this extent
in every call that is admitted. Intervals close most of them, two solvers what remains.

Begin with `verify.py`, which proves an operator's kernels: `reading.py` reads expressions as terms
and notes what they demand, `kernels.py` walks a nest, `places.py`, `bounds.py` and `proofs.py`
decide; `regions.py` shows that all is written, once. `threads*.py` ask the same of kernels of a
GPU, and of two threads whether they race; `steps.py` goes through a built model.
`values/` runs emitted text on terms. `ledger*.py` keep what came of all this, by operator, target
and property.
"""

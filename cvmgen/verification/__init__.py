"""What holds of kernels, and how it is known: obligations for all sizes, values checked.

An obligation is a claim in integers, read off the IR of a kernel: this index is below this extent
in every call that is admitted. Intervals close most of them, two solvers what remains.
"""

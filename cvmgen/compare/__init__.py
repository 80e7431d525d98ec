"""Two versions of formulas: what an edit means for those who call the operators.

`versions.py` reads both, `names.py` finds what belongs together, `all_sizes.py` proves, `calls.py`
and `on_shapes.py` look for a call that tells the formulas apart, `smallest.py` makes it small,
`kernels.py` runs it; `texts.py` compares what is generated, `findings.py` says what all of it
comes to.
"""

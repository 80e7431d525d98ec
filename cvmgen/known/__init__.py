"""Partial evaluation: programs for one call, whose shapes, attributes and precisions are known.

Models are made of these: `specialize.py` puts the constants in, `constant_loops.py` and `linear.py`
follow indices through loops of known extents, `choices.py` writes loops over short lists out and
makes values of branches, `known_types.py` has types by the ranges of elements.
"""

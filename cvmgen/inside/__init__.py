"""Whether all that a formula reads and writes is there: proofs, and tests for what is not proved.

`stay_inside` is the first pass behind the translation, so all targets have the same tests. At each
place where an element, an entry of a list or an optional operand is read (`sites.py`) it knows what
holds there (`knowledge.py`, `assumptions.py`; of the call `calls.py`): ranges of loops, conditions
around, requirements, and where values come from. A proof (`prover.py`, `search.py`) is made of
steps over the integers that are sound whatever the call. What is not proved becomes a condition
of the formula's own language, in front of what it guards (`checks.py`); `cvmgen check` warns of it.
A formula of which calls could not test that is refused. Nothing that the host computes for nests in
front of their tests reads an entry that may not be there (`shelter.py`); each element of a let in
memory has a value (`has_value.py`).

The reference decides for itself: it looks at each element.
"""

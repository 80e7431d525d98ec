"""Facts about nests: passes, schedules and emitters ask here what a nest is; nothing changes it.

- what one iteration leaves for the next: `dependences.py`
- how its loops stand: `grid.py` (which run side by side), `paths.py` (the way to one statement)
- what a nest does: `contraction.py` (sums of products), `reductions.py`, `windows.py` (what
  neighbouring results combine), `streams.py` (elementwise work and moves), `greedy.py` and
  `list_loops.py` (selected lists), `regions.py` (what is moved where)
- what an idiom of C or CUDA has to know of it: `tiling.py`, `boxes.py` (which box of an input
  neighbouring results read), `indirect.py`
- what holds of its values: `facts.py` (of host values in every admitted call), `guards.py` (of
  places that pass a test), `magnitude.py`, `in_bounds.py`, `definedness.py` (whether there is one)
"""

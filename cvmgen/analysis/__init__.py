"""Facts about nests: passes, schedules and emitters ask here what a nest is; nothing changes it.

- what one iteration leaves for the next: `dependences.py`
- what a nest does: `contraction.py` (sums of products), `reductions.py`, `windows.py`, `streams.py`
  (elementwise work and moves), `copies.py`, `greedy.py` and `list_loops.py` (selected lists)
- what an idiom of C or CUDA has to know of it: `tiling.py`, `boxes.py`, `counting.py`,
  `entries.py`
- what holds of its values: `facts.py` (of host values in every admitted call), `magnitude.py`,
  `in_bounds.py`
"""

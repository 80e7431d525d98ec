"""The loop-nest IR: what every stage behind the translation takes and gives.

- `nodes/`: expressions, statements, programs; `arrays.py`: operations on whole arrays
- `text.py`: the IR as people read it
- `verify.py`: whether a program holds together, `kernel_fault.py`: whether a kernel does;
  `uniform.py`: whether the threads of a GPU may do what a kernel says (`threads.py`: their marks)
- asking: `uses.py` (what a node reads, sets, changes), `loops.py` (how often loops run), `logic.py`
  (conditions), `host.py` (values of the host)
- changing: `visit.py` (walk, rebuild), `rewrite.py` (blocks, dead locals, inlining, invariants)
"""

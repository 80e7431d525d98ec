"""Faults put into formulas, kernels and text, and what the engines say of each.

`kinds.py` and `texts.py` are the kinds: functions that find every place for a fault. `made.py`
makes mutants of small formulas and draws some of them, evenly. `engines.py` asks: intervals and
solvers, all values, threads. `truth.py` compiles mutants under sanitizers and calls them beside the
reference, which shares nothing with the engines. What neither shows is explained in `survivors.py`.
"""

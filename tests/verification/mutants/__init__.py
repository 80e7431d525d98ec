"""Faults put into formulas, schedules, kernels and text, and what the engines say of each.

`kinds.py` and `texts.py` are the kinds: functions that find every place for a fault. `operators.py`
is what they are put into: small formulas, and the operators that ship. `made.py` draws mutants of
these by turns, the same ones each time. `engines.py` asks: intervals and solvers, all values,
threads. `truth.py` compiles mutants under sanitizers and calls them beside the reference, which
shares nothing with the engines. What neither shows is explained in `survivors.py`.
"""

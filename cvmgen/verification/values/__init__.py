"""All values at once: generated text is run on terms, and gives what the formula gives on terms.

`terms.py` are integers and conditions that depend on elements, `real_terms.py` real numbers as the
operations that make them; `quotients.py`, `extremes.py`, `choices.py`, `pieces.py` and `modular.py`
compute with them, `text.py` shows them. clang makes modules of the unmodified text (`program.py`,
read by `llvm_text.py`), which the machine runs: `machine.py`, with `blocks.py`, `memory.py`,
`typed_memory.py`, what processors and libraries do in `arithmetic.py`, `intrinsics.py` and
`library.py`, and the threads of a GPU in `gpu.py`. `formula.py` evaluates the formula on the same
terms, as the reference does.

`validate.py` compares both, call by call: at once, or way by way where elements decide what is done
(`ways.py`, `facts.py`); `compare.py` and `solver.py` say whether two terms are equal, `evaluate.py`
finds numbers that show it where they are not, `native.py` calls the compiled text with these.
`shapes.py` and `coverage.py` choose the calls; `actions.py` looks behind each action of a schedule.
"""

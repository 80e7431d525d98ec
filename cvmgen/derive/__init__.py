"""Operators derived from operators: the adjoint of a formula, as a formula.

`cvmgen derive` makes formulas from formulas, before any lowering: `derive/terms.py` takes the
equations apart into terms linear in one input; `derive/digits.py` takes slots such as `(c*H +
i)*W + j` apart into indices, each of which it names on the left side;
`derive/solving.py` solves what stands in the brackets of the input for the indices of a term
(`derive/entries.py` does so for each entry of a multi-index); `derive/facts.py` proves, by the
declarations and requirements of the operator, which range tests can be left out, and
`derive/ranges.py` makes ends of ranges of those that remain; `derive/gradient.py` writes the
equation and `derive/adjoint.py` the block around it, with only those items that it needs
(`derive/needs.py`). The gradient has the type of the output and the result that of the input: of
the choices of types those are kept for which elements of both are integers, or real numbers, and
where none is left the formula is refused. `spec/printing.py` prints checked nodes. What is printed
is checked and probed like a formula of a person before it is shown. An index that cannot be
solved for stays a loop with a condition: shorter formulas are faster, none is wrong.
"""

from cvmgen.derive.adjoint import adjoint

__all__ = ["adjoint"]

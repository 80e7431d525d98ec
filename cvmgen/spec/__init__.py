"""Specs: from text to checked formulas.

- text to syntax tree: `grammar.lark`, `parse.py`, `builder.py`, `nodes.py`; back: `printing.py`
- names and kinds: `check.py` and what it asks: `declarations.py`, `operands.py`, `attributes.py`,
  `expressions.py`, `equations.py`, `families.py`, `scope.py`; `own_names.py` (what a definition or
  a block binds), `imports.py` (which declarations a file sees), `unread.py` (what nothing reads)
- what formulas may not do: `precisions.py`, `bounds.py`, `host_integers.py`, `size.py`
- the result: `formula.py`, an `Operator`, which all else begins with; `schedules.py`
"""

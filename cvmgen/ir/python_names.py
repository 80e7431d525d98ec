"""Names of the formula as names in Python."""

from __future__ import annotations

import keyword

from cvmgen.ir.checks import OURS

# What the generated functions use themselves.
TAKEN = frozenset(
    {
        "OPERATOR",
        "SimpleNamespace",
        "abs",
        "all",
        "any",
        "arrays",
        "builtins",
        "declared",
        "enumerate",
        "float",
        "given",
        "integer",
        "len",
        "max",
        "min",
        "names",
        "np",
        "plan",
        "range",
        "reals",
        "result",
        "shapes",
        "sum",
        "support",
        "tuple",
        "typed",
        "types",
        "vectors",
        "which_case",
        "zip",
    }
)


def python_identifier(name: str) -> str:
    """A name of the formula; of ours, which begin with `@`, what stands behind it."""
    if name.startswith(OURS):
        return name.removeprefix(OURS)
    taken = keyword.iskeyword(name) or name in TAKEN
    return f"{name}_" if taken else name

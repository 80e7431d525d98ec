"""Names of the formula as names in Python."""

from __future__ import annotations

import keyword

# What the generated functions use themselves.
TAKEN = frozenset(
    {
        "OPERATOR",
        "SimpleNamespace",
        "abs",
        "all",
        "any",
        "arrays",
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
        "zip",
    }
)


def identifier(name: str) -> str:
    taken = keyword.iskeyword(name) or name in TAKEN
    return f"{name}_" if taken else name

"""How notebooks show operators: the formula as mathematics, what it takes and gives."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.api.description import attribute_words
from cvmgen.api.manifest import OperatorInfo
from cvmgen.errors import CvmgenError
from cvmgen.escape import in_html


def operator_html(info: OperatorInfo, signature: str) -> str:
    """A block of a page: how an operator is called, its formula, shapes and attributes."""
    return "\n".join(("<div>", *_parts(info, signature), "</div>"))


def operator_latex(info: OperatorInfo) -> str | None:
    """Its formula for a block of LaTeX; None where the text cannot be read."""
    # Imported when a notebook asks: calling operators needs no parser.
    from cvmgen.spec.as_parsed import read_declaration
    from cvmgen.spec.mathematics import mathematics
    from cvmgen.spec.notation import latex

    try:
        return f"$$\n{latex(mathematics(read_declaration(info.formula)))}\n$$"
    except (CvmgenError, ValueError):
        return None


def _parts(info: OperatorInfo, signature: str) -> Iterator[str]:
    from cvmgen.spec.as_parsed import read_declaration
    from cvmgen.spec.mathematics import mathematics, statements
    from cvmgen.spec.notation import mathml

    yield f"<b>{in_html(info.full_name)}</b> <code>{in_html(signature)}</code>"
    yield f"<p>{in_html(info.doc)}</p>"
    try:
        own = read_declaration(info.formula)
    except (CvmgenError, ValueError):
        yield f"<pre>{in_html(info.formula)}</pre>"
        return
    kinds = ("type", "input", "output")
    yield from (mathml(each.shown) for each in statements(own) if each.kind in kinds)
    yield mathml(mathematics(own))
    if info.attributes:
        rows = (f"<li><code>{in_html(each.name)}</code>: {in_html(attribute_words(each))}</li>"
                for each in info.attributes)  # fmt: skip
        yield f"<ul>{''.join(rows)}</ul>"

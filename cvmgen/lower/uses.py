"""How often an expression evaluates what has a name: what is inlined, and what is shared."""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import SELECTED, SET


def uses(expr: n.Expr, name: str) -> int:
    """How often a parameter is evaluated at most: inside a reduction counts as often."""
    count = 0
    for node in n.walk(expr):
        if isinstance(node, (n.Reduction, n.Listing, n.SetOf)):
            count += sum(isinstance(each, n.Ref) and each.name == name for each in n.walk(node))
        if isinstance(node, n.Ref) and node.name == name:
            count += 1
    return count


def sure_uses(expr: n.Expr, definitions: Mapping[str, f.Definition]) -> list[str]:
    """The parameterless definitions that evaluating `expr` evaluates, inner ones first."""
    found: list[str] = []

    def visit(node: n.Expr) -> None:
        match node:
            case n.Apply(name=name, arguments=arguments):
                for argument in arguments:
                    visit(argument)
                if not definitions[name].parameters and definitions[name].kind not in (
                    SELECTED,
                    SET,
                ):
                    visit(definitions[name].body)
                    if name not in found:
                        found.append(name)
            case n.Conditional(condition=condition):
                visit(condition)
            case n.Logic(operands=operands):
                visit(operands[0])
            case n.Reduction() | n.Listing() | n.SetOf():
                pass
            case n.Arithmetic(left=left, right=right):
                visit(left)
                visit(right)
            case n.Negate(operand=operand) | n.Not(operand=operand):
                visit(operand)
            case n.Compare(operands=operands):
                visit(operands[0])
                visit(operands[1])
            case n.Function(arguments=arguments):
                for argument in arguments:
                    visit(argument)
            case n.Access(slots=slots):
                for slot in slots:
                    visit(slot.value)
            case _:
                pass

    visit(expr)
    return found

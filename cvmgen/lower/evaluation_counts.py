"""How often an expression evaluates what has a name: what is inlined, and what is shared."""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import SELECTED, SET

Definitions = Mapping[str, f.Definition]


def evaluation_count(expr: n.Expr, name: str) -> int:
    """How often a parameter is evaluated at most: inside a reduction counts as often."""
    count = 0
    for node in n.walk(expr):
        if isinstance(node, (n.Reduction, n.Listing, n.SetOf)):
            count += sum(isinstance(each, n.Ref) and each.name == name for each in n.walk(node))
        if isinstance(node, n.Ref) and node.name == name:
            count += 1
    return count


def sure_uses(expr: n.Expr, definitions: Definitions) -> list[str]:
    """The parameterless definitions that evaluating `expr` evaluates, inner ones first."""
    found: list[str] = []

    def visit(node: n.Expr) -> None:
        for each in sure_parts(node, definitions):
            visit(each)
        if isinstance(node, n.Apply) and node.name not in found:
            definition = definitions[node.name]
            if not definition.parameters and definition.kind not in (SELECTED, SET):
                visit(definition.body)
                found.append(node.name)

    visit(expr)
    return found


def sure_names(expr: n.Expr, definitions: Definitions) -> frozenset[str]:
    """The names that evaluating `expr` reads whatever its conditions say."""
    if isinstance(expr, n.Ref):
        return frozenset({expr.name})
    parts = sure_parts(expr, definitions)
    return frozenset().union(*(sure_names(each, definitions) for each in parts))


def sure_parts(expr: n.Expr, definitions: Definitions) -> tuple[n.Expr, ...]:
    """The parts of an expression that evaluating it evaluates whatever its conditions say."""
    match expr:
        case n.Apply(name=name, arguments=arguments):
            definition = definitions[name]
            sure = sure_names(definition.body, definitions)
            pairs = zip(definition.parameters, arguments, strict=True)
            return tuple(argument for (parameter, _), argument in pairs if parameter in sure)
        case n.Conditional(condition=condition):
            return (condition,)
        case n.Logic(operands=operands):
            return operands[:1]
        case n.Compare(operands=operands):
            return operands[:2]
        case n.Arithmetic(left=left, right=right) | n.Item(sequence=left, index=right):
            return (left, right)
        case n.Negate(operand=operand) | n.Not(operand=operand):
            return (operand,)
        case n.Function(arguments=arguments):
            return arguments
        case n.Access(slots=slots):
            return tuple(slot.value for slot in slots)
        case _:
            return ()

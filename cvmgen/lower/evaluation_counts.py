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
            case n.Apply(name=name):
                for argument in sure_arguments(node, definitions):
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


def sure_arguments(expr: n.Apply, definitions: Mapping[str, f.Definition]) -> list[n.Expr]:
    """The arguments that a definition is sure to evaluate."""
    definition = definitions[expr.name]
    sure = sure_names(definition.body, definitions)
    pairs = zip(definition.parameters, expr.arguments, strict=True)
    return [argument for (name, _), argument in pairs if name in sure]


def sure_names(expr: n.Expr, definitions: Mapping[str, f.Definition]) -> frozenset[str]:
    """The names that evaluating `expr` reads whatever its conditions say."""

    def of(*parts: n.Expr) -> frozenset[str]:
        return frozenset().union(*(sure_names(each, definitions) for each in parts))

    match expr:
        case n.Ref(name=name):
            return frozenset({name})
        case n.Apply():
            return of(*sure_arguments(expr, definitions))
        case n.Conditional(condition=condition):
            return of(condition)
        case n.Logic(operands=operands):
            return of(operands[0])
        case n.Arithmetic(left=left, right=right):
            return of(left, right)
        case n.Negate(operand=operand) | n.Not(operand=operand):
            return of(operand)
        case n.Compare(operands=operands):
            return of(operands[0], operands[1])
        case n.Function(arguments=arguments):
            return of(*arguments)
        case n.Access(slots=slots):
            return of(*(slot.value for slot in slots))
        case n.Item(sequence=sequence, index=index):
            return of(sequence, index)
        case _:
            return frozenset()

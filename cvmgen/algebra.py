"""Algebra on indices, extents and bounds: the only module that uses sympy.

Expressions enter by `to_sympy` and leave by `from_sympy`. Everything that sympy would
rewrite wrongly for machine integers (floor division, remainder, shifts, clips, list
entries, loads) goes in as an opaque symbol and comes out as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import sympy

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import rebuild

RING = {"+": sympy.Add, "*": sympy.Mul}
PLACES = 1 << 10
"""Of so many places of elements it is known how they move."""


class Atoms:
    """The symbols that stand for IR nodes, each node once."""

    def __init__(self) -> None:
        self.symbols: dict[i.Expr, sympy.Symbol] = {}
        self.nodes: dict[sympy.Symbol, i.Expr] = {}

    def symbol(self, node: i.Expr) -> sympy.Symbol:
        if node not in self.symbols:
            name = node.name if isinstance(node, i.Var) else f"atom{len(self.symbols)}"
            symbol = sympy.Symbol(name, integer=True)
            self.symbols[node] = symbol
            self.nodes[symbol] = node
        return self.symbols[node]


def to_sympy(expr: i.Expr, atoms: Atoms) -> sympy.Expr:
    """The polynomial of + - * over constants and atoms."""
    match expr:
        case i.Const(value=value) if not isinstance(value, bool):
            return sympy.Integer(value)
        case i.Binary(op="+", left=left, right=right):
            return to_sympy(left, atoms) + to_sympy(right, atoms)
        case i.Binary(op="-", left=left, right=right):
            return to_sympy(left, atoms) - to_sympy(right, atoms)
        case i.Binary(op="*", left=left, right=right):
            return to_sympy(left, atoms) * to_sympy(right, atoms)
        case _:
            return atoms.symbol(expr)


def from_sympy(expr: sympy.Expr, atoms: Atoms) -> i.Expr:
    """A polynomial as IR, terms in the order of sympy's canonical sort (deterministic)."""
    if expr.is_Integer:
        return i.Const(int(expr))
    if expr.is_Symbol:
        return atoms.nodes[expr]
    if expr.is_Pow:
        base = from_sympy(expr.base, atoms)
        result = base
        for _ in range(int(expr.exp) - 1):
            result = i.Binary("*", result, base)
        return result
    parts = [from_sympy(part, atoms) for part in expr.as_ordered_factors()] if expr.is_Mul else []
    if parts:
        return product(parts)
    summands = [from_sympy(part, atoms) for part in expr.as_ordered_terms()]
    if _negation(summands[0]) is not None:  # y - x rather than -1 * x + y
        summands.sort(key=lambda each: _negation(each) is not None)
    return total(summands)


def equal(left: i.Expr, right: i.Expr) -> bool:
    """Whether two expressions are the same polynomial of the same atoms."""
    if left == right:
        return True
    atoms = Atoms()
    return bool(sympy.expand(to_sympy(left, atoms) - to_sympy(right, atoms)) == 0)


def normal(expr: i.Expr) -> i.Expr:
    """The polynomial in one fixed form: equal polynomials become equal nodes."""
    atoms = Atoms()
    return from_sympy(sympy.expand(to_sympy(expr, atoms)), atoms)


def polynomial_terms(expr: i.Expr) -> list[tuple[int, tuple[i.Expr, ...]]]:
    """The polynomial as a sum of terms: each a coefficient and the atoms multiplied by it."""
    atoms = Atoms()
    polynomial = sympy.expand(to_sympy(expr, atoms))
    found = []
    for term, coefficient in polynomial.as_coefficients_dict().items():
        if coefficient != 0:
            factors = sorted(term.free_symbols, key=str)
            found.append((int(coefficient), tuple(atoms.nodes[factor] for factor in factors)))
    return found


def quotient(expr: i.Expr, divisor: i.Expr) -> i.Expr | None:
    """expr / divisor, if it is a polynomial with integer coefficients: no remainder ever."""
    atoms = Atoms()
    whole, part = (sympy.expand(to_sympy(each, atoms)) for each in (expr, divisor))
    if part == 0:
        return None
    symbols = sorted(whole.free_symbols | part.free_symbols, key=str) or [sympy.Dummy()]
    # Over the integers: `auto` would divide in the rationals, where 2 divides everything.
    result, rest = sympy.div(whole, part, *symbols, domain=sympy.ZZ, auto=False)
    return from_sympy(sympy.expand(result), atoms) if rest == 0 else None


@lru_cache(maxsize=PLACES)
def linear(
    expr: i.Expr, unknowns: tuple[i.Expr, ...], hidden_names: frozenset[str] = frozenset()
) -> tuple[Mapping[i.Expr, i.Expr], i.Expr] | None:
    """Coefficients of the unknowns and the rest; None if expr is not affine in them.

    The rest and the coefficients must not speak of `hidden_names` in any other way. Each action of
    a schedule, and who verifies it, asks this of the same places again.
    """
    atoms = Atoms()
    wanted = [atoms.symbol(unknown) for unknown in unknowns]
    polynomial = sympy.expand(to_sympy(expr, atoms))
    coefficients: dict[i.Expr, i.Expr] = {}
    rest = polynomial
    for symbol in wanted:
        coefficient = polynomial.coeff(symbol, 1)
        rest -= coefficient * symbol
        if coefficient != 0:
            if coefficient.free_symbols & set(wanted):
                return None
            coefficients[atoms.nodes[symbol]] = from_sympy(coefficient, atoms)
    rest = sympy.expand(rest)
    if rest.free_symbols & set(wanted):
        return None
    constant = from_sympy(rest, atoms)
    if names_in((constant, tuple(coefficients.values()))) & hidden_names:
        return None
    return coefficients, constant


@dataclass(frozen=True, slots=True)
class Line:
    """step * index + rest."""

    step: i.Expr
    rest: i.Expr


def line(expr: i.Expr, index: str, varying: Iterable[str] = ()) -> Line | None:
    """An expression as a line over an index; None if it is none, or if its step or its rest speaks
    of the index or of what else is `varying`."""
    found = plane(expr, [index], (index, *varying))
    return None if found is None else Line(found.step(index), found.rest)


@dataclass(frozen=True, slots=True)
class Plane:
    """The sum of step * index over several indices, + rest; steps of 0 are left out."""

    steps: Mapping[str, i.Expr]
    rest: i.Expr

    def step(self, index: str) -> i.Expr:
        return self.steps.get(index, i.ZERO)


def plane(
    expr: i.Expr, indices: Sequence[str], varying: Iterable[str] | None = None
) -> Plane | None:
    """An expression as a plane over indices; None if it is none, or if a step or the rest speaks
    of what is `varying`: the indices, if nothing else is said."""
    hidden = frozenset(indices if varying is None else varying)
    found = linear(expr, tuple(map(i.Var, indices)), hidden)
    if found is None:
        return None
    steps = {each.name: step for each, step in found[0].items() if isinstance(each, i.Var)}
    return Plane(steps, found[1])


def product(parts: Iterable[i.Expr]) -> i.Expr:
    """A product without factors of 1."""
    result: i.Expr | None = None
    for part in parts:
        if part == i.Const(1):
            continue
        result = part if result is None else i.Binary("*", result, part)
    return i.Const(1) if result is None else result


def total(parts: Iterable[i.Expr]) -> i.Expr:
    """A sum without terms of 0; a negative term is subtracted."""
    result: i.Expr | None = None
    for part in parts:
        if part == i.Const(0):
            continue
        if result is None:
            result = part
        elif (negated := _negation(part)) is not None:
            result = i.Binary("-", result, negated)
        else:
            result = i.Binary("+", result, part)
    return i.Const(0) if result is None else result


def signed(expr: i.Expr, sign: int = 1) -> Iterator[i.Expr]:
    """The terms of a sum, those that are subtracted with a factor of -1."""
    match expr:
        case i.Binary(op="+", left=left, right=right):
            yield from signed(left, sign)
            yield from signed(right, sign)
        case i.Binary(op="-", left=left, right=right):
            yield from signed(left, sign)
            yield from signed(right, -sign)
        case i.Const(value=int(value)):
            yield i.Const(sign * value)
        case _:
            yield expr if sign == 1 else i.Binary("*", i.Const(-1), expr)


def _negation(expr: i.Expr) -> i.Expr | None:
    """x for an expression that is written -x."""
    match expr:
        case i.Const(value=value) if value < 0:
            return i.Const(-value)
        case i.Binary(op="*", left=i.Const(value=-1), right=right):
            return right
        case i.Binary(op="*", left=left, right=right):
            inner = _negation(left)
            return None if inner is None else product([inner, right])
        case _:
            return None


def simplify(node: i.Expr) -> i.Expr:
    """Constants folded and neutral elements dropped; the order of the formula is kept.

    Values are untouched: only what holds for all integers and every machine type is used.
    """
    return rebuild(node, simplify_node)


def simplify_node(node: i.Expr) -> i.Expr:
    """A node of simplified operands, simplified."""
    match node:
        case i.Binary(op="+", left=left, right=i.Const(value=0)):
            return left
        case i.Binary(op="+", left=i.Const(value=0), right=right):
            return right
        case i.Binary(op="-", left=left, right=i.Const(value=0)):
            return left
        case i.Binary(op="*", left=left, right=i.Const(value=1)):
            return left
        case i.Binary(op="*", left=i.Const(value=0)) | i.Binary(op="*", right=i.Const(value=0)):
            return i.Const(0)
        case i.Binary(op="*", left=i.Const(value=1), right=right):
            return right
        case i.Binary(op="floordiv" | "truncdiv", left=left, right=i.Const(value=1)):
            return left
        case i.Binary(op="+" | "-" | "*" as op, left=i.Const(value=a), right=i.Const(value=b)):
            return i.Const(a + b if op == "+" else a - b if op == "-" else a * b)
        case i.Binary(
            op="truncdiv" | "rem" as op, left=i.Const(value=a), right=i.Const(value=b)
        ) if a >= 0 and b > 0:
            return i.Const(a // b if op == "truncdiv" else a % b)
        case i.Not(operand=i.Not(operand=inner)):
            return inner
        case i.Select(condition=i.Const(value=value), then=then, otherwise=otherwise):
            return then if value else otherwise
        case i.Select(then=then, otherwise=otherwise) if then == otherwise:
            return then
        case _:
            return node

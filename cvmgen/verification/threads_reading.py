"""Expressions of a kernel as one thread reads them, and what blocks of statements do to threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ir.uniform import MEET
from cvmgen.ir.uses import reassigned
from cvmgen.ir.visit import walk
from cvmgen.verification import terms as t
from cvmgen.verification.lists import List
from cvmgen.verification.reading import FormulaReader, PlaceScope
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.threads_symbols import GRID, PlacedSymbols

INTEGERS = ("i8", "i16", "i32", "i64", "i128")


class ReaderWalk(Protocol):
    """What a reader asks of the walk that it reads for: of memory, helpers and structures."""

    @property
    def structures(self) -> Mapping[str, Mapping[str, Term]]: ...

    def element(self, load: i.Load, scope: PlaceScope) -> Term: ...

    def helper(self, call: i.Call, scope: PlaceScope) -> Term | None: ...


class ThreadReader(FormulaReader):
    """Reads expressions with what the hardware and helpers give a thread."""

    symbols: PlacedSymbols
    walk: ReaderWalk
    digits = False  # whether each remainder is a symbol of its own

    def fits(
        self,
        kind: str,
        expr: i.Expr,
        found: Term,
        scope: PlaceScope,
        held: Formula = t.TRUE,
    ) -> None:
        """Another obligation."""

    def conversion(self, expr: i.Expr, kind: str, found: Term, scope: PlaceScope) -> Term:
        return found if kind in INTEGERS else super().conversion(expr, kind, found, scope)

    def named(self, name: str, scope: PlaceScope) -> Term:
        if name not in scope.names:
            return self.symbols.once(("host", name), lambda: self.unknown(name, ""))
        return super().named(name, scope)

    def integer(self, expr: i.Expr, scope: PlaceScope) -> Term:
        match expr:
            case i.Member():
                return self.member(expr, scope)
            case i.Item(sequence=i.Member() as whole, index=index):
                at = t.term_text(self.integer(index, scope))
                return self.of_host(f"{text(whole)}[{at}]", 1)
            case i.Binary(op="rem" | "mod") if self.digits:
                return self.digit(super().integer(expr, scope))
            case i.Binary(op="*", left=i.Binary(op="rem" | "mod") as left, right=right):
                # a digit that is multiplied keeps its name: without it its range is lost
                return self.digit(self.integer(left, scope)) * self.integer(right, scope)
            case i.Binary(op="shl", left=left, right=right):
                return self.shifted(left, right, scope)
            case _:
                return super().integer(expr, scope)

    def digit(self, value: Term) -> Term:
        """A remainder as a symbol: what is known of it is not lost in sums."""

        def made() -> Term:
            found = self.symbols.fresh("digit")
            self.symbols.know(found, t.equal(found, value))
            return found

        return self.symbols.once(("digit", value), made)

    def shifted(self, left: i.Expr, right: i.Expr, scope: PlaceScope) -> Term:
        self.integer(left, scope)
        self.integer(right, scope)
        return self.unknown("bits", "bits are not looked at")

    def member(self, expr: i.Member, scope: PlaceScope) -> Term:
        match expr.structure:
            case i.Var(name=name) if name in self.walk.structures:
                return self.walk.structures[name][expr.name]
            case i.Call(function="plan"):
                return self.named(expr.name, scope)
            case _:
                return self.of_host(text(expr), 0)

    def of_host(self, name: str, low: int) -> Term:
        """A value that is the same for all threads of the grid."""

        def made() -> Term:
            return self.symbols.at(GRID, lambda: self.symbols.within(name, low, None, ""))

        return self.symbols.once(("host", name), made)

    def element(self, load: i.Load, scope: PlaceScope) -> Term:
        return self.walk.element(load, scope)

    def call(self, call: i.Call, scope: PlaceScope) -> Term:
        found = self.walk.helper(call, scope)
        return super().call(call, scope) if found is None else found


def waits(body: i.Block) -> bool:
    """Whether threads wait for each other somewhere in a block."""
    for each in walk(body):
        if isinstance(each, (i.Barrier, i.Sort)):
            return True
        if isinstance(each, i.Call) and each.function in MEET:
            return True
    return False


def body_of_loop(body: i.Block) -> Iterator[i.Stmt]:
    """The statements of a loop's body, those of branches and not those of loops in it."""
    for each in body:
        if isinstance(each, i.If):
            yield from body_of_loop((*each.then, *each.otherwise))
        else:
            yield each


def sets(statement: i.Stmt) -> frozenset[str]:
    return frozenset() if isinstance(statement, (i.Loop, i.If)) else reassigned(statement)


def value_names(scope: PlaceScope, name: str) -> frozenset[str]:
    match scope.names[name]:
        case Term() as found:
            return found.names
        case List():
            return frozenset()
        case found:
            return t.names_of(found)

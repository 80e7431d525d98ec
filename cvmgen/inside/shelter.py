"""What nests have the host compute for them has a value in every call.

Passes take out of the nests what depends on the call alone: entries of lists, folds, steps. There
it stood behind conditions and tests; on the host it is computed before any of them is asked. So an
entry that is not proved to be in its list is read only if it is; what it is otherwise nobody uses.
"""

from __future__ import annotations

from dataclasses import replace

from cvmgen.inside.assumptions import order_test, range_test
from cvmgen.inside.calls import CallProver
from cvmgen.inside.knowledge import Knowledge
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, bound_in, names_in
from cvmgen.ir.visit import rebuild, walk, with_operands
from cvmgen.lower.lift import of_nests


def shelter(program: i.Program, *, bodies: bool = False) -> i.Program:
    """What the host computes for nests reads no entry that may not be in its list.

    With `bodies` so do nests by themselves, whatever conditions of a call stand around: for numpy,
    which computes whole arrays for all elements.
    """
    return Shelter(program, bodies).run()


class Shelter:
    """Walks host code in order; what the formula itself has there is tested already."""

    def __init__(self, program: i.Program, bodies: bool) -> None:
        self.program = program
        self.bodies = bodies
        self.prover = CallProver(program)
        self.spans = {nest.span for nest in program.nests}
        self.cases: dict[int | None, Knowledge] = {}

    def run(self) -> i.Program:
        prepare, self.cases[None] = self.block(self.program.prepare, Knowledge())
        nests = tuple(self.nest(each) for each in self.program.nests)
        return replace(self.program, prepare=prepare, nests=nests)

    def nest(self, nest: i.Nest) -> i.Nest:
        at = self.cases[nest.case]
        if nest.each is not None:
            index, _, count = nest.each
            at = self.prover.enter(at, i.Over(index, i.ZERO, count))
        prologue, at = self.block(nest.prologue, at)
        body = self.alone(nest.body, at) if self.bodies else nest.body
        return replace(nest, prologue=prologue, body=body)

    def alone(self, body: i.Block, at: Knowledge) -> i.Block:
        """Statements whose entries that the call alone decides are there by themselves."""
        inner = assigned(body) | bound_in(body)

        def change(node: i.Expr) -> i.Expr:
            if not isinstance(node, i.Item) or names_in(node) & inner:
                return node
            return node if any(map(of_nests, walk(node))) else self.item(node, at)

        return rebuild(body, change)

    # -------------------------------------------------------- statements

    def block(self, statements: i.Block, at: Knowledge) -> tuple[i.Block, Knowledge]:
        done: list[i.Stmt] = []
        for statement in statements:
            if isinstance(statement, i.Cases):
                done.append(self.branches(statement, at))
                continue
            done.append(
                self.statement(statement, at) if statement.span in self.spans else statement
            )
            at = self.prover.declare(at, statement)
        return tuple(done), at

    def branches(self, statement: i.Cases, at: Knowledge) -> i.Cases:
        branches = []
        for number, (condition, body) in enumerate(statement.branches):
            inner, self.cases[number] = self.block(body, self.prover.assume(at, condition))
            branches.append((condition, inner))
        return replace(statement, branches=tuple(branches))

    def statement(self, statement: i.Stmt, at: Knowledge) -> i.Stmt:
        match statement:
            case i.Let(value=value) | i.Accumulate(value=value):
                return replace(statement, value=self.expr(value, at))
            case i.AddAt(name=name, index=index, value=value):
                there = self.entry(i.Var(name), index)
                added = replace(statement, value=self.expr(value, at))
                if self.prover.proved(at, there):
                    return added
                return i.If(there, (added,), (), statement.span)
            case i.Loop(index=index, low=low, high=high, body=body):
                inner = self.prover.enter(at, i.Over(index, low, high))
                return replace(statement, body=self.block(body, inner)[0])
            case i.If(condition=condition, then=then, otherwise=otherwise):
                one = self.block(then, self.prover.assume(at, condition))[0]
                other = self.block(otherwise, self.prover.assume(at, condition, truth=False))[0]
                return i.If(self.expr(condition, at), one, other, statement.span)
            case _:
                return statement

    # -------------------------------------------------------- expressions

    def expr(self, expr: i.Expr, at: Knowledge) -> i.Expr:
        match expr:
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                one = self.expr(then, self.prover.assume(at, condition))
                other = self.expr(otherwise, self.prover.assume(at, condition, truth=False))
                return i.Select(self.expr(condition, at), one, other)
            case i.Logic(op="and" | "or" as op, operands=operands):
                done = []
                for each in operands:
                    done.append(self.expr(each, at))
                    at = self.prover.assume(at, each, op == "and")
                return i.Logic(op, tuple(done))
            case i.Fold(over=over, condition=condition) | i.Gather(over=over, condition=condition):
                for binder in over:
                    at = self.prover.enter(at, binder)
                if condition is not None:
                    at = self.prover.assume(at, condition)
                return replace(expr, element=self.expr(expr.element, at))
            case i.Item():
                return self.item(expr, at)
            case i.Part():
                return self.part(expr, at)
            case _:
                return self.parts(expr, at)

    def parts(self, expr: i.Expr, at: Knowledge) -> i.Expr:
        return with_operands(expr, lambda each: self.expr(each, at))

    def entry(self, sequence: i.Expr, index: i.Expr) -> i.Expr:
        return range_test(index, i.ZERO, i.Call("len", (sequence,)))

    def item(self, expr: i.Item, at: Knowledge) -> i.Expr:
        there = self.entry(expr.sequence, expr.index)
        read = self.parts(expr, at)
        if self.prover.proved(at, there):
            return read
        if isinstance(expr.sequence, i.Var) and expr.sequence.name in self.prover.many:
            last = i.Binary("-", i.Var(self.prover.many[expr.sequence.name]), i.Const(1))
            return i.Item(expr.sequence, _clamped(expr.index, i.ZERO, last), expr.span)
        return i.Select(there, read, i.ZERO)

    def part(self, expr: i.Part, at: Knowledge) -> i.Expr:
        """A part that ends where its list does, and does not end before it begins."""
        length: i.Expr = i.Call("len", (expr.sequence,))
        low = i.ZERO if expr.low is None else expr.low
        high = length if expr.high is None else expr.high
        if self.prover.proved(at, order_test(low, high, length)):
            return expr
        low = _clamped(low, i.ZERO, length)
        return replace(expr, low=low, high=expr.high and _clamped(high, low, length))


def _clamped(value: i.Expr, low: i.Expr, high: i.Expr) -> i.Expr:
    return i.Call("max", (low, i.Call("min", (value, high))))

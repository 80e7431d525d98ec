"""Expressions to statements: reductions become loops with accumulators, bindings locals.

In nests this runs for every target; list comprehensions and the folds of the host code
(`everything`) become loops only for the targets that have no expression for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_bodies
from cvmgen.ir.logic import combination, opposite
from cvmgen.ir.rewrite import with_counted_lists, without_dead
from cvmgen.ir.uses import assigned, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, substitute, walk, with_children
from cvmgen.lower.translate import loop_over
from cvmgen.source import Span

ACCUMULATORS: dict[str, tuple[str, str, i.Expr]] = {
    "sum": ("total", "+", i.Const(0)),
    "prod": ("product", "*", i.Const(1)),
    "max": ("largest", "max", i.Call("lowest", ())),
    "min": ("smallest", "min", i.Call("highest", ())),
    "any": ("found", "or", i.Const(False)),
    "all": ("holds", "and", i.Const(True)),
    "count": ("counted", "+", i.Const(0)),
}


def unfold_nests(program: i.Program) -> i.Program:
    """Reductions become loops with an accumulator, bindings become locals.

    Index lists stay expressions.
    """
    reals = program.operator.has_reals

    def change(body: i.Block) -> i.Block:
        return Unfold(taken(body), everything=False, reals=reals).block(body)

    return with_bodies(program, change)


def unfold_all(program: i.Program) -> i.Program:
    """Comprehensions become loops that fill lists.

    So do the folds of `prepare`: for C and CUDA.
    """
    reals = program.operator.has_reals
    nests = tuple(
        replace(
            nest,
            body=without_dead(
                with_counted_lists(
                    Unfold(taken(nest.body), everything=True, reals=reals).block(nest.body)
                )
            ),
            prologue=UnfoldHost(taken(nest.prologue), everything=True).block(nest.prologue),
        )
        for nest in program.nests
    )
    prepare = UnfoldHost(taken(program.prepare), everything=True).block(program.prepare)
    return replace(program, prepare=prepare, nests=nests)


def taken(statements: i.Block) -> frozenset[str]:
    """The names that new locals must not take: those read and those set, and the tensors."""
    tensors = {each.tensor for each in nodes_in(statements, i.Access)}
    tensors |= {each.tensor for each in nodes_in(statements, i.Load)}
    return names_in(statements) | assigned(statements) | tensors


def unfold_bindings(statements: Any) -> Any:
    """Only the bindings, by substitution: for a target with comprehensions of its own."""

    def inline(node: i.Expr) -> i.Expr:
        if isinstance(node, i.Bind):
            return substitute(node.body, {node.name: node.value})
        return node

    return rebuild(statements, inline)


def always_has_value(expr: i.Expr) -> bool:
    """Whether an expression has a value whatever the guards around it say."""
    risky = (i.Access, i.Load, i.Item, i.Part, i.Gather, i.Call)
    divisions = ("floordiv", "truncdiv", "mod", "shl", "shr")
    return not any(
        isinstance(node, risky) or (isinstance(node, i.Binary) and node.op in divisions)
        for node in walk(expr)
    )


def makes_list(expr: i.Expr) -> bool:
    """Whether an expression is visibly a list; a name may be one too."""
    match expr:
        case i.Gather() | i.ListOf() | i.Part() | i.Binary(op="union" | "difference"):
            return True
        case i.Select(then=then, otherwise=otherwise):
            return makes_list(then) or makes_list(otherwise)
        case _:
            return False


def makes_truth(expr: i.Expr) -> bool:
    """Whether an expression is visibly a condition; a name may be one too."""
    match expr:
        case i.Compare() | i.Logic() | i.Not() | i.Contains() | i.Given() | i.Const(value=bool()):
            return True
        case i.Fold(op=op):
            return op in ("any", "all")
        case i.Bind(body=body):
            return makes_truth(body)
        case i.Select(then=then, otherwise=otherwise):
            return makes_truth(then) or makes_truth(otherwise)
        case _:
            return False


def initial_value(expr: i.Select) -> tuple[str, i.Expr]:
    """The type of a local for what is chosen, and a value until then."""
    if makes_list(expr.then) or makes_list(expr.otherwise):
        return "list", i.ListOf(())
    return ("bool", i.Const(False)) if makes_truth(expr) else ("int", i.Const(0))


class Unfold:
    """Rewrites blocks; `self.out` is the block under construction. With `reals`, numbers may be
    real, and NaN is neither below another one nor not."""

    def __init__(self, taken: Iterable[str], *, everything: bool, reals: bool = False) -> None:
        self.taken = set(taken)
        self.locals: set[str] = set()
        self.open_packs: set[str] = set()  # bound in part by what is around
        self.everything = everything
        self.reals = reals
        self.out: list[i.Stmt] = []
        self.span: Span

    def block(self, statements: i.Block) -> i.Block:
        outer, self.out = self.out, []
        for statement in statements:
            self.statement(statement)
        result, self.out = self.out, outer
        return tuple(result)

    def fresh(self, name: str) -> str:
        return fresh(name, self.taken)

    # -------------------------------------------------------- statements

    def statement(self, statement: i.Stmt) -> None:
        self.span = statement.span
        if isinstance(statement, i.Let):
            self.locals.add(statement.name)  # what is bound below gets another name
        match statement:
            case i.Let(type="list", value=i.Gather() | i.ListOf() as value) if self.everything:
                self.fill(statement.name, value)
            case i.Let(name=name, value=i.Fold() as fold) if name not in names_in(fold):
                self.fold(fold, name)
            case i.Store(target=target, value=value):
                stored = self.expr(value)  # what this takes stands in front of what the place does
                self.out.append(replace(statement, target=self.part(target), value=stored))
            case i.TakeAttribute(default=default):
                ends = with_children(replace(statement, default=None), self.part)
                self.out.append(replace(ends, default=default))
            case i.Cases(branches=branches):
                self.cases(branches)
            case _:
                self.out.append(with_children(statement, self.part))

    def part(self, part: Any) -> Any:
        """What stands right in a statement or an expression, rewritten."""
        if isinstance(part, tuple):
            statements = part and isinstance(part[0], i.Stmt)
            return self.block(part) if statements else tuple(map(self.part, part))
        return self.expr(part) if isinstance(part, i.Expr) else part

    def cases(self, branches: tuple[tuple[i.Expr, i.Block], ...]) -> None:
        """Conditions first, so that each branch is one block of its own."""
        span = self.span
        done = []
        for condition, body in branches:
            test = self.expr(condition)
            done.append((test, self.block(body)))
            self.span = span
        self.out.append(i.Cases(tuple(done), span))

    # -------------------------------------------------------- expressions

    def expr(self, expr: i.Expr) -> i.Expr:
        match expr:
            case i.Binary(op="union") if self.everything:
                return self.union(expr)
            case i.Logic():
                return self.logic(expr)
            case i.Select():
                return self.select(expr)
            case i.Gather() if not self.everything:
                return expr
            case i.Gather() | i.ListOf(entries=(_, *_)) if self.everything:
                name = self.fresh("entries")
                self.fill(name, expr)
                return i.Var(name)
            case i.Fold():
                return self.fold(expr)
            case i.Bind(name=name, value=value, body=body):
                local = self.fresh(name) if name in self.locals else name
                self.locals.add(local)
                self.taken.add(local)
                if isinstance(value, i.Fold) and local not in names_in(value):
                    self.fold(value, local)
                else:
                    self.out.append(i.Let(local, "int", self.expr(value), self.span))
                if local != name:
                    body = substitute(body, {name: i.Var(local)})
                return self.expr(body)
            case _:
                return with_children(expr, self.part)

    def apart(self, expr: i.Expr) -> tuple[i.Block, i.Expr]:
        """An expression with the statements that must run before it, kept separate.

        Locals that can be computed at any time are not kept: they join the open block.
        """
        outer, self.out = self.out, []
        result = self.expr(expr)
        statements, self.out = self.out, outer
        if all(isinstance(each, i.Let) and always_has_value(each.value) for each in statements):
            self.out.extend(statements)
            return (), result
        return tuple(statements), result

    def inside(self, expr: i.Expr, over: tuple[i.Over | i.OverPack, ...]) -> tuple[i.Block, i.Expr]:
        """An expression for the body of loops, with the statements before it."""
        outer, self.out = self.out, []
        packs = {each.pack for each in over if isinstance(each, i.OverPack) and each.slots}
        around, self.open_packs = self.open_packs, self.open_packs | packs
        result = self.expr(expr)
        self.open_packs = around
        statements, self.out = self.out, outer
        return tuple(statements), result

    def select(self, expr: i.Select) -> i.Expr:
        condition = self.expr(expr.condition)
        then_block, then = self.apart(expr.then)
        else_block, otherwise = self.apart(expr.otherwise)
        if not then_block and not else_block:
            return i.Select(condition, then, otherwise)
        name = self.fresh("chosen")
        span = self.span
        kind, start = initial_value(expr)
        self.out.append(i.Let(name, kind, start, span))
        other = (*else_block, i.Assign(name, otherwise, span))
        if not else_block and otherwise == start:
            other = ()
        self.out.append(i.If(condition, (*then_block, i.Assign(name, then, span)), other, span))
        return i.Var(name)

    def logic(self, expr: i.Logic) -> i.Expr:
        """Operands in order; one that needs statements runs only where it counts."""
        done = [self.expr(expr.operands[0])]
        for at, operand in enumerate(expr.operands[1:], 1):
            block, value = self.apart(operand)
            if not block:
                done.append(value)
                continue
            so_far = combination(expr.op, done)
            rest = expr.operands[at + 1 :]
            name = self.fresh("test")
            span = self.span
            self.out.append(i.Let(name, "bool", so_far, span))
            condition: i.Expr = i.Var(name) if expr.op == "and" else i.Not(i.Var(name))
            then = (*block, i.Assign(name, value, span))
            self.out.append(i.If(condition, then, (), span))
            return self.logic(i.Logic(expr.op, (i.Var(name), *rest))) if rest else i.Var(name)
        return i.Logic(expr.op, tuple(done))

    def fold(self, expr: i.Fold, named: str | None = None) -> i.Expr:
        """The loops of a reduction, into an accumulator that may have a name already."""
        name, op, start = ACCUMULATORS[expr.op]
        local = named or self.fresh(name)
        kind = "bool" if expr.op in ("any", "all") else "int"
        self.out.append(i.Let(local, kind, start, self.span))
        span = self.span
        block, value = self.inside(expr.element, expr.over)
        if expr.op == "count":
            one = i.Const(1)
            value = one if value == i.Const(True) else i.Select(value, one, i.Const(0))
        step: i.Stmt = i.Accumulate(local, op, value, span)
        if kind == "bool" and len(expr.over) == 1 and not self.everything:
            step = self.decided(local, expr.op, value)
        self.out.extend(self.around(expr.over, expr.condition, (*block, step)))
        return i.Var(local)

    def decided(self, local: str, op: str, value: i.Expr) -> i.Stmt:
        """The first element that decides an `any` or `all` ends the loop."""
        test = value if op == "any" else i.Not(value) if self.reals else opposite(value)
        found = i.Assign(local, i.Const(op == "any"), self.span)
        return i.If(test, (found, i.Break(self.span)), (), self.span)

    def fill(self, name: str, expr: i.Gather | i.ListOf) -> None:
        """A list that is filled entry by entry, a comprehension in a loop."""
        span = self.span
        self.out.append(i.Let(name, "list", i.ListOf(()), span))
        if isinstance(expr, i.ListOf):
            for entry, pack in expr.entries:
                self.put(name, "list", self.expr(entry), every=pack)
            return
        block, value = self.inside(expr.element, expr.over)
        body: i.Block = (*block, i.Append(name, expr.kind, value, span))
        self.out.extend(self.around(expr.over, expr.condition, body))

    def put(self, name: str, kind: str, value: i.Expr, *, every: bool) -> None:
        """A value, or every entry of a list, into a list or set."""
        if not every:
            self.out.append(i.Append(name, kind, value, self.span))
            return
        index = self.fresh("entry")
        body = (i.Append(name, kind, i.Var(index), self.span),)
        self.out.append(i.Loop(index, None, value, body, 0, self.span))

    def union(self, expr: i.Binary) -> i.Expr:
        """The first set, with each element of the second put in."""
        left, right = self.expr(expr.left), self.expr(expr.right)
        name = self.fresh("joined")
        self.out.append(i.Let(name, "list", left, self.span))
        self.put(name, "set", right, every=True)
        return i.Var(name)

    def around(
        self,
        over: tuple[i.Over | i.OverPack, ...],
        condition: i.Expr | None,
        body: i.Block,
    ) -> i.Block:
        """`body` inside the filter inside the loops."""
        span = self.span
        if condition is not None:
            block, test = self.inside(condition, over)
            body = (*block, i.If(test, body, (), span))
        for each in reversed(over):
            if self.everything and isinstance(each, i.OverPack):
                body = self.positions(each, body)
            else:
                body = (loop_over(each, body, span),)
        return self.block(body)  # bounds of the loops may need statements of their own

    def positions(self, over: i.OverPack, body: i.Block) -> i.Block:
        """A loop over the positions of a box, the multi-index of each in a local list.

        Where only a part of a pack runs, its entries are written to their places in the pack.
        """
        span, pack, box, slots = self.span, over.pack, over.extents, over.slots
        before: i.Block = ()
        if slots is not None:
            box = i.Var(self.fresh(f"{pack}_extents"))
            before = (i.Let(box.name, "list", over.extents, span),)
        at = self.fresh(f"{pack}_at")
        index = i.Call("unflatten", (i.Var(at), box))
        if pack in names_in(body) and slots is None:
            body = (i.Let(pack, "list", index, span), *body)
        elif pack in names_in(body) and slots is not None:
            entries, slot = self.fresh(f"{pack}_entries"), self.fresh("slot")
            entry = i.Item(i.Var(entries), i.Var(slot))
            write = i.SetAt(pack, i.Item(slots, i.Var(slot)), entry, span)
            loop = i.Loop(slot, i.Const(0), i.Call("len", (slots,)), (write,), 0, span)
            body = (i.Let(entries, "list", index, span), loop, *body)
            if pack not in self.open_packs:
                zeros = i.Call("zeros", (i.Call("max_rank", ()),))
                body = (i.Let(pack, "list", zeros, span), *body)
        size = i.Call("size", (box,))
        return (*before, i.Loop(at, i.Const(0), size, body, 0, span))


class UnfoldHost(Unfold):
    """The same for host code, whose statements take a list that is written out as it is."""

    def statement(self, statement: i.Stmt) -> None:
        match statement:
            case (
                i.Let(value=i.ListOf())
                | i.Assign(value=i.ListOf())
                | i.SetOutput(extents=i.ListOf())
            ):
                self.span = statement.span
                self.out.append(with_children(statement, self.whole))
            case _:
                super().statement(statement)

    def whole(self, part: Any) -> Any:
        return with_children(part, self.part) if isinstance(part, i.ListOf) else self.part(part)

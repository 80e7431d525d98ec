"""Checked formula to IR: definitions inlined, each equation a nest of loops around a store."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.dtypes import MAX_RANK
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction
from cvmgen.lower.demand_nests import demand_nest
from cvmgen.lower.expressions import Expressions
from cvmgen.lower.let_nests import let_memory, let_nest
from cvmgen.lower.list_nests import list_memory, list_nest
from cvmgen.rules import MOST_NAMED
from cvmgen.source import Span
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import INT, LIST, SET
from cvmgen.spec.host_integers import far_precision, let_rule, may_be_wide
from cvmgen.spec.lengths import length_rule, may_be_long


def operator_program(
    operator: f.Operator, *, lazy: bool = False, never: frozenset[str] = frozenset()
) -> i.Program:
    """The program of an operator; nests still access tensors by multi-index. Lets that are `never`
    memory stand for their formulas wherever they are read."""
    return Translator(operator, lazy=lazy, never=never).program()


class Translator(Expressions):
    """Makes the host code and the nests of an operator."""

    # -------------------------------------------------------- the program

    def program(self) -> i.Program:
        nests: list[i.Nest] = []
        self.scratch: list[i.Scratch] = []
        self.demands: list[i.Nest] = []  # that come before all else
        prepare = self.items(self.operator.items, None, nests)
        return i.Program(self.operator, prepare, (*self.demands, *nests), tuple(self.scratch))

    def items(self, items: tuple[f.Item, ...], case: int | None, nests: list[i.Nest]) -> i.Block:
        statements: list[i.Stmt] = []
        branches: list[tuple[i.Expr, i.Block]] = []
        for item in items:
            match item:
                case f.Equation():
                    nests.append(self.nest(item, case))
                case f.Demand():
                    taken = {*self.kept_names, *(each.name for each in self.scratch)}
                    found, sizes, nest = demand_nest(self, item, case, taken)
                    self.scratch.append(found)
                    statements += sizes
                    (self.demands if item.first else nests).append(nest)
                case f.Case(condition=condition, items=inner):
                    number = len(branches)
                    branches.append((self.expr(condition), self.items(inner, number, nests)))
                    span = item.span
                case f.Definition() if item.name in self.lists:
                    scratch, sizes = list_memory(self, item, case)
                    self.scratch += scratch
                    statements += sizes
                    nests.append(list_nest(self, item, case))
                case f.Definition() if item.name in self.in_memory:
                    memory_of, size = let_memory(self, item, case)
                    self.scratch.append(memory_of)
                    statements.append(size)
                    nests.append(let_nest(self, item, memory_of))
                case f.Definition():
                    pass
                case _:
                    statements.append(self.host(item))
                    statements += self.room(item)
        if branches:
            statements.append(i.Cases(tuple(branches), span))
        return tuple(statements)

    def host(self, item: f.Item) -> i.Stmt:
        match item:
            case f.Input(extents=extents, span=span):
                known = tuple(None if each.new else self.expr(each.value) for each in extents)
                return i.TakeInput(item, known, span)
            case f.Attribute(default=default, low=low, high=high, inside=inside, span=span):
                ends = [end for end in (low, high) if end is not None]
                return i.TakeAttribute(
                    item,
                    None if default is None or isinstance(default, n.Word) else self.expr(default),
                    None if low is None else self.expr(low),
                    None if high is None else self.expr(high),
                    self.terms(ends),
                    None if inside is None else self.inside(inside),
                    span,
                )
            case f.Let(name=name, value=value, kind=kind, span=span):
                type_name = "list" if kind in (LIST, SET) else kind.name
                return i.Let(name, type_name, self.expr(value), span)
            case f.Require(condition=condition, message=message, span=span):
                return i.Require(self.expr(condition), message, self.terms([condition]), span)
            case f.Output(name=name, slots=slots, precision=precision, span=span):
                box = self.index_list(slots)
                if precision is None:
                    return i.SetOutput(name, box, item.empty, None, "", (), 0, span)
                rule = self.operator.rule(item)
                terms, far = self.terms([precision]), far_precision(self.operator, item)
                needed = self.expr(precision)
                return i.SetOutput(name, box, item.empty, needed, rule, terms, far, span)
            case f.Equation() | f.Case() | f.Definition() | f.Demand():
                raise AssertionError("handled by items")

    def inside(self, test: n.Compare) -> i.Expr:
        """The range of a real attribute, on the host, which has it under its name."""
        low, value, high = test.operands
        assert isinstance(value, n.Ref)
        operands = (self.expr(low), i.Var(value.name), self.expr(high))
        pairs = zip(test.relations, operands, operands[1:], strict=False)
        return conjunction(i.Compare(relation, left, right) for relation, left, right in pairs)

    def room(self, item: f.Item) -> Iterator[i.Stmt]:
        """The checks that there is room for a named value: for the entries of a list, for all
        digits of an integer."""
        if not isinstance(item, f.Let):
            return
        named = i.Var(item.name)
        short = i.Compare("<=", i.Call("len", (named,)), i.Const(MAX_RANK))
        wide = may_be_wide(self.operator, item)
        if may_be_long(self.operator, item) and not (wide and item.kind == SET):
            yield self.let_requirement(item, short, length_rule(item.name))
        if wide and item.kind == INT:
            yield self.let_requirement(item, is_named(named), let_rule(item))
        elif wide:
            entry = i.Var(self.fresh("entry"))
            fits: i.Expr = i.Fold("all", is_named(entry), (i.Over(entry.name, None, named),), None)
            if item.kind == SET:
                fits = i.Logic("and", (short, fits))
            yield self.let_requirement(item, fits, let_rule(item))

    def let_requirement(self, item: f.Let, condition: i.Expr, rule: str) -> i.Require:
        return i.Require(condition, rule, self.terms([item.value]), item.span)

    # -------------------------------------------------------- equations

    def nest(self, item: f.Equation, case: int | None) -> i.Nest:
        outer = self.definitions
        self.definitions = {**outer, **{each.name: each for each in item.where}}
        body = self.loops(item, item.domain.items)
        self.definitions = outer
        formula = self.operator.quote(item.span)
        return i.Nest(item.tensor, case, None, (), body, formula, item.span)

    def loops(self, item: f.Equation, binders: tuple[n.Binder, ...]) -> i.Block:
        if not binders:
            return self.store(item)
        binder, rest = binders[0], binders[1:]
        with self.over((binder,)) as (over,):
            body = self.loops(item, rest)
        return (loop_over(over, body, item.span),)

    def store(self, item: f.Equation) -> i.Block:
        index = tuple((self.expr(slot.value), slot.pack) for slot in item.slots)
        value = self.with_where(item.value)
        store = i.Store(i.Access(item.tensor, None, index), value, item.span)
        if item.domain.condition is None:
            return (store,)
        return (i.If(self.expr(item.domain.condition), (store,), (), item.span),)


def loop_over(over: i.Over | i.OverPack, body: i.Block, span: Span) -> i.Stmt:
    match over:
        case i.Over(index=index, low=low, high=high):
            return i.Loop(index, low, high, body, 0, span)
        case i.OverPack(pack=pack, extents=extents, slots=slots):
            return i.PackLoop(pack, extents, slots, body, span)


def is_named(value: i.Expr) -> i.Expr:
    """Whether an integer is such that a `let` may have it."""
    least, most = i.Const(-MOST_NAMED), i.Const(MOST_NAMED)
    return i.Logic("and", (i.Compare("<=", least, value), i.Compare("<=", value, most)))

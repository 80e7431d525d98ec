"""Runs a whole checked operator: checks, shapes, precisions, every element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any, TypeVar

from cvmgen import rules, typed
from cvmgen.dtypes import (
    CVM,
    DTYPES,
    MAX_LIST,
    MAX_PRECISION,
    MAX_RANK,
)
from cvmgen.functions import unflatten
from cvmgen.reals import STORED
from cvmgen.reference.arguments import BoundArguments
from cvmgen.reference.binders import BinderWalk, Closure
from cvmgen.reference.failures import (
    POINT,
    Budget,
    Env,
    FormulaError,
    OutsideAccess,
    about_binders,
    slot_values,
)
from cvmgen.reference.lets import steady_parts
from cvmgen.reference.tensor import Tensor
from cvmgen.source import Span
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.host_integers import far_precision, let_rule, may_be_wide
from cvmgen.spec.lengths import length_rule

Operand = Tensor | Sequence[Tensor] | None
Later = f.Equation | f.Definition | f.Demand  # what is looked at when all shapes are known
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ReferenceResult:
    """The outputs by name; the environment holds every named value of the call."""

    outputs: dict[str, Tensor]
    env: Env


class Reference(BoundArguments):
    """An operator as the formula defines it.

    `evaluate` computes, `infer` stops before the elements. Both raise OperatorError for a
    call that the operator refuses and FormulaError where the formula has no value. What is read
    and is not there refuses a call; while the formula is tried out, it is a fault of the formula.
    """

    tried_out = False
    keeps_parts = True  # those that have one value at a point; who looks at each use does not

    def __init__(self, operator: f.Operator, budget: Budget | None = None) -> None:
        super().__init__(operator, budget)
        self.table = operator.types
        self.equations: dict[int, tuple[BinderWalk, Closure, Closure]] = {}

    def infer(
        self, inputs: Mapping[str, Operand], attributes: Mapping[str, Any] | None = None
    ) -> ReferenceResult:
        return self.run(inputs, attributes or {}, compute=False)

    def evaluate(
        self, inputs: Mapping[str, Operand], attributes: Mapping[str, Any] | None = None
    ) -> ReferenceResult:
        """Outputs hold exact integers; the storage type of each is int32 unless it moves data."""
        return self.run(inputs, attributes or {}, compute=True)

    def run(
        self, inputs: Mapping[str, Operand], attributes: Mapping[str, Any], compute: bool
    ) -> ReferenceResult:
        env: Env = {"$attributes": attributes, "$inputs": inputs, "$lists": {}}
        row = self.row(inputs, attributes)
        env["$types"] = dict(DTYPES) | dict(
            zip(self.table.names, self.table.rows[row], strict=True)
        )
        outputs: dict[str, Tensor] = {}
        equations: list[Later] = []
        self.items(self.operator.items, env, outputs, equations)
        if compute:
            self.compute(env, outputs, equations)
        return ReferenceResult(outputs, env)

    def row(self, inputs: Mapping[str, Operand], attributes: Mapping[str, Any]) -> int:
        """The row of the types that the inputs have and attributes decide."""
        names: list[str] = []
        given: list[str | None] = []
        for item in self.operator.inputs:
            if item.dtype == CVM:
                continue
            operand = inputs.get(item.name)
            for at, tensor in enumerate(operand if isinstance(operand, Sequence) else [operand]):
                names.append(f"{item.name}[{at}]" if item.variadic else item.name)
                given.append(None if tensor is None else tensor.dtype)
        for each in self.operator.deciding:
            word = attributes.get(each.name)
            if word is None and isinstance(each.default, n.Word):
                word = each.default.text
            names.append(each.name)
            given.append(word if word in each.words else None)
        rows = [
            [choice[name.split("[")[0]].name for name in names] for choice in self.operator.choices
        ]
        return typed.row_of(self.operator.full_name, names, given, rows)

    def in_type(self, name: str, output: Tensor, env: Env) -> None:
        """Bring the values of an output to its type; the first one that does not fit is refused."""
        dtype = env["$types"].get(self.operator.type_of[name])
        if dtype is None:
            return
        output.dtype = dtype.name
        for position, value in enumerate(output.values):
            if dtype.kind == "int" and not dtype.low <= value <= dtype.high:
                index = unflatten(position, output.shape)
                raise self.refuse(name, "", typed.overflow_rule(index, dtype.name))
            if dtype.kind == "real":
                exact = float(value)
                output.values[position] = STORED[dtype.name](exact)

    def compute(
        self,
        env: Env,
        outputs: dict[str, Tensor],
        equations: list[Later],
    ) -> None:
        """Every element of the outputs, and that each is written exactly once."""
        written: dict[str, list[bool]] = {}
        for name, output in outputs.items():
            output.values = [None] * output.size
            written[name] = [False] * output.size
        for each in sorted(equations, key=_is_behind):
            match each:
                case f.Definition():
                    self.all_lists(each, env)
                case f.Demand():
                    self.demand(each, env)
                case f.Equation(tensor=tensor):
                    self.equation(each, env, outputs[tensor], written[tensor])
        for name, marks in written.items():
            self.all_written(name, marks, outputs[name], env)
            self.in_type(name, outputs[name], env)

    # -------------------------------------------------------- items, in the order of the text

    def items(
        self,
        items: tuple[f.Item, ...],
        env: Env,
        outputs: dict[str, Tensor],
        equations: list[Later],
    ) -> None:
        cases = []
        for item in items:
            match item:
                case f.Equation() | f.Demand():
                    equations.append(item)
                case f.Definition(kind=f.SELECTED) if not self.tried_out:
                    equations.append(item)
                case f.Case():
                    cases.append(item)
                case _:
                    self.there(item, env, partial(self.item, item, env, outputs))
        if cases:
            self.case(cases, env, outputs, equations)

    def there(self, item: f.Item, env: Env, run: Callable[[], Result]) -> Result:
        """What an item gives; a call in which it reads what is not there is refused."""
        try:
            return run()
        except OutsideAccess:
            if self.tried_out:
                raise
        about = () if isinstance(item, f.Case) else f.host_expressions(item)
        raise self.refuse("", self.terms(about, env), rules.NOT_THERE)

    def item(
        self,
        item: f.Input | f.Attribute | f.Let | f.Require | f.Definition | f.Output,
        env: Env,
        outputs: dict[str, Tensor],
    ) -> None:
        match item:
            case f.Output():
                outputs[item.name] = self.output(item, env)
            case f.Input():
                self.input(item, env)
            case f.Attribute():
                self.attribute(item, env)
            case f.Let(name=name, value=value):
                env[name] = self.compiler.value(value, env)
                rule = self.broken_rule(item, env[name])
                if rule:
                    raise self.refuse("", self.terms(value, env), rule)
            case f.Require():
                if not self.compiler.value(item.condition, env):
                    raise self.refuse("", self.terms(item.condition, env), item.message)
            case f.Definition():
                pass

    def broken_rule(self, item: f.Let, value: Any) -> str:
        """The rule that there is room for a named value, where a call breaks it."""
        is_list = item.kind in (f.LIST, f.SET)
        numbers = value if is_list else (value,) if item.kind == f.INT else ()
        long = is_list and len(value) > MAX_LIST
        wide = any(abs(each) > rules.MOST_NAMED for each in numbers)
        if long and not (item.kind == f.SET and may_be_wide(self.operator, item)):
            return length_rule(item.name)
        return let_rule(item) if long or wide else ""

    def case(
        self,
        cases: list[f.Case],
        env: Env,
        outputs: dict[str, Tensor],
        equations: list[Later],
    ) -> None:
        holding = [
            case
            for case in cases
            if self.there(case, env, partial(self.compiler.value, case.condition, env))
        ]
        if not holding:
            conditions = tuple(case.condition for case in cases)
            raise FormulaError(cases[0].condition.span, rules.NO_CASE, env, conditions)
        if len(holding) > 1:
            first, second = holding[0].condition, holding[1].condition
            message = f"this case and the one in line {first.span.line} both apply"
            raise FormulaError(second.span, message, env, (first, second))
        env["$case"] = cases.index(holding[0])
        self.items(holding[0].items, env, outputs, equations)

    # -------------------------------------------------------- outputs

    def output(self, item: f.Output, env: Env) -> Tensor:
        shape = self.compiler.index(item.slots, env)
        env["$out " + item.name] = shape
        self.reads_inside(item, env)
        limits = rules.OUTPUT_OR_EMPTY if item.empty else rules.OUTPUT
        if len(shape) > MAX_RANK:
            raise self.refuse(item.name, f"rank {len(shape)}", limits.rank_rule)
        text = f"shape {rules.shape_text(shape)}"
        self.within(limits, item.name, shape, text)
        precision = self.precision(item, env)
        return Tensor(shape, [], precision)

    def reads_inside(self, item: f.Output, env: Env) -> None:
        """A call is refused by what an item reads and is not there before all else."""
        if item.precision is None or self.tried_out:
            return
        try:
            self.compiler.value(item.precision, env)
        except OutsideAccess:
            raise
        except FormulaError:
            pass  # the shape may be refused yet

    def precision(self, item: f.Output, env: Env) -> int:
        if item.dtype != CVM:
            return 0
        if item.precision is None:
            return MAX_PRECISION
        value = int(self.compiler.value(item.precision, env))
        if not 1 <= value <= MAX_PRECISION:
            terms = self.terms(item.precision, env)
            text = rules.precision_text(value, far_precision(self.operator, item))
            shown = f"precision {text}" + (f" ({terms})" if terms else "")
            raise self.refuse(item.name, shown, rules.precision_rule(self.operator.rule(item)))
        return value

    def equation(self, item: f.Equation, env: Env, output: Tensor, written: list[bool]) -> None:
        walk, index_of, value_of = self.compiled(item)
        bound = [n.bound_by(each) for each in item.domain.items]
        before, outside = dict(env), list[int]()
        try:
            for _ in walk(env):
                env[POINT] = {}
                position = self.position(item, index_of(env), env, output, written)
                try:
                    output.values[position] = value_of(env)
                except OutsideAccess:
                    if self.tried_out:
                        raise
                    outside.append(position)
                    # What was left early may leave its indices bound.
                    point = {name: env[name] for name in bound}
                    env.clear()
                    env.update(before, **point)
                env.pop(POINT, None)  # the walk goes on to another one
        except OutsideAccess:
            if self.tried_out:
                raise
            outside.append(0)
        if outside:
            at = unflatten(min(outside), output.shape) if self.in_order(item) else None
            raise self.refuse(item.tensor, "", rules.outside_rule(at))

    def position(
        self, item: f.Equation, index: list[int], env: Env, output: Tensor, written: list[bool]
    ) -> int:
        """Where an equation writes, which must be inside of the output, and once."""
        if len(index) != len(output.shape):
            rank = len(output.shape)
            message = f"{item.tensor} has rank {rank}, {len(index)} indices are given"
            raise OutsideAccess(_left(item), message, env, slot_values(item.slots))
        position = 0
        for dimension, (at, extent) in enumerate(zip(index, output.shape, strict=True)):
            if not 0 <= at < extent:
                name, slots = item.tensor, item.slots
                raise self.compiler.outside(name, slots, dimension, at, extent, env)
            position = position * extent + at
        if written[position]:
            message = f"element {rules.shape_text(index)} of {item.tensor} is written twice"
            about = slot_values(item.slots)
            raise FormulaError(_left(item), message, env, about, advice=_last_one(item))
        written[position] = True
        return position

    def in_order(self, item: f.Equation) -> bool:
        """Whether an equation goes through its output element by element."""
        plain = {
            binder.index if isinstance(binder, n.IndexRange) else binder.pack
            for binder in item.domain.items
            if isinstance(binder, n.IndexRange)
            or (isinstance(binder, n.PackRange) and binder.slots is None)
        }
        named = (slot.value.name for slot in item.slots if isinstance(slot.value, n.Ref))
        whole = len(item.slots) == sum(name in plain for name in named)
        return item.gather and whole and item.tensor not in self.operator.empty_tensors

    def demand(self, item: f.Demand, env: Env) -> None:
        """Refuse the call by the first point where a requirement on elements does not hold."""
        walk, holds = self.compiler.walk(item.domain), self.compiler.closure(item.condition)
        first: tuple[int, ...] | None = None
        try:
            for _ in walk(env):
                if not holds(env):
                    point = self.point(item.domain, env) if item.placed else ()
                    first = point if first is None else min(first, point)
        except OutsideAccess:
            if self.tried_out:
                raise
            raise self.refuse(item.tensor, "", rules.outside_rule(None)) from None
        if first is not None:
            raise self.refuse(item.tensor, "", rules.demand_rule(item.message, first))

    @staticmethod
    def point(domain: n.Binders, env: Env) -> tuple[int, ...]:
        """The values of the indices of a domain, in their order."""
        found: list[int] = []
        for each in domain.items:
            value = env[n.bound_by(each)]
            found += value if isinstance(value, tuple) else (value,)
        return tuple(found)

    def all_lists(self, item: f.Definition, env: Env) -> None:
        """Every list of a definition that the outputs speak of, as the others may follow it."""
        if item.name not in self.spoken_of:
            return
        extents = [self.compiler.value(extent, env) for extent in item.ranges or ()]
        names = [name for name, _ in item.parameters]
        try:
            for indices in product(*map(range, extents)):
                self.compiler.body(item)({**env, **dict(zip(names, indices, strict=True))})
        except OutsideAccess:
            raise self.refuse(item.name, "", rules.outside_rule(None)) from None

    @cached_property
    def spoken_of(self) -> frozenset[str]:
        """The definitions that the outputs and the requirements on elements need."""
        items = tuple(f.all_items(self.operator.items))
        bodies = {each.name: each.body for each in items if isinstance(each, f.Definition)}
        found: set[str] = set()
        left: list[Any] = [each for each in items if isinstance(each, f.Equation | f.Demand)]
        while left:
            part = left.pop()
            inner = () if not isinstance(part, f.Equation) else tuple(w.body for w in part.where)
            whole = (part.slots, part.domain, part.value) if isinstance(part, f.Equation) else part
            for node in n.walk((whole, inner)):
                if isinstance(node, n.Apply) and node.name in bodies and node.name not in found:
                    found.add(node.name)
                    left.append(bodies[node.name])
        return frozenset(found)

    def compiled(self, item: f.Equation) -> tuple[BinderWalk, Closure, Closure]:
        """What an equation runs over, the element that it writes, and the value."""
        if id(item) not in self.equations:
            where = {each.name: each for each in item.where}
            compiler = self.compiles(self.compiler.definitions | where, self.compiler.budget)
            compiler.once = steady_parts(item) if self.keeps_parts else frozenset()
            self.equations[id(item)] = (
                compiler.walk(item.domain),
                compiler.slots(item.slots),
                compiler.closure(item.value),
            )
        return self.equations[id(item)]

    def all_written(self, name: str, marks: list[bool], output: Tensor, env: Env) -> None:
        if all(marks):
            return
        index = unflatten(marks.index(False), output.shape)
        message = f"element {rules.shape_text(index)} of {name} is never written"
        for item in f.all_items(self.operator.items):
            if isinstance(item, f.Equation) and item.tensor == name:
                raise FormulaError(_left(item), message, env, about_binders(item.domain))


def _is_behind(item: Later) -> bool:
    """Whether something is looked at behind the requirements that come first."""
    return not (isinstance(item, f.Demand) and item.first)


def _last_one(item: f.Equation) -> str:
    """How to say that of several elements with one place the last one is kept."""
    match item.slots, item.domain.items:
        case (n.Slot(value=n.Access() as place),), (n.IndexRange(index=index) as each,):
            other = "j" if index == "i" else "i"
            last = f"max[{each.span.code}]({index} if {place.span.code} == {other} else -1)"
            return f"the last {index} for {item.tensor}[{other}] is {last}"
        case _:
            return ""


def _left(item: f.Equation) -> Span:
    """The left side of an equation: where a wrong write is shown."""
    return item.domain.span

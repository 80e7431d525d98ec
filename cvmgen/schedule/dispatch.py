"""The call of an operator behind its host part: its memory is checked, the element types of the
call choose kernels, and these run in order. All of it is statements of the host.

Names of our own begin with `@` (`ir/checks.py`); kernels are called by their names, which printers
spell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from cvmgen.dtypes import CVM, INT8
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, undecided
from cvmgen.schedule.gpu.mapped import NARROW, KernelParameter, Writer
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Input
from cvmgen.typing import choices
from cvmgen.typing.choices import Variant

Tests = tuple[i.Expr, ...]
OK: i.Expr = i.Call("ok", ())
ERROR, STATUS, AT = (i.Var(f"{h.OURS}{name}") for name in ("error", "status", "at"))
NARROW_RESULT = i.Var(f"{h.OURS}narrow_result")
ROW = i.Member(h.PLAN, f"{h.OURS}types")  # the choice of type parameters
GOES_ON: i.Expr = i.Compare("==", STATUS, OK)


def tensor_operand(name: str) -> i.Expr:
    """A tensor of the call; of a variadic input, all of them."""
    return i.Member(h.ARGUMENTS, name)


def plan_member(name: str) -> i.Member:
    return i.Member(h.PLAN, name)


def type_tests(variant: Variant) -> Tests:
    """What must hold of a call whose element types are those of a variant."""
    tests: list[i.Expr] = []
    for dtype, narrow in ((variant.source, NARROW), (variant.stored, NARROW_RESULT)):
        if dtype is not None:
            tests.append(narrow if dtype == INT8 else i.Not(narrow))
    if rows := tuple(i.Compare("==", ROW, row_code(each)) for each in variant.rows):
        tests.append(rows[0] if len(rows) == 1 else i.Logic("or", rows))
    return tuple(tests)


def row_code(row: int) -> i.Expr:
    """A choice of type parameters, which has a name in C."""
    return i.Call("row", (i.Const(row),))


class CallWriter(Writer, ABC):
    """Makes the statements of a call; the targets differ in how memory is had and kernels start."""

    def __init__(self, kernels: Kernels) -> None:
        super().__init__(kernels.operator.span, set())
        self.kernels, self.program = kernels, kernels.program
        self.operator, self.nests = kernels.operator, kernels.host.nests
        self.overflowing = overflowing(kernels)
        self.wide = choices.int32_inputs(self.program)

    def call(self) -> i.Block:
        """All of it."""
        return (
            *self.input_checks(),
            *self.output_checks(),
            *self.element_types(),
            *self.result_type(),
            *self.run(),
        )

    @abstractmethod
    def input_checks(self) -> Iterable[i.Stmt]:
        """Whether the inputs have elements."""

    @abstractmethod
    def element_types(self) -> Iterable[i.Stmt]:
        """`narrow`: whether the inputs that kernels read in their own types are int8."""

    @abstractmethod
    def run(self) -> Iterable[i.Stmt]:
        """The kernels in order, between requests for memory and its return."""

    # -------------------------------------------------------- checks

    def check(self, function: str, name: str, *arguments: h.CheckArgument) -> h.Check:
        return h.Check(function, name, arguments, span=self.span)

    def noted(self, function: str, name: str, *arguments: h.CheckArgument) -> i.If:
        """A check whose outcome is the status of the call, as long as that goes on."""
        check = h.Check(function, name, arguments, (STATUS.name,), span=self.span)
        return self.where(GOES_ON, check)

    def every(self, item: Input, *make: Callable[[i.Expr], i.Stmt]) -> i.Block:
        """Statements for each tensor of an input."""
        if item.variadic:
            one = i.Item(tensor_operand(item.name), AT)
            return (self.over(AT, count_of(item), tuple(each(one) for each in make)),)
        return tuple(each(tensor_operand(item.name)) for each in make)

    def every_given(self, item: Input, *make: Callable[[i.Expr], i.Stmt]) -> i.Block:
        """The same for one that may not be given."""
        found = self.every(item, *make)
        given = i.Compare("!=", tensor_operand(item.name), h.NULL)
        return (self.where(given, *found),) if item.optional else found

    def output_checks(self) -> Iterable[i.Stmt]:
        """Whether there is memory for the outputs, apart from that of everything else."""
        single = [each.name for each in self.operator.inputs if not each.variadic]
        for at, output in enumerate(self.operator.output_names):
            made, shape = tensor_operand(output), i.Address(plan_member(f"{output}_shape"))
            if output in self.operator.precise_outputs:
                precision = plan_member(f"{output}_precision")
                yield self.check("check_output", output, made, shape, precision)
            else:
                code = i.Call("type_code", (ROW, i.Const(self.column(output))))
                yield self.check("check_typed_output", output, made, shape, code)
            for other in (*single, *self.operator.output_names[:at]):
                yield self.check("check_apart", output, made, other, tensor_operand(other))
            for each in self.operator.inputs:
                if each.variadic:
                    check = partial(self.check, "check_apart", output, made, each.name)
                    yield from self.every(each, check)

    def column(self, name: str) -> int:
        """Which of the operands with a storage type of their own one is."""
        return [*self.operator.choices[0]].index(name)

    # -------------------------------------------------------- element types

    @property
    def read_inputs(self) -> list[Input]:
        """The inputs of type `cvm` whose elements a kernel reads; of others only the shape
        matters."""
        nests = self.program.nests
        read = {name for nest in nests for name in choices.inputs_read(self.program, nest)}
        items = self.operator.inputs
        return [item for item in items if item.name in read and item.dtype == CVM]

    def local(self, name: str, type_name: str, value: i.Expr) -> i.Let:
        return i.Let(f"{h.OURS}{name}", type_name, value, self.span)

    def result_type(self) -> Iterable[i.Stmt]:
        """`narrow_result`: whether the outputs are int8, which have one type."""
        if not (outputs := self.operator.precise_outputs):
            return
        first, *others = (i.Member(tensor_operand(name), "dtype") for name in outputs)
        yield self.let(NARROW_RESULT, "bool", i.Compare("==", first, i.Call("int8", ())))
        rule = "all outputs must have one element type"
        for name, other in zip(outputs[1:], others, strict=True):
            refuse = h.Refuse(name, ("",), (rule,), span=self.span)
            yield self.where(i.Compare("!=", other, first), refuse)

    def choice(self, kernels: Sequence[Kernel], calls: Sequence[i.Block]) -> i.Block:
        """The one for the element types at hand: a test that others in front of it decide is left
        out, so the last one has none."""
        failed: list[Tests] = []
        open_tests: list[Tests] = []
        for each in kernels:
            own = type_tests(each.variant)
            open_tests.append(undecided(own, failed))
            failed.append(own)
        *front, rest = calls
        for tests, call in reversed([*zip(open_tests, front, strict=False)]):
            rest = (i.If(conjunction(tests), call, rest, self.span),)
        return rest

    # -------------------------------------------------------- memory, nests

    def in_case(self, case: int | None, *tests: i.Expr) -> Tests:
        return tests if case is None else (*tests, self.case_holds(case))

    @staticmethod
    def case_holds(case: int) -> i.Expr:
        return i.Compare("==", plan_member(h.CASE), i.Const(case))

    def status_of(self, function: str, *arguments: i.Expr) -> i.Assign:
        """A step of the call that may fail."""
        return i.Assign(STATUS.name, i.Call(function, arguments), self.span)

    def memory(self, name: str, memory: i.Scratch, words: int) -> i.Block:
        """Memory for its elements, of so many int64 each, if the case holds that needs it."""
        tests = (*([] if memory.case is None else [self.case_holds(memory.case)]), GOES_ON)
        had = self.request(memory, words, name)
        return i.Let(name, "i64*", h.NULL, self.span), self.where(conjunction(tests), had)

    @abstractmethod
    def request(self, memory: i.Scratch, words: int, name: str) -> i.Stmt:
        """Have it under its name."""

    def scratch(self) -> i.Block:
        """The memory of selected lists and of lets."""
        found = (self.memory(e.name, e, self.words(e)) for e in self.program.scratch)
        return tuple(statement for each in found for statement in each)

    def words(self, memory: i.Scratch) -> int:
        """How many int64 hold an element, for kernels of any types."""
        tables = (each.subject.dtypes for each in self.kernels.kernels)
        return 1 + any(table[memory.name].bits > 64 for table in tables if memory.name in table)

    @staticmethod
    def of_let(given: KernelParameter) -> i.Expr:
        """The memory of a `let` as elements of their machine type."""
        memory = i.Var(given.name)
        return memory if given.type == "i64" else i.Convert(given.pointer, memory)

    def guard(self, nest: i.Nest, device: str, *first: h.CheckArgument) -> Iterable[i.Stmt]:
        """The refusal of a call in which a nest finds that another one would read outside, or that
        a rule does not hold."""
        if (guarded := nest.guarded) is None:
            return ()
        shape = h.NULL if guarded.shape is None else i.Address(plan_member(guarded.shape))
        size = plan_member(self.program.scratch_of(nest.tensor)[0].size)
        found = (*first, shape, i.Var(nest.tensor), size)
        if guarded.rule:
            return (self.noted(f"refuse{device}_demand", guarded.tensor, *found, guarded.rule),)
        return (self.noted(f"refuse{device}_outside", guarded.tensor, *found),)

    # -------------------------------------------------------- what kernels are given

    def elements(self, nest: i.Nest, given: KernelParameter) -> i.Expr:
        """The elements of an operand; of one of several, those of the tensor at hand."""
        name, tensor = given.name, tensor_operand(given.name)
        if nest.each is not None and nest.each[1] == name:
            tensor = i.Item(tensor, i.Var(nest.each[0]))
        data: i.Expr = i.Member(tensor, "data")
        if name in self.operator.empty_tensors:
            data = i.Call("data", (tensor,))
        found = i.Convert(given.pointer, data)
        if any(item.name == name and item.optional for item in self.operator.inputs):
            return i.Select(i.Compare("==", tensor, h.NULL), h.NULL, found)
        return found


def overflowing(kernels: Kernels) -> list[str]:
    """The outputs of which a kernel can find that a value does not fit their type."""
    found = {each.nest.tensor for each in kernels.kernels if each.overflows}
    found -= {*kernels.operator.precise_outputs}
    return [name for name in kernels.operator.output_names if name in found]


def count_of(item: Input) -> i.Expr:
    """How many tensors a variadic input has."""
    return i.Member(h.ARGUMENTS, f"{item.name}_count")


def given_arguments(
    parameters: Iterable[KernelParameter], values: Mapping[str, i.Expr]
) -> tuple[i.Expr, ...]:
    """What a kernel is given for its parameters."""
    return tuple(values[each.name] for each in parameters)


def with_call(
    dispatched: Callable[[Kernels], i.Block], kernels: Kernels, schedules: Schedules
) -> Kernels:
    """The kernels with the statements of the call that starts them."""
    return replace(kernels, call=dispatched(kernels))

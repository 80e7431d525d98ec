"""The call of an operator in CUDA: element types must agree, memory is had on the stream, and the
host chooses among the launches that mappings have made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, disjunction
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.uses import assigned, nodes_in
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.dispatch import (
    ERROR,
    GOES_ON,
    STATUS,
    CallWriter,
    count_of,
    given_arguments,
    plan_member,
    tensor_operand,
    type_tests,
)
from cvmgen.schedule.gpu.mapped import NARROW, DeviceFunction, KernelParameter
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.signatures import VALUES, DeviceSignatures, mapping_of, tensor_types
from cvmgen.spec.formula import Input

STREAM, DTYPE = i.Var(f"{h.OURS}stream"), i.Var(f"{h.OURS}dtype")
OVERFLOW = i.Var(h.NOTED)
INT8, INT32 = i.Call("int8", ()), i.Call("int32", ())


def dispatched(kernels: Kernels) -> i.Block:
    """The statements of a call in CUDA."""
    return CudaCallWriter(kernels).call()


class CudaCallWriter(CallWriter):
    """Makes the statements of a call in CUDA."""

    def __init__(self, kernels: Kernels) -> None:
        super().__init__(kernels)
        self.signatures = DeviceSignatures(kernels)

    def input_checks(self) -> Iterator[i.Stmt]:
        asked = i.Member(h.ARGUMENTS, "check_values")
        yield self.check("refuse_check_values", "", asked)
        for item in self.operator.inputs:
            yield from self.every_given(item, partial(self.check, "check_data", item.name))

    # -------------------------------------------------------- element types

    def element_types(self) -> Iterator[i.Stmt]:
        """On a device all inputs have one type, but for those that kernels read as int32."""
        wide = [item for item in self.read_inputs if item.name in self.wide]
        free = [item for item in self.read_inputs if item.name not in self.wide]
        free.sort(key=lambda item: item.optional)
        if free:
            first = free[0]
            yield self.let(DTYPE, "i32", dtype_of(first))
            rule = f"on a device its element type must be that of {first.name}"
            if first.variadic:
                rule = "on a device all inputs must have one element type"
            for item in free[0 if first.variadic else 1 :]:
                yield from self.type_check(item, DTYPE, rule)
        for item in wide:
            yield from self.type_check(item, INT32, "on a device this input must be int32")
        if free:
            yield self.let(NARROW, "bool", i.Compare("==", DTYPE, INT8))

    def type_check(self, item: Input, dtype: i.Expr, rule: str) -> i.Block:
        return self.every(item, lambda one: self.check("check_type", item.name, one, dtype, rule))

    def result_type(self) -> Iterable[i.Stmt]:
        """As everywhere; then the refusal of a call whose kernels could not tell what does not
        fit."""
        yield from super().result_type()
        if self.overflowing:
            check = self.check("check_overflow", "", OVERFLOW)
            test = self.overflow_test()
            yield check if test is None else self.where(test, check)

    def overflow_test(self) -> i.Expr | None:
        """Whether a kernel for the types at hand can overflow; None where every one can."""
        made = [each for each in self.kernels.kernels if each.nest.tensor in self.overflowing]
        tests = dict.fromkeys(type_tests(each.variant) for each in made if each.overflows)
        if () in tests or all(each.overflows for each in made):
            return None
        return disjunction(map(conjunction, tests))

    # -------------------------------------------------------- run

    def run(self) -> Iterator[i.Stmt]:
        yield self.let(STATUS, "status", i.Call("ok", ()))
        yield from self.scratch()
        for number in range(len(self.nests)):
            yield from self.nest(number)
        for each in self.program.scratch:
            yield self.free(i.Var(each.name))
        yield i.Return(self.span, STATUS)

    def request(self, memory: i.Scratch, words: int, name: str) -> i.Stmt:
        size: i.Expr = plan_member(memory.size)
        if words > 1:
            size = i.Call("saturating_mul", (i.Const(words), size))
        return self.scratch_of(size, i.Address(i.Var(name)))

    def scratch_of(self, size: i.Expr, place: i.Expr) -> i.Stmt:
        """Have memory for so many int64."""
        return self.status_of("device_scratch", ERROR, STREAM, size, place)

    def free(self, memory: i.Var) -> i.Stmt:
        return i.Invoke(i.Call("device_free", (STREAM, memory)), self.span)

    def nest(self, number: int) -> i.Block:
        nest = self.nests[number]
        calls = self.start(number) if nest.each is None else (self.each(number),)
        calls += (*self.guard(nest, "_device", STREAM),)
        if len(self.nests) == 1:
            return calls
        first = number == 0 and not self.program.scratch and nest.case is not None
        tests = self.in_case(nest.case, *([] if first else [GOES_ON]))
        return (self.where(conjunction(tests), *calls),)

    def each(self, number: int) -> i.Stmt:
        """A nest that runs for each tensor of a variadic input."""
        nest = self.nests[number]
        assert nest.each is not None
        index, tensor, _ = nest.each
        (item,) = (each for each in self.operator.inputs if each.name == tensor)
        failed = self.where(i.Compare("!=", STATUS, i.Call("ok", ())), i.Break(self.span))
        body = (*nest.prologue, *self.start(number), failed)
        return self.over(i.Var(index), count_of(item), body)

    def start(self, number: int) -> i.Block:
        """Launch the kernels for the element types at hand."""
        fields = tuple((plan_member(each.name), False) for each in self.signatures.values[number])
        name = self.signatures.values_name(number)
        values = (self.let(i.Var(VALUES), name, i.ListOf(fields)),) if fields else ()
        kernels = self.kernels.of(number)
        before = [self.of_call(each, mapping_of(each).before) for each in kernels]
        starts = [self.of_call(each, mapping_of(each).start) for each in kernels]
        if all(each == before[0] for each in before):
            return (*values, *before[0], *self.choice(kernels, starts))
        calls = [(*first, *then) for first, then in zip(before, starts, strict=True)]
        return (*values, *self.choice(kernels, calls))

    def of_call(self, kernel: Kernel, statements: i.Block) -> i.Block:
        """The statements around a kernel's launches as those of the call: their locals are ours,
        and launches have all that kernels are given."""
        both = (mapping_of(kernel).before, mapping_of(kernel).start)
        made = {*assigned(both), *(each.name for each in nodes_in(both, i.Borrow))}
        functions = {each.name: each for each in mapping_of(kernel).functions}

        def change(node: Any) -> Any:
            match node:
                case i.Var(name=name) if name in made:
                    return i.Var(f"{h.OURS}{name}")
                case i.Let(name=name) | i.Assign(name=name) if name in made:
                    return replace(node, name=f"{h.OURS}{name}")
                case i.PrecisionOf(tensor=tensor):
                    return i.Member(tensor_operand(tensor), "precision")
                case i.Launch():
                    return self.launch(kernel, functions[node.kernel], node)
                case _:
                    return node

        return rebuild(rewritten(statements, self.borrowed), change)

    def borrowed(self, statement: i.Stmt) -> i.Block | None:
        """Launches between a request for memory and its return."""
        match statement:
            case i.Borrow(name=name, entries=entries, body=body):
                memory = i.Var(name)
                return (
                    i.Let(name, "i64*", h.NULL, self.span),
                    self.scratch_of(entries, i.Address(memory)),
                    *(self.where(GOES_ON, each) for each in body),
                    self.free(memory),
                )
            case _:
                return None

    def launch(self, kernel: Kernel, function: DeviceFunction, launch: i.Launch) -> i.Launch:
        own = self.signatures.own(kernel, function)
        values = {each.name: self.argument(kernel, each) for each in own}
        if (at := self.operator.output_names.index(kernel.nest.tensor)) if kernel.overflows else 0:
            values[h.NOTED] = i.Binary("+", OVERFLOW, i.Const(at))
        pairs = zip(function.parameters, launch.arguments, strict=True)
        more = (i.Convert(e.pointer, value) if e.elements else value for e, value in pairs)
        given = (*given_arguments(own, values), *more)
        name = f"{kernel.name}{function.name}"
        return i.Launch(launch.function, launch.count, name, given, launch.span)

    def argument(self, kernel: Kernel, given: KernelParameter) -> i.Expr:
        """What is given for a tensor; memory of the call and what is ours has its name."""
        if given.name in self.program.lets:
            return self.of_let(given)
        if given.name not in tensor_types(kernel):
            return i.Var(given.name)
        return self.elements(kernel.nest, given)


def dtype_of(item: Input) -> i.Expr:
    """The type of an input's elements; of several those of the first, of none int32."""
    tensor = tensor_operand(item.name)
    dtype = i.Member(i.Item(tensor, i.ZERO) if item.variadic else tensor, "dtype")
    return i.Select(i.Compare("==", tensor, h.NULL), INT32, dtype) if item.optional else dtype

"""The call of an operator in C: elements become int32 where kernels are for them, memory comes
from the heap, and a kernel is a function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from cvmgen.dtypes import CVM, INT32
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction
from cvmgen.ir.uses import read_tensors
from cvmgen.schedule import signatures
from cvmgen.schedule.dispatch import (
    AT,
    ERROR,
    GOES_ON,
    STATUS,
    CallWriter,
    count_of,
    given_arguments,
    plan_member,
    tensor_operand,
)
from cvmgen.schedule.gpu.mapped import NARROW, KernelParameter
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.signatures import (
    c_parameters,
    entries,
    kept_lists,
    kept_memory,
    tensor_types,
    tile_parameters,
    workspaces,
)
from cvmgen.schedule.tile_functions import TileFunctions
from cvmgen.spec.formula import Input

SPACES, TILED = i.Var(f"{h.OURS}spaces"), i.Var(f"{h.OURS}tiled")
PLAN = i.Var(signatures.PLAN)


def dispatched(kernels: Kernels) -> i.Block:
    """The statements of a call in C."""
    return CCallWriter(kernels).call()


class CCallWriter(CallWriter):
    """Makes the statements of a call in C."""

    def input_checks(self) -> Iterable[i.Stmt]:
        """Whether the inputs have elements, and those within their precision if that is asked."""
        for item in self.operator.inputs:
            data = partial(self.check, "check_data", item.name)
            values = [partial(self.check_values, item)] if item.dtype == CVM else []
            yield from self.every_given(item, data, *values)

    def check_values(self, item: Input, tensor: i.Expr) -> i.Stmt:
        within = self.check("check_values", item.name, tensor, i.Call("declared", (tensor,)))
        return self.where(i.Member(h.ARGUMENTS, "check_values"), within)

    def element_types(self) -> Iterator[i.Stmt]:
        tests: list[i.Expr] = []
        for item in self.read_inputs:
            if item.name in self.wide:
                continue
            if not item.variadic:
                tests.append(i.Call("is_int8", (tensor_operand(item.name),)))
                continue
            narrow = i.Var(f"{h.OURS}{item.name}_narrow")
            test = i.Call("is_int8", (i.Item(tensor_operand(item.name), AT),))
            yield self.let(narrow, "bool", i.Const(True))
            yield self.over(AT, count_of(item), (self.add(narrow, "and", test),))
            tests.append(narrow)
        if tests:
            yield self.let(NARROW, "bool", conjunction(tests))

    # -------------------------------------------------------- run

    def run(self) -> Iterator[i.Stmt]:
        plain = [item for item in self.read_inputs if not item.variadic]
        yield self.let(STATUS, "status", i.Call("ok", ()))
        for item in plain:
            yield from self.copy(item)
        for at, item in enumerate(plain):
            tests = (*([] if item.name in self.wide else [i.Not(NARROW)]), *([GOES_ON] * (at > 0)))
            widened = self.widened(item, tensor_operand(item.name))
            yield self.where(conjunction(tests), widened) if tests else widened
        yield from self.scratch()
        for memory, count in kept_lists(self.kernels):
            yield from self.memory(entries(memory).name, memory, count)
        for name in self.overflowing:
            yield self.let(noted_overflow(name), "i64", i.Call("no_overflow", ()))
        nests = [each for number in range(len(self.nests)) for each in self.nest(number)]
        yield from [self.where(GOES_ON, *nests)] if plain or self.program.scratch else nests
        for name in self.overflowing:
            yield self.noted("refuse_overflow", name, tensor_operand(name), noted_overflow(name))
        yield from map(self.free, map(copy_of, plain))
        if kept := kept_memory(self.kernels):
            alone = i.Compare("==", SPACES, h.NULL)
            yield self.where(alone, *(self.free(i.Var(each)) for each in kept))
        yield i.Return(self.span, STATUS)

    def copy(self, item: Input) -> i.Block:
        """The elements of an input as int32, and the copy where one was made."""
        elements = i.Let(item.name, "const i32*", h.NULL, self.span)
        return elements, self.let(copy_of(item), "i32*", h.NULL)

    def widened(self, item: Input, tensor: i.Expr) -> i.Stmt:
        places = i.Address(i.Var(item.name)), i.Address(copy_of(item))
        return self.status_of("widen", ERROR, tensor, *places)

    def free(self, memory: i.Var) -> i.Stmt:
        return i.Invoke(i.Call("free", (memory,)), self.span)

    def request(self, memory: i.Scratch, words: int, name: str) -> i.Stmt:
        space = self.space(len(workspaces(self.kernels)) + kept_memory(self.kernels).index(name))
        given = plan_member(memory.size), i.Const(words), space, i.Address(i.Var(name))
        return h.Check("keep_scratch", memory.owner, given, (STATUS.name,), span=self.span)

    def space(self, at: int) -> i.Expr:
        """One of the workspaces of a bound call; NULL where there are none."""
        if at == 0:
            return SPACES
        place = i.Load(SPACES.name, None, i.Const(at))
        return i.Address(place, i.Compare("!=", SPACES, h.NULL))

    # -------------------------------------------------------- nests

    def nest(self, number: int) -> i.Block:
        """The kernels of a nest; it runs only if one before it found that nothing is read
        outside."""
        nest = self.nests[number]
        calls = self.kernel_choice(number) if nest.each is None else (self.each(number),)
        calls += (*self.guard(nest, ""),)
        guarded = any(each.guarded is not None for each in self.nests[:number])
        tests = self.in_case(nest.case, *([GOES_ON] if guarded else []))
        return (self.where(conjunction(tests), *calls),) if tests else calls

    def each(self, number: int) -> i.Stmt:
        """A nest that runs for each tensor of a variadic input."""
        nest = self.nests[number]
        assert nest.each is not None
        index, tensor, _ = nest.each
        (item,) = (each for each in self.operator.inputs if each.name == tensor)
        body = (*nest.prologue, *self.kernel_choice(number))
        if item.dtype == CVM and tensor in read_tensors(nest.body):
            one = self.widened(item, i.Item(tensor_operand(tensor), i.Var(index)))
            failed = self.where(i.Compare("!=", STATUS, i.Call("ok", ())), i.Break(self.span))
            widened = self.where(i.Not(NARROW), one)
            body = (*self.copy(item), widened, failed, *body, self.free(copy_of(item)))
        return self.over(i.Var(index), count_of(item), body)

    def kernel_choice(self, number: int) -> i.Block:
        kernels = self.kernels.of(number)
        return self.choice(kernels, [self.start(each) for each in kernels])

    def start(self, kernel: Kernel) -> i.Block:
        """The call of a kernel, which tiles may make unnecessary."""
        kept = kernel.subject.kept
        given = c_parameters(self.program, kernel, tensor_types(kernel), kept)
        values = {each.name: self.argument(kernel.nest, each) for each in given}
        if memory := self.program.scratch_of(kernel.nest.tensor):
            for at, each in enumerate(kept):
                values[each.array] = entry_values(memory[0], at, each.type)
        values[h.NOTED] = i.Address(noted_overflow(kernel.nest.tensor))
        call = i.Call(kernel.name, given_arguments(given, values))
        run = i.Invoke(call, self.span)
        if tiles := kernel.tiles:
            name = self.tiled(kernel)
            tiled = self.let(name, "bool", self.by_tiles(kernel, tiles, values))
            return (tiled, self.where(i.Not(name), run))
        return (run,)

    def tiled(self, kernel: Kernel) -> i.Var:
        """Whether tiles have done the nest; by its tensor, where several nests may be so done."""
        several = len(workspaces(self.kernels)) > 1
        return i.Var(f"{h.OURS}{kernel.nest.tensor}_tiled") if several else TILED

    def argument(self, nest: i.Nest, given: KernelParameter) -> i.Expr:
        """What is given for a tensor: the caller's elements, those that became int32, or memory of
        the call; and the plan."""
        dtype = self.operator.type_of.get(given.name)
        if given.name in self.program.lets:
            return self.of_let(given)
        copied = dtype == CVM and given.type == INT32.machine
        if dtype is None or (copied and given.name not in self.operator.output_names):
            return i.Var(given.name)
        return self.elements(nest, given)

    def by_tiles(self, kernel: Kernel, tiles: TileFunctions, values: dict[str, i.Expr]) -> i.Expr:
        """The nest by tiles of its totals, where its factors may fit int8."""
        wide = {name: kernel.subject.dtypes[name] == INT32 for name in tiles.factors}
        factors = (factor(values[name], wide=wide[name]) for name in tiles.factors)
        at = [*workspaces(self.kernels)].index(kernel.number)
        others = given_arguments(tile_parameters(self.program, kernel), values)
        call = i.Call(tiles.function, (PLAN, *factors, *others, self.space(at)))
        tests = [
            i.Call("may_be_int8", (tensor_operand(name),)) for name, each in wide.items() if each
        ]
        return conjunction((*tests, call))


def factor(elements: i.Expr, *, wide: bool) -> i.Expr:
    """A factor of a contraction: its elements, and whether they are int32."""
    return i.Convert("factor", i.ListOf(((elements, False), (i.Const(wide), False))))


def copy_of(item: Input) -> i.Var:
    return i.Var(f"{h.OURS}{item.name}_copy")


def noted_overflow(output: str) -> i.Var:
    return i.Var(f"{h.OURS}{output}_overflow")


def entry_values(memory: i.Scratch, at: int, type_name: str) -> i.Expr:
    """One of the values of each entry: a part of one memory of int64, whatever its type."""
    place: i.Expr = entries(memory)
    if at:
        size: i.Expr = plan_member(memory.size)
        before = size if at == 1 else i.Binary("*", i.Const(at), size)
        place = i.Binary("+", place, before)
    return place if type_name == "i64" else i.Convert(f"{type_name}*", place)

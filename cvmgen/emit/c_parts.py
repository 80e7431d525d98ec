"""Kernels as C, with a function for each part of their loops in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from cvmgen.analysis.plan import Field
from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_outlined import CaptureMember, part_function
from cvmgen.emit.c_spelling import MACHINE_TYPES, c_identifier, comment
from cvmgen.emit.c_text import signature, versions, wrapped_declarations, wrapped_list
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.host import LISTS
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import walk
from cvmgen.schedule.kernels import InlineFunction
from cvmgen.schedule.outline import OutlinedPart, Total, call_name

LONG = 256  # elements
OPERATIONS = {"and": "&&", "or": "||"}


@dataclass(frozen=True, slots=True)
class PartScope:
    """What a kernel is given.

    plan: the type of its plan; formulas: where its lines stand, and their texts; tensors: the types
    of what it is given besides, up to the names; fields: finds what statements read of the plan;
    unpack: makes locals of that; named: what its functions are called in the text; inline: those
    that bodies may call
    """

    plan: str
    formulas: tuple[str, ...]
    restrict: str
    tensors: Mapping[str, str]
    fields: Callable[[i.Block], list[Field]]
    unpack: Callable[[Iterable[Field]], list[str]]
    named: Callable[[str], str] = str
    inline: tuple[InlineFunction, ...] = ()


class FunctionPrinter(KernelPrinter):
    """Statements of a kernel, or of a part of its loops: `in_threads`; or of an inline function."""

    def __init__(
        self,
        program: i.Program,
        body: i.Block,
        frame: PartScope,
        part: OutlinedPart | InlineFunction | None,
    ) -> None:
        captures = () if part is None else part.captures
        lists = [each.name for each in captures if each.kind == "list"]
        lists += [each.name for each in frame.fields(body) if each.type in LISTS]
        super().__init__(program, body, lists)
        self.arrays |= {each.name for each in captures if each.kind == "array"}
        self.frame, self.body = frame, body
        self.in_threads = part is not None and part.in_threads

    def unpacked(self, body: i.Block) -> list[str]:
        """Locals for what statements read of the plan."""
        fields = self.frame.fields(body)
        return self.frame.unpack(fields) if fields else []

    def array(self, array: i.Array) -> str:
        """A local array; a long one begins with a line of the cache, as vectors do."""
        text = super().array(array)
        return f"_Alignas(64) {text}" if array.length >= LONG else text

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Fork():
                return self.fork(statement)
            case i.CallInline(function=function, captures=captures, values=values):
                given = [*map(self.value, captures), *map(self.expr, values)]
                return wrapped_list(f"{self.frame.named(function)}(", given, ");", 1000)
            case _:
                return super().statement(statement)

    # -------------------------------------------------------- a kernel

    def kernel(self, body: i.Block) -> list[str]:
        """All statements of the kernel, below their formula if they are more than a call of a part,
        which has it too."""
        lines, unpacked = self.block(body), self.unpacked(body)
        captured = (each.kind for each in walk(body) if isinstance(each, i.Capture))
        if not unpacked and "plan" not in captured:
            unpacked = self.frame.unpack(())
        match body:
            case (i.Fork(),):
                return [*unpacked, *lines]
            case _:
                return [*unpacked, *map(comment, self.frame.formulas), *lines]

    def fork(self, fork: i.Fork) -> list[str]:
        """The structure that a part is given, and the call that lets threads take parts."""
        copies = [(each, c_identifier(each.name)) for each in fork.captures if each.copy]
        values = [self.value(each) for each in fork.captures]
        return [
            *(f"{MACHINE_TYPES[each.type]} {each.copy} = {name};" for each, name in copies),
            *self.given_to(fork, values),
            *self.share(fork),
            *(f"{name} = {each.copy};" for each, name in copies),
        ]

    def value(self, capture: i.Capture) -> str:
        """What a part is given for a capture."""
        match capture.kind:
            case "plan":
                return "plan"
            case "list":
                return self.pointer(i.Var(capture.name))
            case "total":
                return f"&{capture.copy or c_identifier(capture.name)}"
            case _:
                return c_identifier(capture.name)

    def given_to(self, fork: i.Fork, values: Sequence[str]) -> list[str]:
        structure = self.frame.named(call_name(fork.part))
        return [f"const {structure} {fork.call} = {{{', '.join(values)}}};"]

    def share(self, fork: i.Fork) -> list[str]:
        worth = "true" if fork.worth is None else self.expr(fork.worth)
        width = 1000 if self.in_threads else 88  # within loops lines are broken once all stand
        part = self.frame.named(fork.part)
        given = [self.expr(fork.count), worth, part, f"&{fork.call}"]
        return wrapped_list("cvmgen_share(", given, ");", width)

    # -------------------------------------------------------- a part

    def function(self, part: OutlinedPart) -> str:
        """The function for a part of a loop, behind the structure that it is given."""
        comments = map(comment, self.frame.formulas)
        members = [self.member(each) for each in part.captures]
        head = self.versions(part.body)
        lines = [*comments, *self.unpacked(part.body), *self.part(part)]
        given = [f"int64_t {part.own[each]}" for each in ("low", "high")]
        named = self.frame.named
        return "\n".join(part_function(part.name, part.own, given, members, head, lines, named))

    def versions(self, body: i.Block) -> list[str]:
        """What stands before the head of a function."""
        called = {each.function for each in nodes_in(body, i.CallInline)}
        inline = (each.body for each in self.frame.inline if each.name in called)
        return versions((*body, *chain.from_iterable(inline)))

    # -------------------------------------------------------- an inline function

    def inline(self, function: InlineFunction) -> str:
        """The function that branches call, of which each says what it knows."""
        fields = (each for each in self.frame.fields(function.body))
        unpacked = [each for each in fields if each.name not in function.parameters]
        lines = [
            *map(comment, self.frame.formulas),
            *(self.frame.unpack(unpacked) if unpacked else []),
            *self.block(function.body),
        ]
        members = map(self.member, function.captures)
        given = [f"{each.local}{each.name}" for each in members]
        given += [f"const int64_t {c_identifier(each)}" for each in function.parameters]
        named = self.frame.named(function.name)
        said = comment("What branches do: each calls it with the numbers that it knows.")
        head = [said, "CVMGEN_INLINE", *signature(f"void {named}(", given)]
        return "\n".join([*head, *wrap_c(indented(lines)), "}"])

    def part(self, part: OutlinedPart) -> list[str]:
        """The statements of a part, behind the members of its call."""
        return [
            *(self.start(each) for each in part.totals),
            *self.block(part.counts),
            *self.stretch_of(part),
            *self.combined(part),
        ]

    def start(self, total: Total) -> str:
        return f"{MACHINE_TYPES[total.type]} {c_identifier(total.name)} = {self.expr(total.start)};"

    def stretch_of(self, part: OutlinedPart) -> list[str]:
        """The loop over a part of all iterations; its indices share a declaration."""
        if part.own["at"] != part.loop.index:
            return self.loop(part.loop)
        low, high = (part.own[each] for each in ("low", "high"))
        at = part.loop.index
        values = [f"{c_identifier(each.name)} = {self.expr(each.value)}" for each in part.indices]
        head = f"for (int64_t {at} = {low}; {at} < {high}; ++{at}) {{"
        body = [*wrapped_declarations("const int64_t", values), *self.block(part.loop.body)]
        return [head, *indented(body), "}"]

    def combined(self, part: OutlinedPart) -> list[str]:
        """What parts add to the kernel's accumulators."""
        lines = [self.combine(each, part.own["call"]) for each in part.totals]
        return ["cvmgen_lock();", *lines, "cvmgen_unlock();"] if lines else []

    def combine(self, total: Total, call: str) -> str:
        own = c_identifier(total.name)
        place = f"*{call}->{own}"
        if total.op in ("max", "min"):
            return f"{place} = cvmgen_{total.op}_{total.type}({place}, {own});"
        if total.op in OPERATIONS:
            return f"{place} = {place} {OPERATIONS[total.op]} {own};"
        return f"{place} {total.op}= {own};"

    def member(self, capture: i.Capture) -> CaptureMember:
        """The member of the structure that holds a capture, and the local that is made of it."""
        name = c_identifier(capture.name)
        match capture.kind:
            case "plan":
                kind = f"const {self.frame.plan} *"
                return CaptureMember("plan", kind, f"{kind}const ")
            case "tensor":
                kind = f"{self.frame.tensors[capture.name]} *"
                return CaptureMember(name, kind, f"{kind}{self.restrict(capture.name)} ")
            case "list":
                kind = "const cvmgen_list *"
                return CaptureMember(name, kind, f"{kind}const ")
            case "array":
                kind = f"{'const ' if capture.constant else ''}{MACHINE_TYPES[capture.type]} *"
                return CaptureMember(name, kind, f"{kind}const ")
            case "total":
                return CaptureMember(name, f"{MACHINE_TYPES[capture.type]} *", "")
            case _:
                kind = f"{MACHINE_TYPES[capture.type]} "
                return CaptureMember(name, kind, f"const {kind}")

    def restrict(self, tensor: str) -> str:
        return self.frame.restrict if tensor != h.NOTED else "const"


def inline_functions(program: i.Program, frame: PartScope) -> list[str]:
    """The inline functions that a kernel and its parts call."""
    return [FunctionPrinter(program, each.body, frame, each).inline(each) for each in frame.inline]


def outlined_function(
    program: i.Program,
    frame: PartScope,
    part: OutlinedPart,
    printer: type[FunctionPrinter] = FunctionPrinter,
) -> str:
    """The function for a part of a kernel's loops in threads."""
    return printer(program, part.body, frame, part).function(part)

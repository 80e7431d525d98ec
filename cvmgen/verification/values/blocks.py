"""Functions of a module as Python: one function for each block, on a list of registers.

Register 0 is the result; then come the parameters. A block gives the number of the next one, END
behind a return, or a `PathSplit` where elements decide. What an edge brings to the phis of its
block is done on the edge.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from cvmgen.verification.values import arithmetic as a
from cvmgen.verification.values import instructions, llvm, modular
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.executor import Executor
from cvmgen.verification.values.intrinsics import intrinsic

END = -1
REFUSING = (
    "cvmgen_refuse", "cvmgen_no_memory", "cvmgen_format", "cvmgen_list_text",
    "cvmgen_precision_text", "llvm.ubsantrap", "llvm.trap",
)  # fmt: skip
"""With what names of functions begin that only calls which are refused come to."""
Registers = list[Any]
Edge = Callable[[Registers], int]


class PathSplit:
    """A branch on a condition of elements, with what its ways do first."""

    __slots__ = ("no", "test", "yes")

    def __init__(self, test: t.Condition, yes: Edge, no: Edge) -> None:
        self.test, self.yes, self.no = test, yes, no


@dataclass(slots=True)
class Prepared:
    """A function that can be run. `meeting` says where the ways of a block's branch meet, which
    calls without a branch on elements do not ask."""

    name: str
    blocks: list[Callable[[Registers], Any]]
    meeting: Callable[[], list[int]]
    phis: list[list[tuple[int, llvm.Type]]]
    result: llvm.Type
    registers: int
    rest: int
    owned: int
    ran: list[int]  # how often each block ran

    def met(self, block: int) -> list[tuple[int, llvm.Type]]:
        """The registers that a block takes from those before it."""
        if block != END:
            return self.phis[block]
        return [] if isinstance(self.result, llvm.Void) else [(0, self.result)]


class _Writer:
    """The Python text of a function, with what it speaks of."""

    def __init__(self, machine: Executor, number: int, function: llvm.LlvmFunction) -> None:
        self.machine, self.number, self.function = machine, number, function
        self.labels = {block.label: at for at, block in enumerate(function.blocks)}
        self.names: dict[str, int] = {}
        for at, (_, name) in enumerate(function.parameters):
            self.names[name] = at + 1
        for block in function.blocks:
            for each in block.instructions:
                if each.result is not None:
                    self.names[each.result] = len(self.names) + 1
        self.space: dict[str, Any] = {"PathSplit": PathSplit, "Condition": t.Condition, "END": END}
        self.edges: dict[tuple[int, int], str] = {}
        self.lines: list[str] = []
        self.rest, self.owned = len(self.names) + 1, len(self.names) + 2
        self.guarding = _guarding(function)

    def keep(self, value: Any) -> str:
        name = f"k{len(self.space)}"
        self.space[name] = value
        return name

    def operand(self, about: llvm.Type, value: llvm.Value) -> str:
        if isinstance(value, llvm.Local):
            return f"r[{self.names[value.name]}]"
        found = self.machine.constant(self.number, about, value)
        if isinstance(found, int) and not isinstance(found, bool):
            return f"({found})" if found < 0 else str(found)
        return self.keep(found)

    # ------------------------------------------------------------ edges

    def moves(self, source: int, target: int) -> str:
        """What the phis of a block take on the way to it."""
        label = self.function.blocks[source].label
        left, right = [], []
        for each in self.function.blocks[target].instructions:
            if each.opcode != "phi":
                break
            at = each.more.index(label)
            left.append(f"r[{self.names[str(each.result)]}]")
            right.append(self.operand(each.type, each.operands[at]))
        return f"{', '.join(left)} = {', '.join(right)}" if left else ""

    def edge(self, source: int, label: str) -> str:
        """The name of a function for an edge."""
        target = self.labels[label]
        if (source, target) not in self.edges:
            name = f"e{source}_{target}"
            self.edges[source, target] = name
            moves = self.moves(source, target)
            self.lines += [
                f"def {name}(r):",
                *([f" {moves}"] if moves else []),
                f" return {target}",
            ]
        return self.edges[source, target]

    # ------------------------------------------------------------ blocks

    def block(self, at: int, block: llvm.BasicBlock) -> None:
        body: list[str] = []
        for each in block.instructions:
            if each.opcode != "phi":
                body += self.instruction(at, each)
        self.lines += [f"def b{at}(r):", *(f" {line}" for line in body)]

    def instruction(self, at: int, each: llvm.Instruction) -> list[str]:
        match each.opcode:
            case "br" if not each.operands:
                target = self.labels[each.more[0]]
                moves = self.moves(at, target)
                return [*([moves] if moves else []), f"return {target}"]
            case "br":
                test = self.operand(llvm.Int(1), each.operands[0])
                yes, no = (self.edge(at, label) for label in each.more)
                return [
                    f"c = {test}",
                    f"if type(c) is Condition: return PathSplit(c, {yes}, {no})",
                    f"return {yes}(r) if c else {no}(r)",
                ]
            case "switch":
                return self.switch(at, each)
            case "ret":
                value = self.operand(each.type, each.operands[0]) if each.operands else "None"
                return [f"r[0] = {value}", "return END"]
            case "unreachable":
                return [f"{self.keep(instructions.unreachable)}()"]
            case "fence":
                return []
            case _:
                pass
        call = self.expression(each)
        if each.result is None:
            return [call]
        lines = [f"r[{self.names[each.result]}] = {call}"]
        if each.opcode == "alloca":
            lines.append(f"r[{self.owned}].append(r[{self.names[each.result]}])")
        return lines

    def switch(self, at: int, each: llvm.Instruction) -> list[str]:
        default, cases = each.more
        lines = [f"c = {self.operand(each.type, each.operands[0])}"]
        edges = {entry: self.edge(at, label) for entry, label in cases}
        table = self.keep(None)
        self.space[table] = ("edges", edges)
        other = self.edge(at, default)
        choose = self.keep(_switched(self, table))
        return [*lines, f"return {choose}(r, c, {other}, {each.type.bits})"]  # type: ignore[union-attr]

    def expression(self, each: llvm.Instruction) -> str:
        function, types = self.operation(each)
        operands = each.operands[len(each.operands) - len(types) :]
        return f"{self.keep(function)}({', '.join(map(self.operand, types, operands))})"

    def operation(self, each: llvm.Instruction) -> tuple[Callable[..., Any], list[llvm.Type]]:
        """What an instruction does, and the types of its operands."""
        machine, about, opcode = self.machine, each.type, each.opcode
        match opcode:
            case "load":
                return instructions.load(machine, about), [llvm.Pointer()]
            case "store":
                return instructions.store(machine, about), [about, llvm.Pointer()]
            case "getelementptr":
                return instructions.place(about, each.types[1:]), each.types
            case "icmp" | "fcmp":
                inner = instructions.scalar(about)
                test = (
                    a.real_comparison(each.more)
                    if opcode == "fcmp"
                    else a.comparison(each.more, instructions.bits_of(inner))
                )
                small = [self.machine.thresholds.get(_number_of(e), 0) for e in each.operands]
                if any(small) and each.result not in self.guarding:
                    test = _threshold(machine, test, small)
                return instructions.by_entries(test, about), [about, about]
            case "select":
                return instructions.select(machine, about, each.types[0]), each.types
            case "call":
                return self.called(each)
            case "alloca":
                return _alloca(machine, about, self), [llvm.Int(64)]
            case "freeze":
                return lambda value: value, [about]
            case "fneg":
                return instructions.by_entries(instructions.negate, about), [about]
            case "bitcast":
                return instructions.bitcast(each.types[0], about), each.types
            case "extractvalue":
                return instructions.extract(each.more), [about]
            case "insertvalue":
                return instructions.insert(each.more), each.types
            case "extractelement":
                return lambda vector, at: vector[at], each.types
            case "insertelement":
                return lambda vector, entry, at: (
                    *vector[:at],
                    entry,
                    *vector[at + 1 :],
                ), each.types
            case "shufflevector":
                return lambda one, other, mask: tuple((one + other)[at] for at in mask), each.types
            case "atomicrmw":
                return instructions.read_modify(machine, about, each.more), [llvm.Pointer(), about]
            case "cmpxchg":
                return instructions.exchange(machine, about), each.types
            case _:
                pass
        inner = instructions.scalar(about)
        if opcode in a._REAL:
            return instructions.by_entries(
                a.real_binary(opcode, instructions.bits_of(inner)), about
            ), [about, about]
        if opcode in a._CONVERSIONS:
            source = each.types[0]
            convert = a.conversion(
                opcode,
                instructions.bits_of(instructions.scalar(source)),
                instructions.bits_of(inner),
            )
            return instructions.by_entries(convert, source), each.types
        operate = a.binary(opcode, instructions.bits_of(inner), each.flags)
        if opcode in ("sdiv", "udiv", "srem", "urem"):
            operate = instructions.defined_division(
                machine, operate, instructions.bits_of(inner), opcode[0] == "s"
            )
        return instructions.by_entries(operate, about), [about, about]

    def called(self, each: llvm.Instruction) -> tuple[Callable[..., Any], list[llvm.Type]]:
        machine = self.machine
        copied = [(at, kind) for at, kind in enumerate(each.more) if kind is not None]
        callee = each.operands[0]
        if isinstance(callee, llvm.Global) and callee.name.startswith(("llvm.", "asm ")):
            return intrinsic(machine, callee.name, each.type, each.types), each.types

        def call(address: Any, *arguments: Any) -> Any:
            given = list(arguments)
            for at, kind in copied:  # what is passed by value is a copy of the caller's
                place = machine.memory.new(llvm.size_of(kind), "an argument")
                machine.memory.copy(place, given[at], llvm.size_of(kind))
                given[at] = place
            return machine.call(address, given)

        return call, [llvm.Pointer(), *each.types]


def prepare(machine: Executor, number: int, function: llvm.LlvmFunction) -> Prepared:
    """The function, ready to be run by the machine."""
    writer = _Writer(machine, number, function)
    for at, block in enumerate(function.blocks):
        writer.block(at, block)
    exec(_code("\n".join(writer.lines), function.name), writer.space)
    for name, value in list(writer.space.items()):
        if isinstance(value, tuple) and value and value[0] == "edges":
            writer.space[name] = {key: writer.space[each] for key, each in value[1].items()}
    phis = [
        [
            (writer.names[str(each.result)], each.type)
            for each in block.instructions
            if each.opcode == "phi"
        ]
        for block in function.blocks
    ]
    blocks = [writer.space[f"b{at}"] for at in range(len(function.blocks))]
    meeting = functools.cache(lambda: _meetings(function, writer.labels))
    count = writer.owned + 1
    ran = [0] * len(blocks)
    return Prepared(
        function.name, blocks, meeting, phis, function.result, count, writer.rest, writer.owned, ran
    )


@functools.lru_cache(maxsize=4096)  # operators share the functions of the runtime
def _code(text: str, name: str) -> CodeType:
    return compile(text, name, "exec")


def _meetings(function: llvm.LlvmFunction, labels: dict[str, int]) -> list[int]:
    """Of each block its immediate postdominator: the first block that every way reaches, but for
    ways that end in a trap. These go nowhere: would they lead to the end, ways that part over an
    element would go apart to the end, and the next element part each of them."""
    count = len(function.blocks)
    everything = set(range(count)) | {END}
    after = [{labels[each] for each in llvm.targets(block)} for block in function.blocks]
    for at, block in enumerate(function.blocks):
        if block.instructions[-1].opcode == "ret":
            after[at] = {END}
    behind: list[set[int]] = [set(everything) for _ in range(count)]
    changed = True
    while changed:
        changed = False
        for at in reversed(range(count)):
            ways = [{END} if each == END else behind[each] for each in after[at]]
            common = everything.intersection(*ways) | {at}
            if common != behind[at]:
                behind[at], changed = common, True
    meeting = []
    for at in range(count):
        strict = behind[at] - {at}
        # the nearest one has all the others behind it
        size = {each: len(behind[each]) if each != END else 1 for each in strict}
        meeting.append(max(strict, key=lambda each: size[each]))
    return meeting


def _alloca(machine: Executor, about: llvm.Type, writer: _Writer) -> Callable[[Any], int]:
    size = llvm.size_of(about)
    name = f"a local of {writer.function.name}"
    return lambda count: machine.memory.new(size * count, name, known=False)


def _number_of(value: llvm.Value) -> int:
    """The number that a value is; 0 for others."""
    known = isinstance(value, llvm.Constant) and isinstance(value.value, int)
    return value.value if known else 0  # type: ignore[union-attr]


def refuses(block: llvm.BasicBlock) -> bool:
    """Whether a call that comes to a block is refused, or ends in a trap."""
    named = (value for each in block.instructions for value in each.operands)
    return any(each.opcode == "unreachable" for each in block.instructions) or any(
        isinstance(each, llvm.Global) and each.name.startswith(REFUSING) for each in named
    )


def _guarding(function: llvm.LlvmFunction) -> set[str]:
    """The tests behind which there may be a trap, or a call is refused: they compare with how long
    an array is, or with where a range ends."""
    last = [(block, block.instructions[-1]) for block in function.blocks]
    traps = {block.label for block in function.blocks if refuses(block)}
    made = {each.result: each for block in function.blocks for each in block.instructions}
    guards = [each for block, each in last if traps.intersection(llvm.targets(block))]
    left = [value for each in guards for value in each.operands]
    found = set[str]()
    while left:
        value = left.pop()
        if isinstance(value, llvm.Local) and value.name not in found:
            found.add(value.name)
            each = made.get(value.name)
            if each is not None and each.opcode in ("and", "or", "xor", "select", "freeze"):
                left += each.operands
    return found


def _threshold(
    machine: Executor, test: Callable[[Any, Any], Any], small: list[int]
) -> Callable[[Any, Any], Any]:
    """A comparison with a number, or with what stands for it."""

    def compare(one: Any, other: Any) -> Any:
        if machine.counts_little():
            one, other = small[0] or one, small[1] or other
        return test(one, other)

    return compare


def _switched(writer: _Writer, table: str) -> Callable[..., Any]:
    def choose(registers: Registers, value: Any, other: Edge, bits: int) -> Any:
        edges: dict[int, Edge] = writer.space[table]
        if isinstance(value, int):
            return edges.get(value, other)(registers)
        for entry, edge in edges.items():
            if t.equal(modular.signed(value, bits), entry):  # whoever explores decides
                return edge(registers)
        return other(registers)

    return choose

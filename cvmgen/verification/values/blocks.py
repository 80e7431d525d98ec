"""Functions of a module as Python: one function for each block, on a list of registers.

Register 0 is the result; then come the parameters. A block gives the number of the next one, END
behind a return, or a `Fork` where elements decide. What an edge brings to the phis of its block is
done on the edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cvmgen.verification.values import arithmetic as a
from cvmgen.verification.values import llvm, modular
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.memory import Fault

if TYPE_CHECKING:
    from cvmgen.verification.values.machine import Machine

END = -1
Registers = list[Any]
Edge = Callable[[Registers], int]


class Fork:
    """A branch on a condition of elements, with what its ways do first."""

    __slots__ = ("no", "test", "yes")

    def __init__(self, test: t.Condition, yes: Edge, no: Edge) -> None:
        self.test, self.yes, self.no = test, yes, no


@dataclass(slots=True)
class Prepared:
    """A function that can be run. `meeting` is where the ways of a block's branch meet."""

    name: str
    blocks: list[Callable[[Registers], Any]]
    meeting: list[int]
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

    def __init__(self, machine: Machine, number: int, function: llvm.Function) -> None:
        self.machine, self.number, self.function = machine, number, function
        self.labels = {block.label: at for at, block in enumerate(function.blocks)}
        self.names: dict[str, int] = {}
        for at, (_, name) in enumerate(function.parameters):
            self.names[name] = at + 1
        for block in function.blocks:
            for each in block.instructions:
                if each.result is not None:
                    self.names[each.result] = len(self.names) + 1
        self.space: dict[str, Any] = {"Fork": Fork, "Condition": t.Condition, "END": END}
        self.edges: dict[tuple[int, int], str] = {}
        self.lines: list[str] = []
        self.rest, self.owned = len(self.names) + 1, len(self.names) + 2

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

    def block(self, at: int, block: llvm.Block) -> None:
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
                    f"if type(c) is Condition: return Fork(c, {yes}, {no})",
                    f"return {yes}(r) if c else {no}(r)",
                ]
            case "switch":
                return self.switch(at, each)
            case "ret":
                value = self.operand(each.type, each.operands[0]) if each.operands else "None"
                return [f"r[0] = {value}", "return END"]
            case "unreachable":
                return [f"{self.keep(_unreachable)}()"]
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
                return _load(machine, about), [llvm.Pointer()]
            case "store":
                return _store(machine, about), [about, llvm.Pointer()]
            case "getelementptr":
                return _place(about, each.types[1:]), each.types
            case "icmp" | "fcmp":
                inner = _scalar(about)
                test = (
                    a.real_comparison(each.more)
                    if opcode == "fcmp"
                    else a.comparison(each.more, _bits(inner))
                )
                return _by_entries(test, about), [about, about]
            case "select":
                return _select(machine, about, each.types[0]), each.types
            case "call":
                return self.called(each)
            case "alloca":
                return _alloca(machine, about, self), [llvm.Int(64)]
            case "freeze":
                return lambda value: value, [about]
            case "fneg":
                return _by_entries(_negate, about), [about]
            case "bitcast":
                return _bitcast(each.types[0], about), each.types
            case "extractvalue":
                return _extract(each.more), [about]
            case "insertvalue":
                return _insert(each.more), each.types
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
                return _read_modify(machine, about, each.more), [llvm.Pointer(), about]
            case "cmpxchg":
                return _exchange(machine, about), each.types
            case _:
                pass
        inner = _scalar(about)
        if opcode in a._REAL:
            return _by_entries(a.real_binary(opcode, _bits(inner)), about), [about, about]
        if opcode in a._CONVERSIONS:
            source = each.types[0]
            convert = a.conversion(opcode, _bits(_scalar(source)), _bits(inner))
            return _by_entries(convert, source), each.types
        operate = a.binary(opcode, _bits(inner), each.flags)
        if opcode in ("sdiv", "udiv", "srem", "urem"):
            operate = _defined_division(machine, operate, _bits(inner), opcode[0] == "s")
        return _by_entries(operate, about), [about, about]

    def called(self, each: llvm.Instruction) -> tuple[Callable[..., Any], list[llvm.Type]]:
        machine = self.machine
        copied = [(at, kind) for at, kind in enumerate(each.more) if kind is not None]
        callee = each.operands[0]
        if isinstance(callee, llvm.Global) and callee.name.startswith(("llvm.", "asm ")):
            from cvmgen.verification.values.intrinsics import intrinsic

            return intrinsic(machine, callee.name, each.type, each.types), each.types

        def call(address: Any, *arguments: Any) -> Any:
            given = list(arguments)
            for at, kind in copied:  # what is passed by value is a copy of the caller's
                place = machine.memory.new(llvm.size_of(kind), "an argument")
                machine.memory.copy(place, given[at], llvm.size_of(kind))
                given[at] = place
            return machine.call(address, given)

        return call, [llvm.Pointer(), *each.types]


def prepare(machine: Machine, number: int, function: llvm.Function) -> Prepared:
    """The function, ready to be run by the machine."""
    writer = _Writer(machine, number, function)
    for at, block in enumerate(function.blocks):
        writer.block(at, block)
    exec(compile("\n".join(writer.lines), function.name, "exec"), writer.space)
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
    meeting = _meetings(function, writer.labels)
    count = writer.owned + 1
    ran = [0] * len(blocks)
    return Prepared(
        function.name, blocks, meeting, phis, function.result, count, writer.rest, writer.owned, ran
    )


def _meetings(function: llvm.Function, labels: dict[str, int]) -> list[int]:
    """Of each block its immediate postdominator: the first block that every way reaches."""
    count = len(function.blocks)
    after = [{labels[each] for each in llvm.targets(block)} or {END} for block in function.blocks]
    everything = set(range(count)) | {END}
    behind: list[set[int]] = [set(everything) for _ in range(count)]
    changed = True
    while changed:
        changed = False
        for at in reversed(range(count)):
            ways = [{END} if each == END else behind[each] for each in after[at]]
            common = set.intersection(*ways) | {at}
            if common != behind[at]:
                behind[at], changed = common, True
    meeting = []
    for at in range(count):
        strict = behind[at] - {at}
        # the nearest one has all the others behind it
        size = {each: len(behind[each]) if each != END else 1 for each in strict}
        meeting.append(max(strict, key=lambda each: size[each]))
    return meeting


# ---------------------------------------------------------------- what instructions do


def _scalar(about: llvm.Type) -> llvm.Type:
    return about.element if isinstance(about, llvm.Vector) else about


def _bits(about: llvm.Type) -> int:
    return about.bits if isinstance(about, (llvm.Int, llvm.Real)) else 64


def _by_entries(function: Callable[..., Any], about: llvm.Type) -> Callable[..., Any]:
    if not isinstance(about, llvm.Vector):
        return function
    return lambda *operands: tuple(map(function, *operands))


def _defined_division(
    machine: Machine, operate: a.Operation, bits: int, by_sign: bool
) -> a.Operation:
    def divide(one: Any, other: Any) -> Any:
        if isinstance(other, t.Term):
            divisor, least = modular.signed(other, bits), -(1 << (bits - 1))
            machine.never(t.equal(divisor, 0), "a division by 0")
            if by_sign:
                far = t.both(t.equal(modular.signed(one, bits), least), t.equal(divisor, -1))
                machine.never(far, f"a quotient beyond {bits} bits")
        return operate(one, other)

    return divide


def _unreachable() -> None:
    raise Fault("a place is reached that the text says is not")


def _negate(value: Any) -> Any:
    return -value if isinstance(value, float) else rt.real("neg", value)


def _load(machine: Machine, about: llvm.Type) -> Callable[[Any], Any]:
    memory = machine.memory
    if isinstance(about, llvm.Pointer) or (isinstance(about, llvm.Int) and about.bits > 1):
        size = llvm.size_of(about)
        integer = memory.integer

        def load(address: Any) -> Any:
            return integer(address, size) if type(address) is int else machine.get(about, address)

        return load
    return lambda address: machine.get(about, address)


def _store(machine: Machine, about: llvm.Type) -> Callable[[Any, Any], None]:
    memory = machine.memory
    if isinstance(about, llvm.Pointer) or (isinstance(about, llvm.Int) and about.bits > 1):
        size = llvm.size_of(about)
        put = memory.put_integer

        def store(value: Any, address: Any) -> None:
            if type(address) is int:
                put(address, size, value)
            else:
                machine.put(about, address, value)

        return store
    return lambda value, address: machine.put(about, address, value)


def _place(base: llvm.Type, kinds: list[llvm.Type]) -> Callable[..., Any]:
    """The address of a part."""
    size = llvm.size_of(base)
    widths = [_bits(kind) for kind in kinds]

    def index(value: Any, bits: int) -> Any:
        return value if type(value) is int else modular.signed(value, bits)

    if len(kinds) == 1:
        bits = widths[0]

        def simple(address: Any, at: Any) -> Any:
            if type(at) is int and type(address) is int:
                return address + at * size
            return t.add(address, t.multiply(index(at, bits), size))

        return simple

    def place(address: Any, *indices: Any) -> Any:
        total = t.add(address, t.multiply(index(indices[0], widths[0]), size))
        about = base
        for at, bits in zip(indices[1:], widths[1:], strict=True):
            if isinstance(about, llvm.Struct):
                total = t.add(total, llvm.offsets_of(about)[at])
                about = about.fields[at]
            else:
                assert isinstance(about, (llvm.Array, llvm.Vector))
                about = about.element
                total = t.add(total, t.multiply(index(at, bits), llvm.size_of(about)))
        return total

    return place


def _select(machine: Machine, about: llvm.Type, test: llvm.Type) -> Callable[..., Any]:
    several = isinstance(test, llvm.Vector)
    kind = _scalar(about) if several else about

    def choose(c: Any, yes: Any, no: Any) -> Any:
        if isinstance(c, t.Condition):
            said = machine.known(c)
            if said is None:
                return machine.chosen(kind, c, yes, no)
            c = said
        return yes if c else no

    return (lambda c, yes, no: tuple(map(choose, c, yes, no))) if several else choose


def _alloca(machine: Machine, about: llvm.Type, writer: _Writer) -> Callable[[Any], int]:
    size = llvm.size_of(about)
    name = f"a local of {writer.function.name}"
    return lambda count: machine.memory.new(size * count, name, known=False)


def _bitcast(source: llvm.Type, target: llvm.Type) -> Callable[[Any], Any]:
    match source, target:
        case llvm.Real(bits=bits), llvm.Int():
            return lambda value: a.integer_bits_of_real(value, bits)
        case llvm.Int(bits=bits), llvm.Real():
            return lambda value: a.real_of_integer_bits(value, bits)
        case (
            (llvm.Vector() | llvm.Int() | llvm.Real()),
            (llvm.Vector() | llvm.Int() | llvm.Real()),
        ):
            return _reshaped(source, target)
        case _:
            pass
    return lambda value: value


def _reshaped(source: llvm.Type, target: llvm.Type) -> Callable[[Any], Any]:
    """The same bytes as entries of another width, by way of memory."""
    from cvmgen.verification.values.machine import Machine

    def reshape(value: Any) -> Any:
        scratch = Machine([], {})
        place = scratch.memory.new(llvm.size_of(source), "a vector")
        scratch.put(source, place, value)
        return scratch.get(target, place)

    return reshape


def _extract(places: list[int]) -> Callable[[Any], Any]:
    def extract(value: Any) -> Any:
        for at in places:
            value = value[at]
        return value

    return extract


def _insert(places: list[int]) -> Callable[[Any, Any], Any]:
    def insert(value: Any, entry: Any, depth: int = 0) -> Any:
        at = places[depth]
        inner = entry if depth + 1 == len(places) else insert(value[at], entry, depth + 1)
        return (*value[:at], inner, *value[at + 1 :])

    return insert


def _read_modify(machine: Machine, about: llvm.Type, name: str) -> Callable[[Any, Any], Any]:
    if name == "xchg":
        operate: Callable[[Any, Any], Any] = lambda before, value: value  # noqa: E731
    elif name in ("max", "min", "umax", "umin"):
        from cvmgen.verification.values.intrinsics import extreme

        operate = extreme(name if name[0] == "u" else "s" + name, _bits(about))
    else:
        operate = a.binary(name, _bits(about), frozenset())

    def change(address: Any, value: Any) -> Any:
        before = machine.get(about, address)
        machine.put(about, address, operate(before, value))
        return before

    return change


def _exchange(machine: Machine, about: llvm.Type) -> Callable[..., Any]:
    def exchange(address: Any, expected: Any, value: Any) -> Any:
        before = machine.get(about, address)
        if before == expected:
            machine.put(about, address, value)
        return (before, int(before == expected))

    return exchange


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

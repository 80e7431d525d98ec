"""What instructions of a module do with values: numbers, or terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cvmgen.verification.values import arithmetic as a
from cvmgen.verification.values import llvm, modular
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.executor import Executor
from cvmgen.verification.values.intrinsics import extreme
from cvmgen.verification.values.memory import UndefinedBehaviour
from cvmgen.verification.values.typed_memory import chosen, reshaped


def scalar(about: llvm.Type) -> llvm.Type:
    return about.element if isinstance(about, llvm.Vector) else about


def bits_of(about: llvm.Type) -> int:
    return about.bits if isinstance(about, (llvm.Int, llvm.RealType)) else 64


def by_entries(function: Callable[..., Any], about: llvm.Type) -> Callable[..., Any]:
    if not isinstance(about, llvm.Vector):
        return function
    return lambda *operands: tuple(map(function, *operands))


def defined_division(
    machine: Executor, operate: a.Operation, bits: int, by_sign: bool
) -> a.Operation:
    def divide(one: Any, other: Any) -> Any:
        if isinstance(one, t.Term) or isinstance(other, t.Term):
            divisor, least = modular.signed(other, bits), -(1 << (bits - 1))
            machine.never(t.equal(divisor, 0), "a division by 0")
            if by_sign:
                far = t.both(t.equal(modular.signed(one, bits), least), t.equal(divisor, -1))
                machine.never(far, f"a quotient beyond {bits} bits")
        return operate(one, other)

    return divide


def unreachable() -> None:
    raise UndefinedBehaviour("a place is reached that the text says is not")


def negate(value: Any) -> Any:
    return -value if isinstance(value, float) else rt.real("neg", value)


def load(machine: Executor, about: llvm.Type) -> Callable[[Any], Any]:
    memory = machine.memory
    if isinstance(about, llvm.Pointer) or (isinstance(about, llvm.Int) and about.bits > 1):
        size = llvm.size_of(about)
        integer = memory.integer

        def load(address: Any) -> Any:
            return integer(address, size) if type(address) is int else memory.get(about, address)

        return load
    return lambda address: memory.get(about, address)


def store(machine: Executor, about: llvm.Type) -> Callable[[Any, Any], None]:
    memory = machine.memory
    if isinstance(about, llvm.Pointer) or (isinstance(about, llvm.Int) and about.bits > 1):
        size = llvm.size_of(about)
        put = memory.put_integer

        def store(value: Any, address: Any) -> None:
            if type(address) is int:
                put(address, size, value)
            else:
                memory.put(about, address, value)

        return store
    return lambda value, address: memory.put(about, address, value)


def place(base: llvm.Type, kinds: list[llvm.Type]) -> Callable[..., Any]:
    """The address of a part."""
    size = llvm.size_of(base)
    widths = [bits_of(kind) for kind in kinds]

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
                assert isinstance(about, (llvm.ArrayType, llvm.Vector))
                about = about.element
                total = t.add(total, t.multiply(index(at, bits), llvm.size_of(about)))
        return total

    return place


def select(machine: Executor, about: llvm.Type, test: llvm.Type) -> Callable[..., Any]:
    several = isinstance(test, llvm.Vector)
    kind = scalar(about) if several else about

    def choose(c: Any, yes: Any, no: Any) -> Any:
        if isinstance(c, t.Condition):
            said = machine.known(c)
            if said is None:
                return chosen(kind, c, yes, no)
            c = said
        return yes if c else no

    return (lambda c, yes, no: tuple(map(choose, c, yes, no))) if several else choose


def bitcast(source: llvm.Type, target: llvm.Type) -> Callable[[Any], Any]:
    match source, target:
        case llvm.RealType(bits=bits), llvm.Int():
            return lambda value: a.integer_bits_of_real(value, bits)
        case llvm.Int(bits=bits), llvm.RealType():
            return lambda value: a.real_of_integer_bits(value, bits)
        case (
            (llvm.Vector() | llvm.Int() | llvm.RealType()),
            (llvm.Vector() | llvm.Int() | llvm.RealType()),
        ):
            return reshaped(source, target)
        case _:
            pass
    return lambda value: value


def extract(places: list[int]) -> Callable[[Any], Any]:
    def extract(value: Any) -> Any:
        for at in places:
            value = value[at]
        return value

    return extract


def insert(places: list[int]) -> Callable[[Any, Any], Any]:
    def insert(value: Any, entry: Any, depth: int = 0) -> Any:
        at = places[depth]
        inner = entry if depth + 1 == len(places) else insert(value[at], entry, depth + 1)
        return (*value[:at], inner, *value[at + 1 :])

    return insert


def read_modify(machine: Executor, about: llvm.Type, name: str) -> Callable[[Any, Any], Any]:
    if name == "xchg":
        operate: Callable[[Any, Any], Any] = lambda before, value: value  # noqa: E731
    elif name in ("max", "min", "umax", "umin"):
        operate = extreme(name if name[0] == "u" else "s" + name, bits_of(about))
    else:
        operate = a.binary(name, bits_of(about), frozenset())

    def change(address: Any, value: Any) -> Any:
        before = machine.memory.get(about, address)
        machine.memory.put(about, address, operate(before, value))
        return before

    return change


def exchange(machine: Executor, about: llvm.Type) -> Callable[..., Any]:
    def exchange(address: Any, expected: Any, value: Any) -> Any:
        before = machine.memory.get(about, address)
        if before == expected:
            machine.memory.put(about, address, value)
        return (before, int(before == expected))

    return exchange

"""Values of the types of modules: how they lie in memory, how one of two is chosen."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from cvmgen.verification.values import choices, llvm, modular
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.memory import Memory, Unmodelled


class TypedMemory(Memory):
    """Memory that is read and written by types. Where an address depends on elements, all places
    are looked at if ways are merged; else whoever explores decides."""

    def __init__(self) -> None:
        super().__init__()
        self.merges = True

    def get(self, about: llvm.Type, address: Any) -> Any:
        if isinstance(address, t.Term):
            if not self.merges:
                return self.get(about, operator.index(address))
            return choices.lookup(address, lambda at: self.get(about, at))
        match about:
            case llvm.Int(bits=1):
                value = self.integer(address, 1)
                return value & 1 if isinstance(value, int) else _bit_of(value)
            case llvm.Int():
                return self.integer(address, llvm.size_of(about))
            case llvm.Pointer():
                return self.integer(address, 8)
            case llvm.RealType(bits=bits):
                return self.real(address, bits // 8)
            case (
                llvm.ArrayType(count=count, element=element)
                | llvm.Vector(count=count, element=element)
            ):
                size = llvm.size_of(element)
                return tuple(self.get(element, address + i * size) for i in range(count))
            case llvm.Struct(fields=fields):
                offsets = llvm.offsets_of(about)
                return tuple(
                    self.get(field, address + at)
                    for field, at in zip(fields, offsets, strict=False)
                )
            case _:
                pass
        raise Unmodelled(f"a load of {about}")

    def put(self, about: llvm.Type, address: Any, value: Any) -> None:
        if isinstance(address, t.Term):
            if not self.merges:
                return self.put(about, operator.index(address), value)
            return self._put_somewhere(about, address, value)
        match about:
            case llvm.Int(bits=1):
                whole = choices.choose(value, 1, 0) if isinstance(value, t.Condition) else value
                self.put_integer(address, 1, whole)
            case llvm.Int():
                self.put_integer(address, llvm.size_of(about), value)
            case llvm.Pointer():
                self.put_integer(address, 8, value)
            case llvm.RealType(bits=bits):
                self.put_real(address, bits // 8, value)
            case llvm.ArrayType(element=element) | llvm.Vector(element=element):
                size = llvm.size_of(element)
                for i, entry in enumerate(value):
                    self.put(element, address + i * size, entry)
            case llvm.Struct(fields=fields):
                offsets = llvm.offsets_of(about)
                for field, at, entry in zip(fields, offsets, value, strict=False):
                    self.put(field, address + at, entry)
            case _:
                raise Unmodelled(f"a store of {about}")

    def _put_somewhere(self, about: llvm.Type, address: t.Term, value: Any) -> None:
        """A store at an address that depends on elements: each place may be meant."""
        for place in choices.possible(address):
            here = t.equal(address, place)
            if here is not False:
                before = self.get(about, place)
                self.put(
                    about, place, choices.choose(here, exact(about, value), exact(about, before))
                )


def reshaped(source: llvm.Type, target: llvm.Type) -> Callable[[Any], Any]:
    """The same bytes as entries of another width, by way of memory."""

    def reshape(value: Any) -> Any:
        scratch = TypedMemory()
        place = scratch.new(llvm.size_of(source), "a vector")
        scratch.put(source, place, value)
        return scratch.get(target, place)

    return reshape


def chosen(about: llvm.Type, test: t.Condition, yes: Any, no: Any) -> Any:
    if yes is no:
        return yes
    if isinstance(yes, tuple):
        return tuple(
            chosen(kind, test, one, other)
            for kind, one, other in zip(parts_of(about), yes, no, strict=True)
        )
    if yes is None or no is None:
        return yes if no is None else no
    if isinstance(about, llvm.Pointer) and not (yes and no):
        raise Unmodelled("a pointer that depends on elements")
    made = choices.choose(test, exact(about, yes), exact(about, no))
    return int(made) if isinstance(made, bool) else made


def parts_of(about: llvm.Type) -> tuple[llvm.Type, ...]:
    match about:
        case llvm.Struct(fields=fields):
            return fields
        case (
            llvm.ArrayType(count=count, element=element) | llvm.Vector(count=count, element=element)
        ):
            return (element,) * count
        case _:
            pass
    raise Unmodelled(f"parts of {about}")


def exact(about: llvm.Type, value: Any) -> Any:
    """A value of a type as a choice holds it: an integer by its sign, a bit as a condition."""
    if isinstance(about, llvm.Int):
        if about.bits == 1:
            return value if isinstance(value, t.Condition) else bool(value)
        return modular.signed(value, about.bits)
    return value


def _bit_of(value: t.Term) -> Any:
    found = t.opposite(t.equal(modular.unsigned(value, 1), 0))
    return found if isinstance(found, t.Condition) else int(found)

"""Memory of a machine: blocks of bytes, of which some hold terms.

An address is the number of its block and the place in it, so that no address of one block is one
of another: every access beyond a block, or to one that is gone, is found.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from cvmgen.verification.values import choices, modular, pieces
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.evaluate import FORMS, Form, bytes_of, packed, real_of

SHIFT = 32  # of the number of a block within an address
PLACE = (1 << SHIFT) - 1


class UndefinedBehaviour(Exception):
    """What the text does is not defined."""


class Unmodelled(Exception):
    """What the text does is not understood here, which says nothing of the text."""


class Cell:
    """A value that is no bytes: where it begins in its block, and how many bytes it takes."""

    __slots__ = ("at", "size", "value")

    def __init__(self, value: Any, at: int, size: int) -> None:
        self.value, self.at, self.size = value, at, size


class MemoryBlock:
    __slots__ = ("cells", "data", "name", "size")

    def __init__(self, size: int, name: str) -> None:
        self.data, self.size, self.name = bytearray(size), size, name
        self.cells: dict[int, Cell] = {}  # by each byte that they take


class Memory:
    """Blocks by number, and a journal of what is overwritten while one is kept."""

    def __init__(self) -> None:
        self.blocks: dict[int, MemoryBlock] = {}
        self.count = 0
        self.journals: list[list[tuple[MemoryBlock, int, bytes, list[Cell | None]]]] = []

    def new(self, size: int, name: str, *, known: bool = True) -> int:
        """The address of a new block: of zeros if it is `known` what it holds, else of a number
        that no sum of elements hides."""
        if not 0 <= size <= PLACE:
            raise UndefinedBehaviour(f"memory of {size} bytes is asked for")
        self.count += 1
        self.blocks[self.count] = made = MemoryBlock(size, name)
        if not known:
            made.data[:] = b"\xa5" * size
        return self.count << SHIFT

    def free(self, address: int) -> None:
        if address == 0:
            return
        if address & PLACE or self.blocks.pop(address >> SHIFT, None) is None:
            raise UndefinedBehaviour("memory is given back that is not there")

    def find(self, address: int, size: int) -> tuple[MemoryBlock, int]:
        block, at = self.blocks.get(address >> SHIFT), address & PLACE
        if block is None:
            raise UndefinedBehaviour(f"an access of {size} bytes where no memory is")
        if at + size > block.size:
            raise UndefinedBehaviour(
                f"an access of {size} bytes at byte {at} of {block.name}, which has {block.size}"
            )
        return block, at

    # ------------------------------------------------------------ reading

    def integer(self, address: int, size: int) -> t.Integer:
        block, at = self.find(address, size)
        if block.cells:
            cell = block.cells.get(at)
            if cell is not None and cell.at == at and cell.size == size and _whole(block, cell):
                value = cell.value
                return as_bits(value, size)
            if any(block.cells.get(each) is not None for each in range(at, at + size)):
                return as_bits(_joined(block, at, size), size)
        return int.from_bytes(block.data[at : at + size], "little", signed=True)

    def real(self, address: int, size: int) -> Any:
        block, at = self.find(address, size)
        cell = block.cells.get(at)
        if cell is not None and cell.at == at and cell.size == size and _whole(block, cell):
            return of_bits(cell.value, size)
        if any(block.cells.get(each) is not None for each in range(at, at + size)):
            return of_bits(_joined(block, at, size), size)
        return struct.unpack(f"<{FORMS[size]}", block.data[at : at + size])[0]

    # ------------------------------------------------------------ writing

    def put_integer(self, address: int, size: int, value: t.Integer) -> None:
        block, at = self.find(address, size)
        if self.journals:
            self.note(block, at, size)
        if isinstance(value, int):
            if block.cells:
                _clear(block, at, size)
            whole = value & ((1 << 8 * size) - 1)
            block.data[at : at + size] = whole.to_bytes(size, "little")
        else:
            _set_cell(block, value, at, size)

    def put_real(self, address: int, size: int, value: Any) -> None:
        block, at = self.find(address, size)
        if self.journals:
            self.note(block, at, size)
        if isinstance(value, float):
            if block.cells:
                _clear(block, at, size)
            block.data[at : at + size] = packed(value, size)
        else:
            _set_cell(block, value, at, size)

    def copy(self, to: int, source: int, size: int) -> None:
        """As memmove does it."""
        if size == 0:
            return
        left, at = self.find(source, size)
        block, place = self.find(to, size)
        if self.journals:
            self.note(block, place, size)
        data = bytes(left.data[at : at + size])
        cells = [left.cells.get(each) for each in range(at, at + size)] if left.cells else []
        torn = {at + i: _byte(left, at + i) for i in _torn(cells, at, size, left)}
        if block.cells:
            _clear(block, place, size)
        block.data[place : place + size] = data
        moved: dict[int, Cell] = {}
        for i, cell in enumerate(cells):
            if cell is None:
                continue
            if at + i in torn:
                _set_cell(block, torn[at + i], place + i, 1)
                continue
            new = moved.get(id(cell))
            if new is None:
                new = moved[id(cell)] = Cell(cell.value, cell.at - at + place, cell.size)
            block.cells[place + i] = new

    def fill(self, to: int, byte: t.Integer, size: int) -> None:
        if isinstance(byte, int):
            if size == 0:
                return
            block, at = self.find(to, size)
            if self.journals:
                self.note(block, at, size)
            if block.cells:
                _clear(block, at, size)
            block.data[at : at + size] = bytes([byte & 255]) * size
            return
        for i in range(size):
            self.put_integer(to + i, 1, byte)

    # ------------------------------------------------------------ two ways

    def note(self, block: MemoryBlock, at: int, size: int) -> None:
        cells = [block.cells.get(each) for each in range(at, at + size)] if block.cells else []
        self.journals[-1].append((block, at, bytes(block.data[at : at + size]), cells))

    def back(self, journal: list[tuple[MemoryBlock, int, bytes, list[Cell | None]]]) -> None:
        """Undo what a journal tells of."""
        for block, at, data, cells in reversed(journal):
            _clear(block, at, len(data))
            block.data[at : at + len(data)] = data
            for i, cell in enumerate(cells):
                if cell is not None:
                    block.cells[at + i] = cell

    def states(self, block: MemoryBlock, at: int, size: int) -> tuple[int, Any]:
        """What the bytes from here on are as one value."""
        cell = block.cells.get(at)
        if cell is not None and cell.at == at and cell.size == size and _whole(block, cell):
            return size, cell.value
        if block.cells and any(block.cells.get(each) for each in range(at, at + size)):
            return size, _joined(block, at, size)
        return size, int.from_bytes(block.data[at : at + size], "little", signed=True)

    def put_state(self, block: MemoryBlock, at: int, state: tuple[int, Any]) -> None:
        size, value = state
        if self.journals:
            self.note(block, at, size)
        if isinstance(value, int):
            _clear(block, at, size)
            block.data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        else:
            _set_cell(block, value, at, size)


def _chosen(test: t.Condition, one: tuple[int, Any], other: tuple[int, Any]) -> tuple[int, Any]:
    size, yes = one
    _, no = other
    reals = [each for each in (yes, no) if isinstance(each, rt.RealTerm)]
    if reals:
        return size, choices.choose(test, of_bits(yes, size), of_bits(no, size))
    return size, choices.choose(test, modular.signed(yes, 8 * size), modular.signed(no, 8 * size))


def merged(memory: Memory, test: t.Condition, run: Callable[[bool], Any]) -> tuple[Any, Any]:
    """Run both ways from the same memory and leave what a choice of them is."""
    memory.journals.append([])
    one = run(True)
    first = memory.journals.pop()
    after = _places(first)
    states = [(block, at, memory.states(block, at, size)) for block, at, size in after]
    memory.back(first)
    memory.journals.append([])
    other = run(False)
    second = memory.journals.pop()
    if memory.journals:  # an outer way undoes both
        memory.journals[-1].extend(second)
    places = _merge_places(after, _places(second))
    if places != after:
        # read again what the first way left, by the places that both have in common
        middle = [(block, at, memory.states(block, at, size)) for block, at, size in places]
        memory.back(second)
        for block, at, state in states:
            _raw_put(block, at, state)
        states = [(block, at, memory.states(block, at, size)) for block, at, size in places]
        memory.back(first)
        for block, at, state in middle:
            _raw_put(block, at, state)
    for block, at, one_state in states:
        other_state = memory.states(block, at, one_state[0])
        if not _alike(one_state[1], other_state[1]):
            memory.put_state(block, at, _chosen(test, one_state, other_state))
    return one, other


def _raw_put(block: MemoryBlock, at: int, state: tuple[int, Any]) -> None:
    size, value = state
    if isinstance(value, int):
        _clear(block, at, size)
        block.data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    else:
        _set_cell(block, value, at, size)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, t.Term):
        return one.same(other)
    if isinstance(one, rt.RealTerm) or isinstance(other, (t.Term, rt.RealTerm)):
        return one is other
    return bool(one == other)


def _places(journal: list[tuple[MemoryBlock, int, bytes, list[Cell | None]]]) -> list[Any]:
    """What a journal tells of, as pieces that hold one value each."""
    found = []
    for block, at, data, _ in journal:
        starts = {cell.at for k in range(at, at + len(data)) if (cell := block.cells.get(k))}
        cuts = sorted({at, at + len(data), *(k for k in starts if k > at)})
        found += [(block, low, high - low) for low, high in pairwise(cuts)]
    return _merge_places(found, [])


def _merge_places(one: list[Any], other: list[Any]) -> list[Any]:
    """Places that do not overlap, with the ends of all of both."""
    blocks: dict[int, tuple[MemoryBlock, set[int], set[int]]] = {}
    for block, at, size in [*one, *other]:
        _, ends, covered = blocks.setdefault(id(block), (block, set(), set()))
        ends.update((at, at + size))
        covered.update(range(at, at + size))
    found = []
    for block, ends, covered in blocks.values():
        for low, high in pairwise(sorted(ends)):
            if low in covered:
                unit = high - low if high - low <= 8 else 4 if (high - low) % 4 == 0 else 1
                found += [(block, at, unit) for at in range(low, high, unit)]
    return found


# ---------------------------------------------------------------- bytes of values


def as_bits(value: Any, form: Form) -> t.Integer:
    """A value that lies in memory, read as an integer."""
    if isinstance(value, rt.RealTerm):
        half = 1 << (8 * bytes_of(form) - 1)
        return t.atom(("bits", form, value), -half, half - 1)
    return value  # type: ignore[no-any-return]


def of_bits(value: Any, form: Form) -> Any:
    """A value that lies in memory, read as a real number."""
    if isinstance(value, t.Term):
        inner = t.single(value)
        if inner is not None and inner.key[:2] == ("bits", form):
            return inner.key[2]
        return rt.real("of bits", form, value)
    if isinstance(value, int):
        return real_of(value, form)
    return value


def _whole(block: MemoryBlock, cell: Cell) -> bool:
    """Whether nothing of a cell was overwritten."""
    last = cell.at + cell.size - 1
    cells = block.cells
    if cells.get(last) is not cell:
        return False
    return all(cells.get(each) is cell for each in range(cell.at + 1, last))


def _byte(block: MemoryBlock, at: int) -> t.Integer:
    """The byte at a place; of a value of several bytes it stands for itself."""
    cell = block.cells.get(at)
    if cell is None:
        return block.data[at]
    if cell.size == 1:
        return cell.value  # type: ignore[no-any-return]
    value = cell.value if isinstance(cell.value, rt.RealTerm) else t.key_of(cell.value)
    return pieces.byte_of(value, cell.size, at - cell.at)


def _joined(block: MemoryBlock, at: int, size: int) -> Any:
    """Bytes as a value: that of which they are the bytes, if they are."""
    if size == 1:
        return _byte(block, at)
    found = [_byte(block, at + i) for i in range(size)]
    values = pieces.wholes(tuple(map(t.key_of, found)))
    return t.of_key(values[0][1]) if len(values) == 1 else pieces.joined(found)


def _torn(cells: list[Cell | None], at: int, size: int, block: MemoryBlock) -> list[int]:
    """The bytes of cells that lie only partly in a piece."""
    return [
        i
        for i, cell in enumerate(cells)
        if cell is not None
        and (cell.at < at or cell.at + cell.size > at + size or not _whole(block, cell))
    ]


def _clear(block: MemoryBlock, at: int, size: int) -> None:
    """Take out the cells of some bytes; what is left of one is bytes of their own."""
    cells = block.cells
    for each in range(at, at + size):
        cell = cells.get(each)
        if cell is None:
            continue
        if cell.at < at or cell.at + cell.size > at + size:
            _split(block, cell)
        cells.pop(each, None)


def _split(block: MemoryBlock, cell: Cell) -> None:
    """Make a cell into its bytes."""
    if cell.size > 1:
        own = [k for k in range(cell.at, cell.at + cell.size) if block.cells.get(k) is cell]
        for k, value in [(k, _byte(block, k)) for k in own]:
            block.cells[k] = Cell(value, k, 1)


def _set_cell(block: MemoryBlock, value: Any, at: int, size: int) -> None:
    parts = pieces.parts_of(value)
    if parts is not None:
        return _set_parts(block, parts, at)
    if block.cells:
        _clear(block, at, size)
    cell = Cell(value, at, size)
    for each in range(at, at + size):
        block.cells[each] = cell


def _set_parts(block: MemoryBlock, parts: tuple[Any, ...], at: int) -> None:
    """Several values as they lay behind each other before they were read as one."""
    for size, key in pieces.wholes(parts):
        value = t.of_key(key)
        if isinstance(value, int):
            _clear(block, at, size)
            block.data[at] = value & 255
        else:
            _set_cell(block, value, at, size)
        at += size

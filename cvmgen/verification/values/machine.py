"""A machine that runs LLVM modules on numbers and on terms alike.

Where a branch depends on elements, both ways are run from the same memory up to the block where
they meet, and what differs then is a choice; or, where that cannot be, whoever explores decides.
Each block becomes a Python function on the list of its function's registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cvmgen.verification.values import llvm
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.blocks import END, PathSplit, Prepared, prepare
from cvmgen.verification.values.facts import Contradiction, PathFacts
from cvmgen.verification.values.memory import SHIFT, UndefinedBehaviour, Unmodelled, merged
from cvmgen.verification.values.typed_memory import TypedMemory, chosen, parts_of

MOST_STEPS = 2_000_000
LITTLE = "small thresholds"
"""A feature of a processor for which little is worth what otherwise much is."""
Routine = Callable[["Machine", list[Any]], Any]


class Machine:
    """Modules linked together, with their memory."""

    def __init__(
        self,
        modules: list[llvm.Module],
        library: dict[str, Routine],
        thresholds: Mapping[int, int] | None = None,
    ) -> None:
        self.memory = TypedMemory()
        self.facts = PathFacts()
        self.library = library
        self.modules = modules
        self.places: dict[tuple[int, str], int] = {}  # addresses of variables and functions
        self.routines: dict[int, tuple[int, llvm.LlvmFunction] | str] = {}
        self.prepared: dict[int, Prepared] = {}  # by functions as objects
        self.steps = MOST_STEPS
        self.split: Callable[[t.Condition], bool] | None = None
        self.features: frozenset[str] = frozenset()  # of the processor
        self.asked = False  # for one of them
        self.thresholds = thresholds or {}
        self.compared = False  # with a number for which another one may stand
        self.doubts: dict[tuple[t.Condition, ...], str] = {}
        self.distances: dict[int, int] = {}
        self.lasting: dict[int, bytes] = {}  # blocks that are there before a call, as they are
        for number, module in enumerate(modules):
            for variable in module.variables.values():
                if variable.value is not None:
                    place = self.memory.new(max(llvm.size_of(variable.type), 1), variable.name)
                    self.places[number, variable.name] = place
        for number, module in enumerate(modules):
            for variable in module.variables.values():
                if variable.value is not None:
                    place = self.places[number, variable.name]
                    self.memory.put(
                        variable.type, place, self.constant(number, variable.type, variable.value)
                    )

        for number in self.memory.blocks:
            self.lasting[number] = bytes(self.memory.blocks[number].data)

    def begin(
        self,
        facts: PathFacts,
        split: Callable[[t.Condition], bool] | None,
        steps: int = MOST_STEPS,
    ) -> None:
        """Be as if nothing was run; `split` decides where ways are run one by one."""
        memory = self.memory
        memory.journals.clear()
        memory.blocks = {number: memory.blocks[number] for number in self.lasting}
        for number, data in self.lasting.items():
            memory.blocks[number].data[:] = data
            memory.blocks[number].cells.clear()
        self.facts, self.split, self.memory.merges = facts, split, split is None
        self.doubts.clear()
        self.steps = steps
        for prepared in self.prepared.values():
            prepared.ran[:] = [0] * len(prepared.ran)

    def counts(self) -> Iterator[tuple[str, list[int]]]:
        """How often each block of each function ran since the beginning."""
        for prepared in self.prepared.values():
            yield prepared.name, prepared.ran

    def never(self, test: t.Truth, why: str) -> None:
        """Where this holds on the way that is gone the text is not defined."""
        if isinstance(test, t.Condition):
            if self.facts.says(test) is not False:
                self.doubts[*self.facts.conditions(), test] = why
        elif test:
            raise UndefinedBehaviour(why)

    def counts_little(self) -> bool:
        """Whether small calls go the ways of large ones."""
        self.compared = True
        return LITTLE in self.features

    # ------------------------------------------------------------ names

    def address(self, number: int, name: str) -> int:
        """Where a variable or a function of a module lies."""
        name = self.modules[number].aliases.get(name, name)
        if (number, name) in self.places:
            return self.places[number, name]
        home = self._home(number, name)
        if home is not None and home != number and (home, name) in self.places:
            place = self.places[home, name]
        else:
            place = self.memory.new(1, name)
            self.lasting[place >> SHIFT] = bytes(1)
            module = self.modules[home] if home is not None else None
            body = module.functions.get(name) if module is not None else None
            has_body = body is not None and body.body and name not in self.library
            self.routines[place] = (home or 0, body) if has_body and body else name
            if home is not None:
                self.places[home, name] = place
        self.places[number, name] = place
        return place

    def _home(self, number: int, name: str) -> int | None:
        """The module that has the body of a name."""
        for each in (number, *range(len(self.modules))):
            module = self.modules[each]
            function, variable = module.functions.get(name), module.variables.get(name)
            if (function and function.body) or (variable and variable.value is not None):
                return each  # type: ignore[no-any-return]
        return None

    def has(self, name: str) -> bool:
        """Whether a module has the body of a name."""
        return self._home(0, name) is not None

    def exported(self, name: str) -> int:
        """The address of a function by its name."""
        home = self._home(0, name)
        if home is None:
            raise Unmodelled(f"there is no function {name}")
        return self.address(home, name)

    def constant(self, number: int, about: llvm.Type, value: llvm.Value) -> Any:
        match value:
            case llvm.Constant(value=None):
                return llvm.zero_of(about)
            case llvm.Constant(value=found):
                return _defined(about, found)
            case llvm.Global(name=name):
                return self.address(number, name)
            case llvm.Expression(opcode="aggregate", operands=operands):
                return tuple(self.constant(number, kind, each) for kind, each in operands)
            case llvm.Expression(opcode="getelementptr", about=base, operands=operands):
                entries = [self.constant(number, kind, each) for kind, each in operands]
                return entries[0] + _offset(base, entries[1:])
            case llvm.Expression(opcode="sub" | "add" as opcode, operands=operands):
                one, other = (self.constant(number, kind, each) for kind, each in operands)
                return one - other if opcode == "sub" else one + other
            case llvm.Expression(operands=((kind, each),)):
                found = self.constant(number, kind, each)
                if value.opcode == "trunc":  # the distance of two places, which a table keeps
                    return self._distance(found)
                return found
            case _:
                pass
        raise Unmodelled(f"a constant {value}")

    def _distance(self, value: int) -> int:
        """A distance of 64 bits as 32 bits name it; `relative` finds it again."""
        key = -(len(self.distances) + 1)
        self.distances[key] = value
        return key

    # ------------------------------------------------------------ running

    def call(self, address: Any, arguments: list[Any]) -> Any:
        if isinstance(address, t.Term):
            raise Unmodelled("a function that depends on elements")
        found = self.routines.get(address)
        if found is None:
            raise UndefinedBehaviour("a call of what is no function")
        if isinstance(found, str):
            if found not in self.library:
                raise Unmodelled(f"there is no function {found}")
            return self.library[found](self, arguments)
        number, function = found
        prepared = self.prepared.get(id(function))
        if prepared is None:
            prepared = self.prepared[id(function)] = prepare(self, number, function)
        registers: list[Any] = [None] * prepared.registers
        count = len(function.parameters)
        registers[1 : count + 1] = arguments[:count]
        registers[prepared.rest] = arguments[count:]
        owned: list[int] = []
        registers[prepared.owned] = owned
        self.execute(prepared, registers, 0, END)
        for place in owned:
            self.memory.blocks.pop(place >> 32, None)
        return registers[0]

    def execute(self, function: Prepared, registers: list[Any], block: int, stop: int) -> None:
        blocks, ran = function.blocks, function.ran
        while block != stop:
            self.steps -= 1
            if self.steps < 0:
                raise Unmodelled("too many steps")
            ran[block] += 1
            following = blocks[block](registers)
            if type(following) is int:
                block = following
            else:
                block = self.fork(function, registers, block, following)

    def known(self, test: t.Condition) -> bool | None:
        """Whether a condition holds on the way that is gone; None where both ways are to be run."""
        said = self.facts.says(test)
        if said is None and not self.memory.merges:
            assert self.split is not None
            return self.split(test)
        return said

    def fork(self, function: Prepared, registers: list[Any], block: int, fork: PathSplit) -> int:
        """Go on behind a branch on elements."""
        test = fork.test
        said = self.known(test)
        if said is not None:
            return (fork.yes if said else fork.no)(registers)
        stop = function.meeting()[block]
        sides: dict[bool, list[Any] | None] = {}

        def run(holds: bool) -> None:
            own = list(registers)
            with self.facts.assuming(test if holds else test.other):
                following = (fork.yes if holds else fork.no)(own)
                self.execute(function, own, following, stop)
            sides[holds] = own

        try:
            merged(self.memory, test, run)
        except Contradiction as error:
            raise Unmodelled(f"a way that cannot be: {error}") from None
        yes, no = sides[True], sides[False]
        assert yes is not None
        assert no is not None
        for register, about in function.met(stop):
            registers[register] = chosen(about, test, yes[register], no[register])
        return stop


def _defined(about: llvm.Type, value: Any) -> Any:
    """A constant whose parts that are not fixed are 0."""
    if value is None:
        return llvm.zero_of(about)
    if isinstance(value, tuple):
        return tuple(map(_defined, parts_of(about), value))
    return value


def _offset(base: llvm.Type, indices: list[int]) -> int:
    total = indices[0] * llvm.size_of(base) if indices else 0
    about = base
    for index in indices[1:]:
        if isinstance(about, llvm.Struct):
            total += llvm.offsets_of(about)[index]
            about = about.fields[index]
        else:
            assert isinstance(about, (llvm.ArrayType, llvm.Vector))
            about = about.element
            total += index * llvm.size_of(about)
    return total

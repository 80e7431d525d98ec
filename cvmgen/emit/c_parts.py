"""Loops in threads as C: a function for a part of the iterations, and what it reads of the kernel
around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from cvmgen.analysis.dependences import combined
from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_like import MACHINE_TYPES, comment, identifier, indent
from cvmgen.emit.c_shares import OWN, Member, call_name, part_function, part_name, places
from cvmgen.emit.c_text import versions, word_in, wrapped, wrapped_list
from cvmgen.emit.plan import Field
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import entry_at, extent
from cvmgen.ir.uses import assigned, names_in, stored_tensors
from cvmgen.ir.visit import fresh, replaced, walk
from cvmgen.schedule.measures import parallel

LONG = 256  # elements
OVERFLOW = ""  # among the names of tensors: where the least place is noted
OPERATIONS = {"and": "&&", "or": "||"}
# What leaves every value as it is.
NEUTRAL = {
    "+": "0",
    "*": "1",
    "|": "0",
    "and": "true",
    "or": "false",
    "max i32": "INT32_MIN",
    "max i64": "INT64_MIN",
    "max i128": "(__int128)((unsigned __int128)1 << 127)",
    "min i32": "INT32_MAX",
    "min i64": "INT64_MAX",
    "min i128": "~(__int128)((unsigned __int128)1 << 127)",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """The kernel that loops stand in.

    plan: the type of its plan; formulas: where its lines stand, and their texts; tensors: the types
    of what it is given besides, up to the names; fields: finds what statements read of the plan;
    unpack: makes locals of that
    """

    name: str
    plan: str
    formulas: tuple[str, ...]
    restrict: str
    tensors: Mapping[str, str]
    fields: Callable[[tuple[i.Stmt, ...]], list[Field]]
    unpack: Callable[[Iterable[Field]], list[str]]


Local = i.Let | i.Array | i.Loop


class PartPrinter(KernelPrinter):
    """Statements of a kernel; `functions` are those for parts of its loops in threads."""

    def __init__(self, program: i.Program, body: tuple[i.Stmt, ...], kernel: Frame) -> None:
        self.fields = kernel.fields(body)
        super().__init__(program, body, [f.name for f in self.fields if f.type == "cvmgen_list"])
        self.kernel, self.body = kernel, body
        self.functions: list[str] = []
        self.parts = 0
        names = {*names_in(body), *assigned(body), *self.arrays, *kernel.tensors}
        self.taken = names | {field.name for field in self.fields}
        self.names = {each: fresh(each, self.taken) for each in OWN}

    def lines(self) -> list[str]:
        """All statements of the kernel, below their formula if they are more than a call of a part,
        which has it too."""
        lines = self.block(self.body)
        unpacked = self.unpacked(lines)
        if not unpacked and not word_in("plan", "\n".join(lines)):
            unpacked = self.kernel.unpack(())
        match self.body:
            case (i.Loop(parallel=count),) if count > 0:
                return [*unpacked, *lines]
            case _:
                return [*unpacked, *map(comment, self.kernel.formulas), *lines]

    def unpacked(self, lines: Sequence[str]) -> list[str]:
        """Locals for what statements read of the plan."""
        text = "\n".join(lines)
        read = [field for field in self.fields if word_in(identifier(field.name), text)]
        return self.kernel.unpack(read) if read else []

    def array(self, array: i.Array) -> str:
        """A local array; a long one begins with a line of the cache, as vectors do."""
        text = super().array(array)
        return f"_Alignas(64) {text}" if array.length >= LONG else text

    # -------------------------------------------------------- a loop in threads

    def shared(self, loop: i.Loop) -> list[str]:
        self.parts += 1
        part = f"{part_name(self.kernel.name)}{f'_{self.parts}' if self.parts > 1 else ''}"
        call = self.names["call"] if self.parts == 1 else fresh("call", self.taken)
        lines = self.part(loop)
        text = "\n".join(lines)
        members = [each for each in self.members(loop) if word_in(each.name, text)]
        if word_in("plan", text):
            kind = f"const {self.kernel.plan} *"
            members.insert(0, Member("plan", kind, f"{kind}const ", "plan"))
        self.functions.append("\n".join(self.function(loop, part, members, lines)))
        own = self.kept_apart(loop)
        values = [f"&{own[each.name][1]}" if each.name in own else each.value for each in members]
        return [
            *(f"{kind} {copy} = {name};" for name, (kind, copy) in own.items()),
            *self.given_to(part, call, values),
            *self.share(loop, part, call),
            *(f"{name} = {copy};" for name, (_, copy) in own.items()),
        ]

    def given_to(self, part: str, call: str, values: Sequence[str]) -> list[str]:
        """The structure that a part is given."""
        return [f"const {call_name(part)} {call} = {{{', '.join(values)}}};"]

    def share(self, loop: i.Loop, part: str, call: str) -> list[str]:
        """The call that lets threads take parts."""
        count = " * ".join(self.count(each, 10) for each in parallel(loop))
        worth = "true" if loop.worth is None else self.expr(loop.worth)
        width = 1000 if self.in_threads else 88  # within loops lines are broken once all stand
        return wrapped_list("cvmgen_share(", [count, worth, part, f"&{call}"], ");", width)

    def kept_apart(self, loop: i.Loop) -> dict[str, tuple[str, str]]:
        """The types and names of copies of accumulators that other loops add to as well, which
        would be in memory for them, too, if their places were known to others."""
        rest = replaced(self.body, lambda each: replace(loop, body=()) if each is loop else each)
        added = {each.name for each in walk(rest) if isinstance(each, i.Accumulate | i.Assign)}
        totals = combined(loop, self.accumulators) or {}
        return {
            identifier(name): (self.total_type(name), fresh(f"{name}_in_threads", self.taken))
            for name in sorted(added.intersection(totals))
        }

    def function(
        self, loop: i.Loop, part: str, members: Sequence[Member], lines: Sequence[str]
    ) -> list[str]:
        """The function for a part of a loop, behind the structure that it is given."""
        return part_function(
            part,
            self.names,
            members,
            self.versions(without_parts((loop,), loop)),
            [*map(comment, self.kernel.formulas), *lines],
        )

    def versions(self, body: tuple[i.Stmt, ...]) -> list[str]:
        """What stands before the head of a function."""
        return versions(body)

    def part(self, loop: i.Loop) -> list[str]:
        """The statements of a part, behind the members of its call."""
        around, pointers = self.in_threads, self.pointers
        self.in_threads = True
        lists = {declared(each) for each in self.outer(loop) if is_list(each)}
        self.pointers = pointers | lists
        totals = combined(loop, self.accumulators) or {}
        lines = [*self.starts(totals), *self.iterations(loop), *self.joined(totals)]
        lines = [*self.unpacked(lines), *lines]
        self.in_threads, self.pointers = around, pointers
        return lines

    # -------------------------------------------------------- what a part reads

    def members(self, loop: i.Loop) -> list[Member]:
        """What a part reads besides the plan: tensors, then locals of the kernel."""
        written = stored_tensors(loop)
        found = []
        for name in self.kernel.tensors:
            if name in read_names(loop):
                kind = f"{self.kernel.tensors[name]} *"
                own = identifier(name) if name else "overflow"
                restrict = f"{self.kernel.restrict} " if name else "const "
                found.append(Member(own, kind, f"{kind}{restrict}", own))
        totals = combined(loop, self.accumulators) or {}
        for each in self.outer(loop):
            found.append(self.local(each, totals, written))
        return found

    def outer(self, loop: i.Loop) -> list[Local]:
        """Where the locals stand that the loop reads, or adds to, and does not make."""
        made = {declared(each) for each in walk(loop)}
        wanted = read_names(loop) - made
        return [each for name, each in scope(self.body, loop, {}).items() if name in wanted]

    def local(self, where: Local, totals: Mapping[str, str], written: Set[str]) -> Member:
        """A local of the kernel, of which a part makes its own, or which it adds to."""
        name = identifier(declared(where))
        match where:
            case i.Loop():
                return Member(name, "int64_t ", "const int64_t ", name)
            case i.Array(name=array, type=type_name):
                constant = "" if array in written else "const "
                kind = f"{constant}{MACHINE_TYPES[type_name]} *"
                return Member(name, kind, f"{kind}const ", name)
            case i.Let(type="list"):
                kind = "const cvmgen_list *"
                return Member(name, kind, f"{kind}const ", self.pointer(i.Var(declared(where))))
            case i.Let(type=type_name):
                kind = MACHINE_TYPES[type_name]
                if declared(where) in totals:
                    return Member(name, f"{kind} *", "", f"&{name}")
                return Member(name, f"{kind} ", f"const {kind} ", name)

    # -------------------------------------------------------- iterations

    def iterations(self, loop: i.Loop) -> list[str]:
        """The loop over a part of all iterations."""
        low, high, at = (self.names[each] for each in ("low", "high", "at"))
        loops = parallel(loop)
        if len(loops) == 1 and loop.low == i.Const(0) and loop.step == 1:
            return self.loop(replace(loop, low=i.Var(low), high=i.Var(high), parallel=0))
        counts, indices = self.unravelled(loops, at)
        head = f"for (int64_t {at} = {low}; {at} < {high}; ++{at}) {{"
        return [*counts, head, *indent([*indices, *self.block(loops[-1].body)]), "}"]

    def unravelled(self, loops: Sequence[i.Loop], at: str) -> tuple[list[str], list[str]]:
        """How often inner loops run, where that is no value yet; and the indices at a place among
        the iterations of all loops."""
        read = read_names(loops[0])
        lines: list[str] = []
        counts: list[str] = []
        for loop in loops[1:]:
            counts.append(self.count(loop, 11))
            if loop.step != 1:
                name = fresh(f"{loop.index}s", self.taken)
                lines.append(f"const int64_t {name} = {counts[-1]};")
                counts[-1] = name
        indices = [
            f"{identifier(loop.index)} = {self.value(loop, place)}"
            for loop, place in zip(loops, places(at, counts), strict=True)
            if loop.index in read
        ]
        return lines, wrapped("const int64_t", indices)

    def value(self, loop: i.Loop, place: str) -> str:
        """The index of a loop at a place among its iterations."""
        if loop.low is None:
            return self.expr(entry_at(loop.high, i.Var(place)))
        value = place if loop.step == 1 else f"{place} * {loop.step}"
        return value if loop.low == i.Const(0) else f"{self.expr(loop.low, 9)} + {value}"

    def count(self, loop: i.Loop, least: int) -> str:
        """How many iterations a loop has."""
        if loop.low is None:
            return self.length(loop.high)
        match extent(loop):
            case i.Const(value=int(known)):
                return str(-(-known // loop.step))
            case whole if loop.step == 1:
                return self.expr(whole, least)
        return f"cvmgen_ceildiv({self.expr(extent(loop))}, {loop.step})"

    # -------------------------------------------------------- what parts change together

    def starts(self, totals: Mapping[str, str]) -> list[str]:
        """Accumulators of a part's own."""
        return [
            f"{self.total_type(name)} {identifier(name)} = {self.neutral(name, op)};"
            for name, op in sorted(totals.items())
        ]

    def joined(self, totals: Mapping[str, str]) -> list[str]:
        """What parts add to the kernel's accumulators."""
        lines = [self.join(name, op) for name, op in sorted(totals.items())]
        return ["cvmgen_lock();", *lines, "cvmgen_unlock();"] if lines else []

    def join(self, name: str, op: str) -> str:
        own = identifier(name)
        place = f"*{self.names['call']}->{own}"
        if op in ("max", "min"):
            return f"{place} = cvmgen_{op}_{self.accumulators[name]}({place}, {own});"
        if op in OPERATIONS:
            return f"{place} = {place} {OPERATIONS[op]} {own};"
        return f"{place} {op}= {own};"

    def total_type(self, name: str) -> str:
        return MACHINE_TYPES[self.accumulators[name]]

    def neutral(self, name: str, op: str) -> str:
        return NEUTRAL[f"{op} {self.accumulators[name]}" if op in ("max", "min") else op]


def scope(body: tuple[i.Stmt, ...], loop: i.Loop, around: Mapping[str, Local]) -> dict[str, Local]:
    """The locals that are there where a loop stands; empty where it does not stand in the body."""
    found = dict(around)
    for each in body:
        match each:
            case i.Loop() if each is loop:
                return found
            case i.Let(name=name) | i.Array(name=name):
                found[name] = each
            case i.Loop(body=inner, index=index):
                if within := scope(inner, loop, {**found, index: each}):
                    return within
            case i.If(then=then, otherwise=otherwise):
                if within := scope(then, loop, found) or scope(otherwise, loop, found):
                    return within
            case _:
                pass
    return {}


def declared(node: object) -> str:
    """The name of a local that a statement makes; empty where it makes none."""
    match node:
        case i.Let(name=name) | i.Array(name=name) | i.Loop(index=name):
            return name
        case _:
            return ""


def is_list(node: object) -> bool:
    return isinstance(node, i.Let) and node.type == "list"


def read_names(loop: i.Loop) -> set[str]:
    """The names of locals, tensors and arrays that stand in a loop."""
    found = set(names_in(loop))
    for each in walk(loop):
        match each:
            case i.Load(tensor=name) | i.Given(name=name):
                found.add(name)
            case i.Overflow():
                found.add(OVERFLOW)
            case _:
                pass
    return found


def without_parts(body: tuple[i.Stmt, ...], whole: i.Loop | None = None) -> tuple[i.Stmt, ...]:
    """Statements without the loops in threads, which have functions of their own."""

    def change(each: object) -> object:
        if isinstance(each, i.Loop) and each.parallel and each is not whole:
            return replace(each, body=(), vector="")
        return each

    found: tuple[i.Stmt, ...] = replaced(body, change)
    return found

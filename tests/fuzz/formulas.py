"""Invented formulas across the whole language, as trees that can be shrunk.

`invent(seed)` gives an operator and calls of it. Indices are kept inside their tensors by `mod`,
`clip` or a guard, divisors away from 0, so that most formulas are accepted; values may still be
larger than a kernel can compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from random import Random
from typing import Any

INT, REAL, BOOL = "int", "real", "bool"
INTS = ("int8", "int16", "int32", "int64")
REALS = ("float32", "float64")
RELATIONS = ("<", "<=", "==", "!=", ">", ">=")
NUMBERS = (0, 1, 2, 3, 7, 31, 127, 128, 255, 65536, 2**31 - 1, 2**31)
DIVISORS = (1, 2, 3, 7, 64, 1000, -1, -2, -3, -64)
BOUNDS = (1, 7, 127, 2**15, 2**31 - 1)
REAL_NUMBERS = ("0.0", "1.0", "0.5", "0.1", "3.0", "16777217.0", "inf", "nan", "2")
SIMPLEST = {INT: ("0", "1"), REAL: ("0.5",), BOOL: ("true", "false")}
SHAPES = (
    *(("N",), ("N",), ("N", "M"), ("N", "M"), ("N", "M", "K"), ("n...",), ("n...",)),
    *(("N", "n..."), ("n...", "K"), ("N", "n...", "M"), ("m...",), ("N", "3"), ("K", "M")),
)
DEFINITIONS = """
def clip(x, low, high) = max(low, min(x, high))
def halved(x, by) = (x + by) div 2 if x > by else x - by
def blend(x, y) = x * 0.5 + y
"""


@dataclass(frozen=True)
class Node:
    """A part of a formula: its kind ("" is for what nothing simpler can stand for), its text with
    places for its parts."""

    kind: str
    template: str
    parts: tuple[Node, ...] = ()

    def __str__(self) -> str:
        return self.template.format(*map(str, self.parts)) if self.parts else self.template

    def smaller(self) -> Iterator[Node]:
        """The same with one of its parts simpler, the greatest changes first."""
        if self.kind in SIMPLEST:
            yield from (Node(self.kind, each) for each in SIMPLEST[self.kind] if each != str(self))
            yield from (each for each in self.parts if each.kind == self.kind)
        for at, part in enumerate(self.parts):
            for each in part.smaller():
                yield replace(self, parts=(*self.parts[:at], each, *self.parts[at + 1 :]))


@dataclass(frozen=True)
class Given:
    """An input: its name, its type, the kind of its elements, its shape."""

    name: str
    type: str
    kind: str
    slots: tuple[str, ...]
    optional: bool = False
    several: bool = False

    def declaration(self, empty: bool) -> str:
        each, at = ("each q < Q : ", "[q]") if self.several else ("", "")
        rest = " or empty" * empty + " optional" * self.optional
        return f"input {each}{self.name}{at} : {self.type}[{', '.join(self.slots)}]{rest}"


@dataclass(frozen=True)
class Attribute:
    """An attribute: its declaration, what a formula says of it, what a call gives."""

    name: str
    text: str
    integers: tuple[str, ...]
    conditions: tuple[str, ...]
    values: tuple[Any, ...]
    required: bool = False


ATTRIBUTES = (
    Attribute("a", "a = 1 in [-5, 6)", ("a", "a"), ("a > 0",), (-5, 5, 0, 2)),
    Attribute("b", "b in [1, 5)", ("b",), ("b == 1",), (1, 4, 2), required=True),
    Attribute("c", "c = -3", ("c",), ("c < 0",), (-(2**31), 2**31 - 1, 0, -1)),
    Attribute("f", "f : bool = false", ("int(f)",), ("f", "not f"), (True, False)),
    Attribute(
        "l",
        "l : int list = () in [-4, 5)",
        ("len(l)", "sum[l_i in l](l_i)", "(l[0] if len(l) > 0 else 3)"),
        ("2 in l", "all[l_i in l](l_i > 0)", "len(l) > 1"),
        ((), (-4,), (4, 0, 4), (2, 1)),
    ),
    Attribute(
        "w",
        'w = "left" in {"left", "right", "both"}',
        ('(2 if w == "left" else 5)',),
        ('w == "left"', 'w != "both"'),
        ("left", "right", "both"),
    ),
    Attribute(
        "z",
        'z = 2 in [0, 8) or {"half", "whole"}',
        ('(N if z == "half" else z)',),
        ('z == "whole"',),
        (0, 7, "half", "whole"),
    ),
    Attribute(
        "o",
        "o : int optional in [-2, 100)",
        ("(o if present(o) else 4)",),
        ("present(o)", "(o > 3 if present(o) else false)"),
        (None, -2, 99, 3),
    ),
    Attribute("s", "s (sh, sw) = (1, 2) in [1, 4)", ("sh", "sw"), ("sh < sw",), ((1, 1), (3, 2))),
)


@dataclass(frozen=True)
class Scope:
    """What an expression may name: indices with what they run over, the other names of each kind,
    how often a
    reduction, and an element in an index, may still be nested."""

    indices: tuple[tuple[str, str], ...] = ()
    packs: tuple[tuple[str, str], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    folds: int = 2
    places: int = 2

    def with_index(self, name: str, extent: str) -> Scope:
        return replace(self, indices=((name, extent), *self.indices))

    def with_pack(self, name: str, extents: str) -> Scope:
        return replace(self, packs=((name, extents), *self.packs))

    def within(self) -> Scope:
        """What an index may name: few elements, lest formulas grow without end."""
        return replace(self, folds=min(self.folds, self.places - 1), places=self.places - 1)

    def named(self, kind: str, name: str) -> Scope:
        return replace(self, names=(*self.names, (kind, name)))


@dataclass
class Invented:
    """An operator: its text as a tree, and what its calls are made of."""

    name: str
    root: Node
    inputs: tuple[Given, ...]
    attributes: tuple[Attribute, ...]
    types: tuple[Mapping[str, str], ...]
    empty: bool
    cvm: bool  # whether an output has a precision

    @property
    def text(self) -> str:
        return str(self.root)

    def smaller(self) -> Iterator[Invented]:
        for root in self.root.smaller():
            yield replace(self, root=root)


def shrunk(found: Invented, fails: Callable[[Invented], bool], most: int = 400) -> Invented:
    """A smaller operator that fails too, after at most that many attempts."""
    left = most
    while True:
        for each in found.smaller():
            left -= 1
            if left < 0:
                return found
            if len(each.text) < len(found.text) and fails(each):
                found = each
                break
        else:
            return found


def invent(seed: int) -> Invented:
    return Inventor(Random(seed), f"f{seed}").operator()


@dataclass
class Inventor:
    """Draws one operator."""

    random: Random
    name: str
    used: int = 0
    inputs: tuple[Given, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    empty: bool = False
    lists: list[tuple[str, str]] = field(default_factory=list)  # of places: name, extent
    tables: list[tuple[str, str, str]] = field(default_factory=list)  # kind, name, extent

    # -------------------------------------------------------- the operator

    def operator(self) -> Invented:
        pick, chance = self.random.choice, self.random.random
        self.empty = chance() < 0.15
        rows, types = self.draw_inputs()
        self.attributes = tuple(self.random.sample(ATTRIBUTES, pick((0, 1, 1, 2, 3))))
        if "N" not in self.extents:
            self.attributes = tuple(each for each in self.attributes if each.name != "z")
        head = [f"operator {self.name} {{{{", '  "Invented."', *types]
        head += [f"  {each.declaration(self.empty)}" for each in self.inputs]
        head += [
            f"  attr {each.text}".replace("{", "{{").replace("}", "}}") for each in self.attributes
        ]
        parts: list[Node] = [Node("", "\n".join(head) + "\n", (Node("", ""),))]
        for _ in range(pick((0, 0, 1, 1, 2))):
            parts.append(self.let())
        count = pick((1, 1, 1, 1, 2, 3))
        outputs = [self.output(f"Y{at or ''}") for at in range(count)]
        parts += [node for node, _ in outputs]
        body = Node("", "{}" * len(parts) + "}}\n", tuple(parts))
        cvm = any(precise for _, precise in outputs)
        return Invented(self.name, body, self.inputs, self.attributes, rows, self.empty, cvm)

    @property
    def extents(self) -> list[str]:
        """The extents that some input has for sure."""
        return [
            slot
            for each in self.inputs
            if not each.optional and not each.several
            for slot in each.slots
        ]

    def draw_inputs(self) -> tuple[tuple[Mapping[str, str], ...], list[str]]:
        """The inputs; for each choice of types that of every input, and their declarations."""
        pick, chance = self.random.choice, self.random.random
        found: list[Given] = []
        columns: list[tuple[str, ...]] = []
        for at, name in enumerate("XWB"[: pick((1, 1, 2, 2, 3))]):
            kind = pick((INT, INT, INT, INT, REAL, BOOL))
            kinds = {INT: ("cvm", "cvm", *INTS), REAL: REALS, BOOL: ("bool",)}[kind]
            slots = pick(SHAPES if not found else (*SHAPES, *[each.slots for each in found] * 6))
            several = at > 0 and chance() < 0.1
            bound = {slot for each in found if not each.optional for slot in each.slots}
            optional = not several and set(slots) <= bound and chance() < 0.4
            slots = ("v[q]...",) if several else slots
            options: tuple[str, ...] = (pick(kinds),)
            if options[0] != "cvm" and kind != BOOL and not optional and chance() < 0.3:
                options = tuple(self.random.sample(INTS if kind == INT else REALS, 2))
            shown = options[0] if len(options) == 1 else f"T{name}"
            found.append(Given(name, shown, kind, slots, optional, several))
            columns.append(options)
        self.inputs = tuple(found)
        free = [at for at, options in enumerate(columns) if len(options) > 1]
        types = [f"  type {found[at].type} in {', '.join(columns[at])}" for at in free]
        rows: list[Mapping[str, str]] = [{}]
        for given, options in zip(found, columns, strict=True):
            rows = [{**row, given.name: each} for row in rows for each in options]
        return tuple(rows), types

    def let(self) -> Node:
        """A named value, table or list of the operator."""
        name = f"L{self.new()}"
        extent = self.random.choice([each for each in self.extents if "..." not in each] or ["3"])
        match self.random.choice(("number", "table", "table", "select", "sort", "set")):
            case "number":
                value = self.value(INT, 2, Scope(folds=1))
                self.tables.append((INT, name, ""))
                return Node("", f"  let {name} = {{}}\n", (value,))
            case "table":
                kind = self.random.choice((INT, INT, REAL, BOOL))
                value = self.value(kind, 2, Scope().with_index("t", extent))
                self.tables.append((kind, name, extent))
                return Node("", f"  let {name}[t] = {{}}\n", (value,))
            case "select":
                test = self.value(BOOL, 1, Scope(folds=1).with_index("t", extent))
                self.lists.append((name, extent))
                return Node("", f"  let {name} = select[t < {extent}]({{}})\n", (test,))
            case "sort":
                key = self.value(INT, 1, Scope(folds=0).with_index("t", extent))
                self.lists.append((name, extent))
                return Node("", f"  let {name} = sort[t < {extent}] by ({{}})\n", (key,))
            case _:
                test = self.value(BOOL, 1, Scope(folds=0).with_index("t", extent))
                self.lists.append((name, extent))
                return Node("", f"  let {name} = {{{{t for t < {extent} if {{}}}}}}\n", (test,))

    def output(self, name: str) -> tuple[Node, bool]:
        """An output and its equation; whether it has a precision."""
        pick = self.random.choice
        shape, target, forall, scope = self.shape()
        kind = pick((INT, INT, INT, INT, REAL, BOOL))
        type_name = {INT: pick(("cvm", "cvm", *INTS)), REAL: pick(REALS), BOOL: "bool"}[kind]
        own = [each.type for each in self.inputs if each.kind == kind and each.type != "cvm"]
        if own and self.random.random() < 0.3:
            type_name = pick(own)
        empty = " or empty" * self.empty
        with_where = kind == INT and self.random.random() < 0.25
        v, h = f"v{self.new()}", f"h{self.new()}"
        own_scope = scope.named(INT, v).named(INT, f"{h}(3)") if with_where else scope
        value = self.value(kind, pick((1, 2, 3, 3, 4)), own_scope)
        if with_where:  # what nothing uses is refused
            value = Node("", f"{{}} + {v} - {h}(2)", (value,))
        if kind == INT:
            value = self.stored(value, type_name)
        rule = " precision 32" * (type_name == "cvm" and self.random.random() < 0.5)
        text = f"  output {name} : {type_name}[{shape}]{empty}{rule}\n"
        text += f"  {name}[{target}] = {{}}{forall}"
        parts: tuple[Node, ...] = (value,)
        if with_where:
            text += f" where {v} = {{}}, {h}(x) = {{}}"
            inner = replace(scope, folds=0).named(INT, "x")
            parts = (value, self.value(INT, 2, scope), self.value(INT, 1, inner))
        return Node("", text + "\n", parts), type_name == "cvm"

    def stored(self, value: Node, type_name: str) -> Node:
        """An integer that most likely fits its output."""
        if self.random.random() < 0.25:
            return value
        if type_name == "cvm":
            bound = self.random.choice(BOUNDS)
            return Node(INT, f"clip({{}}, -{bound}, {bound})", (value,))
        return Node(INT, f"clip({{}}, least({type_name}), greatest({type_name}))", (value,))

    def shape(self) -> tuple[str, str, str, Scope]:
        """The shape of an output, the place that an equation writes, what it runs over, and what
        its right side may name."""
        pick = self.random.choice
        slots = pick([each.slots for each in self.inputs if not each.optional and not each.several])
        names = self.indices(slots)
        scope = Scope()
        for slot, name in zip(slots, names, strict=True):
            pack = slot.endswith("...")
            scope = scope.with_pack(name[:-3], slot[:-3]) if pack else scope.with_index(name, slot)
        over = ", ".join(f"{name} < {slot}" for name, slot in zip(names, slots, strict=True))
        plain = ", ".join(names)
        single, packs = [s for s in slots if "..." not in s], [s for s in slots if "..." in s]
        ways = ["same"] * 5 + ["one"] + ["flat"] * (len(slots) == 1 and bool(packs))
        ways += ["turned", "spread", "more", "first"] if single else []
        match pick(ways):
            case "one":
                return "1", pick(("0", "o1")), "", Scope()
            case "flat":
                (n,), (d,) = packs, names
                return f"size({n[:-3]})", f"flatten_index({d}, {n})", f" forall {over}", scope
            case "turned":
                turned = [
                    n if n.endswith("...") else f"{s} - 1 - {n}"
                    for s, n in zip(slots, names, strict=True)
                ]
                return ", ".join(slots), ", ".join(turned), f" forall {over}", scope
            case "spread":
                extent, index = single[0], names[slots.index(single[0])]
                place, also = f"{index} + {extent}*g", scope.with_index("g", "3")
                also = replace(
                    also, indices=tuple(e for e in also.indices if e[0] in (index, "g")), packs=()
                )
                return f"{extent}*3", place, f" forall {index} < {extent}, g < 3", also
            case "more":
                return f"{', '.join(slots)}, 2", f"{plain}, g", "", scope.with_index("g", "2")
            case "first":
                index = names[slots.index(single[0])]
                only = replace(scope, indices=((index, single[0]),), packs=())
                return single[0], index, "", only
            case _:
                return ", ".join(slots), plain, "", scope

    def indices(self, slots: Sequence[str]) -> list[str]:
        return [f"d{self.new()}..." if each.endswith("...") else f"i{self.new()}" for each in slots]

    def new(self) -> int:
        self.used += 1
        return self.used

    # -------------------------------------------------------- values

    def value(self, kind: str, depth: int, scope: Scope) -> Node:
        if depth <= 0 or scope.places <= 0 or self.random.random() < 0.1:
            return self.leaf(kind, scope)
        return {INT: self.integer, REAL: self.real, BOOL: self.condition}[kind](depth - 1, scope)

    def leaf(self, kind: str, scope: Scope) -> Node:
        pick = self.random.choice
        if scope.places > 0 and self.random.random() < 0.6:
            found = self.element(kind, scope)
            if found is not None:
                return found
        named = [name for own, name in scope.names if own == kind]
        match kind:
            case "int":
                texts = [name for name, _ in scope.indices] * 2 + named * 3
                texts += [
                    f"{d}[{pick(('0', f'len({n}) - 1'))}]" for d, n in scope.packs if not self.empty
                ]
                texts += [each for each in self.extents if each.isidentifier()]
                texts += [
                    f"{f}({n[:-3]})" for n in self.extents if "..." in n for f in ("size", "len")
                ]
                texts += [each for item in self.attributes for each in item.integers]
                texts += [f"count({name})" for name, _ in self.lists]
                return Node(INT, pick([*texts, str(pick(NUMBERS)), str(pick(NUMBERS))]))
            case "real":
                return Node(REAL, pick([pick(REAL_NUMBERS[:-1]), *named]))
            case _:
                texts = [each for item in self.attributes for each in item.conditions]
                texts += [f"present({each.name})" for each in self.inputs if each.optional]
                texts += [f"{name} == {pick(('0', '1'))}" for name, _ in scope.indices]
                return Node(BOOL, pick([*texts, "true", "false"]))

    def element(self, kind: str, scope: Scope) -> Node | None:
        """An element of an input, or an entry of a table, of that kind."""
        given = [each for each in self.inputs if each.kind == kind]
        tables = [each for each in self.tables if each[0] == kind]
        if not given and not tables:
            return None
        if tables and (not given or self.random.random() < 0.3):
            _, name, extent = self.random.choice(tables)
            if not extent:
                return Node(kind, name)
            place, guards = self.place(extent, 1, scope)
            return self.guarded(Node(kind, f"{name}[{{}}]", (place,)), guards, kind)
        item = self.random.choice(given)
        if item.several:
            return self.of_several(item, scope)
        places, guards = [], [f"present({item.name})"] * item.optional
        for slot in item.slots:
            place, more = self.place(slot, 1, scope)
            places.append(place)
            guards += more
        slots = ", ".join(["{}"] * len(item.slots))
        return self.guarded(Node(kind, f"{item.name}[{slots}]", tuple(places)), guards, kind)

    def of_several(self, item: Given, scope: Scope) -> Node:
        """Something of all the tensors of an input."""
        q = f"q{self.new()}"
        function = "any" if item.kind == BOOL else self.random.choice(("sum", "max"))
        place = f"unflatten(({{}}) mod size(v[{q}]), v[{q}]...)..."
        inner = replace(scope.within(), folds=0).with_index(q, "Q")
        node = Node(
            item.kind,
            f"{function}[{q} < Q]({item.name}[{q}][{place}])",
            (self.value(INT, 1, inner),),
        )
        return self.guarded(node, [f"all[{q} < Q](size(v[{q}]) > 0)"] * self.empty, item.kind)

    def guarded(self, node: Node, guards: Sequence[str], kind: str) -> Node:
        if not guards:
            return node
        other = self.random.choice(
            {INT: ("0", "1", "-1"), REAL: ("0.0", "0.5"), BOOL: ("false", "true")}[kind]
        )
        test = " and ".join(dict.fromkeys(guards))
        return Node(kind, f"({{}} if {test} else {other})", (node,))

    def place(self, slot: str, depth: int, scope: Scope) -> tuple[Node, list[str]]:
        """An index or multi-index for a dimension, and what must hold for it."""
        pick = self.random.choice
        if slot.endswith("..."):
            return self.places(slot[:-3], depth, scope)
        own = [name for name, extent in scope.indices if extent == slot]
        if own and self.random.random() < 0.75:
            return Node("", pick(own)), []
        there = [f"{slot} > 0"] if self.empty else []
        scope = scope.within()
        match pick(("mod", "mod", "clip", "window", "turned", "list", "known")):
            case "clip":
                return Node(
                    "", f"clip({{}}, 0, {slot} - 1)", (self.value(INT, depth, scope),)
                ), there
            case "window" if scope.indices:
                step, shift = pick(("", "2*")), pick((" + 1", " - 1", " - 2", ""))
                text = f"{step}{pick(scope.indices)[0]}{shift}"
                text += f" + {pick(scope.indices)[0]}" * (self.random.random() < 0.5)
                return Node("", text), [f"0 <= {text} < {slot}"]
            case "turned" if own:
                return Node("", f"{slot} - 1 - {pick(own)}"), []
            case "list" if scope.indices and any(extent == slot for _, extent in self.lists):
                name = pick([name for name, extent in self.lists if extent == slot])
                at = pick(scope.indices)[0]
                return Node("", f"{name}[{at}]"), [f"{at} < count({name})"]
            case "known":
                return Node("", pick(("0", f"{slot} - 1"))), there
            case _:
                return Node("", f"({{}}) mod {slot}", (self.value(INT, depth, scope),)), there

    def places(self, pack: str, depth: int, scope: Scope) -> tuple[Node, list[str]]:
        own = [name for name, extents in scope.packs if extents == pack]
        if own and self.random.random() < 0.75:
            return Node("", f"{self.random.choice(own)}..."), []
        there = [f"size({pack}) > 0"] if self.empty else []
        scope = scope.within()
        u = self.new()
        match self.random.choice(("unflatten", "zeros", "each", "turned")):
            case "zeros":
                return Node("", f"(0 for z{u} < len({pack}))..."), there
            case "each":
                value = self.value(INT, depth - 1, scope)
                return Node(
                    "", f"(({{}} + z{u}) mod {pack}[z{u}] for z{u} < len({pack}))...", (value,)
                ), there
            case "turned" if own:
                d = self.random.choice(own)
                return Node("", f"({pack}[z{u}] - 1 - {d}[z{u}] for z{u} < len({pack}))..."), []
            case _:
                value = self.value(INT, depth, scope)
                return Node(
                    "", f"unflatten(({{}}) mod size({pack}), {pack}...)...", (value,)
                ), there

    # -------------------------------------------------------- integers, real numbers, conditions

    def integer(self, depth: int, scope: Scope) -> Node:
        pick = self.random.choice

        def part(less: int = 0) -> Node:
            return self.value(INT, depth - less, scope)

        ways = ("+", "-", "*", "div", "by", "2^", "shift", "call", "unary", "if", "fold", "fold")
        match pick((*ways, "log", "set", "int", "bool", "def", "product")):
            case "+" | "-" as sign:
                return Node(INT, f"({{}} {sign} {{}})", (part(), part()))
            case "*":
                return Node(INT, "({} * {})", (self.leaf(INT, scope), self.value(INT, 1, scope)))
            case "div":
                return Node(
                    INT, f"({{}} {pick(('div', 'mod', 'tdiv'))} {pick(DIVISORS)})", (part(),)
                )
            case "by":
                sign = pick(("", "-"))
                template = f"({{}} {pick(('div', 'mod', 'tdiv'))} {sign}(abs({{}}) + 1))"
                return Node(INT, template, (part(), part(1)))
            case "2^" if self.random.random() < 0.3:
                template = pick(("clip({}, -9, 9)^3", "(clip({}, -99, 99)^2)", "({}^2)"))
                return Node(INT, template, (self.leaf(INT, scope),))
            case "2^":
                return Node(INT, f"2^clip({{}}, 0, {pick((3, 20, 31))})", (part(),))
            case "shift":
                return Node(
                    INT, f"({{}} div 2^clip({{}}, 0, {pick((3, 20, 31))}))", (part(), part(1))
                )
            case "call":
                return Node(INT, f"{pick(('min', 'max'))}({{}}, {{}})", (part(), part()))
            case "unary":
                bound = pick(BOUNDS)
                template = pick(
                    ("(-{})", "abs({})", f"clip({{}}, -{bound}, {bound})", "ceildiv({}, 3)")
                )
                return Node(INT, template, (part(),))
            case "if":
                return self.choice(INT, depth, scope)
            case "log":
                return Node(INT, f"{pick(('floor', 'ceil'))}(log2(abs({{}}) + 1))", (part(),))
            case "int":
                return Node(INT, "int({})", (self.value(REAL, depth, scope),))
            case "bool":
                return Node(INT, "int({})", (self.value(BOOL, depth, scope),))
            case "def":
                return Node(INT, "halved({}, {})", (part(), part(1)))
            case "set" if scope.folds > 0:
                return self.collection(depth, scope)
            case "product" if scope.folds > 0:
                over, inner = self.over(scope, nonempty=False)
                pair = self.element(INT, inner), self.element(INT, inner)
                if None not in pair:
                    return Node(INT, f"sum[{over}]({{}} * {{}})", pair)  # type: ignore[arg-type]
                return part()
            case _:
                return self.fold(INT, depth, scope, ("sum", "sum", "max", "min", "count", "prod"))

    def real(self, depth: int, scope: Scope) -> Node:
        pick = self.random.choice

        def part() -> Node:
            return self.value(REAL, depth, scope)

        match pick(("+", "*", "over", "^", "call", "unary", "if", "fold", "int", "bool", "def")):
            case "+":
                return Node(REAL, f"({{}} {pick('+-')} {{}})", (part(), part()))
            case "*" | "over" as sign:
                return Node(REAL, f"({{}} {sign} {{}})", (part(), part()))
            case "^":
                return Node(REAL, f"({{}} ^ {pick(('2', '3', '0.5', '(-1.0)'))})", (part(),))
            case "call":
                return Node(REAL, f"{pick(('min', 'max'))}({{}}, {{}})", (part(), part()))
            case "unary":
                names = ("abs", "floor", "ceil", "trunc", "sqrt", "float32", "-")
                return Node(REAL, f"{pick(names)}({{}})".replace("-({})", "(-{})"), (part(),))
            case "if":
                return self.choice(REAL, depth, scope)
            case "int":
                return Node(REAL, "real({})", (self.value(INT, depth, scope),))
            case "bool":
                return Node(REAL, "real({})", (self.value(BOOL, depth, scope),))
            case "def":
                return Node(REAL, "blend({}, {})", (part(), part()))
            case _:
                return self.fold(REAL, depth, scope, ("sum", "sum", "max", "min", "prod"))

    def condition(self, depth: int, scope: Scope) -> Node:
        pick = self.random.choice
        kind = pick((INT, INT, REAL)) if any(each.kind == REAL for each in self.inputs) else INT
        match pick(("<", "<", "<", "chain", "logic", "not", "isnan", "if", "fold", "in")):
            case "logic":
                parts = tuple(self.value(BOOL, depth, scope) for _ in range(2))
                return Node(BOOL, f"({{}} {pick(('and', 'or'))} {{}})", parts)
            case "chain":
                parts = tuple(self.value(INT, depth - 1, scope) for _ in range(3))
                return Node(BOOL, "({} <= {} < {})", parts)
            case "not":
                return Node(BOOL, "(not {})", (self.value(BOOL, depth, scope),))
            case "isnan" if kind == REAL:
                return Node(BOOL, "isnan({})", (self.value(REAL, depth, scope),))
            case "if":
                return self.choice(BOOL, depth, scope)
            case "fold" if scope.folds > 0:
                return self.fold(BOOL, depth, scope, ("any", "all"))
            case "in" if self.lists:
                return Node(BOOL, f"({{}} in {pick(self.lists)[0]})", (self.value(INT, 1, scope),))
            case _:
                left, right = (self.value(kind, depth, scope) for _ in range(2))
                return Node(BOOL, f"({{}} {pick(RELATIONS)} {{}})", (left, right))

    def choice(self, kind: str, depth: int, scope: Scope) -> Node:
        then, otherwise = (self.value(kind, depth, scope) for _ in range(2))
        test = self.value(BOOL, depth, scope)
        if self.random.random() < 0.15:
            test = Node(BOOL, self.random.choice(("true", "false")))
        return Node(kind, "({} if {} else {})", (then, test, otherwise))

    # -------------------------------------------------------- reductions

    def over(self, scope: Scope, nonempty: bool) -> tuple[str, Scope]:
        """A range for a reduction, and what may be named inside."""
        pick, j = self.random.choice, f"j{self.new()}"
        inner = replace(scope, folds=scope.folds - 1)
        slots = [*self.extents, "3"]
        slot = pick(slots)
        if slot.endswith("..."):
            return f"{j}... < {slot}", inner.with_pack(j, slot[:-3])
        ways = ["whole"] * 6
        if not nonempty:
            ways += ["before", "from", "near", "filter", "list", "two", "lists", "attribute"]
        match pick(ways):
            case "before" if scope.indices:
                return f"{j} < {pick(scope.indices)[0]} + 1", inner.with_index(j, "?")
            case "from":
                return f"1 <= {j} < {slot}", inner.with_index(j, slot)
            case "near" if scope.indices:
                i = pick(scope.indices)[0]
                return f"{i} <= {j} < {i} + {pick((1, 2))}", inner.with_index(j, "?")
            case "filter":
                return f"{j} < {slot} if {j} mod 2 == {pick((0, 1))}", inner.with_index(j, slot)
            case "list":
                return f"{j} in (0, 2, {slot} + 1)", inner.with_index(j, "?")
            case "two":
                other, k = pick([e for e in slots if "..." not in e]), f"j{self.new()}"
                return f"{j} < {slot}, {k} < {other}", inner.with_index(j, slot).with_index(
                    k, other
                )
            case "lists" if self.lists:
                name, extent = pick(self.lists)
                return f"{j} in {name}", inner.with_index(j, extent)
            case "attribute" if any(each.name == "l" for each in self.attributes):
                return f"{j} in l", inner.with_index(j, "?")
            case _:
                return f"{j} < {slot}", inner.with_index(j, slot)

    def fold(self, kind: str, depth: int, scope: Scope, functions: Sequence[str]) -> Node:
        if scope.folds <= 0:
            return self.leaf(kind, scope)
        function = self.random.choice(functions)
        extreme = function in ("max", "min")
        over, inner = self.over(scope, nonempty=extreme)
        if function == "count":
            return Node(INT, f"count[{over}]({{}})", (self.value(BOOL, depth, inner),))
        if function == "prod" and kind == INT:
            u = f"j{self.new()}"
            value = self.value(INT, 1, replace(scope, folds=0).with_index(u, "3"))
            return Node(INT, f"prod[{u} < 3](clip({{}}, -9, 9))", (value,))
        element = self.value(kind, depth, inner)
        test: tuple[Node, ...] = ()
        if not extreme and " if " not in over and self.random.random() < 0.25:
            test, over = (self.value(BOOL, 1, inner),), f"{over} if {{}}"
        found = Node(kind, f"{function}[{over}]({{}})", (*test, element))
        if extreme and self.empty:
            sizes = [n[:-3] for n in self.extents if "..." in n]
            there = [f"{n} > 0" for n in self.extents if n.isidentifier()]
            return self.guarded(found, [*there, *(f"size({n}) > 0" for n in sizes)], kind)
        return found

    def collection(self, depth: int, scope: Scope) -> Node:
        """A number about a set or a list that is made in the place."""
        pick, s = self.random.choice, f"s{self.new()}"
        over, inner = self.over(replace(scope, folds=1), nonempty=False)
        few = Node(
            "", f"{{{{{{}} mod {pick((2, 5, -3, 13))} for {over}}}}}", (self.value(INT, 1, inner),)
        )
        match pick(("in", "in", "count", "sum", "list")):
            case "in":
                return Node(INT, "(1 if {} in {} else 0)", (self.value(INT, 1, scope), few))
            case "count":
                return Node(INT, "count({})", (few,))
            case "sum":
                return Node(INT, f"sum[{s} in {{}}](clip({s}, -1000, 1000))", (few,))
            case _:
                value = self.value(INT, depth - 1, replace(scope, folds=0))
                return Node(
                    INT, f"sum[{s} in ({{}} + q{s} for q{s} < 4)](clip({s}, -1000, 1000))", (value,)
                )


# ---------------------------------------------------------------- calls


@dataclass(frozen=True)
class Drawn:
    """A call: for each input its shape (a list of them, or None), its type and its numbers."""

    shapes: tuple[Any, ...]
    types: tuple[str, ...]
    values: tuple[Any, ...]
    attributes: Mapping[str, Any]


def draw(invented: Invented, random: Random) -> Drawn:
    """A call of small extents; numbers and attributes are often the ends of what is declared."""
    low = 0 if invented.empty and random.random() < 0.4 else 1
    extents = {name: random.choice((low, 1, 2, 3, 4, 5)) for name in "NMK"} | {"3": 3}
    packs = {
        name: tuple(random.choice((low, 1, 2, 3)) for _ in range(random.choice((low, 1, 1, 2, 3))))
        for name in "nm"
    }
    row = random.choice(invented.types)
    shapes, values = [], []
    types = tuple(row[each.name] for each in invented.inputs)
    for item, type_name in zip(invented.inputs, types, strict=True):
        shape: list[int] = []
        for slot in () if item.several else item.slots:
            shape += packs[slot[:-3]] if slot.endswith("...") else [extents[slot]]
        if item.optional and random.random() < 0.4:
            shapes.append(None)
            values.append(None)
        elif item.several:
            rank = random.choice((1, 2))
            several = [
                tuple(random.choice((low, 1, 2, 3)) for _ in range(rank))
                for _ in range(random.choice((1, 2, 3)))
            ]
            shapes.append(several)
            values.append([numbers(random, type_name, prod(each)) for each in several])
        else:
            shapes.append(tuple(shape))
            values.append(numbers(random, type_name, prod(shape)))
    given = {
        each.name: random.choice(each.values)
        for each in invented.attributes
        if each.required or random.random() < 0.7
    }
    return Drawn(tuple(shapes), types, tuple(values), given)


def numbers(random: Random, type_name: str, count: int) -> list[Any]:
    """Elements of a type: its ends, those of a precision, small ones, numbers that are none."""
    if type_name == "bool":
        return [random.random() < 0.5 for _ in range(count)]
    if type_name in REALS:
        odd = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 0.1, 1e30, -2.5, 3.0)
        return [
            random.choice(odd) if random.random() < 0.5 else float(random.randint(-9, 9))
            for _ in range(count)
        ]
    bits = random.choice((1, 2, 4, 8, 16, 32)) if type_name == "cvm" else int(type_name[3:])
    high = (1 << (bits - 1)) - 1
    low = -high if type_name == "cvm" else -high - 1
    ends = (low, high, 0, min(1, high))
    wide = random.random() < 0.5
    return [
        random.choice(ends)
        if random.random() < 0.4
        else random.randint(*((low, high) if wide else (max(low, -9), min(high, 9))))
        for _ in range(count)
    ]

"""Invented formulas across the whole language, as trees that can be shrunk.

`invent(seed)` gives an operator and calls of it. Indices are kept inside their tensors by `mod`,
`clip` or a guard, divisors away from 0, so that most formulas are accepted; values may still be
larger than a kernel can compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from tests.fuzz.formula_trees import (
    ATTRIBUTES,
    BOOL,
    INT,
    INTS,
    REAL,
    REALS,
    Given,
    Invented,
    Node,
    Scope,
)
from tests.fuzz.formula_values import BOUNDS, Values

SHAPES = (
    *(("N",), ("N",), ("N", "M"), ("N", "M"), ("N", "M", "K"), ("n...",), ("n...",)),
    *(("N", "n..."), ("n...", "K"), ("N", "n...", "M"), ("m...",), ("N", "3"), ("K", "M")),
)
DEFINITIONS = """
def clip(x, low, high) = max(low, min(x, high))
def halved(x, by) = (x + by) div 2 if x > by else x - by
def blend(x, y) = x * 0.5 + y
def cut(x, low, high) = max(low, min(x, high))
def whole(x, y, low, high) = cut(int(x * y) + low, low, high - 1) + high
"""


def invent(seed: int) -> Invented:
    return Inventor(Random(seed), f"f{seed}").operator()


class Inventor(Values):
    """Draws one operator."""

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

"""The values of invented formulas: elements, places that stay inside, arithmetic, reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from cvmgen.functions import ELEMENTARY
from tests.fuzz.formula_trees import BOOL, INT, REAL, Attribute, Given, Node, Scope

RELATIONS = ("<", "<=", "==", "!=", ">", ">=")
NUMBERS = (0, 1, 2, 3, 7, 31, 127, 128, 255, 65536, 2**31 - 1, 2**31)
DIVISORS = (1, 2, 3, 7, 64, 1000, -1, -2, -3, -64)
BOUNDS = (1, 7, 127, 2**15, 2**31 - 1)
REAL_NUMBERS = ("0.0", "1.0", "0.5", "0.1", "3.0", "16777217.0", "inf", "nan", "2")


@dataclass
class Values:
    """Draws values of the operator that has these inputs and attributes."""

    random: Random
    name: str
    used: int = 0
    inputs: tuple[Given, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    empty: bool = False
    lists: list[tuple[str, str]] = field(default_factory=list)  # of places: name, extent
    tables: list[tuple[str, str, str]] = field(default_factory=list)  # kind, name, extent

    @property
    def extents(self) -> list[str]:
        """The extents that some input has for sure."""
        return [
            slot
            for each in self.inputs
            if not each.optional and not each.several
            for slot in each.slots
        ]

    def new(self) -> int:
        self.used += 1
        return self.used

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
                name = pick(("min", "max", "bitand", "bitor", "bitxor"))
                return Node(INT, f"{name}({{}}, {{}})", (part(), part()))
            case "unary":
                bound = pick(BOUNDS)
                template = pick(
                    (
                        "(-{})",
                        "abs({})",
                        f"clip({{}}, -{bound}, {bound})",
                        "ceildiv({}, 3)",
                        "bitnot({})",
                        "isqrt(abs({}))",
                    )
                )
                return Node(INT, template, (part(),))
            case "if":
                return self.choice(INT, depth, scope)
            case "log":
                return Node(INT, f"{pick(('floor', 'ceil'))}(log2(abs({{}}) + 1))", (part(),))
            case "int":
                bound = pick(BOUNDS)
                cut = f"max(-{bound}, min({{}}, {bound}.5))"
                template = pick(("int({})", f"int({cut})", f"int(round({cut}))"))
                return Node(INT, template, (self.value(REAL, depth, scope),))
            case "bool":
                return Node(INT, "int({})", (self.value(BOOL, depth, scope),))
            case "def" if any(each.kind == REAL for each in self.inputs):
                ends = f"{pick(REAL_NUMBERS)}, -{pick(BOUNDS)}, {pick(BOUNDS)}"
                return Node(INT, f"whole({{}}, {ends})", (self.value(REAL, depth, scope),))
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
                names = ("abs", "floor", "ceil", "trunc", "sqrt", "float32", "-", *ELEMENTARY)
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

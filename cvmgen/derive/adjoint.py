"""The adjoint of an operator with respect to one of its inputs, as the text of an operator.

`<A x, g> == <x, A* g>`: where Y is a sum of products of elements of X with other values, the
gradient of Y gives that of X by a sum of the same products. What does not read X, such as a
bias, does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from cvmgen.derive.gradient import Gradient, length_of
from cvmgen.derive.substitution import free_names, fresh, is_number
from cvmgen.derive.terms import Linear
from cvmgen.derive.types import linear_in, reduced, telling
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.printing import Printer, macros_of, or_empty, type_lines


def adjoint(operator: f.Operator, wrt: str, name: str = "") -> str:
    """The adjoint with respect to the input `wrt`, under `name` or one made of both.

    SpecError at the place of the formula that prevents it.
    """
    (item,) = (each for each in operator.inputs if each.name == wrt)
    if item.variadic:
        message = f"'{wrt}' are several inputs; an adjoint is made for a single one"
        raise SpecError(item.span, message)
    outputs = [each for each in f.all_items(operator.items) if isinstance(each, f.Output)]
    for output in outputs:
        if output.name != outputs[0].name:
            message = "an operator of several outputs has no adjoint of its own"
            raise SpecError(output.span, message, "derive from an operator of one output")
    linear, rows = linear_in(operator, item, outputs[0])
    name = name or f"{operator.name}_adjoint_{wrt}"
    return Adjoint(operator, item, outputs[0], name, linear, rows).text()


@dataclass(slots=True)
class Adjoint:
    """Puts the adjoint together: what the formula needs of the operator, and its equations."""

    operator: f.Operator
    wrt: f.Input
    output: f.Output  # of operators whose cases have their own, the first
    name: str
    linear: Linear
    rows: tuple[int, ...]  # the choices of types for which it is linear
    declared: frozenset[str] = field(init=False)
    names: tuple[str, str] = field(init=False)  # dX, dY
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        declared = set(declared_names(self.operator.items))
        gradients = []
        for name in (self.wrt.name, self.output.name):
            gradients.append(fresh(f"d{name}", declared))
            declared.add(gradients[-1])
        self.names = (gradients[0], gradients[1])
        self.declared = frozenset(declared)

    def text(self) -> str:
        shape = fresh("y", self.declared) if self.in_cases or self.in_parts else ""
        equations = self.equations(n.Ref(shape, "extent", self.output.span) if shape else None)
        needs = Needs(self, equations, shape)
        kept = needs.kept()
        lines = [f"operator {self.name} {{", f'  "{self.doc}"', *self.type_lines(needs)]
        lines += self.lines(kept, equations, shape, needs.telling)
        return "\n".join([*lines, "}"]) + "\n"

    @property
    def doc(self) -> str:
        wrt, output = self.wrt.name, self.output.name
        about = f"Adjoint of {self.operator.name} with respect to {wrt}"
        return f"{about}: the gradient of {output}, carried back to {wrt}."

    def type_lines(self, needs: Needs) -> Iterator[str]:
        if len(self.rows) < len(self.operator.types.rows):
            yield f"  # Of the types of {self.operator.name} those for which it is linear."
        yield from (f"  {line}" for line in type_lines(needs.types))

    @property
    def in_cases(self) -> bool:
        """Whether the shape of the output differs by cases."""
        return not any(isinstance(each, f.Output) for each in self.operator.items)

    @property
    def in_parts(self) -> bool:
        """Whether the shape of the output joins lists: an input's has one at most."""
        slots = self.output.slots
        packs = [each for each in slots if each.pack]
        return len(packs) > 1 or (
            bool(packs) and (len(slots) > 1 or isinstance(packs[0].value, n.Part))
        )

    # -------------------------------------------------------- equations

    def equations(self, shape: n.Expr | None) -> dict[int, f.Equation]:
        """By case (or 0 without cases) the equation of the adjoint."""
        common = [each for each in self.operator.items if isinstance(each, f.Equation)]
        found: dict[int, f.Equation | None] = {}
        for at, case in enumerate(self.operator.cases or (None,)):
            items = (*self.operator.items, *(() if case is None else case.items))
            own = [each for each in items if isinstance(each, f.Equation)]
            output = next((each for each in items if isinstance(each, f.Output)), self.output)
            declared = self.declared | ({shape.name} if isinstance(shape, n.Ref) else set())
            gradient = Gradient(self.linear, self.wrt, output, items, self.names, declared, shape)
            found[at] = gradient.equation(own)
            self.used |= gradient.used
        if not any(found.values()):
            where = common[0] if common else self.operator
            message = f"the formula does not read '{self.wrt.name}'"
            raise SpecError(where.span, message, "its adjoint is 0")
        return {at: each or self.zero() for at, each in found.items()}

    def zero(self) -> f.Equation:
        """`dX = 0`, of a case that does not read the input."""
        span = self.wrt.span
        taken = set(self.declared)
        slots, ranges = [], []
        for extent in self.wrt.extents:
            name = fresh("d" if extent.pack else "i", taken)
            taken.add(name)
            role = "pack" if extent.pack else "index"
            slots.append(n.Slot(n.Ref(name, role, span), extent.pack, span))
            ranges.append(n.IndexRange(name, n.Number(0, span), extent.value, span))
        domain = n.Binders(tuple(ranges), None, None, span)
        value = n.Number(0, span)
        return f.Equation(self.names[0], tuple(slots), domain, True, value, (), span)

    # -------------------------------------------------------- the block

    def lines(
        self,
        kept: Sequence[f.Item],
        equations: dict[int, f.Equation],
        shape: str,
        telling: Collection[str],
    ) -> Iterator[str]:
        printer = Printer(self.operator.items)
        gradient = self.gradient_input(shape)
        read = tensors_in(tuple(equations.values()))
        cases = [each for each in kept if isinstance(each, f.Case)]
        for item in kept:
            if isinstance(item, f.Case):
                continue
            if isinstance(item, f.Input) and item.name not in read:
                what = "type" if item.name in telling else "shape"
                yield f"  # Of {item.name} only the {what} counts."
            yield from self.item_lines(item, printer, gradient, "  ")
        dtype = self.wrt.dtype
        slots = ", ".join(printer.slot(each.value, each.pack) for each in self.wrt.extents)
        yield f"  output {self.names[0]} : {dtype}[{slots}]{or_empty(self.wrt)}"
        if not cases:
            yield from printer.block((equations[0],), "  ")
        for at, case in enumerate(cases):
            yield f"  case {printer.text(case.condition)} {{"
            for each in self.needed_in(case, equations[at]):
                yield from self.item_lines(each, printer, gradient, "    ")
            if shape:
                (output,) = (each for each in case.items if isinstance(each, f.Output))
                yield from (f"    {line}" for line in self.shape_rule(output, shape))
            yield from printer.block((equations[at],), "    ")
            yield "  }"

    def item_lines(
        self, item: f.Item, printer: Printer, gradient: str, margin: str
    ) -> Iterator[str]:
        match item:
            case f.Output():
                if margin == "  ":
                    yield f"{margin}input  {gradient}"
                    if self.in_parts and not self.in_cases:
                        shape = gradient.partition("[")[2].partition(".")[0]
                        yield from (f"{margin}{line}" for line in self.shape_rule(item, shape))
            case f.Input():
                given = replace(item, optional=item.optional and item.name != self.wrt.name)
                yield f"{margin}{printer.item(given)}"
            case f.Equation():
                pass
            case _:
                text = self.own_text(item) or printer.item(item)  # type: ignore[arg-type]
                yield from (f"{margin}{line}".rstrip() for line in text.splitlines())

    def needed_in(self, case: f.Case, equation: f.Equation) -> list[f.Item]:
        """The items of a case that its shape and the equation of the adjoint need."""
        outputs = tuple(each.slots for each in case.items if isinstance(each, f.Output))
        needed = used_names((equation, outputs)) | self.used
        kept: list[f.Item] = []
        for item in reversed(case.items):
            if set(provided(item)) & needed or isinstance(item, f.Require):
                kept.insert(0, item)
                needed |= used_names(item)
        return kept

    def gradient_input(self, shape: str) -> str:
        printer = Printer(self.operator.items)
        slots = f"{shape}..." if shape else printer.slots(self.output.slots)
        return f"{self.names[1]} : {self.output.dtype}[{slots}]{or_empty(self.output)}"

    def shape_rule(self, output: f.Output, shape: str) -> Iterator[str]:
        """Requirements that the gradient, of any shape, has that of an output."""
        printer = Printer(self.operator.items)
        span = output.span
        place = n.Ref(shape, "extent", span)
        tests: list[n.Expr] = []
        at: n.Expr = n.Number(0, span)
        for slot in output.slots:
            value = slot.value
            if isinstance(value, n.Listing):
                name = fresh("s", self.declared | {shape})
                yield f"let    {name} = {printer.text(value)}"
                value = n.Ref(name, "let", span)
            if slot.pack:
                tests.append(same_entries(place, at, value, self.declared | {shape}))
                at = shifted(length_of(value), at)
            else:
                tests.append(n.Compare(("==",), (n.Item(place, at, span), value), span))
                at = shifted(n.Number(1, span), at)
        rank = n.Compare(("==",), (n.Function("len", (place,), span), at), span)
        message = f"{self.names[1]} must have the shape of {self.output.name}"
        if len(tests) == 1:
            tests = [n.Logic("and", (rank, *tests), span)]
        else:
            tests.insert(0, rank)
        for test in tests:
            yield f'require {printer.text(test)} : "{message}"'

    def own_text(self, item: f.Item) -> str:
        """The item as its author wrote it, if that stands for itself."""
        text = item.span.text
        holes = {hole for hole, _ in self.operator.holes}
        words = set(re.findall(r"\w+", text))
        keyword = text.split(maxsplit=1)[0] if text else ""
        if words & holes or keyword not in ("attr", "let", "require") or "present" in words:
            return ""
        margin = " " * (item.span.column - 1)
        return "\n".join(line.removeprefix(margin) for line in text.splitlines())


# ---------------------------------------------------------------- what is needed


@dataclass(slots=True)
class Needs:
    """Which items of the operator its adjoint needs, and where the gradient stands among them."""

    adjoint: Adjoint
    equations: dict[int, f.Equation]
    shape: str
    providers: dict[str, f.Item] = field(default_factory=dict)
    types: f.TypeTable = field(default_factory=f.TypeTable)
    telling: set[str] = field(default_factory=set)
    """The inputs that are there for their types."""

    def __post_init__(self) -> None:
        for item in self.adjoint.operator.items:
            for name in provided(item):
                self.providers.setdefault(name, item)

    def kept(self) -> list[f.Item]:
        """The items to print, in order, the output where the gradient is declared."""
        operator = self.adjoint.operator
        macros = macros_of(operator.items)
        free = self.free_slots()
        needed = self.needed(free)
        inputs = self.inputs(needed, free)
        bound = self.bound(free, inputs)
        available = self.available(needed, bound)
        kept: list[f.Item] = []
        for item in operator.items:
            match item:
                case f.Input() if item in inputs:
                    kept.append(item)
                case f.Definition(name=name) if name in macros:
                    pass
                case f.Attribute() | f.Let() | f.Definition():
                    if set(provided(item)) & needed - bound:
                        kept.append(item)
                case f.Require(condition=condition):
                    if self.is_kept(condition, available - self.computed(free), inputs):
                        kept.append(item)
                case f.Case():
                    kept.append(item)
                case _:
                    pass
        kept = self.with_lets_of(kept, bound)
        return self.with_gradient(kept, free)

    def closure(self, names: Collection[str], stop: Collection[str] = ()) -> set[str]:
        """The names and those that their definitions need; `stop` need none."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            item = self.providers.get(name)
            if name not in stop and item is not None and not isinstance(item, f.Input):
                waiting += used_names(item)
        return found

    def seed(self) -> set[str]:
        adjoint = self.adjoint
        found = used_names(tuple(self.equations.values())) | adjoint.used
        found |= used_names(adjoint.wrt.extents)
        for case in adjoint.operator.cases:
            others = tuple(each for each in case.items if not isinstance(each, f.Equation))
            found |= used_names((case.condition, *others))
        return found

    def free_slots(self) -> set[str]:
        """Extents of the output that the gradient can bind by itself.

        Those of inputs, unless another extent of the gradient follows from them; and those
        that the operator computes from what its adjoint has no need of.
        """
        if self.shape:
            return set()
        slots = self.adjoint.output.slots
        bare = {each.value.name for each in slots if isinstance(each.value, n.Ref)}
        others = used_names(tuple(each for each in slots if not isinstance(each.value, n.Ref)))
        computed = {each for each in bare if not isinstance(self.providers.get(each), f.Input)}
        bare -= computed & self.adjoint.used
        computed &= bare
        fixed = self.closure((self.seed() | others) - bare)
        free = {
            each
            for each in computed
            if not ((self.closure({each}) | self.declared_with(each)) - {each}) & fixed
        }
        before = self.closure(others | (computed - free))
        return free | (bare - computed - before)

    def declared_with(self, name: str) -> set[str]:
        """The names that one attribute declares."""
        item = self.providers.get(name)
        return set(item.bound_names) if isinstance(item, f.Attribute) else set()

    def needed(self, free: set[str]) -> set[str]:
        slots = () if self.adjoint.in_cases else self.adjoint.output.slots
        return self.closure(self.seed() | used_names(slots), free)

    def inputs(self, needed: set[str], free: set[str]) -> list[f.Input]:
        """The inputs that are read, and those that alone give a name that is needed."""
        inputs = self.adjoint.operator.inputs
        read = tensors_in(tuple(self.equations.values()))
        asked = {each.name for each in walk_present(self.equations)}
        kept = [each for each in inputs if each.name in read | asked]
        for each in kept:
            needed |= self.closure(used_names(each.extents), free)
        bound = self.bound(free, kept)
        extents = {name for each in inputs for name in extents_of(each) if self.measured(name)}
        order = sorted(inputs, key=lambda each: each.name == self.adjoint.wrt.name)
        for each in order:
            missing = needed & extents - bound
            if each not in kept and not each.optional and extents_of(each) & missing:
                kept.append(each)
                bound |= extents_of(each)
        self.choose_types(needed, kept, [each for each in order if each not in kept])
        return [each for each in inputs if each in kept or each.name in self.telling]

    def choose_types(
        self, needed: set[str], kept: Sequence[f.Input], others: Sequence[f.Input]
    ) -> None:
        """The choices of types that count, and the inputs that have to tell them."""
        adjoint = self.adjoint
        gradient = replace(adjoint.wrt, dtype=adjoint.output.dtype, optional=False)
        given = [replace(each, optional=each.optional and each != adjoint.wrt) for each in kept]
        definitions = tuple(self.providers[name] for name in needed if name in self.providers)
        parts = (tuple(self.equations.values()), definitions)
        names = {each.dtype for each in (adjoint.wrt, gradient, *kept)}
        names |= {each.type_name for each in n.walk(parts) if isinstance(each, n.Limit)}
        self.types = reduced(adjoint.operator.types, adjoint.rows, names)
        self.telling = telling(self.types, [gradient, *given], others)

    def bound(self, free: set[str], inputs: Sequence[f.Input]) -> set[str]:
        """Names that the shapes of the gradient and of these inputs give a value."""
        given = set[str]().union(*(extents_of(each) for each in inputs if not each.optional))
        return free | {name for name in given if self.measured(name)}

    def measured(self, name: str) -> bool:
        """Whether a name comes from a shape rather than from an attribute."""
        return not isinstance(self.providers.get(name), f.Attribute)

    def available(self, needed: set[str], bound: set[str]) -> set[str]:
        """Every name that has a value among the kept items, or could have one."""
        attributes = (self.providers.get(name) for name in needed)
        known = bound.union(
            *(each.bound_names for each in attributes if isinstance(each, f.Attribute))
        )
        for item in self.adjoint.operator.items:
            names = provided(item)
            if isinstance(item, (f.Let, f.Definition)) and used_names(item) - set(names) <= known:
                known |= set(names)
        return known

    def is_kept(self, condition: n.Expr, available: set[str], inputs: Sequence[f.Input]) -> bool:
        """A requirement stays where all that it speaks of is known without the output's value."""
        given = {each.name for each in inputs}
        for node in n.walk(condition):
            match node:
                case n.Precision():
                    return False
                case n.Present(name=name) if name not in given and self.measured(name):
                    return False
                case _:
                    pass
        return used_names(condition) <= available

    def computed(self, free: set[str]) -> set[str]:
        """Extents that the operator computes and its adjoint is given: they are what they are."""
        return {name for name in free if not isinstance(self.providers.get(name), f.Input)}

    def with_lets_of(self, kept: list[f.Item], bound: set[str]) -> list[f.Item]:
        """With the lets that the kept requirements speak of."""
        requirements = tuple(each for each in kept if isinstance(each, f.Require))
        wanted = self.closure(used_names(requirements), bound) - bound
        return [
            item
            for item in self.adjoint.operator.items
            if item in kept
            or (isinstance(item, (f.Attribute, f.Let)) and set(provided(item)) & wanted)
        ]

    def with_gradient(self, kept: list[f.Item], free: set[str]) -> list[f.Item]:
        """The gradient behind all that its shape needs, and before what needs its shape."""
        slots = () if self.shape else self.adjoint.output.slots
        needs = used_names(slots) - free
        given = set[str]().union(*(extents_of(each) for each in kept if isinstance(each, f.Input)))
        at = 0
        for place, item in enumerate(kept):
            inner = self.shape and not isinstance(item, f.Case)
            if isinstance(item, f.Input) or inner or set(provided(item)) & needs:
                at = place + 1
        late = [each for each in kept[:at] if self.needs_of(each) & free - given]
        early = [each for each in kept[:at] if each not in late]
        return [*early, self.adjoint.output, *late, *kept[at:]]

    def needs_of(self, item: f.Item) -> set[str]:
        """The names that have to stand before an item."""
        if isinstance(item, f.Input):
            computed = (each for each in item.extents if not isinstance(each.value, n.Ref))
            return self.closure(used_names(tuple(computed)))
        return self.closure(used_names(item))


def provided(item: f.Item) -> tuple[str, ...]:
    """The names that an item gives a value."""
    match item:
        case f.Input(extents=extents):
            return tuple(each.new for each in extents if each.new)
        case f.Attribute():
            return item.bound_names
        case f.Let(name=name) | f.Definition(name=name):
            return (name,)
        case _:
            return ()


def extents_of(item: f.Input) -> set[str]:
    """The names that stand in the shape of an input by themselves."""
    return {each.value.name for each in item.extents if isinstance(each.value, n.Ref)}


def used_names(node: object) -> set[str]:
    """Names of the operator that a part of it speaks of; indices are among them."""
    if isinstance(node, f.Definition):
        parameters = {name for name, _ in node.parameters}
        return used_names((node.body, node.ranges)) - parameters
    if isinstance(node, (f.Let, f.Attribute)):
        parts = (node.value,) if isinstance(node, f.Let) else (node.low, node.high, node.default)
        return used_names(tuple(each for each in parts if each is not None))
    found = free_names(node)
    found |= {each.name for each in n.walk(node) if isinstance(each, (n.Apply, n.Present))}
    return found


def tensors_in(node: object) -> set[str]:
    return {each.tensor for each in n.walk(node) if isinstance(each, n.Access)}


def walk_present(node: dict[int, f.Equation]) -> Iterator[n.Present]:
    return (each for each in n.walk(tuple(node.values())) if isinstance(each, n.Present))


def shifted(place: n.Expr, by: n.Expr) -> n.Expr:
    if is_number(by, 0):
        return place
    return n.Arithmetic("+", by, place, place.span)


def same_entries(whole: n.Ref, at: n.Expr, value: n.Expr, taken: Collection[str]) -> n.Expr:
    """That the entries of `whole` from `at` on are those of a list."""
    span = value.span
    index = fresh("i", {*taken, *free_names(value)})
    entry = n.Ref(index, "index", span)
    ranges = n.IndexRange(index, n.Number(0, span), length_of(value), span)
    match value:
        case n.Part(sequence=sequence, low=low):
            own = n.Item(sequence, entry if low is None else shifted(entry, low), span)
        case _:
            own = n.Item(value, entry, span)
    pair = n.Compare(("==",), (n.Item(whole, shifted(entry, at), span), own), span)
    return n.Reduction("all", n.Binders((ranges,), None, None, span), pair, span)


def declared_names(items: Sequence[f.Item]) -> Iterator[str]:
    """Every name that has a meaning in the operator outside its formulas."""
    for item in f.all_items(tuple(items)):
        yield from provided(item)
        match item:
            case f.Input(name=name, index=index, count=count):
                yield name
                yield from (each for each in (index, count) if each)
            case f.Output(name=name):
                yield name
            case _:
                pass
    yield from macros_of(tuple(items))

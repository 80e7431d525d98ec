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
from cvmgen.derive.needs import Derived, Needs, linear_in, names_spoken_of, provided, tensors_in
from cvmgen.derive.substitution import equals_number, free_names, fresh
from cvmgen.derive.terms import Linearisation
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.printing import Printer, macros_of, or_empty, type_lines


def adjoint(operator: f.Operator, wrt: str, name: str = "") -> str:
    """The adjoint with respect to the input `wrt`, under `name` or one made of both.

    SpecError at the place of the formula that prevents it.
    """
    refuse_recurrences(operator)
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
    return Adjoint(operator, item, outputs[0], rows, name, linear).text()


@dataclass(slots=True)
class Adjoint(Derived):
    """Puts the adjoint together: what the formula needs of the operator, and its equations."""

    name: str
    linear: Linearisation
    declared: frozenset[str] = field(init=False)
    names: tuple[str, str] = field(init=False)  # dX, dY

    def __post_init__(self) -> None:
        declared = set(all_declared(self.operator.items))
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
        needed = names_spoken_of((equation, outputs)) | self.used
        kept: list[f.Item] = []
        for item in reversed(case.items):
            if set(provided(item)) & needed or isinstance(item, f.Require):
                kept.insert(0, item)
                needed |= names_spoken_of(item)
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
                at = shifted_place(length_of(value), at)
            else:
                tests.append(n.Compare(("==",), (n.Item(place, at, span), value), span))
                at = shifted_place(n.Number(1, span), at)
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


def shifted_place(place: n.Expr, by: n.Expr) -> n.Expr:
    if equals_number(by, 0):
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
            own = n.Item(sequence, entry if low is None else shifted_place(entry, low), span)
        case _:
            own = n.Item(value, entry, span)
    pair = n.Compare(("==",), (n.Item(whole, shifted_place(entry, at), span), own), span)
    return n.Reduction("all", n.Binders((ranges,), None, None, span), pair, span)


def all_declared(items: Sequence[f.Item]) -> Iterator[str]:
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


def refuse_recurrences(operator: f.Operator) -> None:
    """The adjoint of a recurrence goes through its elements backwards, which is not derived."""
    for item in f.all_items(operator.items):
        if isinstance(item, f.Definition) and item.axis is not None:
            message = f"the adjoint of the recurrence '{item.name}' is not derived"
            raise SpecError(item.span, message, "write it: it goes through the elements backwards")

"""What an adjoint needs of its operator: items, inputs, the types that are chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from cvmgen.derive.substitution import free_names
from cvmgen.derive.terms import PLURALS, Linearisation
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.printing import macros_of
from cvmgen.spec.types import untold


@dataclass(slots=True)
class Derived:
    """What an adjoint is derived from."""

    operator: f.Operator
    wrt: f.Input
    output: f.Output  # of operators whose cases have their own, the first
    rows: tuple[int, ...]  # the choices of types for which it is linear
    used: set[str] = field(init=False, default_factory=set)  # names that its equations speak of

    @property
    def in_cases(self) -> bool:
        """Whether the shape of the output differs by cases."""
        return not any(isinstance(each, f.Output) for each in self.operator.items)


@dataclass(slots=True)
class Needs:
    """Which items of the operator its adjoint needs, and where the gradient stands among them."""

    adjoint: Derived
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
                case f.Demand(condition=condition, domain=domain):
                    given = {each.name for each in inputs}
                    known = available | {n.bound_by(each) for each in domain.items}
                    asked = (condition, domain)
                    if tensors_in(asked) <= given and self.is_kept(asked, known, inputs):
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
                waiting += names_spoken_of(item)
        return found

    def seed(self) -> set[str]:
        adjoint = self.adjoint
        found = names_spoken_of(tuple(self.equations.values())) | adjoint.used
        found |= names_spoken_of(adjoint.wrt.extents)
        for case in adjoint.operator.cases:
            others = tuple(each for each in case.items if not isinstance(each, f.Equation))
            found |= names_spoken_of((case.condition, *others))
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
        others = names_spoken_of(tuple(each for each in slots if not isinstance(each.value, n.Ref)))
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
        return self.closure(self.seed() | names_spoken_of(slots), free)

    def inputs(self, needed: set[str], free: set[str]) -> list[f.Input]:
        """The inputs that are read, and those that alone give a name that is needed."""
        inputs = self.adjoint.operator.inputs
        read = tensors_in(tuple(self.equations.values()))
        asked = {each.name for each in walk_present(self.equations)}
        kept = [each for each in inputs if each.name in read | asked]
        for each in kept:
            needed |= self.closure(names_spoken_of(each.extents), free)
        bound = self.bound(free, kept)
        extents = {name for each in inputs for name in bare_extents(each) if self.measured(name)}
        order = sorted(inputs, key=lambda each: each.name == self.adjoint.wrt.name)
        for each in order:
            missing = needed & extents - bound
            if each not in kept and not each.optional and bare_extents(each) & missing:
                kept.append(each)
                bound |= bare_extents(each)
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
        self.types = restricted_table(adjoint.operator.types, adjoint.rows, names)
        self.telling = telling(self.types, [gradient, *given], others)

    def bound(self, free: set[str], inputs: Sequence[f.Input]) -> set[str]:
        """Names that the shapes of the gradient and of these inputs give a value."""
        given = set[str]().union(*(bare_extents(each) for each in inputs if not each.optional))
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
            if (
                isinstance(item, (f.Let, f.Definition))
                and names_spoken_of(item) - set(names) <= known
            ):
                known |= set(names)
        return known

    def is_kept(self, condition: object, available: set[str], inputs: Sequence[f.Input]) -> bool:
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
        return names_spoken_of(condition) <= available

    def computed(self, free: set[str]) -> set[str]:
        """Extents that the operator computes and its adjoint is given: they are what they are."""
        return {name for name in free if not isinstance(self.providers.get(name), f.Input)}

    def with_lets_of(self, kept: list[f.Item], bound: set[str]) -> list[f.Item]:
        """With the lets that the kept requirements speak of."""
        requirements = tuple(each for each in kept if isinstance(each, f.Require | f.Demand))
        wanted = self.closure(names_spoken_of(requirements), bound) - bound
        return [
            item
            for item in self.adjoint.operator.items
            if item in kept
            or (isinstance(item, (f.Attribute, f.Let)) and set(provided(item)) & wanted)
        ]

    def with_gradient(self, kept: list[f.Item], free: set[str]) -> list[f.Item]:
        """The gradient behind all that its shape needs, and before what needs its shape."""
        slots = () if self.shape else self.adjoint.output.slots
        needs = names_spoken_of(slots) - free
        given = set[str]().union(
            *(bare_extents(each) for each in kept if isinstance(each, f.Input))
        )
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
            return self.closure(names_spoken_of(tuple(computed)))
        return self.closure(names_spoken_of(item))


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


def bare_extents(item: f.Input) -> set[str]:
    """The names that stand in the shape of an input by themselves."""
    return {each.value.name for each in item.extents if isinstance(each.value, n.Ref)}


def names_spoken_of(node: object) -> set[str]:
    """Names of the operator that a part of it speaks of; indices are among them."""
    if isinstance(node, f.Definition):
        parameters = {name for name, _ in node.parameters}
        return names_spoken_of((node.body, node.ranges)) - parameters
    if isinstance(node, (f.Let, f.Attribute)):
        parts = (node.value,) if isinstance(node, f.Let) else (node.low, node.high, node.default)
        return names_spoken_of(tuple(each for each in parts if each is not None))
    found = free_names(node)
    found |= {each.name for each in n.walk(node) if isinstance(each, (n.Apply, n.Present))}
    return found


def tensors_in(node: object) -> set[str]:
    return {each.tensor for each in n.walk(node) if isinstance(each, n.Access)}


def walk_present(node: dict[int, f.Equation]) -> Iterator[n.Present]:
    return (each for each in n.walk(tuple(node.values())) if isinstance(each, n.Present))


# ---------------------------------------------------------------- types


def linear_in(
    operator: f.Operator, wrt: f.Input, output: f.Output
) -> tuple[Linearisation, tuple[int, ...]]:
    """The formula as sums of products, and the choices of types for which it is one.

    SpecError if there is none: the gradient of the output has its type, the adjoint that of the
    input, so that the elements of both must be of one kind.
    """
    faults: list[SpecError] = []
    found: list[tuple[Linearisation, tuple[int, ...]]] = []
    for (kind, result), rows in by_kinds(operator, wrt, output).items():
        linear = Linearisation(operator, wrt.name, kind)
        try:
            if linear_terms(linear) and (kind == f.BOOL or kind != result):
                raise no_type(wrt, output, kind, result)
        except SpecError as fault:
            faults.append(fault)
        else:
            found.append((linear, rows))
    if not found:
        raise faults[0]
    every = sorted(row for _, rows in found for row in rows)
    return found[0][0], tuple(every)


def linear_terms(linear: Linearisation) -> Collection[object]:
    items = f.all_items(linear.operator.items)
    equations = (each for each in items if isinstance(each, f.Equation))
    return [term for equation in equations for term in linear.terms(equation)]


def by_kinds(
    operator: f.Operator, wrt: f.Input, output: f.Output
) -> dict[tuple[f.Kind, f.Kind], tuple[int, ...]]:
    """The choices of types, by what elements of the input and of the output are."""
    table = operator.types
    found: dict[tuple[f.Kind, f.Kind], tuple[int, ...]] = {}
    for row in range(len(table.rows)):
        first, second = (f.element_kind(table.dtype(each.dtype, row)) for each in (wrt, output))
        found[first, second] = (*found.get((first, second), ()), row)
    return found


def no_type(wrt: f.Input, output: f.Output, kind: f.Kind, result: f.Kind) -> SpecError:
    if kind == f.BOOL:
        message = f"elements of '{wrt.name}' are conditions, which have no sums: it has no adjoint"
        return SpecError(wrt.span, message)
    message = (
        f"elements of '{wrt.name}' are {PLURALS[kind]}, those of '{output.name}' {PLURALS[result]}"
    )
    hint = f"a gradient of '{output.name}' has the type of it, the adjoint that of '{wrt.name}'"
    return SpecError(wrt.span, f"{message}: the adjoint has no type", hint)


def restricted_table(
    table: f.TypeTable, rows: Collection[int], names: Collection[str]
) -> f.TypeTable:
    """The table of these choices alone, for the parameters that are used."""
    columns = [at for at, name in enumerate(table.names) if name in names]
    chosen = (tuple(table.rows[row][at] for at in columns) for row in rows)
    return f.TypeTable(tuple(table.names[at] for at in columns), tuple(dict.fromkeys(chosen)))


def telling(table: f.TypeTable, kept: Sequence[f.Input], others: Sequence[f.Input]) -> set[str]:
    """Of the other inputs as many as it takes to tell the choice of types of a call."""
    added: list[f.Input] = []
    for each in others:
        if not untold(table, [*kept, *added]):
            break
        if each.dtype in table.names and not each.optional:
            added.append(each)
    return {each.name for each in added}

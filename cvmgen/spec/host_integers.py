"""Integers of a call: the same ones in every target, though a machine has 64 and 128 bits.

What is computed before any element is exact in the formula. A target computes it with 128 bits,
keeps what has a name and what a list holds in 64, and saturates beyond. Nobody sees that:

- The value of a `let`, and each entry of its list, must be from -2^62 to 2^62. Where the
  declarations do not show that it is, the call is tested. Saturation is monotone and changes no
  value in this range, so a saturated value is refused if and only if the exact one is. Extents and
  the ends of the range of an attribute may saturate as well: the checks of tensors and attributes
  bound them far below.
- A value that may be saturated is `far`: the exact one, or both it and the exact one are beyond the
  range on the same side. Products keep this (0 times anything is 0, all else leaves the magnitude),
  and sums of values of one sign, maxima, choices. Everything else (differences, quotients,
  logarithms, comparisons, indices) needs exact values: `wide_values` tells what is not known to be.
"""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.rules import FAR_PRECISION, MOST_NAMED
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.host_bounds import HostBounds
from cvmgen.spec.lengths import length_rule


def let_rule(let: f.Let) -> str:
    """What a call is refused by whose `let` is too large."""
    if let.kind == f.SET:  # in which what is saturated is not told apart
        return f"{length_rule(let.name)}, from -2^62 to 2^62"
    what = f"the entries of {let.name}" if let.kind == f.LIST else let.name
    return f"{what} must be from -2^62 to 2^62"


def may_be_wide(operator: f.Operator, let: f.Let) -> bool:
    """Whether a call can give a named integer, or an entry of a named list, a value beyond."""
    if let.kind not in (f.INT, f.LIST, f.SET):
        return False
    return not HostBounds(operator).of_let(let).within(MOST_NAMED)


def far_precision(operator: f.Operator, output: f.Output) -> int:
    """From where on it is not told how large a precision is: one that is derived may be made of
    bounds that no target computes."""
    if output.precision is None:
        return MOST_NAMED
    host = HostBounds(operator)
    wrong = host.precision(output.precision)
    return FAR_PRECISION if wrong or host.errors else MOST_NAMED


def wide_values(operator: f.Operator) -> Iterator[SpecError]:
    """An error for each integer of the call that is not known to be exact where it has to be."""
    host = HostIntegers(operator)
    for item in f.all_items(operator.items):
        host.item(item)
    yield from host.errors.values()


class HostIntegers(HostBounds):
    """Looks at each item of an operator."""

    def item(self, item: f.Item) -> None:
        match item:
            case f.Let(kind=f.INT | f.LIST | f.SET):
                self.of_let(item)
            case f.Let(value=value) if not f.speaks_of_reals(value):
                self.condition(value)
            case f.Require(condition=condition) | f.Case(condition=condition):
                self.condition(condition)
            case f.Attribute(low=low, high=high):
                for end in (low, high):
                    if end is not None:
                        self.number(end)
            case f.Input(extents=extents):
                for extent in extents:
                    if not extent.new:
                        self.slot(extent.value, pack=extent.pack)
            case f.Output(slots=slots, precision=precision, span=span):
                for slot in slots:
                    self.slot(slot.value, pack=slot.pack)
                if precision is not None and precision.span != span:
                    self.precision(precision)
            case f.Equation():
                self.of_elements(item.domain, item.value, item.where)
            case f.Demand():
                self.of_elements(item.domain, item.condition)
            case _:
                pass

    def slot(self, value: n.Expr, *, pack: bool) -> None:
        if pack:
            self.entries(value)
        else:
            self.number(value)

    # -------------------------------------------------------- products of lists in equations

    def of_elements(
        self, domain: n.Binders, value: n.Expr, where: tuple[f.Definition, ...] = ()
    ) -> None:
        """Products of lists are computed with 64 bits wherever they stand."""
        definitions, self.definitions = self.definitions, dict(self.definitions)
        self.definitions |= {each.name: each for each in where}
        errors, self.errors = self.errors, {}  # of elements, which kernels see to
        self.told: dict[int, SpecError] = {}
        with self.bound(domain):
            self.sizes(value)
        self.definitions, self.errors = definitions, errors | self.told

    def sizes(self, node: object) -> None:
        match node:
            case n.Reduction(binders=binders, body=body):
                self.sizes_below(binders, body)
            case n.Listing(element=element, binders=binders):
                self.sizes_below(binders, element)
            case n.SetOf(element=element, binders=binders):
                self.sizes_below(binders, element)
            case n.Apply(name=name) if self.definitions[name].kind != f.SELECTED:
                self.sizes(node.arguments)
                with self.applied(node):
                    self.sizes(self.definitions[name].body)
            case _:
                if not isinstance(node, tuple):
                    self.size_at(node)
                for each in n.children(node):
                    self.sizes(each)

    def sizes_below(self, binders: n.Binders, body: n.Expr) -> None:
        self.sizes(binders.items)
        with self.bound(binders):
            self.sizes((binders.condition, body))

    def size_at(self, node: object) -> None:
        if not isinstance(node, n.Function) or node.name != "size":
            return
        found = self.number(node)
        if found.far:
            self.demanded(node, found)
            self.told[id(node)] = self.errors[id(node)]

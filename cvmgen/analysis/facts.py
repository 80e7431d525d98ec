"""What holds of host values in every admitted call: entries of shapes, signs, divisors."""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.host import shape_name
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.uses import has, reassigned
from cvmgen.ir.visit import rebuild, substitute
from cvmgen.spec.formula import Input

RING = ("+", "-", "*")
BINDERS = (i.Gather, i.Fold, i.Bind)


class Facts:
    """What the host code in front of a nest says of the values that the nest reads.

    Answers are proofs: False and None mean "not known", never "not so".
    """

    def __init__(self) -> None:
        self.lets: dict[str, i.Expr] = {}
        self.positive_names: set[str] = set()  # scalars of at least 1
        self.positive_lists: set[str] = set()  # lists whose entries are at least 1
        self.shapes_of_many: set[str] = set()  # lists of such lists
        self.indices: set[str] = set()  # scalars of at least 0, as indices are
        self.divided: dict[tuple[i.Expr, i.Expr], i.Expr] = {}  # required to leave no remainder

    @classmethod
    def of(cls, program: i.Program, nest: i.Nest) -> Facts:
        facts = cls()
        facts.learn(program.prepare, nest.case)
        facts.learn(nest.prologue, None)
        for name in reassigned((*program.prepare, *nest.prologue)):
            facts.lets.pop(name, None)
        facts.name_quotients()
        return facts

    def learn(self, statements: Iterable[i.Stmt], case: int | None) -> None:
        for statement in statements:
            match statement:
                case i.Let(name=name, value=value):
                    self.lets[name] = value
                case i.TakeInput(input=item) if not item.optional:
                    self.extents(item)
                case i.TakeAttribute(attribute=attribute) if not attribute.optional:
                    self.attribute(statement)
                case i.SetOutput(tensor=tensor, extents=extents, empty=empty):
                    self.lets[shape_name(tensor)] = extents
                    if not empty:
                        self.positive_lists.add(shape_name(tensor))
                case i.Require(condition=condition):
                    for test in conjuncts(condition):
                        self.require(test)
                case i.Cases(branches=branches) if case is not None:
                    self.learn(branches[case][1], None)
                case _:
                    pass

    def require(self, test: i.Expr) -> None:
        match test:
            case i.Compare(
                op="==", left=i.Binary(op="mod", left=left, right=right), right=i.Const(value=0)
            ):
                self.divided[left, right] = i.Binary("floordiv", left, right)
            case _:
                pass

    def name_quotients(self) -> None:
        """Quotients without a remainder by the names that they have."""
        for name, value in self.lets.items():
            if isinstance(value, i.Binary) and value in self.divided.values():
                self.divided[value.left, value.right] = i.Var(name)

    def extents(self, item: Input) -> None:
        """Every extent of a tensor is at least 1, or 0 where it may be empty."""
        for extent in item.extents:
            if extent.new is None:
                continue
            if item.empty:
                self.indices |= set() if extent.pack else {extent.new}
                continue
            if item.variadic:
                self.shapes_of_many |= {extent.new} if extent.pack else set()
            else:
                (self.positive_lists if extent.pack else self.positive_names).add(extent.new)

    def attribute(self, statement: i.TakeAttribute) -> None:
        attribute, low = statement.attribute, statement.low
        if low is None or not self.positive(algebra.simplify(low)):
            return
        if attribute.words:
            return  # with a word its numbers are 0
        self.positive_names |= set(attribute.components)
        whole = attribute.is_list or bool(attribute.components)
        (self.positive_lists if whole else self.positive_names).add(attribute.name)

    # -------------------------------------------------------- signs

    def positive(self, expr: i.Expr) -> bool:
        """Whether a value is at least 1."""
        match expr:
            case i.Const(value=value):
                return value >= 1
            case i.Var(name=name):
                if name in self.positive_names:
                    return True
                return name in self.lets and self.positive(self.lets[name])
            case i.Item(sequence=sequence):
                return self.positive_list(sequence)
            case i.Call(function="size" | "rows" | "last", arguments=(sequence,)):
                return self.positive_list(sequence)
            case i.Binary(op="*", left=left, right=right):
                return self.positive(left) and self.positive(right)
            case i.Select(then=then, otherwise=otherwise):
                return self.positive(then) and self.positive(otherwise)
            case _:
                return False

    def positive_list(self, sequence: i.Expr) -> bool:
        """Whether every entry of a list is at least 1."""
        match sequence:
            case i.Var(name=name) if name in self.lets and name not in self.positive_lists:
                return self.positive_list(self.lets[name])
            case i.Var(name=name):
                return name in self.positive_lists
            case i.Item(sequence=i.Var(name=name)):
                return name in self.shapes_of_many
            case i.Part(sequence=whole):
                return self.positive_list(whole)
            case i.Call(function="split", arguments=(box, _)):
                return self.positive_list(box)
            case _:
                return False

    def not_negative(self, expr: i.Expr) -> bool:
        """Whether a value is at least 0: a sum of products of such values."""
        return all(
            coefficient >= 0 and all(map(self.atom_not_negative, atoms))
            for coefficient, atoms in algebra.polynomial_terms(expr)
        )

    def atom_not_negative(self, atom: i.Expr) -> bool:
        match atom:
            case i.Var(name=name) if name in self.indices:
                return True
            case i.Call(function="len"):
                return True
            case _:
                return self.positive(atom)

    def decided(self, condition: i.Expr) -> bool | None:
        """The value of a comparison, where it is the same in every call."""
        match condition:
            case i.Compare(op=">=", left=left, right=right):
                return self.ordered(right, left)
            case i.Compare(op="<=", left=left, right=right):
                return self.ordered(left, right)
            case i.Compare(op="<", left=left, right=right):
                return self.opposite(self.ordered(right, left))
            case i.Compare(op=">", left=left, right=right):
                return self.opposite(self.ordered(left, right))
            case i.Compare(op="==", left=left, right=right) if algebra.equal(left, right):
                return True
            case _:
                return None

    def ordered(self, low: i.Expr, high: i.Expr) -> bool | None:
        """Whether low <= high."""
        if self.not_negative(i.Binary("-", high, low)):
            return True
        above = i.Binary("-", i.Binary("-", low, high), i.Const(1))
        return False if self.not_negative(above) else None

    @staticmethod
    def opposite(truth: bool | None) -> bool | None:
        return None if truth is None else not truth

    # -------------------------------------------------------- definitions

    def expanded(self, expr: i.Expr) -> i.Expr:
        """An expression with the sums and products that its names stand for."""

        def change(node: i.Expr) -> i.Expr:
            match node:
                case i.Var(name=name) if name in self.lets:
                    value = self.lets[name]
                    plain = isinstance(value, i.Var) or (
                        isinstance(value, i.Binary) and value.op in RING
                    )
                    return self.expanded(value) if plain else node
                case i.Item(sequence=i.Var(name=name), index=index) if name in self.lets:
                    return self.entry(self.lets[name], index) or node
                case i.Select(condition=condition, then=then, otherwise=otherwise):
                    truth = self.decided(condition)
                    return node if truth is None else (then if truth else otherwise)
                case _:
                    return node

        return rebuild(expr, change)

    def entry(self, sequence: i.Expr, index: i.Expr) -> i.Expr | None:
        """The entry of a host list at an index, as sums and products of other values."""
        match sequence:
            case i.Var(name=name) if name in self.lets:
                return self.entry(self.lets[name], index)
            case i.Var():
                return i.Item(sequence, index)
            case i.Gather(
                kind="list",
                element=element,
                over=(i.Over(index=place, low=i.Const(value=0)),),
                condition=None,
            ) if not has(element, *BINDERS):
                chosen: i.Expr = substitute(element, {place: index})
                return self.expanded(simple_items(chosen))
            case i.ListOf(entries=entries):
                return self.listed(entries, index)
            case _:
                return None

    def listed(self, entries: tuple[tuple[i.Expr, bool], ...], index: i.Expr) -> i.Expr | None:
        """The entry that stands alone at exactly this index, or inside the first spread list."""
        place: i.Expr = i.Const(0)
        index = self.expanded(index)
        for value, spread in entries:
            if not spread and algebra.equal(self.expanded(place), index):
                return self.expanded(value)
            length = part_length(value) if spread else i.Const(1)
            if length is None:
                return None
            place = i.Binary("+", place, length)
        return None

    def quotient(self, expr: i.Expr, divisor: i.Expr) -> i.Expr | None:
        """expr / divisor, if the divisor is positive and leaves no remainder."""
        if not self.positive(divisor):
            return None
        if (expr, divisor) in self.divided:
            return self.divided[expr, divisor]
        return algebra.quotient(self.expanded(expr), self.expanded(divisor))


def simple_items(expr: i.Expr) -> i.Expr:
    """Indices of list entries in their shortest form, so that equal entries look alike."""

    def change(node: i.Expr) -> i.Expr:
        if isinstance(node, i.Item):
            return i.Item(node.sequence, algebra.normal(node.index))
        return node

    return rebuild(expr, change)


def part_length(sequence: i.Expr) -> i.Expr | None:
    """The number of entries of a list that is spread."""
    match sequence:
        case i.Part(high=None, sequence=i.Var() as whole, low=low):
            length: i.Expr = i.Call("len", (whole,))
            return length if low is None else i.Binary("-", length, low)
        case i.Part(high=high, low=low) if high is not None:
            return high if low is None else i.Binary("-", high, low)
        case i.Var():
            return i.Call("len", (sequence,))
        case _:
            return None

"""Which name of a formula means what: where it is bound, and everywhere that it is used.

Of what is parsed, so that a file with a fault elsewhere answers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cvmgen.source import Span
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.builder import BINDERS


@dataclass(frozen=True, slots=True)
class FileSymbol:
    """A name with what it stands for, where it is bound."""

    name: str
    kind: str  # a word for people, such as "input" or "index"
    span: Span
    operator: str = ""  # the declaration that it belongs to; its own name of a declaration


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place at which a symbol is named."""

    span: Span
    symbol: FileSymbol


@dataclass(slots=True)
class FileScope:
    """Names by what they mean here; those of `around` are known too."""

    around: FileScope | None = None
    names: dict[str, FileSymbol] = field(default_factory=dict)

    def find(self, name: str) -> FileSymbol | None:
        found = self.names.get(name)
        return found if found or self.around is None else self.around.find(name)


class Names:
    """The occurrences of all names in declarations, each of which belongs to an opset."""

    def __init__(self, declared: Iterable[tuple[str, Sequence[d.TopLevel]]]) -> None:
        self.found: list[Occurrence] = []
        self.common = FileScope()
        self.opsets: dict[str, FileScope] = {"": self.common}
        self.operators: dict[str, FileScope] = {}  # which examples call, and no formula
        self.blocks: dict[int, FileScope] = {}  # those of families, by their declarations
        self.families: dict[str, list[d.FamilyDecl]] = {}
        self.owner = self.own = ""
        placed = [(opset, each) for opset, found in declared for each in found]
        for opset, each in placed:
            self.own = opset
            self.declare(each, self.opset(opset))
        families = [pair for pair in placed if isinstance(pair[1], d.FamilyDecl)]
        others = [pair for pair in placed if not isinstance(pair[1], d.FamilyDecl)]
        for opset, each in (*families, *others):
            self.owner, self.own = getattr(each, "name", ""), opset
            self.declaration(each, self.opset(opset))

    def opset(self, name: str) -> FileScope:
        return self.opsets.setdefault(name, FileScope(self.common))

    @property
    def called(self) -> FileScope:
        """The operators of the opset that is read: one called `sum` is not the sum of a formula."""
        return self.operators.setdefault(self.own, FileScope())

    # -------------------------------------------------------- binding and naming

    def bind(self, scope: FileScope, name: str, kind: str, span: Span) -> FileSymbol:
        """A new meaning of a name."""
        symbol = FileSymbol(name, kind, span, self.owner)
        scope.names[name] = symbol
        self.found.append(Occurrence(span, symbol))
        return symbol

    def bind_once(self, scope: FileScope, name: n.Expr, kind: str) -> None:
        """The same, unless the name has a meaning already."""
        if isinstance(name, n.Name) and not self.use(scope, name.text, name.span):
            self.bind(scope, name.text, kind, name.span)

    def use(self, scope: FileScope, name: str, span: Span) -> bool:
        """Note a name where it has a meaning."""
        symbol = scope.find(name)
        if symbol is not None:
            self.found.append(Occurrence(span, symbol))
        return symbol is not None

    # -------------------------------------------------------- declarations

    def declare(self, each: d.TopLevel, scope: FileScope) -> None:
        if isinstance(each, d.Import):
            return
        self.owner = each.name
        if isinstance(each, d.OperatorDecl | d.InstanceDecl):
            self.bind(self.called, each.name, "operator", each.name_span)
            return
        kinds = {d.Const: "constant", d.Definition: "definition", d.FamilyDecl: "family"}
        self.bind(scope, each.name, kinds[type(each)], each.name_span)
        if isinstance(each, d.FamilyDecl):
            self.families.setdefault(each.name, []).append(each)

    def declaration(self, each: d.TopLevel, scope: FileScope) -> None:
        match each:
            case d.Const(value=value):
                self.visit(value, scope)
            case d.Definition():
                self.definition(each, scope)
            case d.FamilyDecl(parameters=parameters, block=block, base=base):
                around = scope
                if base is not None:
                    self.use(scope, base.family, base.family_span)
                    bases = self.families.get(base.family, ())
                    around = next((self.blocks.get(id(one), scope) for one in bases), scope)
                inner = self.blocks[id(each)] = FileScope(around)
                for name in parameters:
                    self.bind(inner, name.text, "parameter of a family", name.span)
                for actual in base.actuals if base else ():
                    self.visit(actual, inner)
                self.block(block, inner)
            case d.OperatorDecl(block=block):
                self.block(block, FileScope(scope))
            case d.InstanceDecl(family=family, actuals=actuals, block=block):
                self.use(scope, family, each.family_span)
                for actual in actuals:
                    self.visit(actual, scope)
                around = next(
                    (self.blocks[id(one)] for one in self.families.get(family, ())), scope
                )
                if block is not None:
                    self.block(block, FileScope(around))
            case d.Import(names=names, place=place):
                known = self.opsets.get(place.text, self.common)
                for name in names:
                    self.use(known, name.text, name.span)
                    if symbol := known.find(name.text):
                        scope.names.setdefault(name.text, symbol)

    def definition(self, each: d.Definition, scope: FileScope) -> None:
        inner = self.parameters(each.parameters, scope)
        self.visit(each.body, inner)

    def parameters(self, parameters: Iterable[d.Parameter], scope: FileScope) -> FileScope:
        inner = FileScope(scope)
        for each in parameters:
            self.bind(inner, each.name, "parameter", _first(each.span, each.name))
        return inner

    # -------------------------------------------------------- items

    def block(self, block: d.BlockDecl, scope: FileScope) -> None:
        for item in block.items:
            self.announce(item, scope)
        for item in block.items:
            self.item(item, scope)

    def announce(self, item: d.ItemDecl, scope: FileScope) -> None:
        """Bind what an item declares; those above it may speak of it."""
        match item:
            case d.OperandDecl(output=output, place=place):
                name = place.target if isinstance(place, n.Bracket) else place
                self.bind_once(scope, name, "output" if output else "input")
            case d.AttributeDecl(name=name, components=components, name_span=span):
                self.bind(scope, name, "attribute", span)
                for each in components:
                    self.bind(scope, each.text, "entry of an attribute", each.span)
            case d.LetDecl(name=name, name_span=span):
                self.bind(scope, name, "let", span)
            case d.TypeChoice(names=names):
                for each in names:
                    self.bind(scope, each.text, "type", each.span)
            case d.CaseDecl(block=block) | d.WithinDecl(block=block):
                for inner in block.items:
                    if isinstance(inner, d.OperandDecl):
                        self.announce(inner, scope)
            case _:
                pass

    def item(self, item: d.ItemDecl, scope: FileScope) -> None:
        match item:
            case d.OperandDecl():
                self.operand(item, scope)
            case d.LetDecl(parameters=parameters, value=value):
                self.visit(value, self.parameters(parameters or (), scope))
            case d.ExampleDecl(operator=name, given=given, name_span=span):
                self.use(self.called, name, span)
                for argument, given_value in given:
                    if argument is not None:
                        self.use(scope, argument.text, argument.span)
                    self.visit(given_value, scope)
            case d.EquationDecl():
                self.equation(item, scope)
            case d.RequireDecl(condition=condition, binders=binders):
                inner = FileScope(scope)
                for binder in self.binder_parts(binders) if binders is not None else ():
                    self.binder(binder, inner)
                self.visit(condition, inner, free=inner)  # of elements it may have indices
            case d.CaseDecl(condition=condition, block=block):
                self.visit(condition, scope)
                inner = FileScope(scope)
                for each in block.items:
                    if not isinstance(each, d.OperandDecl):
                        self.announce(each, inner)
                for each in block.items:
                    self.item(each, inner)
            case d.WithinDecl(binders=binders, block=block):
                self.block(block, self.binders(binders, scope))
            case d.TypeChoice() | d.AliasDecl() | d.AlthoughDecl():
                pass
            case _:
                for part in n.children(item):
                    self.visit(part, scope)

    def operand(self, item: d.OperandDecl, scope: FileScope) -> None:
        inner = FileScope(scope)
        if isinstance(item.each, n.Below):
            self.bind_once(inner, item.each.target, "index")
            self.bind_once(scope, item.each.high, "count")
        if isinstance(item.place, n.Bracket):
            self.visit(item.place.slots, inner)
        self.use(scope, item.type_name, item.type_span)
        for slot in item.slots:
            value = slot.value if isinstance(slot, n.Slot) else slot
            if not item.output and isinstance(value, n.Name):
                self.bind_once(scope, value, "extent")
            elif not item.output and isinstance(value, n.Bracket) and item.each is not None:
                self.bind_once(scope, value.target, "extent")
                self.visit(value.slots, inner)
            else:
                self.visit(value, inner)
        self.visit(item.precision, scope)

    def equation(self, item: d.EquationDecl, scope: FileScope) -> None:
        """Names on the left that mean nothing yet are its indices; a `where` may speak of those
        that are bound where it is used."""
        inner = FileScope(scope)
        target = item.target
        if isinstance(target, n.Bracket):
            self.visit(target.target, scope)
            self.visit(target.slots, inner, free=inner)
        if item.binders is not None:
            for binder in self.binder_parts(item.binders):
                self.binder(binder, inner)
            self.visit(item.binders.condition, inner)
        for each in item.where:
            self.bind(inner, each.name, "definition", each.name_span)
        before = len(self.found)
        self.visit(item.value, inner)
        bound = FileScope(inner)
        for each in reversed(item.where):
            for found in self.found[before:]:
                if found.symbol.span == found.span:
                    bound.names.setdefault(found.symbol.name, found.symbol)
            self.definition(each, bound)

    # -------------------------------------------------------- expressions

    def visit(self, node: Any, scope: FileScope, free: FileScope | None = None) -> None:
        """Note the names of an expression; in `free` those are bound that mean nothing."""
        match node:
            case None:
                pass
            case tuple():
                for part in node:
                    self.visit(part, scope, free)
            case n.Name(text=name, span=span):
                if not self.use(scope, name, span) and free is not None:
                    self.bind(free, name, "index", span)
            case n.Call(function=name, arguments=arguments, name_span=span):
                self.use(scope, name, span)
                self.visit(arguments, scope, free)
            case n.Reduction(function=name, binders=binders, body=body, span=span):
                self.use(scope, name, _first(span, name))
                self.visit(body, self.binders(binders, scope, free), free)
            case n.Sorted(binders=binders, keys=keys):
                self.visit(keys, self.binders(binders, scope, free), free)
            case n.Listing(element=element, binders=binders):
                self.visit(element, self.binders(binders, scope, free), free)
            case n.SetOf(element=element, binders=binders):
                self.visit(element, self.binders(binders, scope, free), free)
            case d.Sign() | str() | int() | float():
                pass
            case _:
                for part in n.children(node):
                    self.visit(part, scope, free)

    def binders(
        self, binders: n.Binders, scope: FileScope, free: FileScope | None = None
    ) -> FileScope:
        """What a sum or a list runs over: a scope in which its indices are bound."""
        inner = FileScope(scope)
        for each in self.binder_parts(binders):
            self.binder(each, inner, new=True)
        self.visit(binders.condition, inner, free)
        return inner

    def binder_parts(self, binders: n.Binders) -> Iterator[n.Binder]:
        if binders.over is not None:
            yield binders.over
        yield from binders.items

    def binder(self, each: n.Binder, scope: FileScope, *, new: bool = False) -> None:
        assert isinstance(each, BINDERS)
        low = each.low if isinstance(each, n.Below) else None
        limit = each.collection if isinstance(each, n.Member) else each.high
        self.visit(low, scope)
        self.visit(limit, scope)
        if isinstance(each.target, n.Name):
            if new:
                self.bind(scope, each.target.text, "index", each.target.span)
            else:
                self.bind_once(scope, each.target, "index")
        elif isinstance(each.target, n.Bracket):
            self.bind_once(scope, each.target.target, "index")
            self.visit(each.target.slots, scope)


def _first(span: Span, name: str) -> Span:
    """The name with which a part of the text begins."""
    return Span(span.source, span.start, span.start + len(name))

"""Checked expressions to IR, with what is in reach where they stand; definitions are inlined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

from cvmgen.functions import BITWISE
from cvmgen.ir import nodes as i
from cvmgen.ir.host import shape_name
from cvmgen.ir.logic import conjunction
from cvmgen.ir.uses import bound_in, has, names_in
from cvmgen.ir.visit import fresh, substitute
from cvmgen.lower.common_subexpressions import with_bindings
from cvmgen.lower.evaluation_counts import evaluation_count, sure_names, sure_uses
from cvmgen.lower.let_memory import lets_in_memory
from cvmgen.lower.selections import ListPlace, used_lists, without_own
from cvmgen.source import Span
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import BOOL, LIST, LISTS, SELECTED, SET
from cvmgen.spec.selections import is_ascending
from cvmgen.spec.terms import TermFinder

SIGNS = {"+": "+", "-": "-", "*": "*", "div": "floordiv", "tdiv": "truncdiv", "mod": "mod"}

OF_ONE_POINT = ("index", "pack", "parameter")


def names_of_the_call(operator: f.Operator) -> set[str]:
    """Attributes, extents and lets: no local may be called so, as others read these beside it."""
    refs = (each for each in n.walk(operator.items) if isinstance(each, n.Ref))
    return {each.name for each in refs if each.role not in OF_ONE_POINT}


class Expressions:
    """Keeps which definitions are in reach and which names are taken.

    An argument of a definition that is used several times is computed once, in front, whether the
    definition comes to ask for it or not; `lazy` ones that read something only where it does.
    """

    def __init__(
        self, operator: f.Operator, *, lazy: bool = False, never: frozenset[str] = frozenset()
    ) -> None:
        self.operator = operator
        self.lazy = lazy
        items = tuple(f.all_items(operator.items))
        self.definitions = {each.name: each for each in items if isinstance(each, f.Definition)}
        self.reals = operator.has_reals
        self.shown = TermFinder(operator)
        self.active: set[str] = set()  # names bound around the expression at hand
        self.inner: frozenset[str] = frozenset()  # names bound in parts of it that are made
        self.renamed: dict[str, i.Expr] = {}
        self.bound: dict[str, str] = {}  # where-definitions without parameters, bound already
        self.named: dict[i.Expr, str] = {}  # values of definitions, and how the formula calls them
        self.growing: dict[str, i.Expr] = {}  # the list being made, and how long it is so far
        self.lists = used_lists(operator, self.definitions)
        self.in_memory = lets_in_memory(operator, never)
        self.kept_names = {*operator.type_of, *self.in_memory, *names_of_the_call(operator)}

    def terms(self, expressions: Iterable[n.Expr]) -> tuple[tuple[str, i.Expr, str], ...]:
        """The named values that a refusal shows, each once: name, value, kind."""
        shown: list[tuple[str, i.Expr, str]] = []
        for term in self.shown.of(tuple(expressions)):
            match term:
                case n.Ref(name=name):
                    kind = self.shown.kind(name)
                    shown.append((name, i.Var(name), "lists" if kind == LISTS else kind.name))
                case n.Precision(tensor=tensor):
                    shown.append((f"p({tensor})", i.PrecisionOf(tensor, None), "int"))
        return tuple(shown)

    def index_list(self, slots: tuple[n.Slot, ...]) -> i.Expr:
        """Slots as one list expression."""
        if len(slots) == 1 and slots[0].pack:
            return self.expr(slots[0].value)
        return i.ListOf(tuple((self.expr(slot.value), slot.pack) for slot in slots))

    def with_where(self, expr: n.Expr, test: n.Expr | None = None) -> i.Expr:
        """`expr` with a local for each parameterless `where` that it is sure to evaluate and that
        is read more than once, in the test around it too."""
        sure = (name for name in sure_uses(expr, self.definitions) if self.bindable(name))
        names = [name for name in sure if self.read_again((expr, test), name)]
        before = dict(self.bound)
        bindings: list[tuple[str, i.Expr]] = []
        for name in names:
            value = self.expr(self.definitions[name].body)
            local = self.fresh(name)
            bindings.append((local, value))
            self.bound[name] = local
            self.active.add(local)
        body = self.shared(self.expr(expr))
        for local, value in reversed(bindings):
            body = i.Bind(local, value, body)
            self.active.discard(local)
        self.bound = before
        return body

    def shared(self, expr: i.Expr) -> i.Expr:
        """`expr` with locals for the definitions that it uses several times."""
        taken: set[str] = set()

        def new(name: str) -> str:
            local = self.fresh(name)
            taken.add(local)
            self.active.add(local)
            return local

        with self.around(expr):
            result = with_bindings(expr, self.named, new)
        self.active -= taken
        return result

    def read_again(self, parts: object, name: str) -> bool:
        """Whether a `where` is read more than once. One that is not stands where it is read, as
        what is written out does."""
        wheres = (each.body for each in self.definitions.values() if not each.parameters)
        return sum(reads(part, name) for part in (parts, *wheres)) > 1

    def bindable(self, name: str) -> bool:
        """Whether all indices that a parameterless `where` speaks of are bound here."""
        if name in self.bound or name in self.in_memory:
            return False
        if self.definitions[name].kind in (LIST, SET):
            return False  # the entries of a list are read one by one, where they stand
        inner: set[str] = set()
        for node in n.walk(self.definitions[name].body):
            if isinstance(node, (n.IndexRange, n.IndexMember)):
                inner.add(node.index)
            if isinstance(node, n.PackRange):
                inner.add(node.pack)
        for node in n.walk(self.definitions[name].body):
            if (
                isinstance(node, n.Ref)
                and node.role in ("index", "pack")
                and node.name not in inner
                and node.name not in self.active
            ):
                return False
        return True

    # -------------------------------------------------------- binders

    @contextmanager
    def over(self, binders: tuple[n.Binder, ...]) -> Iterator[tuple[i.Over | i.OverPack, ...]]:
        """The IR of binders; inside the context their indices are bound."""
        bound: list[i.Over | i.OverPack] = []
        added: list[str] = []
        before = dict(self.renamed)
        for binder in binders:
            match binder:
                case n.IndexRange(index=index, low=low, high=high):
                    first, last = self.expr(low), self.expr(high)
                    bound.append(i.Over(self.enter(index, added), first, last))
                case n.IndexMember(index=index, collection=collection):
                    members = self.members(collection)
                    bound.append(i.Over(self.enter(index, added), None, members))
                case n.PackRange(pack=pack, extents=extents, slots=slots):
                    box = self.expr(extents)
                    places = None if slots is None else without_identity(self.expr(slots))
                    if slots is None or pack not in self.active:
                        pack = self.enter(pack, added)
                    bound.append(i.OverPack(pack, box, places))
                case _:
                    raise AssertionError("binder is not checked")
        try:
            yield tuple(bound)
        finally:
            self.active.difference_update(added)
            self.renamed = before

    def enter(self, name: str, added: list[str]) -> str:
        """Bind an index, under another name where its own is taken by an enclosing one."""
        local = self.fresh(name)
        if local != name:
            self.renamed[name] = i.Var(local)
        self.active.add(local)
        added.append(local)
        return local

    def fresh(self, name: str) -> str:
        """A name that nothing around has, nor, as it would mean something else there, inside."""
        return fresh(name, {*self.active, *self.inner, *self.kept_names})

    @contextmanager
    def around(self, *parts: i.Expr) -> Iterator[None]:
        """For names around expressions that are already made: neither what these bind nor what they
        read."""
        before = self.inner
        self.inner = before | bound_in(parts) | names_in(parts)
        yield
        self.inner = before

    # -------------------------------------------------------- expressions

    def expr(self, expr: n.Expr) -> i.Expr:
        match expr:
            case n.Number(value=value) | n.Truth(value=value):
                return i.Const(value)
            case n.Real(value=real):
                return i.Real(repr(real))
            case n.Limit(end=end, type_name=type_name):
                return i.Limit(end, type_name)
            case n.Ref(name=name, role="real"):
                return i.Call("real", (i.Var(name),))
            case n.Ref(name=name):
                return self.renamed.get(name, i.Var(name))
            case n.IsWord():
                return self.is_word(expr, "==")
            case n.Not(operand=n.IsWord() as choice):
                return self.is_word(choice, "!=")
            case n.Arithmetic():
                return self.arithmetic(expr)
            case n.Negate(operand=operand) if self.reals:
                return i.Call("negate", (self.expr(operand),))  # 0 - 0 is 0, and -(0.0) is -0.0
            case n.Negate(operand=operand):
                return i.Binary("-", i.Const(0), self.expr(operand))
            case n.Compare():
                return self.compare(expr)
            case n.Logic(word=word, operands=operands):
                return i.Logic(word, tuple(self.expr(operand) for operand in operands))
            case n.Not(operand=operand):
                return i.Not(self.expr(operand))
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                parts = (self.expr(each) for each in (condition, then, otherwise))
                return i.Select(*parts)
            case n.Contains(element=element, collection=collection):
                return contains(self.expr(element), self.members(collection))
            case n.TupleOf(elements=elements):
                return i.ListOf(tuple((self.expr(element), False) for element in elements))
            case n.Listing(element=element, binders=binders):
                return self.gather("list", element, binders)
            case n.SetOf(element=element, binders=binders):
                return self.gather("set", element, binders)
            case n.Reduction(function=function, binders=binders, body=body):
                with self.over(binders.items) as over:
                    test = self.condition(binders)
                    return i.Fold(function, self.with_where(body, binders.condition), over, test)
            case n.Item(sequence=n.Apply() as chosen, index=index) if self.is_selected(chosen):
                return replace(self.place(chosen).entry(self.expr(index)), span=expr.span)
            case n.Item(sequence=n.Ref(name=name, role="reals"), index=index):
                return i.Call("real", (i.Item(i.Var(name), self.expr(index), expr.span),))
            case n.Item(sequence=sequence, index=index):
                return entry_of(self.expr(sequence), self.expr(index), expr.span)
            case n.Part(sequence=sequence, low=low, high=high):
                ends = self.optional(low), self.optional(high)
                return i.Part(self.expr(sequence), *ends, expr.span)
            case n.Access(tensor=tensor, which=which, slots=slots):
                pairs = tuple((self.expr(slot.value), slot.pack) for slot in slots)
                return i.Access(tensor, self.optional(which), pairs, expr.span)
            case n.Apply():
                return self.apply(expr)
            case n.Earlier(name=name, arguments=arguments):
                indices = tuple((self.expr(argument), False) for argument in arguments)
                return i.Access(name, None, indices, expr.span)
            case n.Function(arguments=(n.Apply() as chosen,)) if self.is_selected(chosen):
                return self.place(chosen).length
            case n.Function(name=name, arguments=arguments):
                values = tuple(self.expr(each) for each in arguments)
                if name in ("count", "len"):
                    return self.number_of(values[0])
                return call_or_operation(name, values, expr.span)
            case n.Precision(tensor=tensor, which=which):
                return i.PrecisionOf(tensor, self.optional(which))
            case n.Present(name=name):
                return i.Given(name)
            case n.ShapeOf(tensor=tensor):
                return i.Var(shape_name(tensor))
            case n.Sorted() | n.Name() | n.Bracket() | n.Call() | n.Word() | n.Refuse():
                raise AssertionError(f"{type(expr).__name__} in a checked formula")
            case _:
                assert_never(expr)

    def optional(self, expr: n.Expr | None) -> i.Expr | None:
        return None if expr is None else self.expr(expr)

    def condition(self, binders: n.Binders) -> i.Expr | None:
        return self.optional(without_own(binders, self.growing))

    def members(self, collection: n.Expr) -> i.Expr:
        """What an index runs over; of a list under construction, what it has so far."""
        if not (isinstance(collection, n.Apply) and self.is_selected(collection)):
            return self.expr(collection)
        rising = is_ascending(collection, self.definitions)
        entries = self.place(collection).entries(ascending=rising)
        if collection.name in self.growing:
            return replace(entries, length=self.growing[collection.name])
        return entries

    def number_of(self, members: i.Expr) -> i.Expr:
        """How many entries a list or a set has."""
        match members:
            case i.Binary(op="difference", left=left, right=right):
                with self.around(left, right):
                    each = self.fresh("each")
                missing = i.Not(contains(i.Var(each), right))
                return i.Fold("count", i.Const(True), (i.Over(each, None, left),), missing)
            case i.Binary(op="union", left=left, right=right):
                more = self.number_of(i.Binary("difference", right, left))
                return i.Binary("+", self.number_of(left), more)
            case _:
                return i.Call("len", (members,))

    def is_selected(self, expr: n.Apply) -> bool:
        return self.definitions[expr.name].kind == SELECTED

    def place(self, expr: n.Apply) -> ListPlace:
        """Where a selected list lies."""
        indices = tuple(self.expr(argument) for argument in expr.arguments)
        return ListPlace(expr.name, indices, expr.span)

    def gather(self, kind: str, element: n.Expr, binders: n.Binders) -> i.Expr:
        with self.over(binders.items) as over:
            condition = self.condition(binders)
            return without_identity(i.Gather(kind, self.expr(element), over, condition))

    def arithmetic(self, expr: n.Arithmetic) -> i.Expr:
        left, right = self.expr(expr.left), self.expr(expr.right)
        if expr.sign == "over":
            return i.Binary("over", left, right)
        if expr.sign == "^":
            if left == i.Const(2) and not self.reals:
                return i.Binary("shl", i.Const(1), right)
            return i.Call("power", (left, right))
        if self.is_set(expr.left):
            return i.Binary("difference" if expr.sign == "-" else "union", left, right)
        return i.Binary(SIGNS[expr.sign], left, right)

    def is_set(self, expr: n.Expr) -> bool:
        match expr:
            case n.SetOf():
                return True
            case n.Ref(name=name):
                return self.shown.kind(name) == SET
            case n.Arithmetic(left=left) | n.Conditional(then=left):
                return self.is_set(left)
            case n.Apply(name=name):
                return self.definitions[name].kind == SET
            case _:
                return False

    def compare(self, expr: n.Compare) -> i.Expr:
        operands = [self.expr(operand) for operand in expr.operands]
        bindings: list[tuple[str, i.Expr]] = []
        with self.around(*operands):
            for at in range(1, len(operands) - 1):
                whole = isinstance(operands[at], (i.Var, i.Const)) or is_attribute(
                    expr.operands[at]
                )
                if not whole:
                    name = self.fresh("place")
                    self.active.add(name)
                    bindings.append((name, operands[at]))
                    operands[at] = i.Var(name)
        pairs = zip(expr.relations, operands, operands[1:], strict=False)
        result = conjunction(i.Compare(relation, left, right) for relation, left, right in pairs)
        for name, value in reversed(bindings):
            result = i.Bind(name, value, result)
            self.active.discard(name)
        return result

    def is_word(self, expr: n.IsWord, relation: str) -> i.Expr:
        """Whether an attribute was given a word, by the value that tells which one."""
        (attribute,) = (each for each in self.operator.attributes if each.name == expr.name)
        full_name, code = f"{self.operator.full_name}.{expr.name}", attribute.words.index(expr.word)
        word = i.Word(full_name, expr.word, code + 1)
        return i.Compare(relation, i.Var(attribute.word_name), word)

    def apply(self, expr: n.Apply) -> i.Expr:
        """A definition inlined: a plain or once-used argument in its place, others as locals."""
        definition = self.definitions[expr.name]
        if expr.name in self.bound:
            return i.Var(self.bound[expr.name])
        if expr.name in self.in_memory:
            indices = tuple((self.expr(argument), False) for argument in expr.arguments)
            return i.Access(expr.name, None, indices or ((i.ZERO, False),), expr.span)
        before = dict(self.renamed)
        arguments = [self.expr(argument) for argument in expr.arguments]
        with self.around(*arguments):
            bindings = self.parameters(definition, arguments)
            body = self.expr(definition.body)
        if definition.kind in (f.INT, f.REAL) and not isinstance(body, (i.Var, i.Const)):
            self.named.setdefault(body, expr.name)
        self.renamed = before
        for local, argument in reversed(bindings):
            body = i.Bind(local, argument, body)
            self.active.discard(local)
        return body

    def parameters(
        self, definition: f.Definition, arguments: list[i.Expr]
    ) -> list[tuple[str, i.Expr]]:
        """The locals for those arguments that do not stand in their parameters' places."""
        bindings: list[tuple[str, i.Expr]] = []
        for (name, kind), argument in zip(definition.parameters, arguments, strict=True):
            plain = isinstance(argument, (i.Var, i.Const)) or kind == LIST
            once = evaluation_count(definition.body, name) <= 1
            if plain or kind == BOOL or once or self.guarded(argument, name, definition.body):
                self.renamed[name] = argument
                continue
            local = self.fresh(name)
            self.active.add(local)
            bindings.append((local, argument))
            self.renamed[name] = i.Var(local)
        return bindings

    def guarded(self, argument: i.Expr, name: str, body: n.Expr) -> bool:
        """Whether an argument reads what may be there only where the body asks for it."""
        return (
            self.lazy
            and reads_optional(argument)
            and name not in sure_names(body, self.definitions)
        )


def is_attribute(expr: n.Expr) -> bool:
    """Whether an expression is a real attribute, or an entry of one: the host has it as it is."""
    match expr:
        case n.Ref(role=role) | n.Item(sequence=n.Ref(role=role)):
            return role in ("real", "reals")
        case _:
            return False


def reads_optional(expr: i.Expr) -> bool:
    """Whether a value is read that may not be there."""
    return has(expr, i.Access, i.Item, i.Part)


def entry_of(sequence: i.Expr, index: i.Expr, span: Span | None = None) -> i.Expr:
    """An entry of a list; of one that a comprehension makes, only this entry is made."""
    match sequence, index:
        case (
            i.Gather("list", element, (i.Over(name, i.Const(0), _),), None),
            i.Var() | i.Const(),
        ):
            return substitute(element, {name: index})
        case _:
            return i.Item(sequence, index, span)


def contains(element: i.Expr, members: i.Expr) -> i.Expr:
    """Whether a set has an element; of two sets, whether the one and not the other has it."""
    match members:
        case i.Binary(op="difference", left=left, right=right):
            return i.Logic("and", (contains(element, left), i.Not(contains(element, right))))
        case i.Binary(op="union", left=left, right=right):
            return i.Logic("or", (contains(element, left), contains(element, right)))
        case _:
            return i.Contains(element, members)


def without_identity(expr: i.Expr) -> i.Expr:
    """`(i for i in K)` is K."""
    match expr:
        case i.Gather(
            kind="list",
            element=i.Var(name=name),
            over=(i.Over(index=index, low=None, high=collection),),
            condition=None,
        ) if name == index and not isinstance(collection, i.Entries):
            return collection
        case _:
            return expr


def call_or_operation(function: str, arguments: tuple[i.Expr, ...], span: Span) -> i.Expr:
    """A call; `flatten_index` of entries and extents that are all written out is their sum, and
    functions of bits are operations, of which `bitnot` changes each bit."""
    match function, arguments:
        case "bitnot", (operand,):
            return i.Binary("bitxor", operand, i.Const(-1))
        case _, (left, right) if function in BITWISE:
            return i.Binary(function, left, right)
        case "flatten_index", (i.ListOf(entries=entries), i.ListOf(entries=sides)) if len(
            entries
        ) == len(sides) > 0 and not any(pack for _, pack in (*entries, *sides)):
            position = entries[0][0]
            for (entry, _), (side, _) in zip(entries[1:], sides[1:], strict=True):
                position = i.Binary("+", i.Binary("*", position, side), entry)
            return position
        case _:
            return i.Call(function, arguments, span)


def reads(part: object, name: str) -> int:
    """How often a part reads a definition; twice stands for often, as inside of loops."""
    match part:
        case n.Apply(name=found, arguments=arguments):
            return (found == name) + sum(reads(each, name) for each in arguments)
        case n.Reduction() | n.Listing() | n.SetOf() | n.Sorted():
            return 2 * sum(reads(each, name) for each in n.children(part))
        case _:
            return sum(reads(each, name) for each in n.children(part))

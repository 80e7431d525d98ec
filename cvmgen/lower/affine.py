"""Index lists that are affine in the entries of open packs: steps that the host computes once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.host import input_names, outputs, shape_name
from cvmgen.ir.logic import opposite
from cvmgen.ir.rewrite import renamed
from cvmgen.ir.uses import has, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, walk
from cvmgen.source import Span, SpecError

START = i.Const(0)


@dataclass(frozen=True, slots=True)
class OpenWalk:
    """A loop over a box that is open: the pack it binds, whole or at `slots`."""

    name: str  # of the loop
    pack: str  # of the formula
    extents: i.Expr
    slots: i.Expr | None


class AffineLists:
    """Host lists by name, and the offsets of index lists; `host` is what they need."""

    def __init__(self, program: i.Program) -> None:
        self.program = program
        self.host: list[i.Stmt] = []
        self.taken = set(names_in((program.prepare, tuple(nest.body for nest in program.nests))))
        for node in walk(program.prepare):
            if isinstance(node, i.Let):
                self.taken.add(node.name)
        self.taken |= input_names(program)
        self.lists: dict[i.Expr, str] = {}
        self.origins: dict[str, tuple[i.Expr, int | None]] = {}
        self.walks: list[OpenWalk] = []
        self.case: int | None = None
        self.indices: set[str] = set()
        self.locals: set[str] = set()  # what the nest at hand gives a value, or binds
        self.span: Span

    # -------------------------------------------------------- names for lists

    def fresh(self, name: str) -> str:
        return fresh(name, self.taken)

    def named(self, expr: i.Expr, hint: str) -> i.Var:
        """A host list by name; computed once where it has none."""
        if isinstance(expr, i.Var):
            return expr
        for output in outputs(self.program.prepare, self.case):
            if output.extents == expr:
                return i.Var(shape_name(output.tensor))
        if expr not in self.lists:
            if not self.is_host(expr):
                message = "the extents of this loop change with an outer index"
                told = f"({hint}) only several inputs may be walked so"
                raise SpecError(self.span, message, told)
            name = self.list_name(hint, expr)
            self.host.append(i.Let(name, "list", expr, self.span))
            self.lists[expr] = name
        return i.Var(self.lists[expr])

    def list_name(self, hint: str, expr: i.Expr) -> str:
        """A new name, or that of the same list in another case."""
        known = self.origins.get(hint)
        if known is not None and known[0] == expr and known[1] != self.case:
            return hint
        name = self.fresh(hint)
        self.origins[name] = (expr, self.case)
        return name

    def is_host(self, expr: i.Expr, index: str = "") -> bool:
        """Whether an expression can be computed before the nest: no index, no element."""
        if has(expr, i.Access, i.Load, i.Dot):
            return False
        own = {index, *names_given_values(expr)}
        return not names_in(expr) & (self.indices | self.locals) - own

    # -------------------------------------------------------- walks

    def whole_walk(self, value: i.Expr) -> OpenWalk | None:
        """The open loop whose whole multi-index `value` is."""
        for walked in self.walks:
            match value:
                case i.Var(name=name) if name == walked.pack and walked.slots is None:
                    return walked
                case i.Gather(
                    kind="list",
                    element=i.Item(sequence=i.Var(name=name), index=i.Var(name=at)),
                    over=(i.Over(index=index, low=None, high=places),),
                    condition=None,
                ) if name == walked.pack and at == index and places == walked.slots:
                    return walked
                case _:
                    continue
        return None

    def own_box(self, value: i.Expr) -> i.Expr:
        """What a multi-index runs over, as the formula says it; the index list where unknown."""
        match value, self.whole_walk(value):
            case i.Call(function="unflatten", arguments=(_, box)), _:
                return box
            case _, OpenWalk(extents=i.Var(name=name) as extents):
                return next((box for box, known in self.lists.items() if known == name), extents)
            case _:
                return value

    def length(self, value: i.Expr) -> i.Expr | None:
        """The length of an index list, as a host expression."""
        walked = self.whole_walk(value)
        if walked is not None:
            return i.Call("len", (walked.extents,))
        match value:
            case i.Gather(over=(i.Over(low=i.Const(value=0), high=high),), condition=None):
                return high
            case i.Gather(over=(i.Over(low=None, high=members),), condition=None):
                return i.Call("len", (members,))
            case _:
                return i.Call("len", (value,)) if self.is_host(value) else None

    def strides(self, tensor: str, box: i.Var) -> i.Var:
        return self.named(i.Call("strides", (box,)), f"{tensor}_strides")

    # -------------------------------------------------------- affine index lists

    def affine(
        self, tensor: str, value: i.Expr, box: i.Var, place: i.Expr = START
    ) -> i.Expr | None:
        """The offset of an index list that is affine in the entries of open packs."""
        entries = self.entries(value, box)
        if entries is None:
            return None
        over, element = entries
        strides = self.strides(tensor, box)
        at = algebra.simplify(i.Binary("+", place, i.Var(over.index)))
        stride = i.Item(strides, at)
        packs = {walked.pack for walked in self.walks if walked.pack in names_in(element)}
        if len(packs) > 1 or (over.low is None and packs == set()):
            return None
        pack = packs.pop() if packs else None
        if over.low is None:
            return self.listed(tensor, over, element, box, place, pack)
        return self.stepped(tensor, over, element, stride, pack)

    def entries(self, value: i.Expr, box: i.Var) -> tuple[i.Over, i.Expr] | None:
        """An index list as one expression for entry j: (over j, entry)."""
        match value:
            case i.Gather(kind="list", element=element, over=(i.Over() as over,), condition=None):
                if over.low is not None and over.low != i.Const(0):
                    return None
                return over, element
            case i.Var() | i.Part() if self.open_pack(value) is not None:
                length = self.pack_length(value, box)
                if length is None:
                    return None
                low = value.low if isinstance(value, i.Part) and value.low else i.Const(0)
                name = self.open_pack(value)
                assert name is not None
                at = algebra.simplify(i.Binary("+", low, i.Var("slot")))
                return i.Over("slot", i.Const(0), length), i.Item(i.Var(name), at)
            case _:
                return None

    def open_pack(self, value: i.Expr) -> str | None:
        sequence = value.sequence if isinstance(value, i.Part) else value
        if isinstance(sequence, i.Var) and any(w.pack == sequence.name for w in self.walks):
            return sequence.name
        return None

    def pack_length(self, value: i.Expr, box: i.Var) -> i.Expr | None:
        if isinstance(value, i.Part):
            high = value.high or self.whole_length(value.sequence)
            if high is None or value.low is None:
                return high
            return algebra.total([high, i.Binary("*", i.Const(-1), value.low)])
        return self.whole_length(value) or i.Call("len", (box,))

    def whole_length(self, value: i.Expr) -> i.Expr | None:
        """The length of a pack that one loop walks whole."""
        for walked in self.walks:
            if value == i.Var(walked.pack) and walked.slots is None:
                return i.Call("len", (walked.extents,))
        return None

    def listed(
        self,
        tensor: str,
        over: i.Over,
        element: i.Expr,
        box: i.Var,
        place: i.Expr,
        pack: str | None,
    ) -> i.Expr | None:
        """Entries taken over the members of a list: run over their positions instead."""
        members = self.named(over.high, "members") if self.is_host(over.high) else None
        if members is None:
            return None
        position = i.Over("slot", i.Const(0), i.Call("len", (members,)))
        chosen = rebuild(
            element,
            lambda node: i.Item(members, i.Var("slot")) if node == i.Var(over.index) else node,
        )
        at = algebra.simplify(i.Binary("+", place, i.Var("slot")))
        stride = i.Item(self.strides(tensor, box), at)
        return self.stepped(tensor, position, chosen, stride, pack)

    def stepped(
        self, tensor: str, over: i.Over, element: i.Expr, stride: i.Expr, pack: str | None
    ) -> i.Expr | None:
        """Steps of the pack's entries, and the constant part, from the entry for one slot."""
        host, self.host = self.host, []
        steps = self.fresh(f"{tensor}_steps") if pack is not None else ""
        base = f"{tensor}_base"
        self.indices.add(over.index)
        found = self.spread(element, steps, base, stride, over.index)
        self.indices.discard(over.index)
        filled, self.host = self.host, host
        if not found:
            self.taken.discard(steps)
            return None
        uses_base = has(tuple(filled), i.Accumulate)
        if uses_base:
            local = self.fresh(base)
            filled = list(renamed(tuple(filled), {base: local}))
            self.host.append(i.Let(local, "int", i.Const(0), self.span))
            base = local
        if pack is not None and self.is_strides(filled, steps, over, pack):
            self.taken.discard(steps)
            assert isinstance(stride, i.Item) and isinstance(stride.sequence, i.Var)
            steps = stride.sequence.name
        elif filled:
            if pack is not None:
                zeros = i.Call("zeros", (self.slots_of(pack),))
                self.host.append(i.Let(steps, "list", zeros, self.span))
            assert over.low is not None
            loop = i.Loop(over.index, over.low, over.high, tuple(filled), 0, self.span)
            self.host.append(loop)
        parts: list[i.Expr] = [i.Var(base)] if uses_base else []
        if pack is not None:
            parts.extend(self.dots(pack, steps, tensor))
        return algebra.total(parts)

    def is_strides(self, filled: list[i.Stmt], steps: str, over: i.Over, pack: str) -> bool:
        """Whether entry k of the list is entry k of the whole pack: the steps are the strides."""
        match filled:
            case [i.AddAt(name=name, index=i.Var(name=at), value=i.Item(index=i.Var(name=by)))]:
                return name == steps and at == by == over.index and self.covers(over.high, pack)
            case _:
                return False

    def covers(self, length: i.Expr, pack: str) -> bool:
        """Whether a list of this length has a place for every entry of a pack."""
        if any(walked.pack == pack and walked.slots is not None for walked in self.walks):
            return True  # The loops pick the places of their parts.
        return self.resolved(length) == self.resolved(self.slots_of(pack))

    def resolved(self, expr: i.Expr) -> i.Expr:
        """A host value with the definitions of the names in it."""
        values = {each.name: each.value for each in self.program.prepare if isinstance(each, i.Let)}

        def change(node: i.Expr) -> i.Expr:
            return values.get(node.name, node) if isinstance(node, i.Var) else node

        before = None
        while expr != before:
            before, expr = expr, rebuild(expr, change)
        return expr

    def slots_of(self, pack: str) -> i.Expr:
        """How many entries the pack can have."""
        for walked in self.walks:
            if walked.pack == pack and walked.slots is None:
                return i.Call("len", (walked.extents,))
        return i.Call("max_rank", ())

    def dots(self, pack: str, steps: str, tensor: str) -> Iterable[i.Expr]:
        for walked in self.walks:
            if walked.pack != pack:
                continue
            if walked.slots is None:
                yield i.Dot(walked.name, i.Var(steps))
                continue
            picked = i.Gather(
                "list",
                i.Item(i.Var(steps), i.Var("slot")),
                (i.Over("slot", None, walked.slots),),
                None,
            )
            suffix = walked.name.removeprefix(f"{pack}_")
            yield i.Dot(walked.name, self.named(picked, f"{tensor}_steps_{suffix}"))

    def spread(self, element: i.Expr, steps: str, base: str, stride: i.Expr, index: str) -> bool:
        """Add what one slot contributes; False when it is not affine."""
        match element:
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                if not self.is_host(condition, index):
                    return False
                outer, self.host = self.host, []
                good = self.spread(then, steps, base, stride, index)
                yes, self.host = self.host, []
                good = self.spread(otherwise, steps, base, stride, index) and good
                no, self.host = self.host, outer
                if good and (yes or no):
                    if yes:
                        self.host.append(i.If(condition, tuple(yes), tuple(no), self.span))
                    else:
                        self.host.append(i.If(opposite(condition), tuple(no), (), self.span))
                return good
            case _:
                return self.spread_linear(element, steps, base, stride, index)

    def spread_linear(
        self, element: i.Expr, steps: str, base: str, stride: i.Expr, index: str
    ) -> bool:
        packs = {walked.pack for walked in self.walks}
        items = [
            node
            for node in nodes_in(element, i.Item)
            if isinstance(node.sequence, i.Var) and node.sequence.name in packs
        ]
        found = algebra.linear(element, tuple(dict.fromkeys(items)), frozenset(packs))
        if found is None:
            return False
        coefficients, rest = found
        terms = [*coefficients.values(), rest, *(item.index for item in items)]
        if not all(self.is_host(term, index) for term in terms):
            return False
        for item, coefficient in coefficients.items():
            assert isinstance(item, i.Item)
            step = algebra.product([coefficient, stride])
            self.host.append(i.AddAt(steps, algebra.simplify(item.index), step, self.span))
        if rest != i.Const(0):
            term = algebra.product([rest, stride])
            self.host.append(i.Accumulate(base, "+", term, self.span))
        return True


def names_given_values(node: object) -> set[str]:
    """What statements and expressions give a value, or run over, other than by loops."""
    found = set()
    for each in walk(node):
        match each:
            case i.Let(name=name) | i.Bind(name=name) | i.Over(index=name) | i.OverPack(pack=name):
                found.add(name)
            case _:
                pass
    return found

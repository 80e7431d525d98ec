"""Inline functions: branches that do the same for known values of the call say it once.

Schedules make copies of loops for values that are usual, as for steps of 1, which compilers turn
into vector instructions. Where the last branch of a choice, with these values, is what the others
do, all become calls of one function, of which compilers make a copy for each call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from cvmgen.algebra import simplify_node
from cvmgen.analysis.plan import fields_read, plan_fields
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.kernel_fault import kernel_fault
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.remember import remembered
from cvmgen.ir.rewrite import inner_blocks, renamed, with_blocks
from cvmgen.ir.uses import all_names, assigned, carried, has, made_in, stored_tensors, uses
from cvmgen.ir.visit import fresh, rebuild, substitute, walk
from cvmgen.schedule.generic import unsound_family
from cvmgen.schedule.kernels import Family, Inlined, InlineFunction, Kernels, nest_name
from cvmgen.schedule.outline import OWN, captured_local
from cvmgen.typing.choices import used_tensors

Values = Mapping[str, i.Expr]
WORTHWHILE = 45
"""So many nodes of a branch are not said again; fewer are as quick to read as a call."""


def with_inline_functions(kernels: Kernels) -> Kernels:
    """The families of kernels with calls of inline functions for what their branches share."""
    program = kernels.program
    functions = {nest_name(program, number) for number in range(len(program.nests))}
    functions |= {part.name for each in kernels.kernels for part in each.parts}
    return replace(
        kernels,
        families=tuple(inlined_family(kernels, each, functions) for each in kernels.families),
    )


def inlined_family(kernels: Kernels, family: Family, functions: set[str]) -> Family:
    """A family whose kernels call inline functions, if they have some; `functions` are names that
    these may not have."""
    inliner = Inliner(kernels, family, functions | all_names(family.bodies))
    outlined = inliner.block(family.outlined, {})
    parts = []
    for part in family.parts:
        given = {each.name: each for each in part.captures if each.kind not in ("plan", "tensor")}
        counts = (i.Capture(part.own[each], "value", "i64") for each in OWN)
        own = {each.name: each for each in counts}
        body = replace(inliner, in_threads=True).block(part.body, {**own, **given})
        parts.append(part.with_body(body))
    if not inliner.made:
        return family
    return replace(family, inlined=Inlined(outlined, tuple(parts), tuple(inliner.made)))


@dataclass(frozen=True, slots=True)
class Inliner:
    """Finds what branches of a family's bodies share; `made` are the functions for it so far,
    `taken` names that are not free."""

    kernels: Kernels
    family: Family
    taken: set[str]
    in_threads: bool = False
    made: list[InlineFunction] = field(default_factory=list)

    def block(self, body: i.Block, around: Mapping[str, i.Capture]) -> i.Block:
        """Statements, where the locals `around` are there."""
        scope, done = dict(around), list[i.Stmt]()
        for each in body:
            within = scope
            if isinstance(each, i.Loop):
                within = {**scope, each.index: i.Capture(each.index, "value", each.type)}
            shared = self.choice(each, scope) if isinstance(each, i.If) else None
            done.append(shared or with_blocks(each, partial(self.block, around=within)))
            if isinstance(each, i.Let | i.Array):
                scope[each.name] = captured_local(each.name, each, frozenset(), set())
        return tuple(done)

    def choice(self, choice: i.If, scope: Mapping[str, i.Capture]) -> i.If | None:
        """A choice whose branches call one function, where what is behind one of them is what it
        does for values that are not known."""
        branches = [*branches_in_order(choice)]
        known = [equalities(each.condition) for each in branches]
        for at, each in enumerate(branches):
            general = each.otherwise
            if uses(general).nodes >= WORTHWHILE and does(general, known[at], each):
                break
        else:
            return None
        pairs = [*zip(branches[: at + 1], known, strict=False)]
        calling = [values if does(general, values, each) else {} for each, values in pairs]
        names = tuple(dict.fromkeys(name for values in calling for name in values))
        if not may_be_function(general, names, scope):
            return None
        function = self.function(general, names, scope)
        result: i.Block = (self.call(function, {}, choice),)
        for (each, _), values in reversed([*zip(pairs, calling, strict=True)]):
            then = (self.call(function, values, each),) if values else self.block(each.then, scope)
            result = (replace(each, then=then, otherwise=result),)
        (whole,) = result
        return whole if isinstance(whole, i.If) else None

    def function(
        self,
        body: i.Block,
        parameters: tuple[str, ...],
        scope: Mapping[str, i.Capture],
    ) -> InlineFunction:
        """The function for statements, one that there is or a new one."""
        captures = tuple(self.captures(body, parameters, scope))
        made = InlineFunction("", parameters, captures, body, self.in_threads)
        for each in self.made:
            if replace(each, name="") == made:
                return each
        nest = nest_name(self.kernels.program, self.family.kernels[0].number)
        made = replace(made, name=fresh(f"{nest}_branch", self.taken))
        self.made.append(made)
        return made

    def captures(
        self, body: i.Block, parameters: Collection[str], scope: Mapping[str, i.Capture]
    ) -> Iterator[i.Capture]:
        """What statements have from around them beside parameters: the plan, tensors, locals."""
        program = self.kernels.program
        read = fields_read(plan_fields(program), program.operator, body)
        if {each.name for each in read} - {*parameters}:
            yield i.Capture("plan", "plan")
        used, made, written = all_names(body), made_in(body), stored_tensors(body)
        kernel, kept = self.family.kernels[0], (each.array for each in self.family.kept)
        for tensor in (*used_tensors(program, kernel.nest), h.NOTED, *kept):
            if tensor in used:
                yield i.Capture(tensor, "tensor")
        for name, capture in scope.items():
            if name in used and name not in made and name not in parameters:
                yield replace(capture, constant=name not in written, copy="")

    def call(self, function: InlineFunction, values: Values, branch: i.If) -> i.CallInline:
        given = tuple(values.get(each, i.Var(each)) for each in function.parameters)
        return i.CallInline(function.name, function.captures, given, branch.span)


# ---------------------------------------------------------------- branches


def branches_in_order(choice: i.If) -> Iterator[i.If]:
    """The branches of a choice, each with those behind it."""
    yield choice
    match choice.otherwise:
        case (i.If() as other,):
            yield from branches_in_order(other)
        case _:
            pass


def may_be_function(
    body: i.Block, parameters: tuple[str, ...], scope: Mapping[str, i.Capture]
) -> bool:
    """Whether statements change nothing around them and leave nothing but loops of their own."""
    kept = carried(body).isdisjoint(scope) and assigned(body).isdisjoint(parameters)
    whole = all(scope[each].type == "i64" for each in parameters if each in scope)
    return kept and whole and not has(body, i.Break, i.Return, i.Fork, i.Barrier)


def equalities(condition: i.Expr) -> Values:
    """The values of names that a condition asks for, where it asks for nothing else."""
    found: dict[str, i.Expr] = {}
    for each in conjuncts(condition):
        match each:
            case i.Compare(op="==", left=i.Var(name=name), right=i.Const() as value):
                found[name] = value
            case _:
                return {}
    return found


def does(general: i.Block, values: Values, branch: i.If) -> bool:
    """Whether a branch does the same as other statements with some values, if there are some."""
    return bool(values) and same_but_for_names(substitute(general, values), branch.then)


def same_but_for_names(one: i.Block, other: i.Block) -> bool:
    """Whether statements do the same, by other names for their locals."""
    return one is other or in_order(one) == in_order(other)


def in_order(body: i.Block) -> i.Block:
    """Simplified statements, with names by the order in which these are made."""
    names: dict[str, str] = {}
    for each in walk(body):
        match each:
            case i.Let(name=name) | i.Array(name=name) | i.Loop(index=name):
                names.setdefault(name, f"{h.OURS}{len(names)}")
            case _:
                pass
    simplified: i.Block = rebuild(renamed(body, names), simplify_node)
    return simplified


# ---------------------------------------------------------------- verification


def unsound_families(kernels: Kernels) -> Iterator[str]:
    """What does not hold of the families of kernels: their bodies and their inline functions."""
    for each in (*kernels.families, *kernels.tile_families):
        yield from (*unsound_family(each), *unsound_inline(each))


@remembered
def unsound_inline(family: Family) -> tuple[str, ...]:
    """What of a family's bodies its calls of inline functions do not say, and what these read that
    nothing gives them."""
    return tuple(_found_unsound(family))


def _found_unsound(family: Family) -> Iterator[str]:
    found = family.inlined
    if found is None:
        return
    functions = {each.name: each for each in found.functions}
    own = (found.outlined, *(each.body for each in found.parts))
    for with_calls, body in zip(own, family.bodies, strict=True):
        if not says(functions, with_calls, body):
            yield f"the calls of {', '.join(functions)} are not what branches do"
    outside = family.kernels[0].subject.outside.names
    for each in found.functions:
        tensors = {capture.name for capture in each.captures if capture.kind == "tensor"}
        given = {capture.name for capture in each.captures} - tensors
        if fault := kernel_fault(each.body, {*outside, *given, *each.parameters}, tensors):
            yield f"{each.name}: {fault}"


def says(functions: Mapping[str, InlineFunction], block: i.Block, body: i.Block) -> bool:
    """Whether a block with calls does what another one does without."""
    match block:
        case (i.CallInline(function=name, values=values),):
            function = functions[name]
            given = dict(zip(function.parameters, values, strict=True))
            return same_but_for_names(substitute(function.body, given), body)
        case _:
            pairs: Sequence[tuple[i.Stmt, i.Stmt]] = [*zip(block, body, strict=False)]
            return len(block) == len(body) and all(says_one(functions, *each) for each in pairs)


def says_one(functions: Mapping[str, InlineFunction], one: i.Stmt, other: i.Stmt) -> bool:
    """The same of a statement."""
    inner = [*zip(inner_blocks(one), inner_blocks(other), strict=False)]
    if one.__class__ is not other.__class__ or not inner:
        return one == other
    alone, other_alone = (with_blocks(each, lambda _: ()) for each in (one, other))
    return alone == other_alone and all(says(functions, *each) for each in inner)

"""`specialise`, `version`, `unswitch`: copies of loops for what is known only in a call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from cvmgen import algebra
from cvmgen.analysis.definedness import is_defined
from cvmgen.analysis.dependences import Locals
from cvmgen.analysis.facts import Facts
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction
from cvmgen.ir.rewrite import renamed, with_offsets
from cvmgen.ir.uses import assigned, has, names_in, nodes_in
from cvmgen.ir.visit import fresh, substitute, walk
from cvmgen.schedule.forms import Use
from cvmgen.schedule.measures import enough, known_outcome
from cvmgen.schedule.rewriting import loops
from cvmgen.schedule.subject import Subject

StepValues = Mapping[str, i.Expr]
Version = tuple[list[i.Expr], i.Loop]
"""A copy of a loop, and the tests that it runs behind."""


def specialise(subject: Subject, use: Use) -> Subject:
    """Copies of loops for the steps 1 and 0, the usual ones, in front of the loop for all others;
    or for a step that is named.

    Between neighbours and for an element that stays the same compilers know vector instructions,
    but not for a loop that may end early. Legal for every loop: a copy runs where its steps are
    those of the call.
    """
    names, extents = set(use.loops(subject, 0)), trip_names(subject.body)
    usual = i.ONE if len(use.given) == 1 else i.Const(use.number(1))

    def change(loop: i.Loop) -> i.Block | None:
        if has(loop.body, i.Break):
            return None
        result: i.Stmt = loop
        found = step_variants(loop, extents, usual)
        possible = [each for each in found if not impossible(each, subject.facts)]
        if not possible:
            return None
        for values in reversed(possible):
            result = i.If(equals(values), (with_steps(loop, values),), (result,), loop.span)
        return (result,)

    return subject.with_loops(names, change)


def beside(subject: Subject, use: Use) -> Subject:
    """A copy of a loop for neighbours: each iteration reads beside what the last one read.

    Legal for every loop: the copy runs where that is so and there are enough iterations. What the
    index is divided by is 1 there, and the only loop in the loop has one iteration. Where what is
    read once for each result lies elsewhere, what is combined decides.
    """

    extents = trip_names(subject.body)

    def neighbours(loop: i.Loop) -> Version | None:
        inner, one = without_inner(loop)
        whole = {**one, **divisors(inner)}
        inner = with_steps(inner, whole)
        swept = tuple(each for each in inner.body if isinstance(each, (i.Loop, i.If)))
        parts = (inner, replace(inner, body=swept))
        read = (all_steps(each, extents, stores=False) for each in parts)
        steps = next((each for each in read if each is not None), [])
        if not any(each != i.ZERO for each in steps):
            return None
        open_steps = {each.name: i.ONE for each in steps if isinstance(each, i.Var)}
        return tests({**whole, **open_steps}), with_steps(inner, open_steps)

    return versioned(subject, use, neighbours)


def without_inner(loop: i.Loop) -> tuple[i.Loop, StepValues]:
    """A loop without the only loop in it, and how often that runs then."""
    match loop.body:
        case (i.Loop(low=i.Const(value=0), high=i.Var(name=count), step=1) as inner,) if (
            count not in assigned((loop,)) and not has(inner.body, i.Break)
        ):
            body = substitute(inner.body, {inner.index: i.ZERO})
            return replace(loop, body=body), {count: i.ONE}
        case _:
            return loop, {}


def version(subject: Subject, use: Use) -> Subject:
    """A copy of loops that runs where they have enough iterations.

    Legal for every loop: the copy does the same.
    """
    return versioned(subject, use, lambda loop: ([], loop))


def versioned(subject: Subject, use: Use, special: Callable[[i.Loop], Version | None]) -> Subject:
    """The outermost loops of a role as a choice of two; the first takes names of its own."""
    names, role = set(use.loops(subject, 0)), use.roles(1)[0]
    used, arrays = subject.taken, Locals.of(subject.body).arrays
    made: dict[str, None] = {}

    def change(loop: i.Loop) -> i.Block | None:
        if any(makes_neighbours(each, arrays) for each in walk(loop.body)):
            return (loop,)  # it has the form that it should have
        found = special(loop)
        if found is None:
            return None
        needed, copy = found
        found_in = dict.fromkeys(each.index for each in loops((loop,), names))
        worth = enough(subject, loop, use.test(2))
        match known_outcome(worth), needed:
            case False, _:
                return None
            case True, []:
                made.update(found_in)
                return (loop,)
            case _:
                pass
        new = {each: fresh(f"{each}_{role}", used) for each in found_in}
        made.update(dict.fromkeys(new.values()))
        test = conjunction([*needed, worth])
        return (i.If(test, renamed((copy,), new), (loop,), loop.span),)

    return subject.with_loops(names, change).with_roles({role: tuple(made)})


def makes_neighbours(node: object, arrays: Collection[str]) -> bool:
    """Whether results of neighbours are made at once: by vectors, or in an array of totals."""
    match node:
        case i.Loop(vector=vector):
            return vector != ""
        case i.Store(target=i.Load(tensor=tensor)):
            return tensor in arrays
        case _:
            return False


def unswitch(subject: Subject, use: Use) -> Subject:
    """The only choice in a loop goes around the loop, what comes behind it into both branches.

    Legal where the choice does not vary in the loop, reads no element, and has an answer even where
    the loop has no iteration; others stay.
    """

    def change(loop: i.Loop) -> i.Block | None:
        choices = [each for each in loop.body if isinstance(each, i.If)]
        if len(choices) != 1 or not keeps_condition(loop, choices[0].condition):
            return (loop,)
        (choice,) = choices
        at = loop.body.index(choice)
        then, otherwise = (
            (*loop.body[:at], *branch, *loop.body[at + 1 :])
            for branch in (choice.then, choice.otherwise)
        )
        idle = all(isinstance(each, i.Let) for each in otherwise)
        rest = () if idle else (replace(loop, body=otherwise),)
        return (replace(choice, then=(replace(loop, body=then),), otherwise=rest),)

    return subject.with_loops(use.loops(subject, 0), change, inner_first=True)


def keeps_condition(loop: i.Loop, condition: i.Expr) -> bool:
    return not names_in(condition) & assigned((loop,)) and is_defined(condition)


# ---------------------------------------------------------------- steps


def step_variants(
    loop: i.Loop, extents: Collection[str], usual: i.Expr = i.ONE
) -> Iterator[StepValues]:
    """The values of open steps that get a loop of their own: all the usual one; besides 1, one
    of them 0, where what is read in every iteration is stored."""
    sources = all_steps(loop, extents, stores=False)
    targets = all_steps(loop, extents, stores=True)
    if sources is None or targets is None:
        return
    read = [each.name for each in sources if isinstance(each, i.Var)]
    stored = [each.name for each in targets if isinstance(each, i.Var)]
    names = list(dict.fromkeys([*stored, *read]))
    if not names:
        return
    ones: dict[str, i.Expr] = dict.fromkeys(names, usual)
    yield ones
    for each in read if targets and usual == i.ONE else ():
        if each not in stored:
            yield ones | {each: i.ZERO}


def impossible(values: StepValues, facts: Facts) -> bool:
    """Whether a value is 0 for what never is."""
    return any(value == i.ZERO and facts.positive(i.Var(name)) for name, value in values.items())


def all_steps(loop: i.Loop, extents: Collection[str], *, stores: bool) -> list[i.Expr] | None:
    """How far apart neighbouring iterations read, or store: 0, 1 or a name; None for others.

    The name of an extent is none of these: it is hardly ever 1.
    """
    places = list(stores_in(loop) if stores else loads_in(loop))
    found: dict[i.Expr, None] = {}
    inner = assigned(loop.body)
    derived = {
        each.name for each in nodes_in(loop.body, i.Let) if loop.index in names_in(each.value)
    }
    for place in places:
        line = algebra.line(place.offset, loop.index)
        if line is None or names_in(place.offset) & derived:
            return None
        step = line.step
        open_step = isinstance(step, i.Var) and step.name not in inner and step.name not in extents
        if step not in (i.ZERO, i.ONE) and not open_step:
            return None
        found[step] = None
    return list(found)


def trip_names(body: i.Block) -> frozenset[str]:
    """The names that say how often loops run."""
    return names_in(tuple(each.high for each in nodes_in(body, i.Loop)))


def stores_in(node: object) -> Iterator[i.Load]:
    """The elements that are stored."""
    for each in walk(node):
        match each:
            case i.Store(target=i.Load() as place):
                yield place
            case _:
                pass


def loads_in(node: object) -> Iterator[i.Load]:
    """The elements that are read; the places of stores only say where."""
    for each in walk(node):
        match each:
            case i.Store(target=i.Load(offset=offset), value=value):
                yield from (
                    load
                    for part in (offset, value)
                    for load in walk(part)
                    if isinstance(load, i.Load)
                )
            case i.Let(value=value) | i.Assign(value=value) | i.Accumulate(value=value):
                yield from nodes_in(value, i.Load)
            case i.If(condition=value) | i.Loop(high=value):
                yield from nodes_in(value, i.Load)
            case _:
                pass


def tests(values: StepValues) -> list[i.Expr]:
    return [i.Compare("==", i.Var(name), value) for name, value in values.items()]


def equals(values: StepValues) -> i.Expr:
    return conjunction(tests(values))


def divisors(loop: i.Loop) -> StepValues:
    """Values of the host that the index is divided by in places, which are 1 for neighbours."""
    inner = assigned((loop,))
    found: dict[str, i.Expr] = {}
    for each in (*loads_in(loop), *stores_in(loop)):
        for quotient in nodes_in(each.offset, i.Binary):
            match quotient:
                case i.Binary(
                    op="truncdiv" | "floordiv", left=i.Var(name=index), right=i.Var(name=divisor)
                ) if index == loop.index and divisor not in inner:
                    found[divisor] = i.ONE
                case _:
                    pass
    return found


def with_steps(loop: i.Loop, values: StepValues) -> i.Loop:
    """The loop with values for steps."""
    return with_offsets(loop, partial(known_place, values)) if values else loop


def known_place(values: StepValues, offset: i.Expr) -> i.Expr:
    """A place where these values are known."""
    return algebra.simplify(substitute(offset, values))

"""Schedules of a model's steps: what kernels are, and what the actions for them decide.

Shapes are known, and kernels are perfectly nested: an action decides how one is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.model.kernels import Kernel, Loops
from cvmgen.model.products import Product
from cvmgen.schedule.book import Plan, Schedules
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Roles

PRODUCTS = 16  # of a tile, which take as long as a statement for a result


@dataclass(frozen=True, slots=True)
class Nest:
    """A kernel as one of a class: what its loops are called there, which of them are the kernel's,
    and what its measures are."""

    shape: str
    roles: Roles
    loops: Loops
    measures: Mapping[str, int]
    place: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.loops)


@dataclass(frozen=True, slots=True)
class Decisions:
    """How a kernel is written: `merged` and `shared` are loops, `parts` how many parts of the
    shared ones are worth a thread's while, `terms` those of a sum that is written out at most; each
    action says what it decided, for people."""

    plan: Plan | None = None
    nest: Nest | None = None
    fused: bool = False
    tiled: bool = False
    merged: frozenset[str] = frozenset()
    expanded: bool = False
    inside: bool = False
    terms: int = 0
    vector: bool = False
    shared: frozenset[str] = frozenset()
    parts: int = 0
    told: tuple[tuple[Use, str], ...] = field(default=())

    def story(self, made: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """The class, its roles, and what each action decided, or, where `made` says it, what it
        became."""
        if self.plan is None or self.nest is None:
            yield "no schedule"
            return
        yield f"{self.plan.schedule.shape.text}, by {self.plan.schedule.span.location}"
        extents = dict(self.nest.loops)
        for role, names in self.nest.roles.items():
            shown = (f"{plain(each)} {extents.get(each, '')}".rstrip() for each in names)
            yield f"  {role}: {', '.join(shown) or 'none'}"
        for use, text in self.told:
            yield use.action.span.text
            yield from (f"  {line}" for line in made.get(use.action.name, (text,)))


def decided(nests: Sequence[Nest], schedules: Schedules) -> Decisions:
    """What the schedule of the first of the classes that has one decides of a kernel; SpecError for
    what may not be done to it."""
    for nest in nests:
        plan = schedules.plans.get(("model", nest.shape))
        if plan is None:
            continue
        found = Decisions(plan, nest)
        for use in plan.uses:
            action = ACTIONS.get(use.action.name)
            if action is None:
                raise InternalError(f"models have no action '{use.action.name}'")
            found, text = action(nest, use, found)
            found = replace(found, told=(*found.told, (use, text)))
        return found
    return Decisions()


# ---------------------------------------------------------------- what kernels are


def place_of(kernel: Kernel) -> str:
    return kernel.origins[0].location if kernel.origins else kernel.operator.span.location


def names(loops: Loops) -> tuple[str, ...]:
    return tuple(name for name, _ in loops)


def measured(kernel: Kernel) -> Mapping[str, int]:
    return {"results": kernel.iterations, "work": kernel.iterations * weight(kernel.body)}


def weight(body: tuple[i.Stmt, ...]) -> int:
    """About how many statements an iteration takes."""
    total = 0
    for each in body:
        match each:
            case i.Loop(low=i.Const(value=low), high=i.Const(value=high), body=inner):
                total += (int(high) - int(low)) * weight(inner)
            case i.If(then=then, otherwise=otherwise):
                total += max(weight(then), weight(otherwise))
            case _:
                total += 1
    return max(total, 1)


def product_nest(kernel: Kernel, made: Product) -> Nest:
    """A kernel that a register tile can compute."""
    products = kernel.iterations * prod(extent for _, extent in made.summed)
    work = kernel.iterations * weight(made.after) + products // PRODUCTS
    measures = {"results": kernel.iterations, "work": work}
    roles = {
        "outer": names(kernel.loops),
        "batches": names(made.batches),
        "rows": names(made.rows),
        "columns": names((made.column,)),
        "summed": names(made.summed),
    }
    return Nest("contraction", roles, kernel.loops, measures, place_of(kernel))


def reduction_nest(kernel: Kernel, total: str, summed: Sequence[str]) -> Nest:
    """A kernel whose last loop can go inside its reduction."""
    loops = names(kernel.loops)
    roles = {
        "outer": loops[:-1],
        "results": loops[-1:],
        "totals": (total,),
        "summed": tuple(summed),
    }
    return Nest("reduction", roles, kernel.loops, measured(kernel), place_of(kernel))


def elementwise_nest(kernel: Kernel) -> Nest:
    loops = names(kernel.loops)
    roles = {"outer": loops, "inner": loops[-1:]}
    return Nest("elementwise", roles, kernel.loops, measured(kernel), place_of(kernel))


def other_nest(kernel: Kernel) -> Nest:
    roles = {"outer": names(kernel.loops)}
    return Nest("other", roles, kernel.loops, measured(kernel), place_of(kernel))


# ---------------------------------------------------------------- actions

Action = Callable[[Nest, Use, Decisions], tuple[Decisions, str]]


def loops_of(nest: Nest, use: Use, at: int = 0) -> tuple[str, ...]:
    """The loops that an operand names."""
    return tuple(name for role in use.roles(at) for name in nest.roles[role])


def shown(loops: Sequence[str]) -> str:
    """Loops for people."""
    return f"the loop {plain(loops[-1])}" if loops else "no loop"


def plain(name: str) -> str:
    """A name as it is printed."""
    return name.split(".")[0]


def fuse(nest: Nest, use: Use, so_far: Decisions) -> tuple[Decisions, str]:
    if nest.shape != "elementwise":
        use.refuse(
            f"only what goes element by element can join what makes its elements ({nest.place})",
            "fuse nests of the class elementwise",
        )
    return replace(so_far, fused=True), "joins what makes its elements, where one nest does"


def tile(nest: Nest, use: Use, so_far: Decisions) -> tuple[Decisions, str]:
    if nest.shape != "contraction":
        use.refuse(f"only a sum of products of two inputs has tiles ({nest.place})")
    if set(loops_of(nest, use)) != {*nest.roles["rows"], *nest.roles["columns"]}:
        use.refuse("a tile has all rows and all columns", "name both roles: tile rows, columns")
    if len(use.given) > 2 and not holds(nest, use, 2):
        return so_far, f"is not worth it: {compared(nest, use, 2)}"
    return replace(so_far, tiled=True), "blocks of totals"


def merge(nest: Nest, use: Use, so_far: Decisions) -> tuple[Decisions, str]:
    merged = so_far.merged | frozenset(loops_of(nest, use))
    return replace(so_far, merged=merged), "what walks memory without a gap is one loop"


def expand(nest: Nest, use: Use, so_far: Decisions) -> tuple[Decisions, str]:
    """Legal where a loop begins the local itself: that is the one over results."""
    if not nest.loops or loops_of(nest, use, 1) != nest.roles.get("results"):
        use.refuse(
            f"{shown(loops_of(nest, use, 1))} does not begin a total of its own in each iteration "
            f"({nest.place})",
            "expand totals over results",
        )
    if loops_of(nest, use) != nest.roles.get("totals"):
        use.refuse(f"only totals grow side by side ({nest.place})", "expand totals over results")
    text = f"{nest.loops[-1][1]} totals side by side"
    return replace(so_far, expanded=True), text


def reorder(nest: Nest, use: Use, so_far: Decisions) -> tuple[Decisions, str]:
    """Legal where each result of the inner loop has a total of its own."""
    outer, inner = loops_of(nest, use, 0), loops_of(nest, use, 1)
    if (outer, inner) != (nest.roles.get("summed"), nest.roles.get("results")):
        use.refuse(
            f"of these loops the first does not stand right in the second ({nest.place})",
            "reorder summed, results",
        )
    if not so_far.expanded:
        use.refuse(
            f"the loop {plain(inner[-1])} carries {plain(nest.roles['totals'][0])}, which comes "
            f"out otherwise in another order ({nest.place})",
            "expand what it carries",
        )
    return replace(so_far, inside=True), f"{plain(inner[-1])} goes inside the sum"


def unroll(nest: Nest, use: Use, so_far: Decisions) -> tuple[Decisions, str]:
    if loops_of(nest, use) != nest.roles.get("summed"):
        use.refuse(f"only whole sums are written out ({nest.place})", "unroll summed")
    return replace(so_far, terms=use.copies(1)), f"sums of at most {use.number(1)} terms"


def vectorise(nest: Nest, use: Use, so_far: Decisions) -> tuple[Decisions, str]:
    """The compiler finds the loops; what is decided is for which processors it looks."""
    independent(nest, use, "side by side")
    use.vector_bytes(1)
    return replace(so_far, vector=True), "compiled for each level of vector instructions"


def parallelise(nest: Nest, use: Use, so_far: Decisions) -> tuple[Decisions, str]:
    chosen = independent(nest, use, "in parallel")
    if not chosen:
        return so_far, "one thread: there is no such loop"
    shared = so_far.shared | frozenset(chosen)
    if len(use.given) == 1:
        return replace(so_far, shared=shared, parts=nest.measures["results"]), "all threads: always"
    if not holds(nest, use, 1):
        return so_far, f"one thread: {compared(nest, use, 1)}"
    measure, least = use.test(1)
    parts = max(2, nest.measures[measure] // least)
    return replace(so_far, shared=shared, parts=parts), f"all threads: {compared(nest, use, 1)}"


def independent(nest: Nest, use: Use, how: str) -> tuple[str, ...]:
    """The loops that an action names; refused unless they are the kernel's, of which no two
    iterations write the same element."""
    chosen = loops_of(nest, use)
    for name in chosen:
        if name not in nest.names:
            use.refuse(
                f"the loop {plain(name)} carries a total from one iteration to the next: its "
                f"iterations cannot run {how} ({nest.place})",
                f"{use.action.name} loops around it",
            )
    return chosen


def holds(nest: Nest, use: Use, at: int) -> bool:
    measure, least = use.test(at)
    return nest.measures[measure] >= least


def compared(nest: Nest, use: Use, at: int) -> str:
    """How a test comes out."""
    measure, least = use.test(at)
    relation = ">=" if holds(nest, use, at) else "<"
    return f"{measure} {nest.measures[measure]} {relation} {least}"


ACTIONS: Mapping[str, Action] = {
    "fuse": fuse,
    "tile": tile,
    "merge": merge,
    "expand": expand,
    "reorder": reorder,
    "unroll": unroll,
    "vectorise": vectorise,
    "parallelise": parallelise,
}

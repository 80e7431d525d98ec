"""The pass `arrays`: nests as operations on whole arrays, for numpy.

Free indices become axes; what is left stays a loop of Python. A nest that arrays do not express,
such as one that makes sets of elements, becomes loops over Python's own integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from cvmgen.analysis.moved import moved_inputs
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.host import host_types
from cvmgen.ir.rewrite import with_blocks
from cvmgen.ir.uses import assigned, has, names_in, nodes_in
from cvmgen.ir.visit import rebuild
from cvmgen.lower.array_scope import NestScope, NotAnArray, OneByOne, tensor_itself
from cvmgen.lower.array_statements import Statements, perfect_loops_and_body
from cvmgen.lower.guards import place_guards
from cvmgen.lower.idioms import with_idioms
from cvmgen.lower.scans import NEUTRAL, Scan, scan_of
from cvmgen.lower.unfold import unfold_bindings, unfold_nests
from cvmgen.lower.widths import Width, Widths, host_ranges, nest_width
from cvmgen.ranges import Range

Ranges = Mapping[str, Range | None]


def whole_arrays(program: i.Program) -> i.Program:
    """Nests become operations on whole arrays, or loops where these do not express them."""
    ranges = host_ranges(program)
    scratch = tuple(in_arrays(program, each, ranges) for each in program.scratch)
    program = replace(program, scratch=scratch)
    nests = tuple(
        replace(nest, body=of_arrays(program, nest, ranges) or of_loops(program, nest))
        for nest in program.nests
    )
    return replace(program, nests=nests, moved=moved_inputs(program))


def in_arrays(program: i.Program, memory: i.Scratch, ranges: Ranges) -> i.Scratch:
    """The memory of a `let` whose integers int64 may not hold is of Python's own."""
    if memory.kind != "int":
        return memory
    (nest,) = (each for each in program.nests if each.tensor == memory.name)
    widths = Widths(program, with_idioms(program, nest, ranges), ranges)
    widths.largest()
    return memory if widths.kept[memory.name].fits(64) else replace(memory, kind="object")


# ---------------------------------------------------------------- one nest


def of_arrays(program: i.Program, nest: i.Nest, ranges: Ranges) -> i.Block | None:
    """What a nest is as operations on arrays; None where they do not express it.

    Indices on each of whose values something depends are found on the way, and tried again as
    loops of Python.
    """
    if (scan := scan_of(program, nest)) is not None:
        body = _accumulated(program, nest, scan, ranges)
        if body is not None:
            return body
    simple = step_by_step(program, with_idioms(program, nest, ranges))
    width = nest_width(program, simple, ranges)
    single = steps_of(program, nest)
    while True:
        scope = NestScope(program, simple, width.name, single)
        try:
            Statements(scope).block(simple.body)
        except OneByOne as found:
            if found.names <= single:  # loops that depend on each other
                return None
            single |= found.names
        except NotAnArray:
            return None
        else:
            return nest_epilogue(scope, width)


ACCUMULATED = {"+": "add", "*": "multiply", "max": "maximum", "min": "minimum"}


def _accumulated(program: i.Program, nest: i.Nest, scan: Scan, ranges: Ranges) -> i.Block | None:
    """The terms of a running reduction as arrays, and what numpy accumulates of them in place.

    numpy goes from each to the next, in order. Its extremes of real numbers are not ours: of -0 and
    +0 it may give either.
    """
    memory, target = program.lets[nest.tensor], scan.store.target
    if memory.kind != "int" and not (memory.kind == "real" and scan.op in ("+", "*")):
        return None
    assert isinstance(target, i.Access) and memory.axis is not None
    value = scan.term
    if scan.start not in (None, NEUTRAL.get(scan.op)):
        begins = i.Compare("==", i.Var(scan.loops[-1].index), i.ZERO)
        value = i.Select(begins, _combined(scan.op, value, scan.start), value)
    body: i.Block = (replace(scan.store, value=value),)
    order = [place for place, _ in target.index]
    for loop in sorted(scan.loops, key=lambda each: -order.index(i.Var(each.index))):
        body = (replace(loop, body=body),)
    terms = with_idioms(program, replace(nest, body=body), ranges)
    if (width := nest_width(program, terms, ranges)).name not in ("int32", "int64"):
        return None
    scope = NestScope(program, terms, width.name, frozenset())
    try:
        Statements(scope).block(terms.body)
    except (OneByOne, NotAnArray):
        return None
    own = tensor_itself(nest.tensor)
    call = i.Call(f"np.{ACCUMULATED[scan.op]}.accumulate", (own, i.Const(memory.axis)))
    return (*nest_epilogue(scope, width, whole=True), a.Into(call, own, False, span=nest.span))


def _combined(op: str, left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Binary(op, left, right) if op in ("+", "*") else i.Call(op, (left, right))


def steps_of(program: i.Program, nest: i.Nest) -> frozenset[str]:
    """The index along which a recurrence goes from element to element."""
    memory = program.lets.get(nest.tensor)
    if memory is None or memory.axis is None:
        return frozenset()
    return frozenset({program.operator.definition(nest.tensor).parameters[memory.axis][0]})


def step_by_step(program: i.Program, nest: i.Nest) -> i.Nest:
    """A recurrence with its steps outermost: one of them is made for all other indices at once."""
    steps, body = steps_of(program, nest), nest.body
    if not steps:
        return nest
    loops: list[i.Loop] = []
    while len(loops) < len(program.lets[nest.tensor].shape) and isinstance(body[0], i.Loop):
        loops.append(body[0])
        body = body[0].body
    for each in sorted(loops, key=lambda loop: loop.index in steps):
        body = (replace(each, body=body),)
    return replace(nest, body=body)


def of_loops(program: i.Program, nest: i.Nest) -> i.Block:
    """A nest as loops over Python's numbers."""
    alone = place_guards(unfold_nests(replace(program, nests=(nest,))))
    inputs = read_as_elements(program, nest)
    used = [name for name in _tensors_of(program, nest) if name in inputs]
    body = unfold_bindings(alone.nests[0].body)
    if steps_of(program, nest):
        body = with_own_integers(nest.tensor, body)
    return (
        *nest_prologue(program, nest, Width("object"), used),
        *converted_tensors(program, nest, used),
        *body,
    )


def with_own_integers(name: str, body: i.Block) -> i.Block:
    """What a recurrence reads of its own as Python's integers: in memory it lies as int64."""

    def change(node: Any) -> Any:
        match node:
            case i.Access(tensor=tensor) if tensor == name:
                return i.Call("vectors.values", (node, a.Integer("object")))
            case i.Store(target=i.Call(arguments=(target, _))):
                return replace(node, target=target)
            case i.Entries(first=i.Call(arguments=(first, _))):  # a place, not its value
                return replace(node, first=first)
            case _:
                return node

    return rebuild(body, change)


def nest_epilogue(scope: NestScope, width: Width, *, whole: bool = False) -> i.Block:
    """The statements of a nest behind what they begin with, by blocks if all elements are alike and
    no `whole` array is asked for."""
    program, nest = scope.program, scope.nest
    body = without_dead_axes(tuple(scope.statements))
    tensors = _tensors_of(program, nest)
    inputs = read_as_elements(program, nest)
    computed = [name for name in tensors if name in inputs & scope.computed]
    front = nest_prologue(program, nest, width, computed)
    if whole or not is_elementwise(scope):
        return (*front, *converted_tensors(program, nest, computed, scope.integer), *body)
    walked = [name for name in tensors if name in scope.walked]
    blocks = blocked(scope, walked, computed, body)
    others = [name for name in computed if name not in walked]
    return (*front, *converted_tensors(program, nest, others, scope.integer), blocks)


def blocked(scope: NestScope, walked: list[str], computed: list[str], body: i.Block) -> a.Blocks:
    """What a nest does to each block of elements of the tensors that it goes through."""
    elements = [name for name in walked if name in computed]
    kept = [name for name in walked if name not in computed]
    return a.Blocks(
        (*elements, *kept),
        tuple(map(tensor_itself, elements)),
        tuple(map(tensor_itself, kept)),
        scope.integer if elements else None,
        0,
        body,
        span=scope.nest.span,
    )


def is_elementwise(scope: NestScope) -> bool:
    """Whether a nest does the same to each element, whatever its place."""
    nest = scope.nest
    alone = (
        len(nest.body) == 1 and bool(perfect_loops_and_body(nest.body[0])[0]) and not scope.single
    )
    others = has(nest.body, i.Given, i.Fold)
    apart = not scope.walked & scope.looked_up and nest.each is None
    return alone and apart and not scope.partial and not others


# ---------------------------------------------------------------- tensors


def read_as_elements(program: i.Program, nest: i.Nest) -> set[str]:
    """The inputs and the lets in memory, whose elements come in the type to compute with."""
    return {item.name for item in program.operator.inputs} | program.lets.keys() - {nest.tensor}


def _tensors_of(program: i.Program, nest: i.Nest) -> list[str]:
    """The tensors of a nest; sorting needs no memory here."""
    read = {each.tensor for each in nodes_in(nest.body, i.Access)}
    read |= {each.name for each in nodes_in(nest.body, i.Given)}
    read |= {nest.tensor} if nest.each is None else {nest.tensor, nest.each[1]}
    inputs = [item.name for item in program.operator.inputs]
    memory = [each for each in program.scratch if not each.is_spare]
    lists = [each.name for each in memory if each.owner != nest.tensor]
    own = [each.name for each in memory if each.owner == nest.tensor]
    names = [name for name in (*inputs, *lists, *program.operator.output_names) if name in read]
    return [*names, *own]


def nest_prologue(program: i.Program, nest: i.Nest, width: Width, computed: list[str]) -> i.Block:
    """The memory of lists in its shape, and the type of the integers that a nest computes with."""
    shapes = {each.name: each.shape for each in program.scratch}
    values: list[i.Expr] = [*map(tensor_itself, computed)]
    read = names_in(nest.body) - assigned(nest.body) - assigned(nest.prologue)
    read -= set() if nest.each is None else {nest.each[0]}
    known = host_types(program).items()
    values += [i.Var(name) for name, kind in known if name in read and kind != "double"]
    checked = tuple(values) if width.bits is not None else ()
    return (
        *(
            a.Shape(tensor_itself(name), shapes[name], span=nest.span)
            for name in _tensors_of(program, nest)
            if name in shapes
        ),
        a.Integers(width.name, width.bits or 0, checked, span=nest.span),
    )


def converted_tensors(
    program: i.Program, nest: i.Nest, tensors: list[str], integer: a.Integer | None = None
) -> i.Block:
    """Tensors in the type to compute with."""
    several = {item.name for item in program.operator.inputs if item.variadic}
    return tuple(
        a.Elements(tensor_itself(name), integer, name in several, span=nest.span)
        for name in tensors
    )


# ---------------------------------------------------------------- dead axes


def without_dead_axes(
    body: i.Block, behind: frozenset[str] = frozenset(), *, inner: bool = False
) -> i.Block:
    """Statements without axes that nothing behind them reads, unless a block has nothing else."""
    kept: list[i.Stmt] = []
    used = behind
    for at, each in reversed(tuple(enumerate(body))):
        needed = not isinstance(each, a.Axes) or used & set(each.names)
        if needed or (inner and at == 0 and not kept):
            inside = partial(without_dead_axes, behind=used, inner=True)
            kept.append(with_blocks(each, inside))
            used |= names_in(kept[-1])
    return tuple(reversed(kept))

"""Invented formulas of the classes that schedules are for, and calls of them: windows, reductions,
products, lists; with steps, padding, guards, weights and types in every combination.

`shaped(seed)` gives an operator. Its text and its calls come from the same numbers; what a call
requires is told once, as the formula has it and as Python reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

from tests.fuzz.scheduled_operators import EDGES, Drawn, Invented, integers, reals

MOST_POINTS = 8000  # that the reference goes through in a call
MOST_ELEMENTS = 2000  # of an input
SMALL = (1, 1, 2, 3)
SIDES = (1, 2, 3, 8, 9, 17, 33, 34, 65)
TRIES = 60
FOLDS = ("sum", "sum", "max", "min")


def shaped(seed: int) -> Invented:
    random = Random(f"shaped {seed}")
    make = random.choice(
        (window,) * 5 + (reduction, reduction, contraction, contraction, elementwise)
    )
    return make(Shape(random))


@dataclass
class Shape:
    """An operator as it is drawn: its items, and what its calls are made of."""

    random: Random
    extents: dict[str, Sequence[int]] = field(default_factory=dict)
    attributes: dict[str, Sequence[int]] = field(default_factory=dict)
    inputs: dict[str, tuple[str, list[str]]] = field(default_factory=dict)  # types and dimensions
    required: list[str] = field(default_factory=list)
    points: list[str] = field(default_factory=list)  # whose product is how much there is to do
    types: tuple[str, ...] = ()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def kind(self) -> str:
        """The type of elements: with a precision, or one or two real ones, or a storage type."""
        pick = self.random.choice
        match pick(("cvm", "cvm", "cvm", "real", "real", "both", "stored")):
            case "cvm":
                self.types = ("cvm",)
            case "real":
                self.types = (pick(("float32", "float64")),)
            case "both":
                self.types = ("float32", "float64")
            case _:
                self.types = ("int8", "int32")
        return self.types[0] if len(self.types) == 1 else "T"

    @property
    def real(self) -> bool:
        return self.types[0].startswith("float")

    def number(self, name: str, constants: Sequence[int], values: Sequence[int]) -> str:
        """A number of the formula: a constant, or an attribute of a call."""
        if self.chance(0.4):
            return str(self.random.choice(constants))
        self.attributes[name] = values
        return name

    def input(self, name: str, type_: str, dims: list[str]) -> None:
        self.inputs[name] = type_, dims

    def items(self, output: str, shape: str, equation: str) -> str:
        """The operator's items; `output` is the type of the result."""
        lines = [f"type T in {', '.join(self.types)}"] if len(self.types) > 1 else []
        lines += [
            f"input {name} : {type_}[{', '.join(dims)}]"
            for name, (type_, dims) in self.inputs.items()
        ]
        lines += [
            f"attr {name} = {values[0]} in [{min(values)}, {max(values) + 1})"
            for name, values in self.attributes.items()
        ]
        lines += [f'require {each} : "it fits"' for each in self.required]
        return "\n".join([*lines, f"output Y : {output}[{shape}]", equation])

    def invented(self, output: str, shape: str, equation: str) -> Invented:
        return Invented(self.items(output, shape, equation), self.draw)

    def draw(self, random: Random) -> Drawn:
        """A call that is not refused and not too large; the last one tried where none is found."""
        for _ in range(TRIES):
            values = {name: random.choice(each) for name, each in self.extents.items()}
            given = {name: random.choice(each) for name, each in self.attributes.items()}
            known = {**values, **given}
            if not all(eval(each.replace("div", "//"), {}, known) for each in self.required):
                continue
            sizes = [self.size(dims, known) for _, dims in self.inputs.values()]
            much = prod(int(eval(each.replace("div", "//"), {}, known)) for each in self.points)
            if max(sizes) <= MOST_ELEMENTS and much <= MOST_POINTS:
                break
        chosen = random.choice(self.types)
        bits = random.choice(("int8", "int32"))
        arrays = [self.array(random, *each, known, chosen, bits) for each in self.inputs.values()]
        return arrays, given

    def size(self, dims: Sequence[str], known: Mapping[str, int]) -> int:
        return prod(known.get(each, 0) or int(each) for each in dims)

    def array(
        self,
        random: Random,
        type_: str,
        dims: Sequence[str],
        known: Mapping[str, int],
        chosen: str,
        bits: str,
    ) -> Any:
        shape = [known.get(each, 0) or int(each) for each in dims]
        dtype = chosen if type_ == "T" else type_
        if dtype.startswith("float"):
            return reals(random, dtype, *shape)
        most = random.choice((127, 3))
        return integers(random, *shape, least=-most, most=most).astype(
            bits if dtype == "cvm" else dtype
        )


Axis = tuple[str, str, str, str]  # the extent, the extent of results, the place, its guard


def axis(shape: Shape, at: int, pads: bool) -> tuple[Axis, tuple[str, str]]:
    """A dimension along which windows go, and the loop over a window's elements there."""
    pick, own = shape.random.choice, shape.chance(0.3)
    suffix = str(at) if own else ""
    extent, result, tap = "HWD"[at], "yxz"[at], "ijl"[at]
    shape.extents[extent] = SIDES
    k = shape.number(f"k{suffix}", (1, 2, 3), (2, 1, 3, 4))
    by = shape.number(f"by{suffix}", (1, 1, 2), (1, 2, 3))
    dil = shape.number(f"dil{suffix}", (1, 1, 1, 2), (1, 2, 3))
    pad = shape.number(f"pad{suffix}", (0, 1, 2), (0, 1, 2)) if pads else "0"
    reach = f"({k} - 1)*{dil} + 1"
    room = f"{extent} + 2*{pad}"
    shape.required.append(f"{reach} <= {room}")
    outs = f"({room} - ({reach})) div {by} + 1"
    shape.points += [outs, k]
    where = result if shape.chance(0.85) else f"({outs} - 1 - {result})"
    step = tap if shape.chance(0.8) else f"({k} - 1 - {tap})"
    place = pick((f"{where}*{by} + {step}*{dil} - {pad}", f"{step}*{dil} + {where}*{by} - {pad}"))
    return (extent, outs, place, f"0 <= {{}} < {extent}"), (tap, f"{tap} < {k}")


def window(shape: Shape) -> Invented:
    """Neighbouring results combine elements of boxes that overlap."""
    pick, kind = shape.random.choice, shape.kind()
    lead = pick(([], [], ["C"], ["C"], ["N", "C"]))
    for each in lead:
        shape.extents[each] = SMALL
    guarded = pick(("where", "where", "filter", "inline", "clamp", "mod", "none"))
    found = [axis(shape, at, guarded != "none") for at in range(pick((1, 1, 2, 2, 2, 3)))]
    axes, taps = [each for each, _ in found], [each for _, each in found]
    shape.input("X", kind, [*lead, *(extent for extent, *_ in axes)])
    channels = bool(lead) and shape.chance(0.3)  # the window is summed over them
    outer = [each for each in lead if not (channels and each == "C")]
    shape.points += lead
    fold = pick(
        ("sum", "sum", "max", "min") if shape.real else ("sum", "sum", "max", "min", "count")
    )
    element, conditions, where = read(shape, lead, axes, guarded)
    value = combined(shape, element, channels, [tap for tap, _ in taps])
    if fold == "count":
        value = f"{value} > 2"
    over = [*(["c < C"] if channels else []), *(test for _, test in taps)]
    test = f" if {' and '.join(conditions)}" if conditions else ""
    result = finished(shape, f"{fold}[{', '.join(over)}{test}]({value})")
    target = ", ".join([*(each.lower() for each in outer), *("yxz"[: len(axes)])])
    extents = ", ".join([*outer, *(outs for _, outs, *_ in axes)])
    if shape.chance(0.3) and "O" in shape.extents:
        target, extents = f"o, {target}", f"O, {extents}"
        shape.points.append("O")
    elif "O" in shape.extents:
        result = result.replace("[o, ", "[0, ")
    output = result_type(shape, kind)
    return shape.invented(output, extents, f"Y[{target}] = {result}{where}")


def read(
    shape: Shape, lead: Sequence[str], axes: Sequence[Axis], guarded: str
) -> tuple[str, list[str], str]:
    """An element of a window; what a reduction is filtered by; what stands behind the equation."""
    pick = shape.random.choice
    least = "-1000.0" if shape.real else pick(("-100000", "0"))
    other = pick(("0.0", "0.5", least) if shape.real else ("0", "0", "7", least))
    front = [each.lower() for each in lead]
    places = [place for _, _, place, _ in axes]
    if guarded == "clamp":
        places = [f"max(0, min({p}, {e} - 1))" for (e, *_), p in zip(axes, places, strict=True)]
    if guarded == "mod":
        places = [f"({p}) mod {e}" for (e, *_), p in zip(axes, places, strict=True)]
    if guarded == "where":
        names = [f"u{at}" for at in range(len(axes))]
        tests = [g.format(name) for (*_, g), name in zip(axes, names, strict=True)]
        shape.random.shuffle(tests)
        body = f"X[{', '.join([*front, *names])}]"
        text = f" where at({', '.join(names)}) = {body} if {' and '.join(tests)} else {other}"
        return f"at({', '.join(places)})", [], text
    element = f"X[{', '.join([*front, *places])}]"
    tests = [g.format(p) for (*_, g), p in zip(axes, places, strict=True)]
    if guarded == "inline":
        return f"({element} if {' and '.join(tests)} else {other})", [], ""
    return element, tests if guarded == "filter" else [], ""


def combined(shape: Shape, element: str, channels: bool, taps: Sequence[str]) -> str:
    """What a window combines of an element: as it is, weighted, or changed."""
    pick = shape.random.choice
    way = pick(("plain", "plain", "weights", "weights", "constant", "abs", "square", "index", "if"))
    one = "1.5" if shape.real else "3"
    match way:
        case "weights":
            filters = shape.chance(0.5)
            dims = (["O"] if filters else []) + (["C"] if channels else [])
            sides = [f"K{at}" for at, _ in enumerate(taps)]
            kind = next(iter(shape.inputs.values()))[0]
            for side in sides:
                shape.extents[side] = (4,)
            if filters:
                shape.extents["O"] = (1, 2, 3, 17)
            shape.input("F", kind, [*dims, *sides])
            shape.required += [f"{side} >= 4" for side in sides]
            front = (["o"] if filters else []) + (["c"] if channels else [])
            factor = f"F[{', '.join([*front, *taps])}]"
            return pick((f"{element} * {factor}", f"{factor} * {element}"))
        case "constant":
            return pick((f"{element} + {one}", f"{element} * {one}", f"{one} - {element}"))
        case "abs":
            return f"abs({element})"
        case "square":
            return f"{element} * {element}"
        case "index":
            return f"{element} * ({taps[-1]} + 1)" if not shape.real else f"{element} * 2.0"
        case "if":
            zero = "0.0" if shape.real else "0"
            return f"({element} if {element} > {zero} else {one})"
        case _:
            return element


def finished(shape: Shape, result: str) -> str:
    """What becomes of a total."""
    pick = shape.random.choice
    if shape.real:
        return pick((result, result, f"{result} * 0.5", f"max({result}, 0.0)"))
    if shape.types == ("int8", "int32"):
        return f"max(-100, min({result}, 100))"
    return pick((result, result, f"{result} div 3", f"max({result}, 0)", f"{result} - 1"))


def result_type(shape: Shape, kind: str) -> str:
    if kind == "cvm" and shape.chance(0.2):
        return "int32"
    return kind


def reduction(shape: Shape) -> Invented:
    """Elements are combined along some dimensions of one input, or of two."""
    pick, kind = shape.random.choice, shape.kind()
    rank = pick((1, 2, 2, 3, 3, 4))
    dims = [*"NMKL"[:rank]]
    names = [*"nmkl"[:rank]]
    for each in dims:
        shape.extents[each] = EDGES if rank < 3 else (1, 2, 3, 5, 9, 17, 33)
    shape.input("X", kind, dims)
    shape.points += dims
    summed = sorted(shape.random.sample(range(rank), pick((1, 1, min(rank, 2), rank))))
    kept = [at for at in range(rank) if at not in summed]
    shape.random.shuffle(kept)
    places, tests, over = [], [], []
    for at, (name, extent) in enumerate(zip(names, dims, strict=True)):
        place, bound = name, f"{name} < {extent}"
        if at in summed:
            match pick(("plain",) * 5 + ("turned", "half", "below", "from", "odd")):
                case "turned":
                    place = f"{extent} - 1 - {name}"
                case "half":
                    place, bound = f"2*{name}", f"{name} < ({extent} + 1) div 2"
                case "below" if kept:
                    bound = f"{name} < min({extent}, {names[kept[0]]} + 1)"
                case "from":
                    bound = f"({extent} div 2) <= {name} < {extent}"
                case "odd":
                    tests.append(f"{name} mod 3 != 1")
                case _:
                    pass
            over.append(bound)
        elif shape.chance(0.15):
            place = f"{extent} - 1 - {name}"
        places.append(place)
    shape.random.shuffle(over)
    element = f"X[{', '.join(places)}]"
    if shape.chance(0.25):
        also = sorted(shape.random.sample(range(rank), pick((1, rank))))
        shape.input("W", kind, [dims[at] for at in also])
        element = f"{element} {pick('*+-')} W[{', '.join(names[at] for at in also)}]"
    if shape.chance(0.2):
        tests.append(f"X[{', '.join(places)}] > {'0.0' if shape.real else '0'}")
    fold = pick(FOLDS if shape.real else (*FOLDS, "count"))
    value = f"{element} > 1" if fold == "count" else combined_plain(shape, element)
    test = f" if {' and '.join(tests)}" if tests else ""
    total = f"{fold}[{', '.join(over)}{test}]({value})"
    if shape.chance(0.15):
        total = f"{total} + {pick(('max', 'sum'))}[{', '.join(over)}]({element})"
    result = finished(shape, total)
    target = ", ".join(names[at] for at in kept) or "0"
    extents = ", ".join(dims[at] for at in kept) or "1"
    return shape.invented(result_type(shape, kind), extents, f"Y[{target}] = {result}")


def combined_plain(shape: Shape, element: str) -> str:
    one = "1.5" if shape.real else "3"
    ways = (element, element, f"({element}) * {one}", f"abs({element})", f"({element}) - {one}")
    return shape.random.choice(ways)


def contraction(shape: Shape) -> Invented:
    """Sums of products of two inputs, whose dimensions stand in any order."""
    pick, kind = shape.random.choice, shape.kind()
    batch = pick(([], [], ["B"], ["B"]))
    sides = {"X": ["M", "K"], "W": ["N", "K"]}
    if shape.chance(0.2):
        sides["X"].append("L")
        sides["W"].append("L")
    for name, dims in sides.items():
        own = [*dims, *(batch if shape.chance(0.8) else [])]
        shape.random.shuffle(own)
        shape.input(name, kind, own)
        for each in own:
            shape.extents[each] = (1, 2, 3, 4) if each in "BL" else EDGES
    shape.points += [*shape.extents]
    kept = [each for each in "BMN" if each in shape.extents]
    shape.random.shuffle(kept)
    over = [f"{each.lower()} < {each}" for each in "KL" if each in shape.extents]

    def factor(name: str) -> str:
        places = [
            f"{each} - 1 - {each.lower()}" if each != "B" and shape.chance(0.1) else each.lower()
            for each in shape.inputs[name][1]
        ]
        return f"{name}[{', '.join(places)}]"

    one = "1.5" if shape.real else "2"
    left, right = factor("X"), factor("W")
    value = pick((*(f"{left} * {right}",) * 6, f"({left} + {one}) * {right}", f"{left} - {right}"))
    result = f"sum[{', '.join(over)}]({value})"
    if shape.chance(0.3):
        shape.input("A", kind, ["N"])
        result = f"{result} + A[n]"
    result = finished(shape, result)
    target = ", ".join(each.lower() for each in kept)
    output = result_type(shape, kind)
    return shape.invented(output, ", ".join(kept), f"Y[{target}] = {result}")


def elementwise(shape: Shape) -> Invented:
    """Each result by itself: from places that move in many ways, behind guards."""
    pick, kind = shape.random.choice, shape.kind()
    rank = pick((1, 2, 2, 3))
    dims, names = [*"NMK"[:rank]], [*"nmk"[:rank]]
    for each in dims:
        shape.extents[each] = EDGES if rank < 3 else (1, 2, 3, 9, 17, 33)
    shape.points += dims
    shape.input("X", kind, dims)
    parts = []
    for _ in range(pick((1, 2, 3))):
        places, tests = [], []
        for name, extent in zip(names, dims, strict=True):
            shift = shape.number("a", (1, 2), (0, -3, 1, 33, -(2**40), 2**40))
            match pick(("plain",) * 4 + ("shift", "shift", "turned", "mod", "clamp", "first")):
                case "shift":
                    sign = pick("+-")
                    places.append(f"{name} {sign} {shift}")
                    tests.append(f"0 <= {name} {sign} {shift} < {extent}")
                case "turned":
                    places.append(f"{extent} - 1 - {name}")
                case "mod":
                    places.append(f"(2*{name} + {shift}) mod {extent}")
                case "clamp":
                    places.append(f"max(0, min({name} + {shift}, {extent} - 1))")
                case "first":
                    places.append("0")
                case _:
                    places.append(name)
        element = f"X[{', '.join(places)}]"
        other = "0.5" if shape.real else "7"
        parts.append(f"({element} if {' and '.join(tests)} else {other})" if tests else element)
    value = f" {pick('+-')} ".join(parts)
    if shape.real is False and shape.chance(0.3):
        value = f"({value}) tdiv (abs(X[{', '.join(names)}]) + 1)"
    if not shape.real and shape.chance(0.2):
        value = f"({value} if {names[-1]} < {dims[-1]} div 2 else {names[0]})"
    target = [*range(rank)]
    shape.random.shuffle(target)
    extents = ", ".join(dims[at] for at in target)
    left = ", ".join(names[at] for at in target)
    value = finished(shape, value)
    shape.attributes = {n: v for n, v in shape.attributes.items() if n in value}
    return shape.invented(result_type(shape, kind), extents, f"Y[{left}] = {value}")

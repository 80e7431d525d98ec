"""Small calls of an operator, invented as its items ask for them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Any

from cvmgen.dtypes import CVM
from cvmgen.errors import OperatorError
from cvmgen.reference.failures import Budget, Env, FormulaError, WorkLimit
from cvmgen.reference.operator import Later, Operand, Reference, ReferenceResult
from cvmgen.reference.sampled_elements import Ends, sampled_elements
from cvmgen.reference.tensor import Tensor
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.demands import ElementLimit, limits

Tape = dict[str, Any]  # what was drawn, by name: extents, packs, attributes, "p(X)", ...
EXTENTS = (1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3)
RANKS = (1,) * 8 + (2,) * 10 + (3,) * 6 + (4,)
ZERO = 0.15  # how often an extent is 0 where it may be
PRECISIONS = (1, 2, 2, 3, 3, 4, 4, 5, 5)
LARGEST_FORCED = 16  # the largest extent that an equality may ask for
MOST_ELEMENTS = 600  # a call with more is not computed, unless somebody asks for it
REPAIRS = 8
WORDS = 0.6  # how often a word is drawn where numbers could be


class Sampler(Reference):
    """A reference that draws each argument when its turn comes.

    A run follows a tape of draws: what the tape holds is taken from it, the rest is drawn and
    added. The same tape gives the same call; a changed tape gives a neighbour of it.
    """

    tried_out = True
    most_forced = LARGEST_FORCED

    def __init__(self, operator: f.Operator) -> None:
        self.steps, self.most = Budget(0), MOST_ELEMENTS
        super().__init__(operator, self.steps)
        digest = hashlib.sha256(operator.full_name.encode()).digest()
        self.random = Random(int.from_bytes(digest[:8], "big"))
        self.numbers = sorted({abs(value) for value in formula_numbers(operator)})
        self.depends = Dependencies(operator)
        self.attribute_names = {item.name for item in operator.attributes}
        self.down_to_0 = operator.extents_down_to_0
        self.tape: Tape = {}
        self.waiting: list[tuple[str, Tensor, int]] = []  # tensors without elements, and a seed
        self.required: dict[str, list[ElementLimit]] = {}
        for each in limits(operator):
            self.required.setdefault(each.tensor, []).append(each)
        self.asked: f.Item | None = None
        self.env: Env = {}
        self.refusals: dict[int, tuple[f.Item, int]] = {}

    def follow(self, tape: Tape, steps: int, *, compute: bool) -> ReferenceResult:
        """The result of a call; raises OperatorError, FormulaError or WorkLimit."""
        self.tape, self.steps.left, self.waiting = tape, steps, []
        return self.run({}, {}, compute)

    def accepted(
        self, steps: int, *, compute: bool, tape: Tape | None = None
    ) -> tuple[Tape, ReferenceResult] | None:
        """A call that the operator accepts, mending refused ones; None when that fails. It follows
        what the tape holds, as far as it is not refused.

        Raises FormulaError or WorkLimit; `tape` then holds the call.
        """
        tape = {} if tape is None else tape
        for _ in range(REPAIRS):
            try:
                return tape, self.follow(tape, steps, compute=compute)
            except OperatorError:
                if not self.repair(tape):
                    return None
        return None

    # -------------------------------------------------------- refused calls

    def repair(self, tape: Tape) -> bool:
        """Change one draw that the refusing item depends on; whether there was one."""
        assert self.asked is not None
        _, count = self.refusals.get(id(self.asked), (self.asked, 0))
        self.refusals[id(self.asked)] = (self.asked, count + 1)
        if isinstance(self.asked, f.Require) and self.force(self.asked.condition, tape):
            return True
        names = sorted(self.depends.of(self.asked) & set(tape))
        if not names:
            return False
        del tape[self.random.choice(names)]
        return True

    def force(self, condition: n.Expr, tape: Tape) -> bool:
        """Give an extent the value that an equality of the condition asks of it."""
        for node in n.walk(condition):
            if not isinstance(node, n.Compare) or node.relations != ("==",):
                continue
            for side, other in (node.operands, node.operands[::-1]):
                if not isinstance(side, n.Ref) or not isinstance(tape.get(side.name), int):
                    continue
                if side.role != "extent":
                    continue
                try:
                    wanted = self.compiler.value(other, self.env)
                except (FormulaError, KeyError):
                    continue
                least = 0 if side.name in self.down_to_0 else 1
                if least <= wanted <= self.most_forced and wanted != tape[side.name]:
                    tape[side.name] = wanted
                    return True
        return False

    # -------------------------------------------------------- items

    def item(
        self,
        item: f.Input | f.Attribute | f.Let | f.Require | f.Definition | f.Output,
        env: Env,
        outputs: dict[str, Tensor],
    ) -> None:
        self.asked, self.env = item, env
        super().item(item, env, outputs)

    def terms(self, about: n.Expr | tuple[n.Expr | None, ...], env: Env) -> str:
        """Nothing: nobody reads why a drawn call is refused."""
        return ""

    def compute(
        self,
        env: Env,
        outputs: dict[str, Tensor],
        equations: list[Later],
    ) -> None:
        tensors = [tensor for _, tensor, _ in self.waiting]
        if sum(tensor.size for tensor in (*tensors, *outputs.values())) > self.most:
            raise WorkLimit
        self.fill(env)
        super().compute(env, outputs, equations)

    def fill(self, env: Env) -> None:
        """Give the tensors of a call their elements."""
        for name, tensor, seed in self.waiting:
            ends = [
                limit_ends(each, env, self.compiler.value) for each in self.required.get(name, ())
            ]
            tensor.values = self.elements(tensor, Random(seed), ends)

    def elements(self, tensor: Tensor, random: Random, ends: Iterable[Ends]) -> list[Any]:
        return sampled_elements(tensor, random, ends)

    def demand(self, item: f.Demand, env: Env) -> None:
        self.asked, self.env = item, env
        super().demand(item, env)

    def row(self, inputs: Mapping[str, Operand], attributes: Mapping[str, Any]) -> int:
        return int(self.take("types", lambda: self.random.randrange(len(self.table.rows))))

    def input(self, item: f.Input, env: Env) -> None:
        env["$inputs"][item.name] = self.operand(item, env)
        super().input(item, env)

    def attribute(self, item: f.Attribute, env: Env) -> None:
        low, high = self.ends(item, env)
        value = self.take(item.name, lambda: self.attribute_value(item, env, low, high))
        entries = value if isinstance(value, tuple) else (value,)
        numeric = item.kind == "int" and value is not None and not isinstance(value, str)
        if numeric and not all(low <= entry < high for entry in entries):
            value = self.tape[item.name] = self.attribute_value(item, env, low, high)
        env["$attributes"][item.name] = value
        super().attribute(item, env)

    def take(self, name: str, draw: Callable[[], Any]) -> Any:
        if name not in self.tape:
            self.tape[name] = draw()
        return self.tape[name]

    # -------------------------------------------------------- inputs

    def operand(self, item: f.Input, env: Env) -> Operand:
        pick = self.random
        if item.optional and not self.take(f"present({item.name})", lambda: pick.random() < 0.6):
            return None
        if item.variadic:
            count = self.take(str(item.count), lambda: pick.choice((1, 2, 2, 3, 3)))
            shapes = self.take(str(item.extents[0].new), lambda: self.shapes(item, count))
            shapes = (shapes * count)[:count]
            self.tape[str(item.extents[0].new)] = shapes
            return [
                self.tensor(f"{item.name}[{at}]", shape, item, env)
                for at, shape in enumerate(shapes)
            ]
        shape: list[int] = []
        for extent in item.extents:
            if not extent.new:
                value = self.compiler.value(extent.value, env)
                shape.extend(sorted(value) if isinstance(value, frozenset) else _entries(value))
            elif extent.pack:
                env[extent.new] = self.take(extent.new, lambda: self.pack(item))
                shape.extend(env[extent.new])
            else:
                env[extent.new] = self.take(extent.new, lambda: self.single(item))
                shape.append(env[extent.new])
        return self.tensor(item.name, tuple(shape), item, env)

    def tensor(self, name: str, shape: tuple[int, ...], item: f.Input, env: Env) -> Tensor:
        """A tensor whose elements are drawn when the call is accepted, not before."""
        seed = self.take(f"data({name})", lambda: self.random.getrandbits(32))
        tensor = Tensor(shape, [], 0)
        if item.dtype == CVM:
            tensor.precision = self.take(f"p({name})", self.bits)
        else:
            tensor.dtype = env["$types"][item.dtype].name
        self.waiting.append((name, tensor, seed))
        return tensor

    def single(self, item: f.Input) -> int:
        """An extent by itself, of an input that may be empty often 0."""
        return 0 if item.empty and self.random.random() < ZERO else self.extent()

    def pack(self, item: f.Input) -> tuple[int, ...]:
        """Extents of a pack, of an input that may be empty some of them 0, or none at all."""
        if not item.empty:
            return self.positive_pack()
        if self.random.random() < ZERO / 2:
            return ()
        return self.with_zeros(self.positive_pack())

    def shapes(self, item: f.Input, count: int) -> tuple[tuple[int, ...], ...]:
        """The shapes of a variadic input: where they may be empty, some are, or all in one way."""
        shapes = self.alike(count)
        if not item.empty or self.random.random() < 0.5:
            return shapes
        if self.random.random() < ZERO:
            return ((),) * count
        at = self.random.randrange(len(shapes[0]))
        every = self.random.random() < 0.5
        return tuple(
            (*shape[:at], 0, *shape[at + 1 :]) if every or self.random.random() < 0.5 else shape
            for shape in shapes
        )

    def with_zeros(self, extents: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if self.random.random() < ZERO else extent for extent in extents)

    def bits(self) -> int:
        return self.random.choice(PRECISIONS)

    def extent(self) -> int:
        near = [value for value in self.numbers if 1 < value <= 8]
        if near and self.random.random() < 0.1:
            return max(1, self.random.choice(near) + self.random.choice((-1, 0, 1)))
        return self.random.choice(EXTENTS)

    def positive_pack(self) -> tuple[int, ...]:
        """Extents of a pack; half of the time much like those of a pack drawn before."""
        pick = self.random
        known = [value for value in self.tape.values() if _is_pack(value)]
        if not known or pick.random() < 0.5:
            return tuple(self.extent() for _ in range(pick.choice(RANKS)))
        like = list(pick.choice(known))
        like = like[pick.randint(0, len(like) - 1) :] if pick.random() < 0.4 else like
        if pick.random() < 0.4:
            like[pick.randrange(len(like))] = pick.choice((1, 1, 2, 3))
        return tuple(like)

    def alike(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Shapes that mostly differ in one dimension only."""
        pick = self.random
        first = tuple(self.extent() for _ in range(pick.choice(RANKS)))
        dimension = pick.randrange(len(first))
        shapes = []
        for _ in range(count):
            shape = list(first)
            shape[dimension] = self.extent()
            if pick.random() < 0.1:
                shape[pick.randrange(len(shape))] = self.extent()
            shapes.append(tuple(shape))
        return tuple(shapes)

    # -------------------------------------------------------- attributes

    def attribute_value(self, item: f.Attribute, env: Env, low: int, high: int) -> Any:
        pick = self.random
        if item.decides:
            return env["$types"][item.decides].name
        if item.optional and pick.random() < 0.4:
            return None
        if item.default is not None and pick.random() < 0.3:
            return self.compiler.value(item.default, env)
        if item.words and (item.kind == "word" or low >= high or pick.random() < WORDS):
            return pick.choice(item.words)
        if item.kind == "bool" and not item.is_list and not item.components:
            return pick.random() < 0.5
        if item.kind == "real" and item.is_listed:
            length = len(item.components) or pick.randint(0, 4)
            return tuple(self.real_value(item) for _ in range(length))
        if item.kind == "real":
            return self.real_value(item)
        if item.components:
            return tuple(self.integer(low, high) for _ in item.components)
        if item.is_list:
            return self.entries(env, low, high)
        return self.integer(low, high)

    def real_value(self, item: f.Attribute) -> float:
        """One of the range: an end, between both, small ones."""
        low, high = -math.inf, math.inf
        if item.inside is not None:
            (low, _, high) = map(real_end, item.inside.operands)
        near = (low, high, 0.0, 1.0, 1e-5, -2.5, (low + high) / 2, math.nextafter(low, high))
        fits = [
            each
            for each in (*near, math.nextafter(high, low), self.random.random())
            if item.inside is None or self.compiler.value(item.inside, {item.number_name: each})
        ]
        return self.random.choice(fits)

    def integer(self, low: int, high: int) -> int:
        """A value of low <= value < high: small ones, both ends, numbers of the formula."""
        if low >= high:
            return low
        pick = self.random
        way = pick.random()
        if way < 0.1:
            return low
        if way < 0.2:
            return high - 1
        near = [value for value in self.numbers if low <= value < high]
        if near and way < 0.3:
            return pick.choice(near)
        smallest, largest = max(low, -3), min(high - 1, 4)
        if smallest > largest:
            return pick.choice((low, high - 1))
        return pick.randint(smallest, largest)

    def entries(self, env: Env, low: int, high: int) -> tuple[int, ...]:
        """A list attribute: often one entry for each dimension, often all different."""
        pick = self.random
        packs = [value for value in self.tape.values() if _is_pack(value)]
        rank = len(pick.choice(packs)) if packs else 3
        way = pick.random()
        if way < 0.2 and low <= 0 and rank <= high:
            return tuple(pick.sample(range(rank), rank))
        if way < 0.4 and packs:
            extents = list(pick.choice(packs))
            pick.shuffle(extents)
            return tuple(extents)
        length = rank if pick.random() < 0.4 else pick.randint(0, rank)
        if way < 0.7 and length <= high - low <= 64:
            return tuple(pick.sample(range(low, high), length))
        return tuple(self.integer(low, high) for _ in range(length))


def real_end(end: n.Expr) -> float:
    return end.value if isinstance(end, n.Real) else math.nan


class Dependencies:
    """Which draws the value of an expression depends on."""

    def __init__(self, operator: f.Operator) -> None:
        self.found: dict[int, set[str]] = {}
        self.named: dict[str, n.Expr] = {}
        self.owner: dict[str, str] = {}
        for item in f.all_items(operator.items):
            match item:
                case f.Let(name=name, value=value):
                    self.named[name] = value
                case f.Definition(name=name, body=body):
                    self.named[name] = body
                case f.Attribute(name=name, components=components):
                    self.owner.update(dict.fromkeys(components, name))
                case _:
                    pass

    def of(self, item: f.Item) -> set[str]:
        """The draws that decide whether the item accepts a call."""
        if id(item) not in self.found:
            self.found[id(item)] = self.of_new(item)
        return self.found[id(item)]

    def of_new(self, item: f.Item) -> set[str]:
        match item:
            case f.Require(condition=condition):
                return self.names(condition)
            case f.Demand(condition=condition, domain=domain):
                return self.names((condition, domain))
            case f.Output(slots=slots, precision=precision):
                return self.names((slots, precision))
            case f.Attribute(name=name, low=low, high=high):
                return {name} | self.names((low, high))
            case f.Input(name=name, extents=extents):
                return self.names(extents) | {f"p({name})"}
            case _:
                return set()

    def names(self, expr: object) -> set[str]:
        found: set[str] = set()
        self.gather(expr, found, set())
        return found

    def gather(self, expr: object, found: set[str], seen: set[str]) -> None:
        for node in n.walk(expr):
            match node:
                case n.Ref(name=name) | n.Apply(name=name):
                    found.add(self.owner.get(name, name))
                    if name in self.named and name not in seen:
                        seen.add(name)
                        self.gather(self.named[name], found, seen)
                case n.Precision(tensor=tensor):
                    found.add(f"p({tensor})")
                case n.IsWord(name=name):
                    found.add(name)
                case n.Present(name=name):
                    found |= {name, f"present({name})"}
                case n.Access(tensor=tensor):
                    found.add(f"data({tensor})")
                case _:
                    pass


def limit_ends(limit: ElementLimit, env: Env, value: Callable[[n.Expr, Env], Any]) -> Ends:
    """The least and the greatest element that a requirement admits, in a call."""
    try:
        end = value(limit.value, env)
    except FormulaError:
        return -math.inf, math.inf  # the requirement itself will say so
    real = isinstance(end, float)
    match limit.relation:
        case "<":
            return -math.inf, math.nextafter(end, -math.inf) if real else end - 1
        case "<=":
            return -math.inf, end
        case ">":
            return math.nextafter(end, math.inf) if real else end + 1, math.inf
        case ">=":
            return end, math.inf
        case _:
            return end, end


def formula_numbers(operator: f.Operator) -> Iterator[int]:
    """The numbers that a formula speaks of: values near them decide its branches."""
    for node in n.walk(operator.items):
        if isinstance(node, n.Number):
            yield from (node.value, node.value + 1)


def _is_pack(value: object) -> bool:
    """Whether a drawn value can serve as extents; a list attribute's may be far too large."""
    return (
        isinstance(value, tuple)
        and bool(value)
        and all(type(each) is int and 1 <= each <= LARGEST_FORCED for each in value)
    )


def _entries(value: Any) -> Iterable[int]:
    return value if isinstance(value, tuple) else (value,)

"""From a plan of a graph to kernels: each step's nests, for the shapes and types it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from cvmgen import driver
from cvmgen.build.progress import followed
from cvmgen.dtypes import DTYPES, FLOAT64, MAX_PRECISION, DType
from cvmgen.errors import InternalError
from cvmgen.graph.limits import Array, largest_magnitude
from cvmgen.graph.operators import OperatorLibrary, sorted_inputs
from cvmgen.graph.plan import OPSET, Plan, PlannedTensor, PlanStep, library_operator
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import fresh, rebuild
from cvmgen.known.constant_loops import plain_loops
from cvmgen.known.known_types import INT32
from cvmgen.known.specialize import CallTensor, KnownCall, Specialized, specialize
from cvmgen.model.constant_parts import ConstantParts
from cvmgen.model.kernels import (
    Model,
    ModelKernel,
    ModelTensor,
    Origin,
    identifier,
    nest_and_body,
    sorted_places,
)
from cvmgen.model.tested import tested
from cvmgen.ranges import Range
from cvmgen.spec.formula import Operator

BYTE_PRECISION = 8  # what an int8 holds
Formulas = Callable[[str], Mapping[str, Operator]]


class KernelBuilder:
    """Makes the kernels of a plan; `formulas` gives the operators of an opset by name."""

    def __init__(self, plan: Plan, operators: OperatorLibrary, formulas: Formulas) -> None:
        self.plan = plan
        self.operators = operators
        self.formulas = formulas
        self.programs: dict[str, i.Program] = {}
        self.numbers: Iterator[int] = count(1)
        self.taken = {"STEP", "memset", "memory", "share", "kept", "state", "workspace"}
        self.tensors: dict[str, ModelTensor] = {}
        self.kernels: list[ModelKernel] = []
        used = {
            index
            for step in plan.steps
            for index in (*step.inputs, *step.outputs)
            if index is not None
        }
        self.names: dict[int, str] = {}
        ends = {at for each in plan.states for at in (each.read, each.written)}
        for index in sorted(used | {*plan.heads, *plan.inputs} | ends):
            self.names[index] = self.planned(plan.tensors[index], plan.constants.get(index))

    def planned(self, tensor: PlannedTensor, values: Array | None) -> str:
        """The name of a tensor of the plan, which is one of the model now."""
        name = self.fresh(tensor.node)
        if tensor.precision is None:
            made = own_type(name, tensor.shape, DTYPES[tensor.dtype.name], values)
        else:
            limit = largest_magnitude(tensor.precision)
            made = ModelTensor(name, tensor.shape, Range(-limit, limit), values)
        self.tensors[name] = made
        return name

    def fresh(self, node: str) -> str:
        """The name of a node as an identifier of its own."""
        return fresh(identifier(node), self.taken)

    def model(self) -> Model:
        for state in self.plan.states:
            name = self.names[state.read]
            self.tensors[name] = self.brought(self.tensors[name])
        given = tuple(map(self.arrive, self.plan.inputs))
        for step in followed(self.plan.steps, lambda each: f"lowering {each.node}"):
            self.step(step)
        outputs = tuple(self.leave(at, index) for at, index in enumerate(self.plan.heads))
        states = self.left_behind()
        kernels = self.with_constants()
        return Model(self.tensors, kernels, given, outputs, states)

    def with_constants(self) -> tuple[ModelKernel, ...]:
        """The kernels with the values of parameters that have one alone, and elements that are
        integers without zero points of 0."""
        single = {
            name: constant_of(tensor)
            for name, tensor in self.tensors.items()
            if tensor.values is not None and is_one_value(tensor.values)
        }

        def change(node: Any) -> Any:
            match node:
                case i.Access():
                    return single.get(node.tensor, node)
                case i.Binary(op="+" | "-", left=i.Access(tensor=name), right=i.Const(value=0)):
                    return node.left if self.tensors[name].kind == "int" else node
                case _:
                    return node

        parts = ConstantParts(self.tensors, self.parameter)
        known = (replace(each, body=rebuild(each.body, change)) for each in self.kernels)
        return tuple(map(parts.of, known))

    def parameter(self, source: str, values: Array, dtype: DType) -> str:
        """A parameter that is made of another one."""
        name = self.fresh(f"{source}_part")
        self.tensors[name] = own_type(name, values.shape, dtype, values)
        return name

    def specialized(
        self,
        formula: Operator,
        inputs: Sequence[Sequence[CallTensor]],
        step: PlanStep,
        outputs: Sequence[str],
    ) -> Specialized:
        if formula.full_name not in self.programs:
            self.programs[formula.full_name] = driver.lower(formula, driver.STATEMENTS)
        named = dict(zip(formula.output_names, outputs, strict=True))
        operands = dict(zip((each.name for each in formula.inputs), inputs, strict=True))
        given = {name: each[0].name for name, each in operands.items() if each} | named
        types = {
            kind: dtype
            for name, kind in formula.type_of.items()
            if name in given and (dtype := self.tensors[given[name]].dtype) is not None
        }
        call = KnownCall(inputs, dict(step.attributes), named, types)
        return specialize(self.programs[formula.full_name], call, outputs[0], self.numbers)

    def step(self, step: PlanStep) -> None:
        operator = library_operator(self.operators, step.operator, self.plan.opset)
        inputs = [
            [self.operand(index) for index in each if index is not None]
            if isinstance(each, list)
            else ([] if each is None else [self.operand(each)])
            for each in sorted_inputs(operator, step.inputs)
        ]
        formula = self.formulas(self.plan.opset)[step.operator]
        outputs = [self.names[index] for index in step.outputs]
        made = self.specialized(formula, inputs, step, outputs)
        self.agree(step, made)
        if formula.although:  # its rule is below what it gives
            for name in outputs:
                self.tensors[name] = replace(self.tensors[name], promised=INT32)
        for name, memory in made.memory.items():
            self.tensors[name] = memory_tensor(name, memory.shape, memory.kind)
        for nest in made.tests:
            tested(step.node, formula, nest, self.tensors)
        for nest in made.nests:
            origin = Origin.of(step.node, formula, nest)
            self.add(plain_loops(nest.body, reals=formula.has_reals), (origin,), formula)

    def agree(self, step: PlanStep, made: Specialized) -> None:
        """What the host code gives is what the plan has, whichever way it was found."""
        found = list(made.outputs.values())
        planned = [self.plan.tensors[index] for index in step.outputs]
        if found != [(tensor.shape, tensor.precision) for tensor in planned]:
            raise InternalError(f"specialize: {step.node} is {found}, and was to be {planned}")

    def operand(self, index: int) -> CallTensor:
        tensor = self.plan.tensors[index]
        return CallTensor(self.names[index], tensor.shape, tensor.precision)

    def add(
        self, body: tuple[i.Stmt, ...], origins: tuple[Origin, ...], operator: Operator
    ) -> None:
        """A kernel with those of its outer loops whose iterations write apart from each other."""
        loops, inner = nest_and_body(body)
        if not loops or self.apart(loops, inner):
            self.kernels.append(ModelKernel(loops, inner, origins, operator))
        else:
            self.kernels.append(ModelKernel((), body, origins, operator))

    def apart(self, loops: Sequence[tuple[str, int]], inner: tuple[i.Stmt, ...]) -> bool:
        """Elements of outputs are written once; memory of a list may be used again."""
        stores = [each.target for each in nodes_in(inner, i.Store)]
        shared = [
            place
            for place in (*stores, *sorted_places(inner))
            if isinstance(place, i.Access) and self.tensors[place.tensor].listed
        ]
        return all((i.Var(name), False) in place.index for place in shared for name, _ in loops)

    # -------------------------------------------------------- what comes and goes

    def arrive(self, index: int) -> str:
        """What a caller brings, cut to its precision as a network does."""
        tensor, name = self.plan.tensors[index], self.names[index]
        given = self.fresh("given")
        if tensor.precision is None:
            self.tensors[given] = self.brought(replace(self.tensors[name], name=given))
            self.copy(tensor.node, given, name)
            return given
        bits = 8 if tensor.precision <= BYTE_PRECISION else 32
        self.tensors[given] = ModelTensor(given, tensor.shape, given=True, stored=f"i{bits}")
        cut = PlanStep(tensor.node, "cvm_clip", (("precision", tensor.precision),), (), ())
        self.pointwise(cut, given, name)
        return given

    def brought(self, tensor: ModelTensor) -> ModelTensor:
        """A tensor with a type of its own in memory of the caller."""
        assert tensor.dtype is not None
        return replace(tensor, given=True, stored=tensor.dtype.machine)

    def leave(self, at: int, index: int) -> str:
        """A head, copied to the caller's memory."""
        heads = [self.plan.tensors[each].precision for each in self.plan.heads]
        tensor, made = self.plan.tensors[index], self.tensors[self.names[index]]
        name = self.fresh(f"head{at}" if len(heads) > 1 else "head")
        if tensor.precision is None:
            self.tensors[name] = self.brought(replace(made, name=name, values=None))
        else:
            widest = max(each for each in heads if each is not None)
            kind = "i8" if widest <= BYTE_PRECISION else "i32"
            self.tensors[name] = replace(made, name=name, values=None, given=True, stored=kind)
        self.copy(tensor.node, made.name, name)
        return name

    def left_behind(self) -> dict[str, Array]:
        """The states as a run leaves them, and what they are at first. What another state was is
        kept until that one has changed."""
        states = [each for each in self.plan.states if each.written != each.read]
        read = {each.read for each in states}
        sources = {}
        for each in states:
            source = self.names[each.written]
            if each.written in read:
                old = self.tensors[source]
                source = self.fresh(f"{source}_before")
                self.tensors[source] = replace(old, name=source, given=False)
                self.copy(each.name, old.name, source)
            sources[each.read] = source
        for each in states:
            self.copy(each.name, sources[each.read], self.names[each.read])
        return {self.names[each.read]: each.first for each in self.plan.states}

    def copy(self, node: str, source: str, target: str) -> None:
        """The elements of a tensor as those of another one; nobody is told of it."""
        shape = self.tensors[source].shape
        step = PlanStep(node, "reshape", (("target_shape", shape),), (), ())
        self.pointwise(step, source, target, silent=True)

    def pointwise(self, step: PlanStep, source: str, target: str, *, silent: bool = False) -> None:
        """An operator of cvm of one input, beside the steps of the plan; not told of where
        `silent`. Types are those of its tensors, whatever the formula's."""
        formula = self.formulas(OPSET)[step.operator]
        operand = CallTensor(source, self.tensors[source].shape, MAX_PRECISION)
        for nest in self.specialized(formula, [[operand]], step, [target]).nests:
            origin = Origin.of(step.node, formula, nest)
            self.add(plain_loops(nest.body), () if silent else (origin,), formula)


def own_type(name: str, shape: tuple[int, ...], dtype: DType, values: Array | None) -> ModelTensor:
    """A tensor whose elements have a type of their own; integers lie in any that holds them."""
    stored = None if dtype.kind == "int" else dtype.machine
    return ModelTensor(name, shape, None, values, dtype=dtype, stored=stored)


def memory_tensor(name: str, shape: tuple[int, ...], kind: str) -> ModelTensor:
    """Memory of a step: for the elements of a `let`, or for a list."""
    match kind:
        case "":
            return ModelTensor(name, shape, stored="i64", listed=True)
        case "real":
            return own_type(name, shape, FLOAT64, None)
        case _:
            return ModelTensor(name, shape)


def is_one_value(values: Array) -> bool:
    """Whether all elements are one number; 0.0 and -0.0 are two."""
    first = values.flat[0]
    return bool((values == first).all()) and values.tobytes() == first.tobytes() * values.size


def constant_of(tensor: ModelTensor) -> i.Expr:
    """The value of a parameter that has one alone."""
    assert tensor.values is not None
    value = tensor.values.flat[0]
    match tensor.kind:
        case "real":
            return i.Real(repr(float(value)))
        case "bool":
            return i.Const(bool(value))
        case _:
            return i.Const(int(value))

"""From a plan of a graph to kernels: each step's nests, for the shapes and precisions it has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from cvmgen import driver
from cvmgen.build.progress import followed
from cvmgen.dtypes import MAX_PRECISION
from cvmgen.errors import InternalError
from cvmgen.graph.limits import largest_magnitude
from cvmgen.graph.operators import OperatorLibrary, sorted_inputs
from cvmgen.graph.plan import Plan, PlanStep, library_operator
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import fresh, rebuild
from cvmgen.known.constant_loops import plain_loops
from cvmgen.known.specialize import CallTensor, KnownCall, Specialized, specialize
from cvmgen.model.kernels import (
    Model,
    ModelKernel,
    ModelTensor,
    Origin,
    nest_and_body,
    sorted_places,
)
from cvmgen.ranges import Range
from cvmgen.source import SpecError
from cvmgen.spec.formula import Operator

BYTE_PRECISION = 8  # what an int8 holds


class KernelBuilder:
    """Makes the kernels of a plan; `formulas` are the operators of the opset by name."""

    def __init__(
        self,
        plan: Plan,
        operators: OperatorLibrary,
        formulas: Mapping[str, Operator],
    ) -> None:
        self.plan = plan
        self.operators = operators
        self.formulas = formulas
        self.programs: dict[str, i.Program] = {}
        self.numbers: Iterator[int] = count(1)
        self.taken = {"STEP", "memset", "memory", "share"}
        self.tensors: dict[str, ModelTensor] = {}
        self.kernels: list[ModelKernel] = []
        used = {
            index
            for step in plan.steps
            for index in (*step.inputs, *step.outputs)
            if index is not None
        }
        self.names: dict[int, str] = {}
        for index in sorted(used | {*plan.heads, *plan.inputs}):
            tensor = plan.tensors[index]
            limit = largest_magnitude(tensor.declared)
            name = self.fresh(tensor.node)
            self.names[index] = name
            values = plan.constants.get(index)
            found = ModelTensor(name, tensor.shape, Range(-limit, limit), values)
            self.tensors[name] = found

    def fresh(self, node: str) -> str:
        """The name of a node as an identifier of its own."""
        plain = re.sub(r"\W", "_", node, flags=re.ASCII)
        return fresh(plain if plain[:1].isalpha() else f"t_{plain}", self.taken)

    def model(self) -> Model:
        given = self.arrive()
        for step in followed(self.plan.steps, lambda each: f"lowering {each.node}"):
            self.step(step)
        outputs = tuple(self.leave(at, index) for at, index in enumerate(self.plan.heads))
        return Model(self.tensors, self.with_constants(), (given,), outputs)

    def with_constants(self) -> tuple[ModelKernel, ...]:
        """The kernels with the values of parameters that have one alone."""
        single = {
            name: i.Const(int(tensor.values.flat[0]))
            for name, tensor in self.tensors.items()
            if tensor.values is not None and (tensor.values == tensor.values.flat[0]).all()
        }

        def change(node: Any) -> Any:
            return single.get(node.tensor, node) if isinstance(node, i.Access) else node

        return tuple(replace(each, body=rebuild(each.body, change)) for each in self.kernels)

    def specialized(
        self,
        operator: str,
        inputs: Sequence[Sequence[CallTensor]],
        step: PlanStep,
        outputs: Sequence[str],
    ) -> Specialized:
        formula = self.formulas[operator]
        if operator not in self.programs:
            self.programs[operator] = as_untested(driver.lower(formula, driver.STATEMENTS))
        named = dict(zip(formula.output_names, outputs, strict=True))
        call = KnownCall(inputs, dict(step.attributes), named)
        return specialize(self.programs[operator], call, outputs[0], self.numbers)

    def step(self, step: PlanStep) -> None:
        operator = library_operator(self.operators, step.operator)
        inputs = [
            [self.operand(index) for index in each if index is not None]
            if isinstance(each, list)
            else ([] if each is None else [self.operand(each)])
            for each in sorted_inputs(operator, step.inputs)
        ]
        formula = self.formulas[step.operator]
        outputs = [self.names[index] for index in step.outputs]
        made = self.specialized(step.operator, inputs, step, outputs)
        self.agree(step, made)
        if formula.although:  # its rule is below what it gives
            for name in outputs:
                self.tensors[name] = ModelTensor(name, self.tensors[name].shape)
        for name, shape in made.memory.items():
            self.tensors[name] = ModelTensor(name, shape, bits=64)
        for nest in made.nests:
            origin = Origin.of(step.node, formula, nest)
            self.add(plain_loops(nest.body), (origin,), formula)

    def agree(self, step: PlanStep, made: Specialized) -> None:
        """What the host code gives is what the plan has, whichever way it was found."""
        found = list(made.outputs.values())
        planned = [self.plan.tensors[index] for index in step.outputs]
        if found != [(tensor.shape, tensor.precision) for tensor in planned]:
            raise InternalError(f"specialize: {step.node} is {found}, and was to be {planned}")

    def operand(self, index: int) -> CallTensor:
        tensor = self.plan.tensors[index]
        return CallTensor(self.names[index], tensor.shape, tensor.declared)

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
            if isinstance(place, i.Access) and self.tensors[place.tensor].bits == 64
        ]
        return all((i.Var(name), False) in place.index for place in shared for name, _ in loops)

    # -------------------------------------------------------- what comes and goes

    def arrive(self) -> str:
        """The data, cut to its precision as a network does."""
        index = self.plan.inputs[0]
        tensor = self.plan.tensors[index]
        bits = 8 if tensor.declared <= BYTE_PRECISION else 32
        given = self.fresh("given")
        self.tensors[given] = ModelTensor(given, tensor.shape, given=True, bits=bits)
        cut = PlanStep(tensor.node, "cvm_clip", (("precision", tensor.precision),), (), ())
        self.pointwise(cut, given, self.names[index])
        return given

    def leave(self, at: int, index: int) -> str:
        """A head, copied to the caller's memory."""
        heads = [self.plan.tensors[each] for each in self.plan.heads]
        tensor = self.plan.tensors[index]
        bits = 8 if max(each.declared for each in heads) <= BYTE_PRECISION else 32
        name = self.fresh(f"head{at}" if len(heads) > 1 else "head")
        promised = self.tensors[self.names[index]].promised
        self.tensors[name] = ModelTensor(name, tensor.shape, promised, given=True, bits=bits)
        copy = PlanStep(tensor.node, "reshape", (("target_shape", tensor.shape),), (), ())
        self.pointwise(copy, self.names[index], name, silent=True)
        return name

    def pointwise(self, step: PlanStep, source: str, target: str, *, silent: bool = False) -> None:
        """An operator of one input, beside the steps of the plan; not told of where `silent`."""
        formula = self.formulas[step.operator]
        operand = CallTensor(source, self.tensors[source].shape, MAX_PRECISION)
        for nest in self.specialized(step.operator, [[operand]], step, [target]).nests:
            origin = Origin.of(step.node, formula, nest)
            self.add(plain_loops(nest.body), () if silent else (origin,), formula)


def as_untested(program: i.Program) -> i.Program:
    """The program of an operator of which no access has to be tested: models have no place for
    what a test finds."""
    for nest in program.nests:
        if nest.guarded is not None:
            message = "a model cannot have this operator: "
            if nest.guarded.rule:
                raise SpecError(nest.span, f"{message}it requires something of elements")
            message += "not all that it reads is proved to be there"
            raise SpecError(nest.span, message, "`cvmgen check` tells the places")
    return program

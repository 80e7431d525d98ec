"""A model as CUDA files: kernels, the host code that starts them, the header, the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from cvmgen.build.includes import with_included
from cvmgen.emit import cuda_support
from cvmgen.emit.c_spelling import c_string, comment, pointer
from cvmgen.emit.c_text import signature, wrapped_list
from cvmgen.emit.call_printer import CallPrinter
from cvmgen.emit.cuda_frame import KernelTexts
from cvmgen.emit.cuda_kernels import headers_of
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.emit.render import render_template
from cvmgen.graph.memory import cache_aligned
from cvmgen.ir import nodes as i
from cvmgen.model.device import host_part
from cvmgen.model.emit import NOTICE, WORKSPACE_LEAST, Files, array_lines, first_name, headers_for
from cvmgen.model.steps import KernelStep
from cvmgen.model.storage import workspace_layout
from cvmgen.schedule.gpu.mapped import DeviceFunction, KernelParameter, Mapped


@dataclass(frozen=True)
class CudaFiles(Files):
    """Assembles the files of one model for GPUs."""

    target = "cuda"
    last = "map"

    def all(self) -> dict[str, str]:
        texts = cuda_support.emit_support(self.schedules)
        runtime = (cuda_support.STREAM, *(f"cpu/{name}" for name in cuda_support.CPU_FILES))
        files = with_included([*self.headers, *runtime], texts)
        files[f"{self.name}.h"] = self.header()
        files[f"{self.name}.cu"] = self.source()
        if self.weights_read:
            files[f"{self.name}_weights.cc"] = self.weights()
        files[f"{self.name}.json"] = self.description()
        return files

    @property
    def function_name(self) -> str:
        return f"{self.name}_cuda"

    # -------------------------------------------------------- the header

    def header(self) -> str:
        return render_template(
            "cuda/model.h.j2",
            name=self.name,
            function=self.function_name,
            guard=self.name.upper(),
            title=self.title,
            doc=self.doc(),
            constants="\n".join(self.constants()),
            members="\n".join(indented(self.members())),
            begin=self.about_states("cuda/model_state.h.j2", function=self.function_name),
            notice_model=NOTICE,
        )

    def members(self) -> Iterator[str]:
        """Those of the structure of arguments."""
        for name, shown in self.arguments():
            constant = "const " if name in self.model.inputs else ""
            yield f"{constant}{self.element(name)} *{shown};"
        if self.model.states:
            yield f"void *state; /* of {self.name}_state_size bytes */"
        yield "void *parameters;"
        yield "void *workspace;"

    # -------------------------------------------------------- the steps

    @cached_property
    def workspace(self) -> tuple[dict[str, int], int]:
        offsets, size = workspace_layout(self.model, self.storage)
        return dict(offsets), max(size, WORKSPACE_LEAST)

    @cached_property
    def parameter_places(self) -> tuple[dict[str, int], int]:
        """Where each parameter lies in one block of memory, and its size."""
        places, size = dict[str, int](), 0
        for name, values in self.weights_read.items():
            if name in self.first_states:
                continue
            places[name] = size
            size += cache_aligned(values.nbytes)
        return places, max(size, WORKSPACE_LEAST)

    @property
    def headers(self) -> list[str]:
        """What kernels and the host include."""
        found = [mapped_of(each) for each in self.steps]
        bodies = tuple(function.body for each in found for function in each.functions)
        return ["cvmgen_cuda.h", *sorted(headers_of((bodies, tuple(e.before for e in found))))]

    def source(self) -> str:
        return render_template(
            "cuda/model.cu.j2",
            name=self.name,
            function=self.function_name,
            title=self.title,
            doc=self.doc(),
            includes="\n".join(f'#include "{name}"' for name in self.headers),
            kernels="\n\n".join(text for each in self.steps for text in self.kernels(each)),
            weights="".join(f"{line}\n" for line in self.declarations()),
            load=self.load(),
            parameter_bytes=self.parameter_places[1],
            workspace_bytes=self.workspace[1],
            steps="\n\n".join(map(self.function, self.steps)),
            checks="\n".join(indented(self.checks([*self.needed(), "parameters", "workspace"]))),
            run="\n".join(indented(self.run_lines())),
            begin=self.about_states(
                "cuda/model_state.cu.j2",
                function=self.function_name,
                shown_name=c_string(self.name),
                begin="\n".join(indented(self.begin_lines())),
            ),
            shown_name=c_string(self.name),
            notice_model=NOTICE,
        )

    def kernel_parameters(
        self, step: KernelStep, function: DeviceFunction
    ) -> list[KernelParameter]:
        tensors = (self.parameter(step, name) for name in step.tensors_of(function.body))
        return [*function.leading, *tensors, *function.parameters]

    def parameter(self, step: KernelStep, tensor: str) -> KernelParameter:
        kind, written = self.storage.elements[tensor].type, tensor in step.kernel.written
        return KernelParameter(tensor, kind, elements=True, written=written)

    def kernels(self, step: KernelStep) -> Iterator[str]:
        """The kernels of a step."""
        program = i.Program(step.kernel.operator, (), ())
        frame = KernelTexts(
            program,
            f"{self.name}_{step.name}",
            step.typed.body,
            lambda function: self.kernel_parameters(step, function),
            lambda function: [comment(str(each)) for each in step.kernel.origins],
            lambda _: [],
        )
        for each in mapped_of(step).functions:
            yield frame.kernel(each)

    def function(self, step: KernelStep) -> str:
        """What the host does to start the kernels of a step."""
        functions = mapped_of(step).functions
        given = {each.name: step.tensors_of(each.body) for each in functions}
        kernels = [f"{step.name}{each.name}" for each in functions]
        names = {each: f"{self.name}_{each}" for each in kernels}
        printer = CallPrinter(step.kernel.operator, "", names)
        tensors = (replace(self.parameter(step, each), apart=False) for each in step.tensors)
        parameters = ["cvmgen_error *error", "cudaStream_t stream"]
        parameters += [pointer(each, "") for each in tensors]
        head = signature(f"static int {step.name}(", parameters)
        printer.outcome = "return "  # there is one launch, which comes last
        lines = printer.part(host_part(step, given))
        return "\n".join([*head, *wrap_c(indented(lines)), "}"])

    def run_lines(self) -> Iterator[str]:
        """The launch plan."""
        pointers = {name: f"args->{shown}" for name, shown in self.arguments()}
        pointers |= self.places("state", self.state_places[0])
        pointers |= self.places("parameters", self.parameter_places[0])
        pointers |= self.places("workspace", self.workspace[0])
        yield "int status = CVMGEN_OK;"
        for at, step in enumerate(self.steps):
            given = ["error", "stream", *(pointers[each] for each in step.tensors)]
            call = wrapped_list(f"status = {step.name}(", given, ");", 88)
            yield from call if at == 0 else ["if (status == CVMGEN_OK)", *indented(call)]
        yield "return status;"

    def places(self, block: str, offsets: dict[str, int]) -> dict[str, str]:
        """Pointers to what lies in a block of memory."""
        return {
            name: f"({self.element(name)} *)place(args->{block}, {offset})"
            for name, offset in offsets.items()
        }

    # -------------------------------------------------------- parameters and states

    def declarations(self) -> list[str]:
        """The parameters that the file of weights defines, and an empty line."""
        if not self.weights_read:
            return []
        return [f"/* {self.name}_weights.cc */", 'extern "C" {', *self.declared(), "}", ""]

    def declared(self) -> Iterator[str]:
        return (f"extern {self.declaration(name)};" for name in self.weights_read)

    def weights(self) -> str:
        arrays = [
            "\n".join(array_lines(f"{self.declaration(name)} =", values))
            for name, values in self.weights_read.items()
        ]
        return render_template(
            "cuda/model_weights.cc.j2",
            name=self.name,
            headers=headers_for(self.weights_read.values()),
            declared="\n".join(self.declared()),
            arrays="\n\n".join(arrays),
            notice_model=NOTICE,
        )

    def parameter_rows(self) -> Iterator[str]:
        """Where each parameter is copied from and to, and how many bytes it has."""
        for name, offset in self.parameter_places[0].items():
            yield f"{{{self.global_name(name)}, {offset}, {self.weights_read[name].nbytes}}},"

    def load(self) -> str:
        """How the parameters come into the memory of the device."""
        rows = "\n".join(indented(indented(self.parameter_rows())))
        return render_template(
            "cuda/model_load.cu.j2" if rows else "cuda/model_load_nothing.cu.j2",
            function=self.function_name,
            shown_name=c_string(self.name),
            parameters=rows,
        )

    def begin_lines(self) -> Iterator[str]:
        """What a state is at first; those that are not zeros are among the parameters."""
        size = self.state_places[1]
        yield f"cudaError_t status = cudaMemsetAsync(args->state, 0, {size}, stream);"
        for name, offset in self.state_places[0].items():
            if (first := first_name(name)) in self.first_states:
                values, size = self.global_name(first), self.first_states[first].nbytes
                yield "if (status == cudaSuccess)"
                yield f"    status = copied(args->state, {offset}, {values}, {size}, stream);"
        yield "return cvmgen_device_status(error, status);"

    def checks(self, members: Iterable[str]) -> Iterator[str]:
        """Refusals of what is not there."""
        for each in members:
            yield f"if (args->{each} == NULL) return missing(error, {c_string(each)});"

    def needed(self) -> list[str]:
        return [*(shown for _, shown in self.arguments()), *["state"] * bool(self.model.states)]


def mapped_of(step: KernelStep) -> Mapped:
    assert step.mapped is not None, "a step is not mapped to threads"
    return step.mapped

"""The arguments of each command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cvmgen.api.library import LANGUAGES, TARGETS
from cvmgen.cli.exits import UsageError
from cvmgen.paths import ROUNDINGS, spec_folder, stands_alone

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
"""GPUs whose machine code is looked at: A100, H100 and the GeForce RTX 50 series."""


def add_spec(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--spec",
        type=Path,
        default=spec_folder(),
        metavar="DIR",
        help="read the formulas in DIR and the schedules in DIR/schedules, of which one may be "
        "missing: then it is the project's (default: the project's spec/)",
    )


def add_scheduler(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--scheduler",
        dest="workers",
        metavar="ADDRESS",
        help="let the workers of this Dask scheduler take operators, as tcp://localhost:8786; they "
        "need this cvmgen, and its folders at the same paths",
    )


def add_model(made: argparse.ArgumentParser, about: str) -> None:
    made.add_argument(
        "--model",
        nargs=2,
        type=optional_path,
        metavar=("MODEL", "PARAMS"),
        help=f"{about}; a graph with its parameters, or a .tflite or .onnx file alone",
    )
    add_rounding(made)


def add_rounding(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--rounding",
        choices=tuple(each for several in ROUNDINGS.values() for each in several),
        help="whose kernels the model is meant for, where kernels round otherwise: of a .tflite "
        "file tflm (TensorFlow Lite's for microcontrollers, the default), litert (its reference "
        "kernels) or xnnpack; of an .onnx file ort",
    )


def optional_path(text: str) -> Path | None:
    return Path(text) if text else None


def with_no_parameters(arguments: Sequence[str]) -> list[str]:
    """The arguments with an empty text for the parameters of a model whose file has them.

    UsageError for one that needs them.
    """
    found = list(arguments)
    for at, each in enumerate(arguments[1:], start=1):
        if arguments[at - 1] != "--model" or each.startswith("-"):
            continue
        if stands_alone(each):
            found.insert(at + 1 + len(found) - len(arguments), "")
        elif at + 1 == len(arguments) or arguments[at + 1].startswith("-"):
            raise UsageError(
                f"--model {each}: behind a graph goes the file of its parameters; only "
                f"{' and '.join(ROUNDINGS)} files have them in themselves"
            )
    return found


def add_build(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "operators",
        nargs="*",
        metavar="OPSET.OP",
        help="write the files of these operators only (default: all)",
    )
    made.add_argument(
        "--target",
        action="append",
        choices=tuple(LANGUAGES),
        help="generate for this target only; may be repeated (default: all); with --model: c or "
        "cuda, one of them (default: c)",
    )
    add_model(
        made,
        "write a library for one model instead: all its nodes for their shapes, in one file of C "
        "or CUDA with a header, its parameters in another, by the schedules of --spec, a folder "
        "with nothing else (default for --out: the model's name)",
    )
    made.add_argument(
        "--name",
        metavar="NAME",
        help="with --model: what its files and functions are called (default: the graph's folder)",
    )
    made.add_argument(
        "--rust", action="store_true", help="with --model: write a crate of Rust around it too"
    )
    made.add_argument(
        "--check",
        action="store_true",
        help="write and compile nothing; fail with a unified diff when a file would change",
    )
    made.add_argument(
        "--report",
        action="store_true",
        help="print what the nests in C became: class, actions, threads, work, memory, and the "
        "vectors that the compiler made of each inner loop; compile the CUDA kernels and print "
        "what each became: registers, bytes spilled to "
        "memory, of stack and of shared memory, the accesses of 16 bytes and more, products on "
        "tensor cores (mma), dot products (dp4a) and asynchronous copies (async); fail when a "
        "kernel breaks a gate. This needs no GPU. With --model: print what the schedules made of "
        "each step",
    )
    made.add_argument(
        "--architecture",
        action="append",
        type=architecture,
        metavar="SM",
        help="report on this GPU architecture only, as sm_90; may be repeated "
        f"(default: {', '.join(ARCHITECTURES)})",
    )
    made.add_argument(
        "--out", type=Path, metavar="DIR", help="write to DIR (default: the project's generated/)"
    )
    made.add_argument(
        "--install",
        type=Path,
        metavar="PREFIX",
        help="put the C library, its headers, and what pkg-config and CMake read below PREFIX",
    )
    made.add_argument(
        "-j",
        dest="jobs",
        type=positive_number,
        metavar="N",
        help="run at most N compilers at once (default: one for each core)",
    )
    add_spec(made)


def add_list(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--search",
        nargs="+",
        metavar="WORD",
        help="print the operators that these words mean: names and aliases, what is said of them, "
        "and what ONNX, NumPy, PyTorch and MXNet call them",
    )
    made.add_argument(
        "--schedules",
        action="store_true",
        help="print the language of schedules instead: classes of nests and their roles, actions "
        "and when they are legal, measures, intrinsics, mappings",
    )
    made.add_argument(
        "--markdown",
        action="store_true",
        help="print tables: each operator, the line of its formula, what targets do with it",
    )
    made.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help="write those tables into FILE, between the two marks in it, with links to spec/",
    )
    made.add_argument(
        "--check", action="store_true", help="write nothing; fail when FILE would change"
    )
    add_spec(made)


def add_show(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "operator",
        nargs="?",
        metavar="OP",
        help="cvm.conv2d, or conv2d for short, or an alias; with --model: a step (default: all)",
    )
    add_model(made, "print what became of the steps of this model; with --after STAGE")
    made.add_argument(
        "--target",
        choices=tuple(LANGUAGES),
        help="print its file for this target; with --after: a stage of this target",
    )
    made.add_argument(
        "--after",
        metavar="STAGE",
        help="print what a stage is for and what it changed, or 'all' of them by name; without "
        "--target those of C, and the mappings for CUDA",
    )
    add_spec(made)


def add_check(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="spec files or folders, or files of schedules (default: all of spec/)",
    )
    add_model(made, "apply the schedules for models to this one too, and write nothing")
    add_scheduler(made)
    add_spec(made)


def add_format(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files of formulas and schedules, folders of such, or - to read standard input and "
        "print it laid out (default: all of spec/)",
    )
    made.add_argument(
        "--check", action="store_true", help="write nothing; fail when a file would change"
    )
    made.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    add_spec(made)


def add_lsp(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--stdio", action="store_true", help="speak over standard input and output, as it always is"
    )
    add_spec(made)


def add_completion(made: argparse.ArgumentParser) -> None:
    made.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell to print it for")


def add_derive(made: argparse.ArgumentParser) -> None:
    made.add_argument("operator", metavar="OP", help="cvm.conv2d, or conv2d for short, or an alias")
    made.add_argument("--wrt", required=True, metavar="INPUT", help="the input, as X")
    made.add_argument(
        "--name", metavar="NAME", help="of the new operator (default: OP_adjoint_INPUT)"
    )
    add_spec(made)


def add_explore(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "operators", nargs="*", metavar="OPSET.OP", help="the pages of these only (default: all)"
    )
    made.add_argument(
        "--out",
        type=Path,
        default=Path("explore"),
        metavar="DIR",
        help="write to DIR (default: explore/ in the current folder)",
    )
    made.add_argument("--open", action="store_true", help="show the first page in a browser")
    made.add_argument(
        "--assembly",
        action="store_true",
        help="with the machine code of the C for this machine and of the CUDA for a GPU, which "
        "takes seconds; the latter needs the extra `cuda`",
    )
    add_model(made, "write the page of this model: its steps, its memory over time")
    made.add_argument(
        "--profile", action="store_true", help="with --model: with the time of each step"
    )
    add_spec(made)


def add_diff(made: argparse.ArgumentParser) -> None:
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    made.add_argument(
        "old",
        nargs="?",
        metavar="OLD",
        help="the version before: a spec folder, a .cvm file, a revision of git (then the spec "
        "folder of that revision), or REVISION:PATH (default: HEAD)",
    )
    made.add_argument(
        "new",
        nargs="?",
        metavar="NEW",
        help="the version now (default: the spec folder as it lies there)",
    )
    made.add_argument(
        "--target",
        action="append",
        choices=tuple(LANGUAGES),
        help="compare the generated text for this target only; may be repeated (default: all)",
    )
    made.add_argument(
        "--text", action="store_true", help="print the unified diff of the generated text too"
    )
    add_spec(made)


def add_watch(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--since",
        metavar="OLD",
        help="compare each save with this version: a folder, a revision of git, or REVISION:PATH "
        "(default: with the save before)",
    )
    made.add_argument(
        "--explore",
        type=Path,
        nargs="?",
        const=Path("explore"),
        metavar="DIR",
        help="keep the pages of `cvmgen explore` in DIR (default: explore/) up to date, and write "
        "those of operators that are edited; a page that is open loads itself again",
    )
    made.add_argument(
        "--target",
        action="append",
        choices=tuple(LANGUAGES),
        help="generate for this target only; may be repeated (default: all)",
    )
    made.add_argument(
        "--text", action="store_true", help="print the unified diff of the generated text too"
    )
    made.add_argument(
        "--out", type=Path, metavar="DIR", help="write to DIR (default: the project's generated/)"
    )
    add_spec(made)


def add_verify(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "operators",
        nargs="*",
        metavar="OPSET.OP",
        help="look at these only (default: all); with --model: steps",
    )
    add_model(made, "prove what each step of this model must keep, where all sizes are known")
    made.add_argument(
        "--explain",
        action="store_true",
        help="show each obligation in mathematics, and the facts it was proved from",
    )
    made.add_argument(
        "--target",
        choices=("c", "cuda"),
        default="c",
        help="of cuda: no two threads race, and all of a block meet at barriers, or with --values "
        "what C is asked (default: c)",
    )
    made.add_argument(
        "--values",
        type=int,
        nargs="?",
        const=10,
        metavar="CALLS",
        help="run the generated text on terms instead: on so many calls at the edges of schedules "
        "(default: %(const)s) each result is what its formula says, for all values of the inputs",
    )
    made.add_argument(
        "--actions",
        type=int,
        nargs="?",
        const=3,
        metavar="CALLS",
        help="the same of the C that each action of the schedules leaves, on so many calls "
        "(default: %(const)s): which one changes what is computed",
    )
    made.add_argument(
        "--ledger",
        action="store_true",
        help="ask all of that, of C and CUDA, and write what is known into ledger.json and "
        "ledger.md beside the generated files: of the operators that are named, or of those whose "
        "text changed since; but --actions, or --values --target cuda, only where they are given, "
        "which then are asked alone",
    )
    made.add_argument(
        "--accept",
        action="store_true",
        help="with --ledger: let what is proved no longer stand as it is now",
    )
    made.add_argument(
        "--generated",
        type=Path,
        metavar="DIR",
        help="with --values, --actions and --ledger: the generated files are in DIR "
        "(default: generated/)",
    )
    made.add_argument(
        "-j",
        dest="jobs",
        type=positive_number,
        metavar="N",
        help="prove with at most N processes at once (default: one for each core)",
    )
    add_scheduler(made)
    add_spec(made)


def add_run(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="the graph, a JSON file, or a .tflite or .onnx file; or the folder that "
        "`cvmgen build --model` wrote",
    )
    made.add_argument("--params", type=Path, metavar="P", help="the file of the graph's parameters")
    add_rounding(made)
    given = made.add_mutually_exclusive_group(required=True)
    given.add_argument(
        "--input",
        type=Path,
        nargs="+",
        metavar="X.npy",
        help="an array for each input, in their order",
    )
    given.add_argument(
        "--inputs",
        type=Path,
        nargs="+",
        metavar="X",
        help="run the model on each row of an array for each input, .npy or .zarr; with --output",
    )
    made.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="with --inputs: let the workers of this Dask scheduler run the rows, as "
        "tcp://localhost:8786; they need the model's folder, or cvmgen with the same operators",
    )
    made.add_argument(
        "--output",
        type=Path,
        metavar="Y.npy",
        help="store the result here and print nothing; of --inputs the results, .npy or .zarr, "
        "with a number in the names where a model gives several",
    )
    made.add_argument(
        "--target", choices=tuple(TARGETS), help="default: c; of a folder c or cuda-cpu"
    )


def positive_number(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least 1")
    return number


def architecture(text: str) -> str:
    from cvmgen.build.cuda import checked_architecture

    try:
        return checked_architecture(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None

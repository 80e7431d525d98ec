"""The command line: arguments, commands, exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cvmgen
from cvmgen.api.library import LANGUAGES, TARGETS
from cvmgen.cli.exits import MEANINGS, Exit, UsageError, tell, tell_faults
from cvmgen.cli.interrupt import Ended
from cvmgen.errors import Faults
from cvmgen.paths import checkout, generated_folder, spec_folder

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
"""GPUs whose machine code is looked at: A100, H100 and the GeForce RTX 50 series."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code and lets no exception out."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as error:  # --help, --version, or arguments that argparse refuses
        return int(error.code or 0)
    faults = Faults()
    try:
        code = perform(options, faults)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.OK)
    except Ended:
        raise
    except (Exception, KeyboardInterrupt) as error:
        code = tell(error, as_json=options.json, debug=options.debug)
    return int(tell_faults(faults, code, debug=options.debug))


def perform(options: argparse.Namespace, faults: Faults) -> Exit:
    """Hand the options to their command."""
    return COMMANDS[options.command].run(options, faults)


# ---------------------------------------------------------------- what runs; imported when wanted


def run_build(options: argparse.Namespace, faults: Faults) -> Exit:
    if options.model is not None:
        return run_build_model(options)
    from cvmgen.cli import build

    targets = tuple(name for name in LANGUAGES if name in (options.target or LANGUAGES))
    if options.name is not None:
        raise UsageError("--name goes with --model")
    if options.out is None and options.spec != spec_folder():
        raise UsageError(
            "--spec goes with --out DIR: generated/ is for the formulas of the project"
        )
    if options.install is not None and "c" not in targets:
        raise UsageError("--install is about the C library: it needs --target c")
    if options.install is not None and (options.check or options.operators):
        raise UsageError("--install goes with neither --check nor OPSET.OP")
    request = build.Request(
        options.spec,
        options.out or generated_folder(),
        targets,
        tuple(options.operators),
        whole=not options.operators and not options.target,
        architectures=architectures(options, targets),
        loops=options.report and "c" in targets,
        prefix=options.install,
        written=options.out is not None or checkout() is not None,
    )
    if options.check:
        return build.check(request, faults, as_json=options.json)
    return build.build_folder(request, faults, as_json=options.json, jobs=options.jobs)


def run_build_model(options: argparse.Namespace) -> Exit:
    """`cvmgen build --model`, which goes with few of the other options."""
    others = {"operators": "OPSET.OP", "target": "--target"}
    others |= {"architecture": "--architecture", "jobs": "-j", "install": "--install"}
    for option, shown in others.items():
        if getattr(options, option, None):
            raise UsageError(f"{shown} does not go with --model")
    own_schedules(options)
    from cvmgen.cli import model

    symbol, params = options.model
    return model.build_model(
        symbol,
        params,
        spec=options.spec,
        folder=options.out,
        name=options.name,
        check=options.check,
        report=options.report,
        as_json=options.json,
    )


def own_schedules(options: argparse.Namespace) -> None:
    """Refuse a spec folder that has more for a model than schedules."""
    if options.spec != spec_folder() and any(options.spec.rglob("*.cvm")):
        raise UsageError(
            "--spec with formulas does not go with --model, whose plans ask the project's "
            "operators; a folder with nothing but schedules/*.sched does"
        )


def architectures(options: argparse.Namespace, targets: Sequence[str]) -> tuple[str, ...]:
    """What `cvmgen build` is to report on; none without a report."""
    if not options.report:
        if options.architecture:
            raise UsageError("--architecture goes with --report")
        return ()
    if options.check:
        raise UsageError("--report does not go with --check")
    if not {"c", "cuda"} & {*targets}:
        raise UsageError("--report is about C and CUDA: it needs --target c or --target cuda")
    if "cuda" not in targets:
        if options.architecture:
            raise UsageError("--architecture is about CUDA kernels: it needs --target cuda")
        return ()
    return tuple(dict.fromkeys(options.architecture or ARCHITECTURES))


def run_list(options: argparse.Namespace, faults: Faults) -> Exit:
    if options.schedules:
        if options.search is not None or options.markdown or options.check or options.into:
            raise UsageError("--schedules goes with --json alone")
        from cvmgen.cli import language

        return language.print_reference(options.spec, as_json=options.json)
    if options.search is not None:
        if options.markdown or options.check or options.into is not None:
            raise UsageError("--search goes with --json alone")
        from cvmgen.cli import search

        return search.search(options.spec, options.search, faults, as_json=options.json)
    if options.into is None and options.check:
        raise UsageError("--check needs a file to look at: --into FILE")
    if options.into is None and not options.markdown:
        from cvmgen.cli import show

        return show.list_operators(options.spec, faults, as_json=options.json)
    # Imported here: this needs sympy and jinja2, which the plain list does not.
    from cvmgen.cli import table

    if options.into is None:
        return table.print_tables(options.spec, as_json=options.json)
    return table.update(options.spec, options.into, check=options.check, as_json=options.json)


def run_show(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import show

    if options.model is not None:
        own_schedules(options)
        if options.target is not None or options.after is None:
            raise UsageError("--model goes with --after STAGE, and not with --target")
        return show.show_model(
            options.spec, options.model, options.operator, options.after, as_json=options.json
        )
    if options.operator is None:
        raise UsageError("name an operator, or a model with --model SYMBOL PARAMS")
    return show.show(
        options.spec,
        options.operator,
        target=options.target,
        stage=options.after,
        as_json=options.json,
    )


def run_check(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import show

    if options.model is not None:
        own_schedules(options)
    return show.check_specs(
        options.spec, options.files, faults, model=options.model, as_json=options.json
    )


def run_derive(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import derive

    return derive.derive(
        options.spec, options.operator, options.wrt, options.name, as_json=options.json
    )


def run_verify(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import threads, values, verify

    if options.target == "cuda" and (options.explain or options.values is not None):
        raise UsageError("--target cuda asks of threads alone: --explain and --values are of C")
    if options.values is not None:
        folder = options.generated or generated_folder()
        return values.verify_values(
            options.spec, folder, options.operators, calls=options.values, as_json=options.json
        )
    if options.target == "cuda":
        return threads.verify_threads(options.spec, options.operators, as_json=options.json)
    return verify.verify(
        options.spec, options.operators, explain=options.explain, as_json=options.json
    )


def run_run(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import run

    return run.run_model(
        options.model,
        params=options.params,
        input_file=options.input,
        output_file=options.output,
        target=options.target,
        as_json=options.json,
    )


# ---------------------------------------------------------------- arguments


def parser() -> argparse.ArgumentParser:
    codes = "\n".join(f"  {int(code):<4} {meaning}" for code, meaning in MEANINGS.items())
    top = argparse.ArgumentParser(
        prog="cvmgen",
        description="Generate operators from their formulas, for Python, C and CUDA.",
        epilog=f"exit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"cvmgen {cvmgen.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, each in COMMANDS.items():
        made = commands.add_parser(name, help=each.about, description=each.details)
        made.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
        made.add_argument("--debug", action="store_true", help="show the traceback of an error")
        each.add(made)
    return top


def add_spec(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--spec",
        type=Path,
        default=spec_folder(),
        metavar="DIR",
        help="read the formulas in DIR and the schedules in DIR/schedules, of which one may be "
        "missing: then it is the project's (default: the project's spec/)",
    )


def add_model(made: argparse.ArgumentParser, about: str) -> None:
    made.add_argument("--model", nargs=2, type=Path, metavar=("SYMBOL", "PARAMS"), help=about)


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
        help="generate for this target only; may be repeated (default: all)",
    )
    add_model(
        made,
        "write a library for one model instead: all its nodes for their shapes, in one C file "
        "with a header, and its parameters in another, by the schedules of --spec, a folder with "
        "nothing else (default for --out: the model's name)",
    )
    made.add_argument(
        "--name",
        metavar="NAME",
        help="with --model: what its files and functions are called (default: the graph's folder)",
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
        help="write those tables into FILE, between the two marks in it; links in them start at "
        "the folder of spec/",
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
    add_spec(made)


def add_derive(made: argparse.ArgumentParser) -> None:
    made.add_argument("operator", metavar="OP", help="cvm.conv2d, or conv2d for short, or an alias")
    made.add_argument("--wrt", required=True, metavar="INPUT", help="the input, as X")
    made.add_argument(
        "--name", metavar="NAME", help="of the new operator (default: OP_adjoint_INPUT)"
    )
    add_spec(made)


def add_verify(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "operators", nargs="*", metavar="OPSET.OP", help="look at these only (default: all)"
    )
    made.add_argument(
        "--explain",
        action="store_true",
        help="show each obligation in mathematics, and the facts it was proved from",
    )
    made.add_argument(
        "--target",
        choices=("c", "cuda"),
        default="c",
        help="of cuda: no two threads race, and all of a block meet at barriers (default: c)",
    )
    made.add_argument(
        "--values",
        type=int,
        nargs="?",
        const=10,
        metavar="CALLS",
        help="run the generated C on terms instead: on so many calls at the edges of schedules "
        "(default: %(const)s) each result is what its formula says, for all values of the inputs",
    )
    made.add_argument(
        "--generated", type=Path, metavar="DIR", help="take the C from DIR (default: generated/)"
    )
    add_spec(made)


def add_run(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="the graph, a JSON file; or the folder that `cvmgen build --model` wrote",
    )
    made.add_argument("--params", type=Path, metavar="P", help="the file of the graph's parameters")
    made.add_argument(
        "--input", type=Path, required=True, metavar="X.npy", help="an array of integers"
    )
    made.add_argument(
        "--output", type=Path, metavar="Y.npy", help="store the result here and print nothing"
    )
    made.add_argument("--target", choices=tuple(TARGETS), help="of a graph; default: c")


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


@dataclass(frozen=True, slots=True)
class Command:
    """What help says of a command, its arguments, and what runs it."""

    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Faults], Exit]
    about: str
    details: str


COMMANDS = {
    "build": Command(
        add_build,
        run_build,
        "write and compile the operators",
        "Check the formulas, write the files of generated/ whose text changed, say which and "
        "why, and compile the C library into the cache. The last line is its path.",
    ),
    "list": Command(
        add_list,
        run_list,
        "name all operators",
        "Print each operator with what it does.",
    ),
    "show": Command(
        add_show,
        run_show,
        "print an operator's formula, generated code or stages",
        "Print the formula of an operator, or what becomes of it.",
    ),
    "check": Command(
        add_check,
        run_check,
        "check formulas and schedules without building",
        "Check spec files, try their operators on small calls, and apply the schedules to them, "
        "with a warning of each action of DIR/schedules that changes nothing; those for models, "
        "which need the shapes of one, are applied with --model.",
    ),
    "derive": Command(
        add_derive,
        run_derive,
        "print the adjoint of an operator as a formula",
        "Print the adjoint of an operator with respect to one of its inputs: what a gradient of "
        "the output gives for that input. The text can be saved into a file of spec/. What the "
        "formula adds that does not read the input does not count; a formula that is not linear "
        "in the input is refused.",
    ),
    "verify": Command(
        add_verify,
        run_verify,
        "prove what kernels must keep, for all sizes",
        "Prove of the C kernels, as their schedules leave them, that each element that is read or "
        "written lies in its tensor and that no divisor is 0, in every call that is admitted: by "
        "intervals, and by the solvers z3 and cvc5 where those do not do. Prints what is proved by "
        "what, and what is left open.",
    ),
    "run": Command(
        add_run,
        run_run,
        "run a model",
        "Run a CVM model on an array and print what it gives.",
    ),
}

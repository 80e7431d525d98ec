"""The command line: arguments, commands, exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cvmgen
from cvmgen.api.library import LANGUAGES
from cvmgen.build.cache import content_key, get_or_build
from cvmgen.cli import completion
from cvmgen.cli.exits import MEANINGS, Exit, UsageError, tell, tell_faults
from cvmgen.cli.interrupt import Ended
from cvmgen.cli.options import (
    ARCHITECTURES,
    add_build,
    add_check,
    add_completion,
    add_derive,
    add_diff,
    add_explore,
    add_format,
    add_list,
    add_lsp,
    add_run,
    add_show,
    add_verify,
    add_watch,
)
from cvmgen.errors import CacheError, Faults
from cvmgen.paths import checkout, generated_folder, spec_folder
from cvmgen.spec.tables import keep_tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code and lets no exception out."""
    try:
        known = parser()
        completion.answer_shell(known)
        options = known.parse_args(arguments)
    except SystemExit as error:  # --help, --version, or arguments that argparse refuses
        return int(error.code or 0)
    faults = Faults()
    keep_tables(kept_tables)
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


def kept_tables(origin: str, make: Callable[[], bytes]) -> bytes:
    """Tables of a parser from the cache, where there is one."""
    key = content_key({}, compiler="tables", flags=(origin,))

    def write(path: Path) -> None:
        path.write_bytes(make())

    try:
        return get_or_build(key, ".tables", write).read_bytes()
    except CacheError:
        return make()


def perform(options: argparse.Namespace, faults: Faults) -> Exit:
    """Hand the options to their command."""
    return COMMANDS[options.command].run(options, faults)


# ---------------------------------------------------------------- what runs; imported when wanted


def run_build(options: argparse.Namespace, faults: Faults) -> Exit:
    if options.model is not None:
        return run_build_model(options)
    from cvmgen.cli import build

    targets = chosen_targets(options)
    if options.name is not None:
        raise UsageError("--name goes with --model")
    folder = out_folder(options)
    if options.install is not None and "c" not in targets:
        raise UsageError("--install is about the C library: it needs --target c")
    if options.install is not None and (options.check or options.operators):
        raise UsageError("--install goes with neither --check nor OPSET.OP")
    request = build.Request(
        options.spec,
        folder,
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


def chosen_targets(options: argparse.Namespace) -> tuple[str, ...]:
    """The targets that are asked for; without any, all."""
    return tuple(name for name in LANGUAGES if name in (options.target or LANGUAGES))


def out_folder(options: argparse.Namespace) -> Path:
    """Where to what is generated goes."""
    if options.out is None and options.spec != spec_folder():
        raise UsageError(
            "--spec goes with --out DIR: generated/ is for the formulas of the project"
        )
    folder: Path = options.out or generated_folder()
    return folder


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


def run_format(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import layout

    return layout.format_files(
        options.spec,
        options.paths,
        check=options.check,
        diff=options.diff,
        as_json=options.json,
    )


def run_lsp(options: argparse.Namespace, faults: Faults) -> Exit:
    try:
        from cvmgen.lsp.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise UsageError("editors need pygls: pip install 'cvmgen[lsp]'") from None
    serve(options.spec)
    return Exit.OK


def run_completion(options: argparse.Namespace, faults: Faults) -> Exit:
    return completion.print_script(options.shell, as_json=options.json)


def run_explore(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import explore

    if options.model is not None:
        if options.operators:
            raise UsageError("--model is for a whole model; name no operators beside it")
        symbol, params = options.model
        return explore.explore_model(
            symbol,
            params,
            options.out,
            spec=options.spec,
            profile=options.profile,
            browse=options.open,
            as_json=options.json,
        )
    if options.profile:
        raise UsageError("--profile is for the steps of a model: give --model too")
    return explore.explore(
        options.spec,
        options.operators,
        options.out,
        faults,
        assembled=options.assembly,
        browse=options.open,
        as_json=options.json,
    )


def run_diff(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import diff

    return diff.diff(
        options.spec,
        options.old,
        options.new,
        chosen_targets(options),
        faults,
        text=options.text,
        as_json=options.json,
        debug=options.debug,
    )


def run_watch(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import watch

    return watch.watch(
        watch.Watched(
            options.spec,
            out_folder(options),
            chosen_targets(options),
            options.since,
            text=options.text,
            as_json=options.json,
            debug=options.debug,
        )
    )


def run_verify(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import ledger, threads, values, verify

    if options.accept and not options.ledger:
        raise UsageError("--accept goes with --ledger")
    if options.model is not None:
        own_schedules(options)
        others = options.ledger or options.values is not None or options.generated is not None
        if others or options.target != "c" or options.jobs is not None:
            raise UsageError("--model goes with --explain and names of steps alone")
        return verify.verify_model(
            options.spec,
            tuple(options.model),
            options.operators,
            explain=options.explain,
            as_json=options.json,
        )
    if options.ledger:
        if options.explain or options.values is not None or options.target == "cuda":
            raise UsageError("--ledger asks everything: --accept and --generated alone go with it")
        folder = ledger.default_folder(options.spec, options.generated)
        return ledger.update_ledger(
            options.spec,
            folder,
            options.operators,
            accept=options.accept,
            as_json=options.json,
        )
    if options.values is not None:
        folder = options.generated or generated_folder()
        return values.verify_values(
            options.spec,
            folder,
            options.operators,
            calls=options.values,
            target=options.target,
            as_json=options.json,
        )
    if options.target == "cuda":
        return threads.verify_threads(
            options.spec, options.operators, explain=options.explain, as_json=options.json
        )
    return verify.verify(
        options.spec,
        options.operators,
        explain=options.explain,
        as_json=options.json,
        jobs=options.jobs,
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


@dataclass(frozen=True, slots=True)
class Command:
    """What help says of a command, its arguments, and what runs it."""

    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Faults], Exit]
    about: str
    details: str


DIFF = """\
Compare two versions of the formulas operator by operator, and say what an edit means:

  same               proved for all sizes, or on all values of the calls that were looked at
  values differ      with the smallest call that shows it, run by the kernels of both
  accepts less       with the smallest call that is refused now, and why
  accepts more       with the smallest call that was refused before, and why
  precision changed  of a result
  interface changed  inputs, attributes, outputs: names, defaults, ranges, types
  not decided        nothing was proved, and no call was found that shows a difference

Then what changed of the generated text and in which class of nests it falls, and which part of a
version number all of it asks for. Both versions are read by this cvmgen. Exit codes: 0 where all
operators are the same, 1 where one is not or it is not decided, 2 where a version cannot be read.
"""

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
    "format": Command(
        add_format,
        run_format,
        "lay out the text of formulas and schedules",
        "Put blanks and lines where they belong, and change nothing else: comments stay, what "
        "formulas say is compared before a file is written, and lines are broken where their "
        "author broke them, or where they are too long.",
    ),
    "lsp": Command(
        add_lsp,
        run_lsp,
        "speak to an editor: faults, help, names, layout",
        "Serve an editor by the Language Server Protocol, over standard input and output: faults "
        "while typing, help on what stands under the cursor, where names are bound and used, "
        "renaming, completion, an outline, and layout. Editors start it; it needs the extra `lsp`.",
    ),
    "explore": Command(
        add_explore,
        run_explore,
        "write pages to read formulas and their code side by side",
        "Write a page for each operator, which needs no server and no other file: its formula, its "
        "code for each target, linked line by line in both directions, and what each stage made.",
    ),
    "diff": Command(
        add_diff,
        run_diff,
        "say what an edit of formulas means for those who call the operators",
        DIFF,
    ),
    "watch": Command(
        add_watch,
        run_watch,
        "on each save: errors, or what the edit means, and the rebuilt library",
        "Look at the spec folder until Ctrl-C ends it. When its files change, tell the errors in "
        "them; without any say what the edit means, as `cvmgen diff` does, write the generated "
        "files that change, and compile the C library. With --json each event is an object on a "
        "line of its own.",
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
        "what, and what is left open. With --model the same of each step of a built model, where "
        "all sizes are known.",
    ),
    "completion": Command(
        add_completion,
        run_completion,
        "print what a shell reads to complete commands",
        "Print a script for a shell, which completes commands, their options, files and operators "
        "from then on; its first line says where to put it. It needs the extra `completion`.",
    ),
    "run": Command(
        add_run,
        run_run,
        "run a model",
        "Run a CVM model on an array and print what it gives.",
    ),
}

"""The command line: arguments, commands, exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import cvmgen
from cvmgen.build.tables import kept_tables
from cvmgen.cli import completion
from cvmgen.cli.exits import MEANINGS, Exit, UsageError, tell, tell_faults
from cvmgen.cli.interrupt import Ended
from cvmgen.cli.options import (
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
    with_no_parameters,
)
from cvmgen.cli.runs import (
    run_build,
    run_check,
    run_completion,
    run_derive,
    run_diff,
    run_explore,
    run_format,
    run_list,
    run_lsp,
    run_run,
    run_show,
    run_verify,
    run_watch,
)
from cvmgen.errors import Faults
from cvmgen.spec.tables import keep_tables

SPREAD = {"jobs": "CVMGEN_JOBS", "workers": "CVMGEN_SCHEDULER"}
"""Options that are read where processes are started, and by which variable."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code and lets no exception out."""
    try:
        known = parser()
        completion.answer_shell(known)
        options = known.parse_args(
            with_no_parameters(sys.argv[1:] if arguments is None else arguments)
        )
    except SystemExit as error:  # --help, --version, or arguments that argparse refuses
        return int(error.code or 0)
    except UsageError as error:
        return int(tell(error, as_json=False, debug=False))
    faults = Faults()
    keep_tables(kept_tables)
    try:
        code = perform(options, faults)
        if not sys.stdout.closed:  # as the server of editors leaves it
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
    with spread(options):
        return COMMANDS[options.command].run(options, faults)


@contextmanager
def spread(options: argparse.Namespace) -> Iterator[None]:
    """For the block, the variables say what the options of SPREAD say."""
    given = {variable: getattr(options, name, None) for name, variable in SPREAD.items()}
    before = {variable: os.environ.get(variable) for variable in given}
    os.environ |= {variable: str(value) for variable, value in given.items() if value is not None}
    try:
        yield
    finally:
        for variable, value in before.items():
            os.environ.pop(variable, None)
            if value is not None:
                os.environ[variable] = value


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

"""What each command does with its arguments; what it needs is imported when it runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cvmgen.api.library import LANGUAGES
from cvmgen.cli import completion
from cvmgen.cli.exits import Exit, UsageError
from cvmgen.cli.given import GivenModel, given_model
from cvmgen.cli.options import ARCHITECTURES
from cvmgen.errors import Faults
from cvmgen.paths import checkout, generated_folder, spec_folder
from cvmgen.source import SpecError

if TYPE_CHECKING:
    from cvmgen.cli.ledger import Part


def run_build(options: argparse.Namespace, faults: Faults) -> Exit:
    given = given_model(options)
    if given is not None:
        return run_build_model(options, given)
    from cvmgen.cli import build

    targets = chosen_targets(options)
    for option in ("name", "rust"):
        if getattr(options, option):
            raise UsageError(f"--{option} goes with --model")
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
    return build.build_folder(request, faults, as_json=options.json)


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


MODEL_TARGETS = (("c",), ("cuda",))


def run_build_model(options: argparse.Namespace, given: GivenModel) -> Exit:
    """`cvmgen build --model`, which goes with few of the other options."""
    others = {"operators": "OPSET.OP"}
    others |= {"architecture": "--architecture", "jobs": "-j", "install": "--install"}
    if options.operators and given.params is None:
        raise UsageError(
            f"{given.file} holds its parameters: no '{options.operators[0]}' beside it"
        )
    for option, shown in others.items():
        if getattr(options, option, None):
            raise UsageError(f"{shown} does not go with --model")
    targets = tuple(dict.fromkeys(options.target or ("c",)))
    if targets not in MODEL_TARGETS:
        known = " or ".join(target for (target,) in MODEL_TARGETS)
        raise UsageError(f"--model goes with one --target, {known}, not {', '.join(targets)}")
    if options.rust and targets != ("c",):
        raise UsageError("--rust is about the C of a model: it needs --target c")
    own_schedules(options)
    from cvmgen.cli import model

    return model.build_model(
        given,
        spec=options.spec,
        folder=options.out,
        name=options.name,
        check=options.check,
        report=options.report,
        rust=options.rust,
        target=targets[0],
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

    given = given_model(options)
    if given is not None:
        own_schedules(options)
        if options.target is not None or options.after is None:
            raise UsageError("--model goes with --after STAGE, and not with --target")
        return show.show_model(
            options.spec, given, options.operator, options.after, as_json=options.json
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

    given = given_model(options)
    if given is not None:
        own_schedules(options)
    return show.check_specs(options.spec, options.files, faults, model=given, as_json=options.json)


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
    given = given_model(options)
    if given is not None:
        if options.operators:
            raise UsageError("--model is for a whole model; name no operators beside it")
        from cvmgen.cli import explore

        return explore.explore_model(
            given,
            options.out,
            spec=options.spec,
            profile=options.profile,
            browse=options.open,
            as_json=options.json,
        )
    if options.profile:
        raise UsageError("--profile is for the steps of a model: give --model too")
    from cvmgen.cli.explored import Explored, open_page

    asked = Explored(options.spec, tuple(options.operators), options.out)
    files = () if options.assembly else asked.known()
    errors: list[SpecError] = []
    if not files:
        from cvmgen.cli import explore

        files = explore.explore(
            asked, faults, errors, assembled=options.assembly, as_json=options.json
        )
    open_page(asked.first(files), browse=options.open and bool(files))
    return asked.tell(files, errors, as_json=options.json)


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
            options.explore,
            text=options.text,
            as_json=options.json,
            debug=options.debug,
        )
    )


def on_terms(options: argparse.Namespace) -> bool:
    """Whether text is run, not only proved of."""
    return options.values is not None or options.actions is not None


def part_of_ledger(options: argparse.Namespace) -> Part | None:
    """What --ledger asks alone, since it takes far longer: actions of C, or values of CUDA."""
    from cvmgen.cli.ledger import Part

    asked = options.actions is not None, options.values is not None, options.target
    if not options.explain and asked == (False, False, "c"):
        return None
    if not options.explain and asked == (True, False, "c"):
        return Part("c", "actions", options.actions)
    if not options.explain and asked == (False, True, "cuda"):
        return Part("cuda", "values", options.values)
    raise UsageError(
        "--ledger asks everything: --accept and --generated alone go with it; what it leaves out "
        "--actions asks of C, and --values --target cuda"
    )


def run_verify(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import ledger, threads, values, verify

    if options.accept and not options.ledger:
        raise UsageError("--accept goes with --ledger")
    given = given_model(options)
    if given is not None:
        own_schedules(options)
        others = options.ledger or on_terms(options) or options.generated is not None
        spread = options.jobs is not None or options.workers is not None
        if others or options.target != "c" or spread:
            raise UsageError("--model goes with --explain and names of steps alone")
        return verify.verify_model(
            options.spec,
            given,
            options.operators,
            explain=options.explain,
            as_json=options.json,
        )
    if options.ledger:
        part = part_of_ledger(options)
        folder = ledger.default_folder(options.spec, options.generated)
        return ledger.update_ledger(
            options.spec,
            folder,
            options.operators,
            accept=options.accept,
            as_json=options.json,
            part=part,
        )
    if options.actions is not None:
        if options.explain or options.values is not None or options.target == "cuda":
            raise UsageError("--actions looks at C: --generated alone goes with it")
        return values.verify_actions(
            options.spec,
            options.generated or generated_folder(),
            options.operators,
            calls=options.actions,
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
    )


def run_run(options: argparse.Namespace, faults: Faults) -> Exit:
    from cvmgen.cli import run

    given = GivenModel(options.model, options.params, options.rounding)
    if options.inputs is None and options.scheduler is not None:
        raise UsageError("--scheduler goes with --inputs")
    if options.inputs is not None:
        if options.output is None:
            raise UsageError("--inputs goes with --output: where to the results go")
        return run.run_rows(
            given,
            input_files=options.inputs,
            output_file=options.output,
            target=options.target,
            scheduler=options.scheduler,
            as_json=options.json,
        )
    return run.run_model(
        given,
        input_files=options.input,
        output_file=options.output,
        target=options.target,
        as_json=options.json,
    )


# ---------------------------------------------------------------- arguments

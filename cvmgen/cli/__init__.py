"""The command `cvmgen`.

`command.py` has the table of commands, each of which does its work in a module of its own, and
`options.py` their arguments; targets and stages are those of the driver. `specs.py` reads and
probes formulas for all of them, `texts.py` remembers generated text, and `exits.py` says what a
status means and how errors are told.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, that of this process without `arguments`; returns its exit code and lets no
    exception out."""
    # The imports take most of a short command's time: an interrupt may come in them.
    if arguments is not None:
        from cvmgen.cli.command import main as perform

        return perform(arguments)
    from cvmgen.build.process import look_for_cycles_seldom
    from cvmgen.cli import interrupt

    try:
        interrupt.end_on_signals()
        look_for_cycles_seldom()
        from cvmgen.cli.command import main as perform

        return perform()
    except interrupt.Ended as ended:
        interrupt.leave(ended.code)


__all__ = ["main"]

"""`cvmgen completion SHELL`, and what shells ask when a word is to be completed.

argcomplete reads the arguments that the commands have, and speaks with the shells; what operators
there are is read off the texts of the formulas, which takes no time.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from cvmgen.cli.exits import Exit, UsageError, give
from cvmgen.paths import spec_folder

ASKED = "_ARGCOMPLETE"
"""The variable of the environment by which a shell asks for completions."""
OPERATOR = re.compile(r"^operator\s+(\w+)", re.MULTILINE)
ALIAS = re.compile(r"^\s*alias\s+(\w+(?:\s*,\s*\w+)*)", re.MULTILINE)
NAMING = ("operator", "operators")
"""Arguments that name operators."""
WHERE = {
    "bash": "~/.bashrc",
    "zsh": "~/.zshrc, behind compinit",
    "fish": "~/.config/fish/config.fish",
}
LINES = {
    "bash": 'eval "$(cvmgen completion bash)"',
    "zsh": 'eval "$(cvmgen completion zsh)"',
    "fish": "cvmgen completion fish | source",
}


def print_script(shell: str, *, as_json: bool) -> Exit:
    """Print what a shell reads to ask for completions from then on."""
    try:
        from argcomplete.shell_integration import shellcode
    except ModuleNotFoundError:
        raise UsageError("completion needs argcomplete: pip install 'cvmgen[completion]'") from None
    text = shellcode(["cvmgen"], shell=shell)
    told = f"# In {WHERE[shell]}: {LINES[shell]}\n{text}\n"
    return give({"shell": shell, "script": text}, told, as_json=as_json)


def answer_shell(parser: argparse.ArgumentParser) -> None:
    """Tell a shell that asks how a word may go on, and end the process."""
    if ASKED not in os.environ:
        return
    import argcomplete
    from argcomplete.completers import FilesCompleter

    files, answer = FilesCompleter(), cast(Any, argcomplete.autocomplete)

    def complete(prefix: str, action: argparse.Action, parsed_args: Any, **given: Any) -> Any:
        if action.dest in NAMING:
            return [*operator_names(getattr(parsed_args, "spec", None) or spec_folder())]
        return files(prefix=prefix, action=action, parsed_args=parsed_args, **given)

    answer(parser, default_completer=complete)


def operator_names(spec: Path) -> Iterator[str]:
    """The names of a folder's operators: full ones, short ones, aliases."""
    for path in sorted(spec.rglob("*.cvm")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        parts = path.relative_to(spec).parts
        aliases = (name.strip() for found in ALIAS.findall(text) for name in found.split(","))
        for name in (*OPERATOR.findall(text), *aliases):
            yield name
            if len(parts) > 1:
                yield f"{parts[0]}.{name}"

"""What other languages and build systems read beside the C of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from cvmgen.emit.c_text import wrapped_list
from cvmgen.emit.render import render_template
from cvmgen.errors import ModelError
from cvmgen.escape import in_line_comments
from cvmgen.ir.visit import fresh
from cvmgen.model.emit import NOTICE, Files
from cvmgen.spec.words import RUST_WORDS

RUST_TYPES = {
    "bool": "bool",
    "double": "f64",
    "float": "f32",
    **{f"int{bits}_t": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
}
PATTERNS = ("Err", "None", "Ok", "Some")
"""What a parameter cannot be called, as it would be compared with them."""
CRATES = ("alloc", "core", "proc_macro", "std", "test")
"""What a crate is not called: those of the language."""


def cmake_files(made: Files, files: Iterable[str]) -> dict[str, str]:
    """What `find_package` reads of a model, whose files have these names."""
    sources = "\n".join(f'    "${{CMAKE_CURRENT_LIST_DIR}}/{each}"' for each in units(files))
    text = render_template(
        "clients/model.cmake.j2", name=made.name, sources=sources, notice_model=NOTICE
    )
    return {f"{made.name}-config.cmake": text}


def rust_files(made: Files, files: Iterable[str]) -> dict[str, str]:
    """A crate around a model, whose files have these names; ModelError where it cannot be called
    as the model is."""
    if made.name in (*RUST_WORDS, *CRATES):
        raise ModelError(f"'{made.name}' is no name for a crate of Rust; choose one with --name")
    sources = units(files)
    common = {"name": made.name, "notice_model": NOTICE}
    library = render_template(
        "clients/lib.rs.j2",
        title=made.title,
        doc=in_line_comments("\n".join(made.ends()), "//"),
        begin=f"        pub fn {made.name}_begin(state: *mut c_void);\n" * bool(made.model.states),
        state=made.about_states("clients/state.rs.j2", state_size=made.state_places[1]),
        sizes="\n".join(indented_sizes(made)),
        declared=", ".join(_declared(made)),
        passed=", ".join(passed(made)),
        run_head="\n".join(wrapped_list("pub fn run(", list(_parameters(made)), ")")),
        **common,
    )
    listed = "\n".join(f'    "{each}",' for each in sources)
    return {
        "Cargo.toml": render_template("clients/Cargo.toml.j2", **common),
        "build.rs": render_template(
            "clients/build.rs.j2", count=len(sources), sources=listed, **common
        ),
        "src/lib.rs": library,
    }


def units(files: Iterable[str]) -> list[str]:
    return sorted(each for each in files if each.endswith(".c"))


def _ends(made: Files) -> Iterator[tuple[str, str, int, bool]]:
    """The name in Rust, the type of elements, the size of each input and result; whether it is
    written."""
    sizes = {name: prod(tensor.shape) for name, tensor in (*made.given(), *made.got())}
    taken = {*RUST_WORDS, *PATTERNS}
    for name, shown in made.arguments():
        written = name not in made.model.inputs
        yield fresh(shown, taken), RUST_TYPES[made.element(name)], sizes[shown], written


def indented_sizes(made: Files) -> Iterator[str]:
    for name, _, size, _ in _ends(made):
        yield f"    pub const {name}: usize = {size};"


def _parameters(made: Files) -> Iterator[str]:
    for name, kind, _, written in _ends(made):
        yield f"{name}: &{'mut ' * written}[{kind}; sizes::{name}]"
    yield from ["state: &mut State"] * bool(made.model.states)
    yield "workspace: &mut Workspace"


def _declared(made: Files) -> Iterator[str]:
    for name, kind, _, written in _ends(made):
        yield f"{name}: *{'mut' if written else 'const'} {kind}"
    yield from ["state: *mut c_void"] * bool(made.model.states)
    yield "workspace: *mut c_void"


def passed(made: Files) -> Iterator[str]:
    for name, _, _, written in _ends(made):
        yield f"{name}.as_{'mut_' * written}ptr()"
    yield from ["state.memory.as_mut_ptr().cast()"] * bool(made.model.states)
    yield "workspace.memory.as_mut_ptr().cast()"

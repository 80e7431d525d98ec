"""C sources to a library that can be called; refusals that lead to the formula."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cvmgen.build import (
    c_compiler,
    compile_library,
    compilers,
    cpp_compiler,
    sanitizer_environment,
)
from cvmgen.build.cache import content_key
from cvmgen.build.library import bare_code
from cvmgen.errors import BuildError

HEADER = "#ifndef CVM_H\n#define CVM_H\n#include <stdint.h>\nint64_t twice(int64_t x);\n#endif\n"
TWICE = '#include "cvm.h"\nstatic int64_t go(int64_t x) { return x + x; }\n'
TWICE += "int64_t twice(int64_t x) { return go(x); }\n"
FOUR = '#include "cvm.h"\nint64_t four_times(int64_t x);\n'
FOUR += "static int64_t go(int64_t x) { return twice(twice(x)); }\n"
FOUR += "int64_t four_times(int64_t x) { return go(x); }\n"
SOURCES = {"cvm.h": HEADER, "c/twice.c": TWICE, "c/four.c": FOUR}


def load(path: Path, function: str) -> ctypes._NamedFuncPointer:
    found = getattr(ctypes.CDLL(str(path)), function)
    found.argtypes, found.restype = [ctypes.c_int64], ctypes.c_int64
    return found


def objects(cache: Path) -> set[str]:
    return {path.name for path in (cache / "entries").rglob("*.o")}


def test_sources_share_headers_and_may_share_names_of_static_functions() -> None:
    path = compile_library(SOURCES, name="cvm")
    assert path.name.endswith("-cvm.so") or sys.platform == "win32"
    assert load(path, "four_times")(-3) == -12


def test_the_same_request_finds_the_same_library(monkeypatch: pytest.MonkeyPatch) -> None:
    path = compile_library(SOURCES, name="cvm")

    def refuse(*_arguments: object, **_named: object) -> None:
        pytest.fail("compiled again")

    monkeypatch.setattr("cvmgen.build.library.run_command", refuse)
    assert compile_library(SOURCES, name="cvm") == path


def test_comments_and_places_compile_nothing() -> None:
    first = compile_library(SOURCES, name="cvm")
    before = objects(first.parents[2])
    moved = {name: f"/* a.cvm:7 */\n\n{text}" for name, text in SOURCES.items()}
    library = compile_library(moved, name="cvm")
    assert objects(first.parents[2]) == before
    assert load(library, "four_times")(-3) == -12


CODE = [
    ("int a; /* one\n two */\n\n  int b; // three\n", "int a;\nint b;", "comments and layout"),
    ('const char *a = "/* no */";\n', 'const char *a = "/* no */";', "a string is code"),
    ("char q = '\"'; /* ' */ int c;\n", "char q = '\"';   int c;", "a quote in quotes"),
    ("int a = b/c; /**/\n", "int a = b/c;", "a division"),
]


@pytest.mark.parametrize(("text", "left", "why"), CODE, ids=[why for *_, why in CODE])
def test_code(text: str, left: str, why: str) -> None:
    assert bare_code(text) == left, why


def test_code_with_its_lines() -> None:
    assert bare_code("int a; /* one\n two */\n\n  int b; // three\nint c;\n", lines=True) == (
        "int a;\n\n\nint b;\nint c;"
    )


def test_the_library_depends_on_flags_text_and_sanitizers() -> None:
    paths = [
        compile_library(SOURCES, name="cvm"),
        compile_library(SOURCES, name="cvm", flags=("-DX=1",)),
        compile_library(SOURCES, name="cvm", sanitizers=("undefined",)),
        compile_library({**SOURCES, "c/twice.c": TWICE + "\n"}, name="cvm"),
    ]
    paths.append(compile_library(SOURCES, name="cvm", threads=False))
    assert len(set(paths)) == len(paths)


def test_one_edit_compiles_one_unit(cache: Path) -> None:
    compile_library(SOURCES, name="cvm")
    before = objects(cache)
    path = compile_library({**SOURCES, "c/twice.c": TWICE.replace("x + x", "3 * x")}, name="cvm")
    assert len(objects(cache) - before) == 1
    assert load(path, "four_times")(1) == 9
    compile_library({**SOURCES, "cvm.h": HEADER + "typedef int cvm_int;\n"}, name="cvm")
    assert len(objects(cache) - before) == 3, "both include it"


def test_long_units_are_made_in_parts_which_share_no_names_with_others(cache: Path) -> None:
    most = "".join(
        f"static __attribute__((noinline)) int64_t go{n}(int64_t x) {{ return x * {n}; }}\n"
        for n in range(300)
    )
    calls = " + ".join(f"go{n}(x)" for n in range(300))
    sources = {
        f"{name}.c": f"#include <stdint.h>\nint64_t {name}(int64_t x);\n{most}"
        f"int64_t {name}(int64_t x) {{ return {calls} + {more}; }}\n"
        for name, more in (("one", 1), ("two", 2))
    }
    library = compile_library(sources, name="long")
    assert load(library, "one")(2) == load(library, "two")(2) - 1 == 299 * 300 + 1
    wrong = sources["two.c"].replace("go7(x)", "go7(y)")
    with pytest.raises(BuildError, match=r"refuses two.c of long(.|\n)*'y' undeclared"):
        compile_library({**sources, "two.c": wrong}, name="long")


# ---------------------------------------------------------------- CUDA files

IN_FRONT = "#define __global__ static\n#include <stdint.h>\n"
KERNEL = "__global__ int64_t sum(const int64_t &x) { return x + x + __LINE__; }\n"
KERNEL += 'extern "C" int64_t twice(int64_t x) { return sum(x); }\n'
CUDA = {"cpu/front.h": IN_FRONT, "c/twice.cu": KERNEL, "cpu/more.cc": "int more = 1;\n"}


def test_an_edited_header_compiles_what_includes_it(cache: Path) -> None:
    sources = {**SOURCES, "c/own.h": "#define OWN 1\n", "far.h": '#include "c/near.h"\n'}
    sources |= {"c/near.h": "#define NEAR 2\n", "c/twice.c": '#include "own.h"\n' + TWICE}
    sources |= {"c/four.c": '# include "far.h"\n' + FOUR}
    compile_library(sources, name="cvm")
    for header, count in (("c/own.h", 1), ("c/near.h", 1), ("cvm.h", 2)):
        before = objects(cache)
        sources[header] += "#define MORE 1\n"
        compile_library(sources, name="cvm")
        assert len(objects(cache) - before) == count, header
    sources |= {"nobody.h": "", "c/four.c": '#define FAR "far.h"\n#include FAR\n' + FOUR}
    compile_library(sources, name="cvm")


def test_cuda_files_are_cpp_behind_a_header() -> None:
    path = compile_library(CUDA, name="cuda", prelude="cpu/front.h")
    assert load(path, "twice")(20) == 41
    assert ctypes.c_int.in_dll(ctypes.CDLL(str(path)), "more").value == 1
    with pytest.raises(BuildError, match=r"c/twice\.cu of cuda"):
        compile_library(CUDA, name="cuda")


def test_objects_of_cuda_files_know_their_lines(cache: Path) -> None:
    compile_library(CUDA, name="cuda", prelude="cpu/front.h")
    before = objects(cache)
    other = {**CUDA, "c/twice.cu": KERNEL + "/* a comment */\n"}
    compile_library(other, name="cuda", prelude="cpu/front.h")
    assert objects(cache) == before
    moved = {**CUDA, "c/twice.cu": "/* a comment\n of two lines */\n" + KERNEL}
    path = compile_library(moved, name="cuda", prelude="cpu/front.h")
    assert len(objects(cache) - before) == 1
    assert load(path, "twice")(20) == 43


def test_the_cpp_compiler_is_that_of_cxx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    found = cpp_compiler()
    monkeypatch.setenv("CXX", f"{found.name} -DNONE")
    assert cpp_compiler().command == (*found.command, "-DNONE")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BuildError, match=r"no C\+\+ compiler: CXX=no-such-compiler"):
        cpp_compiler()


# ---------------------------------------------------------------- refusals

WRONG = """\
#include "cvm.h"
/* twice line 12: Y[i] = X[i] */
int64_t twice(int64_t x) { return x; }
/* thrice line 40: Z[i] = 2 * X[i] */
int64_t thrice(int64_t x);
int64_t thrice(int64_t x) {
  return x * y;
}
/* thrice line 99 */
"""


def test_a_refusal_names_the_formula_and_keeps_the_source() -> None:
    with pytest.raises(BuildError) as caught:
        compile_library({"cvm.h": HEADER, "c/wrong.c": WRONG}, name="cvm")
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("refuses c/wrong.c of cvm, in code that comes from thrice line 40:")
    assert lines[1].startswith("  c/wrong.c:7:14: error: ")
    assert "y" in lines[1]
    folder = Path(lines[-1].removeprefix("The sources are kept in "))
    assert (folder / "c/wrong.c").read_text() == WRONG
    assert (folder / "cvm.h").read_text() == HEADER


def test_a_refusal_without_a_formula_says_what_it_can() -> None:
    with pytest.raises(BuildError, match=r"refuses a\.c of cvm:\n  a\.c:1:1: error"):
        compile_library({"a.c": "no\n"}, name="cvm")


def test_the_first_refusal_in_the_order_of_names_is_reported() -> None:
    for _ in range(3):
        with pytest.raises(BuildError, match=r"refuses b\.c"):
            compile_library({"c.c": "no", "b.c": "no", "a.c": "int a;\n"}, name="cvm")


def test_warnings_are_errors_in_a_checkout_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {"a.c": "static int unused(void) { return 1; }\nint a;\n"}
    with pytest.raises(BuildError, match="unused"):
        compile_library(sources, name="cvm")
    monkeypatch.setattr("cvmgen.build.library.checkout", lambda: None)
    assert compile_library(sources, name="cvm").is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="asks the linker of Linux")
def test_a_function_that_is_nowhere_fails_when_linking() -> None:
    with pytest.raises(BuildError, match=r"cannot link cvm:\n(.*\n)*.*twice"):
        compile_library({"cvm.h": HEADER, "c/four.c": FOUR}, name="cvm")


SANITIZED = [
    ("undefined", "int64_t f(int64_t x) { return x + 9223372036854775807; }", "signed integer"),
    (
        "address",
        "int64_t f(int64_t x) { int64_t a[3] = {0}; return *(a + 2 + x); }",
        "stack-buffer-overflow",
    ),
]


@pytest.mark.skipif(sys.platform != "linux", reason="preloads the run-time library")
@pytest.mark.parametrize(("sanitizer", "code", "report"), SANITIZED)
def test_sanitizers_report_the_line(sanitizer: str, code: str, report: str) -> None:
    needed = sanitizer_environment([sanitizer])
    if not needed:
        pytest.skip(f"the compiler names no run-time library for {sanitizer}")
    text = f"#include <stdint.h>\nint64_t f(int64_t x);\n{code}\n"
    path = compile_library({"c/f.c": text}, name="cvm", sanitizers=(sanitizer,))
    call = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).f(ctypes.c_int64(1))"
    done = subprocess.run(
        [sys.executable, "-c", call, str(path)],
        env={**os.environ, **needed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert report in done.stderr
    assert "c/f.c:3" in done.stderr


def test_cc_that_is_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent")
    with pytest.raises(BuildError, match="CC=/nonexistent names no program"):
        compile_library(SOURCES, name="cvm")


def test_no_compiler_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BuildError, match=r"no C compiler found.*cvmgen\[zig\].*python"):
        c_compiler()


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")
def test_a_compiler_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", script(tmp_path / "broken", "echo no licence; exit 3"))
    with pytest.raises(BuildError, match="--version` fails:\nno licence"):
        c_compiler()


@pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")
def test_a_replaced_compiler_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", script(tmp_path / "mine", "echo mine 1"))
    first = c_compiler()
    assert first.version.startswith("mine 1\n")
    assert first.as_written, "the probe cannot fail: the script ignores it"
    script(tmp_path / "mine", "echo mine, second edition; exit $(($# > 1))")
    second = c_compiler()
    assert second.version.startswith("mine, second edition")
    assert second.as_written == ()
    keys = [content_key({}, compiler=found.identity) for found in (first, second)]
    assert keys[0] != keys[1]


@pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")
def test_the_compiler_of_another_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = script(tmp_path / "python", 'test "$*" != "-m ziglang version" || echo 7; echo clang')
    monkeypatch.setenv("CC", f"{other} -m ziglang cc")
    assert c_compiler().version.startswith("clang\n")
    compilers._zig_version.cache_clear()  # as in a new process
    before = compilers._fingerprint((other, "-m", "ziglang", "cc"))
    assert before.endswith("\n7\nclang"), "a wheel that is replaced changes no program"


def test_a_new_process_does_not_ask_the_compiler_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compilers._identify.cache_clear()
    found = c_compiler()
    compilers._identify.cache_clear()  # as in a new process
    monkeypatch.setattr("cvmgen.build.compilers.run_command", lambda *_: pytest.fail("asked again"))
    assert c_compiler() == found


def test_cc_may_hold_arguments_and_be_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = c_compiler().command[0]
    (tmp_path / "mycc").symlink_to(compiler)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", "./mycc -DEIGHT=8")
    path = compile_library({"a.c": "long f(void);\nlong f(void) { return EIGHT; }\n"}, name="cvm")
    assert ctypes.CDLL(str(path)).f() == 8

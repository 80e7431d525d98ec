"""The checked form of each construct: what every name stands for, what every index runs over."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cvmgen.source import Source, SpecErrors
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.check import check_files
from cvmgen.spec.examples import python_value
from cvmgen.spec.files import SpecFile, read_folder
from tests.reference.calls import SPEC, operators, written
from tests.spec.shown import show, show_item


def items(block: str) -> list[str]:
    operator = written(f"operator f {{ {block} }}")
    return [show_item(item) for item in operator.items]


X = "input X : cvm[N] output Y : cvm[N] precision 32 "
PACK = "input X : cvm[n...] let K = {i for i < len(n)} "
GRID = "input X : cvm[B, N] output Y : cvm[B, N] precision 32 "

# A block, and the checked form of its last items.
ROWS: list[tuple[str, str, list[str]]] = [
    # ------------------------------------------------------------ operands
    ("an extent's first use binds it, others compare",
     "input X : cvm[N, 2*N, 3, N] output Y : cvm[N + 1] precision p(X) Y[i] = 0",
     ["input X[new extent:N, (2 * extent:N), 3, extent:N]",
      "output Y[(extent:N + 1)] precision p(X)",
      "gather Y[index:i] = 0 forall 0 <= i < (extent:N + 1)"]),
    ("a pack takes what single extents leave",
     "input X : cvm[a, n..., b] output Y : cvm[n..., a] precision 1 Y[d..., i] = 0",
     ["input X[new extent:a, new extent:n..., new extent:b]",
      "output Y[extent:n..., extent:a] precision 1",
      "gather Y[pack:d..., index:i] = 0 forall d... < extent:n, 0 <= i < extent:a"]),
    ("an optional input", "input A : cvm[N] input B : cvm[N] optional "
     "output Y : cvm[N] precision p(B) if present(B) else p(A) Y[i] = 0",
     ["input B[extent:N] optional",
      "output Y[extent:N] precision (p(B) if present(B) else p(A))",
      "gather Y[index:i] = 0 forall 0 <= i < extent:N"]),
    ("several inputs", "input each i < M : X[i] : cvm[n[i]...] output Y : cvm[M] precision 32 "
     "Y[j] = X[j][n[j]...] + p(X[0])",
     ["input X each i < M[new extent:n...]",
      "output Y[count:M] precision 32",
      "gather Y[index:j] = (X[index:j][entry(extent:n, index:j)...] + p(X[0])) "
      "forall 0 <= j < count:M"]),
    ("attributes", X + "attr a = 3 in [1, 9] attr b in (0, N) attr c : bool attr d (e, f) = (1, 2) "
     "attr g : int list optional in (-inf, inf) Y[i] = a + e + d[1]",
     ["attr a int = 3 1 <= value < (9 + 1)",
      "attr b int (0 + 1) <= value < extent:N",
      "attr c bool",
      "attr d (e, f) int = list(1, 2)",
      "attr g int list optional (-2147483648 + 1) <= value < 2147483648",
      "gather Y[index:i] = ((attribute:a + attribute:e) + entry(attribute:d, 1)) "
      "forall 0 <= i < extent:N"]),
    # ------------------------------------------------------------ lets
    ("lets of all kinds", X + "let M = N*2 let s = {j for j < 9} - {0 for j < 1} "
     "let l = (j for j in s) let c = N > 1 Y[i] = M + l[0] + s[0] + len(l) + count(s)",
     ["let M = (extent:N * 2) : int",
      "let s = (set(index:j for 0 <= j < 9) - set(0 for 0 <= j < 1)) : set",
      "let l = list(index:j for j in let:s) : list",
      "let c = (extent:N > 1) : bool",
      "gather Y[index:i] = ((((let:M + entry(let:l, 0)) + entry(let:s, 0)) + len(let:l))"
      " + count(let:s)) forall 0 <= i < extent:N"]),
    ("a let with indices is a definition",
     X + "let T[i, d...] = X[i] + len(d) Y[i] = T[i, (N, N)...]",
     ["def T(i int, d list) = (X[parameter:i] + len(parameter:d)) : int",
      "gather Y[index:i] = apply T(index:i, list(extent:N, extent:N)) forall 0 <= i < extent:N"]),
    ("a let of elements is a definition", X + "let most = max[k < N](X[k]) Y[i] = most",
     ["def most() = max[0 <= k < extent:N](X[index:k]) : int",
      "gather Y[index:i] = apply most() forall 0 <= i < extent:N"]),
    ("a requirement", X + 'require all[i < N](i < 5) and not N == 3 : "text" Y[i] = 0',
     ["require (all[0 <= i < extent:N]((index:i < 5)) and (not (extent:N == 3))) : text",
      "gather Y[index:i] = 0 forall 0 <= i < extent:N"]),
    # ------------------------------------------------------------ equations
    ("with ranges of its own an equation scatters",
     X + "Y[N - 1 - i] = X[i] forall i < N if i > 2",
     ["scatter Y[((extent:N - 1) - index:i)] = X[index:i] "
      "forall 0 <= i < extent:N if (index:i > 2)"]),
    ("one pack runs over the whole output", X + "Y[d...] = X[d...]",
     ["gather Y[pack:d...] = X[pack:d...] forall d... < shape(Y)"]),
    ("a number on the left binds nothing",
     "input X : cvm[N] output Y : cvm[1] precision 1 Y[0] = 0",
     ["scatter Y[0] = 0 forall "]),
    ("parts of a pack",
     "input X : cvm[n...] output Y : cvm[n[1:]..., n[0]] precision 1 Y[d..., i] = X[i, d...]",
     ["gather Y[pack:d..., index:i] = X[index:i, pack:d...] "
      "forall d... < part(extent:n, 1:), 0 <= i < entry(extent:n, 0)"]),
    ("entries of a pack on the left",
     PACK + "output Y : cvm[(n[i] for i in K)...] precision 1 Y[(d[i] for i in K)...] = X[d...]",
     ["gather Y[list(entry(pack:d, index:i) for i in let:K)...] = X[pack:d...] "
      "forall d at list(index:i for i in let:K) < list(entry(extent:n, index:i) for i in let:K)"]),
    ("entries of a pack after the equation",
     PACK + "output Y : cvm[n...] precision 1 Y[d...] = 0 forall d[j] < n[j] for j in K",
     ["scatter Y[pack:d...] = 0 "
      "forall d at list(index:j for j in let:K) < list(entry(extent:n, index:j) for j in let:K)"]),
    ("where", X + "Y[i] = a + b(i, 1) where a = X[i], b(j, k) = X[j] - k",
     ["gather Y[index:i] = (apply a() + apply b(index:i, 1)) forall 0 <= i < extent:N"
      " where def a() = X[index:i] : int"
      " where def b(j int, k int) = (X[parameter:j] - parameter:k) : int"]),
    ("a where speaks of the indices at its use",
     X + "Y[i] = sum[k < N](t) + u where t = X[k], u = i",
     ["gather Y[index:i] = (sum[0 <= k < extent:N](apply t()) + apply u()) forall 0 <= i < extent:N"
      " where def t() = X[index:k] : int where def u() = index:i : int"]),
    # ------------------------------------------------------------ blocks
    ("cases", X + "attr u : bool case u { let a = N Y[i] = a } case not u { Y[i] = 1 }",
     ["case attribute:u { let a = extent:N : int; "
      "gather Y[index:i] = let:a forall 0 <= i < extent:N }",
      "case (not attribute:u) { gather Y[index:i] = 1 forall 0 <= i < extent:N }"]),
    ("within", GRID + "within b < B { Y[b, i] = X[b, i] }",
     ["gather Y[index:b, index:i] = X[index:b, index:i] "
      "forall 0 <= b < extent:B, 0 <= i < extent:N"]),
    ("lets and requirements of within have its index",
     GRID + 'within b < B { let t = X[b, 0] let r[i] = t + i require b < N : "m" Y[b, i] = r[i] }',
     ["def t(b int) = X[parameter:b, 0] : int",
      "def r(b int, i int) = (apply t(parameter:b) + parameter:i) : int",
      "require all[0 <= b < extent:B]((index:b < extent:N)) : m",
      "gather Y[index:b, index:i] = apply r(index:b, index:i) "
      "forall 0 <= b < extent:B, 0 <= i < extent:N"]),
    ("within another order than the output's",
     "input X : cvm[B, N] output Y : cvm[N, B] precision 1 within b < B { Y[i, b] = X[b, i] }",
     ["scatter Y[index:i, index:b] = X[index:b, index:i] "
      "forall 0 <= b < extent:B, 0 <= i < extent:N"]),
    ("within less than the output",
     "input X : cvm[B] output Y : cvm[B + 1] precision 1 within b < B { Y[b] = X[b] }",
     ["scatter Y[index:b] = X[index:b] forall 0 <= b < extent:B"]),
    # ------------------------------------------------------------ expressions
    ("logarithms are functions", X + "Y[i] = floor(log2(N)) + ceil(log2(N))",
     ["gather Y[index:i] = (floor_log2(extent:N) + ceil_log2(extent:N)) forall 0 <= i < extent:N"]),
    ("lists and chains", X + "Y[i] = X[i] if i in (1, 2) or 0 <= i < N else -X[i]",
     ["gather Y[index:i] = (X[index:i] if ((index:i in list(1, 2)) or (0 <= index:i < extent:N))"
      " else (-X[index:i])) forall 0 <= i < extent:N"]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "block", "last"), ROWS, ids=[row[0] for row in ROWS])
def test_checked_form(why: str, block: str, last: Sequence[str]) -> None:
    assert items(block)[-len(last) :] == last, why


# A declared range, and what a refusal calls it: a caller knows extents, but no constants.
RANGES = [
    ("", "[-2147483648, 2147483648)"),
    ("in [1, 9]", "[1, 9]"),
    ("in (-inf, inf)", "(-2147483648, 2147483648)"),
    ("in (- inf, N)", "(-2147483648, N)"),
    ("in [limit, 2*limit + N)", "[7, 2*7 + N)"),
    ("in [-limit, double(limit)]", "[-7, double(7)]"),
]


@pytest.mark.parametrize(("declared", "shown"), RANGES)
def test_ranges_as_refusals_show_them(declared: str, shown: str) -> None:
    operator = written(
        "const limit = 7 def double(k) = limit * k operator f { input X : cvm[N] "
        f"attr a {declared} output Y : cvm[N] precision 32 Y[i] = a }}"
    )
    assert operator.attributes[0].range_text == shown


def test_definitions_come_first_and_each_once() -> None:
    text = """
    const two = 2
    def double(x) = two * x
    def more(x, l...) = double(x) + len(l)
    operator f {
      input  X : cvm[n...]
      output Y : cvm[n...] precision 32
      Y[d...] = more(X[d...], n...) + double(X[d...])
    }
    """
    shown = [show_item(item) for item in written(text).items]
    assert shown[:2] == [
        "def double(x int) = (2 * parameter:x) : int",
        "def more(x int, l list) = (apply double(parameter:x) + len(parameter:l)) : int",
    ]
    assert shown[-1] == (
        "gather Y[pack:d...] = (apply more(X[pack:d...], extent:n) + apply double(X[pack:d...])) "
        "forall d... < extent:n"
    )


def test_an_instance_is_the_family_with_its_holes_filled() -> None:
    text = """
    family g(OP, FOLD, BY) {
      "Of the family."
      input  X : cvm[N]
      output Y : cvm[N] precision 32
      Y[i] = OP(X[i], BY) + FOLD[k < N](X[k])
    }
    operator a = g(-, max, 3) {
      "Its own."
      alias b
      example a([5]) == [7]
    }
    operator c = g(min, sum, -1)
    """
    first, second = check_files([SpecFile(Source("test.cvm", text), "o")])
    assert show_item(first.items[-1]) == (
        "gather Y[index:i] = ((X[index:i] - 3) + max[0 <= k < extent:N](X[index:k])) "
        "forall 0 <= i < extent:N"
    )
    assert "min(X[index:i], -1) + sum[" in show_item(second.items[-1])
    assert (first.doc, first.aliases, len(first.examples)) == ("Its own.", ("b",), 1)
    assert (second.doc, second.aliases, second.examples) == ("Of the family.", (), ())
    assert (first.full_name, second.full_name) == ("o.a", "o.c")


def test_what_an_operator_says_of_itself() -> None:
    operator = written(
        """operator f {
          "What it does."
          alias  g, h
          although "reasons"
          input  X : cvm[N]
          input  B : cvm[N] optional
          attr   a
          attr   b = 1
          attr   c : int optional
          case a > 0 { output Y : cvm[N] precision 32 output Z : cvm[N] precision 32
                       Y[i] = 0 Z[i] = 0 }
          case a <= 0 { output Z : cvm[1] precision 32 output Y : cvm[1] precision 32
                        Y[0] = 0 Z[0] = 0 }
          example f([1, -2], a=1, b=-3) == [0, 0]
        }"""
    )
    assert (operator.doc, operator.although, operator.aliases) == (
        "What it does.",
        "reasons",
        ("g", "h"),
    )
    assert [item.name for item in operator.inputs] == ["X", "B"]
    assert [(item.name, item.required) for item in operator.attributes] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]
    assert operator.output_names == ("Y", "Z")
    assert [show(case.condition) for case in operator.cases] == [
        "(attribute:a > 0)",
        "(attribute:a <= 0)",
    ]
    (example,) = operator.examples
    assert [(name, python_value(value)) for name, value in example.given] == [
        ("X", [1, -2]),
        ("a", 1),
        ("b", -3),
    ]
    assert python_value(example.result) == [0, 0]


RAW = (n.Name, n.Bracket, n.Call, n.Below, n.PackBelow, n.Member, n.PartSlot)


@pytest.mark.parametrize("name", sorted(operators()))
def test_nothing_unresolved_is_left(name: str) -> None:
    """A checked operator holds no node whose names are open, and keeps its place in the text."""
    operator = operators()[name]
    for node in n.walk(operator.items):
        assert not isinstance(node, RAW), node
    for item in f.all_items(operator.items):
        assert item.span.source.name.startswith("spec/")
    assert operator.doc
    assert operator.examples


def test_an_index_inside_of_a_let_may_have_its_name() -> None:
    operator = written(
        """operator f {
          input  X : cvm[N]
          let    s[i] = i * sum[s < N](X[s])
          output Y : cvm[N] precision 32
          Y[i] = s[i]
        }"""
    )
    assert "sum[0 <= s < extent:N](X[index:s])" in " ".join(map(show_item, operator.items))


def test_opsets_do_not_see_each_other() -> None:
    body = "{ input X : cvm[N] output Y : cvm[N] precision 32 Y[i] = scale(X[i]) }"
    shared = SpecFile(Source("common.cvm", "const k = 3"), "")
    one = SpecFile(Source("one.cvm", f"def scale(x) = k*x operator f {body}"), "one")
    two = SpecFile(Source("two.cvm", f"def scale(x) = x - k operator f {body}"), "two")
    first, second = check_files([shared, one, two])
    assert show_item(first.items[0]) == "def scale(x int) = (3 * parameter:x) : int"
    assert show_item(second.items[0]) == "def scale(x int) = (parameter:x - 3) : int"
    assert [first.full_name, second.full_name] == ["one.f", "two.f"]


def test_the_order_of_files_is_that_of_their_names() -> None:
    names = [each.source.name for each in read_folder(SPEC)]
    assert names == sorted(names)
    assert names[0] == "spec/common.cvm"
    assert {each.opset for each in read_folder(SPEC)} >= {"", "cvm"}


def test_errors_are_in_the_order_of_files_and_lines() -> None:
    bad = "operator {0} {{\n input X : cvm[N]\n output Y : cvm[Q] precision 1\n Y[i] = 0\n}}\n"
    files = [
        SpecFile(Source("b.cvm", bad.format("f") + bad.format("g")), ""),
        SpecFile(Source("a.cvm", bad.format("h")), ""),
    ]
    with pytest.raises(SpecErrors) as caught:
        check_files(files)
    places = [(error.span.source.name, error.span.line) for error in caught.value.errors]
    assert places == [("a.cvm", 3), ("b.cvm", 3), ("b.cvm", 8)]

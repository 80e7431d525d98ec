"""What the words of the language are for, in a line each, with their form."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.dtypes import CVM, DTYPES
from cvmgen.functions import FUNCTIONS
from cvmgen.schedule.actions import ACTIONS
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.mappings import MAPPINGS
from cvmgen.schedule.measures import MEASURES


@dataclass(frozen=True, slots=True)
class Help:
    """How a word is written, and what it is for."""

    form: str
    text: str
    kind: str = "keyword"


WORDS = {
    "import": Help("import clip, bits from common", "Brings declarations of another opset."),
    "from": Help("import NAME from OPSET", "The opset whose declarations are brought."),
    "const": Help("const NAME = value", "A number that formulas may name."),
    "def": Help("def NAME(a, b) = value", "A function that any formula may call."),
    "family": Help("family NAME(HOLE) { ... }", "An operator with holes, for instances to fill."),
    "operator": Help("operator NAME { ... }", "An operator, or with = an instance of a family."),
    "type": Help("type T in int8, int32", "Element types that the operator is made for."),
    "input": Help("input X : cvm[M, K]", "A tensor that a call gives; names bind its extents."),
    "output": Help("output Y : cvm[M, N]", "A tensor that the operator makes, with its extents."),
    "attr": Help("attr NAME = default in [low, high)", "A value that a call gives by name."),
    "let": Help("let NAME[i] = value", "A value of a call, or with indices one for each of them."),
    "require": Help('require condition : "message"', "What a call must keep, or it is refused."),
    "alias": Help("alias NAME, NAME", "Other names of the operator."),
    "example": Help("example NAME([1, 2]) == [3, 4]", "A call, and its result on every target."),
    "within": Help("within b < B { ... }", "Items for each value of an index."),
    "case": Help("case condition { ... }", "Items that hold where the condition does."),
    "although": Help('although "reason"', "Why a rule or an input stands all the same."),
    "if": Help("a if condition else b", "A choice; what is not chosen is not evaluated."),
    "else": Help("a if condition else b", "What is taken where the condition does not hold."),
    "for": Help("(n[i] for i < N)", "Makes a list, or between braces a set."),
    "forall": Help("Y[2*i] = X[i] forall i < N", "What the indices of an equation run over."),
    "where": Help("Y[i] = x + 1 where x = X[i]", "Names for parts of an equation."),
    "in": Help("i in axes", "Whether an element is among others; in a range, each of them."),
    "and": Help("a and b", "Whether both hold; the second counts only if the first does."),
    "or": Help("a or b", "Whether one holds; the second counts only if the first does not."),
    "not": Help("not a", "Whether a condition does not hold."),
    "true": Help("true", "The condition that always holds."),
    "false": Help("false", "The condition that never holds."),
    "refuse": Help('a if c else refuse "message"', "The call is refused where c does not hold."),
    "div": Help("a div b", "The quotient, rounded down."),
    "tdiv": Help("a tdiv b", "The quotient, rounded toward zero."),
    "mod": Help("a mod b", "What the quotient rounded down leaves, of the sign of b."),
    "over": Help("a over b", "The quotient of real numbers."),
    "each": Help("input each i < M : I[i] : cvm[n[i]...]", "Any number of tensors."),
    "optional": Help("input B : cvm[N] optional", "A call may leave it out; present(B) tells."),
    "empty": Help("cvm[n...] or empty", "Extents may be 0."),
    "list": Help("attr axes : int list = ()", "Any number of integers."),
    "precision": Help("output Y : cvm[N] precision p(X) + 1", "How many bits the results take."),
    "by": Help("sort[i < N] by (X[i])", "What the indices are sorted by, smallest first."),
    "sum": Help("sum[k < K](X[k])", "The sum over the indices.", "reduction"),
    "prod": Help("prod[k < K](X[k])", "The product over the indices.", "reduction"),
    "max": Help("max[k < K](X[k])", "The greatest over the indices, or of arguments.", "reduction"),
    "min": Help("min[k < K](X[k])", "The least over the indices, or of arguments.", "reduction"),
    "any": Help("any[k < K](X[k] > 0)", "Whether it holds for one of the indices.", "reduction"),
    "all": Help("all[k < K](X[k] > 0)", "Whether it holds for each of the indices.", "reduction"),
    "count": Help("count[k < K](X[k] > 0)", "For how many it holds; or of a list.", "reduction"),
    "select": Help("select[i < N](X[i] > 0)", "The indices for which it holds, in order.", "list"),
    "sort": Help("sort[i < N] by (X[i])", "The indices in ascending order of the keys.", "list"),
    "p": Help("p(X)", "The precision of an input: its values lie within 2^(p-1) - 1.", "function"),
    "present": Help("present(B)", "Whether the call gives what is optional.", "function"),
    "least": Help("least(T)", "The least value of an element type.", "function"),
    "greatest": Help("greatest(T)", "The greatest value of an element type.", "function"),
    "log2": Help("floor(log2(n)), ceil(log2(n))", "The logarithm, rounded.", "function"),
    "inf": Help("inf", "Infinity: a real number, or no end of a range.", "number"),
    "nan": Help("nan", "The real number that is none.", "number"),
    "int": Help("attr NAME : int", "An integer.", "type"),
    "bool": Help("attr NAME : bool", "A truth value.", "type"),
    "word": Help('attr NAME in {"a", "b"}', "One of several words.", "type"),
    CVM: Help("cvm[N]", "int8 or int32, with a precision that bounds the values.", "type"),
}  # fmt: skip


def help_of(word: str) -> Help | None:
    """What a word of formulas is for; None of one that the language does not have."""
    if word in WORDS:
        return WORDS[word]
    if word in FUNCTIONS:
        row = FUNCTIONS[word]
        return Help(f"{word}({', '.join(row.parameters)}) : {row.result}", row.doc, "function")
    if word in DTYPES:
        return Help(f"{word}[N]", f"Elements of type {word}.", "type")
    return None


def schedule_help(word: str) -> Help | None:
    """The same of schedules."""
    if word in ACTIONS:
        return Help("\n".join(ACTIONS[word].forms), ACTIONS[word].doc, "action")
    if word in CLASSES:
        return Help(f"schedule {word} for c", CLASSES[word].doc, "class")
    if word in MAPPINGS:
        return Help(f"use {word}", MAPPINGS[word].doc, "mapping")
    if word in MEASURES:
        return Help(f"when {word} >= 1", MEASURES[word].__doc__ or "", "measure")
    return None


def formula_words() -> list[str]:
    return [*WORDS, *(each for each in (*FUNCTIONS, *DTYPES) if each not in WORDS)]


def schedule_words() -> list[str]:
    return [
        "schedule",
        "for",
        "by",
        "into",
        "over",
        "when",
        "with",
        *ACTIONS,
        *CLASSES,
        *MAPPINGS,
        *MEASURES,
    ]

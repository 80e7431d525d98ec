"""Spec files to checked operators, with every error of all files in one report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from math import prod

from cvmgen.errors import Faults, Strict
from cvmgen.functions import FUNCTIONS, SPECIAL
from cvmgen.source import SpecError, raise_or_keep
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.attribute_words import constant_clashes
from cvmgen.spec.calls import Shared
from cvmgen.spec.expressions import ExpressionChecker
from cvmgen.spec.families import instantiate
from cvmgen.spec.files import SpecFile
from cvmgen.spec.folding import constant_value
from cvmgen.spec.formula import BOOL, INT, LIST, REAL, Definition, Kind, Operator
from cvmgen.spec.host_integers import wide_values
from cvmgen.spec.imports import Resolver
from cvmgen.spec.item_names import declared_names
from cvmgen.spec.lengths import long_lists
from cvmgen.spec.operators import aliases, check_operator
from cvmgen.spec.own_names import names_in
from cvmgen.spec.parse import Parsed, parse_all
from cvmgen.spec.precisions import with_derived_precisions
from cvmgen.spec.scope import PoisonedError, operator_name
from cvmgen.spec.size import DEEP, DEEP_HINT, size_errors

MOST_ATTEMPTS = 81  # kinds of arguments that are tried for a `def` without a use


def check_files(
    spec_files: Sequence[SpecFile], faults: Faults | None = None
) -> tuple[Operator, ...]:
    """The checked operators of all files, in the order of the text; raises SpecErrors. With
    `faults`, without those on which we fail."""
    return check_parsed([(each.opset, parse_all(each.source)) for each in spec_files], faults)


def check_parsed(
    parsed: Iterable[tuple[str, Parsed]],
    faults: Faults | None = None,
    kept: list[SpecError] | None = None,
    *,
    whole: bool = True,
    alone: str | None = None,
) -> tuple[Operator, ...]:
    """The same of texts that are parsed, each with its opset. Where these are not the `whole` of a
    spec folder, what all of its operators together show is not asked. With `kept` the errors are
    added to it, and the operators are those in which there is none. Of an opset `alone`, the
    operators are those that it declares; the other texts are what it may import from."""
    faults = Strict() if faults is None else faults
    errors: list[SpecError] = []
    declarations: dict[str, list[d.TopLevel]] = {}
    broken: frozenset[str] = frozenset()
    for opset, part in parsed:
        declarations.setdefault(opset, []).extend(part.declarations)
        broken |= part.broken
        errors.extend(part.errors)
    resolver = Resolver(declarations, broken)
    visible = {opset: resolver.visible(opset) for opset in declarations if opset}
    visible = visible or {"": resolver.visible("")}
    visible = visible if alone is None else {alone: visible[alone]}
    errors += resolver.errors
    broken |= resolver.broken
    operators: list[Operator] = []
    for opset, known in visible.items():
        own = [*declarations.get("", ()), *declarations.get(opset, ())]
        checker = OpsetChecker(opset, known, broken, errors, faults, set(map(id, own)))
        operators.extend(checker.operators(whole=whole))
    completed = []
    for operator in operators:
        if own := list(size_errors(operator)):
            errors += own
            continue
        with faults.apart(operator.full_name, operator.span.place):
            try:
                whole_operator = with_derived_precisions(operator)
            except SpecError as error:
                own.append(error)
            own += list(long_lists(operator)) or wide_values(operator)
            errors += own
            if not own:
                completed.append(whole_operator)
    raise_or_keep(errors, kept)
    return tuple(completed)


class OpsetChecker:
    """The declarations of one opset: names in common, then operator by operator.

    `broken` are names whose declaration has an error already: their uses stay silent. `own` are the
    declarations that are not imported.
    """

    def __init__(
        self,
        opset: str,
        declarations: Iterable[d.Declaration],
        broken: frozenset[str],
        errors: list[SpecError],
        faults: Faults,
        own: Collection[int],
    ) -> None:
        self.opset = opset
        self.own = own
        self.own_constants: set[str] = set()
        self.errors = errors
        self.faults = faults
        self.broken = set(broken)
        self.constants: dict[str, int] = {}
        self.macros: dict[str, d.Definition] = {}
        self.families: dict[str, d.FamilyDecl] = {}
        self.family_of: dict[str, d.FamilyDecl] = {}
        self.operator_decls: list[d.OperatorDecl | d.InstanceDecl] = []
        seen: dict[tuple[str, str], d.Declaration] = {}
        for declaration in declarations:
            key = (declaration_group(declaration), declaration.name)
            if seen.get(key) is declaration:  # imported, and known here anyway
                continue
            if key in seen:
                self.twice(declaration, seen[key])
                continue
            seen[key] = declaration
            self.sort(declaration)

    @property
    def shared(self) -> Shared:
        return Shared(self.constants, self.macros, frozenset(self.broken))

    def twice(self, declaration: d.Declaration, first: d.Declaration) -> None:
        groups = {"family": "families"}
        plural = groups.get(declaration_group(declaration), f"{declaration_group(declaration)}s")
        message = f"two {plural} are named '{declaration.name}'"
        hint = f"the first is in {first.name_span.location}"
        if id(first) not in self.own or id(declaration) not in self.own:
            hint += ", and came with an import"
        self.errors.append(SpecError(declaration.name_span, message, hint))

    def sort(self, declaration: d.Declaration) -> None:
        match declaration:
            case d.Const(name=name):
                if id(declaration) in self.own:
                    self.own_constants.add(name)
                self.constant(declaration)
            case d.Definition(name=name):
                if name in FUNCTIONS or name in SPECIAL:
                    message = f"'{name}' is a function of the language"
                    hint = "choose another name"
                    self.errors.append(SpecError(declaration.name_span, message, hint))
                    self.broken.add(name)
                    return
                self.macros[name] = declaration
            case d.FamilyDecl(name=name):
                self.families[name] = declaration
            case d.OperatorDecl() | d.InstanceDecl():
                self.operator_decls.append(declaration)

    def constant(self, declaration: d.Const) -> None:
        shared = self.shared
        checker = ExpressionChecker(shared.scope(declaration.name_span), shared)
        try:
            value = constant_value(checker.wanted(declaration.value, INT))
            if value is None:
                hint = "numbers, other constants and signs"
                raise SpecError(declaration.value.span, "a constant is made of numbers only", hint)
            self.constants[declaration.name] = value
        except SpecError as error:
            self.errors.append(error)
            self.broken.add(declaration.name)
        except PoisonedError:
            self.broken.add(declaration.name)

    def operators(self, *, whole: bool) -> list[Operator]:
        found = []
        expanded: list[d.OperatorDecl] = []
        for declaration in self.operator_decls:
            try:
                expanded.append(self.expand(declaration))
            except SpecError as error:
                self.errors.append(error)
            except PoisonedError:
                pass
        for operator_decl in expanded:
            name = f"{self.opset}.{operator_decl.name}" if self.opset else operator_decl.name
            with self.faults.apart(name, operator_decl.name_span.place):
                try:
                    shared = self.shared_by(operator_decl)
                    operator = check_operator(operator_decl, self.opset, shared, self.errors)
                except RecursionError:
                    self.errors.append(SpecError(operator_decl.name_span, DEEP, DEEP_HINT))
                    continue
                if operator is not None:
                    found.append(operator)
        self.alias_clashes(expanded)
        self.errors.extend(constant_clashes(found))
        if whole and not self.errors:
            self.unused_definitions(found)
        return found

    def unused_definitions(self, operators: Iterable[Operator]) -> None:
        """Check a `def` that no operator uses with any kinds of arguments that it may take."""
        items = (item for operator in operators for item in operator.items)
        used = {item.name for item in items if isinstance(item, Definition)}
        for macro in self.macros.values():
            if macro.name in used:
                continue
            kinds = [(LIST,) if each.pack else (INT, REAL, LIST, BOOL) for each in macro.parameters]
            attempts = islice(product(*kinds), MOST_ATTEMPTS)
            faults = [fault for each in attempts if (fault := self.fault(macro, each))]
            if len(faults) == min(prod(map(len, kinds)), MOST_ATTEMPTS):
                self.errors.append(faults[0])

    def fault(self, macro: d.Definition, kinds: tuple[Kind, ...]) -> SpecError | None:
        """What is wrong with the body of a `def` for arguments of these kinds."""
        checker = ExpressionChecker(self.shared.scope_of(macro), self.shared)
        try:
            checker.calls.body(macro, kinds, checker.scope, macro.name_span)
        except SpecError as error:
            return error
        except PoisonedError:
            pass
        return None

    def expand(self, declaration: d.OperatorDecl | d.InstanceDecl) -> d.OperatorDecl:
        operator_name(declaration.name, declaration.name_span)
        if isinstance(declaration, d.OperatorDecl):
            return declaration
        if declaration.family in self.broken and declaration.family not in self.families:
            raise PoisonedError
        operator = instantiate(declaration, self.families)
        self.family_of[operator.name] = self.families[declaration.family]
        self.apart(declaration)
        return operator

    def names_apart(self, family: d.FamilyDecl | None) -> set[str]:
        """The constants of this opset that mean something else in a family which is imported."""
        if family is None or id(family) in self.own:
            return set()
        return self.own_constants & {*names_in(family.block), *declared_names(family.block.items)}

    def apart(self, instance: d.InstanceDecl) -> None:
        """Refuse such a constant where the operator itself speaks of it."""
        both = self.names_apart(self.families.get(instance.family))
        for node in n.walk((instance.actuals, instance.block)):
            if isinstance(node, n.Name) and node.text in both:
                message = f"the family '{instance.family}' has a '{node.text}' of its own"
                raise SpecError(node.span, message, "give the constant another name")

    def shared_by(self, operator: d.OperatorDecl) -> Shared:
        """What an operator knows; one of an imported family knows no constant that the file of the
        family does not know."""
        hidden = self.names_apart(self.family_of.get(operator.name))
        known = {name: each for name, each in self.constants.items() if name not in hidden}
        return replace(self.shared, constants=known)

    def alias_clashes(self, declarations: Iterable[d.OperatorDecl]) -> None:
        """An alias is neither the name of an operator nor an alias of another."""
        names: Mapping[str, d.OperatorDecl] = {each.name: each for each in declarations}
        seen: dict[str, d.OperatorDecl] = {}
        for declaration in names.values():
            for alias in aliases(declaration.block):
                if alias.text == declaration.name:
                    message = f"'{alias.text}' is the name of this operator already"
                elif alias.text in names:
                    place = names[alias.text].name_span.location
                    message = f"the alias '{alias.text}' is the name of the operator in {place}"
                elif alias.text in seen:
                    place = seen[alias.text].name_span.location
                    message = f"the operator in {place} has the alias '{alias.text}' too"
                else:
                    seen[alias.text] = declaration
                    continue
                self.errors.append(SpecError(alias.span, message, "remove the alias"))


def declaration_group(declaration: d.Declaration) -> str:
    match declaration:
        case d.Const():
            return "constant"
        case d.Definition():
            return "definition"
        case d.FamilyDecl():
            return "family"
        case _:
            return "operator"

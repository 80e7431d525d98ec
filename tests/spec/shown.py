"""Trees as short text: every operation in parentheses, every name with what it stands for."""

from __future__ import annotations

from typing import Any

from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n


def show(node: Any) -> str:
    """An expression, raw or checked; `role:name` once the role is known."""
    match node:
        case None:
            return ""
        case n.Number(value=value):
            return str(value)
        case n.Truth(value=value):
            return str(value).lower()
        case n.Name(text=text):
            return text
        case n.Ref(name=name, role=role):
            return f"{role}:{name}"
        case n.Arithmetic(sign=sign, left=left, right=right):
            return f"({show(left)} {sign} {show(right)})"
        case n.Negate(operand=operand):
            return f"(-{show(operand)})"
        case n.Compare(relations=relations, operands=operands):
            rest = (
                f" {sign} {show(each)}" for sign, each in zip(relations, operands[1:], strict=True)
            )
            return f"({show(operands[0])}{''.join(rest)})"
        case n.Logic(word=word, operands=operands):
            return f"({f' {word} '.join(map(show, operands))})"
        case n.Not(operand=operand):
            return f"(not {show(operand)})"
        case n.Conditional(then=then, condition=condition, otherwise=otherwise):
            return f"({show(then)} if {show(condition)} else {show(otherwise)})"
        case n.Contains(element=element, collection=collection):
            return f"({show(element)} in {show(collection)})"
        case n.TupleOf(elements=elements):
            return f"list({', '.join(map(show, elements))})"
        case n.Listing(element=element, binders=binders):
            return f"list({show(element)} for {show_binders(binders)})"
        case n.SetOf(element=element, binders=binders):
            return f"set({show(element)} for {show_binders(binders)})"
        case n.Reduction(function=function, binders=binders, body=body):
            return f"{function}[{show_binders(binders)}]({show(body)})"
        case n.Bracket(target=target, slots=slots):
            return f"{show(target)}[{', '.join(map(show_slot, slots))}]"
        case n.Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(show_slot, arguments))})"
        case n.Item(sequence=sequence, index=index):
            return f"entry({show(sequence)}, {show(index)})"
        case n.Part(sequence=sequence, low=low, high=high):
            return f"part({show(sequence)}, {show(low)}:{show(high)})"
        case n.Access(tensor=tensor, which=which, slots=slots):
            chosen = "" if which is None else f"[{show(which)}]"
            return f"{tensor}{chosen}[{', '.join(map(show_slot, slots))}]"
        case n.Apply(name=name, arguments=arguments):
            return f"apply {name}({', '.join(map(show, arguments))})"
        case n.Function(name=name, arguments=arguments):
            return f"{name}({', '.join(map(show, arguments))})"
        case n.Precision(tensor=tensor, which=which):
            return f"p({tensor}{'' if which is None else f'[{show(which)}]'})"
        case n.Present(name=name):
            return f"present({name})"
        case n.ShapeOf(tensor=tensor):
            return f"shape({tensor})"
        case _:
            raise AssertionError(f"no text for {type(node).__name__}")


def show_slot(slot: Any) -> str:
    if isinstance(slot, n.PartSlot):
        return f"{show(slot.low)}:{show(slot.high)}"
    return show(slot.value) + "..." * slot.pack


def show_binder(binder: Any) -> str:
    match binder:
        case n.Below(target=target, low=low, high=high):
            return f"{show(low)}{' <= ' * (low is not None)}{show(target)} < {show(high)}"
        case n.PackBelow(target=target, high=high):
            return f"{show(target)}... < {show(high)}..."
        case n.Member(target=target, collection=collection):
            return f"{show(target)} in {show(collection)}"
        case n.IndexRange(index=index, low=low, high=high):
            return f"{show(low)} <= {index} < {show(high)}"
        case n.IndexMember(index=index, collection=collection):
            return f"{index} in {show(collection)}"
        case n.PackRange(pack=pack, extents=extents, slots=None):
            return f"{pack}... < {show(extents)}"
        case n.PackRange(pack=pack, extents=extents, slots=slots):
            return f"{pack} at {show(slots)} < {show(extents)}"
        case _:
            raise AssertionError(f"no text for {type(binder).__name__}")


def show_binders(binders: n.Binders) -> str:
    text = ", ".join(map(show_binder, binders.items))
    if binders.over is not None:
        text += f" for {show_binder(binders.over)}"
    if binders.condition is not None:
        text += f" if {show(binders.condition)}"
    return text


def show_item(item: f.Item) -> str:
    """An item of a checked operator."""
    match item:
        case f.Input(name=name, extents=extents, index=index, count=count):
            several = f" each {index} < {count}" if index else ""
            slots = (f"{'new ' * bool(e.new)}{show(e.value)}{'...' * e.pack}" for e in extents)
            return f"input {name}{several}[{', '.join(slots)}]{' optional' * item.optional}"
        case f.Attribute(name=name, components=components, default=default):
            entries = f" ({', '.join(components)})" if components else ""
            words = " list" * item.is_list + " optional" * item.optional
            limits = f" {show(item.low)} <= value < {show(item.high)}" if item.interval_text else ""
            start = f" = {show(default)}" if default is not None else ""
            return f"attr {name}{entries} {item.kind}{words}{start}{limits}"
        case f.Let(name=name, value=value, kind=kind):
            return f"let {name} = {show(value)} : {kind.name}"
        case f.Definition(name=name, parameters=parameters, body=body, kind=kind):
            given = ", ".join(f"{each} {of.name}" for each, of in parameters)
            return f"def {name}({given}) = {show(body)} : {kind.name}"
        case f.Require(condition=condition, message=message):
            return f"require {show(condition)} : {message}"
        case f.Output(name=name, slots=slots, precision=precision):
            return f"output {name}[{', '.join(map(show_slot, slots))}] precision {show(precision)}"
        case f.Equation(tensor=tensor, slots=slots, domain=domain, value=value):
            way = "gather" if item.gather else "scatter"
            place = f"{tensor}[{', '.join(map(show_slot, slots))}]"
            where = "".join(f" where {show_item(each)}" for each in item.where)
            return f"{way} {place} = {show(value)} forall {show_binders(domain)}{where}"
        case f.Case(condition=condition, items=items):
            return f"case {show(condition)} {{ {'; '.join(map(show_item, items))} }}"

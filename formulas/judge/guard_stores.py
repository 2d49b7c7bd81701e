"""What a kernel writes to, how precisely it computes and where its threads wait, as far as its text shows: what a
rewrite may not lose, and which barriers it may not gain.

Takes the kernel before and after, gives sentences that say why the rewrite is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from tree_sitter import Node

from hipscope.analysis.source.nodes import arguments_of, called, child_of, first_name, names_in, text_of, walk
from hipscope.analysis.source.number_types import SMALL_FLOATS
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.source.thread_dependence import Divergence

_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER_OF_WORKGROUP = re.compile(r"\b(?:blockIdx\s*\.\s*[xyz]|hipBlockIdx_[xyz])\b")
_ANY = "#"
_KEPT_CALLS = {"printf": "prints", "assert": "asserts", "__builtin_trap": "traps", "abort": "aborts"}


def store_reasons(before: KernelSyntax, after: KernelSyntax) -> list[str]:
    """No output forgotten, nothing written through a const parameter, no lower precision, no check dropped."""
    mentioned = names_in(after.body_node)
    lost = sorted(_stored_to(before) - mentioned)
    reasons = [f"it never writes to `{name}`, which the original does" for name in lost]
    constant = {p.name for p in after.parameters if p.pointer and "const" in p.type.split("*")[0].split()}
    opened = sorted(_made_writable(after, constant) - _made_writable(before, constant))
    reasons += [f"it casts the const of `{name}` away" for name in opened]
    old, new = _words(before), _words(after)
    if new["double"] < old["double"]:
        reasons.append("it computes less in double precision than the original")
    copies = _copied_elements(after)
    reasons += [
        f"it uses `{word}`, which is less precise"
        for word in sorted(SMALL_FLOATS)
        if new[word] > copies[word] and not old[word]
    ]
    was, now = _checks(before), _checks(after)
    reasons += [f"the original {what} and the rewrite does not" for what in sorted((was - now).keys())]
    if old["volatile"] > new["volatile"]:
        reasons.append("it drops a `volatile`")
    return reasons


def _stored_to(kernel: KernelSyntax) -> set[str]:
    """The pointer parameters that are stored to by name: assigned, counted up, or given to an atomic first."""
    pointers = {p.name for p in kernel.parameters if p.pointer}
    found: set[str] = set()
    for node in walk(kernel.body_node):
        if node.type == "assignment_expression":
            target = node.child_by_field_name("left")
        elif node.type == "update_expression":
            target = node.child_by_field_name("argument")
        elif node.type == "call_expression" and "atomic" in (called(node) or ""):
            listed = arguments_of(node)
            target = listed[0] if listed else None
        else:
            continue
        if target is not None and target.type != "identifier" and (name := first_name(target)) in pointers:
            found.add(name)
    return found


def _made_writable(kernel: KernelSyntax, constant: set[str]) -> set[str]:
    found: set[str] = set()
    for node in walk(kernel.body_node):
        if node.type == "cast_expression":
            kind, operand = node.child_by_field_name("type"), node.child_by_field_name("value")
            head = text_of(kind) if kind is not None else ""
        elif node.type == "call_expression":
            function = node.child_by_field_name("function")
            head = text_of(function) if function is not None else ""
            if not head.startswith(("const_cast", "reinterpret_cast")):
                continue
            listed = arguments_of(node)
            operand = listed[0] if listed else None
        else:
            continue
        if operand is not None and "*" in head and "const " not in head and " const" not in head:
            found |= constant & {first_name(operand)}
    return found


def _words(kernel: KernelSyntax) -> Counter[str]:
    kinds = ("primitive_type", "type_identifier", "type_qualifier")
    return Counter(text_of(n) for n in walk(kernel.body_node) if n.type in kinds)


def _copied_elements(kernel: KernelSyntax) -> Counter[str]:
    """How many arrays hold elements of the type that the kernel is given: to load them there loses nothing."""
    given = {p.element_type for p in kernel.parameters if p.pointer}
    arrays = (n for n in walk(kernel.body_node) if n.type == "declaration" and _is_array(n))
    kinds = (text_of(child_of(declaration, "type")) for declaration in arrays)
    return Counter(kind for kind in kinds if kind in given)


def _is_array(declaration: Node) -> bool:
    declared = declaration.children_by_field_name("declarator")
    bare = [child_of(d, "declarator") if d.type == "init_declarator" else d for d in declared]
    return all(d.type == "array_declarator" for d in bare)


def _checks(kernel: KernelSyntax) -> Counter[str]:
    calls = (called(n) or "" for n in walk(kernel.body_node) if n.type == "call_expression")
    return Counter(_KEPT_CALLS[name] for name in calls if name in _KEPT_CALLS)


def barrier_reasons(before: KernelSyntax, after: KernelSyntax) -> list[str]:
    """A sentence for each barrier that only some threads reach, beyond those of the kernel before: these are known by
    the condition, whatever line they are on now, and whatever the workgroup's number is called there.
    """
    old_names = set(_WORD.findall(text_of(before.body_node)))
    new_names = set(_WORD.findall(text_of(after.body_node))) - old_names
    known = Counter(_cause(b.divergent, ()) for b in before.barriers if b.divergent is not None)
    reasons = []
    for barrier in after.barriers:
        if barrier.divergent is None:
            continue
        cause = _cause(barrier.divergent, new_names)
        if known[cause] > 0:
            known[cause] -= 1
            continue
        why = barrier.divergent.sentence
        reasons.append(f"not all threads of a workgroup reach the barrier on line {barrier.span.line}: {why}")
    return reasons


def _cause(divergent: Divergence, new_names: Collection[str]) -> tuple[str, str]:
    """What a divergence is known by: how threads part, and where; a new name may stand for the workgroup's number."""
    text = _NUMBER_OF_WORKGROUP.sub(_ANY, divergent.condition)
    return divergent.word, _WORD.sub(lambda word: _ANY if word[0] in new_names else word[0], text)

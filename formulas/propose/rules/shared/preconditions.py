"""What must hold before a recipe applies, as a tuple of named questions, and a question that several recipes ask.

A precondition takes a subject that holds whatever the questions need, and gives the sentence of the refusal, or None
where it holds. The order is that of the tuple: a later question may rely on the earlier ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Set
from typing import TypeVar

from hipscope.analysis.kernel.effects import relies_on_others
from hipscope.analysis.source.nodes import child_of, declarations_in, names_in, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts

Subject = TypeVar("Subject")
Precondition = Callable[[Subject], str | None]

_SHARES = (8, 4, 16)
_LEAST_LEFT = 64  # workgroups that still do something: fewer would leave most of a device idle


def first_refusal(subject: Subject, preconditions: Iterable[Precondition[Subject]]) -> str | None:
    """The sentence of the first precondition that does not hold, or None when all of them do."""
    return next((why for holds in preconditions if (why := holds(subject)) is not None), None)


def no_macro_hides(kernel: KernelSyntax, seen: Set[int] = frozenset()) -> str | None:
    """No macro of the file, or one that it uses, names a variable of the kernel, but in calls with `seen` ids."""
    root = kernel.body_node
    while root.parent is not None:
        root = root.parent
    words: dict[str, set[str]] = {}
    for node in walk(root):
        if (
            node.type in ("preproc_def", "preproc_function_def")
            and node.child_by_field_name("value") is not None
        ):
            parameters = node.child_by_field_name("parameters")
            bound = names_in(parameters) if parameters is not None else frozenset()
            found = re.findall(r"[A-Za-z_]\w*", text_of(child_of(node, "value")))
            words[text_of(child_of(node, "name"))] = set(found) - bound
    own = {name for name, _, _ in declarations_in(kernel.body_node)} | {"blockIdx"}
    named = (n for n in walk(kernel.body_node) if n.type == "identifier")
    left = {text_of(n) for n in named if n.parent is None or n.parent.id not in seen} & words.keys()
    done: set[str] = set()
    while left:
        name = min(left)
        done.add(name)
        if hidden := sorted(words[name] & own):
            return f"the macro `{name}` uses `{hidden[0]}`"
        left = (left | (words[name] & words.keys())) - done
    return None


def seen_through_whole(kernel: KernelSyntax) -> str | None:
    """All calls and macros of a kernel are known."""
    return kernel.through.opaque[0].sentence if kernel.through.opaque else None


def no_helper_asks_for_the_workgroup(kernel: KernelSyntax) -> str | None:
    """No function that the kernel calls reads the workgroup's number, which a rewrite gives the kernel anew."""
    asks = (kernel.through.built_ins.get(name) for name in ("blockIdx", "hipBlockIdx"))
    helper = next((name for name in asks if name is not None), None)
    return f"`{helper}`, which the kernel uses, asks for the workgroup's number itself" if helper else None


def waits_for_no_workgroup(kernel: KernelSyntax) -> str | None:
    """What a kernel reads may be loaded at another time: no other workgroup is waited for, or told of a store."""
    why = relies_on_others(kernel)
    return f"the kernel uses {why}: what it loads may be stored by other workgroups" if why else None


def shares_of(facts: LaunchFacts) -> list[int] | str:
    """How many workgroups' work one may take, the likeliest first; or why there are too few for any number."""
    sizes = [[g // w for g, w in zip(f.grid, f.workgroup, strict=True)] for f in facts.launches]
    groups, row = max(((math.prod(size), size[0]) for size in sizes), default=(0, 0))
    shares = [number for number in _SHARES if groups >= number * _LEAST_LEFT and row >= number]
    return (
        shares or f"{groups} workgroups, {row} of them side by side, are too few to leave the work to a part"
    )

"""memoryLocality, latencyHiding: promise the compiler that the kernel's pointers do not overlap (`__restrict__`).

Loads may then move over stores, and what is the same for all lanes is loaded once by the scalar unit. It is promised of
the pointers that had an allocation to themselves in all recorded launches; that this holds for all launches is assumed,
and shown. Symbol and arguments stay the same, so declarations elsewhere need no change.
"""

from __future__ import annotations

from dataclasses import dataclass

from hipscope.analysis.kernel.effects import relies_on_others
from hipscope.analysis.source.number_types import NUMBER_TYPES
from hipscope.analysis.source.syntax import KernelSyntax, Parameter
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Advice, Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.preconditions import first_refusal
from hipscope.formulas.propose.splice import Splice

NAME = "restrict"

_PLAIN = frozenset(word for name in NUMBER_TYPES for word in name.split()) | {"signed", "dim3", "const"}
_POINTER_BYTES = 8


@dataclass(frozen=True)
class _Asked:
    """A kernel, and what was recorded of it."""

    kernel: KernelSyntax
    facts: LaunchFacts


def _several_pointers(asked: _Asked) -> str | None:
    enough = sum(p.pointer for p in asked.kernel.parameters) >= 2
    return None if enough else "the kernel has fewer than two pointers: nothing can overlap"


def _not_promised_yet(asked: _Asked) -> str | None:
    promised = all("restrict" in p.type for p in asked.kernel.parameters if p.pointer)
    return "all pointers are `__restrict__` already" if promised else None


def _writes_to_an_argument(asked: _Asked) -> str | None:
    writes = any(p.pointer and not p.const_pointee for p in asked.kernel.parameters)
    return None if writes else "the kernel writes to no argument"


def _alone(asked: _Asked) -> str | None:
    why = relies_on_others(asked.kernel)
    return f"the kernel uses {why}: other workgroups may store to what a pointer leads to" if why else None


def _plain_parameters(asked: _Asked) -> str | None:
    needs = asked.facts.needs
    sizes = [a.size for a in needs.explicit_arguments] if needs is not None else []
    parameters = asked.kernel.parameters
    known = sizes if len(sizes) == len(parameters) else [_POINTER_BYTES] * len(parameters)
    for parameter, size in zip(parameters, known, strict=True):
        if parameter.type.count("*") > 1 or "&" in parameter.type or "[" in parameter.type:
            return f"`{parameter.name}` is no plain pointer: what it leads to is not known"
        plain = set(parameter.type.split()) <= _PLAIN or parameter.name in asked.facts.types.numbers
        if not parameter.pointer and size >= _POINTER_BYTES and not plain:
            return f"`{parameter.name}` may hold pointers too"
    return None


_PRECONDITIONS = (_several_pointers, _not_promised_yet, _writes_to_an_argument, _alone, _plain_parameters)


@rewrite("restrict", "Memory", "memoryAccess", "memoryLocality", "latencyHiding", searched=True, rank=30)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """`__restrict__` on pointers that did not overlap (assumed for all launches).

    Needs: those that had an allocation to themselves in all recorded launches.
    Assumes: assumed for all.
    """
    pointers = [p for p in kernel.parameters if p.pointer]
    if facts.member_pointers and len(pointers) + len(facts.member_pointers) > 1:
        return _of_members(kernel, facts)
    if (why := first_refusal(_Asked(kernel, facts), _PRECONDITIONS)) is not None:
        return why
    advice = "Promise with `__restrict__` that the pointers do not overlap"
    if not facts.launches:
        return Advice(NAME, advice, "no launch was recorded that shows that they do not")
    alone = [p for p in pointers if p.name in facts.disjoint]
    if all("restrict" in p.type for p in alone):
        names = ", ".join(f"`{p.name}`" for p in pointers if p not in alone)
        return Advice(NAME, advice, f"in a recorded launch {names} had no allocation of its own")
    names = ", ".join(f"`{p.name}`" for p in alone)
    some = "the pointers do not overlap" if len(alone) == len(pointers) else f"nothing overlaps {names}"
    return edited(
        source,
        promises(source, kernel, facts),
        title=f"Promise that {some} (`__restrict__`)",
        expected=(
            "Loads are started before stores that stand earlier, and repeated ones are left out; results stay "
            "the same bit for bit."
        ),
        assumes=(assumed(kernel, facts),),
    )


def promises(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> list[Splice]:
    """`__restrict__` for each pointer that may have it and has it not; only where `propose` gives a candidate."""
    wanted = [p for p in kernel.parameters if p.pointer and p.name in facts.disjoint]
    return [_qualifier(source, p) for p in wanted if "restrict" not in p.type]


def assumed(kernel: KernelSyntax, facts: LaunchFacts) -> str:
    """What the promise relies on beyond the recorded launches."""
    names = ", ".join(f"`{p.name}`" for p in kernel.parameters if p.pointer and p.name in facts.disjoint)
    return (
        f"no launch of `{kernel.name}` passes overlapping buffers in {names} (none did in the recorded ones)"
    )


def _of_members(kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Pointers in structures: they are declared outside of the kernel, where no rewrite goes."""
    loose = [name for name in facts.member_pointers if name not in facts.promised]
    if not loose and all("restrict" in p.type for p in kernel.parameters if p.pointer):
        return "all pointers are `__restrict__` already, in structures as well"
    inside = ", ".join(f"`{name}`" for name in loose or facts.member_pointers)
    together = [name for name in pointers_of(kernel, facts) if name not in facts.disjoint]
    title = (
        f"Promise with `__restrict__` that nothing overlaps {inside}: pass them as parameters of their own"
    )
    if together:
        names = ", ".join(f"`{name}`" for name in together)
        return Advice(NAME, title, f"in a recorded launch {names} had no allocation of its own")
    return Advice(NAME, title, "their structure is declared outside of the kernel, where no rewrite goes")


def _qualifier(source: bytes, parameter: Parameter) -> Splice:
    """`__restrict__` behind the star, with a blank where the name follows at once."""
    text = source[parameter.span.start : parameter.span.end]
    at = parameter.span.start + text.rindex(b"*") + 1
    glued = source[at : at + 1].strip() != b""
    return Splice(at, at, b" __restrict__ " if glued and text[: at - parameter.span.start - 1].endswith(b" ") else
                  b"__restrict__ " if glued else b" __restrict__")  # fmt: skip

"""memoryLocality, latencyHiding: promise the compiler that the kernel's pointers do not overlap (`__restrict__`).

Loads may then move over stores, and what is the same for all lanes is loaded once by the scalar unit. Needs every
pointer to have had an allocation to itself in all recorded launches; that this holds for all launches is assumed, and
shown. Symbol and arguments stay the same, so declarations elsewhere need no change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipscope.analysis.source.number_types import NUMBER_TYPES
from hipscope.analysis.source.syntax import KernelSyntax, Parameter
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Advice, Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.preconditions import first_refusal
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "restrict"

_PLAIN = frozenset(word for name in NUMBER_TYPES for word in name.split()) | {"signed", "dim3", "const"}


def _several_pointers(kernel: KernelSyntax) -> str | None:
    enough = sum(p.pointer for p in kernel.parameters) >= 2
    return None if enough else "the kernel has fewer than two pointers: nothing can overlap"


def _not_promised_yet(kernel: KernelSyntax) -> str | None:
    promised = all("restrict" in p.type for p in kernel.parameters if p.pointer)
    return "all pointers are `__restrict__` already" if promised else None


def _writes_to_an_argument(kernel: KernelSyntax) -> str | None:
    writes = any(p.pointer and not p.const_pointee for p in kernel.parameters)
    return None if writes else "the kernel writes to no argument"


def _plain_parameters(kernel: KernelSyntax) -> str | None:
    for parameter in kernel.parameters:
        if parameter.type.count("*") > 1 or "&" in parameter.type or "[" in parameter.type:
            return f"`{parameter.name}` is no plain pointer: what it leads to is not known"
        if not parameter.pointer and not set(parameter.type.split()) <= _PLAIN:
            return f"`{parameter.name}` may hold pointers too"
    return None


_PRECONDITIONS = (_several_pointers, _not_promised_yet, _writes_to_an_argument, _plain_parameters)


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate with `__restrict__` on every pointer parameter."""
    del finding
    pointers = [p for p in kernel.parameters if p.pointer]
    if facts.member_pointers and len(pointers) + len(facts.member_pointers) > 1:
        return _of_members(kernel, facts)
    if (why := first_refusal(kernel, _PRECONDITIONS)) is not None:
        return Refusal(NAME, why)
    advice = "Promise with `__restrict__` that the pointers do not overlap"
    if not facts.launches:
        return Advice(NAME, advice, "no launch was recorded that shows that they do not")
    together = [p.name for p in pointers if p.name not in facts.disjoint]
    if together:
        names = ", ".join(f"`{name}`" for name in together)
        return Advice(NAME, advice, f"in a recorded launch {names} had no allocation of its own")
    splices = [_qualifier(source, p) for p in pointers if "restrict" not in p.type]
    names = ", ".join(f"`{p.name}`" for p in pointers)
    return [
        Candidate(
            recipe=NAME,
            title="Promise that the pointers do not overlap (`__restrict__`)",
            text=apply_splices(source, splices),
            expected="Loads are started before stores that stand earlier, and repeated ones are left out; results stay "
            "the same bit for bit.",
            assumes=(
                f"no launch of `{kernel.name}` passes overlapping buffers in {names} (none did in the recorded ones)",
            ),
        )
    ]


def _of_members(kernel: KernelSyntax, facts: LaunchFacts) -> Proposal:
    """Pointers in structures: they are declared outside of the kernel, where no rewrite goes."""
    loose = [name for name in facts.member_pointers if name not in facts.promised]
    if not loose and all("restrict" in p.type for p in kernel.parameters if p.pointer):
        return Refusal(NAME, "all pointers are `__restrict__` already, in structures as well")
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

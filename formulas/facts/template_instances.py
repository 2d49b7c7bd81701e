"""Which kernels of a profile are the same kernel in the source: the instances of a template."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from hipscope.analysis.profile import Kernel, Profile
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.emulator.symbolize import demangle


def instances(profile: Profile, kernel: Kernel) -> tuple[Kernel, ...]:
    """The kernels with the definition of `kernel`, itself among them; by name alone where no place is known."""
    return tuple(
        k
        for k in profile.kernels
        if base_name(k.name) == base_name(kernel.name)
        and (None in (k.line, kernel.line) or (k.file, k.line) == (kernel.file, kernel.line))
    )


def launches_of(symbols: Collection[str], known: Iterable[str]) -> Callable[[str], bool]:
    """Whether a launch, by the name that a profiler gives it, is of one of the kernels with these mangled names.

    `known` are the names of all kernels in that profiler's own profile: where none of them is one of ours in full, as
    when it leaves arguments out, the name alone has to do.
    """
    ours = {_spelled(symbol) for symbol in symbols}
    if not ours.isdisjoint(map(_spelled, known)):
        return lambda name: _spelled(name) in ours
    bases = {base_name(demangle(symbol)) for symbol in symbols}
    return lambda name: base_name(demangle(name)) in bases


def _spelled(name: str) -> str:
    """A name in full, whether it came mangled, as a descriptor's or with other spaces."""
    plain = name.strip().removesuffix("[clone .kd]").strip().removesuffix(".kd")
    return "".join(demangle(plain).split())

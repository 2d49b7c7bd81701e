"""What a formula is: one kind of bottleneck, how it is found, explained and measured.

Takes a `Profile` and one of its kernels, gives `Finding`s: a place in the source, the share of the kernel's time at
stake and the numbers that show it. Formulas only look; they change nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.analysis.source.texts import ByteColumn, SourceTexts

# Below this share of a kernel's time, a gain is within noise (the model is good to a few per cent).
MIN_SHARE = 0.05  # the default of the setting `min_share`


@dataclass(frozen=True)
class Evidence:
    """One number that shows the bottleneck, with what it would be without. `unit` "" is a plain count or ratio."""

    metric: str
    value: float
    ideal: float | None
    unit: str


@dataclass(frozen=True)
class Related:
    """Another place in the source that has to do with a finding: a declaration, a launch."""

    file: str
    line: int
    message: str


@dataclass(frozen=True)
class Finding:
    """One bottleneck at one place.

    Lines count from 1, columns in bytes of UTF-8 from 1, as compilers count; `end_column` is behind the last byte, 0
    means that the columns are unknown. A capture without line information gives the kernel's own line, or 0. `share` is
    the part of the kernel's time at stake, 0..1. `estimated_speedup`: about how many times as fast the kernel can
    become; None when not known. `usual_speedup`: the range in which half of the edits of such findings end.
    """

    formula: str
    kernel: str
    mangled: str
    file: str
    line: int
    end_line: int
    column: ByteColumn
    end_column: ByteColumn
    share: float
    message: str
    evidence: tuple[Evidence, ...]
    related: tuple[Related, ...] = ()
    estimated_speedup: float | None = None
    usual_speedup: tuple[float, float] | None = None


@dataclass(frozen=True)
class Objective:
    """A metric that a rewrite must move, by its name in the evidence, and which way is better.

    One with `own` counts for findings of its formula only: elsewhere, getting worse in it is no price worth a word.
    """

    metric: str
    direction: Literal["down", "up"]
    own: bool = False


Capture = Literal["instructions", "counters", "code object", "launches"]
Work = Literal["bytes", "flops"]


@dataclass(frozen=True)
class Need:
    """One way to the numbers of a formula: what a capture must hold, and what it then says.

    `archs` empty means every architecture. `counters` are rocprofv3's names; all of them are needed.
    """

    captures: tuple[Capture, ...]
    gives: str
    counters: tuple[str, ...] = ()
    archs: tuple[str, ...] = ()


class Formula(ABC):
    """One kind of bottleneck. A subclass is stateless: one instance serves all profiles.

    A rewrite must move at least one of the `objectives`, the first of which is the main one; a formula without any
    only diagnoses. `keeps` is the work that no rewrite for this formula saves: it limits how much faster a kernel can
    become. `fewer_launches`: what an empty launch takes does not limit that, as there would be fewer. `times_hold_it`:
    the times shown hold what the cause costs; where a model leaves it out, no gain is told. `guidance` are directions
    for a language model, one per attempt.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    objectives: ClassVar[Sequence[Objective]]
    remedy: ClassVar[Sequence[str]]
    needs: ClassVar[Sequence[Need]]
    keeps: ClassVar[frozenset[Work]] = frozenset({"bytes", "flops"})
    fewer_launches: ClassVar[bool] = False
    times_hold_it: ClassVar[bool] = True
    guidance: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """The findings in one kernel, worst first; empty when nothing is wrong or nothing is recorded.

        `texts` are those that the program was built from.
        """

    @abstractmethod
    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:
        """The metrics of the objectives over the whole kernel; those that the profile does not hold are absent."""


def format_value(value: float | None, unit: str) -> str:
    """A number with its unit in readable form; "-" for none."""
    if value is None:
        return "-"
    if unit == "%":
        return f"{value:.0f} %"
    text = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{text} {unit}".rstrip()

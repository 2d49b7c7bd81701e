"""Memory that the host sees as well: managed, pinned and fine-grained memory, where accesses leave the GPU's caches.

Takes the kinds of memory that a kernel's accesses went to, gives a finding for each kind, on its costliest line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipscope.analysis.profile import Device, Instruction, Kernel, MemoryPattern, Profile
from hipscope.analysis.source.text_queries import code_lines, lines_with_word
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Related
from hipscope.formulas.detect.sites import Site, finding_at, searched_files, sites
from hipscope.formulas.detect.time_at_stake import cost_share
from hipscope.formulas.tables import Worded, table

_ACCESSES = "accesses to memory that the host sees"
_NAMED = 6  # of the other lines
_FEW = 4  # allocations that can be named


@dataclass(frozen=True)
class _Kind:
    """How to speak of a kind of memory: what it is called, what its accesses do, and the words that ask for it."""

    called: str
    does: str
    words: Sequence[str]


_PUBLISHED = table("formulas")["memoryKind"]["published"]
_KINDS = {name: _Kind(**row) for name, row in table("formulas")["memoryKind"]["kinds"].items()}


class MemoryKind(Worded):
    """Counters in managed memory, inputs left in pinned memory, flags in fine-grained memory."""

    name: ClassVar[str] = "memoryKind"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(_ACCESSES, "down"),)
    times_hold_it: ClassVar[bool] = False

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:  # noqa: ARG002
        """One finding for each kind of memory, worst first."""
        found = [
            _finding(self.name, kernel, kind, places, texts)
            for kind in _KINDS
            if (places := sites(kernel, lambda i, kind=kind: _accesses(i, kind) > 0, lambda i: i.latency))  # type: ignore[misc]
        ]
        return sorted(found, key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Accesses of waves to such memory; nothing of kernels without any."""
        number = sum(sum(i.memory.memory_kinds.values()) for i in kernel.instructions if i.memory is not None)
        return {_ACCESSES: float(number)} if number else {}


def lives_where(pattern: MemoryPattern) -> str:
    """ " on managed memory", of accesses most of which went to memory that the host sees; else nothing."""
    kind, number = max(pattern.memory_kinds.items(), key=lambda item: item[1], default=("", 0.0))
    return f" on {_KINDS[kind].called}" if kind in _KINDS and 2 * number > pattern.accesses else ""


def _finding(formula: str, kernel: Kernel, kind: str, places: Sequence[Site], texts: SourceTexts) -> Finding:
    words = _KINDS[kind]
    costs = sorted(((cost_share(kernel, site.instructions), site) for site in places), key=lambda c: -c[0])
    every = [i for site in places for i in site.instructions]
    share = cost_share(kernel, every)
    number = sum(_accesses(i, kind) for i in every)
    atomics = sum(_accesses(i, kind) for i in every if i.memory is not None and i.memory.kind == "atomic")
    what = "atomic operations" if 2 * atomics > number else "loads and stores"
    published = f"; {_PUBLISHED}" if kind == "managed" and 2 * atomics > number else ""
    worst = costs[0][1]
    others = [
        Related(s.file, s.line, f"{_told(s.instructions, kind)} {words.called} here")
        for _, s in costs[1 : 1 + _NAMED]
    ]
    return finding_at(
        formula,
        kernel,
        worst,
        share,
        f"{what} on {words.called}: {words.does}{published}. That is not modelled: the times shown are those of device "
        "memory",
        (
            Evidence(_ACCESSES, number, 0.0, "accesses"),
            Evidence("wave time for these accesses, as if to device memory", 100 * share, None, "%"),
        ),
        [*others, *_allocations(kernel, worst.file, words, texts)],
    )


def _accesses(instruction: Instruction, kind: str) -> float:
    return instruction.memory.memory_kinds.get(kind, 0.0) if instruction.memory is not None else 0.0


def _told(instructions: Sequence[Instruction], kind: str) -> str:
    """ "3 atomic operations on", by the most frequent kind of access."""
    counts: Counter[str] = Counter()
    for i in instructions:
        if i.memory is not None:
            counts[i.memory.kind] += round(_accesses(i, kind))
    (name, number), *_ = counts.most_common(1)
    words = {"atomic": "atomic operations on", "load": "loads from", "store": "stores to"}
    return f"{number:,} {words[name]}"


def _allocations(kernel: Kernel, file: str, kind: _Kind, texts: SourceTexts) -> Iterator[Related]:
    """The lines that ask for such memory, where they are few enough to be meant."""
    found = []
    for path in searched_files(file, kernel.file or file, texts):
        words = lines_with_word(code_lines(texts, path))
        found += [(path, line) for word in kind.words for line in words.get(word.encode(), ())]
    if len(found) <= _FEW:
        yield from (Related(path, line, f"{kind.called} is allocated here") for path, line in sorted(found))

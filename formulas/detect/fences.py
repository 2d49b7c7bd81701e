"""Fences and wide scopes: waves write the L2 back to memory and empty caches, and wait until that is done.

Takes what a kernel's instructions do to caches, gives a finding per source line whose fences, or whose atomics with
order, take a part of the time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from hipscope.analysis.metrics.stalls import blamed_stalls, total_cycles
from hipscope.analysis.profile import Device, Instruction, Kernel, Profile
from hipscope.analysis.source.text_queries import code_line
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective
from hipscope.formulas.detect.instruction_mix import mnemonic, per_wave, waves
from hipscope.formulas.detect.sites import Site, finding_at, sites
from hipscope.formulas.detect.time_at_stake import cost_share
from hipscope.formulas.tables import Worded

_FENCES = "write-backs and invalidations of caches per wave"
_INVALIDATES = ("buffer_inv", "buffer_wbinv")
_ATOMICS = ("global_atomic", "flat_atomic", "buffer_atomic")
# devices.toml, fence_release_cycles and fence_acquire_cycles
_PUBLISHED = "A fence for the device takes about 4 us on an MI300X (published; alone and with nothing to write 0.25 us)"


class Fences(Worded):
    """`__threadfence()` in loops, `__threadfence_system()`, atomics of system scope or with order."""

    name: ClassVar[str] = "fences"
    objectives: ClassVar[tuple[Objective, ...]] = (Objective(_FENCES, "down"),)

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:  # noqa: ARG002
        """One finding per line, worst first."""
        return sorted(
            (
                _finding(self.name, kernel, site, texts)
                for site in sites(kernel, is_fence, lambda i: i.latency)
            ),
            key=lambda f: -f.share,
        )

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """How often each wave writes back or invalidates caches."""
        return per_wave(kernel, _FENCES, is_fence)


def is_fence(instruction: Instruction) -> bool:
    """Writes caches back, or invalidates them."""
    return _writes_back(instruction) or mnemonic(instruction).startswith(_INVALIDATES)


def fence_shares(kernel: Kernel) -> dict[str, float]:
    """The parts of the kernel's wave time that depend on the constants of the model for a fence, by their names."""
    total, blamed = total_cycles(kernel), blamed_stalls(kernel)
    found: dict[str, float] = {}
    for i in kernel.instructions if total else ():
        if is_fence(i):
            name = "fence_release_cycles" if _writes_back(i) else "fence_acquire_cycles"
            found[name] = found.get(name, 0.0) + sum(blamed[i.index].values()) / total
    return found


def _writes_back(instruction: Instruction) -> bool:
    return mnemonic(instruction).startswith("buffer_wbl2")


_TO_THE_HOST = re.compile(rb"\b(printf|puts|assert|malloc|free)\s*\(")


def _asks_the_host(site: Site, texts: SourceTexts) -> str:
    """The words for a call that the GPU cannot answer alone (hostcall of ROCm's device libraries)."""
    call = _TO_THE_HOST.search(code_line(texts, site.file, site.line))
    return f"`{call[1].decode()}` asks the host, through memory that both see: " if call else ""


def _finding(formula: str, kernel: Kernel, site: Site, texts: SourceTexts) -> Finding:
    number = waves(kernel)
    back = max((i.hits for i in site.instructions if _writes_back(i)), default=0)
    emptied = max((i.hits for i in site.instructions if not _writes_back(i)), default=0)
    times = max(back, emptied)
    per_wave = f", {times / number:.3g} for each wave" if number and times != number else ""
    share = cost_share(kernel, site.instructions)
    return finding_at(
        formula,
        kernel,
        site,
        share,
        f"{_asks_the_host(site, texts)}{times:,} {_what(kernel, site)}{per_wave}: "
        f"{_does(site.instructions)}. {_PUBLISHED}",
        (
            Evidence("write-backs of the L2 (buffer_wbl2)", float(back), 0.0, ""),
            Evidence("invalidations of caches (buffer_inv)", float(emptied), 0.0, ""),
            *(
                (Evidence(_FENCES, sum(i.hits for i in site.instructions) / number, 0.0, ""),)
                if number
                else ()
            ),
            Evidence("wave time for these fences", 100 * share, 0.0, "%"),
        ),
    )


def _what(kernel: Kernel, site: Site) -> str:
    """A fence of its own, or the order of an atomic operation, which is a fence on either side of it."""
    scope = "the system (host and other GPUs)" if any(map(_is_system, site.instructions)) else "the device"
    places = {i.source[0] for i in site.instructions if i.source}
    ordered = any(
        mnemonic(i).startswith(_ATOMICS) and i.source[:1] and i.source[0] in places
        for i in kernel.instructions
    )
    return f"fences for {scope}" + (" that the order of an atomic operation asks for" if ordered else "")


def _is_system(instruction: Instruction) -> bool:
    """`sc0 sc1` on gfx942; gfx90a writes back and invalidates its L2 for the system alone."""
    text, name = instruction.text, mnemonic(instruction)
    told = " sc0" in text and " sc1" in text
    return told or name == "buffer_invl2" or (name == "buffer_wbl2" and " sc" not in text)


def _does(instructions: Sequence[Instruction]) -> str:
    back = any(map(_writes_back, instructions))
    emptied = any(not _writes_back(i) for i in instructions)
    stores = "writes the L2's changed lines back to memory (buffer_wbl2) and waits for all stores of its wave"
    loads = "empties the L1 and drops lines of the L2 that others may have changed (buffer_inv)"
    return f"each {', '.join([stores] * back + [loads] * emptied)}"

"""All formulas, and one call that asks each of them.

Takes a `Profile`, gives the findings worth showing, the ones with the most GPU time at stake first.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache

from hipscope.analysis.profile import Device, Kernel, Profile
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import MIN_SHARE, Finding, Formula
from hipscope.formulas.detect.atomic_contention import AtomicContention
from hipscope.formulas.detect.bank_conflict import BankConflict
from hipscope.formulas.detect.branch_divergence import BranchDivergence
from hipscope.formulas.detect.diagnose_only import DiagnoseOnly
from hipscope.formulas.detect.latency_hiding import LatencyHiding
from hipscope.formulas.detect.launch_config import LaunchConfig
from hipscope.formulas.detect.memory_access import MemoryAccess
from hipscope.formulas.detect.memory_locality import MemoryLocality
from hipscope.formulas.detect.plugins import outside_formulas, warn
from hipscope.formulas.detect.precision import Precision
from hipscope.formulas.detect.register_pressure import RegisterPressure
from hipscope.formulas.detect.sites import underlined
from hipscope.formulas.detect.time_at_stake import estimated_speedup

FORMULAS: tuple[Formula, ...] = (
    BankConflict(),
    MemoryAccess(),
    AtomicContention(),
    RegisterPressure(),
    BranchDivergence(),
    MemoryLocality(),
    LatencyHiding(),
    Precision(),
    LaunchConfig(),
)
_OLD_PARAMETERS = 3  # self, profile, kernel
# Has no finding of its own: it says what bounds the kernels in which the others find nothing.
DIAGNOSE = DiagnoseOnly()


def all_formulas() -> tuple[Formula, ...]:
    """The formulas in the order in which they are asked: built in, then those of other packages."""
    built_in = (*FORMULAS, DIAGNOSE)
    return (*built_in, *outside_formulas(tuple(f.name for f in built_in)))


def find_formula(name: str) -> Formula | None:
    """The formula of that name."""
    return next((formula for formula in all_formulas() if formula.name == name), None)


def detect_all(
    profile: Profile,
    texts: SourceTexts,
    *,
    formulas: Collection[str] | None = None,
    min_share: float = MIN_SHARE,
) -> list[Finding]:
    """All findings with at least `min_share` of their kernel's time at stake; `formulas` None asks all of them.

    `texts` are those that the program was built from.
    """
    chosen = [f for f in all_formulas() if f.objectives and (formulas is None or f.name in formulas)]
    total = sum(kernel.time_ns for kernel in profile.kernels)
    weighted: list[tuple[float, Finding]] = []
    for kernel in profile.kernels:
        weight = kernel.time_ns / total if total else 1.0
        for formula in chosen:
            findings = ask_formula(formula, profile, kernel, texts)
            weighted += [
                (weight * f.share, _bounded(profile, kernel, formula, f))
                for f in findings
                if f.share >= min_share
            ]
    weighted.sort(key=lambda pair: (-pair[0], pair[1].file, pair[1].line))
    return [finding for _, finding in weighted]


def measure_all(kernel: Kernel, device: Device) -> dict[str, float]:
    """The metrics of all formulas' objectives, by name; those that the profile does not hold are absent."""
    metrics: dict[str, float] = {}
    for formula in all_formulas():
        metrics |= measure_one(formula, kernel, device)
    return metrics


def measure_one(formula: Formula, kernel: Kernel, device: Device) -> Mapping[str, float]:
    """The metrics of one formula; none, with a warning, when a formula of another package fails."""
    try:
        return formula.measure(kernel, device)
    except Exception as error:
        _excuse(formula, "measure", error)
        return {}


def diagnose(
    profile: Profile,
    findings: Sequence[Finding],
    texts: SourceTexts,
    *,
    formulas: Collection[str] | None = None,
) -> list[Finding]:
    """What bounds each kernel without a finding, longest kernel first; nothing when `formulas` leaves that out."""
    if formulas is not None and DIAGNOSE.name not in formulas:
        return []
    found = {f.mangled for f in findings}
    rest = [k for k in profile.kernels if k.mangled not in found]
    return [f for k in rest for f in ask_formula(DIAGNOSE, profile, k, texts)]


def ask_formula(formula: Formula, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
    """What one formula finds in one kernel; nothing, with a warning, when a formula of another package fails."""
    try:
        return _found(formula, profile, kernel, texts)
    except Exception as error:
        _excuse(formula, "detect", error)
        return []


def _found(formula: Formula, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
    """What it finds, with the columns of what it points at.

    A formula of another package that was written for hipscope 0.1 takes no texts; until 0.3 it is asked all the same.
    """
    if _takes_texts(type(formula)):
        found = list(formula.detect(profile, kernel, texts))
    else:
        found = list(formula.detect(profile, kernel))  # type: ignore[call-arg]
    if not all(isinstance(f, Finding) for f in found):
        raise TypeError("it gave something else than findings")
    return [underlined(f, texts) for f in found]


@cache
def _takes_texts(kind: type[Formula]) -> bool:
    taken = list(inspect.signature(kind.detect).parameters.values())
    return len(taken) > _OLD_PARAMETERS or any(p.kind is p.VAR_POSITIONAL for p in taken)


def _excuse(formula: Formula, what: str, error: Exception) -> None:
    """A formula of another package must not cost the user the profile; a defect of our own must show."""
    if formula in (*FORMULAS, DIAGNOSE):
        raise error
    warn(f"the formula {formula.name} is ignored, its {what}() failed: {type(error).__name__}: {error}")


def _bounded(profile: Profile, kernel: Kernel, formula: Formula, finding: Finding) -> Finding:
    times = estimated_speedup(profile, kernel, finding.share, formula.keeps)
    return replace(finding, estimated_speedup=times)

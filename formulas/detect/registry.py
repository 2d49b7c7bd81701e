"""All formulas, and one call that asks each of them.

Takes a `Profile`, gives the findings worth showing, the ones with the most GPU time at stake first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hipscope.analysis.profile import Device, Kernel, Profile
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
    profile: Profile, *, formulas: Collection[str] | None = None, min_share: float = MIN_SHARE
) -> list[Finding]:
    """All findings with at least `min_share` of their kernel's time at stake; `formulas` None asks all of them."""
    chosen = [f for f in all_formulas() if f.objectives and (formulas is None or f.name in formulas)]
    total = sum(kernel.time_ns for kernel in profile.kernels)
    weighted: list[tuple[float, Finding]] = []
    for kernel in profile.kernels:
        weight = kernel.time_ns / total if total else 1.0
        for formula in chosen:
            findings = _ask(formula, profile, kernel)
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
    profile: Profile, findings: Sequence[Finding], *, formulas: Collection[str] | None = None
) -> list[Finding]:
    """What bounds each kernel without a finding, longest kernel first; nothing when `formulas` leaves that out."""
    if formulas is not None and DIAGNOSE.name not in formulas:
        return []
    found = {f.mangled for f in findings}
    return [f for k in profile.kernels if k.mangled not in found for f in DIAGNOSE.detect(profile, k)]


def _ask(formula: Formula, profile: Profile, kernel: Kernel) -> Sequence[Finding]:
    try:
        found = list(formula.detect(profile, kernel))
        if not all(isinstance(f, Finding) for f in found):
            raise TypeError("it gave something else than findings")
        return found
    except Exception as error:
        _excuse(formula, "detect", error)
        return []


def _excuse(formula: Formula, what: str, error: Exception) -> None:
    """A formula of another package must not cost the user the profile; a defect of our own must show."""
    if formula in (*FORMULAS, DIAGNOSE):
        raise error
    warn(f"the formula {formula.name} is ignored, its {what}() failed: {type(error).__name__}: {error}")


def _bounded(profile: Profile, kernel: Kernel, formula: Formula, finding: Finding) -> Finding:
    times = estimated_speedup(profile, kernel, finding.share, formula.keeps)
    return replace(finding, estimated_speedup=times)

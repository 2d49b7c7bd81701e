"""Records of reports with nothing in them, for tests that are about one of their fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hipscope.server.reports.schema.optimize import Attempt, Optimization

_ATTEMPT = Attempt(
    formula="bankConflict",
    kernel="transpose(float*, int)",
    recipe="pad_lds",
    title="",
    outcome="not_faster",
    reason="",
    expected="",
    speedup=None,
    after=None,
    measured=None,
    verdict=None,
    notes=(),
    trades=(),
    diff="",
)
_OPTIMIZATION = Optimization(
    status="no_improvement",
    message="",
    formula=None,
    kernel=None,
    file=None,
    line=None,
    diff=None,
    speedup=None,
    before=None,
    after=None,
    measured=None,
    verdict=None,
    notes=(),
    trades=(),
    findings=(),
    attempts=(),
    isolation=None,
    edit=None,
    kernels=(),
    gpu_speedup=None,
    program_speedup=None,
    ended=None,
    compiles=0,
    replays=0,
    defects=(),
)


def attempt(**fields: Any) -> Attempt:
    """An attempt that was not faster, but for the fields given."""
    return replace(_ATTEMPT, **fields)


def optimization(**fields: Any) -> Optimization:
    """An optimization without improvement, but for the fields given."""
    return replace(_OPTIMIZATION, **fields)

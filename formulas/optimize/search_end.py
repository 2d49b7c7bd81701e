"""When a search ends before all was tried: at its time limit, or when it is asked for what it has so far.

Takes the event that cancels the request, gives the one that its steps look at, and what the result says of the end.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from hipscope.analysis.errors import Cancelled, HipscopeError, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.process import Stop
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize.result import Attempt, OptimizeResult

_NAMED = 3  # kernels in a sentence


class SearchEnd(Stop):
    """Set `seconds` after it was made, when `asked` is set, or when `cancel` cancels the request.

    The first two leave a result, the last one leaves none.
    """

    def __init__(
        self,
        cancel: threading.Event | None = None,
        *,
        seconds: float | None = None,
        asked: threading.Event | None = None,
    ) -> None:
        self._request = cancel
        self._within = Stop(asked, *(() if seconds is None else (seconds,)))
        self._seconds = seconds
        super().__init__(self._within)

    def is_set(self) -> bool:
        """Whether to stop."""
        return super().is_set() or self._cancelled

    @property
    def reason(self) -> str | None:
        """Why there is a result before all was tried; None while the search goes on, or when it was cancelled."""
        if self._cancelled or not self._within.is_set():
            return None
        if self.timed_out:
            return f"The search was ended by its limit of {self._seconds:g} s"
        return "The search was ended before it was through"

    @property
    def _cancelled(self) -> bool:
        return self._request is not None and self._request.is_set()

    @property
    def timed_out(self) -> bool:
        """Whether its own limit has passed."""
        return self._within.seconds_left <= 0


def reason_of(end: SearchEnd | None, cancelled: Cancelled) -> str:
    """Why there is a result although a step was `cancelled`. Raises that where the request was."""
    reason = end.reason if end is not None else None
    if reason is None:
        raise cancelled
    return reason


def nothing_begun(end: SearchEnd | None, cancelled: Cancelled) -> HipscopeError:
    """What to raise when the end came before there was a profile: there is nothing to give."""
    reason = reason_of(end, cancelled)
    if end is None or not end.timed_out:
        return cancelled
    return UsageError(f"{reason} before the program was profiled", "give it a longer --time-limit")


def ended_sentence(reason: str, kernels: Sequence[str], attempts: Sequence[Attempt]) -> str:
    """Why the search ended, and what is left: `kernels` that it had not done with, candidates not judged to the end."""
    names = list(dict.fromkeys(f"`{base_name(name)}`" for name in kernels))
    named = ", ".join(names[:_NAMED])
    more = f" and {len(names) - _NAMED} more kernels" if len(names) > _NAMED else ""
    left = sum(a.outcome is Outcome.ENDED for a in attempts)
    count = f"; {left} candidate{'s' if left != 1 else ''} not judged to the end" if left else ""
    return f"{reason}: not done with {named}{more}{count}." if names else f"{reason}{count}."


def too_late(number: int, taken: float, run: Run) -> str:
    """Why the round of that number is not begun; `taken` are the seconds of the one before."""
    left = f"{max(0.0, run.seconds_left):.0f} s of the limit are left"
    return f"Round {number} was not begun: {left}, the one before took {taken:.0f} s."


def with_end(result: OptimizeResult, ended: str | None) -> OptimizeResult:
    """The result of a search that ended so; unchanged when all was tried."""
    if ended is None:
        return result
    return result.model_copy(update={"message": f"{result.message} {ended}", "ended": ended})

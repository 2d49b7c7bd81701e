"""What must hold before a recipe applies, as a tuple of named questions.

A precondition takes a subject that holds whatever the questions need, and gives the sentence of the refusal, or None
where it holds. The order is that of the tuple: a later question may rely on the earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Subject = TypeVar("Subject")
Precondition = Callable[[Subject], str | None]


def first_refusal(subject: Subject, preconditions: Iterable[Precondition[Subject]]) -> str | None:
    """The sentence of the first precondition that does not hold, or None when all of them do."""
    return next((why for holds in preconditions if (why := holds(subject)) is not None), None)

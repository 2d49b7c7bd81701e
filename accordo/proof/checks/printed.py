"""Does a candidate print what the reference prints? The output of device code is a result as memory is.

Takes what both left on one launch, gives the first difference. The order of messages is that of the waves, and does not
count; numbers with a fraction may be rounded otherwise.
"""

from __future__ import annotations

import math
import re

from hipscope.accordo.model.verdict import Mismatch
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.replay.replay import Replay

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b")
_CLOSE = 1e-4
_SHOWN = 60  # characters


def other_words(run: ReferenceRun, result: Replay) -> Mismatch | None:
    """What is printed otherwise, where the reference prints the same in every order of its waves."""
    ours, theirs = run.result.printed, result.printed
    if ours == theirs or not run.same_words:
        return None
    if ours.count != theirs.count:
        message = f"it prints {theirs.count:,} messages instead of {ours.count:,}"
        return Mismatch(kind="wrong_value", message=message, label="the output")
    # Rounded otherwise, a message may stand elsewhere in alphabetical order.
    ordered = (sorted(said.texts, key=lambda text: _NUMBER.sub("#", text)) for said in (ours, theirs))
    for one, other in zip(*ordered, strict=False):
        if not _alike(one, other):
            message = f"it prints `{_short(other)}` instead of `{_short(one)}`"
            return Mismatch(kind="wrong_value", message=message, label="the output")
    return None


def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(map(float, _NUMBER.findall(one)), map(float, _NUMBER.findall(other)), strict=True)
    return all(a == b or math.isclose(a, b, rel_tol=_CLOSE) or (a != a and b != b) for a, b in pairs)


def _short(text: str) -> str:
    line = text.strip().replace("\n", " ")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."

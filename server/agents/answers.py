"""Answers within a budget of tokens: what does not fit is kept under a handle, and told on request.

Takes JSON objects, gives their text. What comes from programs stays inside of JSON strings, without characters that
could hide or turn other text, so that no name and no comment can pass for a field of an answer.
"""

from __future__ import annotations

import itertools
import json
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from hipscope.analysis.errors import UsageError

DEFAULT_TOKENS = 2000
FEWEST_TOKENS = 400
MOST_TOKENS = 20_000
_BYTES_PER_TOKEN = 3  # of JSON and code; fewer than models' tokenizers take on average
_HANDLES = 64
_KEPT_BYTES = 64 << 20
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_SHORT = 300  # characters of a name in a list
_WORD = 48  # bytes of a text that is never cut: an id, a verdict, a handle
_NOTE = 160  # bytes that the note of a cut field takes

Answer = dict[str, Any]


class Answers:
    """Writes answers, and keeps what was left out of the last ones."""

    def __init__(self) -> None:
        self._rests: OrderedDict[str, object] = OrderedDict()
        self._numbers = itertools.count(1)

    def text(self, answer: Mapping[str, Any], tokens: int = DEFAULT_TOKENS) -> str:
        """The JSON text of an answer, within the budget: its longest lists and texts are cut.

        Cut fields stand in `left_out` with the handle of the rest.
        """
        budget = min(max(tokens, FEWEST_TOKENS), MOST_TOKENS) * _BYTES_PER_TOKEN
        whole = _clean(answer)
        assert isinstance(whole, dict)
        left_out: Answer = {}
        while (size := _size(whole) + _NOTE) > budget:
            name = max(
                whole, key=lambda key: 0 if _is_short(whole[key]) or key == "left_out" else _size(whole[key])
            )
            value = whole[name]
            if _is_short(value):
                break
            if not isinstance(value, list | str) or not value:
                if not isinstance(value, dict) or not value:
                    break
                whole[name] = [[key, inner] for key, inner in value.items()]
                continue
            kept, rest = _split(value, max(0, _size(value) - (size - budget) - _NOTE))
            whole[name] = kept
            left_out[name] = self._note(rest, left_out.get(name))
            whole["left_out"] = left_out
        return _json(whole)

    def more(self, handle: str, tokens: int = DEFAULT_TOKENS) -> str:
        """The next part of what was left out under a handle. Raises UsageError for one that is not known."""
        if handle not in self._rests:
            raise UsageError(
                f"nothing is kept under {handle[:_SHORT]!r}",
                "handles end with the session, and the oldest are dropped",
            )
        budget = min(max(tokens, FEWEST_TOKENS), MOST_TOKENS) * _BYTES_PER_TOKEN - _NOTE
        rest = self._rests[handle]
        part, later = (rest, "") if _size(rest) <= budget else _split(rest, budget)
        if isinstance(part, list) and not part:  # one entry that is too long for an answer by itself
            assert isinstance(rest, list)
            rest = _json(rest[0]) if len(rest) == 1 else _json(rest)
            part, later = _split(rest, budget)
        told: Answer = {"part": part}
        if later:
            told["left_out"] = self._note(later, None)
        return _json(told)

    def _note(self, rest: object, earlier: Answer | None) -> Answer:
        if earlier is not None:  # cut again: the rest grows at its front
            old = self._rests.pop(earlier["handle"])
            rest = [*rest, *old] if isinstance(rest, list) and isinstance(old, list) else f"{rest}{old}"
        handle = f"rest-{next(self._numbers)}"
        self._rests[handle] = rest
        while len(self._rests) > 1 and (
            len(self._rests) > _HANDLES or sum(map(_size, self._rests.values())) > _KEPT_BYTES
        ):
            self._rests.popitem(last=False)
        counted = len(rest) if isinstance(rest, list | str) else 1
        return {"handle": handle, "items" if isinstance(rest, list) else "characters": counted}


def short(text: str) -> str:
    """A name that stands in a list, cut where it is very long."""
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."


def rounded(value: float | None, digits: int = 4) -> float | None:
    """A number with so many digits that count: the others cost tokens and say nothing."""
    return None if value is None else float(f"{value:.{digits}g}")


def _is_short(value: object) -> bool:
    return isinstance(value, str) and _size(value) <= _WORD


def _split(value: object, budget: int) -> tuple[Any, Any]:
    """The first part of a list or a text that fits into so many bytes, and the rest."""
    if isinstance(value, str):
        kept = value.encode("utf-8", "replace")[: max(0, budget)].decode("utf-8", "ignore")
        while kept and _size(kept) > budget:
            kept = kept[: len(kept) * budget // (_size(kept) + 1)]
        return kept, value[len(kept) :]
    assert isinstance(value, list)
    used = 2
    for number, item in enumerate(value):
        used += _size(item) + 1
        if used > budget:
            return value[:number], value[number:]
    return value, []


def _clean(value: object) -> object:
    if isinstance(value, str):
        return _visible(value)
    if isinstance(value, float):
        return rounded(value, 6)
    if isinstance(value, Mapping):
        return {_visible(str(key)): _clean(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    return value


def _visible(text: str) -> str:
    if text.isascii() and (text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()):
        return text
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in _HIDDEN else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def _size(value: object) -> int:
    return len(_json(value).encode("utf-8", "replace"))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

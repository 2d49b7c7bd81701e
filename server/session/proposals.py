"""Verified rewrites that the user has not decided on: kept for the session, so that none has to be made again.

A proposal is what one optimization verified, with the request that it answers. Nothing here speaks LSP.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.server.edit.workspace_edit import is_of_text
from hipscope.server.reports.schema.optimize import Optimization

KEPT = 8
"""Proposals that are kept, the oldest out first."""


@dataclass(frozen=True)
class Asked:
    """What an optimization was asked for: the project, the kernel's name and the formula.

    `passed_over` are the titles of the rewrites before it, in the order in which the user saw them.
    """

    key: Path
    kernel: str | None
    formula: str
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True)
class PendingRewrite:
    """A verified edit with its evidence; `uri` is the document that it was asked from."""

    id: str
    uri: str
    asked: Asked
    found: Optimization

    def following(self) -> Asked:
        """What is asked for the next candidate: another rewrite of the same kernel."""
        own = [a.title for a in self.found.attempts if a.outcome == "accepted"]
        kernel = self.asked.kernel or self.found.kernel
        return replace(self.asked, kernel=kernel, passed_over=(*self.asked.passed_over, *own[:1]))

    def fits(self, text: Callable[[str], str | None]) -> bool:
        """Whether each file of the edit still has the text that the edit was verified against."""
        parts = self.found.edit.parts if self.found.edit is not None else ()
        texts = ((part, text(part.file)) for part in parts)
        return bool(parts) and all(t is not None and is_of_text(part, t) for part, t in texts)


class Proposals:
    """The proposals of a session, newest last."""

    def __init__(self) -> None:
        self._kept: dict[str, PendingRewrite] = {}
        self._numbers = itertools.count(1)

    def add(self, uri: str, asked: Asked, found: Optimization) -> PendingRewrite:
        """Keep a verified optimization; one that answers the same request replaces the earlier."""
        for old in [p for p in self._kept.values() if p.asked == asked]:
            del self._kept[old.id]
        proposal = PendingRewrite(str(next(self._numbers)), uri, asked, found)
        self._kept[proposal.id] = proposal
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return proposal

    def get(self, identifier: str) -> PendingRewrite | None:
        """The proposal of that id, while it is kept."""
        return self._kept.get(identifier)

    def drop(self, identifier: str) -> PendingRewrite | None:
        """Forget a proposal; the one that was forgotten."""
        return self._kept.pop(identifier, None)

    def answering(self, asked: Asked, text: Callable[[str], str | None]) -> PendingRewrite | None:
        """The kept proposal that answers this request on the texts as they are now."""
        return next((p for p in self._kept.values() if p.asked == asked and p.fits(text)), None)

    def all(self) -> tuple[PendingRewrite, ...]:
        """The kept proposals, newest first."""
        return tuple(reversed(self._kept.values()))

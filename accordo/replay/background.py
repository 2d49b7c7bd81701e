"""Replays that run as one batch while the caller compares the first results.

Takes all requests for one candidate in the order in which their results will be asked for. What was begun ends with the
`with` block.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Self

from hipscope.accordo.replay.replay import Replay, ReplayRequest, ReplayTool, read_result, replay, replay_all
from hipscope.analysis.system.process import Stop

_LOOK_SECONDS = 0.005  # at first; what is not there soon takes longer
_MOST_SECONDS = 0.04


class BackgroundReplays:
    """The results of replays, each waited for when it is asked for.

    After the first replay that is not "ok" no more are begun, but for one under the sanitizers: how that ends is for
    others to judge. A tool that cannot make many at once makes each when it is asked for.
    """

    def __init__(
        self, tool: ReplayTool, requests: Sequence[ReplayRequest], cancel: threading.Event | None
    ) -> None:
        self._tool = tool
        self._stop = Stop(cancel)
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._all = self._pool.submit(self._make, requests) if tool.batches and requests else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()

    def result(self, request: ReplayRequest) -> Replay:
        """One of them. Raises ReplayBroken, Cancelled."""
        if self._all is None:
            return replay(self._tool, request, cancel=self._stop)
        pause = _LOOK_SECONDS
        while not self._all.done():
            found = read_result(
                request
            )  # it appears in one step, after everything else that the replay leaves
            if found is not None:
                return found
            wait([self._all], timeout=pause)
            pause = min(1.2 * pause, _MOST_SECONDS)
        found = self._all.result().get(id(request))
        # Left out: one that comes later in the list went wrong before this one was begun.
        return replay(self._tool, request, cancel=self._stop) if found is None else found

    def _make(self, requests: Sequence[ReplayRequest]) -> dict[int, Replay]:
        groups = replay_all(self._tool, [[r] for r in requests], stop=True, cancel=self._stop)
        return {id(request): runs[0] for request, runs in zip(requests, groups, strict=True) if runs}

"""Where the time of a run went: what the analysis gives, and a part of `hipscope.profile/2`.

Times are whole nanoseconds, shares are 0..1.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuTime:
    """One GPU over the wall time. `busy_ns`: any launch runs; `copies_ns`: any copy to or from it does.

    `idle_ns`: neither does. `concurrent_ns`: two launches or more run, at most `most_at_once`.
    """

    gpu: str
    launches: int
    busy_ns: int
    busy_share: float
    copies: int
    copies_ns: int
    copies_alone_ns: int
    idle_ns: int
    concurrent_ns: int
    most_at_once: int


@dataclass(frozen=True, slots=True)
class Lane:
    """Launches of a queue and stream, or copies of one direction; `strip`: its busy share in equal parts of the time.

    `what`: `launches`, or what the copies do. `queue` and `stream` are None where they were not recorded.
    """

    gpu: str
    queue: int | None
    stream: int | None
    what: str
    items: int
    busy_ns: int
    strip: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class HostDoing:
    """An API call of the host, or `outside of calls`, and the time that it took meanwhile."""

    what: str
    time_ns: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A GPU without launch and copy from `at_ns` after the first launch or copy; `before` and `after` it ran these."""

    gpu: str
    at_ns: int
    time_ns: int
    before: str
    after: str
    host: tuple[HostDoing, ...]


@dataclass(frozen=True, slots=True)
class KernelPath:
    """A kernel's launches on the longest path, and the least time by which one could end later without a longer one."""

    kernel: str
    on_path_ns: int
    launches_on_path: int
    least_slack_ns: int


@dataclass(frozen=True, slots=True)
class LongestPath:
    """The longest chain of recorded dependences, by what it is spent with. `host`: calls of the host are part of it."""

    time_ns: int
    launches_ns: int
    copies_ns: int
    calls_ns: int
    own_code_ns: int
    latency_ns: int
    host: bool
    kernels: tuple[KernelPath, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where the time went between the first start and the last end of launches and copies, all measured.

    `host`: what the host did while no GPU had work; empty where API calls were not recorded. `limit`: what the time of
    the run hangs on (`gpu`, `host`, `launching`, `copies`); `near`: what it may be within 5 %; `why`: the numbers.
    """

    wall_ns: int
    gpus: tuple[GpuTime, ...]
    lanes: tuple[Lane, ...]
    more_lanes: int
    gaps: tuple[Gap, ...]
    host: tuple[HostDoing, ...]
    path: LongestPath | None
    notes: tuple[str, ...]
    limit: str
    near: tuple[str, ...]
    why: str

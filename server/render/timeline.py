"""Where the time of a run went, in a terminal: the busy share first, then a drawing, gaps and the longest path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.timeline.records import GpuTime, HostDoing, Lane, LongestPath, Timeline
from hipscope.server.render.words import duration, percent, plural

_MOST_LANES = 6
_MOST_GAPS = 3
_MOST_KERNELS = 3
_SMALL = 0.01  # of the wall time, or of the path: what is below is not told
_LIMITS = {
    "gpu": "The run is bound by its kernels",
    "host": "The run is bound by the host",
    "launching": "The run is bound by launching",
    "copies": "The run is bound by copies",
}
_NEAR = {"gpu": "its kernels", "host": "the host", "unknown": "nothing by itself"}
_TENTH = 0.1
_LEVELS = " ▁▂▃▄▅▆▇█"
_WORDS = 50  # columns of a line of the timeline that are not the drawing
_SHORTEST, _WIDEST = 20, 60


def render_timeline(found: Timeline, console: Console) -> None:
    """Print it; a few lines."""
    console.print(Text("\nTime:", "bold"))
    for gpu in found.gpus:
        console.print(Text(f"  {_gpu(gpu, found.wall_ns)}"))
    if found.limit in _LIMITS:
        near = f"; within 5 % {' or '.join(_NEAR.get(n, n) for n in found.near)}" if found.near else ""
        console.print(Text(f"  {_LIMITS[found.limit]} ({found.why}{near})"))
    _print_lanes(found, console)
    if found.host:
        console.print(Text(f"  While no GPU had work, the host was in {_doings(found.host)}.", "dim"))
    for gap in [g for g in found.gaps if g.time_ns >= _SMALL * found.wall_ns][:_MOST_GAPS]:
        where = f" on {gap.gpu}" if len(found.gpus) > 1 else ""
        host = f": the host was in {_doings(gap.host)}" if gap.host else ""
        words = (
            f"  gap of {duration(gap.time_ns)} at {duration(gap.at_ns)}{where}, after {_short(gap.before)}, "
        )
        console.print(Text(f"{words}before {_short(gap.after)}{host}", "dim"))
    if found.path is not None:
        for line in _path(found.path, found.wall_ns):
            console.print(Text(f"  {line}", "dim"))
    for note in found.notes:
        console.print(Text(f"  note: {note}", "dim"))


def _gpu(gpu: GpuTime, wall_ns: int) -> str:
    """How busy one GPU was: `Agent 4 was busy 37 % of 12.4 ms ...`."""
    busy = f"{_gpu_name(gpu.gpu)} was busy {percent(gpu.busy_share)} of {duration(wall_ns)}"
    parts = [f"{busy}: {duration(gpu.busy_ns)} in {plural(gpu.launches, 'launch', 'launches')}"]
    if gpu.concurrent_ns:
        parts.append(f"up to {gpu.most_at_once} at once, {duration(gpu.concurrent_ns)} with two or more")
    if gpu.copies:
        alone = f", {duration(gpu.copies_alone_ns)} of it alone" if gpu.copies_alone_ns else ""
        parts.append(f"{duration(gpu.copies_ns)} in {plural(gpu.copies, 'copy', 'copies')}{alone}")
    parts.append(f"idle {duration(gpu.idle_ns)}")
    return "; ".join(parts)


def _gpu_name(name: str) -> str:
    """`Agent 4` as it is, `2` as `GPU 2`."""
    return f"GPU {name}" if name.isdigit() else name or "the GPU"


def _print_lanes(found: Timeline, console: Console) -> None:
    lanes = found.lanes[:_MOST_LANES]
    names = [_lane(lane, lanes) for lane in lanes]
    width = max(map(len, names), default=0)
    room = max(_SHORTEST, min(_WIDEST, console.width - _WORDS))
    for lane, name in zip(lanes, names, strict=True):
        drawn = Text(strip(lane.strip, room), "cyan" if lane.what == "launches" else "magenta")
        items = f"{lane.items} {'launches' if lane.what == 'launches' else 'copies'}"
        if lane.items == 1:
            items = f"1 {'launch' if lane.what == 'launches' else 'copy'}"
        line = Text(f"  {name.ljust(width)} ▕") + drawn + Text(f"▏ {duration(lane.busy_ns)}, {items}", "dim")
        console.print(line, no_wrap=True, overflow="ellipsis")
    left = found.more_lanes + len(found.lanes) - len(lanes)
    if left:
        console.print(Text(f"  and {plural(left, 'queue', 'queues')} with less: --format json", "dim"))


def strip(shares: Sequence[float], width: int) -> str:
    """Busy shares of equal parts of the time in at most `width` columns, each as high as its share."""
    cells = min(width, len(shares))
    found = []
    for cell in range(cells):
        part = shares[cell * len(shares) // cells : (cell + 1) * len(shares) // cells]
        share = sum(part) / len(part)
        found.append(_LEVELS[max(1, round(share * 8))] if share > 0 else _LEVELS[0])
    return "".join(found)


def _lane(lane: Lane, lanes: Sequence[Lane]) -> str:
    """What tells a lane from the others that are drawn."""
    parts = [lane.gpu] if len({other.gpu for other in lanes}) > 1 and lane.gpu else []
    if lane.what != "launches":
        parts.append(lane.what)
    elif lane.queue is not None:
        parts.append(f"queue {lane.queue}")
    if lane.stream is not None:
        parts.append(f"stream {lane.stream}")
    return " ".join(parts) or lane.what


def _doings(host: Sequence[HostDoing]) -> str:
    return ", ".join(f"{_in(doing.what)} {duration(doing.time_ns)}" for doing in host)


def _in(what: str) -> str:
    return "its own code" if what == "outside of calls" else what


def _path(path: LongestPath, wall_ns: int) -> Iterator[str]:
    parts = (
        ("launches", path.launches_ns),
        ("copies", path.copies_ns),
        ("calls of the host", path.calls_ns),
        ("its own code", path.own_code_ns),
        ("waiting for a launch to begin", path.latency_ns),
    )
    told = [f"{percent(time / path.time_ns)} {what}" for what, time in parts if time >= _SMALL * path.time_ns]
    host = "" if path.host else ", without the host: no call is recorded with what it launched"
    yield f"longest path: {duration(path.time_ns)} ({', '.join(told)}){host}"
    on_it = [k for k in path.kernels if k.launches_on_path and k.on_path_ns >= _SMALL * path.time_ns]
    if on_it:
        words = [f"{_short(k.kernel)} {duration(k.on_path_ns)}" for k in on_it[:_MOST_KERNELS]]
        gain = percent(_TENTH * on_it[0].on_path_ns / path.time_ns)
        yield f"on it: {', '.join(words)}; 10 % off {_short(on_it[0].kernel)} gives the run at most {gain}"
    spare = [k for k in path.kernels if not k.launches_on_path and k.least_slack_ns >= _SMALL * wall_ns]
    if spare:
        words = [f"{_short(k.kernel)} {duration(k.least_slack_ns)}" for k in spare[:_MOST_KERNELS]]
        yield f"not on it, with slack: {', '.join(words)}"


def _short(name: str) -> str:
    """The identifier of a kernel, or what a copy does."""
    return name if name.startswith("copy") and "(" not in name else base_name(name)

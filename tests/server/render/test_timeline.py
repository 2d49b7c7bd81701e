"""The timeline in a terminal."""

import io

from rich.console import Console

from hipscope.analysis.timeline.records import (
    Gap,
    GpuTime,
    HostDoing,
    KernelPath,
    Lane,
    LongestPath,
    Timeline,
)
from hipscope.server.render.timeline import render_timeline, strip

MS = 1_000_000
FOUND = Timeline(
    wall_ns=10 * MS,
    gpus=(GpuTime("Agent 4", 3, 4 * MS, 0.4, 1, 2 * MS, MS, 5 * MS, MS, 2),),
    lanes=(
        Lane("Agent 4", 1, 2, "launches", 3, 4 * MS, (1.0,) * 24 + (0.0,) * 36),
        Lane("Agent 4", None, 2, "copy host to device", 1, 2 * MS, (0.0,) * 30 + (0.5,) * 24 + (0.0,) * 6),
    ),
    more_lanes=0,
    gaps=(Gap("Agent 4", 4 * MS, 3 * MS, "scale(float*)", "copy host to device", (HostDoing("hipMalloc", 2 * MS),)),),
    host=(HostDoing("hipMalloc", 2 * MS), HostDoing("outside of calls", MS)),
    path=LongestPath(
        8 * MS, 4 * MS, 2 * MS, MS, MS, 0, True,
        (KernelPath("scale(float*)", 4 * MS, 3, 0), KernelPath("aside()", 0, 0, 7 * MS)),
    ),
    notes=("something",),
    limit="host",
    near=("gpu",),
    why="the GPU is idle 50 % of the wall time, threshold 40 %",
)  # fmt: skip


def lines(width: int = 100) -> list[str]:
    stream = io.StringIO()
    render_timeline(FOUND, Console(file=stream, width=width))
    return stream.getvalue().splitlines()


def test_the_busy_share_comes_first_and_the_rest_in_a_few_lines() -> None:
    told = " ".join(line.strip() for line in lines()).strip()
    assert told.startswith("Time: Agent 4 was busy 40 % of 10.0 ms: 4.00 ms in 3 launches; up to 2 at once, ")
    assert "2.00 ms in 1 copy, 1.00 ms of it alone; idle 5.00 ms" in told
    assert "The run is bound by the host (the GPU is idle 50 % of the wall time, threshold 40 %; " in told
    assert "within 5 % its kernels)" in told
    assert "While no GPU had work, the host was in hipMalloc 2.00 ms, its own code 1.00 ms." in told
    assert (
        "gap of 3.00 ms at 4.00 ms, after scale, before copy host to device: the host was in hipMalloc"
        in told
    )
    assert (
        "longest path: 8.00 ms (50 % launches, 25 % copies, 12 % calls of the host, 12 % its own code)"
        in told
    )
    assert "on it: scale 4.00 ms; 10 % off scale gives the run at most 5.0 %" in told
    assert "not on it, with slack: aside 7.00 ms" in told
    assert told.endswith("note: something")


def test_each_lane_is_drawn_as_high_as_it_is_busy() -> None:
    drawn = [line for line in lines(120) if "▕" in line]
    assert drawn[0].strip().startswith("queue 1 stream 2")
    assert "▕████████████████████████                                    ▏ 4.00 ms, 3 launches" in drawn[0]
    assert f"copy host to device stream 2 ▕{' ' * 30}▄▄▄▄" in drawn[1]
    assert all(len(line) <= 40 for line in lines(40))


def test_a_short_burst_is_seen() -> None:
    assert strip((0.001, 0.0, 1.0), 3) == "▁ █"

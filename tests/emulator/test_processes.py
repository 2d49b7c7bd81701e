"""What several processes of a program recorded becomes one folder."""

from __future__ import annotations

import json
import time
from pathlib import Path

from hipscope.emulator.processes import join_processes
from hipscope.emulator.raw import LaunchesRead, read_dispatches, read_faults, read_profile, read_run


def recorded(folder: Path, kernel: str, launches: int, *, refused: bool = False, cut: bool = False) -> None:
    """One process's folder with profiled launches of one kernel, and perhaps one that was refused after them."""
    (folder / "code_objects").mkdir(parents=True)
    (folder / "code_objects" / f"{kernel}.co").write_bytes(b"ELF")
    lines = ""
    for number in range(1, launches + 1):
        row = {
            "id": number,
            "kernel": kernel,
            "code_object": kernel,
            "grid": [1, 1, 1],
            "workgroup": [1, 1, 1],
        }
        lines += json.dumps(row) + "\n"
        row = {"id": number, "instructions": [], "waves": []}
        (folder / f"profile_{number}.json").write_text(json.dumps(row))
    (folder / "dispatches.jsonl").write_text(lines + '{"id": 99, "ker' * cut)
    if refused:
        fault = {"dispatch": launches + 1, "kernel": kernel, "kind": "launch", "message": "refused"}
        (folder / "faults.jsonl").write_text(json.dumps(fault) + "\n")
    counts = {"kernels_seen": 1, "dispatches": launches, "profiled": launches, "partial": None}
    (folder / "run.json").write_text(json.dumps(counts))


def test_launches_are_numbered_on_and_refused_ones_keep_their_number(tmp_path: Path) -> None:
    recorded(tmp_path, "a", 2, refused=True)
    recorded(tmp_path / "process-2", "b", 1, refused=True)
    recorded(tmp_path / "process-10", "c", 1)
    join_processes(tmp_path)
    assert [(d.id, d.kernel) for d in read_dispatches(tmp_path)] == [(1, "a"), (2, "a"), (4, "b"), (6, "c")]
    assert [(f.dispatch, f.kernel) for f in read_faults(tmp_path)] == [(3, "a"), (5, "b")]
    assert all(read_profile(tmp_path, number) for number in (1, 2, 4, 6))
    assert sorted(path.name for path in (tmp_path / "code_objects").iterdir()) == ["a.co", "b.co", "c.co"]
    assert not list(tmp_path.glob("process-*"))
    run = read_run(tmp_path)
    assert run is not None
    assert (run.dispatches, run.profiled) == (4, 4)


def test_a_line_that_a_killed_process_has_begun_hides_nothing_of_the_others(tmp_path: Path) -> None:
    recorded(tmp_path, "a", 1, cut=True)
    recorded(tmp_path / "process-2", "b", 2, cut=True)
    join_processes(tmp_path)
    assert [(d.id, d.kernel) for d in read_dispatches(tmp_path)] == [(1, "a"), (2, "b"), (3, "b")]


def test_launches_are_read_while_they_are_made_and_none_is_lost_or_cut(tmp_path: Path) -> None:
    recorded(tmp_path / "all", "a", 4)
    first, second, third, fourth = (tmp_path / "all" / "dispatches.jsonl").read_text().splitlines(True)
    file = tmp_path / "dispatches.jsonl"
    with LaunchesRead(tmp_path) as ended:
        file.write_text(first + second[:20])
        deadline = time.monotonic() + 20
        while ended.read == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert ended.read == 1
        with file.open("a") as stream:
            stream.write(second[20:] + third + fourth[:20])
    assert [d.id for d in ended.rest()] == [1, 2, 3]
    assert ended.rest() == list(read_dispatches(tmp_path))

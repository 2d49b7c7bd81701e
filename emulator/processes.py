"""One raw output folder out of those of a program's processes (MPI ranks, children, one program after the other).

The first process writes into the folder itself, each further one into `process-2`, `process-3`, ... there. Afterwards
all of it looks as if one process had done it: numbers of launches go on from process to process.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hipscope.emulator.raw import LIBRARY_CALLS
from hipscope.emulator.sanitize import SANITIZE_FILE

_FOLDER = "process-*"


def join_processes(raw: Path) -> None:
    """Bring what further processes recorded into `raw`."""
    folders = sorted(raw.glob(_FOLDER), key=lambda folder: int(folder.name.rpartition("-")[2]))
    if not folders:
        return
    for name in ("dispatches.jsonl", "faults.jsonl"):
        _drop_cut_line(raw / name)
    last = _highest(raw)
    for folder in folders:
        last = _join(raw, folder, last)
        shutil.rmtree(folder)


def _join(raw: Path, folder: Path, before: int) -> int:
    """Add one process's folder, its launches numbered from `before` + 1 on; gives the highest number."""
    highest = before + _highest(folder)

    def launch(row: dict[str, Any]) -> dict[str, Any]:
        number = int(row["id"])
        profile = folder / f"profile_{number}.json"
        if profile.exists():
            data = json.loads(profile.read_text(encoding="utf-8"))
            (raw / f"profile_{before + number}.json").write_text(json.dumps({**data, "id": before + number}))
        return {**row, "id": before + number}

    def of_launch(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "dispatch": before + int(row["dispatch"])}

    (raw / "code_objects").mkdir(exist_ok=True)
    for code in (folder / "code_objects").glob("*"):
        code.replace(raw / "code_objects" / code.name)
    _add_rows(folder / "dispatches.jsonl", raw / "dispatches.jsonl", launch)
    _add_rows(folder / "faults.jsonl", raw / "faults.jsonl", of_launch)
    _add_run(folder / "run.json", raw / "run.json")
    _add_counts(folder / LIBRARY_CALLS, raw / LIBRARY_CALLS)
    _add_reports(folder / SANITIZE_FILE, raw / SANITIZE_FILE, of_launch)
    for name in ("effects", "copies"):  # each process's own: their order among each other is by chance
        if (folder / name).exists():
            (folder / name).replace(raw / f"{name}{folder.name.removeprefix('process')}")
    lost = folder / "lost"
    if lost.exists() and lost.read_text(encoding="utf-8", errors="replace").strip():
        lost.replace(raw / "lost")
    return highest


def _highest(folder: Path) -> int:
    """The highest number of a launch, those that were refused included."""
    launched = (int(row["id"]) for row in _rows(folder / "dispatches.jsonl"))
    failed = (int(row["dispatch"]) for row in _rows(folder / "faults.jsonl"))
    return max((*launched, *failed), default=0)


def _drop_cut_line(path: Path) -> None:
    """What a killed process has begun to write: nothing may be put behind it."""
    if path.exists():
        data = path.read_bytes()
        if not data.endswith(b"\n"):
            path.write_bytes(data[: data.rfind(b"\n") + 1])


def _add_rows(source: Path, target: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    rows = [json.dumps(change(row)) + "\n" for row in _rows(source)]
    if rows:
        with target.open("a", encoding="utf-8") as file:
            file.writelines(rows)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a file; the last one of a killed process may be cut."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def _whole(path: Path) -> dict[str, Any] | None:
    """A file that is one object; None when there is none."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return data


def _add_run(source: Path, target: Path) -> None:
    """Sum what processes count. Either file is missing when its process was killed early."""
    own, other = _whole(target), _whole(source)
    if other is None:
        return
    if own is not None:
        other = {
            **own,
            **{name: own[name] + other[name] for name in ("dispatches", "profiled")},
            "kernels_seen": max(own["kernels_seen"], other["kernels_seen"]),
            "partial": own["partial"] or other["partial"],
            "warnings": list(dict.fromkeys([*own.get("warnings", ()), *other.get("warnings", ())])),
        }
    target.write_text(json.dumps(other), encoding="utf-8")


def _add_counts(source: Path, target: Path) -> None:
    other = _whole(source)
    if other is not None:
        target.write_text(json.dumps(Counter(_whole(target) or {}) + Counter(other)), encoding="utf-8")


def _add_reports(source: Path, target: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Sum what the sanitizers of processes found."""
    own, other = _whole(target), _whole(source)
    if other is None:
        return
    reports = [change(row) for row in other["reports"]]
    if own is not None:
        other = {**own, **{name: own[name] + other[name] for name in ("dispatches", "left_out")}}
        reports = own["reports"] + reports
    target.write_text(json.dumps({**other, "reports": reports}), encoding="utf-8")

"""A sweep: the same frame for any number of workers, a killed worker loses one task, a rerun does nothing twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hipscope.analysis.errors import UsageError
from hipscope.server.sweep import tasks as work
from hipscope.server.sweep.specification import SweepTask, read_tasks
from tests.server.command_line import Cli
from tests.server.sweep.work import count

PROGRAM = """\
#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void scale(float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 1.5f;
}
int main(int, char** words) {
  int n = std::atoi(words[1]);
  float* p;
  if (n < 0) return 3;
  (void)hipMalloc(&p, n * 4);
  scale<<<(n + 255) / 256, 256>>>(p, n);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
"""


def tasks_of(folder: Path, *arguments: str) -> list[SweepTask]:
    return [SweepTask(str(folder), (word,), None, None, None, "emulator") for word in arguments]


def swept(folder: Path, tasks: list[SweepTask], workers: int) -> tuple[object, list[str]]:
    """The frame as text, and what was done how often."""
    pytest.importorskip("distributed")
    from hipscope.server.sweep import cluster

    told: list[tuple[int, int]] = []
    rows = cluster.sweep(tasks, workers, None, lambda number, of: told.append((number, of)), count)
    assert told[-1] == (len(tasks), len(tasks))
    done = sorted(p.name.partition(".")[0] for p in folder.iterdir() if "." in p.name)
    return cluster.frame(rows).to_json(), done


@pytest.mark.slow
def test_200_tasks_give_the_same_frame_on_1_and_2_workers_and_a_killed_one_loses_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = [*(str(n) for n in range(198)), "die", "fail"]
    frames = []
    for workers in (1, 2):
        folder = tmp_path / str(workers) / "p"
        folder.mkdir(parents=True)
        frame, done = swept(folder, tasks_of(folder, *words), workers)
        frames.append(str(frame))
        assert done == sorted(words[:-1])  # each once: the one that died was done by another worker
    assert frames[0] == frames[1]
    assert "ValueError: always" in frames[0]


def test_a_specification_is_the_product_of_its_lists(tmp_path: Path) -> None:
    (tmp_path / "a.hip").touch()
    spec = tmp_path / "spec.toml"
    spec.write_text('programs = ["a.hip"]\ninputs = [["1"], ["2"]]\ndevices = ["mi300x", "mi210"]\n')
    tasks = read_tasks(spec)
    assert [(t.arguments, t.device) for t in tasks] == [
        (("1",), "mi300x"), (("1",), "mi210"), (("2",), "mi300x"), (("2",), "mi210"),
    ]  # fmt: skip
    assert len({t.key for t in tasks}) == 4
    assert {t.program for t in tasks} == {str(tmp_path / "a.hip")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("programs = []", "at least 1"),
        ('programs = ["b.hip"]', "is not there"),
        ('programs = ["a.hip"]\ninput = []', "input"),
        ("programs = [", "not valid TOML"),
        (
            f'programs = ["a.hip"]\ninputs = {json.dumps([[str(n)] for n in range(100_001)])}',
            "several sweeps",
        ),
    ],
)
def test_a_wrong_specification_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.hip").touch()
    (tmp_path / "spec.toml").write_text(text)
    with pytest.raises(UsageError, match=words):
        read_tasks(tmp_path / "spec.toml")


def test_a_task_is_done_once_until_what_it_read_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builds: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(builds))
    file = tmp_path / "scale.hip"
    file.write_text(PROGRAM)
    task = SweepTask(str(file), ("512",), "mi300x", None, None, "emulator")
    (row,) = work.do_task(task)
    assert (row["kernel"], row["provenance"], row["device"]) == ("scale", "modelled", "mi300x")
    asked: list[SweepTask] = []
    again = work._profiled

    def counted(task: SweepTask) -> tuple[dict[str, str], list[work.Row]]:
        asked.append(task)
        return again(task)

    monkeypatch.setattr(work, "_profiled", counted)
    assert work.do_task(task) == [row]
    assert asked == []
    file.write_text(PROGRAM.replace("1.5f", "2.5f"))
    assert [r["kernel"] for r in work.do_task(task)] == ["scale"]
    assert len(asked) == 1


@pytest.mark.slow
def test_a_sweep_writes_its_rows_and_names_what_failed(cli: Cli) -> None:
    pytest.importorskip("distributed")
    cli.write(PROGRAM, "scale.hip")
    cli.write('programs = ["scale.hip"]\ninputs = [["512"], ["-1"]]\ndevices = ["mi300x"]\n', "spec.toml")
    done = cli("sweep", "spec.toml", "--workers", "1", "-o", "rows.json")
    assert done.code == 4, done.stderr
    assert "1 of 2 tasks failed" in done.stderr
    rows = json.loads((cli.folder / "rows.json").read_text())
    assert [(r["arguments"], r["kernel"], r["error"] is None) for r in rows] == [
        ("512", "scale", True), ("-1", None, False),
    ]  # fmt: skip
    assert "no form" in cli("sweep", "spec.toml", "-o", "rows.txt").line

"""A sweep: the same frame for any number of workers, a killed worker loses one task, a rerun does nothing twice."""

from __future__ import annotations

import csv
import importlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.analysis.errors import UsageError
from hipscope.server.sweep import cluster
from hipscope.server.sweep import tasks as work
from hipscope.server.sweep.blobs import Blob
from hipscope.server.sweep.cluster import Where
from hipscope.server.sweep.specification import Sweep, SweepTask, read_sweep
from tests.server.command_line import Cli
from tests.server.sweep.work import cores, count, read

Do = Callable[[SweepTask, Blob | None], list[work.Row]]
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


def swept(tasks: list[SweepTask], where: Where, do: Do = count) -> str:
    """The frame as text."""
    told: list[tuple[int, int]] = []
    asked = Sweep(tuple(tasks), None)
    rows = cluster.sweep(asked, where, lambda number, of: told.append((number, of)), lambda _: None, do)
    assert told[-1] == (len(tasks), len(tasks))
    return str(cluster.frame(rows).to_json())


def done_in(folder: Path) -> list[str]:
    """What was done, as often as it was."""
    return sorted(p.name.partition(".")[0] for p in folder.iterdir() if "." in p.name)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.slow
def test_200_tasks_give_the_same_frame_on_1_and_2_workers_and_a_killed_one_loses_a_task(
    tmp_path: Path,
) -> None:
    words = [*(str(n) for n in range(198)), "die", "fail"]
    frames = []
    for workers in (1, 2):
        folder = tmp_path / str(workers) / "p"
        folder.mkdir(parents=True)
        frames.append(swept(tasks_of(folder, *words), Where(workers)))
        assert done_in(folder) == sorted(
            words[:-1]
        )  # each once: the one that died was done by another worker
    assert frames[0] == frames[1]
    assert "ValueError: always" in frames[0]


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "each"), [(1, 6), (2, 3), (4, 1)])
def test_workers_share_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, each: int
) -> None:
    monkeypatch.setenv("HIPSCOPE_THREADS", "6")
    asked = Sweep(tuple(tasks_of(tmp_path, "1", "2")), None)
    rows = cluster.sweep(asked, Where(workers), lambda *_: None, lambda _: None, cores)
    assert [row["vgprs"] for row in rows] == [each, each]


@pytest.mark.slow
def test_a_task_whose_workers_are_killed_five_times_is_done(tmp_path: Path) -> None:
    (folder := tmp_path / "p").mkdir()
    assert '"error":{"0":null,"1":null}' in swept(tasks_of(folder, "die often", "1"), Where(1))
    assert done_in(folder) == ["1", "die often"]


@pytest.mark.slow
def test_a_worker_that_dask_gave_up_is_replaced(tmp_path: Path) -> None:
    """As on a machine with too much to do, where no worker is back in time after one was killed."""
    dask = importlib.import_module("dask")
    (folder := tmp_path / "p").mkdir()
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}):
        swept(tasks_of(folder, "die", "1"), Where(1))
    assert done_in(folder) == ["1", "die"]


@pytest.mark.slow
def test_a_cluster_that_is_there_gets_the_files_of_the_programs(tmp_path: Path) -> None:
    distributed = importlib.import_module("distributed")
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.hip").write_text("one")
    spec = tmp_path / "spec.toml"
    spec.write_text('programs = ["home/a.hip"]\nfolder = "home"\n')
    said: list[str] = []
    with distributed.LocalCluster(
        n_workers=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    ) as there:
        where = Where(scheduler=there.scheduler_address)
        for text in ("one", "two"):
            (home / "a.hip").write_text(text)
            asked = read_sweep(spec)
            shutil.move(home, tmp_path / "away")  # as on another machine
            (tmp_path / "away").rename(home)
            rows = cluster.sweep(asked, where, lambda *_: None, said.append, read)
            assert [row["program"] for row in rows] == [text]
    assert said[0].startswith("progress: http://127.0.0.1:")
    spec.write_text('programs = ["spec.toml"]\nfolder = "home"\n')
    with pytest.raises(UsageError, match="is not in"):
        read_sweep(spec)


@pytest.mark.slow
def test_jobs_of_slurm_do_the_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sbatch` and `scancel` are scripts that run the job here and end it."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "sbatch").write_text(f"""#!/bin/sh
eval script=\\${{$#}}
cp "$script" {tmp_path}/job.sh
setsid sh {tmp_path}/job.sh >{tmp_path}/job.out 2>&1 </dev/null &
echo "Submitted batch job $!"
""")
    (tools / "scancel").write_text('#!/bin/sh\nkill -- "-$1"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    dask = importlib.import_module("dask")
    (folder := tmp_path / "p").mkdir()
    with dask.config.set({"jobqueue.slurm.cores": 1, "jobqueue.slurm.memory": "1GB"}):
        frame = swept(tasks_of(folder, "1", "2"), Where(slurm=1))
    assert done_in(folder) == ["1", "2"]
    assert '"arguments":{"0":"1","1":"2"}' in frame
    assert "#SBATCH" in (tmp_path / "job.sh").read_text()
    assert not list((tmp_path / "state").rglob("*.pem")), "keys are gone with the jobs"


def test_a_specification_is_the_product_of_its_lists(tmp_path: Path) -> None:
    (tmp_path / "a.hip").touch()
    spec = tmp_path / "spec.toml"
    spec.write_text('programs = ["a.hip"]\ninputs = [["1"], ["2"]]\ndevices = ["mi300x", "mi210"]\n')
    tasks = read_sweep(spec).tasks
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
        read_sweep(tmp_path / "spec.toml")


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
    cli.write(PROGRAM, "scale.hip")
    cli.write('programs = ["scale.hip"]\ninputs = [["512"], ["-1"]]\ndevices = ["mi300x"]\n', "spec.toml")
    done = cli("sweep", "spec.toml", "--workers", "1", "-o", "rows.csv")
    assert done.code == 4, done.stderr
    assert "1 of 2 tasks failed" in done.stderr
    with (cli.folder / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["arguments"], r["kernel"], r["error"] == "") for r in rows] == [
        ("512", "scale", True), ("-1", "", False),
    ]  # fmt: skip
    assert "three ways" in cli("sweep", "spec.toml", "--workers", "1", "--slurm", "1").line
    assert "no dask scheduler" in cli("sweep", "spec.toml", "--scheduler", "tcp://127.0.0.1:1").line
    assert "not a table" in cli("sweep", "spec.toml", "-o", "rows.txt").line

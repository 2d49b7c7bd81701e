"""The script of docs/ci.md, exactly as the page has it, on three programs and commits with planted slow-downs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "ci.md"
PROGRAMS = [f"chain_{number}.hip" for number in range(3)]
# A chain of operations that wait for each other: the modelled time is that of the rounds.
PROGRAM = """#include <hip/hip_runtime.h>
__global__ void chain(float* data, int rounds) {{
  float x = data[threadIdx.x];
  for (int i = 0; i < rounds; ++i) x = x * 0.5f + {number}.0f;
  data[threadIdx.x] = x;
}}
int main() {{
  float* data;
  if (hipMalloc(&data, 256) != hipSuccess) return 1;
  chain<<<1, 64>>>(data, {rounds});
  return hipDeviceSynchronize() == hipSuccess ? 0 : 2;
}}
"""


def script() -> str:
    (text,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(text)


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    return subprocess.run(
        ["git", "-C", folder, *identity, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def commit(folder: Path, rounds: dict[str, int]) -> str:
    for number, name in enumerate(PROGRAMS):
        (folder / name).write_text(PROGRAM.format(number=number, rounds=rounds.get(name, 4000)))
    git(folder, "add", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "programs")
    return git(folder, "rev-parse", "HEAD")


def test_the_script_is_short() -> None:
    assert len(script().splitlines()) <= 12


@pytest.mark.slow
def test_a_loop_of_eleven_per_cent_more_steps_fails_and_one_of_eight_does_not(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    base = commit(project, {})
    slower = commit(project, {"chain_2.hip": 4440})
    within = commit(project, {"chain_2.hip": 4320})
    (tmp_path / "slower.sh").write_text(script())
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
    }

    def compare(before: str, after: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", tmp_path / "slower.sh", before, after, *PROGRAMS],
            cwd=project, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    failed = compare(base, slower)
    assert failed.returncode == 5, failed.stderr
    limits = [line for line in failed.stdout.splitlines() if line.startswith("limit")]
    assert limits == ["limit time>10%: chain_2.hip: chain takes 10.6% more time"]
    passed = compare(base, within)
    assert (passed.returncode, passed.stderr) == (0, "")
    assert git(project, "worktree", "list").count("\n") == 0

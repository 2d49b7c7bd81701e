"""action.yml: its scripts as a runner starts them, one after the other, on a repository with a base and a head."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server.ci.stand_in import TOKEN, Hub, checkout_with_remote, commit, git, hub_running

ROOT = Path(__file__).parents[3]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
PROGRAM = """\
#include <hip/hip_runtime.h>
#include <cstring>
extern char** environ;
__global__ void scale(float* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = p[i];
  for (int n = 0; n < STEPS; n++) v = v * 1.5f + 1.0f;
  p[i] = v;
}
int main() {
  for (char** e = environ; *e; e++)
    if (strstr(*e, "ghs_") || strstr(*e, "GITHUB_ENV=") || strstr(*e, "GITHUB_PATH=")) return 3;
  float* p;
  (void)hipMalloc(&p, 4096 * 4);
  scale<<<16, 256>>>(p);
  return hipDeviceSynchronize() == hipSuccess ? CODE : 1;
}
"""


def program(steps: int, code: int = 0) -> str:
    return PROGRAM.replace("STEPS", str(steps)).replace("CODE", str(code))


@dataclass(frozen=True)
class Runner:
    """Starts the scripts of the action's steps in a checkout, with the variables of a workflow."""

    work: Path
    environment: dict[str, str]
    inputs: dict[str, str]

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        (step,) = [s for s in ACTION["runs"]["steps"] if s["name"] == name]
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        values = {key: row["default"] for key, row in ACTION["inputs"].items()} | self.inputs

        def filled(text: str) -> str:
            return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: values[found[1]], text)

        given = {key: filled(text) for key, text in step.get("env", {}).items()}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.work, env={**self.environment, **given}, capture_output=True, text=True, check=False,
        )  # fmt: skip


def runner(folder: Path, builds: Path, hub: Hub, work: Path, base: str, **inputs: str) -> Runner:
    repository = {"full_name": "owner/project"}
    event = {
        "pull_request": {"number": 3, "base": {"sha": base}, "head": {"ref": "main", "repo": repository}}
    }
    (folder / "event.json").write_text(json.dumps(event))
    variables = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder / "nothing"),
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_REPOSITORY": "owner/project",
        "GITHUB_API_URL": hub.address,
        "GITHUB_WORKSPACE": str(work),
        "GITHUB_ENV": str(folder / "env"),
        "GITHUB_PATH": str(folder / "path"),
        "GITHUB_TOKEN": TOKEN,
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(builds),
    }
    return Runner(
        work, variables, {"package": "", "results": str(folder / "results"), "token": TOKEN, **inputs}
    )


@pytest.mark.slow
def test_the_steps_compare_comment_and_fail_by_the_gate(tmp_path: Path, builds: Path) -> None:
    work, _ = checkout_with_remote(tmp_path, {"scale.hip": program(2000), "fails.hip": program(10)})
    base = git(work, "rev-parse", "HEAD")
    (work / "scale.hip").write_text(program(2400))
    (work / "fails.hip").write_text(program(10, code=9))
    commit(work, "head")
    with hub_running() as hub:
        steps = runner(tmp_path, builds, hub, work, base, programs="scale.hip fails.hip")
        for name in ("Install", "Measure", "Publish"):
            done = steps.step(name)
            assert done.returncode == 0, (name, done.stderr)
        assert steps.step("Gate").returncode == 5
        (comment,) = hub.comments
        assert "1 limit passed" in comment["body"]
        assert "could not be compared" in comment["body"]
        assert "modelled" in comment["body"]
        (run,) = json.loads((tmp_path / "results" / "head.sarif").read_text())["runs"]
        (note,) = run["invocations"][0]["toolExecutionNotifications"]
        assert note["message"]["text"].startswith("fails.hip: ")
        assert str(tmp_path) not in json.dumps(run["results"])
        assert {p.name for p in (tmp_path / "results").iterdir()} >= {"compare.html", "gate.xml"}


def test_a_checkout_that_keeps_the_token_is_refused_before_anything_is_built(
    tmp_path: Path, builds: Path
) -> None:
    work, _ = checkout_with_remote(tmp_path, {"scale.hip": program(1)})
    git(work, "config", "http.https://github.com/.extraheader", f"AUTHORIZATION: basic {TOKEN}")
    with hub_running() as hub:
        done = runner(tmp_path, builds, hub, work, "HEAD").step("Measure")
        assert done.returncode == 2
        assert "persist-credentials: false" in done.stderr
        assert TOKEN not in done.stderr + done.stdout
        assert hub.asked == []


def test_only_the_step_that_publishes_gets_the_token() -> None:
    with_token = [
        s["name"] for s in ACTION["runs"]["steps"] if "inputs.token" in json.dumps(s.get("env", {}))
    ]
    assert with_token == ["Publish"]
    (measure,) = [s for s in ACTION["runs"]["steps"] if s["name"] == "Measure"]
    assert measure["if"] == "inputs.mode != 'publish'"

"""`hipscope optimize --backend rocm`: proved on the emulator, timed in pairs by rocprofv3.

Here that is a stand-in with recorded series of launches for each binary; none of this has run on an AMD GPU.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fake_rocprofv3 import Answers, calls, install
from tests.server.command_line import Cli, Outcome

ROOT = Path(__file__).parents[3]
KERNEL = "smooth_transpose(float const*, float*, int, int)"
LAUNCH = "  smooth_transpose<<<grid, dim3(kTile, kRows)>>>(device_in, device_out, width, height);\n"
RECORDED = json.loads((ROOT / "tests" / "data" / "timings" / "h100_pairs.json").read_text())
# Half of the time of these launches the LDS is busy with conflicts.
COUNTERS = {"SQ_LDS_BANK_CONFLICT": 5e7, "SQ_LDS_IDX_ACTIVE": 5.3e7}

Optimize = Callable[..., Outcome]


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """One folder and one cache for all, so that each program is compiled once."""
    return Cli(tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("cache"))


@pytest.fixture
def optimize(tmp_path: Path, cli: Cli) -> Optimize:
    """Optimize a small copy of an example, launched twice, with these answers of rocprofv3."""
    tools = tmp_path / "tools"
    tools.mkdir()
    text = (ROOT / "examples" / "lds_column_read.hip").read_text()
    text = text.replace("width = 1530, height = 1070", "width = 250, height = 130")

    def run(answers: Answers, *options: str, launches: int = 2) -> Outcome:
        install(tools, answers)
        cli.write(text.replace(LAUNCH, LAUNCH * launches), "program.hip")
        arguments = ("optimize", "--backend", "rocm", "--formula", "bankConflict", *options, "program.hip")
        return cli(*arguments, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")

    return run


def series(case: str, launches: int = 2) -> list[list[list[float]]]:
    """The runs of the original (one more, for its profile) and of the rewrite: a cold launch, then a warm one."""
    found: list[list[list[float]]] = []
    for side in ("before", "after"):
        cold, warm = (
            [ns for s, c, ns in RECORDED[case] if (s, c) == (side, cache)] for cache in ("cold", "warm")
        )
        found.append([list(run)[:launches] for run in zip(cold, warm, strict=True)])
    return [[found[0][0], *found[0]], found[1]]


def answers(runs: list[list[list[float]]], fails_at: tuple[int, int] | None = None) -> Answers:
    return Answers(kernel=KERNEL, series=runs, counters=COUNTERS, fails_at=fails_at)


def result(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outcome.stdout)
    return found


def only_attempt(outcome: Outcome) -> dict[str, Any]:
    """The one candidate that was made; recipes that do not apply are no candidates."""
    tried = [a for a in result(outcome)["attempts"] if a["recipe"] == "pad_lds"]
    assert len(tried) == 1, tried
    return dict(tried[0])


@pytest.mark.slow
def test_a_rewrite_that_is_faster_on_the_gpu_is_verified_with_measured_times(
    optimize: Optimize, tmp_path: Path
) -> None:
    cold, warm = series("faster")[0][0]
    host = int(cold + warm)  # before each of the two launches
    outcome = optimize(replace(answers(series("faster")), host_ns=host), "--format", "json")
    found = result(outcome)
    assert found["status"] == "verified", outcome.stdout
    assert found["before"]["provenance"] == found["after"]["provenance"] == "measured"
    runs = series("faster")
    assert found["before"]["time_ns"] == pytest.approx(sum(runs[0][1]), rel=0.05)
    assert found["after"]["time_ns"] == pytest.approx(sum(runs[1][0]), rel=0.05)
    ratios = found["measured"]["ratios"]
    assert set(ratios) == {"cold", "warm"}
    for ratio in ratios.values():
        assert 1 < ratio["low"] <= ratio["estimate"] <= ratio["high"]
        assert ratio["pairs"] == 24
    assert found["speedup"] == pytest.approx(min(r["estimate"] for r in ratios.values()))
    assert found["verdict"]["outcome"] == "equivalent"
    assert "(measured)" in found["message"]
    assert "modelled" not in found["message"]
    # No call waits for the first launch: the path is the host's calls with what lies between them, then the second one.
    rest = 2 * host + cold
    assert found["program_speedup"] == pytest.approx(
        (rest + warm) / (rest + warm / found["speedup"]), rel=0.01
    )
    assert found["gpu_speedup"] == pytest.approx(found["speedup"])
    asked_for = calls(tmp_path / "tools")
    assert (
        sum(call.startswith("--kernel-trace --memory-copy-trace --hip-runtime-trace") for call in asked_for)
        == 1
    )
    assert asked_for.count("--kernel-trace") == 2 * 24  # pairs
    asked = json.loads((tmp_path / "tools" / "runs.json").read_text())
    assert [count for _, count in asked] == [1 + 24, 24]


@pytest.mark.slow
@pytest.mark.slow
def test_a_program_that_launches_once_is_judged_by_cold_launches_and_the_text_says_measured(
    optimize: Optimize,
) -> None:
    outcome = optimize(answers(series("faster", launches=1)), "--verbose", launches=1)
    assert outcome.code == 0, outcome.stdout
    assert "time (measured)" in outcome.stdout
    assert "LDS cycles per access (modelled)" in outcome.stdout
    assert "as fast (measured, " in outcome.stdout
    assert "launches the kernel once per run, so only cold caches were timed" in " ".join(
        outcome.stdout.split()
    )


@pytest.mark.slow
@pytest.mark.slow
def test_what_lies_within_the_noise_is_not_faster_and_the_interval_is_said(optimize: Optimize) -> None:
    outcome = optimize(answers(series("same")), "--format", "json")
    assert outcome.code == 1
    attempt = only_attempt(outcome)
    assert attempt["outcome"] == "not_faster"
    assert "Not faster beyond noise" in attempt["reason"]
    assert "95 % between" in attempt["reason"]
    assert attempt["measured"]["ratios"]["warm"]["low"] <= 1
    assert attempt["after"]["provenance"] == "measured"
    assert result(outcome)["edit"] is None


@pytest.mark.slow
@pytest.mark.slow
def test_a_time_that_the_gpu_cannot_reach_is_refused(optimize: Optimize) -> None:
    before, after = series("faster")
    outcome = optimize(answers([before, [[4.0, 3.0] for _ in after]]), "--format", "json")
    assert outcome.code == 1
    attempt = only_attempt(outcome)
    assert attempt["outcome"] == "implausible"
    assert "faster than the hardware can be" in attempt["reason"]
    assert result(outcome)["status"] == "rejected"


@pytest.mark.slow
def test_too_few_pairs_decide_nothing(optimize: Optimize) -> None:
    before, after = series("faster")
    damaged = [[0.0, 0.0] if number < 5 else run for number, run in enumerate(after)]
    outcome = optimize(answers([before, damaged]), "--format", "json")
    assert outcome.code == 1
    attempt = only_attempt(outcome)
    assert attempt["outcome"] == "not_measured"
    assert "only 19 pairs were timed, 20 are needed" in attempt["reason"]


@pytest.mark.slow
def test_a_profiler_that_fails_in_the_middle_is_one_clear_line(optimize: Optimize) -> None:
    outcome = optimize(answers(series("faster"), fails_at=(1, 6)))
    assert outcome.code == 1
    said = " ".join(outcome.stdout.split())
    assert "pair 7 of 24, with the rewrite: the program left with exit code 139" in said
    assert "The file stays as it is." in outcome.stdout


@pytest.mark.slow
def test_a_rewrite_that_changes_the_number_of_launches_there_is_not_timed(optimize: Optimize) -> None:
    before, after = series("faster")
    outcome = optimize(answers([before, [run[:1] for run in after]]), "--format", "json")
    attempt = only_attempt(outcome)
    assert attempt["outcome"] == "not_measured"
    assert "was launched 1 times, before 2 times" in attempt["reason"]

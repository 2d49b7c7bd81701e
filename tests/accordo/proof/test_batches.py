"""Many replays in one go: the same as each alone, in the order of the list, and none takes another one down."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hipscope.accordo.dispatch.access_map import READ, WRITTEN, AccessMap, read_runs
from hipscope.accordo.dispatch.captured import CapturedDispatch, read_dispatch
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, write_replacement
from hipscope.accordo.replay.background import BackgroundReplays
from hipscope.accordo.replay.replay import Replay, ReplayBroken, ReplayRequest, ReplayTool, replay, replay_all
from hipscope.analysis.config import Config
from hipscope.analysis.run import Count
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.captures import seal
from hipscope.emulator.runner import EmulatorOptions, emulator_environment, replay_executable

COUNT = 300_000  # floats: some hundred pages, of which a launch changes a few
SOURCE = """
#include <hip/hip_runtime.h>
__global__ void scale(const float* in, float* out, int limit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < limit) out[70000 + i] = in[i] * 3.0f;
  if (limit < 0) for (volatile int k = 0; in[0] == in[0]; ++k) {}
}
int main() {
  static float host[300000];
  float *in, *out;
  for (int i = 0; i < 300000; ++i) host[i] = i + 1;
  (void)hipMalloc(&in, sizeof host); (void)hipMalloc(&out, sizeof host);
  (void)hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice);
  (void)hipMemcpy(out, host, sizeof host, hipMemcpyHostToDevice);
  scale<<<4, 64>>>(in, out, 200);
  return hipDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> CapturedDispatch:
    folder = tmp_path_factory.mktemp("batch")
    (folder / "scale.hip").write_text(SOURCE)
    toolchain = find_toolchain(Config())
    built = build_program(resolve_project(folder / "scale.hip"), toolchain)
    added = emulator_environment(EmulatorOptions(objdump=toolchain.objdump, capture=folder / "captures"))
    subprocess.run(built.argv, env={**os.environ, **built.env, **added}, check=True, timeout=120)
    return read_dispatch(folder / "captures" / "dispatch_1")


@pytest.fixture(scope="module")
def tool(captured: CapturedDispatch) -> ReplayTool:
    cache = captured.directory.parent / "cache"
    options = ("--objdump", str(find_toolchain(Config()).objdump), "--cache", str(cache))
    return ReplayTool((str(replay_executable()),), options, timeout_s=60.0, batches=True)


def with_limit(captured: CapturedDispatch, limit: int, folder: Path) -> CapturedDispatch:
    """The launch with another number as its third argument."""
    shutil.copytree(captured.directory, folder)
    kernarg = bytearray(captured.kernarg())
    kernarg[16:20] = struct.pack("<i", limit)
    (folder / "kernarg.bin").write_bytes(kernarg)
    seal(folder)
    return read_dispatch(folder)


def left(result: Replay) -> np.ndarray:
    return np.frombuffer(result.image(result.request.dispatch.buffers[1]), dtype="<f4")  # type: ignore[union-attr]


def test_a_batch_leaves_what_each_replay_leaves_alone(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    """Whole files or parts of them, one process or a child of one: the same memory and the same accesses."""
    whole = ReplayTool(tool.argv, tool.options)
    code = captured.code_object

    def requests(name: str) -> tuple[ReplayRequest, ReplayRequest]:
        traced = ReplayRequest(captured, code, tmp_path / name / "traced", trace_access=True)
        poisoned = ReplayRequest(
            captured, code, tmp_path / name / "poisoned", seed=2, poison=7, poison_mask=traced.out
        )
        return traced, poisoned

    alone = [replay(whole, request) for request in requests("alone")]
    ((traced, poisoned),) = replay_all(tool, [requests("batch")])
    assert (tmp_path / "batch" / "traced" / "buffer_1.runs").stat().st_size < 3 * 4096
    for one, other in zip(alone, (traced, poisoned), strict=True):
        assert (one.status, other.status) == ("ok", "ok")
        for buffer in captured.buffers:
            assert one.image(buffer) == other.image(buffer) == buffer.after()
            assert other.leaves_same(one, buffer)
    for buffer in captured.buffers:
        places = [run.access(buffer.index, buffer.size) for run in (alone[0], traced)]
        assert np.array_equal(places[0].whole, places[1].whole)
        assert places[1].count(READ | WRITTEN) == 4 * 200


def test_what_is_poisoned_does_not_depend_on_how_the_mask_is_written_down(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    """The candidate writes nothing, so the poison stays."""
    idle = with_limit(captured, 0, tmp_path / "idle")
    images = []
    for chosen, name in ((tool, "parts"), (ReplayTool(tool.argv, tool.options), "whole")):
        traced = ReplayRequest(captured, captured.code_object, tmp_path / name / "traced", trace_access=True)
        assert replay(chosen, traced).status == "ok"
        poisoned = ReplayRequest(
            idle, captured.code_object, tmp_path / name / "run", poison=7, poison_mask=traced.out
        )
        images.append(left(replay(chosen, poisoned)).tobytes())
    assert images[0] == images[1]
    before = np.frombuffer(captured.buffers[1].before(), dtype="<f4")
    changed = np.flatnonzero(np.frombuffer(images[0], dtype="<u4") != before.view("<u4"))
    assert changed.min() >= 70000
    assert 190 <= len(changed) <= 200  # all that the reference writes, but for chance
    assert changed.max() < 70200


def test_inputs_in_parts_are_the_same_as_whole_ones(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    """Some pages of the input, and one of the output that the launch does not touch."""
    folders = [tmp_path / name for name in ("parts", "whole")]
    for buffer in captured.buffers:
        before = np.frombuffer(buffer.before(), dtype="<f4")
        other = before.copy()
        other[150:1500] += 7
        other[-3:] = 11
        for folder in folders:
            folder.mkdir(exist_ok=True)
            write_replacement(folder, buffer.index, before.view(np.uint8), other.view(np.uint8))
    for path in folders[1].glob("*.runs"):
        buffer = next(b for b in captured.buffers if path.stem == f"buffer_{b.index}")
        path.with_suffix(".before").write_bytes(replaced_contents(path, buffer.before))
        path.unlink()
    assert {p.name for p in folders[0].iterdir()} == {"buffer_0.runs", "buffer_1.runs"}
    assert (folders[0] / "buffer_0.runs").stat().st_size < 4 * 4096
    code, plain = captured.code_object, ReplayTool(tool.argv, tool.options)
    parts, whole = (
        replay(chosen, ReplayRequest(captured, code, tmp_path / folder.name / "out", inputs=folder))
        for chosen, folder in zip((tool, plain), folders, strict=True)
    )
    for buffer in captured.buffers:
        assert parts.image(buffer) == whole.image(buffer)
    assert left(parts)[70150] == (150 + 1 + 7) * 3
    assert (tmp_path / "parts" / "out" / "buffer_0.runs").stat().st_size == 0  # it changed nothing there
    (folders[0] / "buffer_0.runs").write_bytes(
        struct.pack("<QQ", 4 * COUNT // 4096 * 4096 + 4096, 4096) + bytes(4096)
    )
    bad = ReplayRequest(captured, code, tmp_path / "bad", inputs=folders[0])
    assert replay(tool, bad).status == "launch_error"


def test_a_group_ends_with_its_first_failure_and_nothing_begins_after_one(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    """Those before it in the list are all made, so that which failure is the first does not depend on luck."""
    endless = with_limit(captured, -1, tmp_path / "endless")

    def request(launch: CapturedDispatch, name: str) -> ReplayRequest:
        limit = 1.0 if launch is endless else None
        return ReplayRequest(launch, captured.code_object, tmp_path / name, timeout_s=limit)

    made = replay_all(
        tool,
        [
            [request(captured, "a"), request(captured, "b")],
            [request(endless, "c"), request(captured, "d")],
            *([request(captured, f"e{n}")] for n in range(8)),
        ],
    )
    assert [[r.status for r in runs] for runs in made[:2]] == [["ok", "ok"], ["timeout"]]
    assert all([r.status for r in runs] == ["ok"] for runs in made[2:])
    busy = [[request(endless, f"f{n}")] for n in range(os.cpu_count() or 1)]  # all that run at the same time
    stopped = replay_all(tool, [[request(captured, "g")], *busy, [request(captured, "h")]], stop=True)
    assert [r.status for r in stopped[0]] == ["ok"]
    assert [r.status for r in stopped[1]] == ["timeout"]
    assert stopped[-1] == []


def test_what_goes_wrong_under_the_sanitizers_ends_nothing(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    endless = with_limit(captured, -1, tmp_path / "endless")
    code = captured.code_object
    checked = ReplayRequest(endless, code, tmp_path / "checked", timeout_s=1.0, sanitize="all")
    more = [ReplayRequest(captured, code, tmp_path / f"more{n}") for n in range(2 * (os.cpu_count() or 1))]
    made = replay_all(tool, [[checked], *([r] for r in more)], stop=True)
    assert [r.status for runs in made for r in runs] == ["timeout", *("ok" for _ in more)]


def test_a_run_under_the_sanitizers_leaves_the_same_and_tells_of_the_same_accesses(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    plain = ReplayRequest(captured, captured.code_object, tmp_path / "plain", trace_access=True)
    checked = ReplayRequest(
        captured, captured.code_object, tmp_path / "checked", trace_access=True, sanitize="all"
    )
    one, other = (runs[0] for runs in replay_all(tool, [[plain], [checked]]))
    assert (one.status, other.status) == ("ok", "ok")
    found = other.sanitizers(captured.code_object)
    assert found is not None
    assert not found.reports
    for buffer in captured.buffers:
        assert other.leaves_same(one, buffer)
        places = [run.access(buffer.index, buffer.size) for run in (one, other)]
        assert np.array_equal(places[0].whole, places[1].whole)
        assert places[1].count(READ | WRITTEN) == 4 * 200


def test_what_was_left_out_behind_a_failure_is_made_when_it_is_asked_for(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    """Results are asked for in another order than replays are begun in."""
    endless = with_limit(captured, -1, tmp_path / "endless")
    code = captured.code_object
    bad = [
        ReplayRequest(endless, code, tmp_path / f"bad{n}", timeout_s=1.0) for n in range(os.cpu_count() or 1)
    ]
    left_out = ReplayRequest(captured, code, tmp_path / "left_out")
    with BackgroundReplays(tool, [*bad, left_out], None) as replays:
        assert replays.result(left_out).status == "ok"
        assert replays.result(bad[0]).status == "timeout"


def test_a_damaged_capture_is_seen_and_ends_no_other_replay(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    damaged = with_limit(captured, 200, tmp_path / "damaged")
    with (damaged.directory / "buffer_0.before").open("r+b") as file:
        file.write(b"\xff")
    good = ReplayRequest(captured, captured.code_object, tmp_path / "good")
    bad = ReplayRequest(damaged, captured.code_object, tmp_path / "bad")
    made = replay_all(tool, [[bad], [good]])
    assert made[0][0].status == "launch_error"
    assert "is damaged" in made[0][0].message
    assert made[1][0].status == "ok"


def test_wrong_options_are_an_error_of_ours_and_no_verdict(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    unknown = ReplayTool(tool.argv, (*tool.options, "--nonsense", "1"), batches=True)
    with pytest.raises(ReplayBroken, match="unknown option --nonsense"):
        replay_all(unknown, [[ReplayRequest(captured, captured.code_object, tmp_path / "out")]])


def test_an_access_map_in_parts_says_the_same_as_a_whole_one() -> None:
    bits = np.zeros(10_000, dtype=np.uint8)
    bits[4100:4200] = READ
    bits[4180:4300] |= WRITTEN
    parts = AccessMap(10_000, ((4096, bits[4096:8192]),))
    whole = AccessMap.of(bits)
    for one in (parts, whole):
        assert one.any(READ)
        assert one.any(WRITTEN, 4200, 4201)
        assert not one.any(WRITTEN, 0, 4180)
        assert not one.any(READ, 4200)
        assert list(one.pages(READ, 0, 10_000)) == [False, True, False]
        assert list(one.pages(READ, 5000, 10_000)) == [False, False]
        assert list(one.pages(WRITTEN, 100, 9000)) == [True, True, False]
        assert one.count(READ | WRITTEN) == 200
        assert np.array_equal(one.window(4090, 4110), bits[4090:4110])
    assert parts.within(whole, READ | WRITTEN)
    assert not parts.within(AccessMap.of(np.roll(bits, 1)), READ)


def test_runs_that_are_cut_off_are_no_runs() -> None:
    whole = struct.pack("<QQ", 8192, 3) + b"abc"
    assert [(at, bytes(part)) for at, part in read_runs(whole)] == [(8192, b"abc")]
    for size in (8, 17):
        with pytest.raises(ValueError, match="cut off"):
            list(read_runs(whole[:size]))


def test_a_batch_decodes_a_code_object_once_for_all_of_its_replays(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    calls, disassembler = tmp_path / "calls", tmp_path / "objdump"
    objdump = find_toolchain(Config()).objdump
    disassembler.write_text(f'#!/bin/sh\necho called >> "{calls}"\nexec "{objdump}" "$@"\n')
    disassembler.chmod(0o755)
    without_cache = replace(tool, options=("--objdump", str(disassembler)), replays=Count())
    requests = [ReplayRequest(captured, captured.code_object, tmp_path / str(n), seed=n) for n in range(3)]
    made = replay_all(without_cache, [[request] for request in requests])
    assert [result.status for (result,) in made] == ["ok"] * 3
    assert calls.read_text() == "called\n"
    assert without_cache.replays.number == 3


def test_a_batch_of_code_that_cannot_be_decoded_says_so_of_each_replay(
    captured: CapturedDispatch, tool: ReplayTool, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.co"
    broken.write_bytes(captured.code_object.read_bytes()[:200])
    requests = [ReplayRequest(captured, broken, tmp_path / str(n)) for n in range(2)]
    made = replay_all(tool, [[request] for request in requests])
    assert [result.status for (result,) in made] == ["launch_error"] * 2

"""Dispatches that a program records, run again: the same bytes, what they touch, and poison."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hipscope.accordo.dispatch.captured import read_capture_set, read_dispatch
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import replay_executable
from tests.emulator.recorded_run import HEADER, VECTOR_ADD, Run


def replay(dispatch: Path, out: Path, *arguments: str) -> dict[str, Any]:
    """Run hipscope-replay on a captured dispatch; its result.json."""
    toolchain = find_toolchain(Config())
    argv = [
        str(replay_executable()),
        "--dispatch",
        str(dispatch),
        "--out",
        str(out),
        "--objdump",
        str(toolchain.objdump),
    ]
    subprocess.run(
        [*argv, "--code-object", str(dispatch / "code_object.co"), *arguments], check=True, timeout=60
    )
    result: dict[str, Any] = json.loads((out / "result.json").read_text())
    return result


def test_a_replayed_dispatch_leaves_the_same_bytes(run: Run, tmp_path: Path) -> None:
    ran = run(VECTOR_ADD, capture=True)
    (dispatch,) = ran.capture.glob("dispatch_*")  # one for each launch shape
    meta = json.loads((dispatch / "meta.json").read_text())
    assert meta["complete"] is True
    assert [b["referenced_by"] for b in meta["buffers"]] == [[0], [1], [2]]
    buffers = read_dispatch(dispatch).buffers
    assert buffers[2].before() == bytes(400000)
    for seed in ("0", "7"):
        out = tmp_path / f"replay{seed}"
        assert replay(dispatch, out, "--seed", seed)["status"] == "ok"
        for buffer in range(3):
            assert (out / f"buffer_{buffer}.after").read_bytes() == buffers[buffer].after()


def test_a_replay_tells_which_bytes_are_read_and_written_and_how_long_it_took(
    run: Run, tmp_path: Path
) -> None:
    ran = run(VECTOR_ADD, capture=True)
    dispatch = ran.capture / "dispatch_1"
    config = write_device_config("mi300a", tmp_path / "device.txt")
    result = replay(dispatch, tmp_path / "r", "--trace-access", "--profile", "--device-config", str(config))
    assert result["time_ns"] == pytest.approx(
        ran.times()[2], rel=0.01
    )  # it finds in the L2 what that one did
    read_first, written = 1 | 4, 2
    assert set((tmp_path / "r" / "access_0.bin").read_bytes()) == {read_first}
    assert set((tmp_path / "r" / "access_2.bin").read_bytes()) == {written}
    assert (tmp_path / "r" / "profile_1.json").exists()


def test_the_places_of_accesses_are_those_of_every_lane_however_often_and_in_which_order(
    run: Run, tmp_path: Path
) -> None:
    ran = run(
        HEADER
        + """
__global__ void mixed(const volatile int* read, volatile int* changed, volatile int* made, volatile char* bytes,
                      int* sums, const double2* wide) {
  const int i = threadIdx.x;
  double s = 0;
  for (int turn = 0; turn < 2; ++turn) {
    s += read[i >> 6] + read[63 - i] + wide[i >> 1].y;
    changed[63 - i] = changed[63 - i] + 1;
    made[i] = s;
    __syncthreads();
    s += made[63 - i] + made[i];
    bytes[2 * i] = s;
    atomicAdd(sums + (i >> 6), 1);
  }
}
int main() {
  void* p[6];
  for (void*& one : p) { CHECK(hipMalloc(&one, 512)); CHECK(hipMemset(one, 0, 512)); }
  mixed<<<1, 64>>>((int*)p[0], (int*)p[1], (int*)p[2], (char*)p[3], (int*)p[4], (double2*)p[5]);
  CHECK(hipDeviceSynchronize());
}
""",
        capture=True,
    )
    replay(ran.capture / "dispatch_1", tmp_path / "r", "--trace-access")
    first, written, read, atomic = 1, 2, 4, 8

    def seen(buffer: int) -> list[int]:
        return list((tmp_path / "r" / f"access_{buffer}.bin").read_bytes())

    assert seen(0) == [first | read] * 256 + [0] * 256
    assert seen(1) == [first | read | written] * 256 + [0] * 256
    assert seen(2) == [written | read] * 256 + [0] * 256
    assert seen(3) == [written, 0] * 64 + [0] * 384
    assert seen(4) == [first | read | written | atomic] * 4 + [0] * 508
    assert set(seen(5)[8::16]) == {first | read}


def test_what_the_reference_writes_first_is_undefined_for_the_sanitizers(run: Run, tmp_path: Path) -> None:
    ran = run(
        HEADER
        + """
__global__ void more(float* out) { out[threadIdx.x] += 1; }
int main() { float* p; CHECK(hipMalloc(&p, 256)); CHECK(hipMemset(p, 0, 256)); more<<<1, 64>>>(p);
  CHECK(hipDeviceSynchronize()); }
""",
        capture=True,
    )
    dispatch = ran.capture / "dispatch_1"
    mask = tmp_path / "mask"
    mask.mkdir()
    (mask / "access_0.bin").write_bytes(
        bytes([2]) * 100 + bytes([7]) * 156
    )  # 25 floats written, the others read first

    def defects(name: str, *options: str) -> list[tuple[str, int]]:
        replay(dispatch, tmp_path / name, "--sanitize", "all", *options)
        reports = json.loads((tmp_path / name / "sanitize.json").read_text())["reports"]
        return [(report["class"], report["count"]) for report in reports]

    assert defects("plain") == []
    assert defects("masked", "--poison", "1", "--poison-mask", str(mask)) == [("uninitialised-read", 25)]


def test_poison_shows_in_what_a_kernel_does_not_write(run: Run, tmp_path: Path) -> None:
    ran = run(
        HEADER
        + """
__global__ void half(float* out) { if (threadIdx.x % 2 == 0) out[threadIdx.x] = 1; }
int main() { float* p; CHECK(hipMalloc(&p, 256)); CHECK(hipMemset(p, 0, 256)); half<<<1, 64>>>(p);
  CHECK(hipDeviceSynchronize()); }
""",
        capture=True,
    )
    dispatch = ran.capture / "dispatch_1"
    replay(dispatch, tmp_path / "reference", "--trace-access")
    mask = tmp_path / "mask"
    mask.mkdir()
    (mask / "access_0.bin").write_bytes(bytes([2]) * 256)  # a reference that writes every byte
    replay(dispatch, tmp_path / "poisoned", "--poison", "1", "--poison-mask", str(mask))
    after = (tmp_path / "poisoned" / "buffer_0.after").read_bytes()
    assert after[0:4] == b"\0\0\x80?"
    assert after[4:8] != bytes(4)
    poison = ("--poison", "1", "--poison-mask", str(mask), "--poison-fill", "0=0000807f")
    replay(dispatch, tmp_path / "infinite", *poison)
    after = (tmp_path / "infinite" / "buffer_0.after").read_bytes()
    assert after[0:12] == b"\0\0\x80?" + b"\0\0\x80\x7f" + b"\0\0\x80?"


TWO_SIZES = (
    HEADER
    + """
__global__ void fill(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] += threadIdx.x * 40503; }
int main() {
  int* p;
  CHECK(hipMalloc(&p, 1 << 20)); CHECK(hipMemset(p, 1, 1 << 20));
  fill<<<1024, 256>>>(p);
  fill<<<512, 256>>>(p);
  CHECK(hipDeviceSynchronize());
}
"""
)


@pytest.mark.parametrize(("limit", "recorded"), [(1 << 20, 0), (1 << 21, 1), (1 << 23, 2)])
def test_recordings_leave_room_on_the_disk(run: Run, limit: int, recorded: int) -> None:
    ran = run(TWO_SIZES, capture=True, HIPSCOPE_CAPTURE_ALL_BYTES=str(limit))
    dispatches = read_capture_set(ran.capture)
    assert len(dispatches) == 2
    assert sum(d.complete for d in dispatches) == recorded
    for dispatch in dispatches[recorded:]:
        assert dispatch.unusable
        assert not dispatch.buffers, "nothing of its memory was recorded"
        assert dispatch.reason is not None
        assert dispatch.reason.startswith("not recorded: it may take 2097152 bytes on disk, earlier launches")
        assert dispatch.reason.endswith(f"of the {limit} that recordings may take")


LARGE = (
    HEADER
    + """
__global__ void through(float** list, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) list[1][i] += in[i];
}
int main() {
  const int n = 1000;
  const size_t bytes = 64 << 20;
  float *a, *b, *c, **list;
  CHECK(hipMalloc(&a, bytes)); CHECK(hipMalloc(&b, bytes)); CHECK(hipMalloc(&c, bytes));
  CHECK(hipMalloc(&list, 2 * sizeof *list));
  std::vector<float> ones(bytes / 4, 1.0f);
  float* const pointers[] = {a, b + 5000000};
  CHECK(hipMemcpy(b, ones.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(c, ones.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(list, pointers, sizeof pointers, hipMemcpyHostToDevice));
  through<<<4, 256>>>(list, c + 300, COUNT);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(ones.data(), b, bytes, hipMemcpyDeviceToHost));
  std::printf("%g %g\\n", ones[5000000], ones[0]);
}
"""
)


def test_of_more_memory_than_may_be_recorded_what_the_launch_uses_is(run: Run, tmp_path: Path) -> None:
    ran = run(LARGE.replace("COUNT", "n"), capture=True, HIPSCOPE_CAPTURE_MAX_BYTES="1048576")
    assert ran.stdout == "2 1\n"
    (dispatch,) = read_capture_set(ran.capture)
    assert dispatch.complete
    assert dispatch.note is not None
    assert "of 201326608 bytes of live memory" in dispatch.note
    block, source, listed = sorted(dispatch.buffers, key=lambda b: (len(b.arguments), -b.size))
    assert (source.size, block.size) == (1 << 16, 1 << 16), "no more than the pages that it needs"
    first = block.before()
    assert set(np.frombuffer(first, dtype=np.float32)) == {1.0}, "as it was before the launch"
    assert (np.frombuffer(block.after(), dtype=np.float32) == 2.0).sum() == 1000
    assert replay(dispatch.directory, tmp_path / "r")["status"] == "ok"
    assert (tmp_path / "r" / f"buffer_{block.index}.after").read_bytes() == block.after()
    assert listed.size == 16


def test_a_launch_that_uses_more_than_may_be_recorded_names_the_limit(run: Run) -> None:
    ran = run(
        LARGE.replace("<<<4, 256>>>", "<<<4096, 256>>>").replace("COUNT", "1 << 20"),
        capture=True,
        HIPSCOPE_CAPTURE_MAX_BYTES="1048576",
    )
    assert (ran.stdout, ran.stderr) == ("2 1\n", "")
    (dispatch,) = read_capture_set(ran.capture)
    assert dispatch.unusable
    assert not dispatch.buffers, "nothing of its memory was recorded"
    assert dispatch.reason is not None
    assert dispatch.reason.startswith("not recorded: the memory that the launch uses spans 8")
    assert dispatch.reason.endswith("accordo.max_bytes is 1048576")

"""Captured memory in zstd frames: what is packed, what other tools make of it, and what damage to it does."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hipscope.accordo.dispatch.captured import (
    CapturedDispatch,
    CaptureUnreadable,
    read_capture_set,
    read_dispatch,
)
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.captures import read_checksums
from hipscope.emulator.replay import ReplaySetup, Result, replay
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

COUNT = 5 << 18  # 5 MiB of numbers: several frames, and a last one that is not full
SOURCE = """
#include <hip/hip_runtime.h>
#include <vector>
__global__ void add(const unsigned* noise, unsigned* numbers, int count, int endless) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1024) numbers[i * 1024] += noise[i];
  while (endless && noise[0] == noise[0]) {}
}
int main() {
  const int count = COUNT + 3;
  std::vector<unsigned> host(count), few(65536);
  for (int i = 0; i < count; ++i) host[i] = i / 100;
  unsigned state = 1;
  for (unsigned& word : few) word = state = state * 1664525u + 1013904223u;
  unsigned *noise, *numbers;
  (void)hipMalloc(&noise, few.size() * 4); (void)hipMalloc(&numbers, host.size() * 4);
  (void)hipMemcpy(noise, few.data(), few.size() * 4, hipMemcpyHostToDevice);
  (void)hipMemcpy(numbers, host.data(), host.size() * 4, hipMemcpyHostToDevice);
  add<<<16, 64>>>(noise, numbers, count, 0);
  return hipDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> CapturedDispatch:
    folder = tmp_path_factory.mktemp("packed")
    (folder / "add.hip").write_text(SOURCE.replace("COUNT", str(COUNT)))
    config = Config()
    toolchain = find_toolchain(config)
    built = build_program(resolve_project(folder / "add.hip", config=config), toolchain)
    options = EmulatorOptions(objdump=toolchain.objdump, cache=folder / "cache", capture=folder / "captures")
    environment = {**os.environ, **built.env, **emulator_environment(options)}
    subprocess.run(built.argv, env=environment, check=True, timeout=120)
    (dispatch,) = read_capture_set(folder / "captures")
    return dispatch


def again(captured: CapturedDispatch, directory: Path | None = None, **changes: object) -> Result:
    cache = captured.directory.parents[1] / "cache"
    objdump = find_toolchain(Config()).objdump
    where = directory or captured.directory
    return replay(where, setup=ReplaySetup(objdump, cache), **changes)  # type: ignore[arg-type]


def numbers(captured: CapturedDispatch) -> Path:
    return captured.directory / "buffer_1.before.zst"


def copy_with(captured: CapturedDispatch, folder: Path, packed: bytes) -> Path:
    """The capture with another file for the numbers, and the checksums of the content as they were."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in captured.directory.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / numbers(captured).name).unlink()
    (folder / numbers(captured).name).write_bytes(packed)
    return folder


def test_memory_is_packed_where_that_saves_much(captured: CapturedDispatch) -> None:
    names = {p.name for p in captured.directory.iterdir()} - {"meta.json", "kernarg.bin", "code_object.co"}
    assert names == {
        "checksums", "buffer_0.before", "buffer_0.after", "buffer_1.before.zst", "buffer_1.after.zst"
    }  # fmt: skip
    plain = struct.pack(f"<{COUNT + 3}I", *(i // 100 for i in range(COUNT + 3)))
    assert captured.buffers[1].before() == plain
    assert numbers(captured).stat().st_size < len(plain) / 2
    check = read_checksums(captured.directory)["buffer_1.before.zst"]
    assert (check.crc, check.size) == (zlib.crc32(plain), len(plain))


def test_the_packed_file_is_what_zstd_reads(captured: CapturedDispatch) -> None:
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError:
        pytest.skip("libzstd is not installed")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    packed, plain = numbers(captured).read_bytes(), captured.buffers[1].before()
    out = ctypes.create_string_buffer(len(plain))
    size = zstd.ZSTD_decompress(out, ctypes.c_size_t(len(plain)), packed, ctypes.c_size_t(len(packed)))
    assert size == len(plain)
    assert out.raw == plain


def test_replays_of_packed_memory_leave_what_the_program_left(captured: CapturedDispatch) -> None:
    done = again(captured)
    assert done.status == "ok"
    assert done.buffers == tuple(b.after() for b in captured.buffers)


def test_many_replays_at_once_give_the_same_bytes_as_in_turns(captured: CapturedDispatch) -> None:
    noise = captured.buffers[0].before()

    def one(k: int) -> tuple[bytes, ...]:
        moved = noise[4 * k :] + noise[: 4 * k]
        done = again(
            captured, inputs={0: moved}, schedule=k, poison=k, sanitize="all" if k % 4 == 3 else None
        )
        assert (done.status, done.reports) == ("ok", ())
        return done.buffers

    in_turns = [one(k) for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(one, range(8)))
    assert at_once == in_turns
    assert len({buffers[1] for buffers in in_turns}) == 8


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damaged_frames_are_refused_or_hold_the_same(
    captured: CapturedDispatch, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    packed = numbers(captured).read_bytes()
    at = data.draw(st.one_of(st.integers(0, 31), st.integers(0, len(packed) - 1)), label="at")
    flip = data.draw(st.integers(0, 255), label="flip")
    changed = packed[:at] + bytes([packed[at] ^ flip]) + packed[at + 1 :] if flip else packed[:at]
    directory = copy_with(captured, tmp_path_factory.getbasetemp() / "damaged_frames", changed)
    done = again(captured, directory)
    if done.status == "ok":  # bits of a header that nothing depends on
        assert done.buffers == tuple(b.after() for b in captured.buffers)
        assert read_dispatch(directory).buffers[1].before() == captured.buffers[1].before()
        return
    assert (done.status, "buffer_1.before.zst" in done.message) == ("launch_error", True)
    with pytest.raises(CaptureUnreadable, match=r"^[^\n]*buffer_1\.before\.zst[^\n]*$"):
        read_dispatch(directory).buffers[1].before()


@pytest.mark.parametrize("claimed", [(1 << 20) + 1, 1 << 40, (1 << 64) - 3])
def test_a_frame_that_claims_to_hold_much_is_refused(
    captured: CapturedDispatch, tmp_path: Path, claimed: int
) -> None:
    """Frame header with an 8-byte content size (RFC 8878, 3.1.1.1), then one empty last block."""
    bomb = struct.pack("<IBQ", 0xFD2FB528, 0xE0, claimed) + b"\x01\0\0"
    directory = copy_with(captured, tmp_path / "dispatch_1", bomb)
    words = "not made of zstd frames as captures have them"
    with pytest.raises(CaptureUnreadable, match=words):
        read_dispatch(directory).buffers[1].before()
    assert words in again(captured, directory).message


def test_ctrl_c_ends_a_replay_and_leaves_no_process(captured: CapturedDispatch, tmp_path: Path) -> None:
    folder = tmp_path / "dispatch_1"
    shutil.copytree(captured.directory, folder)
    kernarg = bytearray((folder / "kernarg.bin").read_bytes())
    kernarg[20:24] = struct.pack("<i", 1)  # endless
    (folder / "kernarg.bin").write_bytes(kernarg)
    script = (
        "import signal, sys; from pathlib import Path; from hipscope.emulator.captures import seal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
        "from hipscope.emulator.replay import ReplaySetup, replay; seal(Path(sys.argv[1])); print('on', flush=True)\n"
        "try: replay(Path(sys.argv[1]), setup=ReplaySetup(Path(sys.argv[2])))\n"
        "except KeyboardInterrupt: print('stopped', flush=True)\n"
    )
    objdump = find_toolchain(Config()).objdump
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder), str(objdump)],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        until = time.monotonic() + 60
        while not (children := _children(process.pid)) and time.monotonic() < until:
            time.sleep(0.02)
        assert children
        os.kill(process.pid, 2)
        assert process.stdout.readline() == "stopped\n"
        assert process.wait(60) == 0
        assert not any(Path(f"/proc/{child}").exists() for child in children)
        assert not list(tmp_path.glob("hipscope-replay-*"))
    finally:
        process.kill()
        process.wait(60)


def _children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()

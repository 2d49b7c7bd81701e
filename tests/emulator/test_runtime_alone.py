"""The runtime in surroundings that are not ours: little address space, no settings."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from hipscope.emulator.runner import native_library_dir
from tests.emulator.hip_run import Command, build_hip
from tests.emulator.recorded_run import VECTOR_ADD

ALLOCATE = """
#include <hip/hip_runtime.h>
#include <cstdio>
int main() {
  void *small = nullptr, *large = nullptr;
  std::size_t free = 0, total = 0;
  const hipError_t first = hipMalloc(&small, 1 << 20), second = hipMalloc(&large, std::size_t{8} << 30);
  hipMemGetInfo(&free, &total);
  std::printf("%s %s %zu\\n", hipGetErrorName(first), hipGetErrorName(second), total >> 20);
}
"""


def limited(command: Command, gib: float, **env: str) -> subprocess.CompletedProcess[str]:
    """The program in a process that may have so much address space."""
    return subprocess.run(
        ["/bin/sh", "-c", f'ulimit -v {int(gib * (1 << 20))}; exec "$0"', *command.argv],
        env={**command.env, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_process_of_little_address_space_has_a_device_of_less(tmp_path: Path) -> None:
    command = build_hip(VECTOR_ADD, tmp_path, profile=True)
    done = limited(command, 6)
    assert (done.stdout, done.stderr, done.returncode) == ("PASS\n", "", 0)


def test_an_allocation_that_the_limit_does_not_allow_fails_and_the_run_says_why(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    command = build_hip(ALLOCATE, tmp_path, profile=True)
    done = limited(command, 6, HIPSCOPE_OUT=str(out))
    assert done.stdout == "hipSuccess hipErrorOutOfMemory 2048\n"
    (warning,) = json.loads((out / "run.json").read_text())["warnings"]
    assert warning.startswith("an allocation of 8589934592 bytes failed: the device has 2048 MiB")
    assert warning.endswith("(ulimit -v)")


def test_the_sanitizers_need_the_whole_range_and_say_so(tmp_path: Path) -> None:
    done = limited(build_hip(VECTOR_ADD, tmp_path, profile=True), 6, HIPSCOPE_SANITIZE="all")
    assert done.returncode == 70
    assert "the sanitizers need all of the device's range: ulimit -v unlimited" in done.stderr


def test_a_process_of_too_little_address_space_names_the_limit(tmp_path: Path) -> None:
    done = limited(build_hip(VECTOR_ADD, tmp_path), 1)
    assert done.returncode == 70
    assert "this process may have 1024 MiB of address space (ulimit -v)" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_library_runs_programs_without_any_setting(tmp_path: Path) -> None:
    command = build_hip(VECTOR_ADD, tmp_path)
    bare = {n: v for n, v in os.environ.items() if not n.startswith("HIPSCOPE_")}
    bare["LD_LIBRARY_PATH"] = str(native_library_dir())

    def alone(path: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command.argv, env={**bare, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
        )

    objdump = Path(command.env["HIPSCOPE_OBJDUMP"])
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "llvm-objdump-19").symlink_to(objdump)
    assert alone(str(tools)).stdout == "PASS\n"
    missing = alone(str(tmp_path))
    assert missing.returncode != 0
    assert "set HIPSCOPE_OBJDUMP to" in missing.stderr

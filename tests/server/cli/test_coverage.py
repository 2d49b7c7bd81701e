"""`hipscope emulator --coverage`: the instructions and calls in use and those not emulated, before a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from tests.server.command_line import Outcome, hipscope
from tests.server.schemas import problems

CLEAN = """\
#include <hip/hip_runtime.h>
__global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }
int main() {
  int* p;
  if (hipMalloc(&p, 256) != hipSuccess) return 1;
  fill<<<1, 64>>>(p);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
"""
PROBE = """\
#include <hip/hip_runtime.h>
__global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }
__global__ void strange(int* p) {
  asm volatile("s_setvskip s8, s6");
  p[0] = 1;
}
int main() {
  hipArray* a = nullptr;
  fill<<<1, 64>>>(nullptr);
  strange<<<1, 64>>>(nullptr);
  return hipFreeArray(a) == hipSuccess ? 0 : 1;
}
"""


def coverage(*arguments: str | Path) -> Outcome:
    words = ("emulator", "--coverage", *arguments)
    done = hipscope(*words, folder=Path.cwd(), variables=os.environ)
    assert "Traceback" not in done.stderr
    return done


def told(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    done = coverage(*arguments, "--format", "json")
    return done.code, json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("coverage")
    (root / "clean.hip").write_text(CLEAN)
    (root / "probe.hip").write_text(PROBE)
    toolchain = find_toolchain(Config())
    for name, flags in (
        ("program", []),
        ("packed", ["--offload-compress"]),
        ("two", ["--offload-arch=gfx900"]),
    ):
        subprocess.run(
            [
                toolchain.clang, "-x", "hip", *toolchain.hip_flags, *toolchain.hip_location_flags, "-O1", *flags,
                str(root / "probe.hip"), "-o", str(root / name), *toolchain.link_flags,
            ],
            check=True, capture_output=True,
        )  # fmt: skip
    return root


def test_a_program_that_is_emulated_in_full_gives_0_and_its_instructions(folder: Path) -> None:
    code, report = told(folder / "clean.hip")
    assert code == 0
    assert problems(report) == []
    assert report["complete"]
    (found,) = report["code_objects"]
    assert found["target"].startswith("gfx942")
    (function,) = found["functions"]
    assert (function["name"], function["kernel"]) == ("fill(int*)", True)
    assert function["mnemonics"]["s_endpgm"] == 1
    assert function["mnemonics"]["global_store_dword"] == 1
    assert function["not_executed"] == []
    assert "hipMalloc" in report["runtime"]["imported"]
    assert report["runtime"]["refused"] == report["runtime"]["absent"] == []


def test_what_is_not_executed_has_its_kernel_and_source_line(folder: Path) -> None:
    code, report = told(folder / "probe.hip")
    assert code == 1
    by_name = {f["name"]: f for f in report["code_objects"][0]["functions"]}
    assert by_name["fill(int*)"]["not_executed"] == []
    (bad,) = by_name["strange(int*)"]["not_executed"]
    assert bad["mnemonic"] == "s_setvskip"
    assert (Path(bad["file"]).name, bad["line"]) == ("probe.hip", 4)
    assert report["runtime"]["refused"] == ["hipFreeArray"]


def test_the_text_names_the_line_and_the_call(folder: Path) -> None:
    done = coverage(folder / "probe.hip")
    assert done.code == 1
    assert "probe.hip:4: s_setvskip s8, s6: refused: " in done.stdout
    assert "hipFreeArray: returns hipErrorNotSupported" in done.stdout
    assert done.stdout.splitlines()[-1] == "not everything is emulated"


@pytest.mark.parametrize("name", ["program", "packed"])
def test_a_built_program_is_read_without_its_source(name: str, folder: Path) -> None:
    code, report = told(folder / name)
    assert code == 1
    (bad,) = [n for f in report["code_objects"][0]["functions"] for n in f["not_executed"]]
    assert bad["mnemonic"] == "s_setvskip"
    assert bad["line"] is None  # built without -g


def test_an_object_file_has_calls_too(folder: Path) -> None:
    toolchain = find_toolchain(Config())
    words: list[str | Path] = [
        toolchain.clang,
        "-x",
        "hip",
        *toolchain.hip_flags,
        "-O1",
        "-c",
        str(folder / "probe.hip"),
        "-o",
    ]
    subprocess.run([*words, str(folder / "probe.o")], check=True, capture_output=True)
    code, report = told(folder / "probe.o")
    assert code == 1
    assert "hipLaunchKernel" in report["runtime"]["imported"]
    assert report["runtime"]["refused"] == ["hipFreeArray"]


def test_a_device_file_is_bad_input() -> None:
    done = coverage("/dev/null")
    assert done.code == 2
    assert done.stderr == "hipscope: /dev/null: neither a file nor a directory\n"


def test_a_target_that_no_modelled_gpu_has_is_said_to_be_not_executed(folder: Path) -> None:
    _, report = told(folder / "two")
    by_target = {c["target"].partition(":")[0]: c["executed"] for c in report["code_objects"]}
    assert by_target == {"gfx942": True, "gfx900": False}


def test_a_source_is_compiled_for_the_device_that_is_asked_for(folder: Path) -> None:
    code, report = told(folder / "clean.hip", "--device", "mi210")
    assert code == 0
    assert report["code_objects"][0]["target"].startswith("gfx90a")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x7fELF\x02\x01\x01" + b"\0" * 40, "damaged"),
        (b"", "empty"),
        (b"__CLANG_OFFLOAD_BUNDLE__", "damaged"),
    ],
)
def test_a_file_that_is_no_program_is_bad_input(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(content)
    done = coverage(path)
    assert done.code == 2
    assert words in done.stderr
    assert done.stderr.startswith("hipscope: ")


def test_a_program_without_device_code_is_bad_input() -> None:
    done = coverage(Path(sys.executable).resolve())
    assert done.code == 2
    assert "no device code" in done.stderr

"""Modules, hipRTC, and what a program learns of pointers."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import time
import uuid
import zlib
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.system.process import run_process
from hipscope.analysis.toolchain.discovery import find_toolchain
from tests.emulator.hip_run import build_hip, run_hip

RTC = """
#include <hip/hiprtc.h>
#include <string>
#define RTC(call) do { hiprtcResult r_ = (call); if (r_ != HIPRTC_SUCCESS) { \\
    std::printf("line %d: %s\\n", __LINE__, hiprtcGetErrorString(r_)); return 1; } } while (0)
const char* text = R"(
#include "scale.h"
__device__ float bias = 0.5f;
template <class T> __global__ void scale(T* p, T by) { p[threadIdx.x] = times(p[threadIdx.x], by) + bias; }
namespace inner { __global__ void one(int* p) { *p = 1; } }
)";
int main() {
  const char* header = "template <class T> __device__ T times(T a, T b) { return a * b * FACTOR; }";
  const char* name = "scale.h";
  hiprtcProgram p;
  RTC(hiprtcCreateProgram(&p, text, "scale.cu", 1, &header, &name));
  for (const char* e : {"scale<float>", "&inner::one", "&bias"}) RTC(hiprtcAddNameExpression(p, e));
  const char* options[] = {"-DFACTOR=2", "--gpu-architecture=gfx942"};
  RTC(hiprtcCompileProgram(p, 2, options));
  const char *kernel, *one, *bias;
  RTC(hiprtcGetLoweredName(p, "scale<float>", &kernel)); RTC(hiprtcGetLoweredName(p, "&inner::one", &one));
  RTC(hiprtcGetLoweredName(p, "&bias", &bias));
  std::printf("%s %s %s\\n", kernel, one, bias);
  size_t size; RTC(hiprtcGetCodeSize(p, &size)); std::vector<char> code(size); RTC(hiprtcGetCode(p, code.data()));
  hipModule_t m; hipFunction_t f; CHECK(hipModuleLoadData(&m, code.data())); CHECK(hipModuleGetFunction(&f, m, kernel));
  hipDeviceptr_t where; size_t bytes; CHECK(hipModuleGetGlobal(&where, &bytes, m, bias));
  float two = 2; CHECK(hipMemcpy(where, &two, 4, hipMemcpyHostToDevice));
  std::vector<float> h(64, 3); float* d; CHECK(hipMalloc(&d, 256));
  CHECK(hipMemcpy(d, h.data(), 256, hipMemcpyHostToDevice));
  struct { float* p; float by; } args{d, 5}; size_t length = sizeof args;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &length, HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(hipMemcpy(h.data(), d, 256, hipMemcpyDeviceToHost));
  std::printf("%zu %g %g\\n", bytes, h[0], h[63]);
  CHECK(hipModuleUnload(m)); RTC(hiprtcDestroyProgram(&p));
  RTC(hiprtcCreateProgram(&p, "__global__ void bad() { nothing(); }", "bad.cu", 0, nullptr, nullptr));
  std::printf("%s\\n", hiprtcGetErrorString(hiprtcCompileProgram(p, 0, nullptr)));
  RTC(hiprtcGetProgramLogSize(p, &size)); std::string log(size, 0); RTC(hiprtcGetProgramLog(p, log.data()));
  std::printf("%d %d\\n", log.rfind("bad.cu.hip:1:", 0) == 0, log.find("undeclared identifier 'nothing'") != log.npos);
}
"""


def test_hiprtc_compiles_text_while_the_program_runs(tmp_path: Path) -> None:
    ran = run_hip(RTC, tmp_path)
    assert ran.stdout.splitlines() == [
        "_Z5scaleIfEvPT_S0_ _ZN5inner3oneEPi bias",
        "4 32 32",
        "HIPRTC_ERROR_COMPILATION",
        "1 1",
    ], ran.stdout + ran.stderr


POINTERS = """
int main() {
  void *device, *host, *managed; std::vector<char> own(4096), stray(16);
  CHECK(hipMalloc(&device, 64)); CHECK(hipHostMalloc(&host, 64, hipHostMallocPortable));
  CHECK(hipMallocManaged(&managed, 64));
  CHECK(hipHostRegister(own.data(), own.size(), 0));
  hipPointerAttribute_t a;
  auto show = [&](void* p) {
    CHECK(hipPointerGetAttributes(&a, p));
    std::printf("%d%d %d %d\\n", a.memoryType == hipMemoryTypeHost, a.memoryType == hipMemoryTypeDevice, a.isManaged,
      a.devicePointer == p);
  };
  show(static_cast<char*>(device) + 8); show(host); show(managed); show(own.data());
  std::printf("%s\\n", hipGetErrorName(hipPointerGetAttributes(&a, stray.data())));
}
"""


def test_pointers_are_told_apart_with_the_values_of_the_programs_own_headers(tmp_path: Path) -> None:
    ran = run_hip(POINTERS, tmp_path)
    assert ran.stdout.splitlines() == ["01 0 1", "10 0 1", "10 1 1", "10 0 1", "hipErrorInvalidValue"]


def test_hiprtc_without_a_compiler_says_so(tmp_path: Path) -> None:
    ran = run_hip(RTC, tmp_path, HIPSCOPE_HIPRTC="/no/such/compiler")
    assert "hiprtc: cannot run the compiler '/no/such/compiler'" in ran.stderr
    assert "HIPRTC_ERROR_INTERNAL_ERROR" in ran.stdout


FOLDERS = """
#include <hip/hiprtc.h>
#include <string>
const char* text = "#include \\"parts/one.h\\"\\n#include <two.h>\\n__global__ void k(int* p) { *p = ONE + TWO; }\\n";
int main() {
  const char* headers[] = {"#pragma once\\n#include \\"beside.h\\"\\n#include \\"../parts/one.h\\"\\n",
                           "#define ONE __LINE__\\n#define TWO 0 wrong\\n",
                           "#undef TWO\\n#define TWO sizeof(__FILE__)\\n"};
  const char* names[] = {"parts/one.h", "parts/beside.h", "two.h"};
  hiprtcProgram p;
  auto compile = [&](int count, const char** options) {
    auto r = hiprtcCompileProgram(p, count, options);
    size_t size; hiprtcGetProgramLogSize(p, &size); std::string log(size, 0); hiprtcGetProgramLog(p, log.data());
    std::printf("%s %s\\n", hiprtcGetErrorString(r), log.substr(0, log.find(": ")).c_str());
  };
  const char* option = std::getenv("OPTION");
  hiprtcCreateProgram(&p, text, "k", 3, headers, names); compile(1, &option); hiprtcDestroyProgram(&p);
  headers[1] = "\\nint wrong(;\\n";
  hiprtcCreateProgram(&p, text, "k", 3, headers, names); compile(1, &option); hiprtcDestroyProgram(&p);
  names[1] = "../../etc/beside.h";
  hiprtcCreateProgram(&p, text, "k", 3, headers, names); compile(0, nullptr); hiprtcDestroyProgram(&p);
}
"""


@pytest.mark.parametrize("option", ["-O0", "-g", "--offload-arch=gfx942:xnack-", "-fgpu-rdc"])
def test_hiprtc_finds_headers_by_name_and_never_those_of_the_working_directory(
    tmp_path: Path, option: str
) -> None:
    (tmp_path / "parts").mkdir()
    for name in ("parts/one.h", "parts/beside.h", "two.h"):
        (tmp_path / name).write_text("#error not this one\n")
    ran = run_hip(FOLDERS, tmp_path, OPTION=option)
    assert ran.stdout.splitlines() == [
        "HIPRTC_SUCCESS ",
        "HIPRTC_ERROR_COMPILATION In file included from k.hip:1:",
        "In file included from parts/one.h:2:",
        "parts/beside.h:2:11",
        "HIPRTC_ERROR_INVALID_INPUT ",
    ], ran.stdout + ran.stderr


SLOW = """
#include <hip/hiprtc.h>
int main() {
  const char* text = "constexpr int count(int n) { int s = 0; for (int i = 0; i < n; ++i) s += i & 1; return s; }\\n"
                     "constexpr int many = count(800000);\\n__global__ void k(int* p) { *p = many; }\\n";
  const char *options[] = {std::getenv("MARK"), "-fconstexpr-steps=1000000000"}, *header = "", *name = "empty.h";
  hiprtcProgram p;
  if (hiprtcCreateProgram(&p, text, "slow.cu", 1, &header, &name)) return 1;
  return hiprtcCompileProgram(p, 2, options);
}
"""


def processes_with(word: str) -> list[int]:
    """The processes that have `word` in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def computes(process: int) -> bool:
    """Whether a process has used the processor for 0.2 s: a compiler then is past its start."""
    with contextlib.suppress(OSError):
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11])
        return ticks >= 0.2 * os.sysconf("SC_CLK_TCK")
    return False


@pytest.mark.parametrize("compiler_too", [False, True], ids=["program", "program-and-compiler"])
def test_a_kill_in_the_middle_of_hiprtc_leaves_no_file(tmp_path: Path, compiler_too: bool) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    mark = f"-DMARK_{uuid.uuid4().hex}"
    command = build_hip(SLOW, tmp_path, MARK=mark, TMPDIR=str(scratch))
    before = set(tmp_path.iterdir())
    program = subprocess.Popen(command.argv, cwd=tmp_path, env=command.env)
    deadline = time.monotonic() + 60
    while not any(map(computes, processes_with(mark))):
        assert program.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    program.kill()
    for child in processes_with(mark) if compiler_too else []:
        os.kill(child, signal.SIGKILL)
    program.wait(60)
    while processes_with(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_with(mark) == []
    assert (list(scratch.iterdir()), set(tmp_path.iterdir())) == ([], before)


LOAD = """
int main() {
  hipModule_t m; hipFunction_t f; CHECK(hipModuleLoad(&m, "code.bin")); CHECK(hipModuleGetFunction(&f, m, "store"));
  int* d; CHECK(hipMallocManaged(&d, 4)); *d = 0; void* args[] = {&d};
  CHECK(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr)); CHECK(hipDeviceSynchronize());
  std::printf("%d\\n", *d);
}
"""


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_module_may_be_a_bundle_compressed_with_zlib(tmp_path: Path, version: int) -> None:
    toolchain = find_toolchain(Config())
    source, code = tmp_path / "store.hip", tmp_path / "store.co"
    source.write_text('extern "C" __attribute__((global)) void store(int* d) { *d = 7; }\n')
    flags = ["-x", "hip", "--cuda-device-only", "--gpu-bundle-output", "-O1"]
    assert run_process([*toolchain.compiler, *flags, source, "-o", code], timeout=120).ok
    plain = code.read_bytes()
    packed = zlib.compress(plain)
    layout, *sizes = {
        1: ("<4sHHIQ", len(plain), 0),
        2: ("<4sHHIIQ", 24 + len(packed), len(plain), 0),
        3: ("<4sHHQQQ", 32 + len(packed), len(plain), 0),
    }[version]
    (tmp_path / "code.bin").write_bytes(struct.pack(str(layout), b"CCOB", version, 0, *sizes) + packed)
    assert run_hip(LOAD, tmp_path).stdout == "7\n"

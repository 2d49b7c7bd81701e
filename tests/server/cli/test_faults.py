"""What goes wrong while a program runs on the emulator: one line, an exit code, nothing left behind. And the budget."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.server.command_line import Cli

HEADER = """\
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void good(int* p) { p[threadIdx.x] = threadIdx.x; }
static int told() {
  hipError_t e = hipDeviceSynchronize();
  std::puts(hipGetErrorName(e));
  return e == hipSuccess ? 0 : 3;
}
"""


@pytest.mark.slow
def test_a_kernel_that_never_ends_is_named_and_what_ran_before_is_kept(cli: Cli) -> None:
    (cli.folder / "hipscope.toml").write_text("timeout_s = 6\n")
    source = cli.write(
        HEADER
        + """
__global__ void forever(volatile int* p) { while (p[0] == 0) {} p[1] = 1; }
int main() {
  int* p; (void)hipMalloc(&p, 4096); good<<<1, 64>>>(p); (void)hipMemset(p, 0, 4096);
  forever<<<4, 64>>>(p);
  return told();
}
"""
    )
    outcome = cli("profile", source, "--format", "json")
    assert outcome.code == 4
    assert "program.hip:10: kernel forever: runaway kernel" in outcome.line
    assert [k["name"] for k in json.loads(outcome.stdout)["kernels"]] == ["good(int*)"]


def test_endless_recursion_is_a_stack_overflow_at_its_line(cli: Cli) -> None:
    source = cli.write(
        HEADER
        + """
__device__ __attribute__((noinline)) int deep(int n, volatile int* p) {
  volatile int own[64];
  own[n & 63] = n;
  return p[0] == 123456 ? 0 : deep(n + 1, p) + own[(n * 7) & 63];
}
__global__ void recurse(int* p) { p[1] = deep(0, p); }
int main() { int* p; (void)hipMalloc(&p, 4096); recurse<<<1, 64>>>(p); return told(); }
"""
    )
    outcome = cli("profile", source)
    assert outcome.code == 4
    assert "kernel recurse: stack overflow" in outcome.line
    assert "program.hip:1" in outcome.line  # one of the lines of `deep`


def test_an_instruction_that_is_not_emulated_is_named_before_the_kernel_starts(cli: Cli) -> None:
    source = cli.write(
        HEADER
        + """
__global__ void odd(int* p) { p[0] = 1; asm volatile("s_rfe_b64 s[0:1]" ::: "memory"); }
int main() {
  int* p; (void)hipMalloc(&p, 4096); (void)hipMemset(p, 0, 4096); good<<<1, 64>>>(p + 64);
  odd<<<1, 64>>>(p);
  int before = -1, code = told();
  (void)hipMemcpy(&before, p, 4, hipMemcpyDeviceToHost);
  std::printf("%d\\n", before);
  return code;
}
"""
    )
    outcome = cli("profile", source)
    assert outcome.code == 4
    assert "cannot emulate s_rfe_b64" in outcome.line
    assert "odd" in outcome.line


@pytest.mark.slow
def test_a_launch_that_is_refused_is_told_and_is_the_programs_own_affair(cli: Cli) -> None:
    source = cli.write(
        HEADER
        + """
int main(int argc, char**) {
  int* p; (void)hipMalloc(&p, 4096);
  for (int size = 2048; size > (argc > 1 ? 1024 : 512); size /= 2) {  // looks for the largest that works
    good<<<1, size>>>(p);
    std::puts(hipGetErrorName(hipGetLastError()));
  }
  return told();
}
"""
    )
    why = "the workgroup has 2048 work-items, the kernel allows 1024"
    for command in ("profile", "check"):
        outcome = cli(command, source, "--format", "json")
        assert outcome.code == 0, outcome
        (fault,) = json.loads(outcome.stdout)["faults"]
        assert (fault["kernel"], fault["message"], fault["refused"]) == ("good(int*)", why, True)
        assert "launch refused" in cli(command, source).stdout
    nothing_ran = cli("profile", source, "--", "once")
    assert nothing_ran.code == 4
    assert nothing_ran.line.endswith(f"kernel good: {why}")


def test_an_allocation_of_40_gb_takes_only_what_is_used(cli: Cli) -> None:
    source = cli.write(
        HEADER
        + """
#include <sys/resource.h>
__global__ void touch(char* p, size_t far) { p[threadIdx.x] = 1; p[far + threadIdx.x] = p[threadIdx.x] + 1; }
int main() {
  const size_t n = size_t(40) << 30;
  char *p, *other, last[2] = {};
  for (int round = 0; round < 3; ++round) {
    if (hipMalloc(&p, n) != hipSuccess || hipMalloc(&other, n) != hipSuccess) return 5;
    touch<<<1, 64>>>(p, n - 64);
    (void)hipMemcpy(last, p + n - 2, 2, hipMemcpyDeviceToHost);
    (void)hipFree(p); (void)hipFree(other);
  }
  touch<<<1, 64>>>(p, n - 64);  // freed: the shadow must say so
  rusage used; getrusage(RUSAGE_SELF, &used);
  std::printf("%d %s\\n", last[1], used.ru_maxrss < 600 * 1024 ? "small" : "large");
  return told();
}
"""
    )
    outcome = cli("profile", source)
    assert "out-of-bounds store of 1 byte" in outcome.line
    assert "2 small" in outcome.stdout + outcome.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stop_in_the_middle_of_a_kernel_leaves_nothing_behind(cli: Cli, number: signal.Signals) -> None:
    source = cli.write(
        HEADER
        + """
#include <cstdlib>
#include <thread>
__global__ void forever(volatile int* p) { p[1] = 1; while (p[0] == 0) {} }
int main() {
  int* p; (void)hipHostMalloc(&p, 4096); p[0] = p[1] = 0;
  std::thread([p] {
    while (static_cast<volatile int*>(p)[1] == 0) std::this_thread::yield();
    std::fclose(std::fopen(std::getenv("STARTED"), "w"));
  }).detach();
  forever<<<64, 256>>>(p);
  return told();
}
"""
    )
    started = cli.folder / "started"
    process = cli.start("profile", source, STARTED=str(started))
    deadline = time.monotonic() + 120
    while not started.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert started.exists()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in stderr
    end = time.monotonic() + 20
    while cli.running() and time.monotonic() < end:
        time.sleep(0.1)
    assert cli.running() == []


def test_two_profilers_of_one_program_do_not_disturb_each_other(cli: Cli) -> None:
    source = cli.write(
        HEADER + "int main() { int* p; (void)hipMalloc(&p, 4096); good<<<9, 64>>>(p); return told(); }\n"
    )
    both = [cli.start("profile", source, "--format", "json") for _ in range(2)]
    said = [process.communicate(timeout=180) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    first, second = (json.loads(out) for out, _ in said)
    assert first["kernels"] == second["kernels"]
    cli.assert_nothing_left()


def test_later_launches_run_without_a_profile_and_the_budget_is_told(cli: Cli) -> None:
    (cli.folder / "hipscope.toml").write_text("[emulator]\nprofile_launches = 2\n")
    source = cli.write(
        HEADER
        + """
int main() {
  int* p; (void)hipMalloc(&p, 1 << 20);
  for (int i = 0; i < 50; ++i) good<<<16, 64>>>(p);
  return told();
}
"""
    )
    report = json.loads(cli("profile", source, "--format", "json").stdout)
    assert [k["dispatches"] for k in report["kernels"]] == [50]
    (cli.folder / "hipscope.toml").write_text("[emulator]\ntime_budget_s = 0.000001\n")
    cut = json.loads(cli("profile", source, "--format", "json").stdout)
    assert [k["dispatches"] for k in cut["kernels"]] == [50]
    assert "time budget" in json.dumps(cut)
    assert "time budget" not in json.dumps(report)


def test_the_profile_is_the_same_on_any_number_of_threads(cli: Cli) -> None:
    source = cli.write(
        HEADER
        + """
__global__ void tickets(int* counter, int* out) { out[atomicAdd(counter, 1)] = blockIdx.x; }
int main() {
  int* p; (void)hipMalloc(&p, 1 << 20); (void)hipMemset(p, 0, 4);
  tickets<<<300, 128>>>(p, p + 64); good<<<200, 64>>>(p + 64);
  return told();
}
"""
    )
    reports = []
    for threads in (1, 2, 5):
        (cli.folder / "hipscope.toml").write_text(f"[emulator]\nthreads = {threads}\n")
        reports.append(json.loads(cli("profile", source, "--format", "json").stdout)["kernels"])
    assert reports[0] == reports[1] == reports[2]


STRAY = (
    HEADER
    + """
__global__ void reach(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x + 8]; }
int main() {
  float *in, *out, h[64]; (void)hipMalloc(&in, 256); (void)hipMalloc(&out, 256); (void)hipMemset(in, 0, 256);
  reach<<<1, 64>>>(in, out);
  (void)hipMemcpy(h, out, 256, hipMemcpyDeviceToHost);
  std::printf("%g %d\\n", h[0], h[63] != h[63]);
  return told();
}
"""
)


@pytest.mark.slow
def test_a_profile_that_keeps_going_reports_the_access_and_is_marked(cli: Cli) -> None:
    source = cli.write(STRAY)
    stopped = cli("profile", source)
    assert stopped.code == 4
    assert "program.hip:10: kernel reach: out-of-bounds load of 4 bytes" in stopped.line
    outcome = cli("profile", "--keep-going", source, "--format", "json")
    assert outcome.code == 0, outcome.stderr
    report = json.loads(outcome.stdout)
    assert report["program"]["output"].startswith("0 1\nhipSuccess\n")
    assert [(f["left_out"], f["line"]) for f in report["faults"]] == [(True, 10)]
    assert "left out (--keep-going)" in report["partial"]
    assert [k["name"] for k in report["kernels"]] == ["reach(float const*, float*)"]
    text = " ".join(cli("profile", "--keep-going", source).stdout.split())
    assert "left out in reach(float const*, float*): out-of-bounds load of 4 bytes" in text
    assert "Partial: the program's accesses out of bounds were left out" in text
    checked = cli("check", "--keep-going", source, "--format", "json")
    assert checked.code == 1
    assert json.loads(checked.stdout)["program"]["output"].startswith("0 1\nhipSuccess\n")


def test_what_a_program_printed_before_it_is_stopped_is_not_lost(cli: Cli) -> None:
    (cli.folder / "hipscope.toml").write_text("timeout_s = 3\n")
    text = HEADER + 'int main() { std::printf("half way\\n"); told(); for (volatile int i = 0;; i = 0) {} }\n'
    outcome = cli("profile", cli.write(text))
    assert outcome.code == 4
    assert "half way\n" in outcome.stderr


def test_check_of_a_program_whose_launch_is_refused_says_why_nothing_ran(cli: Cli) -> None:
    source = cli.write(
        HEADER + "int main() { int* p; (void)hipMalloc(&p, 1 << 14); good<<<1, 2048>>>(p); return 0; }\n"
    )
    outcome = cli("check", source)
    assert outcome.code == 4
    assert (
        "no kernel ran; the launch of good(int*) was refused: the workgroup has 2048 work-items"
        in outcome.line
    )
    assert "arguments" not in outcome.stderr

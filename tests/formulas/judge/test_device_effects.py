"""A program that prints nothing is compared by what its launches leave and what it copies to the host."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hipscope.accordo.compare.device_effects import (
    Compared,
    Effect,
    KnownMemory,
    compare_effects,
    unsteady_kernels,
)
from hipscope.accordo.dispatch.element_types import FloatStructure, Segment
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.source.number_types import element_of
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.bench import Bench, open_bench
from hipscope.formulas.judge.whole_program import try_program

SILENT = """#include <hip/hip_runtime.h>
#include <unistd.h>
#include <vector>
__global__ void step(const float* in, float* out, const int* mode) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * 1.5f;
}
int main() {
  const int n = 256;
  float *in, *out;
  int *mode, *stamp;
  (void)hipMalloc(&in, n * sizeof(float));
  (void)hipMalloc(&mode, sizeof(int));
  (void)hipMalloc(&stamp, sizeof(int));
  ALLOCATE
  std::vector<float> host(n, 2.0f);
  const int process = getpid();
  (void)hipMemcpy(stamp, &process, sizeof(int), hipMemcpyHostToDevice);
  for (int round = 0; round < 4; ++round) {
    (void)hipMemcpy(in, host.data(), n * sizeof(float), hipMemcpyHostToDevice);
    (void)hipMemcpy(mode, &round, sizeof(int), hipMemcpyHostToDevice);
    step<<<n / 64, 64>>>(in, out, mode);
    (void)hipMemcpy(host.data(), out, n * sizeof(float), hipMemcpyDeviceToHost);
  }
  (void)hipMemcpy(&host[0], stamp, sizeof(int), hipMemcpyDeviceToHost);
  return 0;
}
"""
RIGHT = "in[i] * 1.5f"
LATE = "in[i] * (*mode == 3 ? 1.0f : 1.5f)"  # no replay of the first launch shows it
ROUNDED = "in[i] * 1.5000001f"


@contextlib.contextmanager
def bench_of(file: Path, text: str, name: str = "") -> Iterator[Bench]:
    file.write_text(text)
    project = resolve_project(file)
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    kernel = next(k for k in session.profile.kernels if k.name.startswith(name))
    with open_bench(project, session, kernel) as opened:
        yield opened


@pytest.mark.parametrize(
    "allocate",
    [
        "hipMalloc(&out, 1024)",
        pytest.param("hipMallocManaged(&out, 1024)", marks=pytest.mark.slow),
    ],
)
def test_what_is_wrong_in_a_late_launch_of_a_silent_program_is_seen(tmp_path: Path, allocate: str) -> None:
    text = SILENT.replace("ALLOCATE", f"(void){allocate};")
    with bench_of(tmp_path / "silent.hip", text) as bench:
        wrong = try_program(bench, text.replace(RIGHT, LATE).encode(), exact=True)
        rounded = try_program(bench, text.replace(RIGHT, LATE).encode(), exact=False)
        same = try_program(bench, text.replace(RIGHT, f"{RIGHT} * 1.0f").encode(), exact=True)
    assert str(wrong.failure).startswith("Launch 4 of the program")
    assert "to the host (1024 bytes) is another one" in str(rounded.failure)
    assert same.failure is None  # the number of the process is another one in each run
    assert "what 4 of 4 launches left in memory and 5 copies to the host" in " ".join(same.notes)


APPENDS = """#include <hip/hip_runtime.h>
__global__ void ones(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 1;
}
__global__ void append(const int* in, int* list, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x % 2 == 0) __builtin_amdgcn_s_sleep(100);
  if (in[i] == 0) list[atomicAdd(count, 1)] = i;
}
int main() {
  int *in, *out, *list, *count;
  (void)hipMalloc(&in, 65536);
  (void)hipMalloc(&out, 65536);
  (void)hipMalloc(&list, 2 * 65536);
  (void)hipMalloc(&count, sizeof(int));
  (void)hipMemset(in, 0, 65536);
  (void)hipMemset(count, 0, sizeof(int));
  ones<<<64, 256>>>(in, out);
  append<<<64, 256>>>(in, list, count);
  int host[64];
  (void)hipMemcpy(host, list, sizeof host, hipMemcpyDeviceToHost);
  return 0;
}
"""


@pytest.mark.slow
def test_what_depends_on_the_order_of_waves_is_not_compared_and_all_else_is(tmp_path: Path) -> None:
    """The emulator runs a program in one order every time, until a rewrite has waves take another time."""
    late = APPENDS.replace("% 2 == 0", "% 2 == 1")
    with bench_of(tmp_path / "appends.hip", APPENDS, "ones") as bench:
        other_order = try_program(bench, late.encode(), exact=True)
        too_many = try_program(bench, late.replace("count, 1)", "count, 2)").encode(), exact=True)
    assert other_order.failure is None
    assert "what varies from run to run was not compared" in " ".join(other_order.notes)
    assert str(too_many.failure).startswith("Launch 2 of the program")


def test_launches_that_are_not_looked_at_do_not_count_as_varying() -> None:
    copy = Effect("", (("copy", "same"),), 4)
    found = compare_effects([[launch("a"), copy], [launch("b"), copy]], [launch("c"), copy], 1e-5)
    assert found == Compared(None, "The same as without the rewrite: 1 copy to the host.")


def test_a_kernel_is_unsteady_where_runs_that_looked_at_it_differ() -> None:
    def run(*left: tuple[str, str]) -> list[Effect]:
        return [Effect(kernel, (("0", digest),) if digest else ()) for kernel, digest in left]

    one = run(("same", "a"), ("other", "b"), ("unseen", "c"), ("loop", ""))
    two = run(("same", "a"), ("other", "x"), ("unseen", ""), ("loop", ""), ("loop", ""))
    assert unsteady_kernels([one, two]) == {"other", "loop"}
    assert unsteady_kernels([one, one]) == frozenset()


@pytest.mark.slow
def test_what_is_wrong_in_a_later_process_only_is_seen(tmp_path: Path) -> None:
    text = SILENT.replace("ALLOCATE", "(void)hipMalloc(&out, 1024);")
    text = text.replace("#include <unistd.h>", "#include <sys/wait.h>\n#include <unistd.h>")
    text = text.replace(
        "int main() {", "int main() {\n  int half = 1;\n  if (fork() == 0) half = 0; else wait(nullptr);"
    )
    text = text.replace("int round = 0; round < 4", "int round = 3 * half; round < 3 + half")
    text = text.replace("(void)hipMemcpy(&host[0], stamp", "if (!half) (void)hipMemcpy(&host[0], stamp")
    with bench_of(tmp_path / "silent.hip", text) as bench:
        wrong = try_program(bench, text.replace(RIGHT, LATE).encode(), exact=True)
        same = try_program(bench, text.replace(RIGHT, f"{RIGHT} * 1.0f").encode(), exact=True)
    assert "leaves other memory" in str(wrong.failure)
    assert same.failure is None


@pytest.mark.slow
def test_floats_of_a_silent_program_may_be_rounded_where_the_proof_says_so(tmp_path: Path) -> None:
    text = SILENT.replace("ALLOCATE", "(void)hipMalloc(&out, 1024);")
    with bench_of(tmp_path / "silent.hip", text) as bench:
        found = {e: try_program(bench, text.replace(RIGHT, ROUNDED).encode(), exact=e) for e in (True, False)}
    assert found[True].failure is not None
    assert found[False].failure is None


PADDED = """#include <cstdio>
#include <hip/hip_runtime.h>
#include <vector>
struct Item { double key; char tag; };  // 7 bytes of padding
__global__ void step(const double* in, Item* out, const int* mode) {
  __shared__ Item tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x].key = in[i] * 1.5f;
  tile[threadIdx.x].tag = 1;
  __syncthreads();
  out[i] = tile[63 - threadIdx.x];
}
int main() {
  const int n = 256;
  double* in;
  Item* out;
  int* mode;
  (void)hipMalloc(&in, n * sizeof(double));
  (void)hipMalloc(&mode, sizeof(int));
  (void)hipMalloc(&out, n * sizeof(Item));
  std::vector<double> host(n, 2.0);
  std::vector<Item> items(n);
  for (int round = 0; round < 4; ++round) {
    (void)hipMemcpy(in, host.data(), n * sizeof(double), hipMemcpyHostToDevice);
    (void)hipMemcpy(mode, &round, sizeof(int), hipMemcpyHostToDevice);
    step<<<n / 64, 64>>>(in, out, mode);
    (void)hipMemcpy(items.data(), out, n * sizeof(Item), hipMemcpyDeviceToHost);
  }
  printf("done SHOWN\\n", reinterpret_cast<unsigned char*>(&items[7])[12]);
  return 0;
}
"""


@pytest.mark.slow
def test_bytes_that_hold_what_nothing_wrote_are_not_compared_and_all_others_are(tmp_path: Path) -> None:
    text = PADDED.replace(" SHOWN", "")
    with bench_of(tmp_path / "padded.hip", text) as bench:
        wrong, same = (
            try_program(bench, text.replace(RIGHT, new).encode(), exact=True, unspecified=True)
            for new in (LATE, f"{RIGHT} * 1.0f")
        )
    assert "is another one than without the rewrite" in str(wrong.failure)
    assert same.failure is None
    assert "Of 4 of them, bytes that hold what nothing wrote were not compared." in " ".join(same.notes)


@pytest.mark.slow
def test_a_program_whose_output_hangs_on_what_nothing_wrote_is_left_alone(tmp_path: Path) -> None:
    text = PADDED.replace("SHOWN", "%d")
    with bench_of(tmp_path / "padded.hip", text) as bench:
        found = try_program(
            bench, text.replace(RIGHT, f"{RIGHT} * 1.0f").encode(), exact=True, unspecified=True
        )
    assert str(found.failure).startswith("The kernel leaves bytes that hold what nothing wrote")


def launch(*digests: str) -> Effect:
    return Effect("step", tuple((str(i), digest) for i, digest in enumerate(digests)))


@pytest.mark.parametrize(
    ("originals", "now", "difference"),
    [
        ([["ab"]], "ab", None),
        ([["ab"]], "ac", "Launch 1 of the program (`step`) leaves other memory than without the rewrite."),
        ([["ab"], ["ax"]], "ac", None),  # the second buffer is another one in each run
        (
            [["ab"], ["ax"]],
            "yb",
            "Launch 1 of the program (`step`) leaves other memory than without the rewrite.",
        ),
        ([["ab"], ["ab"]], "", None),  # it was not looked at
    ],
)
def test_what_differs_between_runs_of_the_original_does_not_count(
    originals: list[list[str]], now: str, difference: str | None
) -> None:
    runs = [[launch(*text) for text in run] for run in originals]
    assert compare_effects(runs, [launch(*now)]).difference == difference


def test_where_nothing_was_looked_at_nothing_is_called_the_same() -> None:
    assert "none of them was looked at" in compare_effects([[launch()]], [launch()]).note
    assert "what 1 of 1 launches" in compare_effects([[launch("a")]], [launch("a")]).note


def test_more_launches_than_before_are_a_difference_unless_their_number_varies() -> None:
    one, two = [launch("a")], [launch("a"), launch("a")]
    assert compare_effects([one], two) == Compared(
        "The program makes other launches or copies with the rewrite."
    )
    assert compare_effects([one, two], two).difference is None


@pytest.mark.parametrize(
    ("kernel", "rounded"),
    [
        ("_Z4stepPKfPd", True),  # step(float const*, double*)
        ("_Z4stepPKfPdPi", False),  # it writes integers, too
        ("_Z4stepPdS_", True),
        ("_Z4stepPd5State", False),  # a structure may hold pointers to anything
        ("step", False),
        ("_Z4stepPK5PlacePS_", True),  # step(Place const*, Place*), of two doubles
        ("_Z4stepPK5OtherPS_", False),
    ],
)
def test_numbers_of_any_size_are_floats_where_the_kernels_write_nothing_else(
    tmp_path: Path, kernel: str, *, rounded: bool
) -> None:
    """henry's Boltzmann factors go from 0 over 1e-300 to infinity, which no guess takes for numbers."""

    def run(name: str, factor: float) -> list[Effect]:
        numbers = np.array([0.0, 1e-300, 3e-200, 1e250, np.inf, 0.0, 7e-90, 2e180]) * factor
        file = tmp_path / name
        file.write_bytes(numbers.tobytes())
        return [Effect(kernel, (("0", name),)), Effect("", (("copy", name),), numbers.nbytes, 0, file)]

    before, after, wrong = run("before", 1.0), run("after", 1.0 + 1e-7), run("wrong", 1.5)
    of = {"Place": FloatStructure("double", 2)}
    assert (compare_effects([before], after, 1e-5, structures=of).difference is None) is rounded
    assert compare_effects([before], wrong, 1e-5, structures=of).difference is not None


FP64 = element_of("double")


@pytest.mark.parametrize(
    ("pieces", "address", "rounded"),
    [
        ((Segment(0, 256, FP64, 0),), 4096, True),
        ((Segment(0, 256, FP64, 0, stored=True),), 4096, True),  # also if only machine code says so
        ((Segment(0, 256, FP64, 0),), 4096 + 64, True),
        ((Segment(0, 256, FP64, 0),), 0, False),  # rows with gaps come from no single place
        ((Segment(0, 256, FP64, 0),), 4096 + 224, False),  # it ends behind what is known
        ((Segment(0, 256, FP64, 0),), 4096 + 4, False),
        ((Segment(0, 256, element_of("long"), 0),), 4096, False),
        ((Segment(0, 16, FP64, 0), Segment(16, 256, element_of("int"), 0)), 4096, False),
        ((Segment(0, 256, FP64, 0, only=np.arange(32) < 30),), 4096, False),
    ],
)
def test_what_a_recorded_launch_leaves_says_what_is_copied_from_there(
    tmp_path: Path, pieces: tuple[Segment, ...], address: int, *, rounded: bool
) -> None:
    """Other kernels of the program write integers, so its pointers alone do not."""

    def run(name: str, factor: float) -> list[Effect]:
        numbers = np.array([0.0, 1e-300, 3e-200, 1e250, np.inf, 0.0, 7e-90, 2e180]) * factor
        file = tmp_path / name
        file.write_bytes(numbers.tobytes())
        copy = Effect("", (("copy", name),), numbers.nbytes, 0, file, address)
        return [Effect("_Z4stepPKfPdPi", (("0", name),)), copy]

    before, after, wrong = run("before", 1.0), run("after", 1.0 + 1e-7), run("wrong", 1.0 + 1e-4)
    known = [KnownMemory(4096, pieces)]
    assert (compare_effects([before], after, 1e-5, memory=known).difference is None) is rounded
    assert compare_effects([before], wrong, 1e-5, memory=known).difference is not None


@pytest.mark.parametrize(
    ("type_name", "units", "rounded"), [("__half", 1, True), ("__half", 4, False), ("float", 1, True)]
)
def test_copied_half_floats_may_be_the_next_ones(
    tmp_path: Path, type_name: str, units: int, *, rounded: bool
) -> None:
    """A sum in another order that is stored as a half float is off by a unit in the last place or by nothing."""
    element = element_of(type_name)

    def run(name: str, more: int) -> list[Effect]:
        numbers = np.linspace(1.0, 1.9, 64).astype(f"<f{element.size}").view(f"<u{element.size}")
        file = tmp_path / name
        file.write_bytes((numbers + np.where(np.arange(64) == 7, more, 0).astype(numbers.dtype)).tobytes())
        return [Effect("", (("copy", name),), numbers.nbytes, 0, file, 4096)]

    known = [KnownMemory(4096, (Segment(0, 64 * element.size, element, 0),))]
    found = compare_effects([run("before", 0)], run("after", units), 1e-5, memory=known)
    assert (found.difference is None) is rounded
    assert compare_effects([run("before", 0)], run("after", units)).difference is not None


@pytest.mark.slow
def test_small_floats_that_are_copied_beside_integers_may_be_rounded(tmp_path: Path) -> None:
    """No guess takes numbers below 1e-6 for floats, but the kernel's own pointer says that they are."""
    text = SILENT.replace("ALLOCATE", "(void)hipMalloc(&out, 1024);").replace("const int* mode", "int* mode")
    text = text.replace("(n, 2.0f)", "(n, 2.0e-9f)")
    with bench_of(tmp_path / "silent.hip", text) as bench:
        rounded, wrong = (
            try_program(bench, text.replace(RIGHT, new).encode(), exact=False)
            for new in (ROUNDED, "in[i] * 1.5002f")
        )
    assert rounded.failure is None
    assert "is another one than without the rewrite" in str(wrong.failure)


# Each step multiplies a difference by about two: after 28 of them the last digit is worth a thousandth.
GROWS = """#include <hip/hip_runtime.h>
#include <vector>
__global__ void step(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 1.0f - 1.9f * in[i] * in[i];
}
int main() {
  const int n = 1024;
  float *in, *out;
  (void)hipMalloc(&in, n * sizeof(float));
  (void)hipMalloc(&out, n * sizeof(float));
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = 0.3f + 0.0005f * i;
  for (int round = 0; round < 14; ++round) {
    (void)hipMemcpy(in, host.data(), n * sizeof(float), hipMemcpyHostToDevice);
    step<<<n / 64, 64>>>(in, out);
    (void)hipMemcpy(host.data(), out, n * sizeof(float), hipMemcpyDeviceToHost);
  }
  return 0;
}
"""
TERM = "1.0f - 1.9f * in[i] * in[i]"


@pytest.mark.slow
def test_a_program_may_multiply_what_a_rewrite_rounds_but_no_wrong_term(tmp_path: Path) -> None:
    with bench_of(tmp_path / "grows.hip", GROWS) as bench:
        otherwise = try_program(
            bench, GROWS.replace(TERM, "1.0f - 1.9f * (in[i] * in[i])").encode(), exact=False
        )
        exact = try_program(bench, GROWS.replace(TERM, "1.0f - 1.9f * (in[i] * in[i])").encode(), exact=True)
        wrong = try_program(
            bench, GROWS.replace(TERM, "1.0f - 1.9002f * in[i] * in[i]").encode(), exact=False
        )
    assert otherwise.failure is None
    assert "differ by no more than 8 times what other roundings change" in " ".join(otherwise.notes)
    assert exact.failure is not None
    assert "to the host (4096 bytes) is another one" in str(wrong.failure)

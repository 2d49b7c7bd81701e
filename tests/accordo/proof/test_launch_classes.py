"""A kernel in a host loop, one grid and another argument each time: every class of launches is replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.dispatch.launch_classes import launch_coverage
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.prepare import Reference

DIGITS = """
#include <hip/hip_runtime.h>
#include <vector>
__global__ void digits(const unsigned* keys, unsigned* counts, int n, int shift) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[(DIGIT) & 15u], 1u);
}
int main() {
  const int n = 512;
  std::vector<unsigned> host(n);
  for (int i = 0; i < n; ++i) host[i] = i * 2654435761u;
  unsigned *keys, *counts;
  (void)hipMalloc(&keys, n * 4);
  (void)hipMalloc(&counts, 64);
  (void)hipMemcpy(keys, host.data(), n * 4, hipMemcpyHostToDevice);
  for (int round = 0; round < 3; ++round)
    for (int shift = 0; shift < PASSES * 4; shift += 4) {
      (void)hipMemset(counts, 0, 64);
      digits<<<n / 64, 64>>>(keys, counts, n, shift);
    }
  return hipDeviceSynchronize();
}
"""
RIGHT = "keys[i] >> shift"


def written(folder: Path, name: str, digit: str, passes: int) -> Path:
    path = folder / f"{name}.hip"
    path.write_text(DIGITS.replace("DIGIT", digit).replace("PASSES", str(passes)))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("digits")


@pytest.fixture(scope="module")
def four_passes(folder: Path) -> Iterator[tuple[accordo.Recording, Reference]]:
    with accordo.capture(written(folder, "digits", RIGHT, 4), kernel="digits") as recording:
        yield recording, accordo.prepare(recording)


@pytest.mark.parametrize("wrong", ["keys[i] >> (shift == 12 ? 8 : shift)", "keys[i] >> (shift & 4)"])
def test_what_is_wrong_in_a_later_pass_only_is_not_equivalent(
    four_passes: tuple[accordo.Recording, Reference], folder: Path, wrong: str
) -> None:
    recording, reference = four_passes
    code = accordo.code_object_of(recording, written(folder, f"wrong_{len(wrong)}", wrong, 4))
    found = validate(reference, code.path)
    assert found.outcome == "different", found.explain()


def test_a_verdict_says_how_many_classes_and_launches_were_replayed(
    four_passes: tuple[accordo.Recording, Reference], folder: Path
) -> None:
    recording, reference = four_passes
    same = accordo.code_object_of(recording, written(folder, "same", f"({RIGHT}) * 1u", 4))
    found = validate(reference, same.path)
    assert found.equivalent, found.explain()
    assert "4 of 4 classes, 4 of 12 launches replayed" in found.reason


def test_of_many_classes_some_late_ones_are_recorded(folder: Path) -> None:
    """Eight beside the first where launches are long: the first four are."""
    long = DIGITS.replace(
        "  if (i < n)",
        '  for (int k = shift < 16 ? 0 : 30000; k < 30000; ++k) asm volatile("s_nop 0");\n  if (i < n)',
    )
    many = folder / "many.hip"
    many.write_text(long.replace("DIGIT", "keys[i] >> (shift / 16 & 31)").replace("PASSES", "100"))
    with accordo.capture(many, kernel="digits") as recording:
        shifts = [d.scalar(3) or 0 for d in recording.dispatches]
        covered = launch_coverage(recording.dispatches)
    assert shifts[:5] == [0, 4, 8, 12, 16]
    assert max(shifts) >= 200
    assert covered is not None
    assert (covered.classes, covered.all_classes, covered.all_launches) == (9, 100, 300)


@pytest.mark.slow
def test_of_short_launches_more_than_eight_classes_are_replayed(folder: Path) -> None:
    """The wrong one is neither among the first nor among the last."""
    wrong = "shift == 28 ? 0u : keys[i] >> (shift / 16 & 31)"
    program = written(folder, "short", "keys[i] >> (shift / 16 & 31)", 14)
    with accordo.capture(program, kernel="digits") as recording:
        covered = launch_coverage(recording.dispatches)
        found = accordo.compare(recording, written(folder, "short_wrong", wrong, 14))
    assert covered is not None
    assert (covered.classes, covered.all_classes, covered.all_launches) == (14, 14, 42)
    assert found.outcome == "different", found.explain()


SWAPS = """
#include <hip/hip_runtime.h>
#include <vector>
__global__ void bitonic(float* v, int j, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int other = i ^ j;
  if (other > i && ((v[i] > v[other]) == ((i & k) == 0))EXTRA) {
    const float t = v[i];
    v[i] = v[other];
    v[other] = t;
  }
}
int main() {
  const int n = 64;
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = (i * 73) % n;
  float* v;
  (void)hipMalloc(&v, n * 4);
  (void)hipMemcpy(v, host.data(), n * 4, hipMemcpyHostToDevice);
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) bitonic<<<n / 64, 64>>>(v, j, k);
  return hipDeviceSynchronize();
}
"""


@pytest.mark.slow
def test_two_numbers_that_change_from_launch_to_launch(folder: Path) -> None:
    """What is wrong in the last stage only, of which no early launch is."""
    program, wrong = folder / "bitonic.hip", folder / "bitonic_wrong.hip"
    program.write_text(SWAPS.replace("EXTRA", ""))
    wrong.write_text(SWAPS.replace("EXTRA", " && k < 64"))
    with accordo.capture(program, kernel="bitonic") as recording:
        found = accordo.compare(recording, wrong)
        covered = launch_coverage(recording.dispatches)
    assert covered is not None
    assert covered.all_launches == covered.all_classes == 21
    assert covered.launches == 21
    assert found.outcome == "different", found.explain()


VIEWS = """
#include <hip/hip_runtime.h>
#include <vector>
struct Part { const float* from; float* to; int first; };
__global__ void copy(Part p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  p.to[p.first + i] = 2.0f * p.from[p.first + i]EXTRA;
}
int main() {
  const int n = 192;
  std::vector<float> host(n, 1.5f);
  float *from, *to;
  (void)hipMalloc(&from, n * 4);
  (void)hipMalloc(&to, n * 4);
  (void)hipMemcpy(from, host.data(), n * 4, hipMemcpyHostToDevice);
  for (int first = 0; first < n; first += 64) copy<<<1, 64>>>(Part{from, to, first});
  return hipDeviceSynchronize();
}
"""


def test_a_number_in_a_structure_that_changes_from_launch_to_launch(folder: Path) -> None:
    program, wrong = folder / "copy.hip", folder / "copy_wrong.hip"
    program.write_text(VIEWS.replace("EXTRA", ""))
    wrong.write_text(VIEWS.replace("EXTRA", " + (p.first == 128 ? 1.0f : 0.0f)"))
    with accordo.capture(program, kernel="copy") as recording:
        found = accordo.compare(recording, wrong)
    assert found.outcome == "different", found.explain()

"""A trial on which the reference itself races or is undefined judges nobody; inputs that nothing varied are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.model.verdict import Verdict

HEAD = """#include <hip/hip_runtime.h>
#include <vector>
template <class T> T* filled(int n, T first, T step) {
  std::vector<T> host(n);
  for (int i = 0; i < n; ++i) host[i] = first + static_cast<T>(i % 61) * step;
  T* p;
  (void)hipMalloc(&p, n * sizeof(T));
  (void)hipMemcpy(p, host.data(), n * sizeof(T), hipMemcpyHostToDevice);
  return p;
}
"""

# With another pitch the rows overlap, and the workgroups race.
PITCH = (
    HEAD
    + """__global__ void k(const float* in, float* out, int pitch, int width) {
  const int c = threadIdx.x;
  if (c < width) out[blockIdx.x * pitch + c] = in[blockIdx.x * width + c] + blockIdx.x;
}
int main() {
  k<<<8, 64>>>(filled<float>(8 * 64, 0, 1), filled<float>(8 * 64, 0, 0), 64, 64);
  return hipDeviceSynchronize();
}
"""
)
# With another stride the places that workgroups update meet.
STRIDE = (
    HEAD
    + """__global__ void k(int* sums, const int* in, int stride, int n) {
  int* mine = sums + blockIdx.x * stride;
  for (int i = 0; i < n; ++i) mine[threadIdx.x] += in[i * 64 + threadIdx.x] * (blockIdx.x + 1);
}
int main() {
  k<<<4, 64>>>(filled<int>(256, 0, 0), filled<int>(640, 1, 3), 64, 10);
  return hipDeviceSynchronize();
}
"""
)
# Where equal keys meet, who comes last wins.
SCATTER = (
    HEAD
    + """__global__ void k(const unsigned char* place, const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[place[i]] = in[i];
}
int main() {
  k<<<1, 61>>>(filled<unsigned char>(61, 0, 1), filled<int>(61, 5, 7), filled<int>(256, 0, 0));
  return hipDeviceSynchronize();
}
"""
)
# More lanes than the tile in LDS has places.
TILE = (
    HEAD
    + """__global__ void k(const float* in, float* out, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x % n] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x % n];
}
int main() {
  k<<<1, 64>>>(filled<float>(64, 0, 1), filled<float>(64, 0, 0), 64);
  return hipDeviceSynchronize();
}
"""
)


def compared(folder: Path, program: str, candidate: str | None = None) -> Verdict:
    """The verdict on the candidate's kernel `k`; None: a copy of the program itself."""
    file, other = folder / "program.hip", folder / "candidate.hip"
    file.write_text(program)
    other.write_text(candidate or program)
    with accordo.capture(file, kernel="k") as recording:
        return accordo.compare(recording, other)


@pytest.mark.parametrize(
    "program", [PITCH, STRIDE, SCATTER, TILE], ids=["pitch", "stride", "scatter", "tile"]
)
def test_a_copy_of_a_kernel_is_equivalent_and_trials_on_which_it_races_are_named(
    tmp_path: Path, program: str
) -> None:
    """And an input with a line each is varied, or not varied for a reason."""
    found = compared(tmp_path, program)
    assert found.equivalent, found.explain()
    named = [t for t in found.trials if t.outcome == "dropped" and "the reference itself" in t.detail]
    assert any("races" in t.detail or "lanes of one store" in t.detail for t in named), found.explain()
    assert all("varied in" in line or "never varied, because" in line for line in found.inputs)
    if program == PITCH:
        inputs = {line.partition(":")[0] for line in found.inputs}
        assert inputs >= {"`in`", "`pitch`", "`width`", "the grid size", "the workgroup size"}


# With another length in bytes the rows' floats lie across each other's.
BYTES = (
    HEAD
    + """__global__ void k(float* image, int pitch, int width) {
  float* row = (float*)((unsigned char*)image + threadIdx.x * pitch);
  for (int i = 1; i < width; ++i) row[i] = 0.5f * row[i - 1] - row[i];
}
int main() {
  k<<<1, 64>>>(filled<float>(64 * 40, 1, 0.25f), 160, 40);
  return hipDeviceSynchronize();
}
"""
)
# Bytes may lie anywhere, also where the compiler reads four at once.
PACKED = (
    HEAD
    + """__global__ void k(const unsigned char* in, unsigned* out, int width) {
  const unsigned char* row = in + blockIdx.x * width;
  const int t = 4 * threadIdx.x;
  if (t + 3 < width)
    out[blockIdx.x * 16 + threadIdx.x] = row[t] | row[t + 1] << 8 | row[t + 2] << 16 | row[t + 3] << 24;
}
int main() {
  k<<<8, 64>>>(filled<unsigned char>(8 * 64, 0, 1), filled<unsigned>(8 * 16, 0, 0), 64);
  return hipDeviceSynchronize();
}
"""
)
ALIGNED = PACKED.replace(
    "row[t] | row[t + 1] << 8 | row[t + 2] << 16 | row[t + 3] << 24",
    "*(const unsigned*)((unsigned long long)(row + t) & ~3ULL)",
)


def test_a_trial_on_which_the_references_floats_are_misaligned_is_dropped(tmp_path: Path) -> None:
    found = compared(tmp_path, BYTES)
    assert found.equivalent, found.explain()
    named = [t.detail for t in found.trials if t.outcome == "dropped"]
    assert any("past a multiple of 4" in detail for detail in named), found.explain()


def test_bytes_that_are_read_in_words_are_still_tried_at_other_addresses(tmp_path: Path) -> None:
    found = compared(tmp_path, PACKED, ALIGNED)
    assert not found.equivalent
    assert compared(tmp_path, PACKED).equivalent


LIST = (
    HEAD
    + """struct Node { Node* next; int value; int pad; };
__global__ void link(Node* nodes, int n) {
  for (int i = 0; i < n; ++i) nodes[i] = {nodes + (i + 1) % n, i, 0};
}
__global__ void k(const Node* first, const float* scale, float* out) {
  float sum = 0.0f;
  const Node* at = first;
  for (int i = 0; i < 40; ++i, at = at->next) sum += at->value * scale[threadIdx.x];
  out[threadIdx.x] = sum;
}
int main() {
  Node* nodes;
  (void)hipMalloc(&nodes, 64 * sizeof(Node));
  link<<<1, 1>>>(nodes, 64);
  k<<<1, 64>>>(nodes, filled<float>(64, 1, 0.5f), filled<float>(64, 0, 0));
  return hipDeviceSynchronize();
}
"""
)


def test_an_input_that_no_trial_could_vary_weakens_the_verdict_by_name(tmp_path: Path) -> None:
    found = compared(tmp_path, LIST)
    assert found.equivalent, found.explain()
    assert "; `first` was never varied" in found.reason
    lines = {line.partition(":")[0]: line for line in found.inputs}
    assert lines["`first`"].startswith("`first`: never varied, because ")
    assert "varied in" in lines["`scale`"]


def test_a_project_may_require_that_every_input_was_varied(tmp_path: Path) -> None:
    (tmp_path / "hipscope.toml").write_text('[accordo]\nrequire = "all"\n')
    found = compared(tmp_path, LIST)
    assert found.outcome == "inconclusive"
    assert "It cannot be proved for all inputs" in found.reason
    assert "`first` was never varied" in found.reason
    assert any(line.startswith("`first`: never varied") for line in found.inputs)


SCALED = (
    HEAD
    + """__global__ void k(const float* in, float* out) { out[threadIdx.x] = 2.0f * in[threadIdx.x]; }
int main() {
  k<<<1, 64>>>(filled<float>(64, 1, 2), filled<float>(64, 0, 0));
  return hipDeviceSynchronize();
}
"""
)


@pytest.mark.parametrize("flags", ["", "-ffast-math"])
def test_no_input_is_nan_where_the_program_is_compiled_to_have_none(tmp_path: Path, flags: str) -> None:
    (tmp_path / "hipscope.toml").write_text(f"flags = {flags.split()!r}\n")
    found = compared(tmp_path, SCALED)
    assert found.equivalent, found.explain()
    assert any("NaN" in t.inputs for t in found.trials) is not bool(flags)
    assert ("compiled to have neither NaN nor infinity" in found.explain()) is bool(flags)


# Rows by an index that is never below zero; the reference reads beyond the table for all that it does not look for.
PADDED = (
    HEAD
    + """__global__ void k(const float* table, const int* index, float* out, int width) {
  const int row = index[blockIdx.x];
  out[blockIdx.x * width + threadIdx.x] = PADDING ? 0.0f : table[row * width + threadIdx.x];
}
int main() {
  k<<<60, 8>>>(filled<float>(480, 1, 0.25f), filled<int>(60, 0, 1), filled<float>(480, 0, 0), 8);
  return hipDeviceSynchronize();
}
"""
)


@pytest.mark.parametrize("padding", ["row < 0", "row == -1"])
def test_a_lost_guard_is_seen_though_the_reference_fails_on_other_indices(
    tmp_path: Path, padding: str
) -> None:
    found = compared(tmp_path, PADDED.replace("PADDING", padding), PADDED.replace("PADDING", "false"))
    assert found.outcome == "different", found.explain()
    assert "negative" in found.reason or "-1" in found.reason

"""Kernels that leave bytes which hold what nothing wrote: what is left out of a proof of theirs, and what never is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.dispatch.captured import read_capture_set
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.reference.unspecified import keep_unspecified, read_unspecified
from tests.accordo.conftest import write_capture

Judge = Callable[..., Verdict]

# Of each structure, 7 bytes are padding: copies of whole structures carry what LDS held before.
TURNED = """#include <hip/hip_runtime.h>
struct Item { double key; char tag; };
__global__ void k(const double* in, Item* out) {
  __shared__ Item tile[64];
  tile[threadIdx.x].key = in[blockIdx.x * 64 + threadIdx.x];
  tile[threadIdx.x].tag = static_cast<char>(threadIdx.x);
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}
int main() {
  double* in;
  Item* out;
  (void)hipMalloc(&in, 128 * sizeof(double));
  (void)hipMalloc(&out, 128 * sizeof(Item));
  (void)hipMemset(in, 1, 128 * sizeof(double));
  k<<<2, 64>>>(in, out);
  return hipDeviceSynchronize();
}
"""
COPIED = "out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];"
BY_MEMBERS = (
    "Item* o = out + blockIdx.x * 64 + threadIdx.x; const Item& t = tile[63 - threadIdx.x]; "
    "o->key = t.key; o->tag = t.tag;"
)

LOOP = "def kernel(b, order):\n    for i in order:\n        if i < 48: {}\n"
PADDED = LOOP.format("b[1][i] = lds[i] if i % 3 == 2 else b[0][i] * 2")  # a third of what it writes


@pytest.mark.parametrize(
    "candidate",
    [
        PADDED,
        LOOP.format("b[1][i] = lds[63 - i] if i % 3 == 2 else b[0][i] + b[0][i]"),
        LOOP.format("b[1][i] = 5 if i % 3 == 2 else b[0][i] * 2"),
        LOOP.format("b[1][i] = order[0] if i % 3 == 2 else b[0][i] * 2"),
    ],
)
def test_bytes_that_hold_what_nothing_wrote_may_be_any(judge: Judge, candidate: str) -> None:
    verdict = judge(candidate, PADDED, code="i")
    assert verdict.equivalent
    assert verdict.unspecified_bytes == 64
    assert "64 of 192 bytes were left out" in verdict.reason
    assert len([t for t in verdict.trials if t.outcome == "same"]) > 10


@pytest.mark.parametrize(
    "candidate",
    [
        LOOP.format("b[1][i] = lds[i] if i % 3 == 1 else b[0][i] * 2"),
        LOOP.format("b[1][i] = lds[i] if i % 3 == 2 or i == 30 else b[0][i] * 2"),
        LOOP.format("b[1][i] = lds[i] if i % 3 == 2 else b[0][i] * 2 + (i == 0)"),
        LOOP.format("b[1][i] = lds[i] if i % 3 == 2 else b[0][i] * 2 + (i == order[0])"),
        LOOP.format("b[1][i] = b[1][i + 1] = lds[i] if i % 3 == 2 else b[0][i] * 2"),
        LOOP.format("b[1][i] = lds[i] if i % 3 == 2 else b[0][i] * 2 + (b[0][4] > 4) * lds[3]"),
    ],
    ids=["other", "one more", "wrong", "by order", "beyond", "on other inputs"],
)
def test_what_the_original_defines_is_compared(judge: Judge, candidate: str) -> None:
    verdict = judge(candidate, PADDED, code="i")
    assert verdict.outcome == "different"


def test_a_candidate_may_not_leave_what_nothing_wrote_where_the_original_does_not(judge: Judge) -> None:
    verdict = judge(PADDED, LOOP.format("b[1][i] = b[0][i] * 2"), code="i")
    assert verdict.outcome == "different"
    assert verdict.unspecified_bytes == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("b[1][i] = lds[i] + 1 if i % 3 == 2 else b[0][i] * 2", "is computed from memory that nothing wrote"),
        (
            "b[1][i] = b[0][i] * 2 if lds[i] % 2 else b[0][i] * 3",
            "is computed from memory that nothing wrote",
        ),
        (
            "b[1][i] = lds[i] if i % 3 else b[0][i] * 2",
            "128 of the 192 bytes that it writes to buffer 1 are copies",
        ),
        ("b[1][i] = lds[i] if i % 3 == 2 else b[0][order[0] % 48]", "not reproducible"),
        ("b[1][i] = lds[order[0]] if i % 3 == 2 else b[0][i] * 2", "not reproducible"),
    ],
    ids=["computed", "chosen", "too many", "by order", "copies by order"],
)
def test_nothing_is_proved_where_a_result_depends_on_what_nothing_wrote(
    judge: Judge, body: str, words: str
) -> None:
    verdict = judge(LOOP.format(body), LOOP.format(body), code="i")
    assert verdict.outcome == "inconclusive"
    assert words in verdict.reason


def test_a_race_that_makes_a_kernel_not_reproducible_is_named(judge: Judge) -> None:
    racing = LOOP.format("b[1][0] = b[0][i]  # defect data-race")
    assert "it races (a data-race)" in judge(racing, racing, code="i").reason


@pytest.mark.parametrize(
    ("other", "outcome"),
    [(BY_MEMBERS, "equivalent"), (f"{COPIED} out[blockIdx.x * 64].tag = 5;", "different")],
)
def test_the_padding_of_structures_is_left_out(tmp_path: Path, other: str, outcome: str) -> None:
    (tmp_path / "reference.hip").write_text(TURNED)
    (tmp_path / "candidate.hip").write_text(TURNED.replace(COPIED, other))
    with accordo.capture(tmp_path / "reference.hip", kernel="k") as recording:
        verdict = accordo.compare(recording, tmp_path / "candidate.hip")
    assert verdict.outcome == outcome
    assert verdict.unspecified_bytes == (128 * 7 if outcome == "equivalent" else 0)


def test_what_is_left_out_is_read_again(tmp_path: Path) -> None:
    (dispatch,) = read_capture_set(write_capture(tmp_path))
    mask = np.arange(dispatch.buffers[1].size) % 5 == 3
    keep_unspecified({1: mask}, tmp_path)
    found = read_unspecified(tmp_path, dispatch)
    assert list(found) == [1]
    assert (found[1] == mask).all()

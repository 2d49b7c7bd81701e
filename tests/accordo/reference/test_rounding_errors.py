"""Floats whose terms cancel, so that only rounding is left of them: right rewrites, wrong ones, and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.rounding_errors import STEPS, Pair, may_cancel, truth_of
from hipscope.analysis.toolchain.build import compile_device

# The field of the program itself is the same everywhere.
PROGRAM = """#include <hip/hip_runtime.h>
#include <vector>
using real = float;
__global__ void slope(const real* in, real* out, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 2 || i >= n - 2) return;
  const float sum = 1.3333334f * in[i + 1] - 1.3333334f * in[i - 1] + 0.16666667f * in[i - 2] - 0.16666667f * in[i + 2];
  out[i] = sum * scale;
}
int main() {
  const int n = 256;
  std::vector<float> host(n, 1.7f);
  float *in, *out;
  (void)hipMalloc(&in, n * sizeof(float));
  (void)hipMalloc(&out, n * sizeof(float));
  (void)hipMemcpy(in, host.data(), n * sizeof(float), hipMemcpyHostToDevice);
  slope<<<4, 64>>>(in, out, n, 0.3f);
  (void)hipDeviceSynchronize();
}
"""
SUM = "1.3333334f * in[i + 1] - 1.3333334f * in[i - 1] + 0.16666667f * in[i - 2] - 0.16666667f * in[i + 2]"

Compare = Callable[[str, str], Verdict]


@contextmanager
def recorded(folder: Path, program: str) -> Iterator[Compare]:
    """A function that replaces a part of the program and gives the verdict of that."""
    source = folder / "reference.hip"
    source.write_text(program)
    with accordo.capture(source, kernel="slope") as recording:
        reference = accordo.prepare(recording)

        def compare(old: str, new: str) -> Verdict:
            assert program.count(old) == 1
            changed = recording.run.replacing(source, program.replace(old, new).encode())
            code = compile_device(recording.project, recording.toolchain, source, changed)
            return validate(reference, code.path)

        yield compare


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compare]:
    with recorded(tmp_path_factory.mktemp("rounding"), PROGRAM) as compare:
        yield compare


def test_the_rounding_of_terms_that_cancel_may_be_another_one(compared: Compare) -> None:
    """On the recorded inputs nothing but that is left."""
    verdict = compared(SUM, "1.3333334f * (in[i + 1] - in[i - 1]) - 0.16666667f * (in[i + 2] - in[i - 2])")
    assert verdict.equivalent, verdict.explain()
    assert any("only rounding is left of `out`" in note for note in verdict.notes)
    assert not any("no comparison" in note for note in verdict.notes)


def test_more_than_the_rounding_of_terms_that_cancel_is_rejected(compared: Compare) -> None:
    off = "sum * scale + (in[i + 1] == in[i - 1] ? 3e-6f * in[i] : 0.0f)"
    verdict = compared("sum * scale", off)
    assert verdict.outcome == "different", verdict.explain()
    assert "to which the original is nearer" in verdict.reason


@pytest.mark.slow
def test_what_the_original_computes_without_rounding_stays_so(tmp_path: Path) -> None:
    """The difference of two floats that are near each other is exact."""
    exact = PROGRAM.replace(SUM, "in[i + 1] - in[i - 1]").replace("sum * scale", "sum")
    small = "fabsf(sum) < 3e-7f * fabsf(in[i]) ? 0.0f : sum"
    near = exact.replace(
        "host(n, 1.7f);", "host(n, 1.7f);\n  for (int i = 0; i < n; i += 3) host[i] += 2.4e-7f;"
    )
    with recorded(tmp_path, near) as compare:
        verdict = compare("out[i] = sum", f"out[i] = {small}")
    assert verdict.outcome == "different", verdict.explain()


@pytest.mark.slow
def test_another_branch_at_a_tie_is_no_rounding(tmp_path: Path) -> None:
    tie = PROGRAM.replace("sum * scale", "sum * scale + (in[i] > 1.7f ? 1e-5f : 0.0f)")
    with recorded(tmp_path, tie) as compare:
        verdict = compare("> 1.7f", ">= 1.7f")
    assert verdict.outcome == "different", verdict.explain()


STEP = (STEPS.least + STEPS.most) / 2
COUNT = 1000
ALL = np.ones(COUNT, dtype=bool)
ZEROS = np.zeros(COUNT)


def pairs(off: float, unit: float) -> list[Pair]:
    """What eight nudges leave: an element moves by `unit` for a unit in the last place, and is off by about `off`."""
    rng = np.random.default_rng(3)
    moved = [rng.standard_normal(COUNT) * unit * STEP for _ in range(8)]
    return [Pair(exact + off * rng.standard_normal(COUNT), exact) for exact in moved]


def test_what_the_original_is_off_by_on_the_same_inputs_is_rounding() -> None:
    truth = truth_of(ZEROS, ZEROS, pairs(2e-7, 1e-7), ALL)
    assert truth is not None
    assert np.sqrt(np.mean(np.square(truth.rounding))) == pytest.approx(4e-7, rel=0.2)
    assert truth.rounding.min() > 1.5e-7, "one that had luck is off as the others are"


def test_a_branch_that_a_step_takes_is_none() -> None:
    jump = 1.0
    taken = [np.where(np.arange(COUNT) % 2 == way, jump, 0.0) for way in (0, 1) * 4]
    truth = truth_of(ZEROS, ZEROS, [Pair(one, one) for one in taken], ALL)
    assert truth is None or truth.rounding.max() == 0
    noisy = [Pair(one + jump, one) for one in taken]
    truth = truth_of(ZEROS, ZEROS, noisy, ALL)
    assert truth is not None
    assert 8 * truth.rounding.max() < jump / 12


def test_where_the_original_takes_another_branch_nothing_is_known() -> None:
    own = ZEROS.copy()
    own[7] = 1.0
    truth = truth_of(own, ZEROS, pairs(2e-7, 1e-7), ALL)
    assert truth is not None
    assert np.flatnonzero(np.isnan(truth.exact)).tolist() == [7]


def test_what_rounding_does_not_explain_is_another_function() -> None:
    assert truth_of(ZEROS + 1e-3, ZEROS, pairs(2e-7, 1e-7), ALL) is None


def test_results_that_are_large_beside_their_rounding_need_no_more_runs() -> None:
    (first, *_) = pairs(2e-7, 1e-7)
    assert may_cancel(ZEROS + 1e-6, ZEROS, first.exact, ALL)
    assert not may_cancel(ZEROS + 1.0, ZEROS + 1.0, first.exact + 1.0, ALL)

"""Doubles, for which there is no wider type: sums that cancel, in another order and wrong; branches; exact sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.reference.nudged_runs import Moved, nudged, roundings

# What each work-item adds up is a million times as large as what is left of it.
PROGRAM = """#include <hip/hip_runtime.h>
#include <vector>
constexpr int kTerms = 64;
__global__ void remainder(const double* in, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (int k = 0; k < kTerms; ++k) sum += in[k * n + i];
  out[i] = sum;
}
int main() {
  const int n = 128;
  std::vector<double> host(kTerms * n);
  for (int k = 0; k < kTerms; ++k)
    for (int i = 0; i < n; ++i) host[k * n + i] = (k % 2 ? -1e6 : 1e6) * (1 + (k / 2) / 7.0) + (k * 37 + i) % 11 / 3.0;
  double *in, *out;
  (void)hipMalloc(&in, host.size() * sizeof(double));
  (void)hipMalloc(&out, n * sizeof(double));
  (void)hipMemcpy(in, host.data(), host.size() * sizeof(double), hipMemcpyHostToDevice);
  remainder<<<2, 64>>>(in, out, n);
  (void)hipDeviceSynchronize();
}
"""
LOOP = "for (int k = 0; k < kTerms; ++k)"

# The same, but what rounding loses is added back: the sum is exact but for its last place.
COMPENSATED = PROGRAM.replace(
    "  double sum = 0;\n  for (int k = 0; k < kTerms; ++k) sum += in[k * n + i];\n",
    "  double sum = 0, lost = 0;\n  for (int k = 0; k < kTerms; ++k) {\n    const double more = in[k * n + i] - lost;\n"
    "    const double next = sum + more;\n    lost = (next - sum) - more;\n    sum = next;\n  }\n",
)
# Inputs are whole numbers, so that each that is a tie is none after a nudge; one output is large.
COUNT = PROGRAM.replace("sum += in[k * n + i];", "sum += in[k * n + i] > 3 ? 1 : 0;")
COUNT = COUNT.replace("out[i] = sum", "out[i] = i == 0 ? 1e8 : sum").replace(
    "(k % 2 ? -1e6 : 1e6) * (1 + (k / 2) / 7.0) + (k * 37 + i) % 11 / 3.0", "(k * 7 + i) % 5"
)

Compare = Callable[[str, str], Verdict]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compare:
    folder = tmp_path_factory.mktemp("nudged")

    def compare(program: str, new: str) -> Verdict:
        assert new != program
        (folder / "reference.hip").write_text(program)
        (folder / "candidate.hip").write_text(new)
        with accordo.capture(folder / "reference.hip", kernel="remainder") as recording:
            return accordo.compare(recording, folder / "candidate.hip")

    return compare


def test_another_order_of_additions_is_accepted_where_they_cancel(compared: Compare) -> None:
    verdict = compared(PROGRAM, PROGRAM.replace(LOOP, "for (int k = kTerms - 1; k >= 0; --k)"))
    assert verdict.equivalent, verdict.explain()


def test_more_than_rounding_is_rejected(compared: Compare) -> None:
    verdict = compared(
        PROGRAM, PROGRAM.replace("out[i] = sum", "out[i] = (i == 77 ? sum * (1 + 1e-7) : sum)")
    )
    assert verdict.outcome == "different", verdict.explain()


def test_a_sum_that_is_compensated_for_its_roundings_stays_so(compared: Compare) -> None:
    verdict = compared(COMPENSATED, COMPENSATED.replace("n + i] - lost", "n + i] + lost"))
    assert verdict.outcome == "different", verdict.explain()


def test_another_branch_at_a_tie_is_no_rounding_beside_a_large_output(compared: Compare) -> None:
    verdict = compared(COUNT, COUNT.replace("> 3", ">= 3"))
    assert verdict.outcome == "different", verdict.explain()


STEP = 49152.0  # units in the last place, about what an input is moved by
WRITTEN = np.ones(4, dtype=bool)


def pairs(rounding: float, unit: float) -> list[Moved]:
    """Runs on four numbers; that by which both of a pair are off is rounding, the rest comes from the step."""
    off = [np.full(4, rounding) * np.sqrt(1.5) * sign for sign in (1, -1, 1)]
    return [Moved(o + unit * STEP, o - unit * STEP) for o in off]


def test_what_both_runs_of_a_pair_are_off_by_is_rounding() -> None:
    assert roundings(np.ones(4), pairs(3e-15, 1e-15), WRITTEN) == pytest.approx(3e-15, rel=1e-6, abs=0)


def test_a_jump_as_large_as_the_step_is_long_is_none() -> None:
    assert roundings(np.ones(4), pairs(1e-7, 1e-7 / STEP), WRITTEN) == pytest.approx(
        64e-7 / STEP, rel=1e-6, abs=0
    )


def test_what_no_input_moves_has_no_rounding() -> None:
    assert roundings(np.ones(4), pairs(1e-9, 0.0), WRITTEN).max() == 0


def test_a_number_that_had_luck_is_off_as_the_others_are() -> None:
    moved = pairs(3e-15, 1e-15)
    for pair in moved:
        pair.up[2], pair.down[2] = STEP * 1e-15, -STEP * 1e-15
    found = roundings(np.ones(4), moved, WRITTEN)
    assert found[2] == pytest.approx(np.sqrt(3 / 4) * 3e-15, rel=1e-6, abs=0)
    assert roundings(np.ones(4), moved, np.arange(4) != 2)[2] == 0, "what nothing writes has none"


def test_steps_are_the_same_both_ways_and_change_no_sign() -> None:
    tiny = np.finfo(np.float64).tiny
    numbers = np.array([0.0, -0.0, np.nan, np.inf, tiny, 1.0, -2.5, np.finfo(np.float64).max])
    up, down = (
        np.frombuffer(nudged(numbers.tobytes(), way, np.random.default_rng(1)), dtype="<f8")
        for way in (1, -1)
    )
    moved = [5, 6]
    assert (up[moved] != numbers[moved]).all()
    assert (up[moved] - numbers[moved] == numbers[moved] - down[moved]).all()
    stay = [0, 1, 2, 3, 4, 7]
    assert up[stay].tobytes() == down[stay].tobytes() == numbers[stay].tobytes()

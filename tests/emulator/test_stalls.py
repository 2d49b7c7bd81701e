"""Planted stalls: each kernel waits for one known reason on one known line, and the model must say so."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from hipscope.emulator.raw import RawDispatch, RawInstruction, read_dispatches, read_profile
from hipscope.emulator.symbolize import Symbolizer
from tests.emulator.hip_run import record

SOURCE = Path(__file__).parent / "stalls.hip"
MARK = re.compile(r"// @(\w+)$")


@dataclass(frozen=True)
class Kernel:
    """One profiled launch. Lines are named by the `// @name` marks of the source; others have the name ''."""

    dispatch: RawDispatch
    instructions: tuple[RawInstruction, ...]
    line_of: dict[int, str]

    def stalls(self) -> dict[tuple[str, str], float]:
        """(line, reason) -> share of all stall cycles."""
        shares: dict[tuple[str, str], float] = defaultdict(float)
        total = sum(i.stall for i in self.instructions)
        for i in self.instructions:
            for reason, cycles in i.stalls.items():
                shares[self.line_of[i.address], reason] += cycles / total
        return shares

    def share(self, line: str, reason: str) -> float:
        return self.stalls().get((line, reason), 0.0)

    def stalled(self, line: str, reason: str) -> float:
        """Cycles over all waves."""
        return sum(i.stalls.get(reason, 0) for i in self.instructions if self.line_of[i.address] == line)

    def blamed(self) -> dict[str, float]:
        """Line of the producer -> share of all cycles for which a wave waited."""
        shares: dict[str, float] = defaultdict(float)
        total = sum(c for i in self.instructions for c in i.waited_for.values())
        for i in self.instructions:
            for producer, cycles in i.waited_for.items():
                shares[self.line_of[producer]] += cycles / total
        return shares

    @property
    def ns(self) -> float:
        assert self.dispatch.start_ns is not None
        assert self.dispatch.end_ns is not None
        return self.dispatch.end_ns - self.dispatch.start_ns


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kernel]:
    """All kernels of stalls.hip by name, from one run."""
    folder = tmp_path_factory.mktemp("stalls")
    out = record(SOURCE, folder, "mi300a")
    marks = {
        number: match[1]
        for number, text in enumerate(SOURCE.read_text().splitlines(), start=1)
        if (match := MARK.search(text))
    }
    found = {}
    for dispatch in read_dispatches(out):
        symbols = Symbolizer(out / "code_objects" / f"{dispatch.code_object}.co")
        profile = read_profile(out, dispatch.id)
        assert profile is not None
        lines = {}
        for i in profile.instructions:
            chain = symbols.positions(i.address)
            lines[i.address] = marks.get(chain[-1].line, "") if chain else ""
        length, rest = re.match(r"_Z(\d+)(.*)", dispatch.kernel).groups()  # type: ignore[union-attr]
        found[rest[: int(length)]] = Kernel(dispatch, profile.instructions, lines)
    return found


def test_of_two_loads_the_one_that_is_waited_for_gets_the_blame(kernels: dict[str, Kernel]) -> None:
    kernel = kernels["two_loads"]
    assert kernel.share("wait_slow", "global_memory") > 0.7
    assert kernel.blamed()["slow_load"] > 0.8


def test_waiting_for_all_loads_still_blames_the_slow_one(kernels: dict[str, Kernel]) -> None:
    kernel = kernels["two_loads_late"]
    assert kernel.share("wait_all", "global_memory") > 0.7
    assert kernel.blamed()["slow_load"] > 0.8


def test_lds_conflicts_and_global_waits_of_one_kernel_are_told_apart(kernels: dict[str, Kernel]) -> None:
    kernel = kernels["lds_and_global"]
    assert kernel.share("lds_wait", "lds") > 0.05
    assert kernel.share("global_wait", "global_memory") > 0.1
    assert kernel.share("lds_wait", "global_memory") == 0
    assert kernel.share("global_wait", "lds") == 0
    assert kernel.blamed()["lds_read"] > 0.05
    assert kernel.blamed()["global_read"] > 0.1


def test_waves_that_arrive_early_wait_at_the_barrier(kernels: dict[str, Kernel]) -> None:
    assert kernels["imbalance"].share("barrier", "barrier") > 0.6


def test_a_queue_of_atomics_on_one_address_is_the_atomics_fault(kernels: dict[str, Kernel]) -> None:
    kernel = kernels["atomic_queue"]
    assert kernel.share("atomic", "atomic") > 0.6
    assert kernel.blamed()["atomic"] > 0.9
    assert kernel.dispatch.bound_by == "atomic"


def test_a_loop_larger_than_the_instruction_cache_waits_for_fetches(kernels: dict[str, Kernel]) -> None:
    large, small = kernels["large_loop"], kernels["small_loop"]
    assert large.share("large", "instruction_fetch") > 0.9
    # As many instructions; the small loop is fetched in its first of 12 passes only.
    assert small.stalled("small", "instruction_fetch") < large.stalled("large", "instruction_fetch") / 8
    assert large.ns > 2 * small.ns


def test_a_chain_of_transcendentals_waits_for_its_own_results(kernels: dict[str, Kernel]) -> None:
    assert kernels["trans_chain"].share("chain", "dependency") > 0.5


def test_independent_transcendentals_keep_the_pipe_busy(kernels: dict[str, Kernel]) -> None:
    kernel = kernels["trans_independent"]
    assert kernel.share("independent", "pipe_busy") > 0.5
    assert kernel.share("independent", "dependency") < 0.01  # the first waits for the conversion of its input


def test_a_scalar_pointer_chase_waits_for_scalar_memory(kernels: dict[str, Kernel]) -> None:
    kernel = kernels["scalar_chase"]
    assert kernel.share("scalar", "scalar_memory") > 0.7
    assert kernel.blamed()["scalar"] > 0.7


def test_a_matrix_product_that_feeds_the_next_one_waits_for_it(kernels: dict[str, Kernel]) -> None:
    assert kernels["mfma_chain"].share("product", "dependency") > 0.3


def test_accumulation_in_place_is_forwarded_and_only_the_pipe_limits_it(kernels: dict[str, Kernel]) -> None:
    kernel = kernels["mfma_accumulate"]
    assert kernel.share("accumulate", "dependency") == 0
    assert kernel.share("accumulate", "pipe_busy") > 0.3


def test_lds_limits_occupancy_and_less_occupancy_hides_less_latency(kernels: dict[str, Kernel]) -> None:
    few, many = kernels["few_waves"], kernels["many_waves"]
    assert few.dispatch.occupancy_waves_per_simd == 1  # 33 KiB of LDS: one workgroup of four waves in a CU
    assert many.dispatch.occupancy_waves_per_simd == 8
    assert few.ns > 2 * many.ns
    assert few.share("few", "global_memory") > 0.7


def test_registers_limit_occupancy(kernels: dict[str, Kernel]) -> None:
    assert kernels["many_registers"].dispatch.occupancy_waves_per_simd == 2

"""Adding up before the atomic: within a workgroup for one address, in LDS for a histogram."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Refusal
from hipscope.formulas.propose.rules.atomics import block_reduce
from hipscope.formulas.propose.rules.lds import lds_histogram

Compile = Callable[..., CodeObject]

HEAD = "#include <hip/hip_runtime.h>\n__global__ void k(const float* in, float* sum, int* bins, int n) {\n"
INDEX = "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


def kernel_text(body: str) -> bytes:
    return f"{HEAD}{INDEX}{body}}}\n".encode()


def asked(recipe: ModuleType, source: bytes, facts: LaunchFacts | None = None) -> list[Candidate] | Refusal:
    answer = recipe.propose(source, parse(source).kernels[0], None, facts or LaunchFacts())
    assert isinstance(answer, list | Refusal)
    return answer


def first(recipe: ModuleType, source: bytes, facts: LaunchFacts | None = None) -> Candidate:
    answer = asked(recipe, source, facts)
    assert isinstance(answer, list), answer
    return answer[0]


def reason(recipe: ModuleType, body: str) -> str:
    answer = asked(recipe, kernel_text(body))
    assert isinstance(answer, Refusal), "expected a refusal"
    return answer.reason


def compiles_for_both_wave_sizes(compile_text: Compile, text: bytes) -> None:
    compile_text(text)
    compile_text(text, arch="gfx1030")


def test_the_example_is_left_with_one_atomic_per_workgroup(examples: Path, compile_text: Compile) -> None:
    candidate = first(block_reduce, (examples / "contended_atomic.hip").read_bytes())
    text = candidate.text.decode()
    assert "block_sum += value * value;" in text
    assert text.count("atomicAdd(") == 1
    assert "if (block_sum != 0) atomicAdd(sum, block_sum);" in text
    assert not candidate.exact
    compiles_for_both_wave_sizes(compile_text, candidate.text)


@pytest.mark.parametrize(
    "body",
    [
        "  if (i < n) atomicAdd(sum, in[i]);\n",
        "  if (i >= n) return;\n  atomicAdd(&sum[0], in[i]);\n",
        "  if (i >= n) {\n    return;\n  }\n  if (in[i] > 0) atomicAdd(bins, 1);\n  else atomicAdd(sum, in[i]);\n",
        "  for (int j = i; j < n; j += gridDim.x * blockDim.x) atomicAdd(&sum[blockIdx.y], in[j]);\n",
    ],
)
def test_guards_early_returns_branches_and_loops_are_restructured(body: str, compile_text: Compile) -> None:
    candidate = first(block_reduce, kernel_text(body))
    (kernel,) = parse(candidate.text).kernels
    assert [b.divergent for b in kernel.barriers] == [None]
    assert "return;" not in candidate.text.decode()
    compiles_for_both_wave_sizes(compile_text, candidate.text)


def test_a_one_line_kernel_is_rewritten_too(compile_text: Compile) -> None:
    source = b"__global__ void k(int* s, int n) { if (threadIdx.x < n) atomicAdd(s, 2); }\n"
    candidate = first(block_reduce, source)
    assert candidate.exact
    assert b"block_sum += 2;" in candidate.text


def test_a_value_of_another_type_is_converted_as_the_atomic_did() -> None:
    text = first(block_reduce, kernel_text("  if (i < n) atomicAdd(bins, in[i]);\n")).text
    assert b"block_sum += static_cast<int>(in[i]);" in text
    same = first(block_reduce, kernel_text("  if (i < n) atomicAdd(sum, in[i] * 2.0f);\n")).text
    assert b"block_sum += in[i] * 2.0f;" in same


def test_the_largest_of_floats_leaves_out_what_is_no_number(compile_text: Compile) -> None:
    body = "  if (i < n) atomicMax(&sum[0], in[i]);\n  atomicMin(&sum[1], in[0]);\n"
    candidate = first(block_reduce, kernel_text(body))
    assert b"float block_value = -INFINITY;" in candidate.text
    assert b"if (i < n) block_value = fmax(block_value, static_cast<float>(in[i]));" in candidate.text
    assert b"if (block_value_2 != INFINITY) atomicMin(&sum[1], block_value_2);" in candidate.text
    assert candidate.exact
    compiles_for_both_wave_sizes(compile_text, candidate.text)


def test_different_atomics_on_elements_that_differ_are_each_gathered(compile_text: Compile) -> None:
    body = "  atomicAdd(&bins[0], i);\n  atomicSub(bins + 1, i);\n  atomicMax(&bins[2], i);\n"
    left = "  atomicInc((unsigned*)&bins[3], 9u);\n"
    text = first(block_reduce, kernel_text(body + left)).text
    assert b"int block_sum_2 = i;" in text
    assert b"if (block_sum_2 != 0) atomicSub(bins + 1, block_sum_2);" in text
    assert left.encode() in text
    compiles_for_both_wave_sizes(compile_text, text)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  atomicAdd(&bins[0], i);\n  atomicMax(&bins[n], i);\n", "the order of its different atomics"),
        ("  atomicAdd(&bins[0], i);\n  atomicInc((unsigned*)&bins[0], 9u);\n", "`bins` is also used"),
        (
            "  atomicAdd(&bins[1], i);\n  atomicInc((unsigned long long*)&bins[0], 9u);\n",
            "`bins` is also used",
        ),
        ("  atomicAdd(&bins[0], i);\n  sum[9] = atomicExch(&bins[1], i);\n", "`bins` is also used"),
    ],
)
def test_atomics_that_may_meet_are_not_gathered(body: str, expected: str) -> None:
    assert expected in reason(block_reduce, body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  int old = atomicAdd(bins, 1); sum[i] = old;\n", "result of the atomicAdd on line 4 is used"),
        ("  atomicAdd(&bins[i % 64], 1);\n", "different address in each thread"),
        ("  atomicExch(bins, i);\n", "cannot be gathered"),
        ("  atomicAdd(sum, in[i]); if (sum[0] > 1) bins[0] = 1;\n", "`sum` is also used"),
        ("  atomicAdd(sum, in[i]); __threadfence();\n", "`__threadfence`"),
        (
            "  if (i >= n) return;\n  __syncthreads();\n  atomicAdd(sum, in[i]);\n",
            "early return and a barrier",
        ),
        ("  for (;;) { if (i > n) return; atomicAdd(sum, in[i]); }\n", "not a simple guard"),
        ("  int c = n; c = 3; atomicAdd(&sum[c], in[i]);\n", "depends on local variables"),
        ("  sum[i] = in[i];\n", "no atomicAdd"),
    ],
)
def test_it_is_refused_with_the_reason(body: str, expected: str) -> None:
    assert expected in reason(block_reduce, body)


def test_the_histogram_example_counts_in_lds(examples: Path, compile_text: Compile) -> None:
    facts = LaunchFacts((LaunchFact((311296, 1, 1), (256, 1, 1), buffer_bytes={"bins": 256}),))
    candidate = first(lds_histogram, (examples / "contended_histogram.hip").read_bytes(), facts)
    text = candidate.text.decode()
    assert "__shared__ unsigned block_bins[kBins];" in text
    assert "atomicAdd(&block_bins[bin], 1u);" in text
    assert candidate.exact
    assert [k.lds for k in compile_text(candidate.text).kernels.values()] == [256]
    compiles_for_both_wave_sizes(compile_text, candidate.text)


def test_a_bin_without_an_lds_copy_still_goes_to_global_memory() -> None:
    text = first(lds_histogram, kernel_text("  if (i < n) atomicAdd(&bins[(int)in[i]], 1);\n")).text.decode()
    assert "constexpr unsigned bins_in_lds = 256;" in text
    assert "if (static_cast<unsigned long long>(bin) < bins_in_lds)" in text
    assert "atomicAdd(&bins[bin], 1);" in text


def test_without_a_captured_launch_several_sizes_are_tried() -> None:
    answer = asked(lds_histogram, kernel_text("  int b = in[i]; atomicAdd(bins + b, 1);\n"))
    assert isinstance(answer, list)
    assert [c.title for c in answer] == [
        "Count in LDS first (256 bins), then add to `bins` once per workgroup",
        "Count in LDS first (1024 bins), then add to `bins` once per workgroup",
    ]


def test_a_large_table_gets_at_most_a_quarter_of_the_lds() -> None:
    facts = LaunchFacts((LaunchFact((256, 1, 1), (256, 1, 1), buffer_bytes={"bins": 1 << 24}),))
    text = first(lds_histogram, kernel_text("  int b = in[i]; atomicAdd(bins + b, 1);\n"), facts).text
    assert b"constexpr unsigned bins_in_lds = 4096;" in text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  atomicAdd(bins, 1);\n", "does not add to an indexed element"),
        ("  atomicAdd(&bins[blockIdx.x], 1);\n", "same address in all threads"),
        ("  int b = in[i]; int old = atomicAdd(&bins[b], 1); sum[i] = old;\n", "is used"),
        ("  int b = in[i]; atomicAdd(&bins[b], 1); bins[0] = 3;\n", "`bins` is also used"),
        ("  int b = in[i]; atomicAdd(&bins[b++], 1);\n", "not a plain expression"),
    ],
)
def test_a_histogram_is_refused_with_the_reason(body: str, expected: str) -> None:
    assert expected in reason(lds_histogram, body)

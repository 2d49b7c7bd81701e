"""Histograms in LDS: several arrays, copies of exactly the elements that can be reached, and what is refused."""

from __future__ import annotations

import pytest

from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.rules.cases import ask, candidates, facts_of

HEAD = """#include <hip/hip_runtime.h>
__global__ void k(const int* in, const float* f, float* sum, int* count, int* other, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = in[i];
"""


def texts_of(body: str, **buffers: int) -> list[str]:
    facts = facts_of({"launches": [[[65536, 1, 1], [256, 1, 1], {}, buffers]]})
    return [c.text.decode() for c in candidates(ask("lds_histogram", f"{HEAD}{body}}}\n".encode(), facts))]


def reason(body: str) -> str:
    answer = ask("lds_histogram", f"{HEAD}{body}}}\n".encode(), facts_of({}))
    assert isinstance(answer, Refusal)
    return answer.reason


def test_arrays_of_different_sizes_have_copies_of_their_own() -> None:
    body = "  for (int d = 0; d < 3; ++d) atomicAdd(&sum[b * 3 + d], f[i * 3 + d]);\n  atomicAdd(&count[b], 1);\n"
    (text,) = texts_of(body, sum=480, count=160)
    assert "constexpr unsigned sum_in_lds = 120;\n  __shared__ float block_sum[sum_in_lds];" in text
    assert "constexpr unsigned count_in_lds = 40;\n  __shared__ int block_count[count_in_lds];" in text
    assert "if (block_sum[b2] != 0) atomicAdd(&sum[b2], block_sum[b2]);" in text


def test_what_is_large_leaves_room_for_the_others() -> None:
    (text,) = texts_of(
        "  atomicAdd(&sum[b], f[i]);\n  atomicAdd(&count[b & 1023], 1);\n", sum=1 << 20, count=4096
    )
    assert "__shared__ int block_count[count_in_lds];" in text
    assert "atomicAdd(&block_count[b & 1023], 1);" in text
    assert "constexpr unsigned sum_in_lds = 3072;" in text


def test_atomics_of_another_index_or_apart_have_conditions_of_their_own() -> None:
    between = "  atomicAdd(&sum[b], f[i]);\n  other[i] = 3;\n  atomicAdd(&count[b], 1);\n"
    assert texts_of(between, sum=256, count=256)[0].count("} else {") == 2
    apart = "  const int c = in[i + 1];\n  atomicAdd(&sum[b], f[i]);\n  atomicAdd(&count[c], 1);\n"
    assert texts_of(apart, sum=256, count=256)[0].count("} else {") == 2
    commented = "  atomicAdd(&sum[b], f[i]);\n  // one more\n  atomicAdd(&count[b], 1);\n"
    assert "// one more" in texts_of(commented, sum=256, count=256)[0]


def test_an_index_that_has_no_bound_keeps_its_way_to_memory() -> None:
    text = texts_of("  atomicAdd(&count[b % 64], 1);\n", count=256)[0]
    assert "atomicAdd(&count[bin], 1);" in text
    assert "else" not in texts_of("  atomicAdd(&count[(unsigned)b % 64], 1);\n", count=256)[0]


def test_all_atomics_of_an_array_have_to_be_bounded() -> None:
    text = texts_of("  atomicAdd(&count[b & 63], 1);\n  atomicAdd(&count[b], 1);\n", count=1024)[0]
    assert "constexpr unsigned bins_in_lds = 256;" in text
    assert text.count("} else {") == 2


def test_a_constant_gives_the_number_a_name_where_it_is_about_the_index() -> None:
    body = "  for (int d = 0; d < DIM; ++d) atomicAdd(&sum[b], f[i]);\n  if (b < KINDS) atomicAdd(&count[b], DIM);\n"
    source = f"#define DIM 40\n#define KINDS 20\n{HEAD}{body}}}\n".encode()
    facts = facts_of({"launches": [[[65536, 1, 1], [256, 1, 1], {}, {"sum": 160, "count": 80}]]})
    text = candidates(ask("lds_histogram", source, facts))[0].text.decode()
    assert "constexpr unsigned sum_in_lds = 40;" in text
    assert "__shared__ int block_count[KINDS];" in text


def test_what_is_counted_in_lds_already_is_left() -> None:
    body = "  __shared__ int own[64];\n  atomicAdd(&own[b & 63], 1);\n  atomicAdd(&count[i], own[i]);\n"
    assert "on line 7 adds what the workgroup has counted in LDS" in reason(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "  atomicAdd(&sum[b], f[i]); atomicAdd(&count[b], 1); other[i] = count[0];\n",
            "`count` is also used",
        ),
        (
            "  atomicAdd(&count[b], 1); atomicAdd(&other[count[b] & 7], 1);\n",
            "`count` on line 5 says where another",
        ),
        ("  atomicAdd(&count[count[b] & 7], 1);\n", "`count` on line 5 says where another"),
        (
            "  atomicAdd(other + count[b], 1); atomicAdd(count + b, 1);\n",
            "`count` on line 5 says where another",
        ),
    ],
)
def test_arrays_that_the_kernel_reads_are_refused(body: str, expected: str) -> None:
    assert expected in reason(body)

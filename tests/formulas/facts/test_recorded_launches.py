"""Facts about a kernel from recorded launches."""

from __future__ import annotations

import pytest

from hipscope.accordo.dispatch.parameters import template_values
from hipscope.analysis.source.parse import parse


@pytest.mark.parametrize(
    ("head", "demangled", "expected"),
    [
        (
            "template <typename T, int kSide>",
            "void a::k<float, 16>(float const*)",
            {"T": "float", "kSide": "16"},
        ),
        (
            "template <class T = float, unsigned N = 4>",
            "void k<double, 8u>(double*)",
            {"T": "double", "N": "8"},
        ),
        ("template <bool B, size_t N>", "void k<(bool)1, 64ul>(int*)", {"B": "1", "N": "64"}),
        ("template <typename V>", "void k<Pair<int, long> >(int*)", {"V": "Pair<int, long>"}),
        ("", "k(float*)", {}),
    ],
)
def test_template_arguments_are_read_from_the_instance(
    head: str, demangled: str, expected: dict[str, str]
) -> None:
    (kernel,) = parse(f"{head} __global__ void k(float* p) {{}}".encode()).kernels
    assert {k: v.strip() for k, v in template_values(kernel, demangled).items()} == expected

"""What of the files around a kernel goes into the prompt, as it stands there."""

from __future__ import annotations

from hipscope.analysis.source.declarations import needed_declarations
from hipscope.analysis.source.parse import parse

HEADER = b"""#define HD __host__ __device__ inline
HD float half_of(float x) { return 0.5f * x; }
struct View { float* data; HD float& at(int i) { return data[i]; } };
void host_only(int n) {}
"""
SOURCE = b"""#include "view.hpp"
HD int wrap(int i, int n) { return i < n ? i : i - n; }
void k_host(int n) {}
__global__ void k(View v, int n) { v.at(wrap(threadIdx.x, n)) = half_of(2.0f); host_only(k_host); }
"""


def test_functions_whose_attributes_are_a_macro_are_shown_as_they_are_written() -> None:
    kernel = parse(SOURCE).kernels[0]
    found = [d.text for d in needed_declarations(SOURCE, kernel, {"view.hpp": HEADER})]
    assert "HD float half_of(float x) { return 0.5f * x; }" in found
    assert "HD int wrap(int i, int n) { return i < n ? i : i - n; }" in found
    assert any("HD float& at(int i) { return data[i]; }" in text for text in found)
    assert not any("host" in text and "HD" not in text for text in found)

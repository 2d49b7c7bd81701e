"""Directives in a kernel: nothing comes between them and their loop, and the configurations that they name."""

import pytest

from hipscope.formulas.facts.directives import configurations, configured, directive_reasons

KERNEL = b"""__global__ void k(float* p) {
  float sum = 0;
#ifdef UNROLLED
#pragma unroll
#endif
  for (int i = 0; i < 8; ++i) sum += p[i];  // #pragma unroll
  #pragma   clang loop unroll(disable)
  while (sum > 1) sum /= 2;
  p[0] = sum;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "pragma", "where"),
    [
        (b"#endif\n  for", b"#endif\n  const float r = 1 / p[9];\n  for", "#pragma unroll", "UNROLLED"),
        (b"#pragma unroll\n", b"#pragma unroll\n  float r = p[9];\n", "#pragma unroll", "UNROLLED"),
        (b"\n  while", b"\n  // only here\n  sum *= 2;\n  while", "#pragma clang loop unroll(disable)", ""),
    ],
)
def test_text_between_a_pragma_and_its_loop_is_refused(
    old: bytes, new: bytes, pragma: str, where: str
) -> None:
    after = KERNEL.replace(old, new)
    assert after != KERNEL
    condition = f"where `#ifdef {where}` holds, " if where else ""
    assert directive_reasons(KERNEL, after) == [f"{condition}it puts text between `{pragma}` and its loop"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"float sum = 0;", b"float sum = 0, r = p[9];"),
        (b"sum += p[i];", b"sum += p[i] * r;"),
        (b"  p[0] = sum;", b"#pragma unroll 4\n  for (int i = 0; i < 4; ++i) p[i] = sum;"),
        (b"#pragma unroll\n", b""),
    ],
)
def test_other_edits_around_directives_are_not(old: bytes, new: bytes) -> None:
    assert directive_reasons(KERNEL, KERNEL.replace(old, new)) == []


def test_the_configurations_are_those_that_the_kernel_names_and_the_file_leaves_open() -> None:
    kernel = b"#if defined(FAST) && !SAFE // NOT\n#elif __gfx942__\n#endif\n#ifndef SIZE\n#endif\n"
    assert configurations(kernel, b"#define SIZE 4\n" + kernel) == ("FAST", "SAFE")
    assert configurations(KERNEL, KERNEL) == ("UNROLLED",)
    assert configured(b"x\n", "FAST", defined=True) == b"#undef FAST\n#define FAST 1\n#line 1\nx\n"

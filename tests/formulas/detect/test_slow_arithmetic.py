"""Expansions of divisions and functions, as the compiler makes them."""

from __future__ import annotations

import pytest

from hipscope.analysis.profile import Frame, Instruction
from hipscope.formulas.detect.slow_arithmetic import slow_lines
from tests.formulas.detect.test_dataflow import kernel_of

USER = Frame(file="/k.hip", line=7, column=3)


def found(*texts: str, hits: int = 10, inlined: str = "") -> list[tuple[str, int, int, tuple[str, ...]]]:
    frames = (Frame(file="/opt/rocm/include/hip/math.h", line=1, function=inlined),) if inlined else ()
    kernel = kernel_of(*texts)
    code = tuple(
        Instruction(index=n, address=8 * n, text=t, hits=hits, lanes=hits * 64, source=(*frames, USER))
        for n, t in enumerate(texts)
    )
    lines = slow_lines(kernel.model_copy(update={"instructions": code}))
    return [(x.kind, len(x.instructions), x.operations, x.functions) for x in lines]


def test_all_that_an_integer_division_is_expanded_to_counts_scalar_instructions_too() -> None:
    texts = ["v_cvt_f32_u32_e32 v2, s12", "s_sub_i32 s18, 0, s12", "v_rcp_iflag_f32_e32 v2, v2"]
    texts += ["v_mul_hi_u32 v2, v0, v2"] * 9 + ["s_cbranch_execz 27"]
    assert found(*texts) == [("integer division", 12, 10, ())]


def test_two_exact_divisions_of_a_line_are_two_operations() -> None:
    texts = [
        "v_div_scale_f32 v1, vcc, v2, v3, v2",
        "v_rcp_f32_e32 v1, v1",
        "v_div_fixup_f32 v1, v1, v2, v3",
    ] * 2
    assert found(*texts) == [("division", 6, 20, ())]


def test_a_function_of_the_headers_is_known_by_its_inlined_name() -> None:
    assert found(*["v_fma_f32 v1, v2, v3, v4"] * 20, inlined="sincosf") == [
        ("function", 20, 10, ("sincosf",))
    ]


@pytest.mark.parametrize("name", ["__sinf", "fmaf", "__shfl_xor", ""])
def test_fast_forms_and_other_functions_are_not_slow(name: str) -> None:
    assert found(*["v_fma_f32 v1, v2, v3, v4"] * 20, inlined=name) == []

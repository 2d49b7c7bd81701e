"""Expansions of divisions and functions, as the compiler makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.profile import Frame, Instruction, MemoryPattern
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.registry import detect_all
from hipscope.formulas.detect.slow_arithmetic import lanes_in_turn, slow_lines
from tests.formulas.detect.test_dataflow import kernel_of
from tests.formulas.hand_made import modelled_profile

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


# What stays in a loop of `n / d` with a `d` that does not change: its reciprocal was computed before, without a line.
IN_A_LOOP = [
    "v_mul_hi_u32 v2, v0, v1",
    "v_mul_lo_u32 v3, v2, s14",
    "v_sub_u32_e32 v3, v0, v3",
    *[
        "v_cmp_le_u32_e32 vcc, s14, v3",
        "v_cndmask_b32_e32 v2, v2, v4, vcc",
        "v_cndmask_b32_e32 v3, v3, v5, vcc",
    ]
    * 2,
]


def test_divisions_by_what_a_loop_does_not_change_are_counted_without_their_reciprocal() -> None:
    assert found(*IN_A_LOOP) == [("integer division", 9, 10, ())]
    assert found(*IN_A_LOOP * 3) == [("integer division", 27, 30, ())]
    assert found("v_rcp_iflag_f32_e32 v1, v1", *IN_A_LOOP * 3) == [("integer division", 28, 30, ())]


def test_a_division_by_a_constant_and_a_bound_that_is_compared_are_no_slow_division() -> None:
    by_seven = ["v_mul_hi_u32 v2, v0, s3", "v_lshrrev_b32_e32 v2, 2, v2", "v_sub_u32_e32 v3, v0, v2"] * 3
    assert found(*by_seven) == []
    clamp = ["v_cmp_le_u32_e32 vcc, s14, v3", "v_cndmask_b32_e32 v2, v2, v4, vcc"] * 2
    assert found(*by_seven, "v_mul_lo_u32 v5, v2, s3", *clamp) == []


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


@pytest.mark.parametrize(
    ("once", "name"),
    [
        ("v_rndne_f64_e32 v[0:1], v[0:1]", "exp"),
        ("v_rndne_f32_e32 v0, v1", "sinf"),
        ("v_ldexp_f64 v[0:1], v[0:1], v2", "cbrt"),
    ],
    ids=["exp", "sinf", "cbrt"],
)
def test_a_function_in_an_unrolled_loop_is_counted_in_each_copy(once: str, name: str) -> None:
    rounds = [*["v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]"] * 20, once] * 27
    operations = [line[2] for line in found(*rounds, inlined=name)]
    assert operations == [270]


@pytest.mark.parametrize("name", ["__sinf", "fmaf", "__shfl_xor", ""])
def test_fast_forms_and_other_functions_are_not_slow(name: str) -> None:
    assert found(*["v_fma_f32 v1, v2, v3, v4"] * 20, inlined=name) == []


ATOMIC = MemoryPattern(space="lds", kind="atomic", bytes_per_lane=8, accesses=1, lanes=1)
LOOP = ("s_ff1_i32_b64 s6, s[2:3]", "v_readlane_b32 s7, v5, s6", "v_add_f64 v[0:1], v[0:1], s[6:7]")


@pytest.mark.parametrize(
    ("rounds", "atomic", "expected"),
    [(64, ATOMIC, {1: 64, 2: 64, 3: 64}), (2, ATOMIC, {}), (64, None, {})],
    ids=["a whole wave", "two lanes", "no atomic"],
)
def test_lanes_that_are_added_up_in_turn_before_an_atomic(
    rounds: int, atomic: MemoryPattern | None, expected: dict[int, float]
) -> None:
    texts = [("v_mov_b32_e32 v0, 0", 1), *((t, rounds) for t in LOOP), ("ds_add_f64 v2, v[0:1]", 1)]
    code = tuple(
        Instruction(
            index=n, address=8 * n, text=t, hits=hits, lanes=64, source=(USER,),
            memory=atomic if t.startswith("ds_") else None,
        )
        for n, (t, hits) in enumerate(texts)
    )  # fmt: skip
    assert lanes_in_turn(kernel_of("s_endpgm").model_copy(update={"instructions": code})) == expected


def test_adding_up_a_wave_lane_by_lane_costs_what_shuffles_would_save() -> None:
    texts = [("v_mov_b32_e32 v0, 0", 100), *((t, 6400) for t in LOOP), ("ds_add_f64 v2, v[0:1]", 100)]
    code = tuple(
        Instruction(
            index=n, address=8 * n, text=t, hits=hits, lanes=64 * hits, source=(USER,), latency=10.0 * hits,
            memory=ATOMIC if t.startswith("ds_") else None,
        )
        for n, (t, hits) in enumerate(texts)
    )  # fmt: skip
    profile = modelled_profile(kernel_of("s_endpgm").model_copy(update={"instructions": code}))
    found = detect_all(profile, SourceTexts(), formulas=["atomicContention"])
    assert [f.share for f in found] == [pytest.approx(3 * 6400 / (3 * 6400 + 200) * (1 - 6 / 64))]
    assert "64 lanes one after another" in found[0].message


def test_constants_that_wait_in_registers_for_a_loop_are_no_function_of_their_line() -> None:
    texts = ["s_mov_b32 s4, 0x3fb8aa3b", "v_mov_b32_e32 v3, 0x3f22f983", *["v_add_u32_e32 v0, 1, v0"] * 9]
    assert found(*texts) == []
    assert [kind for kind, *_ in found("v_mul_f32_e32 v3, 0x3fb8aa3b, v1", *texts)] == ["function"]


def test_what_a_loop_of_the_same_line_does_in_each_step_is_no_part_of_its_division() -> None:
    texts = ["v_rcp_iflag_f32_e32 v7, v8", *["v_mul_f32_e32 v7, v3, v7"] * 9, "v_add_u32_e32 v2, s22, v2"]
    code = tuple(
        Instruction(index=n, address=8 * n, text=t, hits=hits, lanes=64 * hits, source=(USER,))
        for n, (t, hits) in enumerate(zip(texts, [4] * 10 + [32], strict=True))
    )
    (line,) = slow_lines(kernel_of("s_endpgm").model_copy(update={"instructions": code}))
    assert (len(line.instructions), line.operations) == (10, 4)


def test_a_function_has_the_name_by_which_the_program_calls_it() -> None:
    headers = tuple(
        Frame(file="/opt/rocm/include/hip/math.h", line=n, function=name)
        for n, name in enumerate(["powi", "pow", "apply"])
    )
    texts = ["v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]"] * 20
    code = tuple(
        Instruction(index=n, address=8 * n, text=t, hits=10, lanes=640, source=(*headers, USER))
        for n, t in enumerate(texts)
    )
    (line,) = slow_lines(kernel_of("s_endpgm").model_copy(update={"instructions": code}))
    assert line.words == "calls pow"


DIVISION = ["v_cvt_f32_u32_e32 v2, s12", "v_rcp_iflag_f32_e32 v2, v2", *["v_mul_hi_u32 v2, v0, v2"] * 9]
FUNCTION = ["v_log_f32_e32 v2, v2", *["v_fma_f32 v1, v2, v3, v4"] * 9]


@pytest.mark.parametrize(
    ("text", "code", "steps", "words"),
    [
        ("for (int i = threadIdx.x; i < n; i += blockDim.x)", DIVISION, 8, "to count the loop's steps"),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x)", DIVISION, 1, "divides integers: "),
        ("for (int i = k / n; i < n; i++)", DIVISION, 8, "divides integers: "),
        ("int row = i / n;", DIVISION, 8, "divides integers: "),
        ("for (int p = 0; p < n; p++)  // powf(base, p)", FUNCTION, 8, "before the loop, for all"),
        ("while (x < sinf(y))", FUNCTION, 1, "computes slow functions: "),
    ],
)
def test_what_the_head_of_a_loop_does_once_is_told_as_such(
    tmp_path: Path, text: str, code: list[str], steps: int, words: str
) -> None:
    source = tmp_path / "k.hip"
    source.write_text(f"{text}\n")
    frame = Frame(file=str(source), line=1, column=1)
    texts = [*((t, 10) for t in code), ("v_add_u32_e32 v2, s22, v2", 10 * steps)]
    instructions = tuple(
        Instruction(index=n, address=8 * n, text=t, hits=h, lanes=64 * h, latency=10.0 * h, source=(frame,))
        for n, (t, h) in enumerate(texts)
    )
    profile = modelled_profile(kernel_of("s_endpgm").model_copy(update={"instructions": instructions}))
    (finding,) = detect_all(profile, SourceTexts(), formulas=["precision"])
    assert words in finding.message

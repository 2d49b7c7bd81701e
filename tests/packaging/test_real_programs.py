"""The table of public programs counts what it says it counts."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.real_programs import Program, near_roof, nearest_roof, table


def program(name: str, status: str, *busy: dict[str, float]) -> dict[str, Any]:
    """The results of a program with a kernel for each `busy`, longest first."""
    edit = {"status": status, "message": "", "speedup": 2.0, "recipes": ["unroll"], "compiles": 3}
    kernels = [{"name": f"k{n}", "time_ns": 100.0 - n, "busy": b} for n, b in enumerate(busy)]
    return {
        "name": name, "runs": True, "verifies": True, "error": "", "seconds": 1.0, "findings": [], "kernels": kernels,
        "optimize": edit,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("busy", "roof", "near"),
    [
        ({"hbm": 0.85, "launch": 0.2}, ("hbm", 0.85), True),
        ({"hbm": 0.3, "launch": 0.9}, ("launch", 0.9), True),
        ({"valu": 0.79}, ("valu", 0.79), False),
        (
            {"atomic": 0.99, "vmem": 0.95, "lds": 0.1},
            ("lds", 0.1),
            False,
        ),  # neither of the first two is a roof
        ({}, None, False),
    ],
)
def test_only_what_no_other_code_could_spare_is_a_roof(
    busy: dict[str, float], roof: tuple[str, float] | None, near: bool
) -> None:
    found = program("one", "verified", busy, {"hbm": 1.0})
    assert (nearest_roof(found), near_roof(found)) == (roof, near)


def test_programs_near_a_roof_are_left_out_of_the_figure_and_unknown_ones_are_not() -> None:
    old = program("old", "no_improvement", {})
    del old["kernels"][0]["busy"]
    rows = [
        program("near", "no_improvement", {"hbm": 0.9}),
        program("far", "verified", {"hbm": 0.4}),
        program("short", "no_improvement", {"launch": 0.6, "round_trip": 0.85}),
        old,
    ]
    text = "\n".join(table(rows))
    assert "Of the 3 programs whose kernel with the most time is not within 20% of a roof, 1 have" in text
    assert (
        "within 20% of a roof or of the shortest launch, 1 have a verified edit (50%; 1.41x over all" in text
    )
    assert "| near | passes | none | hbm 90% |" in text


def test_what_findings_promise_is_held_against_what_the_edit_of_their_kernel_brought() -> None:
    rows = [program(name, "verified", {"hbm": 0.4}) for name in "abc"]
    for found, times in zip(rows, (2.0, 4.0, 4.0), strict=True):
        found["optimize"]["kernel"] = "k0"
        found["findings"] = [
            {"formula": "memoryAccess", "kernel": "k0", "share": 0.5, "estimated_speedup": times},
            {"formula": "launchOverhead", "kernel": "k0", "share": 0.9, "estimated_speedup": 10.0},
            {"formula": "memoryAccess", "kernel": "k1", "share": 0.9, "estimated_speedup": 10.0},
        ]
    text = "\n".join(table(rows))
    assert "Of 3 kernels with a finding and an edit: promised over got, median 2.00" in text
    assert "half of the edits brought 0.50 to 1.00 of what was promised" in text
    assert "| unroll | 4.00x | 2.00x |" in text


@pytest.mark.parametrize(
    ("printed", "right"),
    [
        ("Error: 2.9e-10\n", True),
        ("Error: 3.0e-10 in all", True),
        ("Error: 3.1e-10\n", False),
        ("Error: nan", False),
        ("ok", False),
    ],
)
def test_a_printed_error_is_right_up_to_that_of_the_original(printed: str, right: bool) -> None:
    assert Program("heat", "heat", "Error:", at_most=3.0e-10).verifies(printed) is right

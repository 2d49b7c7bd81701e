"""What the second place of a sanitizer report is called."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest

from hipscope.server.reports.report_reader import read_check
from hipscope.server.session.check_problems import second_place


@pytest.mark.parametrize(
    ("defect", "instruction", "told"),
    [
        ("uninitialised-read", "global_load_dword v1, v0, s[0:1]", "loaded here"),
        ("uninitialised-read", "ds_bpermute_b32 v1, v0, v1", "taken from another lane here"),
        ("data-race", "ds_bpermute_b32 v1, v0, v1", "the other access"),
        ("misaligned", "global_load_dword v1, v0, s[0:1]", "the other place"),
    ],
)
def test_a_second_place_is_named_after_what_it_did(
    fake: ModuleType, defect: str, instruction: str, told: str
) -> None:
    (row,) = read_check(fake.check("/a.hip", "x;  // races\ny;  // with\n")).reports
    assert row.other is not None
    other = replace(row.other, instruction=instruction)
    assert second_place(replace(row, defect=defect, other=other)) == told

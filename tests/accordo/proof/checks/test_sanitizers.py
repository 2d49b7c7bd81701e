"""Which reports of the sanitizers are told of a candidate, and which end its proof."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from hipscope.accordo.proof.checks import sanitizers
from hipscope.emulator.sanitize import AccessPlace, SanitizerReport
from hipscope.emulator.symbolize import Position


def place(instruction: str, line: int) -> AccessPlace:
    position = Position("k.hip", line, 1, "k")
    return AccessPlace(0, instruction, (0, 0, 0), 0, None, None, (position,))


def race(first: str, second: str) -> SanitizerReport:
    places = place(first, 9), place(second, 10)
    return SanitizerReport("data-race", "load races", "k", "k", 1, 1, *places, None, None)


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        ("global_load_dword v1, v[2:3], off", "global_atomic_smin v[2:3], v1, off", False),
        ("global_atomic_smin v[2:3], v1, off", "global_load_dword v1, v[2:3], off", False),
        ("global_store_dword v[2:3], v1, off", "global_atomic_smin v[2:3], v1, off", True),
        ("global_load_dword v1, v[2:3], off", "global_store_dword v[2:3], v1, off", True),
    ],
)
def test_a_plain_load_that_meets_atomics_is_told_and_other_races_end_a_proof(
    first: str, second: str, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitizers, "_new_reports", lambda *_: [race(first, second)])
    proof = Mock(candidate=Path("own"), unproved=[])
    run = Mock(label="captured inputs")
    plan = Mock(captured=((Mock(run=run), Mock(sanitize="all")),), others=())
    rejection = sanitizers.check_sanitizers(proof, [plan], Mock())
    assert (rejection is not None) == ends
    if ends:
        assert proof.unproved == []
    else:
        (told,) = proof.unproved
        assert "plain load on line" in told

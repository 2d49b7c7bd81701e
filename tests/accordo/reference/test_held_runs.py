"""Waves that are stopped at their atomics and fences, so that the others get past them, show who publishes too late."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.reference.held_runs import HELD
from hipscope.accordo.reference.saved import keep_reference, read_reference
from tests.accordo.adversarial.subjects import rewrites
from tests.accordo.proof.test_adversarial import ATTACKS, verdict


@pytest.mark.slow
def test_what_one_wave_shows_too_early_another_one_finds() -> None:
    program = ATTACKS / "lookback.hip"
    with accordo.capture(program, kernel=program.stem) as recording:
        reference = accordo.prepare(recording)
        for candidate in rewrites(program):
            found = verdict(recording, reference, candidate)
            expected = "different" if candidate.kind == "wrong" else "equivalent"
            assert found.outcome == expected, f"{candidate.name}: {found.explain()}"
            assert candidate.kind == "wrong" or any(one.inputs == HELD for one in found.trials)
        folder = reference.settings.work
        root = Path(os.path.commonpath([reference.prepared[0].dispatch.directory, folder]))
        keep_reference(reference, folder, root)
        again = read_reference(folder, root, reference.settings, reference.signature)
        assert [one.held_s for one in again.prepared] == [one.held_s for one in reference.prepared] != [None]


@pytest.mark.parametrize("device", ["mi300x", "mi210"])
def test_an_original_that_shows_it_too_early_is_not_held_to_such_orders(tmp_path: Path, device: str) -> None:
    """gfx90a has other names for the device's scope."""
    (tmp_path / "hipscope.toml").write_text(f'device = "{device}"\n')
    (early,) = (one for one in rewrites(ATTACKS / "lastsum.hip") if one.name == "ticket_first")
    program = tmp_path / "lastsum.hip"
    program.write_bytes(early.text)
    shutil.copy(ATTACKS / "attack.hpp", tmp_path)
    with accordo.capture(program, kernel=program.stem) as recording:
        reference = accordo.prepare(recording)
        found = accordo.compare(recording, program)
    assert any(
        f"{HELD}: dropped, the reference is not reproducible there" in note for note in reference.notes
    )
    assert found.equivalent

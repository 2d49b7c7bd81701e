"""Rewrites by hand of small programs of many kinds: wrong ones are rejected by the proof alone, right ones pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.model.defences import NOTHING_OFF, Defence, Without
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.inputs import kernel_text, proof_inputs
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.prepare import Reference, prepare_reference
from hipscope.analysis.toolchain.build import compile_device
from tests.accordo.adversarial.subjects import FOLDER, Rewrite, programs, rewrites
from tests.sampling import sampled

ATTACKS = FOLDER.parents[2] / "benchmarks" / "attacks"
# defence -> a program and one of its candidates that only this one sees
ONLY: dict[Defence, tuple[str, str]] = {
    "small_integers": ("bytes_histogram", "plain_ascii"),
    "updated_memory": ("totals", "alone"),
    "other_strides": ("axpy", "small_strides"),
    "state": ("filter", "later_launches"),
    "named_values": ("missing", "sentinel"),
    "named_integers": ("missing", "label_sentinel"),
    "named_arguments": ("axpy", "magic_a"),
    "larger_sizes": ("sgemm", "k512"),
    "other_signs": ("gray", "no_negative"),
    "grown": ("axpy", "byte_block"),
    "beyond_32_bits": ("heat", "index32"),
    "mixed_integers": ("lookup", "few_probes"),
    "zero_scalars": ("sgemm", "beta_zero"),
    "crossed": ("bitpack", "width1_tail"),
    "structured_inputs": ("roots", "sixteen"),
    "printed": ("report", "other_words"),
    "held_waves": ("lastsum", "ticket_first"),
}

# These stop the rewrites above as well: they are off in both runs.
BESIDE: frozenset[Defence] = frozenset({"crossed", "named_arguments"})


def verdict(recording: accordo.Recording, reference: Reference, candidate: Rewrite) -> Verdict:
    assert recording.source is not None
    changed = recording.run.replacing(recording.source, candidate.text)
    code = compile_device(recording.project, recording.toolchain, recording.source, changed, confined=True)
    return validate(reference, code.path)


def without(recording: accordo.Recording, defences: Without) -> Reference:
    """The reference with defences off."""
    settings, signature = proof_inputs(recording, kernel_text(recording))
    chosen = replace(settings, without=defences, work=recording.work / "off")
    return prepare_reference(recording.dispatches, chosen, signature)


def chosen_rewrites(program: Path, *, all_of_them: bool) -> list[Rewrite]:
    """The candidates for a program; unless all are asked for, a part of the wrong ones and of the right ones."""
    listed = rewrites(program)
    if all_of_them:
        return listed
    parts = (
        sampled([r for r in listed if r.kind == kind], 4, lambda r: r.name) for kind in ("wrong", "right")
    )
    return [case for part in parts for case in part if isinstance(case, Rewrite)]


@pytest.mark.slow
@pytest.mark.parametrize("program", programs(), ids=lambda p: p.stem)
def test_wrong_rewrites_are_rejected_and_right_ones_are_not(
    program: Path, pytestconfig: pytest.Config
) -> None:
    every_one = pytestconfig.getoption("--exhaustive")
    with accordo.capture(program, kernel=program.stem) as recording:
        reference = accordo.prepare(recording)
        assert reference.broken is None
        for candidate in chosen_rewrites(program, all_of_them=every_one):
            found = verdict(recording, reference, candidate)
            expected = "different" if candidate.kind == "wrong" else "equivalent"
            assert found.outcome == expected, f"{candidate.name} ({candidate.why}): {found.explain()}"


@pytest.mark.slow
@pytest.mark.parametrize("defence", ONLY)
def test_only_this_defence_stops_the_candidate(defence: Defence) -> None:
    name, rewrite = ONLY[defence]
    program = next(p for p in (FOLDER / f"{name}.hip", ATTACKS / f"{name}.hip") if p.exists())
    (candidate,) = (r for r in rewrites(program) if r.name == rewrite)
    with accordo.capture(program, kernel=program.stem) as recording:
        beside = BESIDE - {defence}
        alone = without(recording, NOTHING_OFF | beside)
        assert verdict(recording, alone, candidate).outcome == "different"
        off = without(recording, NOTHING_OFF | beside | {defence})
        missed = verdict(recording, off, candidate)
        assert missed.equivalent, f"{defence} is not the only one: {missed.reason}"


def test_every_program_has_wrong_rewrites_and_a_right_one() -> None:
    for program in programs():
        kinds = [r.kind for r in rewrites(program)]
        assert kinds.count("wrong") >= 1
        assert "right" in kinds

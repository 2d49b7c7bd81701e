"""Verified edits of a session: an id is good once, for its file, and only while all that was judged on is as it was."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.errors import UsageError
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.allowed_folders import allow_folder, forbid_folder
from hipscope.analysis.system.file_digests import file_digest
from hipscope.formulas.optimize.result import OptimizeResult
from hipscope.formulas.optimize.verified_edit import edit_between
from hipscope.server.agents.desk import Desk
from hipscope.server.agents.paths import Roots
from hipscope.server.reports.profile_writer import optimize_report
from hipscope.server.reports.schema.optimize import Optimization


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    root.mkdir()
    (root / "k.hip").write_text("old\n")
    (root / "k.h").write_text("header\n")
    allow_folder(root)
    return Desk(Roots.of([root]))


def outcome(desk: Desk) -> Optimization:
    edit = edit_between(desk.roots.folders[0] / "k.hip", b"old\n", b"new\n")
    return optimize_report(OptimizeResult(status="verified", message="", edit=edit), SourceTexts())


def verified(desk: Desk) -> str:
    files = {str(f): file_digest(f) for f in (desk.roots.folders[0] / name for name in ("k.hip", "k.h"))}
    name = desk.verified(outcome(desk), files)
    assert name is not None
    return name


def test_an_id_is_good_once(desk: Desk) -> None:
    name = verified(desk)
    assert desk.take(name, "k.hip").new_text == "new"
    with pytest.raises(UsageError, match="no id of a verified edit"):
        desk.take(name, None)


def test_only_what_is_verified_gets_an_id(desk: Desk) -> None:
    assert desk.verified(replace(outcome(desk), status="rejected"), {}) is None
    assert desk.verified(replace(outcome(desk), edit=None), {}) is None


@pytest.mark.parametrize("name", ["k.hip", "k.h"])
def test_an_edit_is_stale_when_a_file_that_it_was_judged_on_has_changed(desk: Desk, name: str) -> None:
    found = verified(desk)
    (desk.roots.folders[0] / name).write_text("meanwhile\n")
    with pytest.raises(UsageError, match="has changed since"):
        desk.take(found, None)


def test_an_id_is_refused_for_another_file_and_stays_good_for_its_own(desk: Desk) -> None:
    found = verified(desk)
    with pytest.raises(UsageError, match=r"not of k\.h"):
        desk.take(found, "k.h")
    assert desk.take(found, "k.hip")


def test_a_file_that_became_a_link_to_elsewhere_is_not_written(desk: Desk) -> None:
    found, file = verified(desk), desk.roots.folders[0] / "k.hip"
    twin = desk.roots.folders[0].parent / "twin.hip"
    twin.write_text("old\n")
    file.unlink()
    file.symlink_to(twin)
    with pytest.raises(UsageError, match="no longer that file"):
        desk.take(found, None)


def test_a_folder_that_is_no_longer_allowed_is_not_written(desk: Desk) -> None:
    found = verified(desk)
    forbid_folder(desk.roots.folders[0])
    with pytest.raises(UsageError, match="is not allowed"):
        desk.take(found, None)


def test_ids_cannot_be_guessed(desk: Desk) -> None:
    one, other = verified(desk), verified(desk)
    assert len({one, other, hashlib.sha256(b"new\n").hexdigest()}) == 3
    assert len(one) > 24

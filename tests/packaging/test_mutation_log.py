"""The log of the mutation test: what is known of one version counts for that one, and a half-written line for none."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import mutation_log
from benchmarks.mutation_log import Bases, Done, Log, Result, key_of

REJECTED = Result("a.hip", "original", "barrier dropped", "x = 1;", "rejected", "Not equivalent")
PASSED = Result("a.hip", "original", "wrong guard", "x = 2;", "passed", "")


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that the test decides on."""
    monkeypatch.setattr(mutation_log, "version", lambda: "one")


def filled(path: Path) -> Log:
    log = Log(path)
    log.add("first", REJECTED)
    log.add("second", PASSED)
    log.add("kernel", Bases((("original", "text"), ("pad_lds", "other")), ("division",)))
    log.add("file", Done(("first", "second"), ("division",)))
    return log


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    filled(tmp_path / "below" / "log.jsonl")
    log = Log(tmp_path / "below" / "log.jsonl")
    assert log.result("first") == REJECTED
    assert log.bases("kernel") == Bases((("original", "text"), ("pad_lds", "other")), ("division",))
    assert log.done("file") == ((REJECTED, PASSED), ("division",))
    assert log.result("kernel") is None
    assert log.bases("first") is None
    assert log.done("first") is None
    assert log.result("unknown") is None


def test_a_file_is_not_done_while_one_of_its_mutants_is_unknown(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.add("first", REJECTED)
    log.add("file", Done(("first", "second"), ()))
    assert log.done("file") is None


def test_another_version_counts_only_as_far_as_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "log.jsonl")
    monkeypatch.setattr(mutation_log, "version", lambda: "two")
    assert Log(tmp_path / "log.jsonl").result("first") is None
    kept = Log(tmp_path / "log.jsonl", keep=lambda result: result.outcome == "rejected")
    assert kept.result("first") == REJECTED
    assert kept.result("second") is None
    assert kept.bases("kernel") is not None
    assert kept.done("file") is None


def test_the_last_line_of_a_key_counts_and_one_that_a_kill_cut_short_does_not(tmp_path: Path) -> None:
    log = filled(tmp_path / "log.jsonl")
    log.add("second", REJECTED)
    with log.path.open("a") as file:
        file.write('{"version": "one", "key": "third", "resu')
    again = Log(log.path)
    assert again.result("second") == REJECTED
    assert again.result("third") is None


def test_keys_tell_parts_apart() -> None:
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of("text") == key_of(b"text")

"""Verified rewrites as demonstrations: what is kept, which are near, and that they change what a model answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hipscope.formulas.propose.llm.attempts import Proposal, Ruling, rewrite_with_model
from hipscope.formulas.propose.llm.client import ModelClient
from hipscope.formulas.propose.llm.learn.demonstrations import (
    KeptRewrite,
    KernelKind,
    demonstrations_for,
    nearest,
    recall,
    remember,
    verified_rewrite,
)
from hipscope.formulas.propose.llm.model_settings import Budget, ModelKey, ModelSettings
from hipscope.formulas.propose.llm.program import Rewrite

Serve = Callable[..., Any]


def kept(name: str, speedup: float = 2.0, **shares: float) -> KeptRewrite:
    return KeptRewrite(
        name=name, kind=KernelKind(shares=shares), report=f"# Findings of {name}",
        original=f"void {name}() {{ slow(); }}",
        kernel=f"__global__ void {name}() {{ }}", speedup=speedup,
    )  # fmt: skip


def test_the_nearest_have_the_findings_of_the_kernel() -> None:
    tile, stride, both = (
        kept("tile", bankConflict=0.6),
        kept("stride", memoryAccess=0.7),
        kept("both", bankConflict=0.3, memoryAccess=0.3),
    )
    found = nearest([stride, both, tile], KernelKind(shares={"bankConflict": 0.6}))
    assert [k.name for k in found] == ["tile", "both"]
    assert nearest([stride], KernelKind(shares={"bankConflict": 0.6})) == ()
    assert nearest([tile], KernelKind(shares={"bankConflict": 0.6}), besides=tile.original) == ()


def test_what_bounds_them_decides_between_equals() -> None:
    one, other = kept("one", speedup=3.0, fences=0.5), kept("other", fences=0.5)
    other = other.model_copy(update={"kind": KernelKind(shares={"fences": 0.5}, bound="lds")})
    (found,) = nearest([one, other], KernelKind(shares={"fences": 0.5}, bound="lds"), count=1)
    assert found.name == "other"


def test_of_one_kernel_the_fastest_is_kept(tmp_path: Path) -> None:
    remember(tmp_path, kept("tile", 2.0, bankConflict=0.6))
    remember(tmp_path, kept("tile", 1.5, bankConflict=0.6))
    remember(tmp_path, kept("stride", memoryAccess=0.6))
    assert [(k.name, k.speedup) for k in recall(tmp_path)] == [("tile", 2.0), ("stride", 2.0)]


@pytest.mark.parametrize("text", ["", "no JSON\n", '{"version": 99}\n', "\xff"])
def test_a_file_that_nobody_wrote_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / ".hipscope").mkdir()
    (tmp_path / ".hipscope" / "demonstrations.jsonl").write_text(text, encoding="latin-1")
    assert recall(tmp_path) == ()
    remember(tmp_path, kept("tile", bankConflict=0.6))
    assert len(recall(tmp_path)) == 1


def judge(proposal: Proposal) -> Ruling:
    """Takes a padded tile for right and twice as fast."""
    right = b"[kTile + 1]" in proposal.candidate.text
    return Ruling(right, ("2x",) if right else ("wrong values",), 2.0 if right else None)


def test_a_demonstration_changes_what_a_model_answers(
    serve: Serve,
    wire: ModuleType,
    given: ModuleType,
    settings_for: Callable[..., ModelSettings],
    key: ModelKey,
    tmp_path: Path,
) -> None:
    """Given a model that pads a tile only after it has seen a padded one, the first rewrite makes the second."""

    def mind(request: Any) -> str:
        shown = [m["content"] for m in request.body["messages"] if m["role"] == "assistant"]
        padded = any("kTile + 1" in text for text in shown)
        return str(wire.said(given.FASTER if padded else given.FASTER.replace("kTile + 1", "kTile + 0")))

    settings = settings_for(serve(wire.Answers(mind)), candidates=1, budget=Budget(attempts=1), learn=True)
    subject = given.subject()

    def best() -> Any:
        shown = replace(subject, demonstrations=demonstrations_for(tmp_path, subject))
        return rewrite_with_model(shown, settings, ModelClient(settings, key).ask, judge).best

    assert best() is None
    other = replace(
        subject, source=subject.source.replace(b"other", b"another").replace(b"COMMENT", b"ANOTHER")
    )
    remember(tmp_path, verified_rewrite(other, Rewrite(given.FASTER, (), "columns collide"), 2.0))
    assert best().ruling.speedup == 2.0

"""Each recipe on a small kernel: the exact text, which stays within the kernel and compiles for both wave sizes."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.formulas.judge.guard import check_source
from hipscope.formulas.propose.candidate import Candidate
from tests.formulas.propose.rules.cases import BY_NAME, CASES, ask, candidates, read_facts
from tests.sampling import sampled

Compile = Callable[..., CodeObject]


def name_of(case: Path) -> str:
    return f"{case.parent.name}/{case.stem}"


@functools.cache
def answers(case: Path) -> list[Candidate]:
    """What the recipe of a case makes of it."""
    source = case.read_bytes()
    return candidates(ask(case.parent.name, source, read_facts(source)))


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_recipe_gives_the_text(case: Path) -> None:
    first = answers(case)[0]
    golden = case.with_suffix(".out.hip")
    if os.environ.get("HIPSCOPE_UPDATE_GOLDEN"):
        golden.write_bytes(first.text)
    assert first.text.decode() == golden.read_text()
    assert first.recipe == case.parent.name
    assert first.expected


@pytest.mark.parametrize("case", sampled(CASES, 3, name_of), ids=name_of)
def test_the_older_spelling_of_built_ins_is_understood(case: Path) -> None:
    source = re.sub(r"\b(thread|block|grid)(Idx|Dim)\.([xyz])", _older, case.read_text()).encode()
    first = candidates(ask(case.parent.name, source, read_facts(source)))[0]
    texts = first.text.decode(), case.with_suffix(".out.hip").read_text()
    found, golden = (re.sub(r"\bhip(Thread|Block|Grid)(Idx|Dim)_([xyz])", _newer, text) for text in texts)
    assert found == golden


def _older(found: re.Match[str]) -> str:
    return f"hip{found[1].capitalize()}{found[2]}_{found[3]}"


def _newer(found: re.Match[str]) -> str:
    return f"{found[1].lower()}{found[2]}.{found[3]}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_every_candidate_changes_its_kernel_only(case: Path) -> None:
    source = case.read_bytes()
    facts = read_facts(source)
    kernel = parse(source).kernels[0]
    for candidate in answers(case):
        assert check_source(source, candidate.text, kernel, facts.disjoint) == ()


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_all_candidates_compile_for_waves_of_64_and_32(arch: str, compile_text: Compile) -> None:
    texts = [candidate.text for case in CASES for candidate in answers(case)]
    include = b"#include <hip/hip_runtime.h>\n"
    parts = [b"namespace c%d {\n%s}\n" % (n, text.replace(include, b"")) for n, text in enumerate(texts)]
    compiled = compile_text(include + b"".join(parts), arch=arch)
    assert len(compiled.kernels) == len(texts)
    assert {k.wavefront_size for k in compiled.kernels.values()} == {64 if arch == "gfx942" else 32}


def test_every_recipe_has_a_case() -> None:
    assert {case.parent.name for case in CASES} == set(BY_NAME)

"""Each recipe on a small kernel: the exact text, which stays within the kernel and compiles for both wave sizes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.formulas.judge.guard import check_source
from tests.formulas.propose.recipes.cases import BY_NAME, CASES, ask, candidates, read_facts

Compile = Callable[..., CodeObject]


@pytest.mark.parametrize("case", CASES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_the_recipe_gives_the_text(case: Path) -> None:
    source = case.read_bytes()
    first = candidates(ask(case.parent.name, source, read_facts(source)))[0]
    golden = case.with_suffix(".out.hip")
    if os.environ.get("HIPSCOPE_UPDATE_GOLDEN"):
        golden.write_bytes(first.text)
    assert first.text.decode() == golden.read_text()
    assert first.recipe == case.parent.name
    assert first.expected


@pytest.mark.parametrize("case", CASES, ids=lambda p: f"{p.parent.name}/{p.stem}")
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


@pytest.mark.parametrize("case", CASES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_every_candidate_changes_its_kernel_only(case: Path) -> None:
    source = case.read_bytes()
    facts = read_facts(source)
    kernel = parse(source).kernels[0]
    for candidate in candidates(ask(case.parent.name, source, facts)):
        assert check_source(source, candidate.text, kernel, facts.disjoint) == ()


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_all_candidates_compile_for_waves_of_64_and_32(arch: str, compile_text: Compile) -> None:
    texts = []
    for case in CASES:
        source = case.read_bytes()
        texts += [c.text for c in candidates(ask(case.parent.name, source, read_facts(source)))]
    include = b"#include <hip/hip_runtime.h>\n"
    parts = [b"namespace c%d {\n%s}\n" % (n, text.replace(include, b"")) for n, text in enumerate(texts)]
    compiled = compile_text(include + b"".join(parts), arch=arch)
    assert len(compiled.kernels) == len(texts)
    assert {k.wavefront_size for k in compiled.kernels.values()} == {64 if arch == "gfx942" else 32}


def test_every_recipe_has_a_case() -> None:
    assert {case.parent.name for case in CASES} == set(BY_NAME)

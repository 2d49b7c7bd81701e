"""A rewrite of a loop under a conditional pragma is right in both configurations of its program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.formulas.judge.guard import check_source
from hipscope.formulas.propose.loop_directives import settled
from tests.formulas.propose.rules.cases import BY_NAME, CASES, ask, read_facts

TUNED = b"#ifdef TUNED\n#pragma unroll\n#endif\n"
BEFORE = b"void k() {\n" + TUNED + b"  for (int i = 0; i < n; ++i) s += p[i];\n}\n"


def loops_under_conditions() -> Iterator[tuple[str, bytes, bytes]]:
    """Each loop of each case of the rules once under a condition: the place, the text, and what each rule makes."""
    for case in CASES:
        source = case.read_bytes()
        for loop in re.finditer(rb"^[ \t]*for \(", source, re.MULTILINE):
            if b"#pragma" in source[: loop.start()].splitlines()[-1]:
                continue
            text = source[: loop.start()] + TUNED.replace(b"unroll", b"nounroll") + source[loop.start() :]
            kernel = parse(text).kernels[0]
            if kernel.span.start < loop.start() < kernel.span.end:
                line = text.count(b"\n", 0, loop.start()) + 1
                for name in BY_NAME:
                    answer = ask(name, text, read_facts(text))
                    if isinstance(answer, list):
                        yield f"{name} of {case.parent.name}/{case.stem}:{line}", text, answer[0].text


@pytest.fixture(scope="module")
def rewritten() -> list[tuple[str, bytes, bytes]]:
    return list(loops_under_conditions())


def test_no_recipe_separates_a_conditional_pragma_from_its_loop(
    rewritten: list[tuple[str, bytes, bytes]],
) -> None:
    refused = {
        place: reasons
        for place, text, made in rewritten
        if (reasons := check_source(text, made, parse(text).kernels[0], read_facts(text).disjoint))
    }
    assert len(rewritten) > 130
    assert refused == {}


@pytest.mark.parametrize("configuration", [b"#define TUNED 1\n", pytest.param(b"", marks=pytest.mark.slow)])
def test_what_recipes_make_of_such_loops_compiles_in_both_configurations(
    configuration: bytes, rewritten: list[tuple[str, bytes, bytes]], compile_text: Callable[..., CodeObject]
) -> None:
    include = b"#include <hip/hip_runtime.h>\n"
    parts = [
        b"namespace c%d {\n%s}\n" % (n, made.replace(include, b"")) for n, (*_, made) in enumerate(rewritten)
    ]
    compiled = compile_text(include + configuration + b"".join(parts))
    assert len(compiled.kernels) == len(rewritten)


@pytest.mark.parametrize(
    ("old", "new", "loop"),
    [
        (b"#endif\n", b"#endif\n  float r = p[9];\n", TUNED + b"  for"),
        (
            b"  for (int i",
            b"  if (n == 4) {\n    for (int i = 0; i < 4; ++i) s += p[i];\n  } else for (int i",
            b"",
        ),
        (b"  for", b"#pragma unroll 4\n  for", b"#pragma unroll\n#else\n#pragma unroll 4\n#endif\n  for"),
        (b"  for (int i = 0; i < n; ++i) s += p[i];", b"  s = sum(p, n);", b"void k() {\n  s = sum"),
    ],
)
def test_the_pragma_goes_with_its_loop(old: bytes, new: bytes, loop: bytes) -> None:
    after = settled(BEFORE, BEFORE.replace(old, new))
    assert loop in after
    assert after.count(b"#ifdef") == after.count(b"#endif") <= 1


def test_a_text_without_such_a_loop_stays_as_it_is() -> None:
    plain = b"void k() {\n#ifdef TUNED\n  go();\n#endif\n}\n"
    assert settled(plain, plain.replace(b"go", b"come")) == plain.replace(b"go", b"come")

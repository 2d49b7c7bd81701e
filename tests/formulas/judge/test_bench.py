"""Where the source of a profiled kernel is looked for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.bench import Bench, CannotJudge, find_source

KERNEL = "__global__ void reduce_kernel(float* p) { p[threadIdx.x] += 1.0f; }\n"


def test_a_kernel_of_a_library_is_not_the_programs_of_that_name(tmp_path: Path) -> None:
    header = tmp_path / "rocm" / "include" / "library" / "reduce.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(KERNEL.replace("__global__", "LIBRARY_KERNEL"))
    source = tmp_path / "app" / "main.hip"
    source.parent.mkdir()
    source.write_text(f"#include <hip/hip_runtime.h>\n{KERNEL}int main() {{ return 0; }}\n")
    project, texts = resolve_project(source), SourceTexts()
    kernel: Any = SimpleNamespace(name="library::reduce_kernel(float*)", file=str(header), line=1)
    with pytest.raises(CannotJudge, match=r"`reduce_kernel` is a kernel of a library .*reduce\.hpp"):
        find_source(project, kernel, texts)
    own: Any = SimpleNamespace(name="reduce_kernel(float*)", file=str(source), line=2)
    assert find_source(project, own, texts).file == source


@pytest.mark.parametrize(
    ("spent", "part", "seconds"),
    [
        (0.0, 0.0, 60.0 + 30.0 + 30.0),  # nothing is known but what the program takes
        (10.0, 0.25, 30.0 + 20.0 + 30.0),
        (40.0, 1.0, 0.0 + 20.0 + 30.0),
    ],
)
def test_what_is_left_of_the_reference_its_proof_and_the_program_are_what_verifying_takes(
    spent: float, part: float, seconds: float
) -> None:
    reference = SimpleNamespace(seconds=spent, part=part)
    bench: Any = SimpleNamespace(
        ahead=SimpleNamespace(reference=reference), session=SimpleNamespace(seconds=20.0)
    )
    asked: Any = Bench.seconds_to_verify
    assert asked.fget(bench) == pytest.approx(seconds)


def test_a_kernel_in_text_that_cannot_be_read_is_named_with_the_line(tmp_path: Path) -> None:
    source = tmp_path / "main.hip"
    broken = "template <class T>\n__global__ void scale(T* p) {{{ (\n"
    source.write_text(f"#include <hip/hip_runtime.h>\n{broken}int main() {{ return 0; }}\n")
    kernel: Any = SimpleNamespace(name="void scale<float>(float*)", file=str(source), line=3)
    with pytest.raises(
        CannotJudge, match=r"`scale` stands in main\.hip, line 3, in text that cannot be read"
    ):
        find_source(resolve_project(source), kernel, SourceTexts())

"""Programs that one source is part of, those first that call it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.build_files.callers import callers_first


@dataclass(frozen=True)
class Compiled:
    """A program of a build."""

    name: str
    sources: tuple[Path, ...]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_test_of_a_library_that_calls_the_saved_source_comes_first(tmp_path: Path) -> None:
    multiply = written(
        tmp_path,
        "multiply.cpp",
        "__global__ void product(float* a) {}\nvoid multiply(float* a) { product<<<1, 64>>>(a); }\n",
    )
    add = written(tmp_path, "add.cpp", "void add(float*) {}\n")
    library = (multiply, add)
    first = Compiled("test_add", (written(tmp_path, "a.cpp", "int main() { add(0); }\n"), *library))
    idle = Compiled("test_none", (written(tmp_path, "n.cpp", "int main() {}\n"), *library))
    second = Compiled("test_mul", (written(tmp_path, "m.cpp", "int main() { multiply(0); }\n"), *library))
    assert callers_first([first, idle, second], multiply) == [second, first, idle]
    assert callers_first([second, idle, first], add) == [first, second, idle]
    assert callers_first([first, idle, second], None) == [first, idle, second]

"""A source that does not build alone is built as the build files beside it say, and that is found out once."""

from pathlib import Path

import pytest

from hipscope.analysis.errors import BuildFailed, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.runs import buildable
from hipscope.analysis.runs.buildable import buildable_project
from hipscope.analysis.source.texts import SourceTexts

KERNEL = '// No headers of HIP: they take long.\n#include "ref.h"\n'
MAIN = KERNEL + "int other();\nint main(int, char**) { return other() + VALUE; }\n"
MAKEFILE = (
    "CFLAGS = -I../app-cuda\n"
    "app: main.cpp other.cpp\n\thipcc -nogpuinc $(CFLAGS) -o $@ $^\n"
    "run: app\n\t./app 100\n"
)


@pytest.fixture
def folder(tmp_path: Path, cache: Path) -> Path:
    """A program of two sources and a folder of headers beside its own."""
    for name, text in {
        "app-cuda/ref.h": "#define VALUE 0\n",
        "app-hip/main.cpp": MAIN,
        "app-hip/other.cpp": "int other() { return 0; }\n",
        "app-hip/Makefile": MAKEFILE,
        ".git/HEAD": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "app-hip"


def test_a_source_that_does_not_build_alone_is_built_as_the_makefile_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    project = buildable_project(folder / "main.cpp", run=Run(tell=said.append))
    assert (project.config.build, project.config.run) == ("make", "./app 100")
    assert project.main_source == folder / "main.cpp"
    assert said == [project.build_note]
    assert "'ref.h' file not found" in said[0]
    assert "`make`" in said[0]
    assert sorted(path.name for path in folder.iterdir()) == ["Makefile", "main.cpp", "other.cpp"]

    def asked(*_: object, **__: object) -> None:
        raise AssertionError("the build files were asked again")

    monkeypatch.setattr(buildable, "propose_builds", asked)
    again = buildable_project(folder / "main.cpp", ["7", "x y"])
    assert again.config.run == "./app 7 'x y'", "the user's arguments stand in place of the Makefile's"
    assert buildable_project(folder).config.build == "make", "of a folder, too"
    (folder / "Makefile").write_text(MAKEFILE + "# another one\n")
    with pytest.raises(AssertionError, match="asked again"):
        buildable_project(folder / "main.cpp")


def test_a_mistake_in_a_source_is_told_with_how_it_was_built(folder: Path) -> None:
    wrong = SourceTexts({folder / "main.cpp": (MAIN + "int x = nothing;\n").encode()})
    with pytest.raises(
        BuildFailed, match=r"main\.cpp:5:9: error: use of undeclared identifier 'nothing'"
    ) as failed:
        buildable_project(folder / "main.cpp", run=Run(texts=wrong))
    assert "built as Makefile says, with `make`; alone: " in str(failed.value.hint)


def test_a_source_without_main_is_a_part_of_what_the_makefile_builds(folder: Path) -> None:
    assert buildable_project(folder / "other.cpp").config.build == "make"
    (folder / "unused.cpp").write_text("int unused() { return 0; }\n")
    with pytest.raises(UsageError, match="no `main` function"):
        buildable_project(folder / "unused.cpp")


def test_a_source_that_builds_alone_is_built_alone(folder: Path) -> None:
    (folder / "main.cpp").write_text("int main() { return 0; }\n")
    project = buildable_project(folder / "main.cpp")
    assert (project.build_kind, project.build_note) == ("single", None)


def test_without_a_way_to_build_the_tools_reason_stands_beside_the_compilers(folder: Path) -> None:
    (folder / "Makefile").write_text("app: main.cpp gone.h\n\thipcc -o $@ $<\n")
    (folder / "other.cpp").unlink()
    with pytest.raises(BuildFailed, match=r"'ref\.h' file not found") as failed:
        buildable_project(folder / "main.cpp")
    assert "No rule to make target 'gone.h'" in str(failed.value.hint)


@pytest.fixture
def scattered(tmp_path: Path, cache: Path) -> Path:
    """A repository without build files, whose headers lie one folder up and beside it."""
    root = tmp_path / "outer" / "repository"
    for name, text in {
        "../ref.h": "#error not of this repository\n",
        "hip/app/main.cpp": '#include "timer.h"\n#include "ref.h"\nint main() { return VALUE; }\n',
        "hip/timer.h": "#define T 0\n",
        "common/include/ref.h": "#define VALUE T\n",
        ".git/HEAD": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_headers_that_lie_in_one_folder_nearby_are_found(scattered: Path) -> None:
    said: list[str] = []
    project = buildable_project(scattered / "hip" / "app" / "main.cpp", run=Run(tell=said.append))
    assert said == ["built with `-I..` for timer.h, `-I../../common/include` for ref.h"]
    assert project.build_note == said[0]


def test_a_header_in_two_folders_is_asked_for_and_none_is_taken_from_another_repository(
    scattered: Path,
) -> None:
    main = scattered / "hip" / "app" / "main.cpp"
    (scattered / "other").mkdir()
    (scattered / "other" / "ref.h").write_text("#define VALUE 1\n")
    with pytest.raises(BuildFailed, match=r"one of -I../../common/include, -I../../other"):
        buildable_project(main)
    (scattered / "other" / "ref.h").unlink()
    (scattered / "common" / "include" / "ref.h").unlink()
    with pytest.raises(BuildFailed, match=r"'ref.h' file not found.*flags"):
        buildable_project(main)

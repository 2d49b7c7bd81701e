"""A path of the user names the file that the kernel finds, and belongs where that file lies."""

from pathlib import Path

import pytest

from hipscope.analysis.system.places import SourcePlace, named, place_of

FILE = "hipscope.toml"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """`projA` with settings, `victim.hip` beside it, and links that lead in and out."""
    (tmp_path / "projA" / "src").mkdir(parents=True)
    (tmp_path / "projA" / FILE).write_text("")
    (tmp_path / "other").mkdir()
    for name in ("victim.hip", "other/o.hip", "projA/main.hip", "projA/src/k.hip"):
        (tmp_path / name).write_text("x")
    (tmp_path / "work").symlink_to(tmp_path / "projA")
    (tmp_path / "work_src").symlink_to(tmp_path / "projA" / "src")
    (tmp_path / "projA" / "out").symlink_to(tmp_path / "other")
    (tmp_path / "projA" / "linked.hip").symlink_to(tmp_path / "victim.hip")
    (tmp_path / "in.hip").symlink_to(tmp_path / "projA" / "main.hip")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("projA/../victim.hip", "victim.hip"),
        ("projA/src/../../victim.hip", "victim.hip"),
        ("projA/src/../main.hip", "projA/main.hip"),
        ("work/main.hip", "work/main.hip"),  # a link that no `..` follows keeps its name
        ("work_src/../main.hip", "projA/main.hip"),
        ("projA/out/../victim.hip", "victim.hip"),
        ("nothing/../victim.hip", "nothing/../victim.hip"),
        ("victim.hip/../victim.hip", "victim.hip/../victim.hip"),
    ],
)
def test_dots_lead_where_the_kernel_goes(home: Path, given: str, file: str) -> None:
    assert named(home / given) == home / file
    assert named(home / given).exists() == (home / given).exists()


@pytest.mark.parametrize(
    ("given", "path", "holder"),
    [
        ("projA/main.hip", "projA/main.hip", "projA"),
        ("projA/../victim.hip", "victim.hip", None),
        ("projA/src/../../other/o.hip", "other/o.hip", None),
        ("projA/out/o.hip", "projA/out/o.hip", None),  # a linked folder lies elsewhere
        ("projA/linked.hip", "projA/linked.hip", None),
        ("work/src/k.hip", "work/src/k.hip", "work"),  # named as given where that leads through the folder
        ("work_src/k.hip", "projA/src/k.hip", "projA"),
        ("in.hip", "projA/main.hip", "projA"),
        ("work", "work", "work"),
        ("projA/src", "projA/src", "projA"),
        ("projA/out", "projA/out", None),
    ],
)
def test_a_file_belongs_where_it_really_lies(home: Path, given: str, path: str, holder: str | None) -> None:
    assert place_of(home / given, FILE) == SourcePlace(home / path, home / holder if holder else None)


def test_relative_paths_are_those_of_the_current_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home / "projA")
    assert place_of(Path("../victim.hip"), FILE) == SourcePlace(home / "victim.hip", None)
    assert place_of(Path(), FILE) == SourcePlace(home / "projA", home / "projA")


def test_nothing_above_the_repository_counts_nor_a_repository_that_a_link_stands_in(home: Path) -> None:
    (home / "projA" / "src" / ".git").mkdir()
    assert place_of(home / "projA/src/k.hip", FILE).holder is None
    (home / FILE).write_text("")
    assert place_of(home / "projA/linked.hip", FILE).holder == home

"""The rooms: who may import whom, how many files a room holds, who may open a file, and that a name is given once."""

import ast
import functools
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS: dict[str, dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "rooms.toml").read_text(encoding="utf-8")
)
ALLOWED = {room: set(imports) for part in FLOORS.values() for room, imports in part.items()}
MODULES = [path for part in FLOORS for path in sorted((ROOT / part).rglob("*.py"))]
MAX_FILES = 16
LARGER_ROOMS: dict[str, int] = tomllib.loads(
    (Path(__file__).parent / "own_readings.toml").read_text(encoding="utf-8")
)["rooms"]
# What reads or writes a file. `stat` and the like are part of it: they answer otherwise when the disk changes.
FILE_ACCESS = {
    "open", "read_text", "read_bytes", "write_text", "write_bytes", "stat", "exists", "is_file", "is_dir", "iterdir",
    "glob", "rglob", "unlink", "mkdir",
}  # fmt: skip
ROOMS_WITHOUT_FILES = {
    "analysis/kernel",
    "analysis/semantics",
    "analysis/source",
    "analysis/metrics",
    "formulas/base",
    "formulas/detect",
    "formulas/facts",
    "formulas/propose",
}
ROOMS_WITHOUT_FILES |= {room for room in ALLOWED if room.startswith("formulas/propose/rules")}
OWNER_OF_SOURCE_TEXTS = "analysis/source/texts.py"
# Bare participles and adverbs say what was done to a thing, not what the thing is.
NO_NOUNS = {
    "kept",
    "named",
    "solved",
    "ahead",
    "apart",
    "replaced",
    "helpers",
    "utils",
    "misc",
    "common",
}
# A wire record is named after the record of the model that it tells of.
WIRE_RECORDS = "server/reports/schema"


def room_of(path: Path) -> str:
    """The folder of a module, or the module itself where it stands at the top of a part."""
    inside = path.relative_to(ROOT).with_suffix("")
    room = inside.parent
    if len(room.parts) == 1 and inside.name != "__init__" and room.name != "emulator":
        return inside.as_posix()
    return room.as_posix()


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("hipscope", *(parts[:-1] if parts[-1] == "__init__" else parts)))


ROOM_OF_MODULE = {name_of(path): room_of(path) for path in MODULES}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield node.lineno, name if name in ROOM_OF_MODULE else node.module or ""


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_module_stands_in_a_room_of_the_table_and_every_room_has_modules() -> None:
    # The parts' own __init__ hold a sentence; the modules of the emulator stand in one room.
    parts = set(FLOORS) - {"emulator"}
    assert set(ROOM_OF_MODULE.values()) - parts == set(ALLOWED)


def test_the_rooms_are_listed_by_floor_so_that_no_import_points_up() -> None:
    below: set[str] = set()
    for room, imports in ALLOWED.items():
        assert set(imports) <= below, (
            f"{room} imports a room that is not below it: {sorted(set(imports) - below)}"
        )
        below.add(room)


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(path)
    for line, name in imported(parsed(path)):
        assert name.split(".")[0] not in FLOORS, f"{path}:{line}: import hipscope.{name}, not {name}"
        other = ROOM_OF_MODULE.get(name)
        if other is not None and other != room:
            assert other in ALLOWED[room], f"{path}:{line}: {room} may not import {other}"


@pytest.mark.parametrize("room", sorted(set(ROOM_OF_MODULE.values())))
def test_a_room_holds_at_most_sixteen_files_or_what_is_listed(room: str) -> None:
    files = [path for path in MODULES if room_of(path) == room and path.name != "__init__.py"]
    assert len(files) <= LARGER_ROOMS.get(room, MAX_FILES), (
        f"{room} holds {len(files)} files: cut it where its reasons to change differ"
    )


def file_accesses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in FILE_ACCESS:
                yield node.lineno, node.func.attr
            elif isinstance(node.func, ast.Name) and node.func.id == "open":
                yield node.lineno, "open"


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in MODULES
        if room_of(path) in ROOMS_WITHOUT_FILES and label(path) != OWNER_OF_SOURCE_TEXTS
    ],
    ids=label,
)
def test_rooms_that_read_the_program_get_its_text_and_open_no_file(path: Path) -> None:
    for line, call in file_accesses(parsed(path)):
        pytest.fail(
            f"{path}:{line}: {call}() in a room that is given its texts ({OWNER_OF_SOURCE_TEXTS} reads them)"
        )


def test_the_file_rule_sees_an_access() -> None:
    assert list(file_accesses(ast.parse("Path('a').read_text()\nopen('b')"))) == [
        (1, "read_text"),
        (2, "open"),
    ]


def test_a_public_class_name_stands_for_one_thing() -> None:
    for wire in (True, False):
        modules = [path for path in MODULES if (room_of(path) == WIRE_RECORDS) is wire]
        assert repeated(modules) == {}


def repeated(modules: list[Path]) -> dict[str, list[str]]:
    """Public class names that two modules define, and which ones."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in modules:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(label(path))
    return {name: where for name, where in places.items() if len(where) > 1}


def test_the_name_rule_sees_a_name_that_is_given_twice() -> None:
    assert "Finding" in repeated(MODULES)  # the formula's and the wire record


def test_a_file_name_says_what_is_in_the_file() -> None:
    assert [label(path) for path in MODULES if path.stem in NO_NOUNS] == []


def test_a_room_says_what_it_takes_and_gives() -> None:
    rooms = [path for path in MODULES if path.name == "__init__.py"]
    silent = [label(path) for path in rooms if not ast.get_docstring(parsed(path))]
    assert silent == []


def test_the_profile_model_imports_nothing_of_ours() -> None:
    tree = parsed(ROOT / "analysis" / "profile.py")
    assert [name for _, name in imported(tree) if name.startswith("hipscope")] == []


def test_there_is_no_package_at_the_root() -> None:
    assert not (ROOT / "__init__.py").exists()


def named_in_coverage() -> dict[str, str]:
    """Module to test of the file COVERED_BY: lines `module: test  # why`, empty lines and comments aside."""
    rows = {}
    for line in (ROOT / "tests" / "COVERED_BY").read_text(encoding="utf-8").splitlines():
        row = re.match(r"(?P<module>[^#:\s]+):\s*(?P<test>\S+)$", line)
        if row:
            rows[row["module"]] = row["test"]
    return rows


def own_test(path: Path) -> Path:
    """Where the test of a module's name stands: tests mirror the rooms."""
    return ROOT / "tests" / path.relative_to(ROOT).parent / f"test_{path.stem}.py"


def test_every_module_has_a_test_of_its_name_or_a_line_that_names_its_test() -> None:
    rows = named_in_coverage()
    modules = [path for path in MODULES if path.name not in {"__init__.py", "__main__.py"}]
    missing = [label(path) for path in modules if not own_test(path).exists() and label(path) not in rows]
    assert missing == []


def test_the_list_of_covering_tests_is_true() -> None:
    rows = named_in_coverage()
    assert [
        module for module in rows if not (ROOT / module).is_file() or own_test(ROOT / module).exists()
    ] == []
    assert [test for test in rows.values() if not (ROOT / test).is_file()] == []

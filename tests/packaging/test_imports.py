"""The direction of imports: server -> formulas -> accordo -> analysis -> emulator, and never back."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED: dict[str, set[str]] = {
    "server": {"server", "formulas", "accordo", "analysis", "emulator"},
    "formulas": {"formulas", "accordo", "analysis", "emulator"},
    "accordo": {"accordo", "analysis", "emulator"},
    "analysis": {"analysis", "emulator"},
    "emulator": {"emulator"},
}
MODULES = [path for folder in ALLOWED for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            module = node.module or ""
            yield node.lineno, module
            if module == "hipscope":
                yield from ((node.lineno, f"hipscope.{alias.name}") for alias in node.names)


def test_there_are_modules_to_look_at() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(ALLOWED)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    folder = path.relative_to(ROOT).parts[0]
    for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        parts = name.split(".")
        assert parts[0] not in ALLOWED, f"{path}:{line}: import hipscope.{name}, not {name}"
        if parts[0] == "hipscope" and len(parts) > 1:
            assert parts[1] in ALLOWED[folder], f"{path}:{line}: {folder} may not import {name}"


def test_the_profile_model_imports_nothing_of_ours() -> None:
    tree = ast.parse((ROOT / "analysis" / "profile.py").read_text(encoding="utf-8"))
    assert [name for _, name in imported(tree) if name.startswith("hipscope")] == []


def test_there_is_no_package_at_the_root() -> None:
    assert not (ROOT / "__init__.py").exists()

"""What the package declares is what it imports, and the versions that the set-up takes fit what is declared."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONSTRAINTS = ROOT / "scripts" / "constraints.txt"
FOR_USERS = ("llm", "agent", "report", "history", "scale")
FOLDERS = ("server", "analysis", "formulas", "accordo", "emulator")
# Loaded by name, and only where a model is asked; litellm is what dspy asks through where the settings say so. The same
# of sweeps: pandas writes Parquet with pyarrow, distributed makes its keys with cryptography and its page with bokeh.
USED_BY_NAME = {"dspy", "litellm", "distributed", "dask-jobqueue", "bokeh", "pyarrow", "cryptography"}


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def imported() -> Iterator[str]:
    """The first part of the name of each module that the product imports, wherever in a file it does."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from (alias.name.split(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield (node.module or "").split(".")[0]


def used() -> set[str]:
    ours = {"hipscope", "supervisor"}  # the supervisor runs beside the package
    modules = set(imported()) - set(sys.stdlib_module_names) - ours
    owners = packages_distributions()
    missing = {module for module in modules if module not in owners}
    assert not missing, f"not installed, so nobody knows which package it is of: {missing}"
    return {canonicalize_name(owner) for module in modules for owner in owners[module]}


def test_each_imported_package_is_declared_and_each_declared_one_is_imported() -> None:
    extras = PROJECT["optional-dependencies"]
    of_users = [row for extra in FOR_USERS for row in extras[extra]]
    declared = names([*PROJECT["dependencies"], *of_users])
    assert used() | USED_BY_NAME == declared


def test_only_parts_that_hipscope_works_without_are_extras() -> None:
    assert set(PROJECT["optional-dependencies"]) == {*FOR_USERS, "libclang", "dev"}
    assert not names(PROJECT["optional-dependencies"]["dev"]) & {"hipscope", "dspy", "litellm"}


def pinned() -> dict[str, str]:
    lines = [
        x for x in CONSTRAINTS.read_text(encoding="utf-8").splitlines() if x.strip() and not x.startswith("#")
    ]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def test_each_direct_dependency_is_locked_in_a_version_that_fits() -> None:
    versions = pinned()
    extras = PROJECT["optional-dependencies"]
    for text in [*PROJECT["dependencies"], *extras["llm"], *extras["dev"]]:
        wanted = Requirement(text)
        version = versions.get(canonicalize_name(wanted.name))
        assert version is not None, f"{text}: not in {CONSTRAINTS.name}; run make lock"
        assert version in wanted.specifier, f"{text}: locked is {version}; run make lock"


def test_the_lock_names_no_place_to_get_packages_from() -> None:
    text = CONSTRAINTS.read_text(encoding="utf-8")
    assert not re.search(r"://|--|@|\bfile:", text)

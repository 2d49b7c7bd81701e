"""Every environment variable of ours stands on the page for debugging, and the page names no other."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "environment.md"
SUFFIXES = {".py", ".cpp", ".hpp", ".sh", ".ts", ".mjs", ".lua", ".el"}
# A name in quotes, `$NAME`, `${NAME` or `env.NAME`: macros of C++ and options of CMake are written without.
USE = re.compile(r"""(?:["'`]|\$\{?|\benv\.|\{ )(HIPSCOPE_[A-Z0-9_]+)\b""")
OPTIONS_OF_CMAKE = {"HIPSCOPE_ISA_LEVELS", "HIPSCOPE_SANITIZE"}


def used() -> set[str]:
    """The variables in all tracked files of code."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True
    ).stdout
    files = [
        ROOT / name for name in listed.splitlines() if Path(name).suffix in SUFFIXES or name == "Makefile"
    ]
    return {
        name
        for path in files
        if path.is_file() and path != Path(__file__)
        for name in USE.findall(path.read_text(encoding="utf-8", errors="replace"))
    }


def test_every_variable_is_explained() -> None:
    rows = re.findall(r"^\| (`HIPSCOPE_.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"HIPSCOPE_[A-Z0-9_]+", row)}
    assert used() - explained == set(), f"{PAGE.name} lacks them"
    assert explained - used() == set(), f"{PAGE.name} explains what nothing reads"


def test_the_page_mentions_no_variable_that_it_does_not_explain() -> None:
    text = PAGE.read_text(encoding="utf-8")
    mentioned = set(re.findall(r"HIPSCOPE_[A-Z0-9_]+", text)) - OPTIONS_OF_CMAKE
    assert mentioned <= used()

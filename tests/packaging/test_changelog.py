"""The changelog: its newest release is the version of the package, and an entry is one short line."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()


def test_the_newest_release_is_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    released = re.findall(r"^## \[(\d[^]]*)\] - \d{4}-\d\d-\d\d$", "\n".join(LINES), re.MULTILINE)
    assert released[0] == project["version"]


def test_an_entry_is_one_line_of_at_most_120_characters() -> None:
    assert [line for line in LINES if line.startswith("  ") or len(line) > 120] == []

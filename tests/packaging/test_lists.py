"""Names of HIP and spellings of integers stand in one table each: no rule keeps a list of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = [
    path
    for folder in (
        "formulas/propose/rules",
        "formulas/propose/hints",
        "formulas/launches",
        "analysis/kernel",
    )
    for path in sorted((ROOT / folder).rglob("*.py"))
]
# What a list of fences or of barriers would hold.
_FENCES = re.compile(
    r"__threadfence|__builtin_amdgcn_fence|__syncwarp|this_grid|__atomic_work_item_fence|\\bvolatile\|"
)
# Three spellings of integers in a row, as strings.
_INTEGERS = re.compile(r"(?:\"(?:unsigned|int|long|short|char|size_t|u?int\d+_t)(?: \w+)*\",\s*){4}")


@pytest.mark.parametrize("path", RULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_rule_has_no_list_of_names_or_types(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert (found := _FENCES.search(text)) is None, f"{found[0]} belongs to analysis/kernel/builtins.toml"
    assert (spelled := _INTEGERS.search(text)) is None, f"{spelled[0]}: see number_types.integers"

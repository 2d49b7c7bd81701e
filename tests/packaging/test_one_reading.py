"""What C++ says is read in one place: rules ask `analysis/kernel`, names stand in one table, and nothing waits unused.

`own_readings.toml` lists what is not there yet, by module. A row only shrinks: more than it allows fails, and so does
a row that allows more than there is.
"""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from hipscope.analysis.builtins import classes, is_a
from hipscope.analysis.source.number_types import NUMBER_TYPES

ROOT = Path(__file__).parents[2]
LISTED: Mapping[str, Mapping[str, int]] = tomllib.loads(
    (Path(__file__).parent / "own_readings.toml").read_text(encoding="utf-8")
)
PARTS = ("analysis", "accordo", "emulator", "formulas", "server")
MODULES = [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]
RULES = [path for path in MODULES if path.is_relative_to(ROOT / "formulas" / "propose" / "rules")]
# Who says what names and types of HIP mean; the others ask.
TABLES = {"analysis/builtins.py", "analysis/source/number_types.py"}
FEW_NAMES = 3
LONGEST = 600  # lines
ASKED_CLASSES = tuple(sorted(set(classes()) - {"converts"}))


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def beyond(rows: str, found: Mapping[str, int]) -> list[str]:
    """The modules with more than their row of the table allows, and the rows that allow too much."""
    allowed = LISTED[rows]
    return [
        f"{module}: {found.get(module, 0)}, {allowed.get(module, 0)} in own_readings.toml"
        for module in sorted({*found, *allowed})
        if found.get(module, 0) != allowed.get(module, 0)
    ]


def counted(paths: list[Path], count: Callable[[ast.Module], int]) -> dict[str, int]:
    return {label(path): number for path in paths if (number := count(parsed(path)))}


# -- rules read no syntax


def raw_syntax(tree: ast.Module) -> int:
    """Imports of `tree_sitter` and `re`, and comparisons of a node's `type`."""
    imports = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    imports += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]
    compared = (
        side
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
    )
    types = sum(isinstance(side, ast.Attribute) and side.attr == "type" for side in compared)
    return types + sum((name or "").partition(".")[0] in ("tree_sitter", "re") for name in imports)


def test_rules_read_no_more_syntax_by_themselves_than_is_listed() -> None:
    assert beyond("raw_syntax", counted(RULES, raw_syntax)) == []


def test_the_syntax_rule_sees_imports_and_comparisons() -> None:
    text = "import re\nfrom tree_sitter import Node\nnode.type == 'if'\n'a' in (x.type, y)\na.type in LOOPS"
    assert raw_syntax(ast.parse(text)) == 4


# -- names and types stand in their tables


def lists_of_names(tree: ast.Module) -> int:
    """Sets, rows, keys and patterns with more than a few names that the tables of HIP and of numbers have."""
    return sum(len(set(filter(is_known, words))) > FEW_NAMES for words in lists_in(tree))


def lists_in(tree: ast.Module) -> Iterator[list[str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.Tuple | ast.List | ast.Dict):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            yield [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value:
            yield re.findall(r"\w+", node.value)


@functools.cache
def is_known(word: str) -> bool:
    return word in NUMBER_TYPES or is_a(word, *ASKED_CLASSES)


def test_no_module_has_more_lists_of_names_or_types_than_are_listed() -> None:
    found = counted([path for path in MODULES if label(path) not in TABLES], lists_of_names)
    assert beyond("lists", found) == []


def test_the_rule_of_lists_sees_a_set_a_table_and_a_pattern() -> None:
    text = "{'int', 'long', 'char', 'short'}\n{'sin': 1, 'cos': 2, 'tan': 3, 'exp': 4}\nr'\\b(min|max|fma|sqrt)\\('"
    assert lists_of_names(ast.parse(text)) == 3
    assert lists_of_names(ast.parse("('int', 'long', 'char', 'banana')")) == 0


# -- nothing waits for a caller


def public_names(path: Path) -> list[str]:
    """Functions and classes of a module that no decorator hands on, and no base class: a formula is found by being
    there.
    """
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    plain = (n for n in parsed(path).body if isinstance(n, kinds) and not n.decorator_list)
    return [n.name for n in plain if not n.name.startswith("_") and not _is_formula(n)]


def _is_formula(node: ast.stmt) -> bool:
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return any(isinstance(base, ast.Name) and base.id == "Worded" for base in bases)


@functools.cache
def used_names() -> frozenset[str]:
    """Every name that the product's code uses, also as an attribute or in a text, and those that pages name."""
    nodes = [node for path in MODULES for node in ast.walk(parsed(path))]
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    found |= {alias.name for n in nodes if isinstance(n, ast.ImportFrom) for alias in n.names if alias.asname}
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    lines = [text for text in texts if re.fullmatch(r"[\w.:]+", text)]
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    return frozenset(found.union(*(re.findall(r"\w+", text) for text in (*lines, *pages))))


def test_every_public_name_has_a_caller_in_the_product_or_a_page_that_names_it() -> None:
    unused = [
        f"{label(path)}: {name}"
        for path in MODULES
        for name in public_names(path)
        if name not in used_names()
    ]
    assert unused == []


# -- files that one reader can hold


def test_no_module_is_longer_than_a_reader_holds_unless_listed() -> None:
    lengths = {label(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    hundreds = {module: -(-lines // 100) * 100 for module, lines in lengths.items() if lines > LONGEST}
    assert beyond("longest", hundreds) == []


def test_no_more_modules_than_listed_lack_a_test_of_their_name() -> None:
    lines = (ROOT / "tests" / "COVERED_BY").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.strip() and not line.startswith("#")]
    assert len(rows) <= LISTED["covered_by"]["rows"]

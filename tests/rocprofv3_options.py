"""The options of rocprofv3, version by version: a table, and parsers that are made from it.

`python -m tests.rocprofv3_options FOLDER` writes the table anew. FOLDER has a `rocprofv3.py` in a folder for each name
in `SOURCES`. Their syntax trees are read; nothing of them is run.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "data" / "rocprofv3_options.toml"
# Where each version was read: repository, what it is called there, commit, the SDK's own number.
SOURCES = {
    "6.2": ("ROCm/rocprofiler-sdk", "tag rocm-6.2.0", "b2b99d424a69", "0.4.0"),
    "6.3": ("ROCm/rocprofiler-sdk", "tag rocm-6.3.0, in a fork", "38ac1c8f7d62", "0.5.0"),
    "6.4": ("ROCm/rocm-systems", "history of 2025-01-17", "e307b89ca494", "0.6.0"),
    "7.0": ("ROCm/rocm-systems", "branch release/rocm-rel-7.0", "64cf36def2c9", "1.0.0"),
    "7.1": ("ROCm/rocm-systems", "history of 2025-10-28, in a fork", "2be29452280c", "1.1.0"),
    "7.2": ("ROCm/rocm-systems", "history of 2026-01-21, in a fork", "c563286f96a3", "1.1.0"),
    "7.13": ("ROCm/rocm-systems", "history of 2026-05-14, in a fork", "83007dce9d79", "1.3.1"),
    "7.13+": ("ROCm/rocm-systems", "history of 2026-07-09, in a fork", "14b10dc4d0bf", "1.3.2"),
    "newest": ("ROCm/rocm-systems", "text of one file, its options copied", "01610ac2b141", "later"),
}
VERSIONS = tuple(SOURCES)
_WORD_ONLY = {"store_true", "store_const"}


@dataclass(frozen=True)
class Option:
    """One option. `takes` is what argparse calls nargs: `0` none, `1` one word, else `?`, `*` or `+`.

    `action` and `kind` are the names of those that are not argparse's default; `values` are the only ones allowed.
    """

    names: tuple[str, ...]
    takes: str = "1"
    values: tuple[str, ...] = ()
    kind: str = ""
    action: str = ""
    versions: tuple[str, ...] = ()


def options_of(version: str) -> list[Option]:
    """The options of that version, as the table has them."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["option"]
    found = [
        Option(
            tuple(row["names"].split()), row["takes"], tuple(row.get("values", "").split()), row.get("kind", ""),
            row.get("action", ""), tuple(row["versions"].split()),
        )
        for row in rows
    ]  # fmt: skip
    return [option for option in found if version in option.versions]


def read_options(text: str) -> list[Option]:
    """The options that a `rocprofv3.py` gives to argparse."""
    tree = ast.parse(text)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "parse_arguments")
    return [_option(call, is_switch, constants) for call, is_switch in _calls(function)]


def _calls(function: ast.FunctionDef) -> Iterator[tuple[ast.Call, bool]]:
    """The calls that add an option; whether it is a switch that takes `=yes` and `=no`, too."""
    inner = [n for n in function.body if isinstance(n, ast.FunctionDef)]
    helpers = {n.name for n in inner}
    inside = {id(call) for n in inner for call in ast.walk(n)}
    for call in ast.walk(function):
        if not isinstance(call, ast.Call) or id(call) in inside:
            continue
        if isinstance(call.func, ast.Name) and call.func.id in helpers:
            yield call, True
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            yield call, False


def _option(call: ast.Call, is_switch: bool, constants: Mapping[str, ast.expr]) -> Option:
    names = tuple(str(a.value) for a in call.args if isinstance(a, ast.Constant))
    words = {word.arg: word.value for word in call.keywords}
    if is_switch:
        return Option(names, "?", kind="bool")
    action = _text(words.get("action"))
    takes = str(ast.literal_eval(words["nargs"])) if "nargs" in words else "1"
    values = words.get("choices")
    if isinstance(values, ast.Name):
        values = constants[values.id]
    return Option(
        names,
        "0" if action in _WORD_ONLY else takes,
        tuple(ast.literal_eval(values)) if values is not None else (),
        _text(words.get("type")).removeprefix("str.").replace("str", ""),
        "" if action in _WORD_ONLY else action,
    )


def _text(node: ast.expr | None) -> str:
    if node is None:
        return ""
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _merged(folder: Path) -> list[Option]:
    """The options of all versions; one that stays as it was is one row."""
    rows: dict[Option, list[str]] = {}
    for version in VERSIONS:
        text = (folder / version / "rocprofv3.py").read_text(encoding="utf-8")
        for option in read_options(text):
            rows.setdefault(option, []).append(version)
    return [replace(option, versions=tuple(versions)) for option, versions in rows.items()]


def write_table(folder: Path) -> None:
    """Make the table of the sources in a folder."""
    lines = ["# Made by tests/rocprofv3_options.py from the rocprofv3.py of each version: do not edit.\n"]
    for version, (repository, what, commit, number) in SOURCES.items():
        where = f'repository = "{repository}", what = "{what}", commit = "{commit}", sdk = "{number}"'
        lines.append(f'source."{version}" = {{ {where} }}')
    lines.append("option = [")
    for option in sorted(_merged(folder), key=lambda o: (o.names[-1], VERSIONS.index(o.versions[0]))):
        cells = [("names", option.names), ("takes", (option.takes,)), ("values", option.values)]
        cells += [("kind", (option.kind,)), ("action", (option.action,)), ("versions", option.versions)]
        row = ", ".join(f'{name} = "{" ".join(words)}"' for name, words in cells if any(words))
        lines.append(f"  {{ {row} }},")
    TABLE.write_text("\n".join([*lines, "]\n"]), encoding="utf-8")


def parser_of(options: Sequence[Mapping[str, Any]], version: str) -> argparse.ArgumentParser:
    """A parser that takes and refuses what the version takes and refuses; it knew abbreviations until 6.4."""
    parser = argparse.ArgumentParser(
        prog="rocprofv3",
        usage="%(prog)s [options] -- <application> [application options]",
        allow_abbrev=version.startswith("6."),
    )
    kinds: dict[str, Any] = {"int": int, "lower": str.lower, "upper": str.upper, "bool": _truth}
    for option in options:
        words: dict[str, Any] = {}
        if option["takes"] == "0":
            words["action"] = "store_true"
        elif option["takes"] == "?":
            words |= {"nargs": "?", "const": True}
        elif option["takes"] in ("*", "+"):
            words["nargs"] = option["takes"]
        if option["action"] == "append":
            words["action"] = "append"
        if option["kind"] in kinds:
            words["type"] = kinds[option["kind"]]
        if option["values"]:
            words["choices"] = list(option["values"])
        parser.add_argument(*option["names"], **words)
    return parser


def _truth(word: str) -> bool:
    """A switch's word, as `strtobool` reads it."""
    if word.lower() in ("yes", "true", "t", "y", "1", "on"):
        return True
    if word.lower() in ("no", "false", "f", "n", "0", "off"):
        return False
    raise argparse.ArgumentTypeError(f"Unsupported input type: {word}")


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))

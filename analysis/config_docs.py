"""Writes the pages about `hipscope.toml` from the model that checks it: `python -m hipscope.analysis.config_docs`.

Beside them its JSON schema, `docs/hipscope-toml.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hipscope.analysis.config import CONFIG_FILE, Config, config_keys

PAGE = "docs/configuration.md"
REWRITES_PAGE = "docs/configuration-rewrites.md"
SCHEMA = "docs/hipscope-toml.json"

_HEAD = f"""# {CONFIG_FILE}

A single source file with `main` needs no configuration. Anything else is described by a `{CONFIG_FILE}` in the
project's directory: hipscope looks for it beside the file that you open and above it, up to the repository's root.
Every key is optional. An unknown key is an error that names the closest key.

```toml
build = "cmake -S . -B build && cmake --build build"
run = "build/app --size 4096"
source_dirs = ["src"]
tolerance = 1e-4

[emulator]
time_budget_s = 10
```

The `#include <...>` lines at the start of a source are precompiled when a second text begins with the same ones, in the
cache directory (11 MB for each side; the 16 that were used last are kept). The code is the same with and without;
headers that print a warning are left out.

`build` runs in a copy of the project in the cache directory, never in your tree: `.git`, object files, programs, and
directories that hold a `CMakeCache.txt` are left out of the copy; files of 32 MiB and more are linked. A header that
changed is compiled again with what included it, whether or not the build's own rules name it. What it needs
from outside its directory is there when `source_dirs` names it (`[".", "../common"]`); a build that fails for want of
it says so. The build sees wrappers of `hipcc`, `amdclang++` and `clang++` first on `PATH`, so let it call its compiler
by name. They add the architecture and line tables, and record each file's flags for later. `run` runs there, too.

For a single file, flags come from the nearest `compile_commands.json` if it names the file, else from what CMake's file
API says of it in a configured build folder, else they are `-std=c++17 -O3`.

An editor that speaks to `hipscope lsp` shows mistakes on their keys, offers keys and says what they mean. For a TOML
plugin such as taplo there is the JSON schema [hipscope-toml.json](hipscope-toml.json).

The tables `[accordo]`, `[optimize]` and `[llm]`: [settings of rewrites](configuration-rewrites.md).

*This page is written by `python -m hipscope.analysis.config_docs`; a test keeps it current.*
"""

_REWRITES_HEAD = f"""# {CONFIG_FILE}: rewrites

How rewrites are proposed and proved: the tables for them in [{CONFIG_FILE}](configuration.md).
"""
_OF_REWRITES = ("accordo", "optimize", "llm")


def render(*, rewrites: bool = False) -> str:
    """The page as Markdown, or the one with the tables for rewrites."""
    lines = [(_REWRITES_HEAD if rewrites else _HEAD).rstrip()]
    table: str | None = None
    for name, default, description in config_keys():
        section = name.rpartition(".")[0]
        if (section in _OF_REWRITES) is not rewrites:
            continue
        if section != table:
            table = section
            about = (
                (type(getattr(Config(), section)).__doc__ or "").strip()
                if section
                else "Settings of every project."
            )
            title = f"[{section}]" if section else "Top level"
            lines += ["", f"## {title}", "", about, "", "| key | default | |", "|---|---|---|"]
        lines.append(f"| `{name.rpartition('.')[2]}` | {_shown(default)} | {description} |")
    return "\n".join(lines) + "\n"


def _shown(default: Any) -> str:
    if default is None:
        return "not set"
    return f"`{json.dumps(default)}`"


def schema() -> str:
    """The JSON schema of the file, for editors with a TOML plugin."""
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
    return json.dumps({**whole, "title": CONFIG_FILE}, indent=2) + "\n"


if __name__ == "__main__":
    for page, text in {PAGE: render(), REWRITES_PAGE: render(rewrites=True), SCHEMA: schema()}.items():
        Path(page).write_text(text, encoding="utf-8")

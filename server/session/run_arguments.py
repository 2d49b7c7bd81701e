"""Whose word about a program's arguments counts: its source's, its `hipscope.toml`'s, else the editor's setting.

Takes a project and the text of its source, gives who names the arguments. The setting of a whole folder never replaces
what one program says of itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hipscope.analysis.build_files.spoken import run_line
from hipscope.analysis.system.places import place_of
from hipscope.server.session.known_profiles import SOURCES, toml_settings

Namer = Literal["source", "toml", "setting"]


def namer_of_arguments(key: Path, text: str | None) -> Namer:
    """Who names the arguments of the program `key`, a source with that text or the folder of a `hipscope.toml`."""
    if key.suffix in SOURCES and text is not None and run_line(text) is not None:
        return "source"
    home = place_of(key, "hipscope.toml").holder
    said = toml_settings(home / "hipscope.toml") if home is not None else {}
    if said.get("args") or (key == home and said.get("run")):
        return "toml"
    return "setting"

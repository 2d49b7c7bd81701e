"""The extension and the server agree: read from package.json, the TypeScript and the server's own tables."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

from hipscope.analysis.config import Config
from hipscope.analysis.profilers import choose_profiler
from hipscope.server.console.options import Backend
from hipscope.server.features.commands import (
    APPLY,
    BENCH,
    CANCEL,
    CHECK,
    CHOOSE_BUILD,
    COMPARE,
    DISCARD,
    EXPLAIN,
    METRICS,
    NEXT,
    OPEN_PROFILE,
    OPTIMIZE,
    PROFILE,
    SET_ARGUMENTS,
)
from hipscope.server.features.restore import RESTORE
from hipscope.server.session.editor_settings import EditorSettings, camel_case, read_settings

EXTENSION = Path(__file__).parents[2] / "vscode-extension"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
CONTRIBUTED = MANIFEST["contributes"]
SETTINGS: dict[str, Any] = CONTRIBUTED["configuration"]["properties"]
SOURCE = "\n".join(path.read_text() for path in sorted((EXTENSION / "src").glob("*.ts")))
UPDATE = "hipscope.server.update"  # the extension's own, as there may be no server to ask
CLIENT_ONLY = {"serverPath", "interpreter", "heat", "trace.server"}


def test_the_editor_offers_every_setting_that_the_server_reads_with_the_same_default() -> None:
    offered = {name.removeprefix("hipscope."): entry["default"] for name, entry in SETTINGS.items()}
    server = {camel_case(f.name): f.default for f in dataclasses.fields(EditorSettings)}
    shared = {name: value for name, value in offered.items() if name not in CLIENT_ONLY}
    assert shared == {name: list(v) if isinstance(v, tuple) else v for name, v in server.items()}


def test_the_server_accepts_the_extension_s_defaults_without_a_complaint() -> None:
    defaults = {name.removeprefix("hipscope."): entry["default"] for name, entry in SETTINGS.items()}
    assert read_settings({"hipscope": defaults}) == (EditorSettings(), [])


def test_the_extension_asks_for_the_commands_that_the_server_has() -> None:
    asked = set(re.findall(r'"(hipscope\.server\.\w+)"', SOURCE))
    assert asked - {UPDATE} == {
        PROFILE,
        OPTIMIZE,
        APPLY,
        DISCARD,
        NEXT,
        CHECK,
        CHOOSE_BUILD,
        COMPARE,
        EXPLAIN,
        METRICS,
        BENCH,
        RESTORE,
        CANCEL,
        OPEN_PROFILE,
        SET_ARGUMENTS,
    }


def test_every_contributed_command_is_implemented_under_an_id_that_is_not_the_server_s() -> None:
    contributed = {entry["command"] for entry in CONTRIBUTED["commands"]}
    implemented = set(re.findall(r'^ +"(hipscope\.(?:server\.)?\w+)": \(?', SOURCE, flags=re.MULTILINE))
    assert implemented == contributed
    assert not contributed & {PROFILE, OPTIMIZE, APPLY, DISCARD, CHECK, BENCH, RESTORE, CANCEL, OPEN_PROFILE}


def test_every_theme_colour_that_the_code_uses_is_contributed_with_high_contrast_values() -> None:
    colours = {entry["id"]: entry["defaults"] for entry in CONTRIBUTED["colors"]}
    names = [f"heat{band}" for band in range(1, 6)] + ["heatStale"]
    assert set(colours) == {f"hipscope.{name}{part}" for name in names for part in ("Background", "Ruler")}
    assert all(set(v) == {"dark", "light", "highContrast", "highContrastLight"} for v in colours.values())


def test_a_folder_that_is_not_trusted_cannot_choose_what_is_started() -> None:
    restricted = set(MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"])
    assert {"hipscope.serverPath", "hipscope.interpreter", "hipscope.programArguments"} <= restricted
    assert restricted <= set(SETTINGS)


def test_the_extension_has_the_version_of_the_package() -> None:
    project = (EXTENSION.parent / "pyproject.toml").read_text()
    assert f'version = "{MANIFEST["version"]}"' in project


def test_no_lock_file_names_where_its_packages_were_fetched_from() -> None:
    for folder in (EXTENSION, Path(__file__).parent):
        packages = json.loads((folder / "package-lock.json").read_text())["packages"]
        assert not [name for name, entry in packages.items() if "resolved" in entry]


def test_every_backend_that_is_offered_can_be_chosen_and_all_offer_the_same() -> None:
    offered = SETTINGS["hipscope.backend"]["enum"]
    assert len(SETTINGS["hipscope.backend"]["enumDescriptions"]) == len(offered)
    assert offered == [backend.value for backend in Backend]
    assert offered == list(get_args(Config.model_fields["backend"].annotation))
    assert offered == list(get_args(get_type_hints(EditorSettings)["backend"]))
    for name in offered:
        choose_profiler(name, "gfx942")

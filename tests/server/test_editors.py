"""Neovim and Emacs, the real programs, set up as docs/editors.md says; a fake worker stands in for the GPU."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.system.allowed_folders import allow_folder
from tests.server.editor_features import FEATURES, table

HERE = Path(__file__).parent
DOCUMENTATION = HERE.parents[1] / "docs" / "editors.md"
PROGRAM = """\
__global__ void transpose(float* p, int n) {
  __shared__ float tile[32][32];
  tile[n][0] = p[n];  // cost 0.2 global_memory
  p[n] = tile[n][n]/*slow*/;  // cost 0.6 lds // find bankConflict
}
int main() { transpose<<<1, 64>>>(nullptr, 0); }
"""


def run(editor: list[str], folder: Path, text: str = PROGRAM) -> dict[str, Any]:
    """Run an editor's script on a program and return the object that it prints."""
    program = folder / "transpose.hip"
    program.write_text(text)
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HIPSCOPE_FILE": str(program),
        "HIPSCOPE_WORKER": str(HERE / "fake_worker.py"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_STATE_HOME": str(folder / "state"),
        "HOME": str(folder),
    }
    allow_folder(folder, environment)
    command = folder / "bin" / "hipscope"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m hipscope.server "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(editor, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return seen


def block(name: str, folder: Path) -> Path:
    """A file with the block of the documentation that is for the file of that name, as it stands."""
    text = DOCUMENTATION.read_text()
    lines = text[text.index(f"`{name}`:") :].splitlines()[2:]
    code = itertools.takewhile(lambda line: line.startswith("    ") or not line, lines)
    path = folder / name
    path.write_text("\n".join(line.removeprefix("    ") for line in code))
    return path


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_shows_the_finding_on_save_and_applies_the_verified_edit(tmp_path: Path) -> None:
    script = str(HERE / "neovim.lua")
    settings = str(block("init.lua", tmp_path))
    seen = run(
        ["nvim", "--headless", "-u", settings, "-i", "NONE", "-n", "-c", f"luafile {script}"], tmp_path
    )
    assert seen["filetype"] == "hip"
    assert [d["line"] for d in seen["diagnostics"]] == [2, 3]
    assert "32 lanes read the same bank" in seen["diagnostics"][1]["message"]
    assert "bank conflicts take 97 %" in seen["hover"]
    assert seen["lenses"] == ["modelled 37.0 us · 100 % of GPU time · LDS bound", "Optimize"]
    assert seen["actions"][0] == "Optimize kernel transpose: bankConflict"
    assert seen["answer"] == {"status": "started"}
    assert "3.50x as fast (modelled)" in " ".join(seen["question"])
    assert "/*fast*/" in seen["line"]
    assert seen["stopped"] is True


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_the_neovim_plugin_draws_heat_and_has_kernels_machine_code_roofline_history_and_arguments(
    tmp_path: Path,
) -> None:
    plugin = HERE.parents[1] / "editors" / "nvim"
    settings = tmp_path / "init.lua"
    settings.write_text(f'vim.opt.runtimepath:append("{plugin}")\nrequire("hipscope").setup()\n')
    script = str(HERE / "neovim_plugin.lua")
    seen = run(
        ["nvim", "--headless", "-u", str(settings), "-i", "NONE", "-n", "-c", f"luafile {script}"],
        tmp_path,
        PROGRAM + "// isa\n",
    )
    assert seen["heat"] == [[2, "20 % global memory"], [3, "60 % LDS"]]
    assert seen["kernels"] == "transpose  37.0 us · 100 % · LDS bound"
    assert seen["isa"] == [
        "; transpose: share of modelled cycles",
        " 50 %  ds_read_b32 v0",
        " 50 %  ds_read_b32 v1",
    ]
    assert seen["marked"] == 2
    assert "| HBM | █▉ 1.00 TB/s, 19 % of 5.30 TB/s |" in seen["roofline"]
    assert "It waits for 80 % of that, 75 % of it for LDS" in seen["explained"]
    assert [row.endswith("transpose 37.0 us") for row in seen["history"]] == [True]
    assert seen["compared"]["command"] == "hipscope.server.compare"
    assert seen["compared"]["arguments"][0]["a"] == seen["compared"]["arguments"][0]["b"]
    assert seen["asked"] == "Arguments of transpose.hip: "


@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed")
def test_emacs_shows_the_finding_in_plain_text_and_applies_the_verified_edit(tmp_path: Path) -> None:
    probe = ["emacs", "--batch", "--eval", "(progn (require 'package) (package-initialize) (require 'eglot))"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("eglot is not installed")
    settings = str(block("init.el", tmp_path))
    load = ["--load", settings, "--load", str(HERE / "eglot.el")]
    seen = run(
        ["emacs", "--batch", "--eval", "(progn (require 'package) (package-initialize))", *load], tmp_path
    )
    assert seen["mode"] == "hip-mode"
    assert seen["answer"] == {"status": "started"}
    assert "3.50x as fast (modelled)" in seen["question"]
    assert {d["line"] for d in seen["diagnostics"]} >= {4}
    assert "bank conflicts take 97 %" in seen["hover"]
    assert "**" not in seen["hover"]
    assert seen["action"] == "Optimize kernel transpose: bankConflict"
    assert "/*fast*/" in seen["line"]


def test_the_settings_for_helix_start_the_server_for_hip_files(tmp_path: Path) -> None:
    settings = tomllib.loads(block("languages.toml", tmp_path).read_text())
    assert settings["language-server"]["hipscope"] == {"command": "hipscope", "args": ["lsp"]}
    hip = next(language for language in settings["language"] if "hip" in language.get("file-types", ()))
    assert "hipscope" in hip["language-servers"]


@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed")
def test_the_emacs_package_draws_heat_and_has_kernels_machine_code_roofline_history_and_arguments(
    tmp_path: Path,
) -> None:
    packages = "(progn (require 'package) (package-initialize))"
    probe = ["emacs", "--batch", "--eval", packages, "--eval", "(require 'eglot)"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("eglot is not installed")
    folder = str(HERE.parents[1] / "editors" / "emacs")
    script = str(HERE / "emacs_package.el")
    editor = ["emacs", "--batch", "--eval", packages, "--directory", folder, "--load", script]
    seen = run(editor, tmp_path, PROGRAM + "// isa\n")
    assert seen["mode"] == "hip-mode"
    assert seen["heat"] == ["3  20 % global memory hipscope-hot", "4  60 % LDS hipscope-hottest"]
    assert seen["kernels"] == "transpose  37.0 us · 100 % · LDS bound\n"
    assert seen["isa"].splitlines() == [
        "; transpose: share of modelled cycles",
        " 50 %  ds_read_b32 v0  ; line 3",
        " 50 %  ds_read_b32 v1  ; line 4",
    ]
    assert "HBM                   █▉ 1.00 TB/s, 19 % of 5.30 TB/s" in seen["roofline"]
    assert "It waits for 80 % of that, 75 % of it for LDS" in seen["explained"]
    assert seen["history"].endswith("  transpose 37.0 us\n")
    assert seen["compared"]["command"] == "hipscope.server.compare"
    assert seen["compared"]["arguments"][0]["a"] == seen["compared"]["arguments"][0]["b"]
    assert seen["first"] == "// hipscope: run 64"


def named(column: str, pattern: str) -> set[str]:
    """What the table says an editor has, by the words that a pattern finds."""
    return {name for feature in FEATURES for name in re.findall(pattern, getattr(feature, column))}


def test_the_table_of_editors_is_in_the_documentation() -> None:
    """`python -m tests.server.editor_features` prints it anew."""
    assert table() in (DOCUMENTATION.parent / "editor-features.md").read_text()


def test_the_extension_has_what_the_table_says() -> None:
    manifest = json.loads((HERE.parents[1] / "vscode-extension" / "package.json").read_text())["contributes"]
    views = {view["name"] for group in manifest["views"].values() for view in group}
    assert named("vscode", r"\*(.+)\*") <= views | {command["title"] for command in manifest["commands"]}


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_the_neovim_plugin_has_what_the_table_says() -> None:
    plugin = HERE.parents[1] / "editors" / "nvim"
    script = "lua io.stdout:write(table.concat(require('hipscope').names(), ' '))"
    words = ["nvim", "--headless", "-u", "NONE", "-c", f"set rtp+={plugin}", "-c", script, "-c", "quit"]
    names = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.split()
    assert named("neovim", "Hipscope ([a-z]+)") <= set(names)


def test_the_emacs_package_has_what_the_table_says() -> None:
    package = (HERE.parents[1] / "editors" / "emacs" / "hipscope.el").read_text()
    assert named("emacs", "M-x ([a-z-]+)") <= set(re.findall(r"^\(defun (\S+)", package, re.MULTILINE))

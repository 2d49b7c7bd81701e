"""Neovim and Emacs, the real programs, set up as docs/editors.md says; a fake worker stands in for the GPU."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.system.allowed_folders import allow_folder

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
def test_the_neovim_plugin_draws_heat_and_has_kernels_machine_code_and_arguments(tmp_path: Path) -> None:
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
def test_the_emacs_package_draws_heat_and_has_kernels_machine_code_and_arguments(tmp_path: Path) -> None:
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
    assert seen["first"] == "// hipscope: run 64"

"""Neovim and Emacs, the real programs, against the server; a fake worker stands in for the GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.system.allowed_folders import allow_folder

HERE = Path(__file__).parent
PROGRAM = """\
__global__ void transpose(float* p, int n) {
  __shared__ float tile[32][32];
  tile[n][0] = p[n];  // cost 0.2 global_memory
  p[n] = tile[n][n]/*slow*/;  // cost 0.6 lds // find bankConflict
}
int main() { transpose<<<1, 64>>>(nullptr, 0); }
"""


def run(editor: list[str], folder: Path) -> dict[str, Any]:
    """Run an editor's script on PROGRAM and return the object that it prints."""
    program = folder / "transpose.hip"
    program.write_text(PROGRAM)
    environment = {
        **os.environ,
        "HIPSCOPE_LSP": json.dumps([sys.executable, "-m", "hipscope.server", "lsp"]),
        "HIPSCOPE_FILE": str(program),
        "HIPSCOPE_WORKER": str(HERE / "fake_worker.py"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_STATE_HOME": str(folder / "state"),
        "HOME": str(folder),
    }
    allow_folder(folder, environment)
    done = subprocess.run(editor, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return seen


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_shows_the_finding_on_save_and_applies_the_verified_edit(tmp_path: Path) -> None:
    script = str(HERE / "neovim.lua")
    seen = run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {script}"], tmp_path)
    assert [d["line"] for d in seen["diagnostics"]] == [2, 3]
    assert "32 lanes read the same bank" in seen["diagnostics"][1]["message"]
    assert "bank conflicts take 97 %" in seen["hover"]
    assert seen["lenses"] == ["modelled 37.0 us · 100 % of GPU time · LDS bound", "Optimize"]
    assert seen["actions"][0] == "Optimize kernel transpose: bankConflict"
    assert seen["answer"]["applied"] is True
    assert "/*fast*/" in seen["line"]
    assert seen["stopped"] is True


@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed")
def test_emacs_shows_the_finding_in_plain_text_and_applies_the_verified_edit(tmp_path: Path) -> None:
    probe = ["emacs", "--batch", "--eval", "(progn (require 'package) (package-initialize) (require 'eglot))"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("eglot is not installed")
    load = ["--eval", "(progn (require 'package) (package-initialize))", "--load", str(HERE / "eglot.el")]
    seen = run(["emacs", "--batch", *load], tmp_path)
    assert seen["answer"]["findings"] == 1
    assert {d["line"] for d in seen["diagnostics"]} >= {4}
    assert "bank conflicts take 97 %" in seen["hover"]
    assert "**" not in seen["hover"]
    assert seen["action"] == "Optimize kernel transpose: bankConflict"
    assert "/*fast*/" in seen["line"]

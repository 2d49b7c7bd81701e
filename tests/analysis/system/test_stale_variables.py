"""Variables that name no ROCm: no program sees them, whatever starts it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hipscope.analysis.system.process import run_process
from hipscope.analysis.system.stale_variables import stale_variables, without_stale


def test_a_folder_that_is_not_there_and_one_without_rocm_are_named(tmp_path: Path) -> None:
    (tmp_path / "rocm" / "include" / "hip").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    env = {
        "HIP_PATH": str(tmp_path / "gone"),
        "ROCM_PATH": str(tmp_path / "rocm"),
        "ROCM_HOME": str(tmp_path / "empty"),
        "HIP_DEVICE_LIB_PATH": str(tmp_path / "empty"),
        "HIP_CLANG_PATH": "",
        "PATH": str(tmp_path / "gone"),
    }
    assert stale_variables(env) == {
        "ROCM_HOME": f"is {tmp_path}/empty, which holds no ROCm",
        "HIP_PATH": f"is {tmp_path}/gone, which is no folder",
    }
    assert without_stale(env).keys() == env.keys() - {"ROCM_HOME", "HIP_PATH"}


def test_no_program_is_started_with_a_stale_hip_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIP_PATH", str(tmp_path / "gone"))
    monkeypatch.setenv("ROCM_PATH", "/usr")
    code = "import os; print('HIP_PATH' in os.environ, 'ROCM_PATH' in os.environ)"
    has_hip = Path("/usr/include/hip").is_dir() or Path("/usr/bin/hipcc").exists()
    assert run_process([sys.executable, "-c", code], timeout=60).text == f"False {has_hip}\n"

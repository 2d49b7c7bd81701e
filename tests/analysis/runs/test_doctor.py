"""The doctor: every tool, what works with it, and the command that fixes what is missing."""

from pathlib import Path

import pytest

from hipscope.analysis.config import Config, ToolchainConfig
from hipscope.analysis.errors import MissingTool
from hipscope.analysis.runs import doctor
from hipscope.analysis.runs.doctor import Tool, examine, works
from hipscope.analysis.system.python_packages import install_extra
from hipscope.analysis.toolchain import discovery


def row(name: str, rows: list[Tool]) -> Tool:
    (found,) = [row for row in rows if row.name == name]
    return found


def test_on_this_machine_the_compiler_is_complete(cache: Path) -> None:
    rows = examine(Config())
    for name in ("compiler", "linker", "offload bundler", "disassembler", "device libraries", "HIP headers"):
        assert row(name, rows).found, row(name, rows)
        assert Path(row(name, rows).path).exists()
    assert "clang version" in row("compiler", rows).version


def test_the_libclang_that_is_used_is_named(cache: Path) -> None:
    found = row("libclang", examine(Config()))

    assert found.found
    assert Path(found.path).is_file()
    assert int(found.version.split(".")[0]) >= 17


def test_a_missing_libclang_is_one_line_with_the_command_that_brings_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(clang: Path) -> None:
        raise MissingTool(f"no libclang beside {clang}", "run: pip install it")

    monkeypatch.setattr(doctor, "find_library", lacking)
    rows = examine(Config())

    assert (row("libclang", rows).status, works(rows)) == ("optional", True)
    assert row("libclang", rows).fix.startswith("pip install it  # no libclang beside /")


def test_a_stale_hip_path_is_a_row_that_says_to_unset_it(cache: Path, tmp_path: Path) -> None:
    rows = examine(Config(), {"PATH": "/nowhere", "HIP_PATH": str(tmp_path / "gone")})
    assert row("HIP_PATH", rows).fix == f"unset HIP_PATH   # it is {tmp_path}/gone, which is no folder"
    assert not any("hipscope doctor" in tool.fix for tool in rows)


def test_every_row_says_what_it_enables_and_how_to_get_it(cache: Path) -> None:
    for tool in examine(Config(), {"PATH": "/nowhere"}):
        assert tool.enables
        assert tool.found != bool(tool.fix)


def test_a_missing_compiler_is_a_row_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(discovery, "_LLVM_ROOT", tmp_path)
    rows = examine(Config(), {"PATH": str(tmp_path)})
    compiler = row("compiler", rows)
    assert compiler.status == "missing"
    assert "apt-get install -y clang-19" in compiler.fix
    assert not works(rows)


def test_an_unknown_architecture_is_shown_and_nothing_fails(cache: Path) -> None:
    compiler = row("compiler", examine(Config(arch="gfx999")))
    assert compiler.status == "missing"
    assert "gfx999" in compiler.fix


def test_native_parts_that_are_not_built_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HIPSCOPE_NATIVE_DIR", str(tmp_path))
    rows = doctor.examine(Config(toolchain=ToolchainConfig(clang="/nowhere")))
    assert row("emulator", rows).status == "missing"
    assert "make setup" in row("emulator", rows).fix
    (tmp_path / "libamdhip64.so").write_bytes(b"")
    assert (
        row("emulator", doctor.examine(Config(toolchain=ToolchainConfig(clang="/nowhere")))).status
        == "missing"
    )
    (tmp_path / "libamdhip64.so").write_bytes(b"\x7fELF")
    assert row("emulator", doctor.examine(Config(toolchain=ToolchainConfig(clang="/nowhere")))).found


def test_optional_tools_are_not_needed_and_nothing_is_offered_that_does_not_work(cache: Path) -> None:
    rows = examine(Config(), {"PATH": "/nowhere"})
    assert row("rocprofv3", rows).status == "optional"
    assert works(rows)
    assert not [tool for tool in rows if "NVIDIA" in tool.enables]  # that back end is refused


def test_what_installs_the_language_model_names_packages_that_exist() -> None:
    command = install_extra("llm")
    assert "'dspy>=3.4,<4'" in command.replace("'dspy<4,>=3.4'", "'dspy>=3.4,<4'")
    assert "hipscope[" not in command


def test_openmp_is_a_row_with_its_package(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "openmp_runtime", lambda _: None)
    openmp = row("OpenMP", examine(Config()))
    assert openmp.status == "optional"
    assert "apt-get install -y libomp-" in openmp.fix

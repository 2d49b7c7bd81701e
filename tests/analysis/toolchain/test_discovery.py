"""Finding the compiler: the order, what is missing, and the device libraries that are made."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hipscope.analysis.config import Config, ToolchainConfig
from hipscope.analysis.errors import MissingTool, UsageError
from hipscope.analysis.toolchain import discovery
from hipscope.analysis.toolchain.device_libraries import device_library_directory, isa_number
from hipscope.analysis.toolchain.discovery import find_toolchain, rocm_roots


def fake_compiler(directory: Path, says: str = "fake clang version 20.0.0", status: int = 0) -> Path:
    """A directory like ROCm's llvm/bin, whose compiler prints `says`."""
    directory.mkdir(parents=True)
    for name in ("clang++", "llvm-objdump", "clang-offload-bundler", "llvm-as", "ld.lld"):
        script = directory / name
        script.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {status}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return directory / "clang++"


def test_a_compiler_is_found_on_this_machine(cache: Path) -> None:
    found = find_toolchain(Config())
    assert found.clang.exists()
    assert "clang version" in found.version
    assert "--offload-arch=gfx942" in found.hip_flags


def test_what_the_config_names_comes_before_rocm(tmp_path: Path) -> None:
    named = fake_compiler(tmp_path / "named")
    fake_compiler(tmp_path / "rocm" / "llvm" / "bin")
    config = Config(toolchain=ToolchainConfig(clang=str(named), rocm=str(tmp_path / "rocm")))
    found = find_toolchain(config, {"ROCM_PATH": str(tmp_path / "rocm")})
    assert (found.kind, found.clang) == ("config", named)


def test_rocm_comes_before_the_distributions_clang(tmp_path: Path) -> None:
    clang = fake_compiler(tmp_path / "rocm" / "llvm" / "bin")
    found = find_toolchain(Config(), {"ROCM_PATH": str(tmp_path / "rocm")})
    assert (found.kind, found.clang, found.rocm_path) == ("rocm", clang, tmp_path / "rocm")
    assert f"--rocm-path={tmp_path / 'rocm'}" in found.hip_flags


def test_rocm_is_found_through_hipcc_on_the_path(tmp_path: Path) -> None:
    clang = fake_compiler(tmp_path / "rocm-9" / "lib" / "llvm" / "bin")
    hipcc = tmp_path / "rocm-9" / "bin" / "hipcc"
    hipcc.parent.mkdir()
    hipcc.write_text("#!/bin/sh\n")
    hipcc.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "hipcc").symlink_to(hipcc)
    found = find_toolchain(Config(), {"PATH": str(tmp_path / "bin")})
    assert found.clang == clang


def test_a_directory_that_is_no_rocm_is_passed_over(tmp_path: Path) -> None:
    assert tmp_path in list(rocm_roots({"ROCM_PATH": str(tmp_path)}))
    assert discovery.rocm_clang(tmp_path) is None


@pytest.mark.parametrize("variable", ["HIP_PATH", "ROCM_PATH"])
@pytest.mark.parametrize("folder", ["gone", "empty"])
def test_a_stale_hip_path_or_rocm_path_stops_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv(variable, str(tmp_path / folder))
    discovery._asked.cache_clear()
    assert "clang version" in find_toolchain(Config()).version


def test_a_compiler_that_fails_is_advised_about_without_the_doctor(tmp_path: Path) -> None:
    says = "clang version 20.0.0\nclang++: error: cannot find HIP runtime"
    fake_compiler(tmp_path / "rocm" / "llvm" / "bin", says, 1)
    with pytest.raises(MissingTool) as caught:
        find_toolchain(Config(), {"ROCM_PATH": str(tmp_path / "rocm")})
    assert caught.value.hint == f"reinstall the ROCm in {tmp_path}/rocm, or name another one with ROCM_PATH"


def test_nothing_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(discovery, "_LLVM_ROOT", tmp_path)
    monkeypatch.setattr(discovery, "system_device_libraries", lambda: None)
    monkeypatch.setattr(discovery, "_has_hip_headers", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingTool) as caught:
        find_toolchain(Config(), {"PATH": str(tmp_path)})
    assert caught.value.exit_code == 3
    assert caught.value.hint == (
        "run: sudo apt-get install -y clang-19 lld-19 clang-tools-19 llvm-19 rocm-device-libs libamdhip64-dev"
    )


@pytest.mark.parametrize(
    ("known", "named"),
    [
        (["rocm-device-libs-9", "rocm-device-libs-17", "rocm-device-libs-doc"], "rocm-device-libs-17"),
        (["rocm-device-libs-17", "rocm-device-libs-22"], "rocm-device-libs-17"),  # the compiler is clang 21
        (["rocm-device-libs-17", "rocm-device-libs"], "rocm-device-libs"),
        ([], "rocm-device-libs"),
    ],
)
def test_the_device_libraries_are_asked_for_by_a_name_that_apt_knows(
    known: list[str], named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clang = fake_compiler(tmp_path / "llvm-21" / "bin")
    apt = tmp_path / "apt-cache"
    apt.write_text(f"#!/bin/sh\nprintf '%s\\n' {' '.join(known)}\n")
    apt.chmod(0o755)
    monkeypatch.setattr(discovery, "_LLVM_ROOT", tmp_path)
    monkeypatch.setattr(discovery, "system_device_libraries", lambda: None)
    assert clang.exists()
    with pytest.raises(MissingTool, match=rf"missing: {named} \(run: "):
        find_toolchain(Config(toolchain=ToolchainConfig(include=["/x"])), {"PATH": str(tmp_path)})


def test_only_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clang = fake_compiler(tmp_path / "llvm-21" / "bin")
    (clang.parent / "ld.lld").unlink()
    monkeypatch.setattr(discovery, "_LLVM_ROOT", tmp_path)
    monkeypatch.setattr(discovery, "system_device_libraries", lambda: tmp_path)
    with pytest.raises(MissingTool, match=r"missing: lld-21 \(run: "):
        find_toolchain(Config(toolchain=ToolchainConfig(include=["/x"])), {"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (
            ToolchainConfig(clang="/nowhere/clang++"),
            "toolchain.clang: /nowhere/clang\\+\\+ is not an executable file",
        ),
        (ToolchainConfig(rocm="/nowhere"), "toolchain.rocm: /nowhere holds no"),
    ],
)
def test_a_wrong_path_in_the_config_is_named(chosen: ToolchainConfig, said: str) -> None:
    with pytest.raises(MissingTool, match=said):
        find_toolchain(Config(toolchain=chosen))


@pytest.mark.parametrize(
    ("place", "what"), [("none", "is no directory"), ("file", "is no directory"), ("", "")]
)
def test_a_directory_for_temporary_files_that_is_none_is_named(
    tmp_path: Path, cache: Path, place: str, what: str
) -> None:
    (tmp_path / "file").write_text("")
    env = {**os.environ, "TMPDIR": str(tmp_path / place), "TMP": "/not/looked/at"}
    if not what:
        find_toolchain(Config(), env)
        return
    with pytest.raises(UsageError, match=f"TMPDIR is .*{place}, which {what}"):
        find_toolchain(Config(), env)


def test_an_unknown_architecture_is_an_error_before_anything_is_compiled(cache: Path) -> None:
    with pytest.raises(UsageError, match="unknown GPU architecture `gfx999`"):
        find_toolchain(Config(arch="gfx999"))


def test_a_compiler_that_cannot_do_hip_says_why(tmp_path: Path) -> None:
    clang = fake_compiler(tmp_path / "bin", "clang version 3\nclang++: error: unknown argument: '-x hip'", 1)
    for name in ("ockl.bc", "oclc_isa_version_942.bc"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(MissingTool, match="cannot compile HIP: unknown argument"):
        find_toolchain(Config(toolchain=ToolchainConfig(clang=str(clang), device_libs=str(tmp_path))))


@pytest.mark.parametrize(
    ("arch", "number"), [("gfx942", 9402), ("gfx90a", 9010), ("gfx1030", 10300), ("gfx906", 9006)]
)
def test_the_number_of_an_architecture_is_the_one_in_amds_libraries(arch: str, number: int) -> None:
    assert isa_number(arch) == number


def test_a_missing_device_library_is_made_beside_links_to_the_others(cache: Path, tmp_path: Path) -> None:
    found = find_toolchain(Config())
    tools = found.clang.resolve().parent
    system = tmp_path / "system"
    system.mkdir()
    (system / "ockl.bc").write_bytes(b"library")
    made = device_library_directory(system, "gfx942", found.clang, tools / "llvm-as")
    assert cache in made.parents
    assert (made / "ockl.bc").resolve() == system / "ockl.bc"
    text = subprocess.run(
        [tools / "llvm-dis", "-o", "-", made / "oclc_isa_version_942.bc"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "@__oclc_ISA_version" in text
    assert "i32 9402" in text
    assert device_library_directory(system, "gfx942", found.clang, tools / "llvm-as") == made


def test_a_compiler_that_links_fewer_libraries_finds_their_constants_beside_the_number(
    cache: Path, tmp_path: Path
) -> None:
    """Clang 22 no longer links oclc_daz_opt, which Debian's mathematics library asks for."""
    found = find_toolchain(Config())
    tools = found.clang.resolve().parent
    newer = tmp_path / "bin" / "clang++"
    newer.parent.mkdir()
    newer.write_text(f'#!/bin/sh\nexec "{found.clang}" "$@"\n')
    newer.chmod(0o755)
    (tmp_path / "lib" / "clang" / "22").mkdir(parents=True)
    system = tmp_path / "system"
    system.mkdir()
    (system / "oclc_isa_version_90a.bc").write_bytes(b"library")
    made = device_library_directory(system, "gfx90a", newer, tools / "llvm-as")
    listed = subprocess.run(
        [tools / "llvm-nm", made / "oclc_isa_version_90a.bc"], capture_output=True, text=True, check=True
    ).stdout
    assert "__oclc_daz_opt" in listed
    assert "__oclc_ISA_version" in listed


def test_a_complete_set_of_libraries_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "oclc_isa_version_942.bc").write_bytes(b"x")
    assert device_library_directory(tmp_path, "gfx942", Path("clang"), None) == tmp_path


def test_two_processes_can_make_the_libraries_at_once(empty_cache: Path) -> None:
    code = (
        "from hipscope.analysis.toolchain.discovery import *; print(find_toolchain(Config()).device_lib_path)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    answers = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert answers[0] == answers[1]
    assert list(empty_cache.rglob(".draft*")) == []


@pytest.mark.parametrize(
    ("there", "ours"),
    [(("thrust/version.h",), True), ((), False), (("thrust/version.h", "thrust/system/hip"), False)],
)
def test_thrust_of_a_distribution_gets_a_system_for_hip(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], ours: bool
) -> None:
    if find_toolchain(Config()).rocm_path is not None:
        pytest.skip("ROCm's own libraries are here")
    monkeypatch.setattr(discovery, "installed", there.__contains__)
    flags = find_toolchain(Config()).hip_flags
    assert ("-DTHRUST_DEVICE_SYSTEM=5" in flags) == ours
    systems = [Path(flag.removeprefix("-idirafter")) for flag in flags if flag.endswith("thrust_hip")]
    assert [(path / "thrust/system/hip/vector.h").is_file() for path in systems] == [True] * ours

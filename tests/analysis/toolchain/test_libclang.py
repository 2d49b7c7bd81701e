"""Which libclang belongs to a compiler, and what is said where there is none."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from hipscope.analysis.errors import MissingTool
from hipscope.analysis.toolchain.libclang import find_library, library_version


def installed(root: Path, *libraries: str) -> Path:
    """A compiler that names its own headers, with libraries in its installation."""
    (root / "bin").mkdir(parents=True)
    clang = root / "bin" / "clang++"
    clang.write_text(f'#!/bin/sh\nmkdir -p "{root}/headers"\necho "{root}/headers"\n')
    clang.chmod(0o755)
    for name in libraries:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return clang


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(_name: str) -> Iterator[PurePosixPath]:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "files", lacking)


@pytest.mark.parametrize(
    ("libraries", "chosen"),
    [
        (["lib/libclang.so.19.1", "lib/libclang-cpp.so.19"], "lib/libclang.so.19.1"),
        (["lib/libclang-19.so.1", "lib/libclang-19.so.19"], "lib/libclang-19.so.19"),
        (["lib/llvm/lib/libclang.so"], "lib/llvm/lib/libclang.so"),
        (["lib64/libclang-22.so.22.1.8"], "lib64/libclang-22.so.22.1.8"),
    ],
)
def test_the_library_beside_the_compiler(
    tmp_path: Path, no_wheel: None, libraries: list[str], chosen: str
) -> None:
    found = find_library(installed(tmp_path / "llvm", *libraries))

    assert found.path == tmp_path / "llvm" / chosen
    assert found.resource_directory == tmp_path / "llvm" / "headers"
    assert found.beside_compiler


def test_a_compiler_that_is_a_link_has_the_library_of_its_own_installation(
    tmp_path: Path, no_wheel: None
) -> None:
    clang = installed(tmp_path / "llvm", "lib/libclang.so")
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    link = tmp_path / "usr" / "bin" / "clang++"
    link.symlink_to(clang)

    assert find_library(link).path == tmp_path / "llvm" / "lib" / "libclang.so"


def test_the_wheel_serves_where_the_compiler_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "site" / "clang" / "native" / "libclang.so"
    wheel.parent.mkdir(parents=True)
    wheel.touch()

    class File(PurePosixPath):
        def locate(self) -> Path:
            return wheel

    monkeypatch.setattr(importlib.metadata, "files", lambda _name: [File("clang/native/libclang.so")])
    found = find_library(installed(tmp_path / "llvm", "lib/libclang-cpp.so.19", "lib/libclang_rt.asan.so"))

    assert (found.path, found.beside_compiler) == (wheel, False)


def test_without_one_the_command_that_brings_it_is_named(tmp_path: Path, no_wheel: None) -> None:
    with pytest.raises(MissingTool, match=r"no libclang beside .*pip install .*libclang"):
        find_library(installed(tmp_path / "llvm"))


def test_a_file_that_is_no_library_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "libclang.so"
    broken.write_bytes(b"not a library")

    with pytest.raises(MissingTool, match=r"libclang\.so: not a libclang"):
        library_version(broken)

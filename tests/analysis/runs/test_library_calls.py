"""Which libraries of a program the emulator does not take the place of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.runs.library_calls import NotEmulated, not_emulated, sentence
from hipscope.analysis.toolchain.discovery import find_toolchain


def _program(folder: Path, libraries: dict[str, str], calls: str) -> Path:
    """A program that is linked to empty libraries of these names (name to functions)."""
    clang = str(find_toolchain(Config()).clang)

    def compile_c(text: str, *arguments: str) -> None:
        (folder / "source.c").write_text(text)
        argv = [clang, "-Wno-everything", "-x", "c", "source.c", "-x", "none", *arguments]
        subprocess.run(argv, cwd=folder, check=True, timeout=60, capture_output=True)

    for name, functions in libraries.items():
        body = "".join(f"void {function}(void) {{}}\n" for function in functions.split())
        compile_c(body, "-shared", "-fPIC", "-o", name, f"-Wl,-soname,{name}")
    compile_c(f"int main(void) {{ {calls} }}", "-o", "program", *(f"./{name}" for name in libraries))
    return folder / "program"


def test_libraries_and_parts_of_hip_that_are_not_emulated_are_named(tmp_path: Path) -> None:
    libraries = {
        "librocblas.so.4": "rocblas_dgemm",
        "libMIOpen.so.1": "miopenCreate",
        "libamdhip64.so.6": "hipMalloc hipMallocArray hipImportExternalMemory",
        "libfast.so": "fast",
    }
    calls = (
        "rocblas_dgemm(); miopenCreate(); hipMalloc(); hipMallocArray(); hipImportExternalMemory(); fast();"
    )
    program = _program(tmp_path, libraries, calls)
    missing = not_emulated(program)
    assert missing == (
        NotEmulated("rocBLAS", "librocblas.so.4"),
        NotEmulated("MIOpen", "libMIOpen.so.1"),
        NotEmulated("textures and arrays", "hipMallocArray"),
        NotEmulated("external memory", "hipImportExternalMemory"),
    )
    assert sentence(program, missing) == (
        f"{program}: needs what is not emulated: rocBLAS (librocblas.so.4), MIOpen (libMIOpen.so.1),"
        " textures and arrays (hipMallocArray), external memory (hipImportExternalMemory)"
    )


def test_a_program_with_hip_alone_lacks_nothing(tmp_path: Path) -> None:
    program = _program(tmp_path, {"libamdhip64.so.5": "hipMalloc hipFree"}, "hipMalloc(); hipFree();")
    assert not_emulated(program) == ()


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01" + b"\0" * 40])
def test_what_is_no_program_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UsageError, match="not a program"):
        not_emulated(tmp_path / "file")

"""Which files may be a program's, by their names and their texts. Takes texts, gives answers; reads nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

PROGRAM_SUFFIXES = (".hip", ".cu", ".cpp", ".cc", ".cxx", ".C", ".c++")
HEADER_SUFFIXES = (".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc")

_COMMENTS_AND_STRINGS = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"([^()\\ ]{0,16})\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_MAIN = re.compile(r"\bmain\s*\(")


_HIP = re.compile(r"__global__|\bhip_runtime|<<<|\bhip[A-Z]\w+\s*\(")


def uses_hip(text: str) -> bool:
    """Whether the text has GPU code or calls of HIP."""
    return _HIP.search(text) is not None


def has_kernels(text: str) -> bool:
    """Whether the text has code for GPUs or launches it, which no compiler of plain C++ takes."""
    return re.search(r"__global__|<<<", text) is not None


def uses_cuda(text: str) -> bool:
    """Whether the text includes CUDA's headers or calls its runtime, and nothing of HIP."""
    return re.search(r"\bcuda_runtime|\bcuda[A-Z]\w+\s*\(", text) is not None and "hip" not in text


def for_cuda(text: str) -> bool:
    """Whether the text includes a header that only NVIDIA's toolkit has, for any compiler."""
    return (
        "hip/" not in text
        and re.search(r'^\s*#\s*include\s*[<"](?:cuda|cublas|curand|cufft)\w*\.h', text, re.MULTILINE)
        is not None
    )


def has_main(text: str) -> bool:
    """Whether the text defines `main`, comments and strings aside."""
    return _MAIN.search(_COMMENTS_AND_STRINGS.sub(" ", text)) is not None


def is_source(path: PurePath) -> bool:
    """Whether a file is compiled, by its name."""
    return path.suffix in PROGRAM_SUFFIXES + HEADER_SUFFIXES


def not_a_source(path: PurePath, head: bytes) -> tuple[str, str] | None:
    """What a file is that hipscope cannot build, and what can be done with it instead; None for a source.

    `head` is what it begins with.
    """
    suffix = path.suffix.lower()
    if suffix in (*PROGRAM_SUFFIXES, *HEADER_SUFFIXES, ".c"):
        return None
    if suffix == ".py":
        return (
            "is Python, and hipscope builds HIP sources",
            f"{_RUN.format(f'python3 {path.name}')}; {_INSTEAD}",
        )
    if suffix in _LANGUAGES:
        return (
            f"is {_LANGUAGES[suffix]}, and hipscope builds HIP sources",
            f"{_RUN.format('PROGRAM')}; {_INSTEAD}",
        )
    if head.startswith(b"\x7fELF"):
        lacks = f"`hipscope emulator --coverage {path.name}` says what the emulator lacks for it"
        return "is compiled", f"name its source; {_RUN.format(f'./{path.name}')}; {lacks}"
    if path.name in _BUILD_FILES:
        return "says how something is built", "name its directory"
    if suffix in _CAPTURES:
        return "is no source", f"`hipscope show {path.name}` opens captures and saved reports"
    if head.startswith(b"#!"):
        return "is a script", f"{_RUN.format(f'./{path.name}')}; {_INSTEAD}"
    if b"\0" not in head and head.strip() and not any(sign in head for sign in _SIGNS):
        return "is no HIP source", f"name a file ({', '.join(PROGRAM_SUFFIXES)}) or a directory"
    return None


_LANGUAGES: Mapping[str, str] = {
    ".ipynb": "a notebook", ".pyx": "Cython", ".jl": "Julia", ".rs": "Rust", ".go": "Go", ".f": "Fortran",
    ".f90": "Fortran", ".f95": "Fortran", ".f03": "Fortran", ".f08": "Fortran", ".cl": "OpenCL", ".js": "JavaScript",
    ".ts": "TypeScript", ".java": "Java", ".mojo": "Mojo", ".ptx": "NVIDIA assembly", ".ll": "LLVM IR",
    ".bc": "LLVM bitcode", ".mlir": "MLIR", ".s": "assembly",
}  # fmt: skip
_BUILD_FILES = ("Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "hipscope.toml")
_CAPTURES = (".json", ".csv", ".db", ".rocpd", ".pftrace", ".ncu-rep", ".nsys-rep", ".rpd", ".sqlite")
_SIGNS = (b"#include", b"__global__", b"main", b"//", b"/*")
_RUN = "`hipscope emulate --kernel-trace -- {}` runs what loads the HIP library"
_INSTEAD = (
    "or record it on a GPU with rocprofv3 and open that with `hipscope show DIR`; "
    "or name the HIP file of a kernel, with a bench (docs/benches.md)"
)

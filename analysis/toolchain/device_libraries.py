"""The device bitcode libraries, completed where a distribution's set lacks the file for an architecture.

Clang links `oclc_isa_version_<arch>.bc` into every kernel. It holds one constant, the number of the instruction set;
older packages know fewer architectures than the compiler does, so the missing file is made here. It also holds what
older mathematics libraries ask for and newer compilers no longer link: whether denormals are flushed.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from hipscope.analysis.errors import MissingTool, UsageError
from hipscope.analysis.system.directories import cache_directory, draft_directory, settle
from hipscope.analysis.system.process import ProcessStreams, run_process

_SECONDS = 60.0
_LAST_WITH_ALL_LIBRARIES = 19
_CONSTANT = "linkonce_odr protected local_unnamed_addr addrspace(4) constant"


def device_library_directory(system: Path, arch: str, clang: Path, llvm_as: Path | None) -> Path:
    """A directory that holds all of `system`'s libraries and the one for `arch`.

    That is `system` itself when it is complete; otherwise a directory of links in the user's cache, with the file made
    here beside them. Safe when several processes ask at once. Raises `MissingTool` without llvm-as.
    """
    name = f"oclc_isa_version_{arch.removeprefix('gfx')}.bc"
    if (system / name).is_file() and _major_version(clang) <= _LAST_WITH_ALL_LIBRARIES:
        return system
    if llvm_as is None:
        raise MissingTool(f"{system} has no {name}, and llvm-as, which could make it, is not installed")
    libraries = sorted(system.glob("*.bc"))
    identity = [
        str(system),
        arch,
        str(llvm_as.resolve()),
        *(f"{p.name}:{p.stat().st_mtime_ns}" for p in libraries),
    ]
    key = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:16]
    final = cache_directory() / "device-libs" / f"{arch}-{key}"
    if (final / name).is_file():
        return final
    with draft_directory(final.parent) as draft:
        for library in libraries:
            if library.name != name:
                (draft / library.name).symlink_to(library)
        _assemble(isa_number(arch), draft / name, clang, llvm_as)
        settle(draft, final)
    return final


def isa_number(arch: str) -> int:
    """The number that stands for an architecture in the libraries: gfx942 is 9402, gfx90a is 9010."""
    digits = arch.removeprefix("gfx")
    if not re.fullmatch(r"[0-9]{1,2}[0-9a-f]{2}", digits):
        raise UsageError(f"unknown GPU architecture `{arch}`")
    return int(digits[:-2]) * 1000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


def _major_version(clang: Path) -> int:
    """By the name of the compiler's resource directory; 0 when there is none beside it."""
    resources = (clang.resolve().parents[1] / "lib" / "clang").glob("[0-9]*")
    return max((int(path.name.partition(".")[0]) for path in resources), default=0)


def _assemble(number: int, output: Path, clang: Path, llvm_as: Path) -> None:
    # The data layout differs between LLVM versions, so the compiler that will link the file is asked for its own.
    layout = run_process(
        [
            clang,
            "--target=amdgcn-amd-amdhsa",
            "-nogpulib",
            "-x",
            "c",
            "-S",
            "-emit-llvm",
            "-o",
            "-",
            "/dev/null",
        ],
        timeout=_SECONDS,
    )
    header = [
        line for line in layout.stdout.decode("utf-8", "replace").splitlines() if line.startswith("target ")
    ]
    if not layout.ok or len(header) != 2:
        raise MissingTool(f"{clang} cannot compile for AMD GPUs: {layout.text.strip()[:200]}")
    constants = [f"@__oclc_ISA_version = {_CONSTANT} i32 {number}, align 4"]
    if _major_version(clang) > _LAST_WITH_ALL_LIBRARIES:
        constants.append(f"@__oclc_daz_opt = {_CONSTANT} i8 0, align 1")
    source = "\n".join([*header, *constants, ""]).encode()
    made = run_process([llvm_as, "-", "-o", output], timeout=_SECONDS, given=ProcessStreams(source))
    if not made.ok:
        raise MissingTool(f"{llvm_as} failed: {made.text.strip()[:200]}")

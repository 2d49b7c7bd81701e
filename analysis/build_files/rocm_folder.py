"""The compilers that a project's own build calls, and a folder that stands for ROCm where there is none.

Takes a place to write into and how the real compiler is called, gives the variables for the build's environment. The
folder has what build files look for: `bin/hipcc`, `bin/hipconfig`, `lib/libamdhip64.so`, and CMake's packages `hip`,
`hip-lang` and `hiprtc`, so that `find_package(hip)` and `enable_language(HIP)` configure, and those of the libraries
that the emulator stands in for, unless the system has them. With ROCm it is not made.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

COMPILERS = ("hipcc", "amdclang++", "clang++", "amdclang", "clang")

_DATA = Path(__file__).resolve().parent / "rocm"
_ASKED = {
    "hipconfig": "hipconfig",
    "rocminfo": "rocminfo",
    **dict.fromkeys(("rocm_agent_enumerator", "amdgpu-arch", "offload-arch"), "rocm_agent_enumerator"),
}  # each with the script that answers
_HIPIFIES = Path(__file__).resolve().with_name("hipify.py")
_HIPIFY = ("hipify-perl", "hipify-clang", "hipify")
_VERSION = "6.2.0"  # of the HIP that our headers complete older ones to (emulator/overlay)
_ROOT = re.compile(r"/opt/rocm(?:-[\d.]*\d)?(?=[/\s\"'`;:,)}]|$)")
_BUILD_TEXT = re.compile(
    r"^(?:(?:gnu)?makefile.*|make\..*|cmake.*|configure|meson.*|.*\.(?:mk|make|inc|defs?|cmake|sh|bash|ninja|in|am)|compile\w*|build\w*)$",
    re.IGNORECASE,
)
_MOST_TEXTS = 500
# The imported target of each library that has a stand-in, by the name of its CMake package.
_LIBRARIES = {
    "hipblas": "roc::hipblas",
    "hipfft": "hip::hipfft",
    "hiprand": "hip::hiprand",
    "rocblas": "roc::rocblas",
    "rocrand": "roc::rocrand",
    "rocprofiler-sdk-roctx": "rocprofiler-sdk-roctx::rocprofiler-sdk-roctx",
}
_HEADER_LIBRARIES = {"hipcub": "hip::hipcub", "rocthrust": "roc::rocthrust"}  # over rocPRIM
_SYSTEM_HEADERS = ("usr/include", "usr/local/include")
_SYSTEM_PACKAGES = (
    "usr/lib/*/cmake",
    "usr/lib/cmake",
    "usr/lib64/cmake",
    "usr/share/cmake",
    "usr/local/lib/cmake",
)
_ROOTS = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")


@dataclass(frozen=True)
class CompilerCalls:
    """How the real compiler is called for HIP. `rocm`: the ROCm that it belongs to, None without one.

    `libraries` are the directories with the HIP runtime, `stand_ins` the headers for libraries that are not installed.
    """

    clang: Path
    arch: str
    hip_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()
    rocm: Path | None = None
    stand_ins: Path | None = None

    @property
    def host_headers(self) -> Path | None:
        """`stand_ins` for compilers that cannot be told to look there last: None where a library is installed."""
        if self.stand_ins is None or any(installed(header.name) for header in self.stand_ins.iterdir()):
            return None
        return self.stand_ins


def installed(header: str) -> bool:
    """Whether the system has this header, or folder of headers."""
    return any((Path("/") / folder / header).exists() for folder in _SYSTEM_HEADERS)


def stand_ins(
    place: Path, calls: CompilerCalls, given: Mapping[str, str], *, record: Path, names: tuple[Path, Path]
) -> dict[str, str]:
    """Write the compilers into `place`, with the folder for ROCm; the variables to add to the environment `given`.

    Each call of a compiler is noted in `record`. Positions say the second of the `names` in place of the first.
    """
    rocm = place / "rocm"
    # CMake looks for a compiler below its packages first, and takes another path of the same one for another compiler.
    wrappers = rocm / "bin" if calls.rocm is None else place / "wrappers"
    wrappers.mkdir(exist_ok=True, parents=True)
    for name in COMPILERS:
        _write_program(wrappers / name, _wrapper(name, calls, rocm, record, names))
    variables = {"PATH": f"{wrappers}{os.pathsep}{given.get('PATH', os.defpath)}"}
    # A variable may hold flags behind the compiler's name, and build systems take them from there.
    for variable, name in (("HIPCC", "hipcc"), ("HIPCXX", "clang++")):
        _, *flags = given.get(variable, "").split() or [""]
        variables[variable] = " ".join([str(wrappers / name), *flags])
    if calls.rocm is None:
        _write_rocm(rocm, calls, wrappers)
        variables |= dict.fromkeys(_ROOTS, str(rocm))
        packages = [str(rocm), *filter(None, [given.get("CMAKE_PREFIX_PATH")])]
        variables["CMAKE_PREFIX_PATH"] = os.pathsep.join(packages)
        variables["HIP_PLATFORM"] = "amd"
    return variables


def write_queries(place: Path, root: Path, arch: str) -> None:
    """Write into `place` the programs that build files ask where ROCm is and which GPU there is."""
    values = {"ROOT": str(root), "VERSION": _VERSION, "ARCH": arch}
    for name, script in _ASKED.items():
        text = (_DATA / f"{script}.sh").read_text(encoding="utf-8")
        _write_program(place / name, _filled_in(text, values))


def absent_roots(places: Iterable[Path], more: str = "") -> frozenset[Path]:
    """The folders of ROCm that build files name and that are not there, such as `/opt/rocm` or `/opt/rocm-6.2.0`.

    Of the build files below the `places`, and in the text `more`.
    """
    named = set(_ROOT.findall(more))
    for path in itertools.islice((p for place in places for p in _build_texts(place)), _MOST_TEXTS):
        with contextlib.suppress(OSError):
            named |= set(_ROOT.findall(path.read_text(encoding="utf-8", errors="replace")))
    return frozenset(path for path in map(Path, named) if not os.path.lexists(path))


def _build_texts(place: Path) -> Iterator[Path]:
    """The files below a folder that tell how something is built, or that file itself."""
    for folder, below, names in os.walk(place) if place.is_dir() else [(str(place.parent), [], [place.name])]:
        below[:] = sorted(
            n for n in below if not n.startswith(".") and n not in ("node_modules", "CMakeFiles")
        )
        yield from (Path(folder, name) for name in sorted(names) if _BUILD_TEXT.match(name))


def _write_rocm(rocm: Path, calls: CompilerCalls, wrappers: Path) -> None:
    """The folder: what can be asked for is there, headers are not, as the compilers find them by themselves."""
    values = {"ROOT": str(rocm), "VERSION": _VERSION, "ARCH": calls.arch}
    write_queries(wrappers, rocm, calls.arch)
    for name in _HIPIFY:
        call = shlex.join([sys.executable, "-I", str(_HIPIFIES)])
        _write_program(wrappers / name, f'#!/bin/sh\nexec {call} "$@"\n')
    for folder in ("include", "lib", "share/hip", "llvm", ".info"):
        (rocm / folder).mkdir(parents=True, exist_ok=True)
    numbers = zip(("MAJOR", "MINOR", "PATCH"), _VERSION.split("."), strict=True)
    (rocm / ".info/version").write_text(f"{_VERSION}\n")
    (rocm / "share/hip/version").write_text("".join(f"HIP_VERSION_{n}={value}\n" for n, value in numbers))
    for source in sorted(_DATA.glob("cmake/*/*.cmake")):
        target = rocm / "lib" / source.relative_to(_DATA)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_filled_in(source.read_text(encoding="utf-8"), values), encoding="utf-8")
    _write_packages(rocm / "lib/cmake", values)
    links = {"llvm/bin": wrappers, "hip": rocm, "cmake": rocm / "lib/cmake/hip"}
    # Older ROCm had a folder for each library, with its own include and lib.
    links |= dict.fromkeys((*_LIBRARIES, *_HEADER_LIBRARIES, "roctracer"), rocm)
    for directory in calls.libraries:
        links |= {f"lib/{library.name}": library for library in directory.glob("lib*.so*")}
    if calls.stand_ins is not None:
        found = (header for header in calls.stand_ins.iterdir() if not installed(header.name))
        links |= {f"include/{header.name}": header for header in found}
    for name, target in links.items():
        (rocm / name).unlink(missing_ok=True)
        (rocm / name).symlink_to(target)


def _write_packages(place: Path, values: Mapping[str, str]) -> None:
    """The CMake packages of libraries that have a stand-in and are not the system's."""
    version = _DATA / "cmake/hiprtc/hiprtc-config-version.cmake"
    for package, target in (_LIBRARIES | _HEADER_LIBRARIES).items():
        config = _DATA / ("library.cmake" if package in _LIBRARIES else "header_library.cmake")
        if any(found for pattern in _SYSTEM_PACKAGES for found in Path("/").glob(f"{pattern}/{package}")):
            continue
        (place / package).mkdir(parents=True, exist_ok=True)
        own = {**values, "PACKAGE": package, "TARGET": target}
        for kind, template in {"config": config, "config-version": version}.items():
            text = _filled_in(template.read_text(encoding="utf-8"), own)
            (place / package / f"{package}-{kind}.cmake").write_text(text, encoding="utf-8")


def _wrapper(name: str, calls: CompilerCalls, rocm: Path, record: Path, names: tuple[Path, Path]) -> str:
    """A script in place of a compiler: our architecture and positions, the user's everything else."""
    c_compiler = name in ("clang", "amdclang")
    compiler = calls.clang.with_name("clang") if c_compiler else calls.clang
    root = calls.rocm or rocm
    values = {
        "COMPILER": shlex.quote(str(compiler)),
        "HIP_FLAGS": shlex.join(calls.hip_flags),
        "LINK_FLAGS": shlex.join(("--hip-link", *calls.link_flags)),
        "RECORD": shlex.quote(str(record)),
        "PREFIX_MAP": shlex.quote(f"-fdebug-prefix-map={names[0]}={names[1]}"),
        "HIPCC": "yes" if name == "hipcc" else "no",
        "ROCM": str(root),
        "VERSION": _VERSION,
        # The compiler itself is told where everything is, and the folder would only mislead it.
        "OWN_PLACES": "--"
        if calls.rocm is not None
        else "--rocm-path=*|--hip-path=*|--rocm-device-lib-path=*",
        "ALONE": "" if calls.rocm is not None else f"unset {' '.join(_ROOTS)}",
    }
    return _filled_in(_WRAPPER, values)


def _filled_in(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


_WRAPPER = """#!/bin/sh
# Written by hipscope. Calls the real compiler so that machine code keeps its source positions and is for the
# architecture that is profiled, and records how each file was compiled.
set -f
if [ "$*" = "-v -print-targets" ]; then  # so CMake asks where ROCm is
    echo "Found HIP installation: @ROCM@, version @VERSION@" >&2
    exit 0
fi
@ALONE@
hip=@HIPCC@
link=yes
compile=no
optimize=no
explicit=no
relocatable=no
c_language= no_language=
# As the real hipcc has it; where C++ is asked for, the file is taken for that.
[ "@HIPCC@" = yes ] && case " $* " in *std=c++*|*std=gnu++*) ;; *) c_language="-x c" no_language="-x none" ;; esac
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    case $argument in
        --offload-arch=*|--amdgpu-target=*|-amdgpu-target=*|--cuda-gpu-arch=*) continue ;;
        @OWN_PLACES@) continue ;;
    esac
    # What is for NVIDIA's GPUs and their compiler: a Makefile for both has it among the flags of hipcc.
    [ "@HIPCC@" = yes ] && case $argument in
        --gpu-architecture=*|--gpu-code=*|--generate-code=*|-gencode=*|-arch=*|-code=*|-gpu=cc*) continue ;;
        --expt-*|-expt-*|--extended-lambda|-extended-lambda|-lineinfo|--generate-line-info) continue ;;
        --maxrregcount=*|-maxrregcount=*|--ptxas-options=*|-Xptxas=*|-lcuda|-lcudart|-lcudadevrt) continue ;;
        --gpu-architecture|--gpu-code|--generate-code|-gencode|-arch|-code|--maxrregcount|-maxrregcount|-Xptxas|-ccbin)
            shift; count=$((count - 1)); continue ;;
        --use_fast_math|-use_fast_math) argument=-ffast-math ;;
        -rdc=true|--relocatable-device-code=true) argument=-fgpu-rdc ;;
        -Xcompiler|--compiler-options) argument=$1; shift; count=$((count - 1)) ;;
        -Xcompiler=*|--compiler-options=*) argument=${argument#*=} ;;
        -x|--x) [ "$1" = cu ] && { shift; count=$((count - 1)); argument=-xhip; } ;;
    esac
    case $argument in
        -c|-S|-E|-M|-MM|--cuda-device-only|--offload-device-only) link=no ;;
        --genco) link=no; [ "@HIPCC@" = yes ] && argument=--cuda-device-only ;;  # as the real hipcc says it
        -O*) optimize=yes ;;
        -fgpu-rdc) relocatable=yes ;;
        -fno-gpu-rdc) relocatable=no ;;
        --hip-link) hip=yes ;;
        -xhip) explicit=yes; hip=yes ;;
        -x) explicit=yes; [ "$1" = hip ] && hip=yes ;;
        *.hip|*.cu) compile=yes; hip=yes ;;
        *.cpp|*.cc|*.cxx|*.C|*.c++|*.c) compile=yes ;;
    esac
    case $hip,$explicit,$argument in
        yes,no,*.cpp|yes,no,*.cc|yes,no,*.cxx|yes,no,*.C|yes,no,*.c++|yes,no,*.cu)
            set -- "$@" -x hip "$argument" -x none ;;
        yes,no,*.c) set -- "$@" $c_language "$argument" $no_language ;;
        *) set -- "$@" "$argument" ;;
    esac
done
if [ "$compile" = yes ]; then
    call=@RECORD@/"$$-$(date +%s%N)"
    { printf '%s' "$PWD"; printf '\\0%s' "$@"; } > "$call"
fi
if [ "$hip" = yes ] && [ "$compile" = yes ]; then
    [ "$optimize" = yes ] || set -- -O3 "$@"
    set -- @HIP_FLAGS@ "$@"
fi
if [ "$compile" = yes ]; then
    set -- "$@" -gline-tables-only -gcolumn-info -fdiagnostics-absolute-paths @PREFIX_MAP@
    # Not a depfile: the build may have one of its own, and a compiler writes only one.
    set -- "$@" -Xclang -header-include-file -Xclang "$call.included"
fi
if [ "$hip,$link,$compile,$relocatable" = yes,yes,no,yes ]; then
    set -- @HIP_FLAGS@ "$@"  # this is where the GPU code of the objects is made
fi
if [ "$hip" = yes ] && [ "$link" = yes ]; then
    set -- "$@" @LINK_FLAGS@
fi
exec @COMPILER@ "$@" -Wno-unused-command-line-argument
"""

_TEXTS = [
    _WRAPPER,
    _HIPIFIES.read_text(encoding="utf-8"),
    *(path.read_text(encoding="utf-8") for path in sorted(_DATA.rglob("*")) if path.is_file()),
]
STAND_INS = hashlib.sha256("\0".join(_TEXTS).encode()).hexdigest()
"""Another one of each text of what stands in: builds with another one are made anew."""

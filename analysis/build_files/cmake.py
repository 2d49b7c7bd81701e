"""What CMake would build in a directory: it configures into a folder of its own, confined, and its file API is read.

Takes a directory with a CMakeLists.txt and the compiler's calls, gives the programs, those with GPU code first, or
CMake's own reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hipscope.analysis.build_files.absent_libraries import what_to_install
from hipscope.analysis.build_files.cmake_replies import CmakeProgram, ask_cmake, cmake_programs
from hipscope.analysis.build_files.outside import top_of
from hipscope.analysis.build_files.readme import said_definitions
from hipscope.analysis.build_files.rocm_folder import CompilerCalls, absent_roots, stand_ins
from hipscope.analysis.build_files.source_files import (
    HEADER_SUFFIXES,
    PROGRAM_SUFFIXES,
    has_kernels,
    uses_hip,
)
from hipscope.analysis.errors import Cancelled, HipscopeError
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.sandbox import (
    Box,
    paths_in,
    plain_environment,
    private_copy,
    run_confined,
    tool_directories,
)

CMAKE_FILE = "CMakeLists.txt"

_SECONDS = 120.0
_ABOVE = re.compile(r'(?<!include )"(\.\./[\w./+-]+)"')
_LANGUAGE = re.compile(
    r"\bLANGUAGES\b[^)]*\bHIP\b|\bproject\s*\([^)]*\bHIP\b|enable_language\s*\(\s*HIP|hip::device|LANGUAGE\s+HIP",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"^CMake Error[^\n]*?(?:at (?P<place>\S+:\d+) \([^)\n]*\))?:\n?(?P<text>(?:[ \t]+[^\n]*\n|\n)*)",
    re.MULTILINE,
)
_LACKING = re.compile(
    r"Could NOT find|package configuration file|ownload|clone|No such file"
)  # with any compiler
_OF_ANOTHER = re.compile(r"CUDA|NVCC|NVIDIA|Kokkos|RAJA|SYCL", re.IGNORECASE)  # another choice needs it
_COMPILER = "-DCMAKE_CXX_COMPILER="
_OFF = re.compile(r"\boption\s*\(\s*(\w*(?:HIP|ROCM|AMD)\w*)\s[^)]*?\bOFF\s*\)", re.IGNORECASE)
_ON = re.compile(
    r"\boption\s*\(\s*(\w*(?:CUDA|NVCC|NVIDIA|OPENCL|SYCL|KOKKOS)\w*)\s[^)]*?\bON\s*\)", re.IGNORECASE
)
_TESTS_ON = re.compile(r"\boption\s*\(\s*(\w*(?:TEST|BENCH|DOC)\w*)\s[^)]*?\bON\s*\)", re.IGNORECASE)
_PLAINLY_FOR_AMD = re.compile(r"(?:^|_)(?:HIP|ROCM|AMD|AMDGPU)$", re.IGNORECASE)
_ABSENT = re.compile(r"Could NOT find|package configuration file|not found", re.IGNORECASE)
# Words of CMake's sentences that are parts of options' names as well, and what no option is switched off for.
_OF_EVERY_REASON = frozenset((
    "AMD", "BUILD", "CXX", "ENABLE", "FILE", "FIND", "FOR", "GPU", "HIP", "LIBRARY", "PACKAGE", "ROCM", "SHARED",
    "SUPPORT", "USE", "WITH",
))  # fmt: skip
_SWITCH = re.compile(r"^(?!CMAKE_)(\w+):BOOL=(?:(ON|TRUE|YES|1)|OFF|FALSE|NO|0)$", re.MULTILINE)
_GOOGLETEST = Path("/usr/src/googletest")  # Debian's and Ubuntu's, where libgtest-dev is installed
_OF_TESTS = re.compile(r"gtest|googletest|catch2|doctest|benchmark|doxygen|sphinx|boost_unit", re.IGNORECASE)
_COMPARED = re.compile(
    r"[(\s\"{](\w+)\}?\"?\s+(?:STREQUAL|MATCHES|EQUAL)\s+\"?(\w*(?:HIP|ROCM|AMD)\w*)\"?", re.IGNORECASE
)
_PROJECT = re.compile(r"^\s*project\s*\(", re.IGNORECASE | re.MULTILINE)
_CUDA_PROJECT = re.compile(r"\bproject\s*\([^)]*\bCUDA\b[^)]*\)", re.IGNORECASE)
_MOST_ABOVE = 3
_MOST_SAID = 2  # sets of options that presets and READMEs name
_ROCM = "/opt/rocm"
_FILLED_IN = "${ROCM_PATH:-/opt/rocm}"  # by the shell of the build
_ASSUMED = re.compile(r"\bif\s*\(\s*NOT\s+DEFINED\s+(\w+)\s*\)\s*set\s*\(\s*\1\s+\"?/opt/rocm\b")
_FOR_AMD = re.compile(r"hip|amd|rocm", re.IGNORECASE)


@dataclass(frozen=True)
class Configured:
    """A program that CMake builds, configured with these options. `searched` are its folders of headers.

    `top` is the folder of the project that the directory belongs to, relative to it.
    """

    target: str
    path: str
    sources: frozenset[Path]
    options: tuple[str, ...]
    for_gpus: bool
    searched: frozenset[Path]
    top: str = "."

    def build(self) -> str:
        """The shell command."""
        options = " ".join(self.options)
        return f"cmake -S {self.top} -B build {options} && cmake --build build --target {self.target} -j"

    def run(self, directory: Path) -> str:
        """The shell command that starts it from the directory."""
        if Path(self.path).is_absolute():  # outside of CMake's build folder
            name = os.path.relpath(self.path, directory)
            return shlex.quote(name if "/" in name else f"./{name}")
        return f"cd build && ./{self.path}" if _runs_in_build_folder(directory) else f"build/{self.path}"


def configured_programs(
    directory: Path, calls: CompilerCalls | None, cancel: threading.Event | None = None
) -> tuple[tuple[Configured, ...], str | None]:
    """What CMake builds, GPU programs first, each with its sources and those of its libraries; or why it stops."""
    cmake = shutil.which("cmake")
    if cmake is None:
        return (), "cmake is not installed"
    if calls is None:
        return (), "no compiler for AMD GPUs is installed"
    refused: str | None = None
    skipped: frozenset[str] | None = None
    best: list[Configured] = []
    project = _project_of(directory)
    top = os.path.relpath(project, directory)
    if (cuda := _CUDA_PROJECT.search(_own_text(project))) is not None and "HIP" not in cuda[0]:
        return (), f"it is for NVIDIA's GPUs: `{' '.join(cuda[0].split())}`"
    for options in _ways(project):
        but_for_compiler = frozenset(one for one in options if not one.startswith(_COMPILER))
        if but_for_compiler == skipped:
            continue
        configured, reason, switches = _configure(project, cmake, calls, options, cancel)
        while more := _instead(project, reason, switches, any(one.for_gpus for one in configured)):
            if {*more} <= {*options}:
                break
            options = (*options, *more)
            configured, reason, switches = _configure(project, cmake, calls, options, cancel)
        found = [
            replace(one, top=top)
            for one in configured
            if top == "." or any(path.is_relative_to(directory) for path in one.sources)
        ]
        other = reason is not None and _OF_ANOTHER.search(reason) is not None
        lacking = reason is not None and _LACKING.search(reason) is not None and not other
        refused = reason if reason is not None and not other else refused or reason
        if any(one.for_gpus for one in found):
            return tuple(found), None
        best = best or found
        if lacking:
            break
        if other or (reason is not None and not re.search(r"compiler|hipcc|clang|CXX", reason)):
            skipped = but_for_compiler
    return tuple(best), None if best else refused or f"{CMAKE_FILE} makes no program"


def _instead(project: Path, reason: str | None, switches: Mapping[str, bool], for_gpus: bool) -> list[str]:
    """Options that may do away with what stops CMake: what needs it is switched off, or the system's copy is taken.

    That is tests, benchmarks and texts, then options that are called like what CMake does not find. Where nothing
    stops it and no program is for GPUs, those that are called after AMD's. `switches` are what CMake knows of them.
    """
    found: list[str] = []
    if reason is None:
        off = [name for name, on in switches.items() if not on and _PLAINLY_FOR_AMD.search(name)]
        return [] if for_gpus else [f"-D{name}=ON" for name in off]
    if _OF_TESTS.search(reason):
        whole = _whole_text(project)
        names = [*_TESTS_ON.findall(whole), *(["BUILD_TESTING"] if re.search(r"\bCTest\b", whole) else [])]
        found += [f"-D{name}=OFF" for name in dict.fromkeys(names)]
        if "googletest" in reason and _GOOGLETEST.is_dir():
            found.append(f"-DFETCHCONTENT_SOURCE_DIR_GOOGLETEST={_GOOGLETEST}")
    if _ABSENT.search(reason):
        said = {word.upper() for word in re.split(r"[\W_]+", reason)} - _OF_EVERY_REASON
        found += [
            f"-D{name}=OFF" for name, on in switches.items() if on and said & {*name.upper().split("_")}
        ]
    return found


def begins_project(directory: Path) -> bool:
    """Whether the directory's CMakeLists.txt can be configured by itself."""
    return _PROJECT.search(_own_text(directory)) is not None


def _project_of(directory: Path) -> Path:
    """The folder to configure: one above, where the directory's own file begins no project and is added by that one."""
    if begins_project(directory):
        return directory
    top = top_of(directory)
    for above in directory.parents[:_MOST_ABOVE]:
        if not above.is_relative_to(top) or not (above / CMAKE_FILE).is_file():
            break
        if begins_project(above) and "add_subdirectory" in _own_text(above):
            return above
    return directory


def _ways(directory: Path) -> Iterator[tuple[str, ...]]:
    """Options to configure with, the likeliest first."""
    text = _own_text(directory)
    options = ["-DCMAKE_BUILD_TYPE=Release"]
    more = ["-DGPU_RUNTIME=HIP"] if "GPU_RUNTIME" in text else []
    more += [f"-D{name}={value}" for name, value in _choices(text).items()]
    # Where CMake knows HIP, sources that are not marked as such are host code; hipcc takes each for HIP.
    whole = _whole_text(directory)
    known = _LANGUAGE.search(whole) is not None
    if not Path(_ROCM).exists():
        more += [f"-D{name}={_FILLED_IN}" for name in dict.fromkeys(_ASSUMED.findall(whole))]
    switched = [
        name
        for name in _OFF.findall(whole)
        if not re.search("test|doc|debug|prof|unsafe|aware|fast|_cpu", name, re.IGNORECASE)
    ]
    on = [f"-D{name}=ON" for name in dict.fromkeys(switched)]
    off = [f"-D{name}=OFF" for name in dict.fromkeys(_ON.findall(whole))]
    said = [
        {name: value for name, value in one.items() if name in whole}
        for one in (*_presets(directory), *said_definitions(directory))
    ]
    said = [one for one in said if any(map(_FOR_AMD.search, (*one, *one.values())))]
    for one in said[:_MOST_SAID]:
        others = [word for word in more if word[2:].partition("=")[0] not in one]
        for compiler in ("clang++", "hipcc") if known else ("hipcc", "clang++"):
            yield (
                *options,
                f"{_COMPILER}{compiler}",
                *others,
                *(f"-D{name}={shlex.quote(value)}" for name, value in one.items()),
            )
    # What is built for NVIDIA by default would be the first to stop CMake, or CUDA's sources would be taken.
    plainly = any(map(_PLAINLY_FOR_AMD.search, switched))
    tried = [[*on, *off], []] if off or plainly else [[], on]
    for switches in dict.fromkeys(map(tuple, tried)):
        for compiler in ("clang++", "hipcc") if known else ("hipcc", "clang++"):
            yield (*options, f"{_COMPILER}{compiler}", *more, *switches)


def _presets(directory: Path) -> list[dict[str, str]]:
    """The variables of each preset of the project that is no hidden one, with those that it inherits."""
    presets: dict[str, Any] = {}
    for name in ("CMakePresets.json", "CMakeUserPresets.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            said = json.loads((directory / name).read_text(encoding="utf-8"))
            presets |= {one["name"]: one for one in said.get("configurePresets", ())}
    found = []
    for name, preset in presets.items():
        with contextlib.suppress(TypeError, AttributeError, RecursionError):
            if not preset.get("hidden") and (values := _of_preset(name, presets)):
                found.append(values)
    return found


def _of_preset(name: str, presets: Mapping[str, Any]) -> dict[str, str]:
    preset = presets.get(name, {})
    above = preset.get("inherits", ())
    values: dict[str, str] = {}
    for one in reversed([above] if isinstance(above, str) else above):
        values |= _of_preset(one, presets)
    for variable, said in preset.get("cacheVariables", {}).items():
        value = said.get("value") if isinstance(said, dict) else said
        value = {True: "ON", False: "OFF"}.get(value, value) if isinstance(value, bool) else value
        if (
            isinstance(value, str)
            and "$" not in value
            and not re.search("COMPILER|PATH|PREFIX|ARCH", variable)
        ):
            values[variable] = value
    return values


def _own_text(directory: Path) -> str:
    return _plain((directory / CMAKE_FILE).read_text(encoding="utf-8", errors="replace"))


def _whole_text(directory: Path) -> str:
    """The text of all of CMake's files below the directory."""
    texts = []
    for folder, below, names in os.walk(directory):
        below[:] = [
            n for n in below if not n.startswith(".") and not (Path(folder, n) / "CMakeCache.txt").exists()
        ]
        for name in sorted(names):
            if name == CMAKE_FILE or name.endswith(".cmake"):
                texts += [Path(folder, name).read_text(encoding="utf-8", errors="replace")]
    return _plain("\n".join(texts))


def _plain(text: str) -> str:
    return re.sub(r"#[^\n]*", "", text)


def _choices(text: str) -> dict[str, str]:
    """What the text lets a user choose, set for AMD's GPUs.

    That is a variable without which CMake stops, where `hip` is among what the text registers for it, and one that
    has a default and is compared with `HIP`.
    """
    needed = re.findall(
        r"\bif\s*\(\s*NOT\s+(?:DEFINED\s+)?(\w+)\s*\)\s*message\s*\(\s*(?:FATAL|SEND)_ERROR", text
    )
    needed = [name for name in needed if not re.search("DIR|PATH|ROOT|FILE|COMPILER", name)]
    found = dict.fromkeys(needed, "hip") if re.search(r"\(\s*hip\b|\bhip\s*\)", text) else {}
    for name, value in _COMPARED.findall(text):
        cached = (
            rf"\bset\s*\(\s*{name}\b[^)]*\bCACHE\b|\bNOT\s+(?:DEFINED\s+)?{name}\s*\)\s*set\s*\(\s*{name}\b"
        )
        if re.search(cached, text):
            found[name] = value
    return found


def _configure(
    directory: Path,
    cmake: str,
    calls: CompilerCalls,
    options: Sequence[str],
    cancel: threading.Event | None,
) -> tuple[list[Configured], str | None, Mapping[str, bool]]:
    """The programs, why CMake stops, and which of the project's options were on."""
    with work_directory("init") as work:
        build, record = work / "build", work / "record"
        record.mkdir()
        ask_cmake(build)
        env = plain_environment({})
        env |= stand_ins(work, calls, env, record=record, names=(work, directory))
        root = env.get("ROCM_PATH", _ROCM)
        given = [option.replace(_FILLED_IN, root) for option in options]
        argv = [cmake, "-S", str(directory), "-B", str(build), *given]
        seen = (
            *paths_in([*calls.hip_flags, str(calls.clang)]),
            *calls.libraries,
            *tool_directories(env["PATH"]),
        )
        with private_copy(directory) as shown:  # some write into the directory of their sources
            named = dict.fromkeys(absent_roots([directory]) if calls.rocm is None else (), work / "rocm")
            box = Box(read=(top_of(directory), *seen), write=(work,), shown={**shown, **named})
            try:
                done = run_confined(argv, box, timeout=_SECONDS, cwd=directory, env=env, cancel=cancel)
                found = cmake_programs(build) if done.ok else []
            except Cancelled:
                raise
            except HipscopeError as error:
                return [], str(error), {}
        if done.timed_out:
            return [], f"cmake took longer than {_SECONDS:g} s", {}
        switches = _switches(build)
        text = done.text.replace(str(work), ".")
        install = what_to_install(text)
        reason = None if done.ok else "; ".join(filter(None, (_reason(text, directory), install)))
    texts = SourceTexts()
    programs = [
        Configured(
            one.target,
            one.path,
            frozenset(one.sources),
            tuple(options),
            _for_gpus(one, texts, f"{_COMPILER}hipcc" in options),
            frozenset(one.searched),
        )
        for one in found
    ]
    return sorted(programs, key=_rank), reason, switches


def _switches(build: Path) -> dict[str, bool]:
    """The options of a project as CMake's cache has them."""
    try:
        cache = (build / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: bool(on) for name, on in _SWITCH.findall(cache)}


def _for_gpus(program: CmakeProgram, texts: SourceTexts, hipcc: bool) -> bool:
    """Whether GPU code of it is compiled: as CMake's language HIP, or as C++ by hipcc. Calls alone need neither."""
    own = [texts.text(file) or "" for file in program.sources]
    return program.hip or (any(map(uses_hip, own)) and (hipcc or not any(map(has_kernels, own))))


def _rank(program: Configured) -> tuple[bool, bool]:
    """GPU programs first, those for another GPU's language and tests later."""
    return (not program.for_gpus, re.search("test|cuda", program.target, re.IGNORECASE) is not None)


def _reason(text: str, directory: Path) -> str:
    """The first thing that CMake complains about, in its words and in one line."""
    for match in _ERROR.finditer(text):
        words = " ".join(match["text"].split())
        if words:
            place = f"{match['place']}: " if match["place"] else ""
            return f"{place}{words}".replace(f"{directory}/", "")[:300]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"cmake stopped: {lines[-1]}" if lines else "cmake stopped without a word"


def _runs_in_build_folder(directory: Path) -> bool:
    """Whether sources name data by a path that leads to it from a build folder, and not from the project's."""
    texts = SourceTexts()
    for path in directory.rglob("*"):
        if path.suffix in (*PROGRAM_SUFFIXES, *HEADER_SUFFIXES) and path.is_file():
            for name in _ABOVE.findall(texts.text(path) or ""):
                there, here = (Path(os.path.normpath(at / name)) for at in (directory / "build", directory))
                if there.exists() and there != directory and not here.exists():
                    return True
    return False

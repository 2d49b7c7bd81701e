"""Finds the compiler that turns HIP into machine code, and how it must be called.

Takes a `Config`, gives a `Toolchain`. Looks in this order: what the config names; a ROCm installation; the clang of
Debian or Ubuntu (19 or newer) with its linker, bundler, the ROCm device libraries and the HIP headers.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hipscope.analysis.build_files.rocm_folder import CompilerCalls, installed
from hipscope.analysis.config import Config
from hipscope.analysis.errors import MissingTool, UsageError
from hipscope.analysis.system.directories import check_temporary
from hipscope.analysis.system.process import run_process
from hipscope.analysis.toolchain.device_libraries import device_library_directory
from hipscope.emulator.runner import (
    NativePartsMissing,
    header_overlay,
    native_library_dir,
    stand_in_headers,
    stand_in_libraries,
)

MIN_CLANG = 19
NEWEST_CLANG = 30
ToolchainKind = Literal["config", "rocm", "debian"]

_SECONDS = 60.0
_HIP_VERSION = Path("/usr/include/hip/hip_version.h")
_COMPLETE_HEADERS = (6, 2)
_LLVM_ROOT = Path("/usr/lib")
_LIBRARY_GLOBS = ("usr/local/lib", "usr/lib/*-linux-gnu", "usr/lib64")
_DEVICE_LIB_GLOBS = (
    "/usr/lib/*/amdgcn/bitcode",
    "/usr/lib/amdgcn/bitcode",
    "/usr/amdgcn/bitcode",
    "/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode",
    "/usr/lib/llvm-*/lib/clang/*/lib/amdgcn/bitcode",
    "/usr/lib/clang/*/amdgcn/bitcode",
)


@dataclass(frozen=True)
class Toolchain:
    """One usable compiler with everything that belongs to it.

    `stand_ins` are headers that are looked for behind all others: of libraries of ROCm that are not installed. `thrust`
    are the flags with which a distribution's Thrust is one for HIP.
    """

    kind: ToolchainKind
    arch: str
    version: str
    clang: Path
    objdump: Path
    offload_bundler: Path
    device_lib_path: Path | None
    rocm_path: Path | None
    include_dirs: tuple[Path, ...]
    library_dirs: tuple[Path, ...]
    flags: tuple[str, ...]
    stand_ins: Path | None = None
    thrust: tuple[str, ...] = ()

    @property
    def bin(self) -> Path:
        """The directory of the LLVM tools that belong to this compiler."""
        return self.objdump.parent

    @property
    def major(self) -> int:
        """The major version of this compiler's LLVM; the oldest that hipscope takes when it does not say."""
        match = re.search(r"version (\d+)", self.version)
        return int(match[1]) if match else MIN_CLANG

    @property
    def identity(self) -> str:
        """Changes whenever the compiler could produce something else; part of every cache key."""
        stamp = self.clang.stat()
        return "\0".join([str(self.clang), self.version, str(stamp.st_mtime_ns), *self.hip_flags])

    @property
    def hip_flags(self) -> tuple[str, ...]:
        """The flags without which this compiler cannot build HIP for `arch`."""
        flags = [f"--offload-arch={self.arch}", *self.hip_location_flags]
        if self.device_lib_path is not None:
            flags.append(f"--rocm-device-lib-path={self.device_lib_path}")
        flags += [f"-isystem{path}" for path in self.include_dirs]
        if self.stand_ins is not None:
            flags.append(f"-idirafter{self.stand_ins}")
        return (*flags, *self.thrust, *self.flags)

    @property
    def compiler(self) -> tuple[str, ...]:
        """The command line to which hipRTC adds its source."""
        return (str(self.clang), *self.hip_flags)

    @property
    def calls(self) -> CompilerCalls:
        """How a project's own build has to call this compiler."""
        return CompilerCalls(
            self.clang,
            self.arch,
            self.hip_flags,
            self.link_flags,
            self.library_dirs,
            self.rocm_path,
            self.stand_ins,
        )

    @property
    def hip_location_flags(self) -> tuple[str, ...]:
        """Where ROCm is, when the compiler cannot know."""
        return () if self.rocm_path is None else (f"--rocm-path={self.rocm_path}",)

    @property
    def link_flags(self) -> tuple[str, ...]:
        """The flags that link a host program with the HIP runtime. Installed libraries go before their stand-ins."""
        runtime, *more = self.library_dirs or (None,)
        installed = _installed_libraries() if more else ()
        return (*(f"-L{path}" for path in (runtime, *installed, *more) if path is not None), "-lamdhip64")

    @property
    def stand_in_flags(self) -> tuple[str, ...]:
        """Links those libraries with a stand-in that a program calls, for sources that no build file says it of."""
        if self.rocm_path is not None or len(self.library_dirs) < 2:
            return ()
        names = sorted(path.stem.removeprefix("lib") for path in self.library_dirs[1].glob("lib*.so"))
        return ("-Wl,--push-state,--as-needed", *(f"-l{name}" for name in names), "-Wl,--pop-state")

    @property
    def emulated_libraries(self) -> tuple[Path, ...]:
        """The directories of libraries that programs run with on the emulator; none with ROCm, which has its own."""
        return self.library_dirs if self.rocm_path is None else ()


def find_toolchain(config: Config, env: Mapping[str, str] = os.environ) -> Toolchain:
    """The first toolchain that is complete.

    Raises `MissingTool` with the command that installs what is missing, `UsageError` for an architecture that the
    compiler does not know or a directory for temporary files that is none.
    """
    check_temporary(env)
    if config.toolchain.clang or config.toolchain.rocm:
        return _check(_from_config(config))
    for root in rocm_roots(env):
        clang = rocm_clang(root)
        if clang is not None:
            return _check(_complete("rocm", config, clang, rocm=root))
    return _check(_from_debian(config, env))


def rocm_roots(env: Mapping[str, str]) -> Iterator[Path]:
    """Directories that may be a ROCm installation, the most specific first."""
    for variable in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        if env.get(variable):
            yield Path(env[variable])
    yield Path("/opt/rocm")
    versioned = [path for path in Path("/opt").glob("rocm-*") if path.is_dir()]
    yield from sorted(versioned, key=lambda path: _numbers(path.name), reverse=True)
    hipcc = shutil.which("hipcc", path=env.get("PATH", os.defpath))
    if hipcc is not None:
        yield from Path(hipcc).resolve().parents[1:3]


def rocm_clang(root: Path) -> Path | None:
    """The compiler of a ROCm installation, or None when `root` is not one."""
    for relative in ("llvm/bin/clang++", "lib/llvm/bin/clang++"):
        if os.access(root / relative, os.X_OK):
            return root / relative
    return None


def system_clangs(env: Mapping[str, str] = os.environ) -> list[tuple[int, Path]]:
    """The system's `clang++` by major version, the newest first; each in the directory of its LLVM tools."""
    found: dict[int, Path] = {}
    for directory in _LLVM_ROOT.glob("llvm-*"):
        version = directory.name.removeprefix("llvm-")
        clang = directory / "bin" / "clang++"
        if version.isdigit() and os.access(clang, os.X_OK):
            found[int(version)] = clang
    for name in ("clang++", *(f"clang++-{n}" for n in range(NEWEST_CLANG, MIN_CLANG - 1, -1))):
        path = shutil.which(name, path=env.get("PATH", os.defpath))
        if path is not None:
            clang = Path(path).resolve().with_name("clang++")
            match = re.search(r"llvm-(\d+)", str(clang)) or re.search(r"-(\d+)$", name)
            if match and os.access(clang, os.X_OK):
                found.setdefault(int(match[1]), clang)
    return sorted(found.items(), reverse=True)


def system_device_libraries() -> Path | None:
    """The directory of the distribution's device bitcode libraries, the newest when there are several."""
    for pattern in _DEVICE_LIB_GLOBS:
        found = [path for path in Path("/").glob(pattern.lstrip("/")) if (path / "ockl.bc").is_file()]
        if found:
            return max(found, key=lambda path: _numbers(str(path)))
    return None


def install_command(packages: list[str]) -> str:
    """The shell command that installs packages of Debian or Ubuntu."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install -y {' '.join(packages)}"


def openmp_runtime(toolchain: Toolchain) -> Path | None:
    """The OpenMP library that this compiler links for `-fopenmp`, None when it is not installed."""
    lib = toolchain.bin.parent / "lib"
    return next((path for path in (lib / "libomp.so", *lib.glob("*/libomp.so")) if path.exists()), None)


def openmp_package(toolchain: Toolchain) -> str:
    """The package with this compiler's OpenMP library and header."""
    return "openmp-extras-dev" if toolchain.kind == "rocm" else f"libomp-{toolchain.major}-dev"


def _from_config(config: Config) -> Toolchain:
    chosen = config.toolchain
    rocm = Path(chosen.rocm) if chosen.rocm else None
    if chosen.clang:
        clang = Path(shutil.which(chosen.clang) or chosen.clang)
    else:
        assert rocm is not None
        found = rocm_clang(rocm)
        if found is None:
            raise MissingTool(
                f"toolchain.rocm: {rocm} holds no llvm/bin/clang++", "correct it in hipscope.toml"
            )
        clang = found
    if not os.access(clang, os.X_OK) or clang.is_dir():
        raise MissingTool(
            f"toolchain.clang: {clang} is not an executable file", "correct it in hipscope.toml"
        )
    return _complete("config", config, clang, rocm=rocm)


def _from_debian(config: Config, env: Mapping[str, str]) -> Toolchain:
    clangs = [(version, path) for version, path in system_clangs(env) if version >= MIN_CLANG]
    complete = [(version, path) for version, path in clangs if not _missing_beside(version, path)]
    none: list[tuple[int, Path | None]] = [(MIN_CLANG, None)]
    version, clang = (complete or clangs or none)[0]
    missing = list(_missing_beside(version, clang))
    libraries = system_device_libraries()
    if libraries is None and config.toolchain.device_libs is None:
        missing.append(_device_library_package(version, env))
    if not config.toolchain.include and not _has_hip_headers():
        missing.append("libamdhip64-dev")
    if missing or clang is None:
        raise MissingTool(
            f"no compiler for AMD GPUs found; missing: {', '.join(missing)}",
            f"run: {install_command(missing)}",
        )
    return _complete("debian", config, clang, libraries=libraries)


def _missing_beside(version: int, clang: Path | None) -> Iterator[str]:
    """The Debian packages without which this clang cannot build HIP."""
    if clang is None:
        yield f"clang-{version}"
    tools = (
        ("ld.lld", f"lld-{version}"),
        ("clang-offload-bundler", f"clang-tools-{version}"),
        ("llvm-objdump", f"llvm-{version}"),
    )
    for tool, package in tools:
        if clang is None or not (clang.resolve().parent / tool).exists():
            yield package


def _device_library_package(version: int, env: Mapping[str, str]) -> str:
    """The package with device libraries that this clang reads.

    Some distributions have it only with the version of LLVM that made it (Debian 13: -17); older ones can be read.
    """
    name = "rocm-device-libs"
    apt = shutil.which("apt-cache", path=env.get("PATH"))
    if apt is None:
        return name
    known = run_process([apt, "pkgnames", name], timeout=_SECONDS).stdout.decode(errors="replace").split()
    made_by = [int(package[len(name) + 1 :]) for package in known if re.fullmatch(rf"{name}-\d+", package)]
    readable = [number for number in made_by if number <= version]
    return name if name in known or not readable else f"{name}-{max(readable)}"


def _has_hip_headers() -> bool:
    return Path("/usr/include/hip/hip_runtime.h").is_file()


def _complete(
    kind: ToolchainKind,
    config: Config,
    clang: Path,
    *,
    rocm: Path | None = None,
    libraries: Path | None = None,
) -> Toolchain:
    tools = clang.resolve().parent
    if config.toolchain.device_libs:
        libraries = Path(config.toolchain.device_libs)
        if not (libraries / "ockl.bc").is_file():
            raise MissingTool(
                f"toolchain.device_libs: {libraries} holds no ockl.bc", "correct it in hipscope.toml"
            )
    elif libraries is None and rocm is None:
        libraries = system_device_libraries()
    if libraries is not None:
        libraries = device_library_directory(libraries, config.arch, clang, _tool(tools, "llvm-as"))
    objdump, bundler = _tool(tools, "llvm-objdump"), _tool(tools, "clang-offload-bundler")
    for tool, name in ((objdump, "llvm-objdump"), (bundler, "clang-offload-bundler")):
        if tool is None:
            raise MissingTool(f"{name} is not beside {clang}", "install the LLVM tools of the same version")
    assert objdump is not None
    assert bundler is not None
    return Toolchain(
        kind=kind,
        arch=config.arch,
        version="",
        clang=clang,
        objdump=objdump,
        offload_bundler=bundler,
        device_lib_path=libraries,
        rocm_path=rocm,
        include_dirs=tuple(Path(path) for path in config.toolchain.include) or _overlay(rocm),
        library_dirs=(rocm / "lib",) if rocm is not None else _emulator_libraries(),
        flags=(),
        stand_ins=stand_in_headers() if rocm is None else None,
        thrust=_thrust_flags() if rocm is None else (),
    )


def _overlay(rocm: Path | None) -> tuple[Path, ...]:
    """Our own headers with what HIP has since 6.2, before a distribution's older ones."""
    text = _HIP_VERSION.read_text() if rocm is None and _HIP_VERSION.is_file() else ""
    found = {name: int(value) for name, value in re.findall(r"HIP_VERSION_(MAJOR|MINOR)\s+(\d+)", text)}
    old = bool(found) and (found.get("MAJOR", 0), found.get("MINOR", 0)) < _COMPLETE_HEADERS
    return (header_overlay(),) if old else ()


def _thrust_flags() -> tuple[str, ...]:
    """What makes a distribution's Thrust, which is for NVIDIA's GPUs and CPUs alone, run on HIP as rocThrust does."""
    if not installed("thrust/version.h") or installed("thrust/system/hip"):
        return ()
    system = stand_in_headers() / "thrust_hip"
    values = ("THRUST_DEVICE_SYSTEM_HIP=5", "THRUST_DEVICE_SYSTEM=5", "__THRUST_DEVICE_SYSTEM_NAMESPACE=hip")
    return (f"-idirafter{system}", *(f"-D{value}" for value in values))


def _emulator_libraries() -> tuple[Path, ...]:
    """The emulator's libamdhip64 has every function that the headers declare; a distribution's may lack some."""
    try:
        return (native_library_dir(), stand_in_libraries())
    except NativePartsMissing:
        return ()


def _installed_libraries() -> tuple[Path, ...]:
    """The system's directories that have a library of ROCm for which there is a stand-in."""
    stand_ins = {path.name for path in stand_in_libraries().glob("lib*.so")}
    folders = [folder for pattern in _LIBRARY_GLOBS for folder in Path("/").glob(pattern)]
    return tuple(folder for folder in folders if any((folder / name).exists() for name in stand_ins))


def _tool(directory: Path, name: str) -> Path | None:
    path = directory / name
    if os.access(path, os.X_OK):
        return path
    found = shutil.which(name)
    return Path(found) if found else None


def _check(toolchain: Toolchain) -> Toolchain:
    """The toolchain with its version. Raises MissingTool or UsageError when it cannot compile."""
    try:
        status = toolchain.clang.stat()
    except OSError as error:
        raise MissingTool(f"cannot run {toolchain.clang}: {error.strerror}", _remedy(toolchain)) from error
    return _asked(toolchain, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=16)
def _asked(toolchain: Toolchain, _modified_ns: int, _size: int) -> Toolchain:
    """Ask the compiler what it would do for an empty HIP program: names its version, and what it cannot find.

    Asked once for a file of that age and size, unless it cannot compile.
    """
    # Newer compilers default to a code object version that older device libraries do not know.
    for extra in ((), ("-mcode-object-version=5",), ("-mcode-object-version=4",)):
        candidate = replace(toolchain, flags=extra)
        asked = run_process(
            [
                candidate.clang,
                "-x",
                "hip",
                *candidate.hip_flags,
                "-c",
                "-###",
                "/dev/null",
                "-o",
                "/dev/null",
            ],
            timeout=_SECONDS,
        )
        errors = re.findall(r"^.*?error: (.*)$", asked.text, re.MULTILINE)
        version = asked.text.partition("\n")[0].strip()
        if not errors and asked.ok:
            return replace(candidate, version=version)
        if not any("device library" in error and "ABI" in error for error in errors):
            break
    reason = errors[0] if errors else asked.text.strip()[:200]
    if "invalid target ID" in reason or "unsupported HIP gpu architecture" in reason:
        raise UsageError(
            f"unknown GPU architecture `{toolchain.arch}`: {toolchain.clang.name} ({version}) does not know it",
            "set `arch` in hipscope.toml, for example to gfx942",
        )
    raise MissingTool(
        f"{toolchain.clang} cannot compile HIP: {reason}", _remedy(replace(toolchain, version=version))
    )


def _remedy(toolchain: Toolchain) -> str:
    """What to do about a compiler that is there and does not work."""
    if toolchain.kind == "config":
        return "correct `toolchain` in hipscope.toml"
    if toolchain.kind == "rocm":
        return f"reinstall the ROCm in {toolchain.rocm_path}, or name another one with ROCM_PATH"
    number = toolchain.major
    packages = [f"clang-{number}", f"lld-{number}", "rocm-device-libs", "libamdhip64-dev"]
    return f"run: {install_command(['--reinstall', *packages])}"


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]

"""Turns a project into something to run, and one source into a code object, without ever doing the same work twice.

Takes a `Project` and a `Toolchain`, gives a `BuiltProgram` or a `CodeObject`. Results live in the user's cache, keyed
by the content of everything that went in. The run's unsaved texts replace files in the compiler's eyes only: what is on
disk is never touched, and messages and debug information still name the user's own path.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from hipscope.analysis.errors import BuildFailed, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.semantics.records import SourceCommand
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.process import Completed, run_process
from hipscope.analysis.system.sandbox import Box, paths_in, plain_environment, run_confined
from hipscope.analysis.toolchain.cache import SYSTEM_PREFIXES, BuildCache, Entry
from hipscope.analysis.toolchain.code_object import CodeObject, read_code_object, undefined_symbols
from hipscope.analysis.toolchain.command_build import BuildTree, build_in_tree
from hipscope.analysis.toolchain.compile_commands import (
    CompileCommand,
    from_cmake,
    from_database,
    from_record,
)
from hipscope.analysis.toolchain.compiler_files import (
    compiler_variables,
    dependency_flags,
    include_flags,
    overlay_flags,
    private,
    read_dependencies,
    written,
)
from hipscope.analysis.toolchain.compiler_messages import absolute_paths, build_error, build_failed
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.precompiled_headers import (
    Make,
    Preamble,
    Precompiled,
    preamble_of,
    precompiled,
)
from hipscope.analysis.toolchain.project import Project, check_source

# Line tables keep every position and inline chain, and change no instruction.
DEBUG_FLAGS = ("-gline-tables-only", "-gcolumn-info")
_DEFAULT_FLAGS = ("-std=c++17", "-O3")
Side = Literal["device", "host", "bitcode"]
_DEVICE_MARKS = (b"__global__", b"<<<")  # kernels, launches of kernels
_DEPENDENCIES = "dependencies.d"
_OUTPUT: dict[Side, str] = {"device": "device.co", "host": "host.o", "bitcode": "device.bc"}
_DEVICE_ONLY = ("--offload-device-only", "--no-gpu-bundle-output")
_SIDE_FLAGS: dict[Side, tuple[str, ...]] = {
    "device": _DEVICE_ONLY,
    "host": ("--offload-host-only",),
    "bitcode": (*_DEVICE_ONLY, "-fgpu-rdc", "-emit-llvm"),
}


@dataclass(frozen=True)
class BuiltProgram:
    """A program that is ready to run: `argv` in `directory`, with `env` added to the environment.

    `tree` is the directory with all files of its own, `directory` or one above it.
    `compile_seconds` is what the compiler took, also when this time the result came from the cache (`cached`).
    `code_objects` are the plain GPU code objects inside it; empty when a build command made it, because then only the
    running program knows what it loads. `output` is what the compiler printed, warnings for instance.
    `units` are the user's files that were compiled, each with the user's files that it included, as the compiler read
    them; empty where no compiler call was seen.
    """

    argv: tuple[str, ...]
    directory: Path
    tree: Path
    env: Mapping[str, str]
    compile_seconds: float
    cached: bool
    code_objects: tuple[Path, ...]
    output: str
    units: Mapping[Path, frozenset[Path]] = field(default_factory=dict)

    def narrowed(self, project: Project) -> Project:
        """The project with the files of this program only: what was compiled, and what that included."""
        if not self.units:
            return project
        included = set().union(*self.units.values()) - self.units.keys()
        if project.subject is not None:
            own = project.subject
            return replace(project, sources=(own, *sorted(included - {own})), compiled=frozenset((own,)))
        return replace(
            project, sources=(*sorted(self.units), *sorted(included)), compiled=frozenset(self.units)
        )


def build_program(
    project: Project,
    toolchain: Toolchain,
    run: Run | None = None,
    *,
    device_flags: Sequence[str] = (),
    confined: bool = False,
) -> BuiltProgram:
    """Build `project` with the run's unsaved texts in place of what is on disk.

    `device_flags` are added where GPU code is compiled; a build command of the project's own does not get them.
    `confined` lets the compiler see the project and the system only: for unreviewed text.
    Raises `BuildFailed` with the compiler's own messages, `Cancelled`, or `UsageError` for text that is no source.
    """
    run = run or Run()
    for path, data in run.texts.unsaved.items():
        check_source(path, data)
    if project.build_kind == "command":
        tree = build_in_tree(project, toolchain, run, confined=confined)
        _check_asked(project, tree, run.texts)
        return _from_tree(project, toolchain, tree)
    assert project.main_source is not None
    unit = _single_unit(project, project.main_source)
    host_side = _Order(project, toolchain, unit, "host", run.texts, run.cancel, confined)
    device_side = replace(host_side, unit=unit.with_flags(device_flags), side="device")
    # Neither side needs the other before the link, so they are compiled at the same time.
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(_compile, order) for order in (device_side, host_side)]
        failures = [error for job in jobs if isinstance(error := job.exception(), BuildFailed)]
        if failures:
            raise build_failed(str(project.main_source), _said_once(failures), toolchain, returncode=1)
        device, host = (job.result() for job in jobs)
    program = _link(project, toolchain, device, host, run.cancel)
    return BuiltProgram(
        argv=(str(program.directory / "program"), *project.program_args),
        directory=project.root,
        tree=project.root,
        env=project.config.env,
        compile_seconds=max(device.seconds, host.seconds) + program.seconds,
        cached=device.cached and host.cached and program.cached,
        code_objects=(device.directory / "device.co",),
        output=device.output or host.output,
        units={project.main_source: _users(toolchain, (*device.read, *host.read)) - {project.main_source}},
    )


def compile_device(
    project: Project,
    toolchain: Toolchain,
    source: Path,
    run: Run,
    *,
    confined: bool = False,
    first: bool = False,
) -> CodeObject:
    """Compile only the GPU side of `source`, as the run has it, with the flags of the program's own build.

    For a file that others include, whatever its name ends with, a source that includes it is compiled; where the GPU
    code of several files is linked (`-fgpu-rdc`), all of them. Takes less than half of a full build, and a later
    `build_program` with the same text uses the result. `first`: more texts of this source will be compiled, so its
    headers are precompiled for all of them. Raises `BuildFailed`.
    """
    run.compiles.add()
    source = source.absolute()
    check_source(source, run.texts.needed(source))
    if project.build_kind == "single":
        assert project.main_source is not None
        unit, texts = _single_unit(project, project.main_source), run.texts
    else:
        tree = build_in_tree(project, toolchain, Run(run.cancel))
        unit = _tree_unit(project, tree, source)
        texts = SourceTexts({tree.path_of(path): data for path, data in run.texts.unsaved.items()})
        if unit.command.relocatable:
            whole = _Order(project, toolchain, unit, "bitcode", texts, run.cancel, confined)
            parts = [replace(whole, unit=other) for other in _linked_with(project, tree, unit)]
            return read_code_object(
                _link_device(whole, [_compile(part) for part in parts]).directory / "device.co"
            )
    order = _Order(project, toolchain, unit, "device", texts, run.cancel, confined)
    if first:
        _preamble(order, _flags(order), "now")
    return read_code_object(_compile(order).directory / "device.co")


def other_sources(
    project: Project, toolchain: Toolchain, file: Path, source: Path, run: Run
) -> tuple[Path, ...]:
    """The sources that read `file` and whose GPU code `compile_device` of `source` leaves out, by name.

    Raises `BuildFailed` when a build command fails.
    """
    if project.build_kind == "single":
        return ()
    tree = build_in_tree(project, toolchain, Run(run.cancel))
    unit = _tree_unit(project, tree, source.absolute())
    linked = _linked_with(project, tree, unit) if unit.command.relocatable else [unit]
    own = {other.file for other in linked}
    reading = _reading(tree, file.absolute())
    return tuple(s for s in sorted(reading) if tree.path_of(s) not in own)


def source_command(project: Project, toolchain: Toolchain, source: Path, run: Run) -> SourceCommand:
    """How `source`, or a source that includes it, is compiled: what `hipscope.analysis.semantics` reads it with.

    Raises `UsageError` when the build does not compile it, `BuildFailed` when a build command fails.
    """
    roots, copy = [], None
    if project.build_kind == "single":
        assert project.main_source is not None
        main, command = project.main_source, _single_unit(project, project.main_source).command
    else:
        tree = build_in_tree(project, toolchain, Run(run.cancel))
        main = _compiled_file(project, tree, source.absolute())
        command = _tree_unit(project, tree, main).command
        roots.append(tree.directory)
        copy = (tree.directory, tree.root)
    above = (project.root, *project.root.parents)
    roots = [project.root, main.parent, *(d for d in above if (d / ".git").exists()), *roots]
    flags = (*toolchain.hip_flags, *command.flags, *include_flags(project.config.env))
    return SourceCommand(
        main, command.directory, flags, tuple(dict.fromkeys(roots)), _extracts(project), copy
    )


def precompile_headers(
    project: Project,
    toolchain: Toolchain,
    run: Run,
    *,
    sides: Sequence[Side] = ("device", "host"),
    shared: bool = False,
) -> None:
    """Precompile what the program's source begins with, for these sides, so that later compiles are quick.

    `shared`: that part alone which serves programs with other headers of the C++ library, too. Without effect for a
    build command, and where that cannot be done.
    """
    if project.build_kind != "single" or project.main_source is None:
        return
    unit = _single_unit(project, project.main_source)
    for side in sides:
        order = _Order(project, toolchain, unit, side, run.texts, run.cancel)
        _preamble(order, _flags(order), "now", shared=shared)


def _said_once(failures: Sequence[BuildFailed]) -> str:
    """What both compilers printed, without the second when the first said all of it."""
    first, *rest = failures
    more = [other.output for other in rest if not set(other.diagnostics) <= set(first.diagnostics)]
    return "".join([first.output, *more])


@dataclass(frozen=True)
class _Unit:
    """One file to compile; `prefix_map` is its directory and the user's that it stands for, when they differ."""

    file: Path
    command: CompileCommand
    prefix_map: tuple[Path, Path] | None = None

    def with_flags(self, flags: Sequence[str]) -> _Unit:
        """The same with more flags."""
        return replace(self, command=CompileCommand(self.command.directory, (*self.command.flags, *flags)))

    def in_users_words(self, text: str) -> str:
        """What the compiler printed, with absolute paths and in the names of the user's tree."""
        text = absolute_paths(text, self.command.directory)
        if self.prefix_map is None:
            return text
        return text.replace(str(self.prefix_map[0]), str(self.prefix_map[1]))


@dataclass(frozen=True)
class _Order:
    """One side of one file to compile, from these texts. `confined`: the text is not trusted yet."""

    project: Project
    toolchain: Toolchain
    unit: _Unit
    side: Side
    texts: SourceTexts
    cancel: threading.Event | None
    confined: bool = False

    @property
    def given(self) -> dict[Path, bytes]:
        """What the compiler is given in place of files: the main file too, so that it compiles what the key says."""
        texts = {self.unit.file: self.texts.needed(self.unit.file), **self.texts.unsaved}
        for path, extract in _extracts(self.project):
            texts[path] = extract(self.texts.needed(path))
        return texts


def _extracts(project: Project) -> tuple[tuple[Path, Callable[[bytes], bytes]], ...]:
    """The files of a project of which the compiler sees a part only."""
    if project.subject is None or project.extract is None:
        return ()
    return ((project.subject, project.extract),)


def _single_unit(project: Project, source: Path) -> _Unit:
    asked = project.subject or source
    command = from_database(asked, project.root) or from_cmake(asked, project.root)
    if command is None:
        command = CompileCommand(project.root, _DEFAULT_FLAGS)
    return _Unit(source, CompileCommand(command.directory, (*command.flags, *project.config.flags)))


def _tree_unit(project: Project, tree: BuildTree, source: Path) -> _Unit:
    file = tree.path_of(_compiled_file(project, tree, source))
    command = from_record(file, tree.record)
    assert command is not None
    return _Unit(file, command, (tree.directory, project.root))


def _linked_with(project: Project, tree: BuildTree, unit: _Unit) -> list[_Unit]:
    """The unit, then the others whose GPU code the build links, in the order of their names."""
    others = [_tree_unit(project, tree, source) for source in sorted(tree.units)]
    return [unit, *(other for other in others if other.command.relocatable and other.file != unit.file)]


def _compiled_file(project: Project, tree: BuildTree, source: Path) -> Path:
    """The source itself where the build compiled it, else a compiled file that includes it. Raises UsageError.

    Of several that do, it is the one that the user named, else the first by name.
    """
    if source in tree.units:
        return source
    if not tree.units:
        raise UsageError(
            f"{source}: the build command called no compiler that hipscope can see",
            "call `hipcc`, `amdclang++` or `clang++` by name, not by path",
        )
    found = _reading(tree, source)
    if not found:
        raise _not_compiled(source, tree)
    return project.main_source if project.main_source in found else min(found)


def _check_asked(project: Project, tree: BuildTree, texts: SourceTexts) -> None:
    """Raises UsageError for a file with GPU code that lies in a project whose build does not compile it.

    The program would be another one. A file of host code may be compiled by what no wrapper stands for.
    """
    asked = project.main_source
    if asked is None or not tree.units:
        return
    text = texts.read(asked) or b""
    if any(mark in text for mark in _DEVICE_MARKS) and not _reading(tree, asked):
        raise _not_compiled(asked, tree, f"; name {project.directory} to have what it builds")


def _not_compiled(source: Path, tree: BuildTree, advice: str = "") -> UsageError:
    compiled = ", ".join(sorted(unit.name for unit in tree.units)[:4]) + (
        ", ..." if len(tree.units) > 4 else ""
    )
    return UsageError(
        f"{source}: the build command compiled neither this file nor one that includes it",
        f"it compiled {compiled}{advice}",
    )


def _reading(tree: BuildTree, file: Path) -> list[Path]:
    """The compiled files that are this one, or include it."""
    real = {Path(os.path.realpath(name)) for name in (file, tree.path_of(file))}
    return [
        unit
        for unit, included in tree.units.items()
        if file in (unit, *included) or any(Path(os.path.realpath(tree.path_of(i))) in real for i in included)
    ]


def _users(toolchain: Toolchain, files: Iterable[Path]) -> frozenset[Path]:
    """The files that belong neither to the system nor to the compiler."""
    others = (toolchain.rocm_path, toolchain.stand_ins, toolchain.clang.parents[1])
    foreign = [*toolchain.include_dirs, *filter(None, others)]
    return frozenset(
        path
        for path in files
        if not str(path).startswith(SYSTEM_PREFIXES) and not any(path.is_relative_to(d) for d in foreign)
    )


def _compile(order: _Order) -> Entry:
    """Compile one side of one file, or find it in the cache."""
    flags = _flags(order)
    arguments = _arguments(order, flags)
    cache = _cache_of(order, arguments)
    # A profile and what looks at the code beside it ask for the same at the same time: one compiles, the other waits.
    # What is there is found without waiting: workers of a sweep ask for one program many times a second.
    if (known := cache.find()) is not None:
        return known
    with cache.alone():
        return cache.find() or _compile_into(cache, order, arguments, flags)


def _arguments(order: _Order, flags: Sequence[str]) -> list[str]:
    unit = order.unit
    # Names of internal kernels hold this number; fixed, so that a candidate's kernel has the name of the original's.
    arguments = [*flags, "-c", f"-cuid={_digest(str(unit.file).encode())}"]
    if unit.prefix_map is not None:
        arguments += [f"-fdebug-prefix-map={unit.prefix_map[0]}={unit.prefix_map[1]}"]
    return arguments


def _cache_of(order: _Order, arguments: Sequence[str]) -> BuildCache:
    place = [str(order.unit.command.directory), str(order.unit.file)]
    return BuildCache(
        order.side, [*_identity(order.toolchain, order.project), *place, *arguments], order.given
    )


def _read_as_on_disk(order: _Order) -> tuple[Path, ...]:
    """The user's files that this compilation read for the text on disk, wherever they lie; none where not known.

    The text on disk was trusted with them, so a candidate for it may read them, and nothing else there.
    """
    trusted = replace(order, texts=SourceTexts(), confined=False)
    known = _cache_of(trusted, _arguments(trusted, _flags(trusted))).find()
    return tuple(sorted(_users(order.toolchain, known.files))) if known is not None else ()


def _compile_into(cache: BuildCache, order: _Order, arguments: Sequence[str], flags: Sequence[str]) -> Entry:
    """Call the compiler and keep what it makes."""
    unit, toolchain, texts = order.unit, order.toolchain, order.given
    ahead = _preamble(order, flags, "never" if order.confined else "again")
    with cache.draft() as draft:
        files = written(texts, draft)
        completed = None
        if ahead is not None:
            command = [str(toolchain.clang), *arguments, *ahead.flags]
            completed = _call(order, command, files, draft, (ahead.header, ahead.text))
        if completed is None or not completed.ok:  # what the compiler says comes from the source as it is
            completed = _call(order, [str(toolchain.clang), *arguments], files, draft)
        output = unit.in_users_words(completed.text)
        _check(order.project, toolchain, str(unit.file), completed, output, draft)
        seen = set(read_dependencies(draft / _DEPENDENCIES, unit.command.directory))
        if ahead is not None:
            seen -= {ahead.text, ahead.header}
        return cache.store(draft, sorted(seen), seconds=completed.seconds, output=output)


def _identity(toolchain: Toolchain, project: Project) -> list[str]:
    """What decides what the compiler makes of its command line and the texts: itself, and its variables."""
    variables = compiler_variables(project.config.env)
    return [toolchain.identity, *(f"{name}={value}" for name, value in variables.items())]


def _flags(order: _Order) -> list[str]:
    """What decides what the compiler makes of a text, its name left aside."""
    own = order.unit.command.flags
    return [
        *("-x", "hip", *order.toolchain.hip_flags, *own, *DEBUG_FLAGS, *_SIDE_FLAGS[order.side]),
        *("-fno-color-diagnostics", "-Wno-unused-command-line-argument"),
    ]


def _preamble(order: _Order, flags: Sequence[str], make: Make, *, shared: bool = False) -> Precompiled | None:
    """The headers that the source begins with, precompiled, if that stands for what the compiler would read."""
    texts = order.given
    whole = preamble_of(texts[order.unit.file])
    wanted: list[tuple[Preamble, Make]] = [(whole, make)]
    if (shared or make != "now") and whole != whole.shared:
        wanted = [(whole, "never"), (whole.shared, make)]
    for preamble, how in wanted:
        found = precompiled(
            [str(order.toolchain.clang), *flags], _identity(order.toolchain, order.project), order.unit.command,
            preamble, env=order.project.config.env, make=how, timeout=order.project.config.build_timeout_s,
            cancel=order.cancel,
        )  # fmt: skip
        if found is not None and not found.files & texts.keys():
            return found
    return None


def _call(
    order: _Order,
    command: Sequence[str],
    files: Mapping[Path, Path],
    draft: Path,
    read: tuple[Path, ...] = (),
) -> Completed:
    """Run the compiler; it sees the contents of `files` under their names and writes into the draft."""
    project, unit, cancel = order.project, order.unit, order.cancel
    env = compiler_variables(project.config.env)
    argv = [*command, *overlay_flags(files, draft), *dependency_flags(draft / _DEPENDENCIES)]
    argv += [str(unit.file), "-o", str(draft / _OUTPUT[order.side])]
    timeout, directory = project.config.build_timeout_s, unit.command.directory
    if not order.confined:
        return run_process(argv, timeout=timeout, cwd=directory, env=private(draft, env), cancel=cancel)
    box = Box(read=(*_readable(project, unit, argv), *_read_as_on_disk(order), *read), write=(draft,))
    return run_confined(argv, box, timeout=timeout, cwd=directory, env=plain_environment(env), cancel=cancel)


def _readable(project: Project, unit: _Unit, command: Sequence[str]) -> tuple[Path, ...]:
    """What a confined compiler may read: the repository, or else the project, and what its flags name."""
    above = (project.root, *project.root.parents)
    repository = next((d for d in above if (d / ".git").exists()), project.root)
    outside = project.config.optimize.read_paths
    words = [*command, *compiler_variables(project.config.env).values()]
    places = [repository, unit.command.directory, unit.file.parent, *paths_in(words), *outside]
    for word in command:
        relative = unit.command.directory / word.removeprefix("-I").removeprefix("-isystem")
        if word.startswith(("-I", "-isystem", "..")) and relative.is_dir():
            places.append(Path(os.path.normpath(relative)))
    return tuple(dict.fromkeys(places))


def _link_device(order: _Order, parts: Sequence[Entry]) -> Entry:
    """The code object of GPU code in several files, linked as the compiler's driver does it.

    Where files of several programs define one name twice, only those are taken that the first one needs.
    """
    project, toolchain = order.project, order.toolchain
    level = next((f for f in reversed(order.unit.command.flags) if re.fullmatch("-O[0-3]", f)), "-O3")[1:]
    files = [part.directory / _OUTPUT["bitcode"] for part in parts]
    argv: list[str | Path] = [
        toolchain.bin / "ld.lld", "-m", "elf64_amdgpu", "--no-undefined", "-shared",
        "-plugin-opt=-amdgpu-internalize-symbols", f"-plugin-opt=mcpu={toolchain.arch}", f"-plugin-opt={level}",
        f"--lto-CG{level}",
    ]  # fmt: skip
    cache = BuildCache("linked", [*_identity(toolchain, project), level, *map(str, files)], {})
    known = cache.find()
    if known is not None:
        return known
    with cache.draft() as draft:
        output: list[str | Path] = ["-o", draft / _OUTPUT["device"]]
        linked = _run_linker(order, [*argv, *output, *files], draft)
        if "duplicate symbol" in linked.text:
            linked = _run_linker(
                order, [*argv, *output, files[0], "--start-lib", *files[1:], "--end-lib"], draft
            )
        _check(project, toolchain, str(order.unit.file), linked, linked.text, draft)
        return cache.store(
            draft, [], seconds=linked.seconds + sum(p.seconds for p in parts), output=linked.text
        )


def _run_linker(order: _Order, argv: Sequence[str | Path], draft: Path) -> Completed:
    project, words = order.project, [str(word) for word in argv]
    timeout = project.config.build_timeout_s
    if not order.confined:
        return run_process(
            words,
            timeout=timeout,
            cwd=draft,
            env=private(draft, compiler_variables(project.config.env)),
            cancel=order.cancel,
        )
    read = tuple({Path(word).parent for word in words if word.endswith(".bc")})
    return run_confined(
        words,
        Box(read=read, write=(draft,)),
        timeout=timeout,
        cwd=draft,
        env=plain_environment({}),
        cancel=order.cancel,
    )


def _link(
    project: Project, toolchain: Toolchain, device: Entry, host: Entry, cancel: threading.Event | None
) -> Entry:
    """Put the code object into the host object and link the program."""
    identity = [
        *_identity(toolchain, project),
        str(device.directory),
        str(host.directory),
        *_link_options(project),
    ]
    cache = BuildCache("program", identity, {})
    known = cache.find()
    if known is not None:
        return known
    timeout = project.config.build_timeout_s
    with cache.draft() as draft:
        bundle = draft / "bundle.hipfb"
        targets = f"host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--{toolchain.arch}"
        bundled = run_process(
            [
                toolchain.offload_bundler, "-type=o", "-bundle-align=4096", f"-targets={targets}", "-input=/dev/null",
                f"-input={device.directory / 'device.co'}", f"-output={bundle}",
            ],
            timeout=timeout, env=private(draft, project.config.env), cancel=cancel,
        )  # fmt: skip
        _check(project, toolchain, "clang-offload-bundler", bundled, bundled.text, draft)
        (draft / "bundle.s").write_text(_bundle_source(host.directory / "host.o", bundle))
        linked = run_process(
            [
                toolchain.clang, *toolchain.hip_location_flags, host.directory / "host.o", draft / "bundle.s",
                *_link_options(project), *toolchain.link_flags, *toolchain.stand_in_flags,
                "-Wno-unused-command-line-argument", "-o", draft / "program",
            ],
            timeout=timeout, env=private(draft, project.config.env), cancel=cancel,
        )  # fmt: skip
        _check(project, toolchain, str(project.main_source), linked, linked.text, draft)
        for leftover in (bundle, draft / "bundle.s"):
            leftover.unlink()
        return cache.store(draft, [], seconds=bundled.seconds + linked.seconds, output="")


def _link_options(project: Project) -> list[str]:
    options = ("-l", "-L", "-Wl,", "-fopenmp", "-pthread", "-static")
    return [
        flag
        for flag in project.config.flags
        if flag.startswith(options) or flag.endswith((".a", ".so", ".o"))
    ]


def _bundle_source(host_object: Path, bundle: Path) -> str:
    """Assembly that defines what a host object compiled alone leaves open: the code, and the handle of its module."""
    lines = ['.section .hip_fatbin,"a",@progbits', ".p2align 12"]
    for symbol in undefined_symbols(host_object):
        if symbol.startswith("__hip_fatbin"):
            lines += [f".globl {symbol}", f".hidden {symbol}", f"{symbol}:"]
    lines += [f'.incbin "{bundle}"', ".bss", ".p2align 3"]
    for symbol in undefined_symbols(host_object):
        if symbol.startswith("__hip_gpubin_handle"):
            lines += [f".globl {symbol}", f".hidden {symbol}", f"{symbol}:", ".skip 8"]
    lines += ['.section .note.GNU-stack,"",@progbits', ""]
    return "\n".join(lines)


def _check(
    project: Project, toolchain: Toolchain, subject: str, completed: Completed, output: str, draft: Path
) -> None:
    if completed.timed_out:
        seconds = project.config.build_timeout_s
        raise BuildFailed(
            f"{subject}: the compiler took longer than {seconds:g} s",
            "raise `build_timeout_s` in hipscope.toml",
            output=output,
        )
    if not completed.ok:
        raise build_error(subject, output, draft, toolchain, returncode=completed.returncode)


def _from_tree(project: Project, toolchain: Toolchain, tree: BuildTree) -> BuiltProgram:
    assert project.config.run is not None
    command = " ".join([project.config.run, *(shlex.quote(argument) for argument in project.program_args)])
    return BuiltProgram(
        argv=("/bin/sh", "-c", command),
        directory=tree.start,
        tree=tree.directory,
        env=project.config.env,
        compile_seconds=tree.seconds,
        cached=tree.cached,
        code_objects=(),
        output=tree.output,
        units={unit: _users(toolchain, included) for unit, included in tree.units.items()},
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

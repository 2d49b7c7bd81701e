"""A file of kernels, or a directory, as a `Project` whose program is generated from benches.

Takes what `resolve_project` takes, and the name of a bench. The generated source lies in the cache directory, under the
digest of its contents; the user's file is included by it as it is.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hipscope.analysis.benches.cases import fit
from hipscope.analysis.benches.comments import benches_in, has_benches
from hipscope.analysis.benches.extraction import Extraction, needs_extraction
from hipscope.analysis.benches.grammar import BenchError, BenchLine, BenchPiece, BenchText, parse_bench
from hipscope.analysis.benches.program import opening, program_text
from hipscope.analysis.benches.signature import ask_signatures, missing_header_hint, mistakes
from hipscope.analysis.build_files.source_files import HEADER_SUFFIXES, PROGRAM_SUFFIXES, has_main
from hipscope.analysis.config import CONFIG_FILE, Config
from hipscope.analysis.errors import BuildFailed, CompilerDiagnostic, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.system.directories import cache_directory, write_atomically
from hipscope.analysis.system.places import place_of
from hipscope.analysis.toolchain.build import source_command
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import units_for
from hipscope.analysis.toolchain.project import (
    Project,
    file_settings,
    read_source,
    resolve_config,
    resolve_project,
    settings_directory,
)

# Functions of the file that no bench calls may need what is defined elsewhere: they are left out of the program.
# Kernels may be private members.
_FLAGS = ("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-fno-access-control")
_REPLACED = (
    ("cuda_fp16.h", "hip/hip_fp16.h"),
    ("cuda_bf16.h", "hip/hip_bf16.h"),
)  # by HIP, in what is taken out
_OURS = {"Half": "__half", "BFloat16": "__hip_bfloat16"}
_NARROW = (("half", "hip/hip_fp16.h"), ("bfloat16", "hip/hip_bf16.h"))  # types that a bench may name
_EXAMPLE = "// hipscope: bench KERNEL grid=ceil(n/256) block=256 x=f32[n]:normal n=1048576"


def resolve_benched(
    target: Path,
    program_args: Sequence[str] = (),
    config: Config | None = None,
    run: Run | None = None,
    *,
    bench: str | None = None,
) -> Project:
    """The project of a target: what `resolve_project` gives, or for kernels without `main` what their benches make.

    `bench` names one, also in a file with `main`. Raises UsageError, and MissingTool without a compiler or libclang.
    """
    run, target = run or Run(), place_of(target, CONFIG_FILE).path
    file = _file_of_benches(target, config, run, asked=bench is not None)
    if file is None:
        if bench is not None:
            raise UsageError(f"{target}: there is no bench", f"write one above a kernel: {_EXAMPLE}")
        return resolve_project(target, program_args, config, run.texts)
    if program_args:
        raise UsageError(f"{file}: a bench takes no arguments", "leave out what stands behind `--`")
    settings = file_settings(file, config)
    return bench_project(file, settings, _chosen(file, settings, bench, run), run)


def bench_project(file: Path, settings: Config, lines: Sequence[BenchLine], run: Run) -> Project:
    """The project that runs these benches of a file. Raises BenchError, UsageError, MissingTool."""
    text = read_source(file, run.texts)
    extraction, more = _extraction(file, text, lines)
    flags = [*settings.flags, *_FLAGS, *more]
    settings = settings.model_copy(update={"flags": flags, "build": None, "run": None})
    toolchain = find_toolchain(settings)
    words = [word for line in lines for word in (line.word("include") or "").split(",") if word]
    if extraction is not None:
        words += [ours for theirs, ours in _REPLACED if f"<{theirs}>" in text]
        lines = [replace(line, kernel=_without_torch(line.kernel)) for line in lines]
        words += [header for name, header in _NARROW if any(name in line.kernel for line in lines)]
    beside = {word: file.parent / word for word in words}
    included = [str(beside[w]) if run.texts.read(beside[w]) is not None else w for w in dict.fromkeys(words)]
    begin = opening(file, included)
    asking = Project(
        file.parent, _home(file) / "signatures.hip", (file,), settings, (), "single", subject=file, extract=extraction
    )  # fmt: skip
    units = units_for(toolchain.clang)

    meanings: list[Meaning] = []

    def ask(question: bytes) -> Meaning:
        assert asking.main_source is not None
        command = source_command(asking, toolchain, asking.main_source, run)
        meanings.append(units.meaning(run.texts.replacing(asking.main_source, question), command))
        return meanings[-1]

    try:
        kernels = ask_signatures(lines, begin, ask)
        fitted = [fit(line, kernel) for line, kernel in zip(lines, kernels, strict=True)]
    except BenchError:
        # A type that is not declared is an `int` to the compiler, and a kernel in a broken file is not there.
        if meanings and (mistake := mistakes(meanings[-1])) is not None:
            raise mistake from None
        raise
    source = program_text(fitted, begin).encode()
    home = _home(file) / hashlib.sha256(source).hexdigest()[:16]
    generated = home / f"bench_{re.sub(r'[^A-Za-z0-9_]', '_', file.stem)}.hip"
    if not generated.is_file():
        write_atomically(generated, source)
    return replace(asking, main_source=generated)


def _without_torch(kernel: str) -> str:
    """A kernel as its bench names it, with HIP's own types in place of PyTorch's: their headers are left out."""
    return re.sub(r"\b(?:c10|at|torch)::(Half|BFloat16)\b", lambda word: _OURS[word[1]], kernel)


def benches_of(file: Path, settings: Config, run: Run) -> tuple[BenchText, ...]:
    """The benches of a file: those of its comments, then those of the nearest hipscope.toml."""
    found = list(benches_in(run.texts.text(file) or "", str(file)))
    home = settings_directory(file)
    if home is not None:
        text = run.texts.text(home / CONFIG_FILE) or ""
        found += [
            BenchText(str(home / CONFIG_FILE), (_piece(text, bench.line),))
            for bench in settings.bench
            if (home / bench.file).resolve() == file.resolve()
        ]
    return tuple(found)


def _piece(text: str, line: str) -> BenchPiece:
    """A bench of hipscope.toml with its place there: that of its text, where it stands in one piece."""
    at = next((at for quoted in (line, json.dumps(line)[1:-1]) if (at := text.find(quoted)) >= 0), -1)
    if at < 0:
        return BenchPiece(" ".join(line.split()), 1, 1)
    return BenchPiece(" ".join(line.split("\n")), text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _chosen(file: Path, settings: Config, wanted: str | None, run: Run) -> tuple[BenchLine, ...]:
    """The benches to run: all, or those of a name: the bench's, the kernel's with or without its arguments."""
    lines = [parse_bench(text) for text in benches_of(file, settings, run)]
    if wanted is None:
        return tuple(lines)
    plain = re.sub(r"\s+", "", wanted)
    for called in (
        lambda line: line.name,
        lambda line: re.sub(r"\s+", "", line.kernel),
        lambda line: line.base_name,
    ):
        if found := tuple(line for line in lines if called(line) in (wanted, plain)):
            return found
    names = list(dict.fromkeys(line.name for line in lines))
    close = difflib.get_close_matches(wanted, names, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(names)}"
    raise UsageError(f"{file}: there is no bench `{wanted}`", hint)


def _file_of_benches(target: Path, config: Config | None, run: Run, *, asked: bool) -> Path | None:
    """The file whose benches are to run; None where the target is a program of its own, or has no bench.

    Unless one is `asked` for, `build` and `main` come first.
    """
    if target.is_dir():
        return _only_file(target, config, run, asked=asked)
    if target.suffix not in PROGRAM_SUFFIXES + HEADER_SUFFIXES or not target.is_file():
        return None
    settings = file_settings(target, config)
    if not asked and (settings.build is not None or has_main(run.texts.text(target) or "")):
        return None
    return target if benches_of(target, settings, run) else None


def _only_file(directory: Path, config: Config | None, run: Run, *, asked: bool) -> Path | None:
    """The only file of a directory that has benches, where none has `main`."""
    files = [
        p
        for p in sorted(directory.iterdir())
        if p.suffix in PROGRAM_SUFFIXES + HEADER_SUFFIXES and p.is_file()
    ]
    texts = {p: run.texts.text(p) or "" for p in files}
    settings = config if config is not None else resolve_config(directory)
    if not asked and (settings.build is not None or any(has_main(t) for t in texts.values())):
        return None
    home = settings_directory(directory)
    named = {Path(home / b.file).resolve() for b in settings.bench} if home is not None else set()
    found = sorted({p for p, t in texts.items() if has_benches(t)} | {p for p in named if p.is_file()})
    if len(found) > 1:
        names = ", ".join(p.name for p in found[:4]) + (", ..." if len(found) > 4 else "")
        raise UsageError(f"{directory}: {len(found)} files with benches ({names})", "name one of them")
    return found[0] if found else None


def _home(file: Path) -> Path:
    digest = hashlib.sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache_directory() / "benches" / f"{file.stem}-{digest}"


def _extraction(file: Path, text: str, lines: Sequence[BenchLine]) -> tuple[Extraction | None, list[str]]:
    """How the kernels are taken out of a file with headers of PyTorch or CUDA; the file as it is where they need those.

    Then with the flags that find PyTorch's. Raises BuildFailed where it is not installed.
    """
    if not needs_extraction(text):
        return None, []
    extraction = Extraction(frozenset(line.base_name for line in lines))
    obstacle = extraction.obstacle(text.encode())
    if obstacle is None:
        return extraction, []
    found = importlib.util.find_spec("torch")
    places = list(found.submodule_search_locations or ()) if found is not None else []
    if not places:
        number, word = obstacle
        what = f"a kernel of a bench uses `{word}`, which is PyTorch's, and its headers are not installed"
        raise BuildFailed(
            f"{file}:{number}: {what}",
            missing_header_hint("'torch/extension.h' file not found"),
            diagnostics=(CompilerDiagnostic(str(file), number, 0, "error", what),),
        )
    below = ("", "/torch/csrc/api/include")
    return None, [f"-isystem{place}/include{inner}" for place in places for inner in below]

"""What a bench's kernel takes, by the compiler's own reading.

Takes the bench lines of one file and how that file is compiled, gives the parameters of each kernel with their types.
The question is a text that includes the file; it is put to libclang only and stands in no file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hipscope.analysis.benches.grammar import BenchLine
from hipscope.analysis.errors import BuildFailed, CompilerDiagnostic, UsageError
from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.semantics.records import Diagnostic, Type

MOST_PARAMETERS = 64
_NONE = "hipscope_asks_bench::none"
_ASKING = """
namespace hipscope_asks_bench {
struct none {};
template <int, class...> struct pick { using type = none; };
template <class First, class... Rest> struct pick<0, First, Rest...> { using type = First; };
template <int I, class First, class... Rest> struct pick<I, First, Rest...> : pick<I - 1, Rest...> {};
template <int, class> struct parameter;
template <int I, class... P> struct parameter<I, void (*)(P...)> : pick<I, P...> {};
}
"""


@dataclass(frozen=True)
class KernelParameter:
    """A parameter; `arg3` where the kernel gives it no name."""

    name: str
    type: Type


@dataclass(frozen=True)
class BenchedKernel:
    """A kernel of a bench with what it takes."""

    parameters: tuple[KernelParameter, ...]


def ask_signatures(
    lines: Sequence[BenchLine], opening: str, ask: Callable[[bytes], Meaning]
) -> tuple[BenchedKernel, ...]:
    """The kernels of the lines, in their order. `opening` includes the file; `ask` reads a text as the program.

    Raises BenchError for a kernel that is not there, not one, or whose template arguments do not fit; BuildFailed for
    a header that is not found.
    """
    text = opening + _ASKING
    first = text.count("\n") + 1
    meaning = ask((text + "\n".join(_question(n, line) for n, line in enumerate(lines)) + "\n").encode())
    _check_headers(meaning)
    found = []
    for number, line in enumerate(lines):
        wrong = [e for e in meaning.errors if _of(e, meaning, first + number)]
        asked = meaning.named(f"hipscope_bench_{number}")
        if wrong or len(asked) != 1:
            raise _no_kernel(line, meaning, wrong)
        types = [p.type for p in asked[0].parameters if p.type.plain != _NONE]
        found.append(_kernel(line, types, meaning))
    return tuple(found)


def _question(number: int, line: BenchLine) -> str:
    """A use of the kernel, and a function whose parameters have the types of the kernel's."""
    kernel = f"decltype(&{line.kernel})"
    listed = ", ".join(
        f"hipscope_asks_bench::parameter<{i}, {kernel}>::type p{i}" for i in range(MOST_PARAMETERS)
    )
    used = f"static auto hipscope_kernel_{number} = &{line.kernel};"
    return f"{used} inline void hipscope_bench_{number}({listed}) {{}}"


def _of(error: Diagnostic, meaning: Meaning, line: int) -> bool:
    return error.place is not None and error.place.file == meaning.file and error.line == line


def _kernel(line: BenchLine, types: Sequence[Type], meaning: Meaning) -> BenchedKernel:
    """The parameters with their names, which are those of the definition that takes these types."""
    wanted = [t.canonical for t in types]
    named = [f for f in meaning.named(line.base_name) if len(f.parameters) == len(types)]
    same = [f for f in named if [p.type.canonical for p in f.parameters] == wanted] or named
    if same and not any(f.kernel for f in same):
        raise line.source.error(f"`{line.kernel}` is no kernel: it has no `__global__`", _start(line))
    written = [(p.name, p.type) for p in same[0].parameters] if same else [("", t) for t in types]
    return BenchedKernel(
        tuple(KernelParameter(name or f"arg{i}", kind) for i, (name, kind) in enumerate(written, 1))
    )


def _start(line: BenchLine) -> int:
    text = line.source.text
    return len(text) - len(text.lstrip())


def _no_kernel(line: BenchLine, meaning: Meaning, wrong: Sequence[Diagnostic]) -> UsageError:
    """Why the compiler knows no such kernel."""
    kernels = sorted({f.name for f in meaning.by_key.values() if f.kernel})
    said = wrong[0].message if wrong else "the compiler does not say what it takes"
    if line.base_name not in kernels and re.search(
        r"undeclared identifier|no (?:member|template) named", said
    ):
        close = difflib.get_close_matches(line.base_name, kernels, 1)
        known = (
            f"; did you mean `{close[0]}`?"
            if close
            else f"; there are {', '.join(kernels)}"
            if kernels
            else ""
        )
        return line.source.error(f"there is no kernel `{line.kernel}`{known}", _start(line))
    if "overloaded function" in said:
        more = (
            f"is a template, or one of several: write its arguments, as in {line.kernel}<float>"
            if "<" not in line.kernel
            else "is not one kernel: its template's arguments are too few, or do not fit"
        )
        return line.source.error(f"`{line.kernel}` {more}", _start(line))
    return line.source.error(f"`{line.kernel}`: {said}", _start(line))


def _check_headers(meaning: Meaning) -> None:
    """Raises BuildFailed when a header is not found: what the compiler says after that is of no use."""
    error = next((e for e in meaning.errors if e.place is not None and "file not found" in e.message), None)
    if error is not None:
        raise _build_failed(error, missing_header_hint(error.message))


def mistakes(meaning: Meaning) -> BuildFailed | None:
    """The first mistake in the file itself, or in what it includes."""
    error = next((e for e in meaning.errors if e.place is not None and e.place.file != meaning.file), None)
    return None if error is None else _build_failed(error, _LACKING)


_LACKING = (
    "what a file expects from others stands in its bench as include=..., or in `flags` of hipscope.toml"
)


def _build_failed(error: Diagnostic, hint: str) -> BuildFailed:
    file = str(error.place.file) if error.place is not None else ""
    said = CompilerDiagnostic(file, error.line, 0, "error", error.message)
    message = f"{file}:{error.line}: {error.message}"
    return BuildFailed(message, hint, diagnostics=(said,), output=message)


def missing_header_hint(message: str) -> str:
    """What to do about a header that is not found."""
    header = next(iter(re.findall(r"'([^']+)' file not found", message)), "")
    if is_torch_header(header):
        return (
            "it is PyTorch's: `pip install torch` where hipscope's Python finds it brings the headers, or name their "
            "directories with `flags` in hipscope.toml"
        )
    if header.startswith(("cuda", "cub/", "cooperative_groups", "mma.h", "curand", "cublas")):
        return "it is CUDA's: hipscope compiles HIP; translate the file with hipify first"
    return 'name its directory with `flags = ["-I..."]` in hipscope.toml'


def is_torch_header(header: str) -> bool:
    """Whether a header is one of PyTorch's, by its name."""
    return header.startswith(("torch/", "ATen/", "c10/", "caffe2/")) or header == "THC/THC.h"

"""The first bench of a kernel, written from its text: what an editor puts above it, to be corrected by hand.

Takes a source and the name of a kernel, gives the comment and where it goes. Guesses sizes and contents from names and
types; no compiler is asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from hipscope.analysis.benches.comments import benches_in
from hipscope.analysis.benches.grammar import LAUNCH_WORDS, WORDS, BenchError, parse_bench
from hipscope.analysis.source.kernel_definitions import split_arguments
from hipscope.analysis.source.nodes import text_of
from hipscope.analysis.source.number_types import element_bytes, element_of
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, Parameter

_ONE_SIZE, _TWO_SIZES, _MORE_SIZES = 65536, 256, 32
_REPEATED = re.compile(r"iter|step|repeat|round|count_of|times", re.IGNORECASE)
_FIRST = re.compile(r"off|start|begin|first|seed|base|level|index|idx|\bid\b|rank", re.IGNORECASE)
_PITCH = re.compile(r"stride|pitch|^ld[a-z]?$|step", re.IGNORECASE)
_WIDE = re.compile(r"^(?:n?x|w|width|n?cols?|columns?|image_?w|n)$", re.IGNORECASE)
_SCALED_BLOCK = re.compile(
    r"blockIdx\s*\.\s*(?P<axis>[xyz])\s*\*\s*(?P<by>\w+)|(?P<by2>[\w.]+)\s*\*\s*blockIdx\s*\.\s*(?P<axis2>[xyz])"
)


@dataclass(frozen=True)
class KernelOfFile:
    """A kernel: its name, the line from 1 on which its definition begins, and whether a comment has a bench for it."""

    name: str
    line: int
    benched: bool


@dataclass(frozen=True)
class FirstBench:
    """The comment to put before line `line` (from 1), with its indentation."""

    comment: str
    line: int


def kernels_by_bench(text: str) -> tuple[KernelOfFile, ...]:
    """The kernels of a source."""
    benched = set()
    for bench in benches_in(text, ""):
        try:
            benched.add(parse_bench(bench).base_name)
        except BenchError:
            benched.add(re.split(r"[<\s]", bench.text.strip(), maxsplit=1)[0].rpartition("::")[2])
    kernels = parse(text.encode("utf-8", "surrogatepass")).kernels
    return tuple(KernelOfFile(k.name, k.span.line, k.name in benched) for k in kernels)


def first_bench(text: str, name: str) -> FirstBench | None:
    """The first bench of the kernel of that name; None when there is no such kernel."""
    syntax = parse(text.encode("utf-8", "surrogatepass"))
    kernel = next((k for k in syntax.kernels if k.name == name), None)
    if kernel is None:
        return None
    whole = [p for p in kernel.parameters if not p.pointer and element_of(p.type).kind == "integer"]
    sizes = [p.name for p in whole if not any(r.search(p.name) for r in (_REPEATED, _FIRST, _PITCH))]
    extra = [] if sizes else ["n"]
    dims = sizes or extra
    value = {1: _ONE_SIZE, 2: _TWO_SIZES}.get(len(dims), _MORE_SIZES)
    words = [_qualified(kernel, syntax), *_launch(kernel, dims)]
    floats = {p.split()[-1] for p in _template_parameters(kernel) if _likely(p) == "float"}
    words += [_argument(_plain(p, floats), dims, whole, value) for p in kernel.parameters]
    words += [f"{size}={value}" for size in extra]
    indentation = re.match(r"[ \t]*", text.splitlines()[kernel.span.line - 1])
    comment = f"{indentation[0] if indentation else ''}// hipscope: bench {' '.join(words)}"
    return FirstBench(comment, kernel.span.line)


def _plain(parameter: Parameter, floats: Collection[str]) -> Parameter:
    """The parameter with `float` for a template's type."""
    words = [("float" if word in floats else word) for word in re.findall(r"\w+|\W", parameter.type)]
    return replace(parameter, type="".join(words))


def _argument(parameter: Parameter, dims: Sequence[str], whole: Sequence[Parameter], value: int) -> str:
    name = parameter.name
    shown = f".{name}" if name in LAUNCH_WORDS or name in WORDS else name
    if parameter.pointer:
        contents = ""
        if parameter.const_pointee:
            kind = element_of(parameter.element_type).kind
            contents = (
                f":index({dims[0]})" if kind == "integer" else ":normal" if kind == "float" else ":uniform"
            )
        return f"{shown}=[{'*'.join(dims)}]{contents}"
    if parameter not in whole:
        return f"{shown}=1" if element_of(parameter.type).kind == "float" else f"{shown}={{}}"
    if name in dims:
        return f"{shown}={value}"
    if _PITCH.search(name):
        return f"{shown}={dims[-1]}"
    return f"{shown}={0 if _FIRST.search(name) else 4}"


def _launch(kernel: KernelSyntax, dims: Sequence[str]) -> list[str]:
    """Grid and block: as many dimensions as the kernel asks for, blocks of threads or one for each element."""
    body = text_of(kernel.body_node)
    axes = [a for a in "xyz" if re.search(rf"\b(?:thread|block)Idx\s*\.\s*{a}\b", body)] or ["x"]
    limit = next(
        (m[1] for a in kernel.attributes if (m := re.search(r"__launch_bounds__\s*\(\s*(\d+)", a))), "256"
    )
    threads = {1: [limit], 2: ["16", "16"], 3: ["8", "8", "4"]}[len(axes)]
    wide = sorted(dims, key=lambda name: not _WIDE.match(name)) if len(axes) > 1 else list(dims)
    scaled = [(m["axis"] or m["axis2"], m["by"] or m["by2"]) for m in _SCALED_BLOCK.finditer(body)]
    blocked = {axis for axis, by in scaled if kernel.parameter(by) is None}  # not rows of a matrix
    grid = []
    for i, axis in enumerate(axes):
        size = wide[i] if i < len(wide) else wide[-1]
        grid.append(f"ceil({size}/{threads[i]})" if axis in blocked else size)
    dynamic = next((s for s in kernel.shared if s.dynamic), None)
    lds = []
    if dynamic is not None:
        lds = [f"lds={'*'.join(threads)}*{element_bytes(dynamic.element_type) or 4}"]
    return [f"grid={','.join(grid)}", f"block={','.join(threads)}", *lds]


def _qualified(kernel: KernelSyntax, syntax: FileSyntax) -> str:
    """The kernel's name with its namespaces and template arguments: those of a launch, else likely ones."""
    scopes: list[str] = []
    node = kernel.body_node.parent
    while node is not None:
        if node.type == "namespace_definition" and (name := node.child_by_field_name("name")) is not None:
            scopes.insert(0, text_of(name))
        node = node.parent
    return "::".join([*scopes, kernel.name]) + _template_arguments(kernel, syntax)


def _template_arguments(kernel: KernelSyntax, syntax: FileSyntax) -> str:
    parameters = _template_parameters(kernel)
    names = {p.split("=")[0].split()[-1].lstrip(".") for p in parameters}
    for launch in syntax.launches if parameters else ():
        named, _, given = launch.kernel.partition("<")
        words = split_arguments(given.rpartition(">")[0])
        # Arguments that are parameters of the wrapper's own template say nothing here.
        vague = any(re.fullmatch(r"[A-Z]\w*|scalar_t", word) or word in names for word in words)
        if named.rpartition("::")[2] == kernel.name and words[0] and not vague:
            return f"<{', '.join(words)}>"
    likely = [_likely(p) for p in parameters if "=" not in p and "..." not in p]
    return f"<{', '.join(likely)}>" if parameters else ""


def _template_parameters(kernel: KernelSyntax) -> list[str]:
    head = kernel.template_head
    return (
        [p for p in split_arguments(head[head.find("<") + 1 : head.rfind(">")]) if p] if "<" in head else []
    )


def _likely(parameter: str) -> str:
    if re.match(r"(?:typename|class)\b", parameter):
        return "float"
    if re.match(r"bool\b", parameter):
        return "true"
    return "256" if re.search(r"block|thread|size", parameter, re.IGNORECASE) else "4"

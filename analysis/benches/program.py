"""The host program of benches, as C++: allocates, fills, launches, copies back and prints digests.

Takes fitted benches and the file of their kernels, gives the text of a source with `main` that includes the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from hipscope.analysis.benches.cases import BenchBuffer, BenchCase, FittedBench
from hipscope.analysis.benches.elements import Kind

_HEADERS = (
    "hip/hip_runtime.h", "algorithm", "cmath", "cstdint", "cstdio", "cstdlib", "cstring", "tuple", "utility", "vector",
)  # fmt: skip
_MAIN_OF_THE_FILE = "hipscope_main_of_the_file"


def opening(file: Path, included: Sequence[str]) -> str:
    """What stands before the benches: headers, our own code, the user's file.

    `included` are headers that the file expects before it. A `main` there or in the file gets another name.
    """
    lines = [f"#include <{name}>" for name in _HEADERS]
    lines += [files("hipscope.analysis.benches").joinpath("support.hpp").read_text(encoding="utf-8")]
    lines += [f"#define main {_MAIN_OF_THE_FILE}"]
    lines += [f"#include {json.dumps(name, ensure_ascii=False)}" for name in included]
    lines += [f'#include "{file}"', "#undef main"]
    return "\n".join(lines) + "\n"


def program_text(benches: Sequence[FittedBench], begin: str) -> str:
    """The whole source. `begin` is its `opening`."""
    parts, calls = [begin], []
    for number, bench in enumerate(benches):
        for step, case in enumerate(bench.cases):
            name = f"hipscope_bench_{number}_{step}"
            parts.append(_function(name, bench, case, seed=1000 * number + step))
            calls.append(f"    {name}();")
    parts.append("\n".join(["int main() {", *calls, "    return 0;", "}", ""]))
    return "\n".join(parts)


def _function(name: str, bench: FittedBench, case: BenchCase, seed: int) -> str:
    kernel = bench.line.kernel
    lines = [f"static void {name}() {{", f"    using hipscope_kernel = decltype(&{kernel});"]
    lines += _buffers(case.buffers, seed)
    arguments = []
    for i, argument in enumerate(case.arguments):
        kind = f"hipscope_bench::hipscope_parameter<{i}, hipscope_kernel>"
        if argument.startswith("="):
            lines.append(f"    {kind} hipscope_a{i}{_with_buffers(argument[1:])};")
            arguments.append(f"hipscope_a{i}")
        elif argument.startswith("@"):
            arguments.append(f"{_with_buffers(argument)}.hipscope_as<{kind}>()")
        else:
            arguments.append(f"static_cast<{kind}>({argument})")
    grid, block = (", ".join(map(str, size)) for size in (case.grid, case.block))
    restored = [f"hipscope_b{i}" for i, b in enumerate(case.buffers) if b.restored]
    lines += [
        f"    for (int hipscope_i = 0; hipscope_i < {bench.warmup + bench.repeat}; ++hipscope_i) {{",
        *(f"        {buffer}.hipscope_restore();" for buffer in restored),
        f"        {kernel}<<<dim3({grid}), dim3({block}), {case.lds}>>>({', '.join(arguments)});",
        f"        hipscope_bench::hipscope_check(hipGetLastError(), {_quoted(case.label)});",
        f"        hipscope_bench::hipscope_check(hipDeviceSynchronize(), {_quoted(case.label)});",
        "    }",
        f'    std::printf("%s\\n", {_quoted(case.label)});',
        *(f"    {buffer}.hipscope_print();" for buffer in restored),
        "}",
    ]
    return "\n".join(lines)


def _buffers(buffers: Sequence[BenchBuffer], seed: int) -> Iterator[str]:
    for i, buffer in enumerate(buffers):
        numbers = ", ".join(f"{{{at}, {_kind(kind)}}}" for at, kind in buffer.element.numbers)
        how, first, second = buffer.fill
        contents = f"{{hipscope_bench::hipscope_fill::{how}, {_double(first)}, {_double(second)}}}"
        yield (
            f"    hipscope_bench::hipscope_buffer hipscope_b{i}({_quoted(buffer.name)}, {buffer.count}ull, "
            f"{buffer.element.size}, {{{numbers}}}, {contents}, {64 * seed + i});"
        )
        if buffer.symbol:
            said = f"{buffer.name} is smaller than its bench says"
            yield (
                f"    static_assert(sizeof({buffer.name}) >= {buffer.count * buffer.element.size}ull, {_quoted(said)});"
            )
            yield (
                f"    hipscope_bench::hipscope_check(hipMemcpyToSymbol(HIP_SYMBOL({buffer.name}), "
                f"hipscope_b{i}.hipscope_data().data(), hipscope_b{i}.hipscope_data().size()), {_quoted(buffer.name)});"
            )


def _kind(kind: Kind) -> str:
    return f"hipscope_bench::hipscope_kind::{'boolean' if kind == 'bool' else kind}"


def _double(value: float) -> str:
    return {"inf": "__builtin_inf()", "-inf": "-__builtin_inf()"}.get(repr(value), repr(value))


def _with_buffers(text: str) -> str:
    return re.sub(r"@(\d+)@", r"hipscope_b\1", text)


def _quoted(text: str) -> str:
    return json.dumps(text)

"""How long hover, code lenses and inlay hints take on a report of many kernels and hot lines.

    python benchmarks/editor_requests.py [--kernels 5000] [--lines 20] [--files 1]

Makes a report of that many kernels with that many hot lines each, in one file or several, and prints the milliseconds
of processor time that marks of one file take when the report arrives, then of the first request of each kind, and of
those that follow. Lenses are those of a text that somebody types in, too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from lsprotocol import types as lsp

from hipscope.server.features import code_lens, hover, inlay_hint
from hipscope.server.reports.report_reader import read_report
from hipscope.server.session.editor_settings import EditorSettings
from hipscope.server.session.known_profiles import Marks

TIMES = 8
FAKE = Path(__file__).parents[1] / "tests" / "server" / "fake_worker.py"


def main() -> None:
    """Print a line per request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=5000)
    parser.add_argument("--lines", type=int, default=20)
    parser.add_argument("--files", type=int, default=1)
    options = parser.parse_args()
    marks, text = _marks(options.kernels, options.lines, options.files)
    middle = len(text.splitlines()) // 2
    window = lsp.Range(
        start=lsp.Position(line=middle, character=0), end=lsp.Position(line=middle + 60, character=0)
    )
    print(f"{options.kernels} kernels, {options.kernels * options.lines} hot lines, {options.files} files")
    print(f"{'marks':14} {_milliseconds(lambda _: marks.prepare(), 0):14.1f} ms, when the report arrives")
    kept = code_lens.Kept(marks.report, {})
    typed = [
        Marks(marks.report, marks.file, text, text.replace("+= 1;", f"+= {n + 2};", 1)) for n in range(TIMES)
    ]
    for one in typed:
        one.prepare()
    settings = EditorSettings(minimum_share=0.0)
    requests: dict[str, Callable[[int], object]] = {
        "hover": lambda n: hover.build(
            marks,
            lsp.Position(line=middle + n, character=4),
            lsp.MarkupKind.Markdown,
            lsp.PositionEncodingKind.Utf16,
        ),
        "code lenses": lambda _: code_lens.build(
            marks, "file:///a.hip", lsp.PositionEncodingKind.Utf16, kept
        ),
        "lenses typing": lambda n: code_lens.build(
            typed[n], "file:///a.hip", lsp.PositionEncodingKind.Utf16, kept
        ),
        "inlay hints": lambda _: inlay_hint.build(marks, window, settings, lsp.PositionEncodingKind.Utf16),
    }
    for name, request in requests.items():
        first, *others = [_milliseconds(request, n) for n in range(TIMES)]
        print(f"{name:14} first {first:8.1f} ms, then {sum(others) / len(others):8.2f} ms")


def _milliseconds(request: Callable[[int], object], number: int) -> float:
    begun = time.process_time()
    request(number)
    return (time.process_time() - begun) * 1e3


def _marks(kernels: int, lines: int, files: int) -> tuple[Marks, str]:
    fake = ModuleType("fake_worker")
    source = FAKE.read_text().rpartition("main()")[0]
    exec(compile(source, str(FAKE), "exec"), fake.__dict__)
    per_file = kernels // files
    whole, first = None, ""
    for file in range(files):
        text = "".join(
            f"__global__ void k{file}_{k}(float* a, int n) {{\n"
            + "".join(f"    a[{n}] += 1; // cost {1 / lines:.4f} lds\n" for n in range(lines))
            + "}\n\n"
            for k in range(per_file)
        )
        part = fake.profile(f"/bench/{file}.hip", "")
        lines_of_file = text.splitlines()
        part["kernels"] = [
            fake.kernel(f"/bench/{file}.hip", f"k{file}_{k}", k * (lines + 3) + 1, lines_of_file)
            for k in range(per_file)
        ]
        if whole is None:
            whole, first = part, text
        else:
            whole["kernels"] += part["kernels"]
    assert whole is not None
    total = sum(k["time_ns"] for k in whole["kernels"])
    for kernel in whole["kernels"]:
        kernel["share"] = kernel["time_ns"] / total
    return Marks(read_report(whole), "/bench/0.hip", first, first), first


if __name__ == "__main__":
    main()

"""Code that takes a wave for 32 lanes: what is noted, what mends it, and correct code of which nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.inspection.notes import SourceNote
from hipscope.analysis.inspection.wave_size import wave_size_notes
from hipscope.analysis.semantics.meaning import Meaning, Units
from hipscope.analysis.semantics.records import SourceCommand
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import find_library

# Each kernel of the file: its body, and the fragments of the messages that it gets, in the order of its lines.
WRONG: dict[str, tuple[str, tuple[str, ...]]] = {
    "narrow": ("unsigned m = __activemask();\n out[0] = __popc(m);", ("`m` has 32 bits",)),
    "assigned": ("int m = 0;\n m = __ballot(in[0]);\n out[0] = m;", ("`m` has 32 bits",)),
    "passed": ("out[0] = bits(__ballot(in[0]));", ("`unsigned int` has 32 bits",)),
    "count": ("const auto b = __ballot(in[0]);\n out[0] = __popc(b);", ("`__popc` takes 32 bits",)),
    "shift": (
        "const int lane = threadIdx.x & 63;\n out[0] = __popcll(__ballot(in[0]) & ((1 << lane) - 1));",
        ("shifts 32 bits by the number of a lane",),
    ),
    "mask": ("out[0] = __shfl_sync(0xffffffffull, in[0], 3);", ("names 32 lanes",)),
    "votes": ("out[0] = __any_sync(0xffffffffull, in[0]);", ("votes of lanes 32 to 63 do not count",)),
    "tree": (
        (
            "int v = in[threadIdx.x];\n for (int o = 16; o > 0; o >>= 1) v += __shfl_down(v, o);\n"
            " if (threadIdx.x % warpSize == 0) out[threadIdx.x / warpSize] = v;"
        ),
        ("the other half of each wave is left out",),
    ),
    "groups": (
        (
            "const int lane = threadIdx.x % 32;\n int n = __popcll(__ballot(in[threadIdx.x]));\n"
            " n = __shfl(n, 0);\n out[lane] = n;"
        ),
        ("sees the votes of both groups", "the second group of 32 gets the value of the first"),
    ),
}
RIGHT = {
    "halves": (
        "const auto b = __ballot(in[threadIdx.x]);\n const unsigned mine = (unsigned)(b >> (threadIdx.x & 32));\n"
        " const int lane = threadIdx.x % 32;\n out[lane] = __popc(mine & ((1u << lane) - 1)) + __shfl(in[1], 0, 32);"
    ),
    "whole": (
        "const int lane = threadIdx.x % warpSize;\n const unsigned long long b = __ballot(in[threadIdx.x]);\n"
        " out[lane] = __popcll(b & ((1ull << lane) - 1)) + __shfl_sync(~0ull, in[1], 0);"
    ),
    "asked": "if (warpSize == 32) {\n unsigned m = __ballot(in[0]);\n out[0] = __popc(m);\n }",
    "any": "if (__ballot(in[0])) out[0] = 1;\n const bool b = __ballot(in[1]);\n out[1] = b;",
    "pairs": "int v = in[threadIdx.x];\n for (int o = 16; o; o /= 2) v += __shfl_xor(v, o);\n"
    " if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v;",
    "guarded": "const int lane = threadIdx.x % 32;\n if (threadIdx.x < 32) out[lane] = __shfl(in[lane], 0);",
    "shift_of_32": "const int lane = threadIdx.x & 31;\n out[0] = 1 << lane;",
}
PROGRAM = "\n".join(
    [
        "#include <hip/hip_runtime.h>",
        "__device__ int bits(unsigned m) { return m & 1; }",
        *(
            f"__global__ void {name}(const int* in, int* out) {{\n {body}\n}}"
            for name, (body, _) in WRONG.items()
        ),
        *(f"__global__ void {name}(const int* in, int* out) {{\n {body}\n}}" for name, body in RIGHT.items()),
        "__global__ void small(const int* in, int* out) {\n unsigned m = __ballot(in[0]);\n out[0] = m;\n}",
        "int main() {",
        *(f"  {name}<<<1, 256>>>(nullptr, nullptr);" for name in (*WRONG, *RIGHT)),
        "  small<<<1, 32>>>(nullptr, nullptr);",
        "}\n",
    ]
)


def read(file: Path, text: str) -> tuple[Meaning, SourceTexts]:
    toolchain = find_toolchain(Config())
    texts = SourceTexts({file: text.encode()})
    command = SourceCommand(file, file.parent, (*toolchain.hip_flags, "-std=c++17"), (file.parent,))
    return Units(find_library(toolchain.clang)).meaning(texts, command), texts


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> list[SourceNote]:
    meaning, texts = read(tmp_path_factory.mktemp("wave") / "waves.hip", PROGRAM)
    assert not meaning.errors
    return wave_size_notes(meaning, texts)


@pytest.mark.parametrize("kernel", WRONG)
def test_32_lanes_are_noted_where_a_wave_has_64(notes: list[SourceNote], kernel: str) -> None:
    found = [note for note in notes if note.kernel == kernel]
    parts = WRONG[kernel][1]
    assert len(found) == len(parts), found
    for note, part in zip(found, parts, strict=True):
        assert part in note.message


def test_nothing_is_said_of_code_that_is_right_or_of_workgroups_of_32(notes: list[SourceNote]) -> None:
    assert [note for note in notes if note.kernel not in WRONG] == []


def test_what_mends_a_note_leaves_none(notes: list[SourceNote], tmp_path: Path) -> None:
    data = PROGRAM.encode()
    fixed = [note for note in notes if note.fix is not None]
    assert {note.kernel for note in fixed} == set(WRONG) - {"assigned", "passed"}
    changes = sorted((c.start, c.end, c.text) for note in fixed if note.fix for c in note.fix.changes)
    for start, end, text in reversed(changes):
        data = data[:start] + text.encode() + data[end:]
    meaning, texts = read(tmp_path / "waves.hip", data.decode())
    assert not meaning.errors
    assert {note.kernel for note in wave_size_notes(meaning, texts)} == {"assigned", "passed"}

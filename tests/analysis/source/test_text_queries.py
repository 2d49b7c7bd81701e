"""Expressions, declarations and branches at a line of a source, in bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.source.text_queries import (
    branch_around,
    code_line,
    column_range,
    constant_value,
    function_text,
    shared_array_at,
    subscripts_at,
)
from hipscope.analysis.source.texts import ByteColumn, SourceTexts

SOURCE = """constexpr int kTile = 32;
__global__ void k(float* out, float* in, int n) {
  __shared__ float tile[kTile][kTile + 1];
  if (n) out[n * 2] = in[n] + tile[threadIdx.x][n];  // a[b] = c
  f(n)[2]->x = 1;
}
void host() { k<<<1, 64>>>(a, b, 3); }
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "k.hip"
    path.write_text(SOURCE)
    return str(path)


@pytest.mark.parametrize(
    ("line", "column", "text"),
    [
        (4, 10, "out[n * 2]"),
        (4, 21, "out[n * 2] = in[n] + tile[threadIdx.x][n]"),
        (4, 31, "tile[threadIdx.x][n]"),
        (5, 3, "f(n)[2]->x"),
        (5, 0, "f(n)[2]->x = 1;"),
    ],
)
def test_a_column_becomes_an_expression(line: int, column: int, text: str, source: str) -> None:
    start, end = column_range(SourceTexts(), source, line, ByteColumn(column))
    assert SOURCE.splitlines()[line - 1][start - 1 : end - 1] == text


def test_without_the_text_columns_are_unknown() -> None:
    assert column_range(SourceTexts(), "/nowhere/k.hip", 4, ByteColumn(10)) == (0, 0)


def test_declarations_and_subscripts_are_found(source: str) -> None:
    array = shared_array_at(SourceTexts(), source, 4)
    assert array is not None
    assert (array.name, array.dimensions, array.span.line) == ("tile", ("kTile", "kTile + 1"), 3)
    assert [constant_value(SourceTexts(), source, d) for d in array.dimensions] == [32, 33]
    assert subscripts_at(SourceTexts(), source, 4, "tile") == ("threadIdx.x", "n")


@pytest.mark.parametrize(
    ("declared", "size", "value"),
    [
        ("constexpr int R = 1 << 4;", "R", 16),
        ("#define BX 16\n#define BY (BX * 2)", "BY + 1", 33),
        ("const int N = 0x40u;", "N / 2 - 1", 31),
        ("constexpr int R = 1 << BITS;", "R", None),
        ("#define T 8\n#undef T\n#define T 16", "T", None),
        ("#define LOOP LOOP + 1", "LOOP", None),
        ("const int HALF = threads() / 2;", "HALF", None),
        ("constexpr float H = 0.5f;", "H", None),
    ],
)
def test_a_size_is_a_number_where_all_of_its_constants_are(
    declared: str, size: str, value: int | None
) -> None:
    texts = SourceTexts({Path("/k.hip"): declared.encode()})
    assert constant_value(texts, "/k.hip", size) == value


def test_of_arrays_with_one_name_the_last_before_the_use_counts() -> None:
    text = """__global__ void a() {
  __shared__ int tile[8][8];
  tile[0][1] = 1;
}
__global__ void b() {
  __shared__ float x[4], tile[16][17];
  tile[0][1] = 1;
}
"""
    texts = SourceTexts({Path("/k.hip"): text.encode()})
    found = [shared_array_at(texts, "/k.hip", line) for line in (3, 7)]
    assert [(array.dimensions, array.span.line) for array in found if array is not None] == [
        (("8", "8"), 2),
        (("16", "17"), 6),
    ]


def at(text: str, line: int, part: str) -> tuple[SourceTexts, str, int, ByteColumn]:
    """A file that holds this text, and where a part of one of its lines begins, as a compiler counts."""
    texts = SourceTexts({Path("/k.hip"): text.encode()})
    return texts, "/k.hip", line, ByteColumn(texts.lines("/k.hip")[line - 1].index(part.encode()) + 1)


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("/* größe */ out[i] = in[i * ld];", "in[", "in[i * ld]"),
        ("/* größe */ out[i] = in[i * ld];", "= in", "out[i] = in[i * ld]"),
        ("/* größe */ out[i] = in[i * ld];  // größe", "out", "out[i]"),
        ('s("日本語", "/*"); größe[i] = x; // "', "größe", "größe[i]"),
        ("a /* [ */ [i] = b;", "a ", "a"),
    ],
)
def test_columns_are_bytes_whatever_stands_before_them(text: str, part: str, expected: str) -> None:
    texts, file, line, column = at(text, 1, part)
    start, end = column_range(texts, file, line, column)
    assert text.encode()[start - 1 : end - 1].decode() == expected


def test_what_stands_in_a_comment_is_no_code() -> None:
    texts = SourceTexts(
        {
            Path(
                "/k.hip"
            ): b"/* __shared__ float old[8];\n   tile[i] */ __shared__ float tile[16]; // a[1]\ntile[j];\n"
        }
    )
    array = shared_array_at(texts, "/k.hip", 3)
    assert array is not None
    assert (array.name, array.span.line, array.dimensions) == ("tile", 2, ("16",))
    assert code_line(texts, "/k.hip", 2).strip() == b"__shared__ float tile[16];"
    assert shared_array_at(texts, "/k.hip", 1) is None


def test_a_branch_is_found_behind_letters_of_several_bytes() -> None:
    text = "__global__ void k(float* a, int n) {\n  /* größe */ if (n > 3)\n    a[n] = 1;\n}\n"
    texts, file, line, column = at(text, 2, "(n > 3)")
    assert branch_around(texts, file, 3) == (line, column + 1)


def test_the_function_around_a_line_is_without_its_comments() -> None:
    text = "__global__ void k(float* a) {  // double\n  /* double\n */ a[0] = 1;\n}\ndouble other;\n"
    texts = SourceTexts({Path("/k.hip"): text.encode()})
    found = function_text(texts, "/k.hip", 3)
    assert "a[0] = 1;" in found
    assert "double" not in found

"""Positions and moved lines: what the compiler counts against what the editor counts."""

from __future__ import annotations

from lsprotocol import types as lsp

from hipscope.analysis.source.texts import ByteColumn
from hipscope.server.edit.positions import byte_range, code_range, column_units, name_range, span_range

UTF16, UTF8 = lsp.PositionEncodingKind.Utf16, lsp.PositionEncodingKind.Utf8


def test_a_byte_column_after_an_emoji_counts_two_units_for_it() -> None:
    line = "/* 🚀é */ x = 1;"
    column = ByteColumn(len("/* 🚀é */ ".encode()) + 1)
    assert column_units(line, column, UTF16) == len("/* 🚀é */ ") + 1
    assert column_units(line, column, UTF8) == column - 1


def test_the_code_of_a_line_has_no_indentation_and_no_comment() -> None:
    span = code_range("  x = 1;  // why", 4, UTF16)
    assert (span.start.character, span.end.character, span.end.line) == (2, 8, 4)


def test_a_line_that_is_only_a_comment_is_marked_whole() -> None:
    span = code_range("  // note", 0, UTF16)
    assert (span.start.character, span.end.character) == (2, 9)


def test_a_finding_with_columns_marks_the_expression_only() -> None:
    span = span_range(["  y = tile[x][0];"], 0, 0, ByteColumn(7), ByteColumn(17), UTF16)
    assert (span.start.character, span.end.character) == (6, 16)


def test_an_empty_span_falls_back_to_the_line() -> None:
    span = span_range(["  y = 1;"], 0, 0, ByteColumn(3), ByteColumn(3), UTF16)
    assert (span.start.character, span.end.character) == (2, 8)


def test_an_edit_in_bytes_lands_after_wide_characters_and_carriage_returns() -> None:
    text = "é🚀\r\nab🚀cd\r\n"
    start = text.encode().index(b"cd")
    span = byte_range(text, start, start + 2, UTF16)
    assert (span.start.line, span.start.character, span.end.character) == (1, 4, 6)


def test_a_kernel_name_is_found_on_the_line_after_its_template() -> None:
    lines = ["template <int N>", "__global__ void scaled(float* p)"]
    span = name_range(lines, 0, "scaled", UTF16)
    assert span is not None
    assert (span.start.line, span.start.character) == (1, 16)


def test_a_longer_word_is_not_the_name_of_a_kernel() -> None:
    span = name_range(["void scaled_up(); void descaled(); scaled(1);"], 0, "scaled", UTF16)
    assert span is not None
    assert (span.start.character, span.end.character) == (35, 41)
    assert name_range(["scaled_up", "äscaled"], 0, "scaled", UTF16) is None

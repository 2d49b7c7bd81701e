"""Positions and moved lines: what the compiler counts against what the editor counts."""

from __future__ import annotations

from lsprotocol import types as lsp

from hipscope.analysis.source.texts import ByteColumn
from hipscope.server.edit.positions import (
    LineMap,
    byte_range,
    code_range,
    column_units,
    name_range,
    span_range,
)

UTF16, UTF8 = lsp.PositionEncodingKind.Utf16, lsp.PositionEncodingKind.Utf8
OLD = "a\nb\nc\nd\n"


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


def test_lines_below_an_insertion_move_down_and_come_back_with_undo() -> None:
    moved = LineMap(OLD, "new\na\nb\nc\nd\n")
    assert [moved.to_new(n) for n in (1, 2, 3, 4)] == [2, 3, 4, 5]
    assert [LineMap(OLD, OLD).to_new(n) for n in (1, 4)] == [1, 4]


def test_a_changed_line_has_no_place_but_its_neighbours_have() -> None:
    changed = LineMap(OLD, "a\nB\nc\nd\n")
    assert [changed.to_new(n) for n in (1, 2, 3)] == [1, None, 3]
    assert changed.changed(1, 2)
    assert not changed.changed(3, 4)


def test_an_insertion_inside_a_span_changes_it_and_one_before_it_does_not() -> None:
    assert LineMap(OLD, "a\nb\nx\nc\nd\n").changed(2, 3)
    assert not LineMap(OLD, "x\na\nb\nc\nd\n").changed(2, 3)


def test_reindenting_is_no_change() -> None:
    assert not LineMap(OLD, "a\n\tb\nc\nd\n").changed(1, 4)


def test_a_file_that_was_rewritten_entirely_is_not_compared_for_minutes() -> None:
    old = "\n".join(f"old {n}" for n in range(5000))
    new = "\n".join(f"new {n}" for n in range(5000))
    assert LineMap(old, new).to_new(1) is None

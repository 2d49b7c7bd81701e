"""Positions and moved lines: what the compiler counts against what the editor counts."""

from __future__ import annotations

import difflib
import unittest.mock

from hypothesis import given
from hypothesis import strategies as st
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


def test_a_longer_word_is_not_the_name_of_a_kernel() -> None:
    span = name_range(["void scaled_up(); void descaled(); scaled(1);"], 0, "scaled", UTF16)
    assert span is not None
    assert (span.start.character, span.end.character) == (35, 41)
    assert name_range(["scaled_up", "äscaled"], 0, "scaled", UTF16) is None


def test_lines_below_an_insertion_move_down_and_come_back_with_undo() -> None:
    moved = LineMap(OLD, "new\na\nb\nc\nd\n")
    assert [moved.to_new(n) for n in (1, 2, 3, 4)] == [2, 3, 4, 5]
    assert [LineMap(OLD, OLD).to_new(n) for n in (1, 4)] == [1, 4]


def test_a_changed_line_has_no_place_but_its_neighbours_have() -> None:
    changed = LineMap(OLD, "a\nB\nc\nd\n")
    assert [changed.to_new(n) for n in (1, 2, 3)] == [1, None, 3]
    assert list(changed.changes()) == [(2, ["b"], ["B"])]


def test_an_insertion_replaces_nothing_and_reindenting_is_no_change() -> None:
    assert list(LineMap(OLD, "a\nb\nx\nc\nd\n").changes()) == [(3, [], ["x"])]
    assert list(LineMap(OLD, OLD + "x\n").changes()) == [(5, [], ["x"])]
    assert list(LineMap(OLD, "a\n\tb\nc\nd\n").changes()) == []


@given(
    st.lists(st.sampled_from("abcdefgh}"), max_size=60), st.lists(st.sampled_from("abcdefgh}"), max_size=60)
)
def test_equal_lines_are_paired_in_order_however_they_are_compared(old: list[str], new: list[str]) -> None:
    for most in (0, 100_000):
        with unittest.mock.patch("hipscope.server.edit.positions._MOST_PAIRS", most):
            lines = LineMap("\n".join(old), "\n".join(new))
        pairs = [(n, at) for n in range(1, len(old) + 1) if (at := lines.to_new(n)) is not None]
        assert all(old[a - 1] == new[b - 1] for a, b in pairs if old)
        assert pairs == sorted(pairs, key=lambda pair: pair[1])
        changed = "\n".join(old).split("\n")
        for first, gone, came in reversed(list(lines.changes())):
            assert changed[first - 1 : first - 1 + len(gone)] == gone
            changed[first - 1 : first - 1 + len(gone)] = came
        assert changed == "\n".join(new).split("\n")


def test_two_far_edits_of_a_long_file_leave_the_lines_between_in_their_places() -> None:
    old = [f"line {n}" if n % 2 else "}" for n in range(20_000)]
    new = ["new", *old[:10], "changed", *old[11:-10], "changed too", *old[-9:]]
    lines = LineMap("\n".join(old), "\n".join(new))
    assert [lines.to_new(n) for n in (1, 10, 11, 10_000, 19_990, 19_991)] == [
        2,
        11,
        None,
        10_001,
        19_991,
        None,
    ]


def test_equal_runs_between_two_far_edits_are_not_compared_line_with_line() -> None:
    old = [f"line {n}" if n % 2 else "}" for n in range(2000)]
    new = ["new", *old[:-1], "changed"]
    with unittest.mock.patch("difflib.SequenceMatcher", wraps=difflib.SequenceMatcher) as compared:
        assert LineMap("\n".join(old), "\n".join(new)).to_new(1000) == 1001
    assert compared.call_count < 10


def test_a_file_that_was_rewritten_entirely_is_not_compared_for_minutes() -> None:
    old = "\n".join(f"old {n}" for n in range(5000))
    new = "\n".join(f"new {n}" for n in range(5000))
    assert LineMap(old, new).to_new(1) is None

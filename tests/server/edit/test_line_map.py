"""Old lines in a new text, however they are compared; the command line does without the protocol's types."""

from __future__ import annotations

import difflib
import subprocess
import sys
import unittest.mock

from hypothesis import given
from hypothesis import strategies as st

from hipscope.server.edit.line_map import LineMap

OLD = "a\nb\nc\nd\n"


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
        with unittest.mock.patch("hipscope.server.edit.line_map._MOST_PAIRS", most):
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


def test_the_views_of_the_command_line_need_no_types_of_the_protocol() -> None:
    code = "import sys, hipscope.server.cli.main, hipscope.server.render.text, hipscope.server.jobs.tasks"
    code += "; print([name for name in ('lsprotocol', 'cattrs', 'pandas') if name in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert shown.stdout == "[]\n"


def test_the_version_is_said_without_the_server() -> None:
    code = "import sys; sys.argv[1:] = ['--version']\nfrom hipscope.server.cli.main import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n    print('hipscope.server.app' in sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert shown.stdout.splitlines()[1:] == ["False"]

"""The comparison of what rules propose finds an edit that changed, and none where nothing did."""

from __future__ import annotations

from pathlib import Path

from benchmarks.propose_only import SourceFile, compare, proposals_of_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_an_edit_and_a_refusal_of_an_example_are_listed_by_rule() -> None:
    path = EXAMPLES / "lds_column_read.hip"
    (answers,) = proposals_of_file(SourceFile(path, path.name)).values()
    assert any(line.startswith("+") for line in answers["pad_lds"][0].splitlines())
    assert answers["lds_histogram"][0].startswith("refused: ")


def test_a_comparison_names_the_rule_the_kernel_and_both_answers() -> None:
    before = {"a.hip: k (0)": {"unroll": ["-a\n+b"], "restrict": ["refused: no"]}}
    after = {"a.hip: k (0)": {"unroll": ["refused: it may not"], "restrict": ["refused: no"]}}
    assert list(compare(before, before)) == []
    assert list(compare(before, after)) == [
        "unroll: 1 differ", "  a.hip: k (0): 1 edits -> refused: it may not",
    ]  # fmt: skip

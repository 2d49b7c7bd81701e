"""Bench lines are found in comments, with the places of their words."""

from hipscope.analysis.benches.comments import benches_in, has_benches

SOURCE = """// hipscope: bench first grid=1
//   hipscope:   block=64
// hipscope: bench second
// an ordinary comment with hipscope: bench in it is none
const char* text = "// hipscope: bench quoted";
/* hipscope: bench third
 * grid=2
 */
    // hipscope: bench fourth
"""


def test_each_comment_that_says_bench_is_one_and_lines_below_go_on() -> None:
    found = benches_in(SOURCE, "a.hip")

    assert [" ".join(bench.text.split()) for bench in found] == [
        "first grid=1 block=64", "second", "third grid=2", "fourth",
    ]  # fmt: skip


def test_a_word_keeps_its_line_and_column() -> None:
    lines = SOURCE.splitlines()
    places = [
        (b.place(b.text.index(word)), word) for b in benches_in(SOURCE, "a.hip") for word in b.text.split()
    ]

    assert len(places) == 7
    for (line, column), word in places:
        assert lines[line - 1][column - 1 :].startswith(word)


def test_a_file_has_benches_only_if_a_comment_says_so() -> None:
    assert has_benches(SOURCE)
    assert not has_benches('const char* text = "// hipscope: bench k";\n// bench hipscope: k\n')


def test_a_run_line_right_below_a_bench_is_none_of_its_own() -> None:
    (bench,) = benches_in("// hipscope: bench k grid=4\n// hipscope: run --n=64\n", "a.hip")
    assert bench.text.strip() == "k grid=4"

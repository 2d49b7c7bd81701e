"""What a program prints, with an edit and without: what may change, and what may not."""

from __future__ import annotations

import pytest

from hipscope.formulas.judge.program_output import (
    Varied,
    lines_that_vary,
    output_difference,
    settled_by_rounding,
    with_earlier_lines,
)


def test_only_numbers_that_change_by_themselves_may_change() -> None:
    originals = ["sum 4.5 in 10.25 ms\nend\n", "sum 4.5 in  9.75 ms\nend\n"]
    varied = lines_that_vary(originals, "sum 4.5 in 7.5 ms\nend\n", [])
    assert varied == Varied(("sum 4.5 in 10.25 ms",))
    assert lines_that_vary(originals, originals[0], []) == Varied(())
    result = lines_that_vary(originals, "sum 4.6 in 7.5 ms\nend\n", [])
    assert result is not None
    assert result.changed == ("sum 4.5 in 10.25 ms", "sum 4.6 in 7.5 ms")
    for other in (
        "sum 4.5 in 7.5 s\nend\n",
        "sum 4.5 in nan ms\nend\n",
        "sum 4.5 in 7.5 ms\n",
        "sum 4.5 in 7.5 ms\nend\nmore\n",
        "sum 4.5 in 7.5 ms 3\nend\n",
    ):
        assert lines_that_vary(originals, other, []) is None
    same = lines_that_vary(["a 1\n", "a 1\n"], "a 2\n", [])
    assert same is not None
    assert same.changed == ("a 1", "a 2")
    assert lines_that_vary(["a 1\nb 1\n", "a 2\nb 2\n"], "a 3\nb 1\n", ["^b"]) == Varied(("a 1",))


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("Total kernel execution time {} (s)", True),
        ("Average kernel time: {} ms", True),
        ("took {} s", True),
        ("kernel time 0.2 ms, energy {}", False),
        ("energy {} after 0.2 ms", False),
        ("sometimes {}", False),
        ("items: {}", False),
        ("sum {}", False),
    ],
)
def test_what_a_line_calls_a_time_may_be_many_times_as_long(line: str, *, fits: bool) -> None:
    """As HeCBench's lebesgue prints it: 0.0011 s in three runs, 0.0132 s where the launches are timed by the model."""
    varied = lines_that_vary([line.format(n) for n in ("0.001124", "0.001108")], line.format("0.013204"), [])
    assert varied is not None
    assert (varied.beyond is None) is fits
    far = lines_that_vary([line.format(n) for n in ("0.001124", "0.001108")], line.format("9.5"), [])
    assert far is not None
    assert far.beyond is not None


@pytest.mark.parametrize(
    ("line", "was", "now", "fits"),
    [
        ("latency: 10 us | bandwidth (approx): {} GB/s", "0.1", "0.0", True),
        ("Bandwidth (GB/s): {}", "0.1", "0.2", True),
        ("{} GFLOPS", "0.02", "0.07", True),
        ("{} Mops/sec", "3", "5", True),
        ("{} GB/s", "0.1", "99.9", False),
        ("{} GB/s", "0.1", "-0.1", False),
        ("{} GB/s", "123.456", "121.2", False),  # digits enough to differ from run to run: it did not
        ("wind {} m/s", "0.1", "0.0", False),
        ("{} GB in use", "0.1", "0.0", False),
        ("GB/s: 3.1, sum {}", "0.1", "0.0", False),
    ],
)
def test_a_rate_that_is_printed_with_few_digits_may_change_though_all_runs_print_the_same(
    line: str, was: str, now: str, *, fits: bool
) -> None:
    """As HeCBench's bgmv prints it: 0.1 GB/s in all runs of the original, and 0.0 where the host was slower."""
    varied = lines_that_vary([line.format(was)] * 2, line.format(now), [])
    assert varied is not None
    assert varied.explained is fits


@pytest.mark.parametrize(
    ("originals", "after", "faster", "fits"),
    [
        (["10.25", "14.04"], "0.02", 1, True),  # a time, of a kernel that is faster
        (["10.25", "14.04"], "0", 1, True),
        (["10.25", "14.04"], "1e30", 1, False),
        (["10.25", "14.04"], "1e999", 1, False),
        (["10.25", "14.04"], "-3.5", 1, False),
        (["100", "73"], "9000", 1, False),
        (["100", "73"], "9000", 100, True),  # a rate, of a kernel that is a hundred times as fast
        (["4096.0012", "4096.0007"], "4096.0031", 1, True),  # a sum in another order
        (["4096.0012", "4096.0007"], "3967.5", 1, False),
        (["3e-7", "-2e-7"], "-4e-7", 1, True),  # an error
        (["3e-7", "-2e-7"], "0.5", 1, False),
        (["1764000001", "1764000004"], "1764000003", 1, True),  # the time of day
    ],
)
def test_a_number_that_changes_by_itself_keeps_its_size(
    originals: list[str], after: str, faster: float, *, fits: bool
) -> None:
    lines = [f"value {n}" for n in originals]
    varied = lines_that_vary(lines, f"value {after}", [], faster)
    assert varied is not None
    assert varied.lines == (lines[0],)
    assert (varied.beyond is None) is fits
    if not fits:
        assert varied.beyond == (
            f"`value {after}`: {after}, where 2 runs of the original print {', '.join(originals)}"
        )


@pytest.mark.parametrize(
    ("before", "after", "right"),
    [
        ("energy 3.49793494e-06", "energy 3.49793485e-06", True),
        ("energy 3.49793494e-06", "energy 3.49803494e-06", False),
        ("steps 100000000", "steps 100000001", False),  # an integer is no rounded number
        ("rest 1.5e-9", "rest -1.5e-9", False),
        ("sum 2.5", "sum nan", False),
        ("sum 2.5 of 4", "sum 2.50001 of 5", False),
    ],
)
def test_what_is_printed_may_be_rounded_otherwise(before: str, after: str, *, right: bool) -> None:
    exact = lines_that_vary([before], after, [])
    rounded = lines_that_vary([before], after, [], rounding=1e-5)
    assert exact is None or exact.changed == (before, after)
    if right:
        assert rounded == Varied((), rounded=(before,))
    else:
        assert rounded is None or rounded.changed == (before, after)


@pytest.mark.parametrize(
    ("before", "after", "right"),
    [
        ("Root-mean-square error: 2.476055e-05", "Root-mean-square error: 2.476456e-05", True),
        ("RMSE = 0.000133", "RMSE = 0.000134", True),
        ("L1 norm: 1.640273E-04", "L1 norm: 1.638317E-04", True),
        ("L2 norm: 1.640273E+04", "L2 norm: 1.638317E+04", False),  # of a result
        ("max diff 1.5e-7", "max diff 1.6e-7", False),
        ("L2 error 1e-10", "L2 error 1e-3", False),
        ("error 3", "error 4", False),
        ("mirrored 2.476055e-05", "mirrored 2.476456e-05", False),  # no error, the word only holds one
    ],
)
def test_a_printed_error_may_change_more_where_results_are_rounded_otherwise(
    before: str, after: str, *, right: bool
) -> None:
    time = ("took 5.5 ms", "took 2.5 ms", "took 4.5 ms")
    first, other, now = (f"{t}\n{e}" for t, e in zip(time, (before, before, after), strict=True))
    exact = lines_that_vary([first, other], now, [])
    rounded = lines_that_vary([first, other], now, [], rounding=1e-5)
    assert exact is not None
    assert exact.changed == (before, after)
    assert rounded is not None
    if right:
        assert rounded == Varied((time[0],), errors=(before,))
    else:
        assert rounded.changed == (before, after)


def test_output_is_compared_line_by_line() -> None:
    assert output_difference("a\nb\n", "a\nb\n", []) is None
    order = output_difference("burning\nafter 2 s\nend\n", "after 1 s\nburning\nend\n", [])
    assert "in another order: `after 1 s` where `burning` was" in str(order)
    assert "`c` instead of `b`" in str(output_difference("a\nb\n", "a\nc\n", []))
    assert "`extra` instead of ``" in str(output_difference("a\n", "a\nextra\n", []))
    assert output_difference("a 1 ms\nb\n", "a 2 ms\nb\n", ["^a .* ms$"]) is None


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        ("[INFO]: main.cu:6: begins", "[INFO]: main.cu:4: begins"),
        ("line 6 of src/main.cu, 6.5 ms", "line 4 of src/main.cu, 6.5 ms"),
        ("main.cu(6): pass", "main.cu(4): pass"),
        ("main.cu:2: in what was rewritten", "main.cu:2: in what was rewritten"),
        ("other.cu:6: begins", "other.cu:6: begins"),
        (
            "main.cu prints 6 as before",
            "main.cu prints 6 as before",
        ),  # which it printed without the rewrite, too
        ("main.cu: 6x faster, v6, 0.6, 1.6e6", "main.cu: 6x faster, v6, 0.6, 1.6e6"),
    ],
)
def test_a_program_that_prints_numbers_of_its_own_lines_prints_the_same_behind_a_longer_kernel(
    now: str, shown: str
) -> None:
    before, after = b"kernel\nloop\nend\nlog\n", b"kernel\n#pragma\nloop\nstep\nend\nlog\n"
    assert with_earlier_lines(now, "main.cu", before, after, ["main.cu prints 6 as before"]) == shown


@pytest.mark.parametrize(
    ("line", "seen", "now", "fits"),
    [
        ("Cleaning rate  {} (iterations per second)", ["inf", "inf"], "666.667", True),  # hogbom (HeCBench)
        ("Cleaning rate  {} (iterations per second)", ["inf", "57.1429"], "666.667", True),
        ("Cleaning rate  {} (iterations per second)", ["57.1429", "61.5"], "inf", False),
        ("{} GB/s", ["inf", "inf"], "3.2", True),
        ("result {}", ["inf", "inf"], "666.667", False),
        ("result {}", ["2.5", "2.5"], "inf", False),
        ("rate nan{} (iterations per second)", ["", ""], "1", False),
    ],
)
def test_a_rate_without_end_is_that_of_a_clock_that_had_not_moved(
    line: str, seen: list[str], now: str, *, fits: bool
) -> None:
    varied = lines_that_vary([line.format(n) for n in seen], line.format(now), [])
    assert (varied is not None and varied.explained) is fits


@pytest.mark.parametrize(
    ("line", "otherwise", "now", "fits"),
    [
        ("RMSE = {}", ["0.000034", "0.000133"], "0.000111", True),  # the host adds up one after the other
        ("RMSE = {}", ["0.000034", "0.000133"], "0.001037", False),
        ("RMSE = {}", ["0.000034", "987.28"], "0.000111", False),  # that says nothing
        ("RMSE = {}", ["0.000034", "0.000400"], "0.001900", False),  # that would be an error
        ("energy {} J", ["12.501", "12.498"], "12.505", True),
        ("energy {} J", ["13.5", "12.5"], "14.5", False),
        ("energy {} J", ["12.501", "12.498"], "12.52", False),
        ("energy {} J", ["12.501", "18.2"], "12.505", False),
        ("energy {} J", ["12.5", "12.5"], "12.6", False),
        ("energy {} J", ["12.5", "nan"], "12.6", False),
    ],
)
def test_a_number_may_change_by_what_other_roundings_change(
    line: str, otherwise: list[str], now: str, fits: bool
) -> None:
    was = line.format("0.000037" if "RMSE" in line else "12.5") + "\n3 steps\n"
    others = [line.format(number) + "\n3 steps\n" for number in otherwise]
    after = line.format(now) + "\n3 steps\n"
    settled, lines = settled_by_rounding(was, others, after, [])
    assert settled == (was if fits else after)
    assert lines == ((was.splitlines()[0],) if fits else ())


def test_counts_and_words_may_not_change_by_rounding() -> None:
    was, others = "3 steps, 0.5\n", ["4 steps, 0.6\n"]
    assert settled_by_rounding(was, others, "4 steps, 0.6\n", [])[1] == ()
    assert settled_by_rounding("0.5 PASS\n", ["0.51 PASS\n"], "0.51 FAIL\n", [])[1] == ()
    assert settled_by_rounding("0.5\n", ["0.51\n"], "0.51\n", ["^0"])[1] == ()
    assert settled_by_rounding("0.5\n", ["0.51\n"], "0.51\nmore\n", [])[1] == ()

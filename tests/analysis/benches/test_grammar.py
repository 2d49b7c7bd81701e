"""Bench lines: what they say, and one line with a column for what is wrong."""

import contextlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipscope.analysis.benches.expressions import FUNCTIONS
from hipscope.analysis.benches.grammar import (
    FILLS,
    NEEDED,
    BenchError,
    BenchLine,
    BenchPiece,
    BenchText,
    BufferValue,
    CodeValue,
    NumbersValue,
    SameValue,
    parse_bench,
)

KNOWN = {"rows": 4096, "cols": 1024, "n": 1000}


def text(line: str) -> BenchText:
    return BenchText("a.hip", (BenchPiece(line, 7, 20),))


def parsed(line: str) -> BenchLine:
    return parse_bench(text(line))


def test_a_line_names_a_kernel_with_its_arguments_and_settings_in_any_order() -> None:
    bench = parsed(
        "ns::softmax<float, Op<2>> grid=rows x=f32[rows,cols]:normal block=16,16 alpha=0.5 rows=1024|4096"
    )

    assert (bench.kernel, bench.base_name) == ("ns::softmax<float, Op<2>>", "softmax")
    assert bench.name == "ns::softmax<float,Op<2>>"
    values = {s.name: s.value for s in bench.settings}
    buffer = values["x"]
    assert isinstance(buffer, BufferValue)
    assert (buffer.type, [d.value(KNOWN) for d in buffer.dims], buffer.fill.name) == (
        "f32",
        [4096, 1024],
        "normal",
    )
    block, rows = values["block"], values["rows"]
    assert isinstance(block, NumbersValue)
    assert isinstance(rows, NumbersValue)
    assert ([len(step) for step in block.steps], len(rows.steps)) == ([2], 2)


def test_blanks_stand_inside_of_brackets_and_quotation_marks() -> None:
    bench = parsed(
        'k grid=ceil(n / 256) op={1, f(2)} x=[n, 2]:uniform(-1, 1) name="two words" y=&x z=null .grid=3'
    )

    values = {(s.name, s.parameter): s.value for s in bench.settings}
    assert values["op", False] == CodeValue("{1, f(2)}")
    assert values["y", False] == SameValue("x")
    assert values["z", False] == SameValue(None)
    assert ("grid", True) in values
    assert bench.name == "two words"


@pytest.mark.parametrize(
    ("line", "at", "said"),
    [
        ("", 0, "the name of a kernel is missing"),
        ("grid=3", 0, "the name of a kernel is missing"),
        ("k x=[n", 4, "`[` is not closed"),
        ("k<float grid=3", 1, "`<` is not closed"),
        ("k grid=ceil(n/)", 14, "unexpected `)`"),
        ("k grid=", 7, "`grid` has no value"),
        ("k grid=3 grid=4", 9, "`grid` is given twice"),
        ("k grid=3 and", 9, "`and` is not `name=value`"),
        ("k x=[3]:gaussian", 8, "`gaussian` is nothing that a buffer can hold"),
        ("k x=[3]:index", 8, "`index` takes 1 arguments, not 0"),
        ("k x=[3]normal", 7, "expected `:`"),
        ("k n=3$", 5, "unexpected `$`"),
        ("k n=round(3)", 4, "there is no function `round`"),
        ("k n=max(3)", 4, "`max` takes 2 arguments, not 1"),
        ("k y=&3", 5, "the name of another parameter is missing"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_with_its_column(line: str, at: int, said: str) -> None:
    with pytest.raises(BenchError) as caught:
        parsed(line)

    assert caught.value.message.startswith(f"a.hip:7:{20 + at}: bench: {said}")
    assert "\n" not in caught.value.message


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True).filter(lambda name: name not in FUNCTIONS)
NUMBERS = st.integers(0, 10**6).map(str) | st.sampled_from(["0.5", "1e-3", "0x10", "n", "rows"])


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.tuples(inner, st.sampled_from("+-*/%"), inner)
    return (
        operators.map(lambda parts: f"({''.join(parts)})")
        | inner.map(lambda operand: f"ceil({operand})")
        | st.tuples(inner, inner).map(lambda pair: f"min({pair[0]},{pair[1]})")
        | inner.map(lambda operand: f"-{operand}")
    )


EXPRESSIONS = st.recursive(NUMBERS, _combined, max_leaves=6)
LISTS = st.lists(EXPRESSIONS, min_size=1, max_size=3).map(",".join)


@st.composite
def values(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["numbers", "buffer", "code", "same"]))
    if kind == "numbers":
        return "|".join(draw(st.lists(LISTS, min_size=1, max_size=3)))
    if kind == "code":
        return "{" + draw(LISTS) + "}"
    if kind == "same":
        return draw(st.just("null") | NAMES.map(lambda name: f"&{name}"))
    fill = draw(st.sampled_from(sorted(FILLS)))
    count = draw(st.integers(NEEDED.get(fill, 0), FILLS[fill]))
    listed = draw(st.lists(EXPRESSIONS, min_size=count, max_size=count))
    given = f"({','.join(listed)})" if listed else ""
    return f"{draw(st.sampled_from(['', 'f32', 'i32x2', 'ns::P<int>']))}[{draw(LISTS)}]:{fill}{given}"


@given(
    st.sampled_from(["k", "a::b::k", "k<float>", "k<P<int>, 3>", "a::C<float, D<2>>::k<64>"]),
    st.dictionaries(NAMES.filter(lambda name: name not in ("name", "include")), values(), max_size=5),
)
def test_every_line_of_the_grammar_is_read_with_all_of_its_settings(
    kernel: str, settings: dict[str, str]
) -> None:
    line = " ".join([kernel, *(f"{name}={value}" for name, value in settings.items())])

    bench = parsed(line)

    assert bench.kernel == kernel
    assert [s.name for s in bench.settings] == list(settings)
    for setting, written in zip(bench.settings, settings.values(), strict=True):
        assert line[setting.value_at :].startswith(written)


@given(st.text(string.ascii_letters[:6] + string.digits[:3] + " =[](){}<>,|:&.@*/-+\"'$\n", max_size=60))
def test_any_text_is_a_bench_or_one_error_inside_of_it(line: str) -> None:
    with contextlib.suppress(BenchError):
        parsed(line)
        return
    with pytest.raises(BenchError) as caught:
        parsed(line)
    assert 20 <= caught.value.column <= 20 + len(line)

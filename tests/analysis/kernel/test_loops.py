"""How loops of many forms count. Nine readers of loop heads disagreed on 24 of the first 36 of these."""

from __future__ import annotations

import pytest
from tree_sitter import Node

from hipscope.analysis.kernel.loops import CountedLoop, counted_loop, head_values, stepped_names
from hipscope.analysis.source.nodes import LOOPS, condition_of, text_of, walk
from hipscope.analysis.source.parse import parse

HEAD = "does not go by a step"


def read(loop: str) -> CountedLoop | str:
    body = "" if loop.endswith("}") or loop.startswith("do ") else " { out[n] = 1; }"
    source = f"""__device__ void bump(int& x) {{ x += 2; }}
#define NEXT(x) (x += 2)
__global__ void k(int* out, int n) {{ int j = threadIdx.x; {loop}{body} }}"""
    (kernel,) = parse(source.encode()).kernels
    return counted_loop(next(n for n in walk(kernel.body_node) if n.type in LOOPS))


@pytest.mark.parametrize(
    ("loop", "counts", "trips"),
    [
        ("for (int i = 0; i < 8; ++i)", "int i = 0; < 8; + 1", 8),
        ("for (int i = 0; i < 8; i++)", "int i = 0; < 8; + 1", 8),
        ("for (int i = 0; i <= 8; i += 2)", "int i = 0; <= 8; + 2", 5),
        ("for (int i = 0; 8 > i; ++i)", "int i = 0; < 8; + 1", 8),
        ("for (int i = 0; (i < 8); ++i)", "int i = 0; < 8; + 1", 8),
        ("for (int i = 0; i != 8; i += 2)", "int i = 0; != 8; + 2", 4),
        ("for (int i = 0; i != 8; i += 3)", "int i = 0; != 8; + 3", None),  # never 8
        ("for (int i{0}; i < 8; ++i)", "int i = 0; < 8; + 1", 8),
        ("for (int i(0); i < 8; ++i)", "int i = 0; < 8; + 1", 8),
        ("for (int i = 8; i > 0; --i)", "int i = 8; > 0; - 1", 8),
        ("for (int i = 7; i >= 0; i -= 1)", "int i = 7; >= 0; - 1", 8),
        ("for (unsigned i = 7; i >= 0; --i)", "unsigned i = 7; >= 0; - 1", None),  # no end
        ("for (unsigned i = 0u; i < 0x10; i = i + 2u)", "unsigned i = 0u; < 0x10; + 2u", 8),
        ("for (unsigned i = 0; i < 8; i = 2 + i)", "unsigned i = 0; < 8; + 2", 4),
        ("for (unsigned char i = 0; i < 300; ++i)", "unsigned char i = 0; < 300; + 1", None),  # wraps at 256
        ("for (int i = -3; i < 4; i += 3)", "int i = -3; < 4; + 3", 3),
        ("for (int i = 9; i < 8; ++i)", "int i = 9; < 8; + 1", 0),
        ("for (j = 0; j < n; ++j)", "j = 0; < n; + 1", None),
        ("for (; j < n; j += 4)", "j = ?; < n; + 4", None),
        ("for (int i = 1; i < 64; i *= 2)", "int i = 1; < 64; * 2", 6),
        ("for (int i = 1; i < 64; i <<= 1)", "int i = 1; < 64; << 1", 6),
        ("for (int i = 1; i < 64; i += i)", "int i = 1; < 64; << 1", 6),
        ("for (int i = 64; i > 0; i >>= 1)", "int i = 64; > 0; >> 1", 7),
        ("for (int i = 64; i; i = i / 2)", "int i = 64; != 0; / 2", 7),
        ("for (std::size_t i = 0; i < 8; ++i)", "std::size_t i = 0; < 8; + 1", 8),
        ("for (int i = 010; i < 16; ++i)", "int i = 010; < 16; + 1", None),  # octal is not read
        ("for (float x = 0; x < 8; x += 1)", "float x = 0; < 8; + 1", None),
        ("while (j < n) { out[j] = 1; j += 2; }", "j = ?; < n; + 2", None),
        ("while (j) { out[j] = 1; j >>= 1; }", "j = ?; != 0; >> 1", None),
    ],
)
def test_what_a_loop_counts(loop: str, counts: str, trips: int | None) -> None:
    found = read(loop)
    assert isinstance(found, CountedLoop), found
    first = "?" if found.first is None else text_of(found.first)
    bound = "0" if found.bound is None else text_of(found.bound)
    amount = "1" if found.amount is None else text_of(found.amount)
    head = f"{found.type} {found.variable} = {first}; {found.comparison} {bound}; {found.operator} {amount}"
    assert (head.strip(), found.trips(), found.further) == (counts, trips, ())


@pytest.mark.parametrize(
    ("loop", "beside"),
    [
        ("for (int i = 0, m = n; i < m; ++i)", ["m = n"]),
        ("for (int i = 0; i < n; ++i, ++j)", ["++j"]),
        ("for (i = 0, j = 1; j < n; j += 2)", ["i = 0"]),
    ],
)
def test_what_a_head_does_beside_counting(loop: str, beside: list[str]) -> None:
    found = read(loop)
    assert isinstance(found, CountedLoop), found
    assert [text_of(part) for part in found.further] == beside


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("for (int i = 0; i < n && out[i]; ++i)", HEAD),
        ("for (int i = 0; i++ < n;)", HEAD),
        ("for (volatile int i = 0; i < n; ++i)", HEAD),
        ("for (int i = 0; i + 1 < n; ++i)", HEAD),
        ("for (int i = 0; i < n; i = n - i)", HEAD),
        ("for (int i = 0; i < n; NEXT(i))", HEAD),
        ("for (;;)", HEAD),
        ("for (int i = 0; i < n - i; ++i)", "has a bound or a step that `i` is part of"),
        ("for (int i = 1; i < n; i += i & -i)", "has a bound or a step that `i` is part of"),
        ("for (int i = 0; i < n; --i)", "goes away from its bound"),
        ("for (int i = 0; i < 8; ++i, i++)", "may change `i` in a step"),
        ("for (int i = 0; i < 8; ++i) { i += 1; }", "may change `i` in a step"),
        ("for (int i = 0; i < 8; ++i) { int& r = i; r = 7; }", "may change `i` in a step"),
        ("for (int i = 0; i < 8; ++i) { bump(i); }", "may change `i` in a step"),
        ("for (int i = 0; i < 8; ++i) { NEXT(i); }", "may change `i` in a step"),
        ("for (int i = 0; i < 8; ++i) { *&i = 3; }", "may change `i` in a step"),
        ("while (j < n) { if (out[j]) continue; ++j; }", "can begin its next step in the middle"),
        ("do { ++j; } while (j < n);", "is no `for` loop"),
    ],
)
def test_a_loop_that_does_not_only_count_is_none(loop: str, reason: str) -> None:
    found = read(loop)
    assert isinstance(found, str)
    assert reason in found


def heads(loop: str) -> Node:
    source = f"""__device__ void bump(int& x) {{ x += 2; }}
__global__ void k(int* p, int n) {{ int j, m; {loop} p[j] = m; }}"""
    (kernel,) = parse(source.encode()).kernels
    return next(n for n in walk(kernel.body_node) if n.type in LOOPS)


@pytest.mark.parametrize(
    ("loop", "values"),
    [
        ("for (int i = 0, e = n; i < e; ++i)", {"i": ("int", "0"), "e": ("int", "n")}),
        ("for (j = 1, m = 2; j < n; ++j)", {"j": ("", "1"), "m": ("", "2")}),
        ("for (; j < n; ++j)", {}),
        ("while (j < n)", {}),
        ("for (bump(j); j < n; ++j)", None),
        ("for (j += 1; j < n; ++j)", None),
    ],
)
def test_what_a_head_declares_or_sets(loop: str, values: dict[str, tuple[str, str]] | None) -> None:
    found = head_values(heads(loop))
    read = None if found is None else {name: (kind, text_of(value)) for name, (kind, value) in found.items()}
    assert read == values


def test_a_step_changes_what_its_head_changes_not_all_that_it_names() -> None:
    assert stepped_names(heads("for (j = 0; j < n; j += m, bump(m), p += 4)")) == {"j", "m", "p"}
    assert stepped_names(heads("for (j = 0; j < n; j += m)")) == {"j"}


@pytest.mark.parametrize(
    ("loop", "condition"),
    [
        ("for (; j < n;)", "j < n"),
        ("while (j < n)", "j < n"),
        ("while (int left = n - j)", None),
        ("for (;;)", None),
    ],
)
def test_what_a_loop_asks(loop: str, condition: str | None) -> None:
    found = condition_of(heads(loop))
    assert (None if found is None else text_of(found)) == condition

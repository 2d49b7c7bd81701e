"""Atomics that may be left out after a look at their word, and all that forbids it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.recipes.cases import ask, facts_of

_LOAD = "__hip_atomic_load({}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)"
_HEAD = """#include <hip/hip_runtime.h>
#define NONE 0xffffffffu
struct Slot { unsigned key; int value; };
__device__ int bound;
"""
_PARAMETERS = (
    "const int* in, int* low, int* other, unsigned* bits, Slot* table, float* real, int limit, unsigned key"
)
_ALONE = {"disjoint": ["in", "low", "other", "bits", "table", "real"]}
_MIN = "atomicMin(&low[i], x);"
_NOT_KNOWN = "which integers the atomicMin on line 7 changes is not known"  # `low` may lead elsewhere by then


def _answer(body: str, head: str = "", facts: dict[str, Any] | None = None, **types: str) -> Refusal | str:
    text = (
        f"{_HEAD}{head}__global__ void k({_PARAMETERS}) {{\n  int i = threadIdx.x, x = in[i];\n  {body}\n}}\n"
    )
    source, known = text.encode(), facts_of(_ALONE if facts is None else facts)
    spans = {}
    for written, kind in types.items():
        place = text.index(_ADDRESSES[written])
        spans[place, place + len(_ADDRESSES[written])] = kind
    known = replace(known, types=replace(known.types, text=source, spans=spans))
    answer = ask("ask_first", source, known)
    if isinstance(answer, Refusal):
        return answer
    assert isinstance(answer, list)
    return answer[0].text.decode().split("x = in[i];\n  ")[1].removesuffix("\n}\n")


_ADDRESSES = {"key": "&table[i].key", "value": "&slot->value"}


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (_MIN, f"if (x < {_LOAD.format('&low[i]')}) {_MIN}"),
        ("atomicMax(low, 3);", f"if (3 > {_LOAD.format('low')}) atomicMax(low, 3);"),
        ("atomicExch(low, 1);", f"if ({_LOAD.format('low')} != 1) atomicExch(low, 1);"),
        ("atomicAnd(&bits[i], key);", f"if (({_LOAD.format('&bits[i]')} & ~key) != 0) atomicAnd(&bits[i], key);"),
        # `unsigned` bounds are not compared with `int` words as they are
        (
            "atomicMax(&low[i], key);",
            f"const int value = key;\n  if (value > {_LOAD.format('&low[i]')}) atomicMax(&low[i], value);",
        ),
        # a call is made once
        (
            "atomicMin(&low[i], cost(i));",
            f"const int value = cost(i);\n  if (value < {_LOAD.format('&low[i]')}) atomicMin(&low[i], value);",
        ),
        ("atomicCAS(&bits[i], NONE, key);", f"if ({_LOAD.format('&bits[i]')} == NONE) atomicCAS(&bits[i], NONE, key);"),
        # reads of the words, and another member of the same records, change nothing
        (f"if (low[i + 1] > x) {_MIN}", f"if (low[i + 1] > x) {{\n    if (x < {_LOAD.format('&low[i]')}) {_MIN}\n  }}"),
        (f"int y = min(low[x], 3); {_MIN}", None),
        (f"real[i] = low[other[i]]; {_MIN}", None),
        (
            "if (atomicMin(&low[i], x) > x) other[i] = 1;",
            f"if (x < {_LOAD.format('&low[i]')} && atomicMin(&low[i], x) > x) other[i] = 1;",
        ),
        (
            "if (x >= atomicMin(&low[i], x)) return;",
            f"if ({_LOAD.format('&low[i]')} <= x || x >= atomicMin(&low[i], x)) return;",
        ),
    ],
)  # fmt: skip
def test_the_word_is_looked_at_first(body: str, result: str | None) -> None:
    answer = _answer(body)
    assert isinstance(answer, str), answer
    if result is not None:
        assert answer == result


def test_members_of_records_are_words_of_their_own() -> None:
    swap = "unsigned was = atomicCAS(&table[i].key, NONE, key);"
    answer = _answer(f"{swap}\n  if (was == NONE) table[i].value = x;", key="unsigned int *")
    assert answer == Refusal(
        "ask_first", "the result of the atomicCAS on line 7 is used"
    )  # `was` has no known type
    answer = _answer(
        "atomicCAS(&table[i].key, NONE, key);\n  atomicAdd(&table[i].value, x);", key="unsigned int *"
    )
    assert isinstance(answer, str)
    assert answer.startswith(f"if ({_LOAD.format('&table[i].key')} == NONE) ")
    pointed = "Slot* slot = table + i;\n  atomicMin(&slot->value, x);"
    assert f"if (x < {_LOAD.format('&slot->value')})" in str(_answer(pointed, value="int *"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("atomicAdd(&low[i], x);", "may change a word that it has passed"),
        ("atomicXor(&bits[i], key);", "may change a word that it has passed"),
        (f"low[i] = 7; {_MIN}", "`low` is also used on line 7"),
        (f"low[i]--; {_MIN}", "`low` is also used on line 7"),
        (f"int* p = low + 3; *p = x; {_MIN}", "`low` is also used"),
        (f"int* p = &low[3]; p[x] += 1; {_MIN}", "`low` is also used"),
        (f"int& p = low[3]; p = x; {_MIN}", _NOT_KNOWN),
        (f"auto p = low; p[1] = x; {_MIN}", "`low` is also used"),
        (f"int* p; p = low; p[1] = x; {_MIN}", "`low` is also used"),
        (f"change(low); {_MIN}", _NOT_KNOWN),
        (f"change(low[i]); {_MIN}", _NOT_KNOWN),
        (f"SET(low[i]); {_MIN}", _NOT_KNOWN),
        (f"CLEAR; {_MIN}", _NOT_KNOWN),
        (f"low++; {_MIN}", _NOT_KNOWN),
        (f"atomicMax(&low[i + 1], x); {_MIN}", "the atomicMax on line 7 may change the same words"),
        (
            f"int* q = x ? low : other; atomicAdd(q, x); {_MIN}",
            "the atomicAdd on line 7 may change the same words",
        ),
        (f"{_MIN} __threadfence();", "the kernel uses `__threadfence`"),
        ("atomicMin(&real[i], 1.0f);", "which integers the atomicMin"),
        ("atomicExch(low, x);", "`x` of the atomicExch on line 7 is not a constant"),
        ("atomicCAS(low, bound, x);", "`bound` of the atomicCAS on line 7 is not a constant"),
        ("atomicExch(low, 1); atomicExch(low + i, 0);", "the atomicExch on line 7 may change the same words"),
        ("if (atomicMin(&low[i], cost(i)) > cost(i)) other[i] = 1;", "computes something by the way"),
        ("atomicCAS(&bits[i], NONE, next());", "computes something by the way"),
        ("atomicMin(&low[i], x++);", "computes something by the way"),
        ("int was = atomicMin(&low[i], x); other[i] = was;", "the result of the atomicMin on line 7 is used"),
        ("if (atomicMin(&low[i], x) >= x) other[i] = 1;", "the result of the atomicMin on line 7 is used"),
        ("other[i] = atomicCAS(low, 0, 1);", "the result of the atomicCAS on line 7 is used"),
        ("int was = atomicMin(&low[i], x);\n  x = 3;\n  if (was > x) other[i] = 1;", "is used"),
    ],
)
def test_what_may_move_a_word_back_forbids_it(body: str, reason: str) -> None:
    head = "#define SET(to) to = 1\n#define CLEAR low[0] = 0\n"
    names = ("SET", "CLEAR")
    used = "".join(
        f"{line}\n" for line in head.splitlines() if any(f"{n}" in line and n in body for n in names)
    )
    answer = _answer(body.replace("\n", "\n"), used)
    assert isinstance(answer, Refusal), answer
    assert reason.replace("line 7", f"line {7 + used.count(chr(10))}") in answer.reason


def test_another_pointer_may_lead_to_the_words() -> None:
    body = f"other[i] = 3; {_MIN}"
    assert isinstance(_answer(body), str)
    answer = _answer(body, facts={"disjoint": ["other"]})
    assert isinstance(answer, Refusal)
    assert answer.reason == "`low` may lead to the same memory as another pointer that the kernel stores to"
    assert isinstance(_answer(f"int mine[4]; mine[0] = in[i]; {_MIN}", facts={}), str)

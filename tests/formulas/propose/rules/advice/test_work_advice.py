"""Advice to regroup work: only where data decide which way a thread takes."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import UNKNOWN_COLUMN
from hipscope.formulas.base import Finding
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Advice, Refusal
from hipscope.formulas.propose.rules.advice.work_advice import regroup_work


def answer(body: str, line: int = 3) -> Advice | Refusal:
    text = f"__global__ void k(const int* row, float* a, int n) {{\nint t = threadIdx.x;\n{body}\n}}\n"
    (kernel,) = parse(text.encode()).kernels
    none = UNKNOWN_COLUMN
    finding = Finding("branchDivergence", "k", "k", "k.hip", line, line, none, none, 0.5, "", ())
    launch = LaunchFact(grid=(1024, 1, 1), workgroup=(256, 1, 1), scalars={"n": 512})
    found = regroup_work(text.encode(), kernel, finding, LaunchFacts(launches=(launch,)))
    assert isinstance(found, Advice | Refusal)
    return found


@pytest.mark.parametrize(
    "body",
    [
        "for (int k = row[t]; k < row[t + 1]; k++) a[t] += k;",
        "if (t < n) { for (int k = row[t]; k < row[t + 1]; k++) a[t] += k; }",
        "if (a[t] > 0) a[t] = 1;",
        "float v = a[t]; if (v > 0) a[t] = 1;",
        "int k = row[t]; while (k > 0) k = row[k];",
        "bool on = true; while (on) { a[t] += 1; if (a[t] > 9) on = false; }",
        "int v = row[n]; v += t; if (a[v] > 0) for (int k = t; k < n; k++) a[k] = 1;",
        "bool on = row[n] > t; if (on) for (int k = t; k < n; k += row[t]) a[k] = 1;",
    ],
)
def test_work_that_data_send_different_ways_is_to_be_regrouped(body: str) -> None:
    found = answer(body)
    assert isinstance(found, Advice), found
    assert found.recipe == "regroup_work"


@pytest.mark.parametrize(
    "body",
    [
        "for (int s = 128; s > 0; s /= 2) if (t < s) a[t] += a[t + s];",
        "if (t % 2 == 0) a[t] = 1;",
        "for (int k = t; k < n; k++) a[k] = 1;",
        "bool on = true; while (on) { a[t] += 1; if (t + n > 9) on = false; }",
        "for (int i = 0; i < n; i++) if (row[i] > 0) for (int k = t; k < 20; k += 64) a[k] = 1;",
        "bool on = row[n / 2] & 1; if (!on) for (int k = t; k < 20; k += 64) a[k] = 1;",
    ],
)
def test_threads_whose_number_decides_are_not_told_to_sort_data(body: str) -> None:
    found = answer(body)
    assert isinstance(found, Refusal), found
    assert "the thread's number" in found.reason


@pytest.mark.parametrize("condition", ["threadIdx.x == 0", "t == 0", "!threadIdx.x"])
def test_one_thread_alone_is_told_to_share(condition: str) -> None:
    found = answer(
        f"if ({condition}) {{ float s = 0;\nfor (int i = 0; i < n; i++) s += a[i]; a[0] = s; }}", 4
    )
    assert isinstance(found, Advice), found
    assert (
        found.title
        == f"Let all 256 threads of a workgroup take part in what `{condition}` leaves to one (line 4)"
    )

"""What the steps of a loop hand to each other."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.nodes import walk
from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.passed_on import values_passed_on


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("b[i] = a[i] * 2;", "nothing"),
        ("b[i] = b[i] + a[i];", "nothing"),
        ("v = a[i]; b[i] = v * v;", "nothing"),
        ("s += a[i];", "sums"),
        ("s = s + a[i] * a[i];", "sums"),
        ("b[t] += a[i];", "sums"),
        ("if (a[i] > 0) count++;", "sums"),
        ("v = a[i]; s -= v;", "sums"),
        ("m = max(m, a[i]);", "best"),
        ("m = a[i] > m ? a[i] : m;", "best"),
        ("float d = a[i]; if (d < m) { m = d; place = i; }", "best"),
        ("if (a[i] > m) m = a[i];", "best"),
        ("c = table[(c ^ a[i]) & 255] ^ (c >> 8);", "chain"),
        ("h = h * 31 + a[i];", "chain"),
        ("key = (key << 2) | a[i];", "chain"),
        ("float x = y * y; y = x + a[i];", "chain"),
        ("s += a[i] * s;", "chain"),
        ("s += a[i]; m = max(m, s);", "chain"),
        ("if (state == 1 && a[i] == 2) state = 2;", "unknown"),
        ("if (found == 0 && a[i] > 1) found = i;", "unknown"),
        ("int best = min(row[i], row[i - 1]); row[i] = best;", "unknown"),
        ("if (a[i] > 3) last = i;", "unknown"),
        ("m.at(i) = m.at(i - 1);", "unknown"),
        ("*p = *p + a[i];", "unknown"),
    ],
)
def test_what_a_step_hands_to_the_next(step: str, expected: str) -> None:
    text = f"__global__ void k(float* a, float* b, int n) {{ for (int i = 0; i < n; i++) {{ {step} }} }}"
    (kernel,) = parse(text.encode()).kernels
    loop = next(n for n in walk(kernel.body_node) if n.type == "for_statement")
    assert values_passed_on(loop) == expected

"""Bounds of indices that hold in every launch: what is proved, and what looks like a proof and is none."""

from __future__ import annotations

import pytest
from tree_sitter import Node

from hipscope.analysis.source.nodes import text_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFacts, SourceTypes
from hipscope.formulas.propose.rules.ranges.index_bounds import IndexBounds

HEAD = """#include <hip/hip_runtime.h>
#define BINS 64
constexpr int kSize = 40;
struct Pixel { unsigned char x, y; };
void reset(int& b);
template <typename T, int N, int Zero>
__global__ void k(const int* in, const unsigned* word, const unsigned char* byte, const float* f, const Pixel* px,
                  const T* any, int n, unsigned m, int* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
"""


def bound_of(body: str, types: SourceTypes | None = None) -> tuple[int, int] | None:
    """The interval of what is between the brackets of the last `bins[...]`."""
    source = f"{HEAD}{body}}}\n".encode()
    file = parse(source)
    kernel = file.kernels[0]
    index = next(s.indices[0] for s in reversed(kernel.subscripts) if s.base == "bins")
    facts = LaunchFacts(types=types or SourceTypes())
    return IndexBounds(source, kernel, file, facts).of(index)


def bounded(body: str, types: SourceTypes | None = None) -> int | None:
    """How many elements can be reached; None where that is not certain."""
    found = bound_of(body, types)
    return found[1] + 1 if found is not None and found[0] >= 0 and found[1] < 1 << 16 else None


NUMBERS = SourceTypes(
    values={"N": frozenset({32, 128}), "Zero": frozenset({0})},
    instances={"T": frozenset({"int", "unsigned"})},
)


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("  bins[in[i] & 31] = 1;\n", 32),
        ("  bins[0x1F & in[i]] = 1;\n", 32),
        ("  bins[in[i] & (BINS - 1)] = 1;\n", 64),
        ("  bins[in[i] & (N - 1)] = 1;\n", 128),
        ("  bins[word[i] % BINS] = 1;\n", 64),
        ("  bins[word[i] % N] = 1;\n", 128),
        ("  bins[(in[i] * 31u + 7u) % 100] = 1;\n", 100),
        ("  bins[word[i] >> 24] = 1;\n", 256),
        ("  bins[(in[i] & 255) >> 4] = 1;\n", 16),
        ("  bins[byte[i]] = 1;\n", 256),
        ("  bins[byte[i] >> 5] = 1;\n", 8),
        ("  bins[byte[i] * 2 + 1] = 1;\n", 512),
        ("  bins[any[i] & 15] = 1;\n", 16),
        ("  bins[min(m, 99u)] = 1;\n", 100),
        ("  bins[max(0, min(in[i], 99))] = 1;\n", 100),
        ("  bins[threadIdx.x] = 1;\n", 1024),
        ("  const unsigned b = in[i] & 7; bins[b] = 1;\n", 8),
        ("  const auto b = in[i] & 7; bins[b] = 1;\n", 8),
        ("  int b = (int)f[i]; b = b < 0 ? 0 : b >= kSize ? kSize - 1 : b; bins[b] = 1;\n", 40),
        ("  int b = in[i]; if (b < 0) b = 0; if (b > 9) { b = 9; } bins[b] = 1;\n", 10),
        ("  int b = in[i]; if (b < 0 || b >= BINS) return; bins[b] = 1;\n", 64),
        ("  int b = in[i]; if (0 <= b && b < BINS) { bins[b] = 1; }\n", 64),
        ("  if (m < 12) bins[m] = 1;\n", 12),
        ("  if (m >= 12) return; else bins[m] = 1;\n", 12),
        ("  unsigned b = word[i]; b &= 15; b += 1; bins[b] = 1;\n", 17),
        ("  unsigned b; b = word[i] % 10; bins[b] = 1;\n", 10),
        ("  for (int s = 0; s < n; ++s) { int b = in[s] & 3; bins[b] = 1; b = in[s]; }\n", 4),
    ],
)
def test_an_index_has_as_many_values_as_its_text_allows(body: str, elements: int) -> None:
    assert bounded(body, NUMBERS) == elements


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("  bins[in[i] % 64] = 1;\n", id="a remainder of a negative number"),
        pytest.param("  bins[in[i] >> 24] = 1;\n", id="a shift of a negative number"),
        pytest.param("  bins[in[i] & n] = 1;\n", id="an argument that other launches give otherwise"),
        pytest.param("  bins[word[i] & (Zero - 1)] = 1;\n", id="a mask of all bits"),
        pytest.param("  bins[any[i] % 64] = 1;\n", id="a type that is signed in one instance"),
        pytest.param("  bins[f[i]] = 1;\n", id="no integer"),
        pytest.param("  unsigned char b = f[i] * 300.f; bins[b] = 1;\n", id="a float too large for its type"),
        pytest.param("  bins[(unsigned char)f[i]] = 1;\n", id="the same by a cast"),
        pytest.param("  bins[((word[i] & 3) - 1) / 2] = 1;\n", id="below 0 and divided as a large number"),
        pytest.param("  int b = in[i] & 7; if (n) b = n; bins[b] = 1;\n", id="changed under a condition"),
        pytest.param("  int b = in[i] & 7; b += n; bins[b] = 1;\n", id="added to"),
        pytest.param("  int b = in[i] & 7; reset(b); bins[b] = 1;\n", id="changed by a function"),
        pytest.param("  int b = in[i] & 7; int& r = b; r = n; bins[b] = 1;\n", id="changed by a reference"),
        pytest.param("  int b = in[i] & 7; int* p = &b; *p = n; bins[b] = 1;\n", id="changed by a pointer"),
        pytest.param("  int b = 0; auto g = [&] { b = n; }; b = 3; g(); bins[b] = 1;\n", id="by a lambda"),
        pytest.param(
            "  int b = in[i] & 7;\n#define NEXT b = n\n  NEXT; bins[b] = 1;\n", id="changed by a macro"
        ),
        pytest.param(
            "  int b = 0; for (int s = 0; s < n; ++s) { bins[b] = 1; b += 2; }\n", id="in the step before"
        ),
        pytest.param("  int b = 0; while (b < n) { bins[b] = 1; ++b; }\n", id="a counter"),
        pytest.param("  int b = in[i]; if (b < BINS) bins[b] = 1;\n", id="below a limit, perhaps negative"),
        pytest.param("  int b = in[i]; if (b >= 64u) b = 5; bins[b & n] = 1;\n", id="an unsigned comparison"),
        pytest.param(
            "  int b = in[i]; if (b < BINS || n) { if (b >= 0) bins[b] = 1; }\n", id="either condition"
        ),
        pytest.param("  int b = in[i] & 7; { int b = n; bins[b] = 1; }\n", id="another variable of the name"),
        pytest.param(
            "  for (int kSize : {100, 200}) bins[word[i] % kSize] = 1;\n", id="another one of a loop"
        ),
        pytest.param(
            "  int b = 3; switch (n) { case 0: b = n; case 1: bins[b] = 1; }\n", id="the case before"
        ),
        pytest.param("  __shared__ unsigned b; b = 3; bins[b] = 1;\n", id="changed by other threads"),
        pytest.param("  Pixel p = px[i]; bins[p.x] = 1;\n", id="a member of a type that nobody told"),
    ],
)
def test_what_is_not_certain_has_no_bound(body: str) -> None:
    assert bounded(body, NUMBERS) is None


def test_a_long_hash_is_asked_for_each_of_its_steps_once() -> None:
    steps = "  h ^= h >> 15; h = h * 31 + (h << 5); h ^= h >> 3;\n" * 100
    assert bounded(f"  unsigned h = word[i];\n{steps}  bins[h % 128] = 1;\n") == 128


def test_names_that_lead_round_through_scopes_have_an_end() -> None:
    cycle = "  {{ auto {0} = {1}; {2} }} {{ auto {1} = {0}; {2} }}\n"
    assert bounded(cycle.format("p", "q", "bins[p] = 1;")) is None
    pointers = "  const unsigned char* p = byte; { const unsigned char* byte = p; bins[p[0]] = 1; }\n"
    assert bounded(pointers, types_of(pointers, {"p[0]": "unsigned char"})) is None


def test_the_compilers_types_count() -> None:
    body = "  Pixel p = px[i]; bins[p.x] = 1;\n"
    assert bounded(body, types_of(body, {"p.x": "unsigned char"})) == 256
    changed = "  Pixel p = px[i]; p.x = f[i]; bins[p.x] = 1;\n"
    assert bounded(changed, types_of(changed, {"p.x": "unsigned char"})) is None
    row = "  const unsigned char* row = byte + i; bins[row[0]] = 1;\n"
    assert bounded(row, types_of(row, {"row[0]": "unsigned char"})) == 256
    local = "  unsigned char row[4]; row[0] = f[i]; bins[row[0]] = 1;\n"
    assert bounded(local, types_of(local, {"row[0]": "unsigned char"})) is None
    called = "  bins[hash(n)] = 1;\n"
    assert bounded(called, types_of(called, {"hash(n)": "unsigned char"})) is None


def types_of(body: str, told: dict[str, str]) -> SourceTypes:
    """The types of all expressions of these texts, as the compiler would give them."""
    source = f"{HEAD}{body}}}\n".encode()
    nodes: list[Node] = [n for n in walk(parse(source).root) if text_of(n) in told]
    return SourceTypes(text=source, spans={(n.start_byte, n.end_byte): told[text_of(n)] for n in nodes})

"""Each precondition of each recipe, with a kernel that breaks just this one, and the reason that is given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Advice, Refusal
from hipscope.formulas.propose.rule import Rule
from hipscope.formulas.propose.rules import ask_recipe
from tests.formulas.propose.rules.cases import FOLDER, ask, candidates, facts_of, read_facts

Change = tuple[str, str]


def said(recipe: str, case: str, *changes: Change, **facts: Any) -> str:
    """The reason for no rewrite of a golden case whose text or facts are changed."""
    source = (FOLDER / recipe / f"{case}.hip").read_text()
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    known = read_facts(source.encode())
    if facts:
        known = facts_of({**_plain(source), **facts})
    answer = ask(recipe, source.encode(), known)
    assert isinstance(answer, Refusal | Advice), answer
    return f"{'advice: ' if isinstance(answer, Advice) else ''}{answer.reason}"


def _plain(source: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(source.splitlines()[0].partition("facts:")[2])
    return data


LATER = ("twice[i] = 2 * twice[i] + 1;", "")
LAST = ("    atomicMax(most, size + blockIdx.x);\n", "")
OFFSET = "__device__ float offset() { return 0.5f * threadIdx.x; } "
NEXT = "__device__ float next(const float* p, int i) { while (p[i] < 0.0f) ++i; return p[i]; } "
SUM = "__device__ float sum(const float* p, int i) { return p[i] + p[i + 1]; } "
ONE = [[[4096, 1, 1], [256, 1, 1]]]
_ONE_LOAD = [("order[firstPlane]", "firstPlane")]
_PLAIN = [("[k & 3]", "[1]"), ("[in[i] & 3]", "[1]")]


@pytest.mark.parametrize(
    ("recipe", "case", "changes", "facts", "reason"),
    [
        (
            "float_math",
            "literals",
            [("float x = in[i]", "double x = in[i]")],
            {},
            "asks for `double` itself, on line 8",
        ),
        ("float_math", "literals", [("const float* in", "const double* in")], {}, "asks for `double` itself"),
        ("fixed_trips", "filter", [], {"launches": []}, "no launch was recorded"),
        (
            "fixed_trips",
            "filter",
            [],
            {"launches": [[*ONE[0], {"taps": n, "rows": 100}] for n in (3, 4)]},
            "no loop has a length that is a small argument",
        ),
        (
            "fixed_trips",
            "filter",
            [],
            {"launches": [[*ONE[0], {"taps": 17, "rows": 100}]]},
            "no loop has a length that is a small argument",
        ),
        (
            "fixed_trips",
            "window",
            [
                ("x - reach; at <= x + reach", "x; at < x + (int)blockDim.x"),
                ("at < (x + reach)", "at < (x + (int)blockDim.x)"),
            ],
            {"launches": [[[4096, 1, 1], [4, 1, 1], {"width": 4096, "reach": 2}]]},
            "no loop has a length that is a small argument",
        ),
        (
            "masked_loads",
            "border",
            [("count++;", "out[i] = sum;"), ("best = in[j];", "break;")],
            {},
            "the branch on line 9 stores to more than numbers of the thread (line 12)",
        ),
        (
            "masked_loads",
            "border",
            [("count++;", "atomicAdd(out, sum);"), ("best = in[j];", "break;")],
            {},
            "the branch on line 9 does more than to compute values (line 12)",
        ),
        (
            "masked_loads",
            "border",
            [
                ("int count", "char count[1]; long long wide = next(in, 0)"),
                ("count++", "wide = next(in, d)"),
                ("count += 1", ";"),
            ],
            {},
            "the branch on line 9 loads from `in`",
        ),
        (
            "masked_loads",
            "border",
            [("count++", "count += n / d"), ("count += 1", ";")],
            {},
            "the branch on line 9 divides integers by `d`, which may be 0 where the branch is not taken",
        ),
        (
            "masked_loads",
            "border",
            [],
            {"launches": [[*ONE[0], {}, {"in": 4, "weights": 0}]]},
            "loads from `weights`, which may be empty",
        ),
        (
            "merge_branches",
            "two_kinds",
            [("t += 4.0f;", "t -= 4.0f;")],
            {},
            "`t += 2.0f` on line 13 and `t -= 4.0f`",
        ),
        ("merge_branches", "two_kinds", [("t += 4.0f;", "")], {}, "different numbers of statements"),
        ("merge_branches", "two_kinds", [("t += 4.0f;", "t += 4;")], {}, "not known to have the same type"),
        (
            "merge_branches",
            "two_kinds",
            [("(cold + 1.0f)", "(t + 1.0f)")],
            {},
            "`hot` on line 11 and `t` on line 16 change on the way",
        ),
        (
            "merge_branches",
            "two_kinds",
            [
                ("float hot", "float* hot"),
                ("(hot + 1.0f)", "hot[i]"),
                ("float cold", "float* cold"),
                ("(cold + 1.0f)", "cold[i]"),
            ],
            {},
            "`hot` on line 11 and `cold` on line 16 are not the same work",
        ),
        (
            "merge_branches",
            "two_kinds",
            [("t += 2.0f;", "t += __shfl_down(t, 1);"), ("t += 4.0f;", "t += __shfl_down(t, 2);")],
            {},
            "line 13 depends on which lanes go there together",
        ),
        (
            "merge_branches",
            "two_kinds",
            [("kind[i] == 1", "const int a = kind[i]; a == 1")],
            {},
            "declares something",
        ),
        (
            "merge_branches",
            "two_kinds",
            [("if (kind[i] == 1)", "if constexpr (true)")],
            {},
            "when the kernel is compiled",
        ),
        ("merge_branches", "one_number", [("  else", "  if (n > 9)")], {}, "no `if` with an `else`"),
        (
            "reciprocal",
            "steps",
            [("/ kThird", "/ 4.0f"), ("/ kWidth", "/ 2"), ("dt * damping", "v"), ("changing;", "in[k];")],
            {},
            "`4.0f` on line 8 is a power of two",
        ),
        (
            "reciprocal",
            "steps",
            [("/ kThird", "* 4.0f"), (" / kWidth", ""), ("dt * damping", "v"), ("changing;", "in[k];")],
            {},
            "`(1.0f + v)` on line 11 changes in every step",
        ),
        (
            "reciprocal",
            "steps",
            [("/ kThird", "/ dt"), (" / kWidth", ""), ("dt * damping", "v"), ("changing;", "in[k];")],
            {},
            "`dt` on line 8 is divided by only once per thread",
        ),
        (
            "reciprocal",
            "steps",
            [
                ("/ kThird", "* 1.0f"),
                (" / kWidth", ""),
                ("dt * damping", "step"),
                ("changing;", "in[k];"),
                ("float dt", "double dt"),
                ("float v =", "double v ="),
                ("] / 2.0f", "]"),
            ],
            {},
            "`(1.0f + step)` on line 14 changes in every step",
        ),
        ("launch_bounds", "spilling", [], {"launches": [], "threads": 0}, "no captured launch"),
        ("launch_bounds", "spilling", [], {"written": None, "threads": 64}, "a run decides the size"),
        (
            "launch_bounds",
            "spilling",
            [("__global__ void k(", "__global__ void __launch_bounds__(128) k(")],
            {"written": None},
            "no smaller bound is sure to hold",
        ),
        (
            "launch_bounds",
            "spilling",
            [],
            {"written": 1024},
            "workgroups of 1024 threads: a bound gives nothing",
        ),
        (
            "launch_bounds",
            "spilling",
            [("__global__ void k(", "__global__ void __launch_bounds__(64) k(")],
            {},
            "of that size",
        ),
        ("launch_bounds", "few_waves", [], {"needs": {"vgprs": 40}}, "already allow all waves"),
        ("launch_bounds", "few_waves", [], {"needs": None}, "not known"),
        ("launch_bounds", "few_waves", [("(256)", "(256, 2)")], {}, "for the waves already"),
        (
            "restrict",
            "pointers",
            [],
            {"disjoint": ["out"]},
            "advice: in a recorded launch `a`, `b` had no allocation",
        ),
        ("restrict", "pointers", [], {"launches": []}, "advice: no launch was recorded"),
        (
            "skip_zeros",
            "flush",
            [("mine[b]);", "1u);")],
            {},
            "line 8 adds no value that is read; the atomicAdd on line 11",
        ),
        (
            "hoist_guard",
            "window",
            [("++count;", "++count; ++radius;"), ("count > 1", "i > 1")],
            {},
            "stays the same",
        ),
        (
            "hoist_guard",
            "window",
            [("++count;", "__syncthreads();"), ("count > 1", "i > 1")],
            {},
            "a barrier",
        ),
        (
            "hoist_guard",
            "window",
            [("int radius)", "int& radius)"), ("x >=", "i >="), ("count > 1", "i > 1")],
            {},
            "stays",
        ),
        ("hoist_guard", "window", [("int j = 0", "count = 0"), ("count > 1", "i > 1")], {}, "in its head"),
        ("hoist_loads", "late", [("= in[at];", "= factors[3] = in[at];")], {}, "may be stored to before"),
        ("hoist_loads", "late", [("tile[x] =", "*tile =")], {}, "may be stored to before it is loaded"),
        (
            "hoist_loads",
            "late",
            [("tile[x] = in", "out[x] = in")],
            {"disjoint": ["in"]},
            "may be stored to before it is loaded",
        ),
        (
            "hoist_loads",
            "late",
            [("tile[x] = in[at]", "atomicAdd(out, 1.0f)")],
            {},
            "other workgroups (`atomicAdd`)",
        ),
        ("hoist_loads", "late", [("at - width;", "at - (int)sum;")], {}, "in a way that is not read"),
        (
            "hoist_loads",
            "late",
            [("const int above", "int above = 3; above")],
            {},
            "`above`, which changes before it",
        ),
        (
            "hoist_loads",
            "late",
            [("at - width;", "tile[x] > 0 ? 1 : 2;")],
            {},
            "reads `tile[x]`, which may change",
        ),
        ("hoist_loads", "late", [("at - width;", "__popc(at);")], {}, "finds out by `__popc(at)`"),
        (
            "hoist_loads",
            "late",
            [("const int above", "if (sum > n) return; const int above")],
            {},
            "no load stands",
        ),
        ("hoist_loads", "late", [("* factors", "> 0 && factors")], {}, "no load stands behind"),
        (
            "hoist_loads",
            "late",
            [("__syncthreads();", ""), ("for (int i = 0; i < TILE; ++i)", "")],
            {},
            "no load stands",
        ),
        (
            "hoist_loads",
            "late",
            [
                ("  tile[x] =", "  for (int r = 0; r < 2; ++r) { tile[x] ="),
                ("factors[above];", "out[above]; }"),
            ],
            {},
            "`out[above]` on line 13 may be stored to by another step",
        ),
        ("prefetch", "planes", [("__syncthreads();", "__syncwarp();")], {}, "no loop with a barrier"),
        ("prefetch", "tiles", [], {"disjoint": []}, "what the launch leaves as it is"),
        (
            "prefetch",
            "planes",
            [("order[firstPlane]", "2"), ("out[here - pitch] =", "in[here] =")],
            {},
            "what the launch leaves as it is",
        ),
        ("prefetch", "planes", [("firstPlane++;", "if (!active) break;")], {}, "left in the middle"),
        ("prefetch", "planes", [("firstPlane++;", "firstPlane += order[0];")], {}, "is not known before"),
        ("prefetch", "planes", [("firstPlane++;", "if (active) firstPlane++;")], {}, "is not known before"),
        (
            "prefetch",
            "planes",
            [*_ONE_LOAD, ("here += pitch", "int* p = &here; *p += pitch")],
            {},
            "`here`, which a pointer",
        ),
        (
            "prefetch",
            "planes",
            [*_ONE_LOAD, ("int here =", "auto here =")],
            {},
            "`here`, whose type is not certain",
        ),
        (
            "prefetch",
            "planes",
            [*_ONE_LOAD, ("number * pitch", "plane[0]")],
            {},
            "which may change, to know where",
        ),
        (
            "prefetch",
            "planes",
            [("if (active) {", "if (__any(active)) {")],
            {},
            "finds out by `__any(active)`",
        ),
        (
            "prefetch",
            "planes",
            [*_ONE_LOAD, ("int number", "here = plane[3]; int number")],
            {},
            "reads `plane[3]`, which may change",
        ),
        (
            "prefetch",
            "planes",
            [*_ONE_LOAD, ("int number", "while (here < 9) here++; int number")],
            {},
            "in a way that is not",
        ),
        (
            "prefetch",
            "planes",
            [("firstPlane++;\n", "firstPlane++;\n#ifdef A\n#endif\n")],
            {},
            "holds a directive",
        ),
        (
            "prefetch",
            "planes",
            [
                *_ONE_LOAD,
                ("here += pitch;", "go();"),
                ("bool active", "auto go = [&] { here += pitch; }; bool active"),
            ],
            {},
            "`here`, which a pointer, a reference or a lambda may change",
        ),
        (
            "prefetch",
            "planes",
            [
                *_ONE_LOAD,
                ("bool active", "int& there = here; bool active"),
                ("here += pitch;", "there += pitch;"),
            ],
            {},
            "`here`, which a pointer",
        ),
        (
            "prefetch",
            "planes",
            [*_ONE_LOAD, ("int number", "if (here++ > 3) {} int number")],
            {},
            "depend on in a condition",
        ),
        ("prefetch", "planes", [("here += pitch;", "ADVANCE;")], {}, "`ADVANCE;`, which is not read"),
        (
            "prefetch",
            "tiles",
            [("? row[column]", "? 3.0f"), ("= b[x]", "= 1"), ("down = 0", "down = t")],
            {},
            "cannot be computed twice",
        ),
        (
            "lds_column",
            "ranks",
            [*_PLAIN, ("int seen[BINS]", "int seen[BINS] = {1}")],
            {},
            "begins with other values than zeros",
        ),
        (
            "lds_column",
            "ranks",
            [*_PLAIN, ("out[i] =", "int* p = seen; out[i] = p[0] +")],
            {},
            "other than by its elements",
        ),
        (
            "lds_column",
            "ranks",
            [*_PLAIN, ("seen[b]++;", "out[i] = seen[b]++;")],
            {},
            "not stored by a statement of its own",
        ),
        ("lds_column", "ranks", [*_PLAIN, ("BINS = 12", "BINS = 120")], {}, "no constant size of at most 64"),
        (
            "lds_column",
            "subsets",
            [("sum[8], next[8] = {}", "sum[8], first = sum[n], next[80]")],
            {},
            "is used in its own declaration",
        ),
        ("lds_column", "subsets", [("int sum[8]", "const int sum[8]")], {}, "declared with a qualifier"),
        ("lds_column", "ranks", [], {"launches": [], "threads": 0}, "how large the workgroups are"),
        ("lds_column", "ranks", [], {"written": None}, "how large the workgroups are"),
        ("lds_column", "ranks", [("[b]", "[0]"), *_PLAIN], {}, "indexed by data"),
        (
            "uniform_table",
            "decay",
            [("(rate, t)", "(rate, x)"), ("rate * t", "rate * x")],
            {},
            "no loop calls a slow function",
        ),
        *(
            ("lds_tile", case, changes, facts, reason)
            for case, changes, facts, reason in (
                ("guarded_product", [], {"launches": []}, "do not have workgroups of one shape"),
                ("guarded_product", [], {"disjoint": []}, "no element of a step is loaded by 4 or more"),
                ("guarded_product", [], {"static_lds": 65000}, "its tiles need 2176 bytes of LDS, of 536"),
                ("guarded_product", [("i < k; ++i", "i < k; i *= 2")], {}, "does not count up"),
                ("guarded_product", [("int i = 0", "int i = col")], {}, "where it begins or ends may differ"),
                ("guarded_product", [("i < k;", "i < b[col];")], {}, "where it begins or ends may differ"),
                (
                    "guarded_product",
                    [("sum += a", "if (sum > 1) break; sum += a")],
                    {},
                    "`break` leaves a step",
                ),
                ("guarded_product", [("sum += a", "sum += __shfl(sum, 1) + a")], {}, "wait for each other"),
                (
                    "guarded_product",
                    [("sum += a", "a = a + 1; b = b + 1; sum += a")],
                    {},
                    "no element of a step",
                ),
                (
                    "guarded_product",
                    [("c[row * n + col] = sum", "b[col] = a[row] = sum")],
                    {},
                    "no element of a step",
                ),
                (
                    "guarded_product",
                    [("row < m &&", "row != m &&")],
                    {},
                    "is no bound of the thread's number",
                ),
                ("guarded_product", [("row < m &&", "a[row] < m &&")], {}, "may be less for a later thread"),
                ("guarded_product", [("row < m &&", "m - row < n &&")], {}, "may be less for a later thread"),
                (
                    "guarded_product",
                    [("col < n)", "col < n || row < 3)")],
                    {},
                    "is no bound of the thread's number",
                ),
                (
                    "guarded_product",
                    [("row < m &&", "row < col &&")],
                    {},
                    "is no bound of the thread's number",
                ),
                (
                    "guarded_product",
                    [("int col = ", "int col = (3 - n) * 5 + ")],
                    {},
                    "is not known for the first",
                ),
                (
                    "guarded_product",
                    [("float sum =", "c[col] = 1; float sum =")],
                    {},
                    "under a condition that",
                ),
                (
                    "guarded_product",
                    [("    int row", "#define AT (row * k + i)\n    int row")],
                    {},
                    "macro `AT` uses",
                ),
                (
                    "early_return",
                    [("    return;", "    { acc_of(c); return; }")],
                    {},
                    "threads may have left",
                ),
                (
                    "early_return",
                    [("double acc = 0;", "int inner = row;")],
                    {},
                    "where it begins or ends may differ",
                ),
                (
                    "quads",
                    [("widthA / 4", "widthB"), ("/= 2", "/= threadIdx.x + 2")],
                    {},
                    "no element of a step",
                ),
                (
                    "quads",
                    [("widthA / 4", "widthB"), ("widthB /= 2", "if (pos.x > 3) widthB /= 2")],
                    {},
                    "no element of a step",
                ),
                ("by_twos", [("layer < 3", "layer < x")], {}, "may have another length for other threads"),
                (
                    "by_twos",
                    [("sum = sum", "if (sum > 1) break; sum = sum")],
                    {},
                    "may be left in the middle",
                ),
                ("one_dimension", [("lane / SIDE", "lane % 24")], {}, "may be less for a later thread"),
                ("column_major", [], {"launches": [[[64, 1, 1], [64, 1, 1]]]}, "no element of a step"),
            )
        ),
        ("uniform_table", "decay", [("x *=", "rate *= x; x *=")], {}, "no loop calls"),
        ("uniform_table", "decay", [("x *=", "t += x > 1; x *=")], {}, "no loop calls"),
        ("uniform_table", "decay", [("t = 1", "t = i")], {}, "no loop calls"),
        ("uniform_table", "decay", [("x *=", "int t = i; x *=")], {}, "no loop calls"),
        ("uniform_table", "decay", [], {"launches": []}, "on line 8 has is not known"),
        ("skip_zeros", "flush", [("atomicAdd(&bins", "in[0] + atomicAdd(&bins")], {}, "the result of"),
        (
            "skip_zeros",
            "flush",
            [("atomicAdd(&bins", "atomicMax(&bins")],
            {},
            "may change something with a zero",
        ),
        ("skip_zeros", "flush", [(" mine[b]);", " mine[b++]);")], {}, "adds no value that is read"),
        *(
            (
                "skip_zeros",
                "flush",
                [("atomicAdd(&bins", f"{asked} atomicAdd(&bins")],
                {},
                "left out already where",
            )
            for asked in ("if (mine[b] != 0)", "if (b > 3 && ( 0!=mine[ b ]))", "if (mine[b])")
        ),
        (
            "skip_zeros",
            "own",
            [
                ("const unsigned more", "const __half2 more"),
                ("unsigned weight", "float2 weight"),
                ("in[i] & 1u", "1u"),
            ],
            {},
            "adds a `float2`, which is no single number",
        ),
        (
            "restrict",
            "pointers",
            [("const float *b", "float b"), ("b[0]", "b"), ("const float* a", "int a"), ("a[i]", "a")],
            {},
            "fewer than two pointers",
        ),
        ("restrict", "pointers", [("int n)", "float** n)")], {}, "`n` is no plain pointer"),
        ("restrict", "pointers", [("int n)", "Arguments n)")], {}, "`n` may hold pointers"),
        (
            "block_reduce",
            "guarded",
            [("atomicAdd(sum, in[i])", "atomicXor(sum, in[i])")],
            {},
            "is on floats",
        ),
        (
            "block_reduce",
            "extremes",
            [
                ("unsigned* bits", "int* bits"),
                ("atomicOr(bits, 1u", "atomicOr(bits, 1"),
                ("n) {", "n) { atomicAdd(bits, n);"),
            ],
            {},
            "depends on the order of its different atomics",
        ),
        (
            "block_reduce",
            "guarded",
            [("atomicAdd(", "atomicExch(")],
            {},
            "cannot be gathered",
        ),
        *(
            ("block_coarsening", case, changes, facts, reason)
            for case, changes, facts, reason in (
                (
                    "one_thread",
                    [],
                    {"launches": [[[32768, 1, 1], [256, 1, 1]]]},
                    "128 workgroups, 128 of them side by side, are too few",
                ),
                (
                    "one_thread",
                    [],
                    {"launches": [[[768, 999, 1], [256, 1, 1]]]},
                    "3 of them side by side, are too few",
                ),
                (
                    "one_thread",
                    [("total, size", "total + blockIdx.x, size"), LAST],
                    {},
                    "another address in each workgroup",
                ),
                (
                    "one_thread",
                    [("const int i", "int at = 3; const int i"), ("(total,", "(total + at,"), LAST],
                    {},
                    "another",
                ),
                ("one_thread", [("in[i] &", "in[i + gridDim.x] &")], {}, "counts with the other workgroups"),
                (
                    "one_thread",
                    [("  if (threadIdx.x == 0)", "  if (i > 9) return;\n  if (threadIdx.x == 0)")],
                    {},
                    "leave out a barrier",
                ),
                (
                    "one_thread",
                    [("= blockIdx.x *", "= 1 *"), ("+ blockIdx.x", "")],
                    {},
                    "does not use `blockIdx.x`",
                ),
                (
                    "one_thread",
                    [("const int i", "dim3 all(blockIdx); const int i")],
                    {},
                    "`blockIdx` as a whole",
                ),
                ("one_thread", [("most, size", "total, size")], {}, "order of its different atomics"),
                (
                    "one_thread",
                    [("atomicMax(most,", "size = atomicAdd(most,")],
                    {},
                    "result of the atomicAdd on line 12",
                ),
                (
                    "one_thread",
                    [
                        ("__global__", "__device__ int at() { return blockIdx.x; }\n__global__"),
                        ("in[i]", "in[at()]"),
                    ],
                    {},
                    "`at`, which the kernel uses, asks",
                ),
                ("early_return", [("\tif (in[i] > 0.0f) {", "\tfor (;;) {")], {}, "stands in a loop"),
                (
                    "early_return",
                    [("\t\treturn;", "\t\tgoto end;"), ("\tatomicAdd(&sum[1]", "end:\n\tatomicAdd(&sum[1]")],
                    {},
                    "uses goto",
                ),
            )
        ),
        (
            "block_coarsening",
            "early_return",
            [
                ("__global__", "__device__ int wait(int i) { __syncthreads(); return i; }\n__global__"),
                ("if (i >= n)", "if (wait(i) >= n)"),
            ],
            {},
            "would leave out a barrier",
        ),
        *(
            ("register_tile", case, changes, facts, reason)
            for case, changes, facts, reason in (
                (
                    "lds_product",
                    [("float sum =", "const float* at; at = rows[0]; float sum =")],
                    {},
                    "`at` points to",
                ),
                (
                    "lds_product",
                    [("float sum =", "auto at = rows + 1; float sum =")],
                    {},
                    "other than by its elements",
                ),
                (
                    "bodies",
                    [("  forces[i] =", "  memset(forces, 0, 4);\n  forces[i] =")],
                    {},
                    "uses `memset`",
                ),
                (
                    "bodies",
                    [],
                    {"launches": [[[130816, 1, 1], [256, 1, 1]]]},
                    "a part of the waves would be fewer than 1024",
                ),
                ("bodies", [("bodies[j]", "bodies[j + i]")], {}, "no loop loads the same for several"),
                ("bodies", [("j < n;", "j < i;")], {}, "no loop loads the same for several"),
                ("bodies", [("if (j != i)", "if (j == i) continue;")], {}, "no loop loads the same"),
                ("bodies", [("if (i >= n)", "if (i != n)")], {}, "`i != n` on line 7 may hold for a later"),
                (
                    "bodies",
                    [("blockDim.x + threadIdx.x", "blockDim.x + threadIdx.x - n")],
                    {},
                    "`i >= n` on line 7 may hold for a later",
                ),
                ("bodies", [("(i >= n)", "(bodies[i].w < 0)")], {}, "may hold for a later"),
                (
                    "bodies",
                    [("  forces[i] = force", "  if (me.w < 0) return;\n  forces[i] = force")],
                    {},
                    "may hold",
                ),
                (
                    "guarded_product",
                    [("  float sum", "  beta += row + col;\n        float sum")],
                    {},
                    "`beta` is changed",
                ),
                ("bodies", [("float4 me =", "auto me =")], {}, "declares with `auto`"),
                ("bodies", [("float4 me =", "volatile float4 me =")], {}, "uses `volatile`"),
                ("bodies", [("float4 me =", "const float4& me =")], {}, "`me` is declared in a way"),
                ("bodies", [("float4 me =", "float4& me =")], {}, "`me` is another name for a place"),
                (
                    "bodies",
                    [("  forces[i] =", "  float* x = &force.x;\n  forces[i] =")],
                    {},
                    "`x` points to a variable",
                ),
                (
                    "bodies",
                    [("  forces[i] =", "  sincosf(1.0f, &forces[i].x, &forces[i].y);\n  forces[i] =")],
                    {},
                    "may store",
                ),
                (
                    "bodies",
                    [("float4 other", "__syncwarp(); float4 other")],
                    {},
                    "exchange something on line 14",
                ),
                (
                    "bodies",
                    [("rsqrtf(", "__shfl_xor(1.0f, 1) * rsqrtf(")],
                    {},
                    "exchange something on line 17",
                ),
                (
                    "bodies",
                    [("  forces[i] = force", "  int k = atomicAdd((int*)forces, 1);\n  forces[i] = force")],
                    {},
                    "result of the atomicAdd",
                ),
                *(
                    (
                        "bodies",
                        [
                            ("__global__", f"__device__ int at() {{ return {index}; }}\n__global__"),
                            ("bodies[j]", "bodies[j + at()]"),
                        ],
                        {},
                        "`at`, which the kernel uses, asks",
                    )
                    for index in ("blockIdx.x", "hipBlockIdx_x")
                ),
                (
                    "bodies",
                    [("__global__", "#define ME me\n__global__"), ("other.x - me", "other.x - ME")],
                    {},
                    "the macro `ME` uses `me`",
                ),
                ("bodies", [("blockIdx.x * ", "dim3(blockIdx).x * ")], {}, "`blockIdx` as a whole"),
                (
                    "guarded_product",
                    [("        c[row", "        }\n        if (row < m) {\n        c[row")],
                    {},
                    "stands behind a guard",
                ),
                (
                    "lds_product",
                    [
                        (
                            "  __syncthreads();\n        for",
                            "  if (row > 3 && col > 3) __syncthreads();\n        for",
                        )
                    ],
                    {},
                    "wait for each other",
                ),
                (
                    "lds_product",
                    [
                        ("rows[TILE][TILE]", "rows[]"),
                        ("__shared__ float rows", "extern __shared__ float rows"),
                        ("rows[threadIdx.y][threadIdx.x]", "rows[threadIdx.x]"),
                        ("rows[threadIdx.y][i]", "rows[i]"),
                        ("columns[threadIdx.y][threadIdx.x] = b", "rows[col] = b"),
                    ],
                    {},
                    "as large as the launch says",
                ),
            )
        ),
        *(
            ("scalar_replacement", "store_before", changes, facts, reason)
            for changes, facts, reason in (
                ([], {"disjoint": ["in"]}, "another argument may overlap it"),
                (
                    [("const float* in", "float* in"), ("/ in[i];", "/ in[i] + out[k];")],
                    {},
                    "`out` is also used on line 10",
                ),
                (
                    [("if (k != i) ", "if (k != i) { __syncthreads(); } else ")],
                    {},
                    "others may look at it in the loop",
                ),
                (
                    [("if (k != i) ", "if (k == n) return; else if (k != i) ")],
                    {},
                    "the loop is left on line 10",
                ),
                ([("    out[i * n + j] = 1.0f;\n", "")], {}, "nothing says that it is stored to at all"),
                (
                    [("    out[i * n + j] = 1.0f;\n", "    if (i) out[i * n + j] = 1.0f;\n")],
                    {},
                    "nothing says",
                ),
                (
                    [("= 1.0f;", "= 1.0f; float* p = out + i;")],
                    {},
                    "nothing says that it is stored to at all",
                ),
                (
                    [("float* out", "volatile float* out")],
                    {},
                    "others may look at it in the loop (`volatile`)",
                ),
                ([("float* out", "float4* out")], {}, "it is no number"),
                ([("out[i * n + j] * in[k] / in[i]", "in[k]")], {}, "it is stored only"),
            )
        ),
        *(
            ("scalar_replacement", "first_step", [*changes, LATER], {}, reason)
            for changes, reason in (
                (
                    [
                        ("out[i] += in[k];", "if (k > 4) continue; out[i] += in[k];"),
                        ("out[i] ^= in[k + 1];", ""),
                    ],
                    "nothing says",
                ),
                (
                    [
                        ("out[i] += in[k];", "bool b = k > 3 && out[i]++; out[i] = b ? out[i] += 2 : 1;"),
                        ("out[i] ^= in[k + 1];", ""),
                        ("out[i] = b ? out[i] += 2 : 1;", ""),
                    ],
                    "nothing says",
                ),
                (
                    [("unsigned k = i; k < m", "unsigned k = i, e = 3; k < m")],
                    "whether the loop is entered is not known",
                ),
                ([("k < m;", "k < rand();")], "whether the loop is entered is not known"),
            )
        ),
        *(
            ("register_sum", "own_bin", [("atomicMax(most", "atomicExch(most"), *changes], facts, reason)
            for changes, facts, reason in (
                ([("&bins[threadIdx.x]", "&bins[i]")], {}, "goes to another address in each step"),
                ([("&bins[threadIdx.x]", "&bins[in[3]]")], {}, "is loaded, or has effects"),
                ([("1u);", "1u); if (bins[0]) continue;")], {}, "`bins` is also used on line 9"),
                (
                    [("1u);", "1u); __threadfence();")],
                    {},
                    "others may look at it in the loop (`__threadfence`)",
                ),
                (
                    [("1u);", "1u); __syncthreads();")],
                    {},
                    "others may look at it in the loop (`__syncthreads`)",
                ),
                ([("1u);", "1u); if (i == 7) return;")], {}, "the loop is left on line 9"),
                (
                    [("atomicAdd(", "most[0] = atomicAdd(")],
                    {},
                    "the result of the atomicAdd on line 9 is used",
                ),
                ([], {"disjoint": []}, "another argument may overlap it"),
                (
                    [("    atomicAdd(&bins", "    auto f = [&] { atomicAdd(&bins"), ("1u);", "1u); }; f();")],
                    {},
                    "stands in no loop",
                ),
            )
        ),
        *(
            (
                "wave_reduce",
                "sums",
                [
                    ("    atomicOr(&flags,", "    atomicCAS(&flags, 1u,"),
                    ("    atomicMax(", "    atomicInc("),
                    *changes,
                ],
                {},
                reason,
            )
            for changes, reason in (
                ([("atomicAdd(&sum", "atomicExch(&sum")], "the atomicExch on line 10 cannot be gathered"),
                (
                    [("  atomicAdd(&sum, in", "  if (i > n) return;\n  atomicAdd(&sum, in")],
                    "not all threads come to the atomicAdd on line 11",
                ),
                (
                    [
                        (
                            "  atomicAdd(&sum, in[i] * 2)",
                            "  if (i < n) { atomicAdd(&sum, in[i] * 2); __syncthreads(); }",
                        )
                    ],
                    "others may look at it",
                ),
                (
                    [
                        (
                            "  atomicAdd(&sum, in[i] * 2)",
                            "  if (i < n) { atomicAdd(&sum, in[i] * 2); out[i] = sum; }",
                        )
                    ],
                    "`sum` is also used on line 10",
                ),
                (
                    [("  atomicAdd(&sum", "  float* p = &sum; *p = 1;\n  atomicAdd(&sum")],
                    "a pointer may lead to `sum`",
                ),
                (
                    [("  atomicAdd(&sum", "  float& p = sum; p = 1;\n  atomicAdd(&sum")],
                    "a pointer may lead to `sum`",
                ),
                (
                    [("  atomicAdd(&sum", '  printf("%f", sum);\n  atomicAdd(&sum')],
                    "a pointer may lead to `sum`",
                ),
                (
                    [
                        ("__shared__ float sum", "__shared__ float sum[4]"),
                        ("&sum, in", "&sum[i & 3], in"),
                        ("sum = flags", "sum[0] = flags"),
                        ("= sum", "= sum[0]"),
                    ],
                    "goes to a different address in each thread",
                ),
                ([("__shared__ float sum", "__shared__ half sum")], "cannot be shuffled"),
            )
        ),
        *(
            ("wave_reduce", "in_a_loop", changes, {}, "not all threads come to the atomicAdd on line 9")
            for changes in (
                [("block < n", "block < n + threadIdx.x")],
                [("if (threadIdx.x == 0) size", "if (in[threadIdx.x]) break; if (threadIdx.x == 0) size")],
                [("if (blockIdx.x > gridDim.x / 2) return", "if (in[threadIdx.x]) return")],
                [
                    ("__shared__ int size;", "__shared__ int size; int m = n; change(&m);"),
                    ("block < n;", "block < m;"),
                ],
            )
        ),
        (
            "division",
            "grid",
            [
                ("i / width", "i / 8"),
                ("i % width", "i % 8"),
                ("(count - i) % width", "1"),
                ("count / width", "7"),
            ],
            {},
            "divides no integers by a variable",
        ),
        (
            "division",
            "grid",
            [("i % width", "1"), ("(count - i) % width", "1"), ("count / width", "7")],
            {"launches": [[[65536, 1, 1], [256, 1, 1], {"width": -1, "count": 65000}]]},
            "may be negative, zero or",
        ),
        (
            "division",
            "grid",
            [("i % width", "1"), ("(count - i) % width", "1"), ("count / width", "7")],
            {"launches": ONE},
            "not known to be non-negative",
        ),
        ("xcd_remap", "flat", [], {"xcds": 1}, "one XCD"),
        ("xcd_remap", "flat", [], {"launches": [[[2048, 1, 1], [256, 1, 1]]]}, "only 8 workgroups"),
        ("xcd_remap", "flat", [], {"launches": []}, "no captured launch"),
        (
            "block_reduce",
            "members",
            [("t.in[i]);", "t.in[i]); if (t.sum[0] > 9) return;")],
            {},
            "`t.sum` is also used on line 11",
        ),
        (
            "block_reduce",
            "members",
            [("t.in[i]);", "t.add(i));"), ("int n;", "int n; __device__ int add(int i) { return sum[i]; }")],
            {},
            "`t.sum` is also used on line 11",
        ),
        (
            "block_reduce",
            "members",
            [
                ("t.in[i]);", "t.add(i));"),
                ("int n;", "int n; __device__ int add(int i) { i += 1; return sum[i]; }"),
            ],
            {},
            "depends on local variables",
        ),
        (
            "division",
            "members",
            [("int x = i % g.nx;", "int x = i / (g.nx + 1); g.nx = 0;")],
            {},
            "the operands of `i / g.nx` are not known to be non-negative",
        ),
        (
            "restrict",
            "pointers",
            [],
            {"member_pointers": {"g.out": "float"}, "disjoint": ["g.out"]},
            "had no allocation of its own",
        ),
        (
            "restrict",
            "pointers",
            [
                ("const float* a", "const float* __restrict__ a"),
                ("const float *b", "const float* __restrict__ b"),
            ],
            {"member_pointers": {"g.in": "float"}, "promised": ["g.in"]},
            "all pointers are `__restrict__` already, in structures as well",
        ),
        (
            "tile_transpose",
            "plain",
            [],
            {"launches": [[[64, 64, 4], [4, 4, 4]]]},
            "only those of two dimensions",
        ),
        ("index_swap", "columns", [], {"launches": [[[64, 64, 1], [64, 1, 1]]]}, "no second dimension"),
        (
            "index_swap",
            "deep",
            [("i + nx * (j + ny * k)", "k + nz * (j + ny * i)")],
            {},
            "would touch fewer cache lines",
        ),
        (
            "index_swap",
            "view",
            [("HD float& at(int i, int j) {", "HD float& at(int i, int j) { if (i < 0) i = 0;")],
            {},
            "advice: `out.at(x, y)` on line 14 cannot be seen through: `at` is defined more than once",
        ),
        (
            "index_swap",
            "view",
            [("2.0f * in.at(x, y)", "in.at(x, y) + offset()"), ("struct View", OFFSET + "struct View")],
            {},
            "`offset`, which the kernel uses, asks for the thread's number itself",
        ),
        (
            "tile_transpose",
            "helpers",
            [("in[flat(y, x, width)]", "next(in, flat(y, x, width))"), ("__global__", NEXT + "__global__")],
            {},
            "advice: `next(in, flat(y, x, width))` on line 13 cannot be seen through: `next` is more than one `return`",
        ),
        (
            "tile_transpose",
            "helpers",
            [("in[flat(y, x, width)]", "sum(in, flat(y, x, width))"), ("__global__", SUM + "__global__")],
            {},
            "there is no single pair of one strided and one contiguous access",
        ),
        (
            "xcd_remap",
            "flat",
            [("out[i] = in[i];", "out[i] = in[i]; __threadfence();")],
            {},
            "`__threadfence`",
        ),
        (
            "xcd_remap",
            "flat",
            [("out[i] = in[i];", "out[i] = atomicAdd(out, 1.0f);")],
            {},
            "result of the atomicAdd",
        ),
        (
            "xcd_remap",
            "flat",
            [
                ("out[i] = in[i];", "out[i] = first();"),
                ("__global__", "static __device__ int first() { return blockIdx.x; }\n__global__"),
            ],
            {},
            "`first`, which the kernel uses, asks",
        ),
        ("sequential_tree", "strided_index", [("s *= 2", "s += 1")], {}, "no loop whose step doubles"),
        (
            "sequential_tree",
            "strided_index",
            [("+= sums[index + s]", "-= sums[index + s]")],
            {},
            "is no addition",
        ),
        (
            "sequential_tree",
            "strided_index",
            [("= sums[0]", "= sums[tid]")],
            {},
            "more than `sums[0]` is used",
        ),
        (
            "sequential_tree",
            "strided_index",
            [("    __syncthreads();\n", "")],
            {},
            "not one guarded step and a barrier",
        ),
        (
            "sequential_tree",
            "strided_index",
            [],
            {"launches": [[[64, 64, 1], [16, 16, 1]]]},
            "more than one dimension",
        ),
        ("sequential_tree", "modulo", [], {"launches": ONE}, "`kThreads` is not the size of the workgroup"),
        ("sequential_tree", "modulo", [("% (2 * step) == 0", "% step == 0")], {}, "is not the usual one"),
        ("sequential_tree", "modulo", [("__shared__ int best", "int best")], {}, "one-dimensional LDS array"),
        ("wave_tree", "sum", [("s /= 2", "s /= 3")], {}, "no loop whose step halves"),
        ("wave_tree", "functor", [("= op(shared[tid], ", "= op(zero, ")], {}, "a step uses `zero`"),
        (
            "wave_tree",
            "functor",
            [("const F op", "F op"), ("shared[tid] = gid", "op = F(); shared[tid] = gid")],
            {},
            "a step uses `op`",
        ),
        ("wave_tree", "sum", [("blockDim.x / 2;", "n / 2;")], {}, "is not known"),
        ("wave_tree", "sum", [("blockDim.x / 2;", "blockDim.x / 4;")], {}, "not half of a power of two"),
        (
            "wave_tree",
            "sum",
            [("blockDim.x / 2;", "(blockDim.x + 256) / 2;")],
            {},
            "not half of a power of two",
        ),
        ("wave_tree", "sum", [], {"launches": [[[96, 1, 1], [96, 1, 1]]]}, "not half of a power of two"),
        ("wave_tree", "sum", [], {"launches": [[[64, 1, 1], [32, 1, 1]]]}, "not half of a power of two"),
        ("wave_tree", "sum", [], {"launches": [[[64, 64, 1], [16, 16, 1]]]}, "more than one dimension"),
        ("wave_tree", "sum", [], {"written": None}, "a run decides"),
        ("wave_tree", "sum", [], {"written": 192}, "not half of a power of two"),
        ("wave_tree", "sum", [("    __syncthreads();\n", "")], {}, "not one guarded step and a barrier"),
        ("wave_tree", "sum", [("if (tid < s)", "if (tid <= s)")], {}, "is not the usual one"),
        (
            "wave_tree",
            "sum",
            [("+= sums[tid + s]", "+= sums[tid + s + 1]")],
            {},
            "of the thread or its partner",
        ),
        ("wave_tree", "sum", [("+= sums[tid + s]", "+= sums[tid + s] * n")], {}, "uses `n`, too"),
        (
            "wave_tree",
            "sum",
            [("sums[tid] += sums[tid + s]", "sums[tid + s] += sums[tid]")],
            {},
            "the partner's",
        ),
        ("wave_tree", "sum", [("= sums[tid];\n}", "= sums[n];\n}")], {}, "more than `sums[0]` is used"),
        ("wave_tree", "sum", [("if (tid == 0) out", "if (tid == 1) out")], {}, "more than `sums[0]` is used"),
        (
            "wave_tree",
            "sum",
            [("sums[tid] = 0;", "T* all = sums; all[tid] = 0;")],
            {},
            "other than by its elements",
        ),
        ("wave_tree", "sum", [("sums[tid] = 0;", "if (n == 0) return;")], {}, "threads leave the kernel"),
        ("wave_tree", "sum", [("__shared__ T", "__shared__ short")], {}, "which are not shuffled"),
        ("wave_tree", "two_arrays", [("count, int n", "count, int THREADS")], {}, "is not known"),
        (
            "wave_tree",
            "two_arrays",
            [("  if (i < n) out", "  if (i < half) out")],
            {},
            "`half` is used after it",
        ),
        (
            "wave_sum",
            "two_sums",
            [("if (x == 0 && y == 0)", "if (x == 1)")],
            {},
            "does nothing in one thread",
        ),
        (
            "wave_sum",
            "two_sums",
            [("if (x == 0 && y == 0)", "if (y == 0)")],
            {},
            "does nothing in one thread",
        ),
        (
            "wave_sum",
            "two_sums",
            [("= total;\n  }", "= total;\n  } else {\n    out[group] = 0;\n  }")],
            {},
            "does nothing in one thread",
        ),
        ("wave_sum", "two_sums", [], {"launches": []}, "no captured launch"),
        ("wave_sum", "two_sums", [], {"launches": [[[64, 64, 1], [64, 4, 1]]]}, "more than one dimension"),
        ("wave_sum", "two_sums", [], {"launches": [[[64, 1, 1], [32, 1, 1]]]}, "smaller than a wave"),
        ("wave_sum", "two_sums", [], {"written": None}, "a run decides"),
        ("wave_sum", "two_sums", [], {"written": 32}, "smaller than a wave"),
        ("wave_sum", "two_sums", [("  __syncthreads();\n", "")], {}, "no barrier stands right before"),
        (
            "wave_sum",
            "two_sums",
            [("const int group = blockIdx.x;", "const int group = blockIdx.x; out[x] = 0;")],
            {},
            "no barrier stands right before",
        ),
        (
            "wave_sum",
            "two_sums",
            [("  values[x] = i", "  if (x > 100) return;\n  values[x] = i")],
            {},
            "some threads leave the kernel",
        ),
        (
            "wave_sum",
            "two_sums",
            [("int t = 0; t < THREADS; t++", "int t = 0; t < THREADS; t += 2")],
            {},
            "in steps of 1",
        ),
        (
            "wave_sum",
            "two_sums",
            [("sum += values[t];", "sum += values[t] * 2;")],
            {},
            "something else than adding up",
        ),
        (
            "wave_sum",
            "two_sums",
            [("sum += values[t];", "sum += in[t];")],
            {},
            "something else than adding up",
        ),
        (
            "wave_sum",
            "two_sums",
            [("__shared__ int found", "__shared__ float found")],
            {},
            "something else than adding up",
        ),
        (
            "wave_sum",
            "two_sums",
            [("float sum = 0.0f;", "__shared__ float sum; sum = 0.0f;")],
            {},
            "something else than adding up",
        ),
        ("wave_sum", "two_sums", [("total += found[t]", "sum += found[t]")], {}, "adds twice"),
        ("wave_search", "smallest", [], {"written": None}, "a run decides"),
        ("wave_search", "peak", [("  __syncthreads();\n", "")], {}, "no barrier stands right before"),
        ("wave_search", "peak", [("t < 256; ++t", "t < 256; t += 2")], {}, "in steps of 1"),
        ("wave_search", "peak", [("t < 256; ++t", "t < at + 9; ++t")], {}, "may differ between threads"),
        ("wave_search", "peak", [("(peak[t]) > ", "(peak[t]) >= ")], {}, "something else than comparing"),
        ("wave_search", "peak", [("(peak[t]) > fabsf", "(peak[t]) > ")], {}, "something else than comparing"),
        ("wave_search", "peak", [("fabsf(peak[t])", "fabsf(image[t])")], {}, "something else than comparing"),
        ("wave_search", "peak", [("(peak[t]) > ", "(peak[t + 1]) > ")], {}, "something else than comparing"),
        (
            "wave_search",
            "peak",
            [("= place[t];", "= place[t] + 1;")],
            {},
            "something else with a better element",
        ),
        (
            "wave_search",
            "peak",
            [("best = peak[t];", "best = image[t];")],
            {},
            "something else with a better element",
        ),
        (
            "wave_search",
            "peak",
            [("at = place[t];", "peaks[t] = 0.0f;")],
            {},
            "something else with a better element",
        ),
        (
            "wave_search",
            "peak",
            [("    best = 0.0f, at = 0;\n", "    best = 0.0f;\n")],
            {},
            "not known to all",
        ),
        (
            "wave_search",
            "peak",
            [("best = 0.0f, at", "best = image[threadIdx.x], at")],
            {},
            "not known to all",
        ),
        (
            "wave_search",
            "peak",
            [("best = 0.0f, at", "peak[3] = 9.0f; best = 0.0f, at")],
            {},
            "not known to all",
        ),
        (
            "wave_search",
            "peak",
            [("best = 0.0f, at = 0;", "best = peak[0], at = 0; peak[0]++;")],
            {},
            "not known to all",
        ),
        ("wave_sum", "two_sums", [("t < THREADS; t++", "t < x + 4; t++")], {}, "may differ between threads"),
        ("wave_sum", "two_sums", [("t < THREADS; t++", "t < total; t++")], {}, "may differ between threads"),
        (
            "wave_sum",
            "two_sums",
            [("int total = 0;", "int total = 0; const int m = n / 2;"), ("t < THREADS", "t < m")],
            {},
            "may differ between threads",
        ),
        (
            "wave_sum",
            "two_sums",
            [("int total = 0;", "int total = 0; values[3] = 0.0f;")],
            {},
            "is not known before",
        ),
        ("wave_sum", "into_first", [("done[blockIdx.x] != 0", "done[tid] != 0")], {}, "some threads leave"),
        (
            "wave_sum",
            "into_first",
            [("    if (done", "    done += tid;\n    if (done")],
            {},
            "some threads leave",
        ),
        (
            "wave_sum",
            "into_first",
            [("unsigned i = 1", "unsigned i = 0")],
            {},
            "something else than adding up",
        ),
        ("wrap_around", "probe", [("(place + 1) %", "(2 * place) %")], {}, "next to another one"),
        ("wrap_around", "probe", [("(place + 1) %", "(3 * place + 1) %")], {}, "next to another one"),
        (
            "wrap_around",
            "probe",
            [("unsigned capacity", "long capacity")],
            {},
            "not known to be non-negative",
        ),
        (
            "wrap_around",
            "periodic",
            [("int width, int height", "long width, long height")],
            {"launches": []},
            "not known to be non-negative",
        ),
        (
            "fast_math",
            "functions",
            [("expf(-x) + 1.0f / sqrtf(x + 1.0f) + sinf(x) / x / 3.0f", "x * 2.0f")],
            {},
            "calls no float function",
        ),
    ],
)
def test_a_broken_precondition_is_the_reason(
    recipe: str, case: str, changes: list[Change], facts: dict[str, Any], reason: str
) -> None:
    assert reason in said(recipe, case, *changes, **facts)


def test_float_math_keeps_what_becomes_an_integer_and_what_is_no_float() -> None:
    body = "  out[0] = (int)(in[0] + 0.5);\n  int a = in[1] * 2.0;\n  out[(int)1.5] = 1e-300;\n"
    source = f"__global__ void k(const float* in, float* out) {{\n{body}}}\n".encode()
    answer = ask("float_math", source, facts_of({}))
    assert isinstance(answer, Refusal)
    for reason in ("`0.5` on line 2 is turned", "`2.0` on line 3 becomes", "`1e-300` on line 4 is no float"):
        assert reason in answer.reason


def test_literals_in_a_helper_are_advice() -> None:
    source = b"""static __device__ float half(float x) { return x * 0.5; }
__global__ void k(const float* in, float* out) { out[0] = half(in[0]); }
"""
    answer = ask("float_math", source, facts_of({}))
    assert isinstance(answer, Advice)
    assert "`half` is none of the functions that may be rewritten for the kernel" in answer.reason


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 15, 64, 100])
@pytest.mark.parametrize("xcds", [2, 6, 8])
def test_the_new_numbers_of_workgroups_are_the_old_ones_in_another_order(columns: int, xcds: int) -> None:
    for count in range(1, columns * 5):
        share, rest = count // xcds, count % xcds
        numbers = [b % xcds * share + min(b % xcds, rest) + b // xcds for b in range(count)]
        assert sorted(numbers) == list(range(count))


def test_the_advice_names_only_members_without_the_promise() -> None:
    source = (FOLDER / "restrict" / "pointers.hip").read_text()
    inside = {"g.in": "float", "g.out": "float"}
    known = {**_plain(source), "member_pointers": inside, "promised": ["g.in"]}
    answer = ask("restrict", source.encode(), facts_of(known))
    assert isinstance(answer, Advice)
    assert "overlaps `g.out`" in answer.title
    assert "`g.in`" not in answer.title


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.0f / sqrtf(x)", "rsqrtf(x)"),
        ("1 / std::sqrt(x)", "rsqrtf(x)"),
        ("1.f / sqrt(x)", "rsqrtf(x)"),
        ("expf(x) / (x + 1.0f)", "__expf(x) * __builtin_amdgcn_rcpf(x + 1.0f)"),
        ("exp(-x) + std::pow(x, 2.0f)", "__expf(-x) + __powf(x, 2.0f)"),
    ],
)
def test_a_fast_form_of_each_expression(old: str, new: str) -> None:
    source = f"__global__ void k(float x, double y, float* out) {{ out[0] = {old}; }}\n".encode()
    (candidate,) = candidates(ask("fast_math", source, facts_of({})))
    assert f"out[0] = {new};" in candidate.text.decode()


@pytest.mark.parametrize("value", ["1.f / sqrt(y)", "exp(y)", "pow(x, y)", "pow(x, 2)", "exp()"])
def test_what_is_done_in_double_precision_has_no_fast_form(value: str) -> None:
    source = f"__global__ void k(float x, double y, float* out) {{ out[0] = {value}; }}\n".encode()
    assert isinstance(ask("fast_math", source, facts_of({})), Refusal)


def test_a_recipe_that_fails_is_a_refusal_with_the_reason() -> None:
    def broken(*_: object) -> Any:
        raise ValueError("no such node")

    source = b"__global__ void k(float* x) { x[threadIdx.x] = 0; }"
    answer = ask_recipe(
        Rule("broken", "Memory", broken), source, parse(source).kernels[0], None, LaunchFacts()
    )
    assert isinstance(answer, Refusal)
    assert answer.recipe == "broken"
    assert "ValueError: no such node" in answer.reason


@pytest.mark.parametrize("case", ["filter", "tabs", "window"])
def test_loops_that_are_written_out_for_their_usual_length_are_left_alone_for_the_others(case: str) -> None:
    source = (FOLDER / "fixed_trips" / f"{case}.out.hip").read_bytes()
    answer = ask("fixed_trips", source, read_facts(source))
    assert isinstance(answer, Refusal)
    assert answer.reason == "no loop has a length that is a small argument"

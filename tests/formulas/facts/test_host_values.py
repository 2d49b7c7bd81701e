"""The largest workgroup of a launch by the program's text: over all calls and assignments that it may come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.semantics.meaning import Units
from hipscope.analysis.semantics.records import SourceCommand
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import find_library
from hipscope.formulas.facts.host_values import HostCode

HEAD = b"""#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void k(float* p) { *p = 0; }
"""


@pytest.fixture(scope="module")
def units() -> Units:
    return Units(find_library(find_toolchain(Config()).clang))


def most_threads(units: Units, folder: Path, *sources: str, others: tuple[bytes, ...] = ()) -> int | None:
    """Of the only launch, which stands in the first source; `others` are texts for another compiler."""
    flags = (*find_toolchain(Config()).hip_flags, "-std=c++17")
    texts, read = {}, []
    for number, source in enumerate(sources):
        file = folder / f"source{number}.hip"
        texts[file] = (HEAD if number == 0 else b"") + source.encode()
        file.write_bytes(texts[file])
        read.append(units.meaning(SourceTexts(), SourceCommand(file, folder, flags, (folder,))))
    (launch,) = read[0].launches()
    calls = [call for meaning in read for call in meaning.host_calls]
    assignments = [one for meaning in read for one in meaning.host_assignments]
    return HostCode(calls, assignments, texts, others).most_threads(launch)


RUN = "void run(float* f, int n) { k<<<1, n>>>(f); } "
CLASS = "struct C { int a, b; "
MAIN = "int main(int argc, char** argv) { float* f = nullptr; "


@pytest.mark.parametrize(
    ("text", "threads"),
    [
        (RUN + MAIN + "run(f, 64); run(f, 256); }", 256),
        (RUN + "void all(float* f, int n) { run(f, n / 2); }" + MAIN + "all(f, 512); }", 256),
        (RUN + "struct S { void go(float* f, int m) { run(f, m); } };" + MAIN + "S s; s.go(f, 96); }", 96),
        ("void run(float* f, dim3 b) { k<<<1, b>>>(f); } " + MAIN + "run(f, dim3(16, 8)); }", 128),
        ("template <typename T> void run(T* f, long n) { k<<<1, n>>>(f); } " + MAIN + "run(f, 512); }", 512),
        ("template <int N> void run(float* f, int n) { k<<<1, dim3(n, N)>>>(f); } " + MAIN + "run<4>(f, 8); }", 32),
        ("int run(float* f, int n) { k<<<1, n>>>(f); return n; } " + MAIN + "int a = run(f, 64) + run(f, 96); }", 96),
        ("#include <algorithm>\n" + MAIN + "int n = atoi(argv[1]); dim3 b(std::min(n, 256)); k<<<1, b>>>(f); }", 256),
        ("#include <algorithm>\n" + RUN + MAIN + "run(f, std::min<int>(argc, 128)); run(f, 32); }", 128),
        (MAIN + "for (int b = 64; b <= 512; b *= 2) k<<<1, b>>>(f); }", 512),
        (RUN + MAIN + "for (int b = 64; b < 1000; b = b * 2) { int c = b; run(f, c); } }", 999),
        (MAIN + "int b = 64; if (argc > 1) b = 128; k<<<1, b>>>(f); }", 128),
        ("static int b = 64;" + MAIN + "if (argc > 1) b = 32; k<<<1, b>>>(f); }", 64),
        (CLASS + "C() : b(16) {} void more() { b *= 1; a = 64; } };" + MAIN + "C c; c.a = 8; k<<<1, c.a>>>(f); }", 64),
        (CLASS + "C() : b(16) {} void go(float* f) { k<<<1, dim3(b, b)>>>(f); } };", 256),
        (MAIN + "size_t b[2]; b[0] = 32; b[1] = 256 / 32; k<<<1, dim3(b[0], b[1])>>>(f); }", 256),
        (MAIN + "size_t b[] = {16, 4}; k<<<1, dim3(b[0], b[1])>>>(f); }", 64),
    ],
)  # fmt: skip
def test_the_size_is_the_largest_of_all_calls(units: Units, tmp_path: Path, text: str, threads: int) -> None:
    assert most_threads(units, tmp_path, text) == threads


@pytest.mark.parametrize(
    "text",
    [
        RUN + MAIN + "run(f, 64); run(f, atoi(argv[1])); }",
        RUN,  # nobody calls it here
        RUN + MAIN + "run(f, 64); auto* other = &run; other(f, 1024); }",
        RUN + "void (*other)(float*, int) = run;" + MAIN + "run(f, 64); }",
        "#define GO run(f, 1024)\n" + RUN + MAIN + "run(f, 64); GO; }",
        RUN + "template <typename T> void never(T* f) { run(f, f->size); }" + MAIN + "run(f, 64); }",
        "void run(float* f, int n) { n *= 2; k<<<1, n>>>(f); } " + MAIN + "run(f, 64); }",
        "void run(float* f, int n) { if (n > 1) run(f, n - 1); k<<<1, n>>>(f); } " + MAIN + "run(f, 64); }",
        "void run(float* f, int n = 1024) { k<<<1, n>>>(f); } " + MAIN + "run(f, 64); run(f); }",
        MAIN + "int b = 64; auto g = [&] { b = argc; }; g(); k<<<1, b>>>(f); }",
        "int read(int&); " + MAIN + "int b = 64; int a = read(b); k<<<1, b>>>(f); }",
        "#include <algorithm>\n" + MAIN + "k<<<1, std::max(argc, 256)>>>(f); }",
        MAIN + "for (int b = 64; b <= 512; b *= 2) { b *= argc; k<<<1, b>>>(f); } }",
        MAIN + "int b; for (b = 64; b <= 512; b *= 2) {} k<<<1, b>>>(f); }",
        MAIN + "for (int b = 1024; b <= argc; b *= 2) k<<<1, b>>>(f); }",
        MAIN + "for (int b = 64; b <= 512; b *= 2) k<<<1, 4096 / b>>>(f); }",
        "#define GO(x) ru ## x\n" + RUN + MAIN + "run(f, 64); GO(n)(f, 1024); }",
        "int b = 64; int* p = &b; " + MAIN + "*p = argc; k<<<1, b>>>(f); }",
        CLASS + "C() : a(16) {} }; int C::* m = &C::a; " + MAIN + "C c; c.*m = argc; k<<<1, c.a>>>(f); }",
        CLASS + "C() : a(16) {} }; " + MAIN + "int C::* m = &C::a; C c; c.*m = argc; k<<<1, c.a>>>(f); }",
        MAIN + "int b = 64; b = b * 2; k<<<1, b>>>(f); }",
        "int b = 64; void read(int*); " + MAIN + "read(&b); k<<<1, b>>>(f); }",
        CLASS + "C() : a(16) {} }; void read(int&); " + MAIN + "C c; read(c.a); k<<<1, c.a>>>(f); }",
        CLASS
        + "C() : a(16) {} }; void read(void*, int); "
        + MAIN
        + "C c; read(&c, sizeof c); k<<<1, c.a>>>(f); }",
        CLASS + "};" + MAIN + "C c{1024, 8}; c.a = 64; k<<<1, c.a>>>(f); }",
        CLASS + "C(int n) : a(n) {} };" + MAIN + "C c(512); k<<<1, c.a>>>(f); }",
        MAIN + "size_t b[2]; b[0] = 32; b[argc] = 64; k<<<1, b[0]>>>(f); }",
        "void fill(size_t*); " + MAIN + "size_t b[2] = {32, 8}; fill(b); k<<<1, b[0]>>>(f); }",
        MAIN + "size_t b[2] = {32, 8}; b[0] *= 2; k<<<1, b[0]>>>(f); }",
        MAIN + "size_t b[2] = {32, 8}; auto g = [&] { b[0] = 512; }; g(); k<<<1, b[0]>>>(f); }",
    ],
)
def test_a_size_that_a_run_may_decide_is_not_known(units: Units, tmp_path: Path, text: str) -> None:
    assert most_threads(units, tmp_path, text) is None


def test_calls_in_other_sources_count(units: Units, tmp_path: Path) -> None:
    declared = "void run(float*, int); void more() { run(nullptr, 512); }"

    assert most_threads(units, tmp_path, RUN + MAIN + "run(f, 64); }", declared) == 512


@pytest.mark.parametrize(
    "text", [RUN + MAIN + "run(f, 64); }", "int run = 64; " + MAIN + "k<<<1, run>>>(f); }"]
)
def test_what_another_compiler_reads_may_ask_for_more(units: Units, tmp_path: Path, text: str) -> None:
    assert most_threads(units, tmp_path, text) == 64
    assert most_threads(units, tmp_path, text, others=(b"void runs();",)) == 64
    assert most_threads(units, tmp_path, text, others=(b"extern int run;",)) is None

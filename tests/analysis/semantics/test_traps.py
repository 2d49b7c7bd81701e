"""Where a plain walk over libclang's cursors gives a wrong answer: programs of a few lines, read by each library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hipscope.analysis.semantics.meaning import Meaning, Units
from hipscope.analysis.semantics.records import FunctionInstance, Place, Type
from hipscope.analysis.source.texts import SourceTexts
from tests.analysis.semantics.conftest import Reader, command_for

HEADER = b"#include <hip/hip_runtime.h>\n"


def one(meaning: Meaning, name: str = "k") -> FunctionInstance:
    (found,) = meaning.named(name)
    return found


def expressions(function: FunctionInstance) -> dict[str, str]:
    """The type of each expression that has bytes of its own, by its text."""
    return {spelled(place): kind.canonical for place, kind in function.types.items()}


def spelled(place: Place) -> str:
    return place.file.read_bytes()[slice(*place.span)].decode("utf-8", "replace")


# --- 1: instances ------------------------------------------------------------------------------------------------


def test_an_instance_that_nothing_in_the_file_uses_is_there_by_its_symbol(read: Reader) -> None:
    text = """
    struct Vec { float x, y; };
    template <typename T, int N> __global__ void k(T* p) { for (int i = 0; i < N; ++i) p[i] = T{}; }
    template <typename T> __global__ void k(T* p, int n) { p[n] = T{}; }
    """
    symbols = ("_Z1kI3VecLi64EEvPT_", "_Z1kIdEvPT_i")

    assert read(text).named("k") == ()
    found = read(text, symbols=symbols)
    assert {f.key for f in found.named("k")} == set(symbols)
    vector = found.function(symbols[0])
    assert vector is not None
    assert [a.canonical if isinstance(a, Type) else a for a in vector.arguments] == ["Vec", 64]
    assert expressions(vector)["p[i]"] == "Vec"
    assert found.errors == ()


def test_a_name_that_cannot_be_written_is_not_there_and_says_nothing_wrong(read: Reader) -> None:
    found = read(
        "__global__ void k(float* p) { *p = 1; }", symbols=("_Z6launchIZ4mainEUliE_EviT_", "_Z4nonePf")
    )

    assert [f.key for f in found.by_key.values()] == ["_Z1kPf"]
    assert found.errors == ()


def test_values_of_expressions(read: Reader, units: Units, tmp_path: Path) -> None:
    text = b"""
    struct P { char c; double d; };
    namespace inside { constexpr int kTable[4] = {2, 3, 5, 7}; constexpr int TILE = 32; constexpr float kHalf = 0.5f; }
    int changing;
    """
    file = tmp_path / "v.hip"
    file.write_bytes(HEADER + text)
    at = (HEADER + text).index(b"kTable")
    asked = ["kTable[3]", "TILE + 1", "sizeof(P)", "kHalf", "changing", "unknown", "1 +"]
    found = units.values(SourceTexts(), command_for(file), asked, Place(file, (at, at + 1)))

    assert found == dict(zip(asked, [7, 33, 16, 0.5, None, None, None], strict=True))


# --- 5: macros -----------------------------------------------------------------------------------------------------


def test_what_stands_in_an_argument_of_a_macro_has_its_own_bytes(read: Reader) -> None:
    kernel = one(
        read("""
    #define ADD(address, value) atomicAdd((address), (value))
    #define SET(p, i, v) p[i] = v
    __global__ void k(int* hist, const int (*in)[4]) {
        int i = threadIdx.x;
        ADD(&hist[i & 15], in[i][2]);
        SET(hist, 3, 4);
    }
    """)
    )
    found = expressions(kernel)

    assert (found["hist[i & 15]"], found["in[i][2]"]) == ("int", "const int")
    assert not [text for text in found if text.startswith("SET")]


# --- 7: arguments of templates ------------------------------------------------------------------------------------


def test_a_bool_that_is_true_is_one_and_a_branch_not_taken_is_absent(read: Reader) -> None:
    found = read("""
    template <bool Up, int Step, unsigned char Mask> __global__ void k(int* p) {
        if constexpr (Up) p[1] = Step; else p[0] = Mask;
    }
    void run(int* p) { k<true, -1, 255><<<1, 1>>>(p); k<false, 2, 1><<<1, 1>>>(p); }
    """)
    answers = {f.arguments: {"p[0]", "p[1]"} & expressions(f).keys() for f in found.named("k")}

    assert answers == {(1, -1, 255): {"p[1]"}, (0, 2, 1): {"p[0]"}}


# --- 8: bytes of the text, and texts that change -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [b"// \xa9\r\n__global__ void k(float* \xc3\xa4) {\r\n  \xc3\xa4[2] = 1;\r\n}\r\n"]
)
def test_offsets_are_bytes_of_the_file_as_it_is(read: Reader, text: bytes) -> None:
    assert expressions(one(read(text)))["ä[2]"] == "float"


def test_unsaved_texts_of_the_file_and_of_headers_count(units: Units, tmp_path: Path) -> None:
    file, header = tmp_path / "p.hip", tmp_path / "h.h"
    file.write_bytes(HEADER + b'#include "h.h"\n__global__ void k(T* p) { p[0] = 1; }\n')
    header.write_bytes(b"using T = int;\n")
    command = command_for(file)
    saved = units.meaning(SourceTexts(), command)
    typed = units.meaning(SourceTexts({header: b"using T = double;\n"}), command)
    edited = units.meaning(
        SourceTexts({file: HEADER + b"__global__ void k(short* p) { p[0] = 1; }\n"}), command
    )
    again = units.meaning(SourceTexts(), command)

    answers = [one(m).parameters[0].type.canonical for m in (saved, typed, edited, again)]
    assert answers == ["int *", "double *", "short *", "int *"]
    assert header in saved.includes


def test_a_reading_leaves_no_file_behind(
    units: Units, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    file = tmp_path / "p.hip"
    file.write_bytes(HEADER + b"__global__ void k(int* p) { p[0] = 1; }\n")
    units.meaning(SourceTexts(), command_for(file))

    assert list((tmp_path / "t").iterdir()) == []


# --- 9: whose function it is -----------------------------------------------------------------------------------------


def test_a_header_of_the_program_is_its_own_however_it_was_found(units: Units, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.h").write_text("__device__ inline float mine(float x) { return x; }\n")
    file = tmp_path / "p.hip"
    file.write_bytes(HEADER + b'#include "own.h"\n__global__ void k(float* p) { *p = mine(sqrtf(p[1])); }\n')
    kernel = one(units.meaning(SourceTexts(), command_for(file, f"-isystem{tmp_path / 'own'}")))

    assert {c.name: (c.builtin, c.callee) for c in kernel.calls} == {
        "mine": (False, "_Z4minef"),
        "sqrtf": (True, None),
    }


@pytest.mark.parametrize(
    ("call", "parameter"),
    [("sin(x)", "float"), ("sin(d)", "double"), ("::sqrt(x)", "float"), ("fabs(d)", "double")],
)
def test_a_call_has_the_types_of_the_overload_that_the_compiler_chose(
    read: Reader, call: str, parameter: str
) -> None:
    kernel = one(read(f"__global__ void k(float* p, float x, double d) {{ *p = {call}; }}"))
    (found,) = [c for c in kernel.calls if c.name in call]

    assert [p.canonical for p in found.parameters] == [parameter]


# --- 10: launches ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("launch", "kernel", "block"),
    [
        ("hipLaunchKernelGGL(k<float>, dim3(2), dim3(64), 0, 0, f);", "_Z1kIfEvPT_", 64),
        ("hipLaunchKernelGGL((k<double>), 2, 32, 0, 0, d);", "_Z1kIdEvPT_", 32),
        ("auto chosen = k<float>; chosen<<<1, 16>>>(f);", "_Z1kIfEvPT_", 16),
        ("auto chosen = k<float>; if (f) chosen = other; chosen<<<1, 16>>>(f);", None, None),
        ("const int size = 96; k<float><<<1, size>>>(f);", "_Z1kIfEvPT_", 96),
        ("int size = 96; size *= 2; k<float><<<1, size>>>(f);", "_Z1kIfEvPT_", None),
        ("dim3 block(8, 8, 2); k<float><<<1, block>>>(f);", "_Z1kIfEvPT_", 128),
        ("dim3 block(8); block.y = n; k<float><<<1, block>>>(f);", "_Z1kIfEvPT_", None),
        ("k<<<n, kThreads>>>(d);", "_Z1kIdEvPT_", 256),
    ],
)
def test_a_launch(read: Reader, launch: str, kernel: str | None, block: int | None) -> None:
    found = read(f"""
    constexpr int kThreads = 256;
    template <typename T> __global__ void k(T* p) {{ *p = 0; }}
    __global__ void other(float* p) {{ *p = 1; }}
    void run(float* f, double* d, int n) {{ {launch} }}
    """).launches()

    assert [(x.kernel, x.block_value) for x in found] == ([] if kernel is None else [(kernel, block)])


CLASSES = """
template <class T> __global__ void fill(T* a) { a[threadIdx.x] = 1; }
__global__ void plain(float* a) { a[threadIdx.x] = 1; }
template <class T, int N> void go(T* p) { fill<T><<<dim3(1), dim3(N)>>>(p); }
template <class T> void unused(T* p) { fill<T><<<1, p[3]>>>(p); }
template <class T> struct Base { virtual void run(T* p) = 0; };
template <class T, int N> struct Way : Base<T> {
  void run(T* p) override;
  void other(T* p) { auto f = [=] { hipLaunchKernelGGL(plain, 1, 64, 0, 0, p); }; f(); }
  void again(T* p) { plain<<<1, N>>>(p); }
};
template <class T, int N> void Way<T, N>::run(T* p) { RUN }
"""


@pytest.mark.parametrize(
    ("run", "rest", "expected"),
    [
        # Through a base class: which instances there are is not known, so only what none of them decides is.
        ("fill<T><<<dim3(p[0]), dim3(512)>>>(p);", "", {("fill", 512), ("plain", 64), ("plain", None)}),
        ("plain<<<1, 2 * N>>>(p);", "", {("plain", 64), ("plain", None)}),
        ("go<T, N>(p);", "", {("fill", None), ("plain", 64), ("plain", None)}),
        # One that is called by its name has its instances, unless other files may have more.
        ("", "void use(float* p) { Way<float, 32>{}.again(p); }", {("plain", 32), ("plain", 64)}),
        (
            "",
            "template struct Way<float, 32>; void use(float* p) { Way<float, 32>{}.again(p); }",
            {("plain", 32), ("plain", 64), ("plain", None)},
        ),
    ],
    ids=["virtual", "dependent", "helper", "called", "explicit"],
)
def test_launches_in_members_of_class_templates(
    read: Reader, run: str, rest: str, expected: set[tuple[str, int | None]]
) -> None:
    symbols = ("_Z4fillIfEvPT_", "_Z4fillIdEvPT_")
    meaning = read(CLASSES.replace("RUN", run) + rest, symbols=symbols)
    assert not meaning.errors
    names = {f.key: f.name for f in meaning.by_key.values()}
    assert {(names[one.kernel], one.block_value) for one in meaning.launches()} == expected
    launched = {one.kernel for one in meaning.launches()}
    assert launched.isdisjoint(symbols) or launched >= set(symbols)
    # How the sizes are computed may hang on the instance as well: an edit of them asks for that.
    assert all(
        one.grid_sizes is one.block_sizes is None for one in meaning.launches() if one.kernel in symbols
    )


# --- 11: what must not end the process -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"__global__ void k(int* p) {{ *p = {'(' * 200}1{')' * 200}; }}",
        f"__global__ void k(int* p) {{ *p = {'+'.join(['1'] * 3000)}; }}",
        "\x01\x02 ))) template <<<",
        "__global__ void k(int* p) { p[",
        "template <typename T> __global__ void k(T* p) { p[sizeof(T)] = T::count; for (int i = 0; i < T::n; ++i); }",
    ],
    ids=["nested", "long", "junk", "half", "dependent"],
)
def test_odd_texts_are_survived(read: Reader, text: str) -> None:
    assert isinstance(read(text), Meaning)


# --- 12: errors ----------------------------------------------------------------------------------------------------


def test_an_error_counts_for_the_functions_that_it_may_change(read: Reader) -> None:
    found = read("""
    struct Broken { undeclared_t member; int good; };
    __device__ int helper(int x) { return x + missing; }
    __global__ void in_it(int* p) { p[0] = 1; oops; }
    __global__ void through_a_call(int* p) { p[0] = helper(2); }
    __global__ void through_a_type(Broken b, int* p) { p[0] = b.good; }
    __global__ void clean(int* p) { p[0] = 1; }
    """)
    doubts = {name: [e.message for e in found.doubts(one(found, name).key)] for name in (
        "in_it", "through_a_call", "through_a_type", "clean",
    )}  # fmt: skip

    assert "oops" in doubts["in_it"][0]
    assert "missing" in doubts["through_a_call"][0]
    assert "undeclared_t" in doubts["through_a_type"][0]
    assert doubts["clean"] == []
    assert len(found.errors) == 3


def test_a_missing_header_leaves_the_rest(read: Reader) -> None:
    found = read("""
    #include <not/there.h>
    template <typename T> __global__ void k(T* p) { p[1] = 0; }
    void run(float* p) { k<float><<<1, 1>>>(p); }
    """)

    assert expressions(one(found))["p[1]"] == "float"
    assert "not/there.h" in found.errors[0].message


# --- 13: records outlive the unit ------------------------------------------------------------------------------------


def test_an_answer_stays_when_its_unit_is_read_again(read: Reader) -> None:
    first = read("__global__ void k(float* p) { p[1] = 2; }")
    before = repr(one(first).types)
    read("__global__ void other(int* q) { q[3] = 4; }")

    assert repr(one(first).types) == before


# --- 14: headers that the library cannot keep precompiled -------------------------------------------------------------

READS = """
import sys
from pathlib import Path
from hipscope.analysis.semantics.meaning import Units
from hipscope.analysis.semantics.records import Library
from hipscope.analysis.source.texts import SourceTexts
from tests.analysis.semantics.conftest import command_for

library, headers, file = map(Path, sys.argv[1:4])
units = Units(Library(library, headers, False))
command = command_for(file, sys.argv[4])
print(len(units.meaning(SourceTexts(), command, ()).named("k")))
file.write_text(file.read_text().replace("= 1", "= 2"))
print(len(units.meaning(SourceTexts(), command, ()).named("k")))
"""


@pytest.mark.parametrize("standard", ["-std=c++20", "--std=gnu++2b"])
def test_headers_of_later_standards_do_not_end_the_process(
    standard: str, units: Units, tmp_path: Path
) -> None:
    file = tmp_path / "memory.hip"
    host = "int main() { auto host = std::make_unique<unsigned[]>(5); return host[0]; }"
    file.write_text(f"#include <memory>\n__global__ void k(int* p) {{ p[0] = 1; }}\n{host}\n")
    library = units.library
    asked = subprocess.run(
        [sys.executable, "-c", READS, library.path, library.resource_directory, file, standard],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip

    assert (asked.returncode, asked.stdout.split()) == (0, ["1", "1"]), asked.stderr

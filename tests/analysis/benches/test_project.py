"""Files of kernels without `main` as programs: signatures, generated sources, and which benches run."""

import dataclasses
from pathlib import Path

import pytest

from hipscope.analysis.benches.grammar import BenchError
from hipscope.analysis.benches.project import resolve_benched
from hipscope.analysis.errors import BuildFailed, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project, program_of
from hipscope.analysis.source.texts import SourceTexts

KERNELS = """#include <hip/hip_runtime.h>
void elsewhere(float*);
void host(float* x) { elsewhere(x); }
struct Pair { float a; int b; };
__constant__ float weights[4];
namespace ns {
template <class T, int N>
__global__ void scale(const T* __restrict__ x, T* y, int n, T by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * by + weights[i % 4] + N;
}
}
__global__ void pick(const Pair* pairs, const int* at, float* out, unsigned n, Pair add, float** list, void* raw) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = pairs[at[i]].a + pairs[at[i]].b + add.a;
}
__device__ void helper(int) {}
"""
SCALE = "ns::scale<float, 2> grid=ceil(n/64) block=64 x=f32[n]:normal y=[n] by=0.5 n=100|200 @weights=f32[4]:arange"


def file_with(folder: Path, *lines: str) -> Path:
    path = folder / "kernels.hip"
    path.write_text("".join(f"// hipscope: bench {line}\n" for line in lines) + KERNELS)
    return path


def generated(path: Path, bench: str | None = None) -> str:
    project = resolve_benched(path, bench=bench)
    assert project.main_source is not None
    return project.main_source.read_text()


@pytest.mark.slow
def test_a_file_with_a_bench_runs_and_its_kernels_stand_on_its_lines(tmp_path: Path) -> None:
    path = file_with(tmp_path, SCALE)
    project, run = resolve_benched(path), Run()

    session = profile_project(project, run, options=ProfileOptions(backend="emulator"))

    assert (project.own_source, session.profile.program.exit_code) == (path, 0)
    (kernel,) = session.profile.kernels
    assert (kernel.file, len(kernel.dispatches)) == (str(path), 6)
    lines = session.profile.program.output.splitlines()
    assert lines[0] == "ns::scale<float,2> n=100"
    assert lines[1].startswith("  y: floats ")
    narrowed, _ = program_of(session, project, run)
    assert narrowed.sources == (path,)


def test_unsaved_text_is_what_counts(tmp_path: Path) -> None:
    path = file_with(tmp_path)
    unsaved = path.read_text() + f"// hipscope: bench {SCALE}\n"

    project = resolve_benched(path, run=Run(texts=SourceTexts({path: unsaved.encode()})))

    assert project.subject == path
    with pytest.raises(UsageError, match="no `main` function"):
        resolve_benched(path)


def test_one_bench_is_chosen_by_its_name_or_its_kernel(tmp_path: Path) -> None:
    path = file_with(tmp_path, f"{SCALE} name=small", SCALE.replace("100|200", "300"))

    assert "n=200" in generated(path, "small")
    assert "dim3(5, 1, 1)" not in generated(path, "small")
    assert generated(path, "ns::scale<float,2>").count("dim3(5, 1, 1)") == 1
    assert generated(path, "scale").count("static void hipscope_bench_") == 3
    with pytest.raises(UsageError, match="there is no bench `smal`") as caught:
        generated(path, "smal")
    assert caught.value.hint == "did you mean `small`?"


def test_a_bench_may_stand_in_the_settings_and_serve_a_header(tmp_path: Path) -> None:
    header = file_with(tmp_path).rename(tmp_path / "kernels.cuh")
    (tmp_path / "hipscope.toml").write_text(f'[[bench]]\nfile = "kernels.cuh"\nline = "{SCALE}"\n')

    assert f'#include "{header}"' in generated(header)
    (tmp_path / "hipscope.toml").write_text(
        '[[bench]]\nfile = "kernels.cuh"\nline = "ns::scale<float, 2> gird=1"\n'
    )
    with pytest.raises(BenchError, match=r"hipscope\.toml:3:9: bench: the argument `x`"):
        generated(header)


def test_main_comes_first_unless_a_bench_is_named(tmp_path: Path) -> None:
    path = file_with(tmp_path, SCALE)
    path.write_text(path.read_text() + "int main() { return 3; }\n")

    assert resolve_benched(path).main_source == path
    assert "#define main hipscope_main_of_the_file" in generated(path, "scale")


PICK = "pick grid=1 block=64 n=64 pairs=[n]:uniform at=[n]:index(n) out=[n] add={1, 2} list=null raw=u8[n]"


def test_structures_vectors_and_pointers_get_what_their_types_hold(tmp_path: Path) -> None:
    text = generated(file_with(tmp_path, PICK))

    assert (
        '"pairs", 64ull, 8, {{0, hipscope_bench::hipscope_kind::f32}, {4, hipscope_bench::hipscope_kind::i32}}'
        in text
    )
    assert "hipscope_a4{1, 2};" in text
    assert "nullptr" in text


@pytest.mark.parametrize(
    ("line", "word", "said"),
    [
        (
            SCALE.replace(" by=0.5", ""),
            "ns::scale",
            "the argument `by` (`float`) of `ns::scale<float, 2>` is missing",
        ),
        (f"{SCALE} bye=3", "bye", "`ns::scale<float, 2>` has no parameter `bye`, and nothing uses it"),
        (SCALE.replace("f32[n]", "f64[n]"), "f64", "`x` is `const float *__restrict"),
        (SCALE.replace("100|200", "100.5"), "n]:normal", "`x` is 100.5, not a whole number"),
        (SCALE.replace("block=64", "block=64,32"), "64,32", "a workgroup of 2048 threads"),
        (SCALE.replace("block=64", "block=64|64|64"), "100|200", "`n` has 2 values, another setting 3"),
        (SCALE.replace("by=0.5", "by=[n]"), "[n]", "`by` is no pointer but `float`"),
        (SCALE.replace("ns::scale<float, 2>", "scale"), "scale", "there is no kernel `scale`"),
        (SCALE.replace("<float, 2>", ""), "ns::scale", "`ns::scale` is a template"),
        ("helper grid=1 block=1 arg1=1", "helper", "`helper` is no kernel"),
        (PICK.replace("add={1, 2}", "add=1"), "1 list", "`add` is a `Pair`: write add={...}"),
        (PICK.replace("n=64", "n=-1"), "n]:uniform", "`pairs` is -1, less than 0"),
        (PICK.replace("null", "[4]"), "[4]", "`list` (`float **`): it holds a pointer"),
        (PICK.replace("u8[n]", "[n]"), "[n]", "`raw` needs a type"),
        (PICK.replace("[n]:uniform", "[1024*1024*1024*64]"), "[1024", "the buffers take"),
    ],
)
def test_what_does_not_fit_the_kernel_is_one_line_with_its_place(
    tmp_path: Path, line: str, word: str, said: str
) -> None:
    with pytest.raises(BenchError) as caught:
        resolve_benched(file_with(tmp_path, line))

    error = caught.value
    assert error.line == 1
    assert error.message.count("\n") == 0
    assert said in error.message
    columns = [20 + at for at in range(len(line)) if line.startswith(word, at)]
    assert error.column in columns


def test_a_header_that_is_missing_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = file_with(tmp_path, SCALE)
    more = "<hip/hip_runtime.h>\n#include <hipcub/none.hpp>"
    path.write_text(path.read_text().replace("<hip/hip_runtime.h>", more))

    with pytest.raises(BuildFailed, match=r"kernels\.hip:3: 'hipcub/none\.hpp' file not found") as caught:
        resolve_benched(path)

    assert "flags" in (caught.value.hint or "")


def test_the_settings_of_a_bench_are_those_of_its_file(tmp_path: Path) -> None:
    path = file_with(tmp_path, SCALE)
    (tmp_path / "hipscope.toml").write_text('flags = ["-DEXTRA"]\ntimeout_s = 7\n')

    project = resolve_benched(path)

    assert (project.config.flags[0], project.config.timeout_s) == ("-DEXTRA", 7)
    assert dataclasses.replace(project, main_source=None).own_source == path

"""Kernels are taken out of files with headers that no HIP compiler reads; what stays is where it was."""

from pathlib import Path

import pytest

from hipscope.analysis.benches.extraction import Extraction, needs_extraction
from hipscope.analysis.benches.project import resolve_benched
from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.discovery import find_toolchain

EXTENSION = """#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cmath>
using namespace at;
#define BLOCK 256
#define CHECK(x) TORCH_CHECK(x.is_cuda())
typedef float acc_t;
#ifdef SLOW
constexpr int kStep = 1;
#else
constexpr int kStep = 2;
#endif
struct Limits { float low, high; };
namespace {
template <typename T>
__device__ T clamp(T z, Limits by) { return z < by.low ? by.low : z > by.high ? by.high : z; }
template <typename T>
__device__ T unused(T z) { return at::Half(z); }
// hipscope: bench gate<float> grid=4 block=64 x=[n]:normal out=[n] n=256 by={-1, 1}
template <typename T>
__global__ void gate(const T* x, T* out, int n, Limits by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    acc_t v = kStep + BLOCK;
    if (i < n) out[i] = clamp<T>(x[i], by) * v;
}
}
template <typename T>
__global__ void packed(torch::PackedTensorAccessor32<T, 1> x) { x[threadIdx.x] = 0; }
torch::Tensor n(torch::Tensor x, int LARGE) {
    CHECK(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", ([&] { gate<scalar_t><<<4, BLOCK>>>(x, x, 1, {}); }));
    return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &n); }
"""


def test_what_the_kernel_uses_stays_on_its_lines_and_the_rest_is_blank() -> None:
    seen = Extraction(frozenset(("gate",)))(EXTENSION.encode()).decode()

    lines, before = seen.split("\n"), EXTENSION.split("\n")
    assert [len(line) for line in lines] == [len(line) for line in before]
    blank = {number for number, line in enumerate(lines, 1) if not line.strip()}
    gone = [
        "torch/",
        "cuda_r",
        "using",
        "unused",
        "at::Half",
        "packed",
        "Packed",
        "forward",
        "Tensor n",
        "CHECK(x);",
        "AT_",
    ]
    gone += ["return x;", "PYBIND"]
    assert {n for n in blank if before[n - 1].strip() not in ("", "}", "template <typename T>")} == {
        n for n, line in enumerate(before, 1) if any(word in line for word in gone)
    }


def test_a_kernel_of_an_extension_is_compiled_without_its_headers_also_as_a_candidate(tmp_path: Path) -> None:
    path = tmp_path / "gate.cu"
    path.write_text(EXTENSION)
    project = resolve_benched(path)
    candidate = Run().replacing(path, EXTENSION.replace("* v;", "* v + 1;").encode())

    toolchain = find_toolchain(project.config)
    before, after = (compile_device(project, toolchain, path, run) for run in (Run(), candidate))

    assert list(before.kernels) == list(after.kernels)
    assert before.path.read_bytes() != after.path.read_bytes()


def test_a_kernel_that_needs_pytorch_itself_names_the_line_and_what_brings_the_headers(
    tmp_path: Path,
) -> None:
    path = tmp_path / "packed.cu"
    path.write_text(EXTENSION.replace("bench gate<float> grid=4", "bench packed<float> grid=1"))

    with pytest.raises(BuildFailed, match=r"packed\.cu:28: .*`torch::PackedTensorAccessor32`") as caught:
        resolve_benched(path)

    assert "pip install torch" in (caught.value.hint or "")
    assert [d.line for d in caught.value.diagnostics] == [28]


def test_with_pytorch_installed_such_a_file_is_compiled_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = tmp_path / "site" / "torch" / "include" / "torch"
    headers.mkdir(parents=True)
    (headers.parents[1] / "__init__.py").touch()
    (headers / "extension.h").write_text(
        "namespace torch { template <class T, int> struct Accessor { T* data; }; }\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    path = tmp_path / "packed.cu"
    path.write_text(
        "#include <torch/extension.h>\n// hipscope: bench packed grid=1 block=1 x={nullptr}\n"
        "__global__ void packed(torch::Accessor<float, 1> x) { if (x.data) *x.data = 0; }\n"
    )

    project = resolve_benched(path)

    assert project.extract is None
    assert f"-isystem{headers.parent}" in project.config.flags


def test_a_file_of_hip_alone_is_taken_whole() -> None:
    assert needs_extraction(EXTENSION)
    assert needs_extraction("__global__ void k() {}\nvoid f(void* p) { cudaFree(p); }\n")
    assert not needs_extraction(
        '#include <hip/hip_runtime.h>\n// #include <torch/extension.h>\n#include "cupy.h"\n'
    )


@pytest.mark.parametrize("named", ["c10::Half", "at::BFloat16", "__half"])
def test_a_bench_may_name_pytorchs_narrow_types_without_its_headers(tmp_path: Path, named: str) -> None:
    path = tmp_path / "scale.cu"
    path.write_text(
        "#include <torch/extension.h>\n"
        f"// hipscope: bench scale<{named}> grid=1 block=64 x={'bf16' if 'BF' in named else 'f16'}[64]:ones\n"
        "template <typename scalar_t>\n__global__ void scale(scalar_t* x) { x[threadIdx.x] = (scalar_t)2.0f; }\n"
    )
    project = resolve_benched(path)
    kernels = compile_device(project, find_toolchain(project.config), path, Run()).kernels
    assert len(kernels) == 1

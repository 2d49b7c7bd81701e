"""The bench that an editor writes first fits the kernel that it was written for."""

from pathlib import Path

import pytest

from hipscope.analysis.benches.first_line import first_bench, kernels_by_bench
from hipscope.analysis.benches.project import resolve_benched

SOURCE = """#include <hip/hip_runtime.h>
struct Op { float by; };
namespace ns {
    template <typename T, int kBlock>
    __global__ void scale(const T* x, const int* at, T* out, int n, float by, Op op) {
        extern __shared__ T held[];
        int i = blockIdx.x * kBlock + threadIdx.x;
        held[threadIdx.x] = x[i];
        if (i < n) out[i] = held[threadIdx.x] * by + at[i] + op.by;
    }
}
__global__ void __launch_bounds__(128) rows(double* matrix, unsigned height, unsigned width, int stride, int grid) {
    for (unsigned c = threadIdx.x; c < width; c += blockDim.x) matrix[blockIdx.x * stride + c] += grid;
}
// hipscope: bench image grid=1 block=1
__global__ void image(unsigned char* pixels, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) pixels[y * width + x] = x;
}
"""


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        (
            "scale",
            4,
            [
                "    // hipscope: bench ns::scale<float, 256>",
                "grid=ceil(n/256) block=256",
                "lds=256*4 x=[n]:normal",
                "at=[n]:index(n) out=[n] n=65536 by=1 op={}",
            ],
        ),
        (
            "rows",
            12,
            [
                "// hipscope: bench rows grid=height block=128 matrix=[height*width*grid]",
                "height=32 width=32",
                "stride=grid .grid=32",
            ],
        ),
        (
            "image",
            16,
            [
                "// hipscope: bench image grid=ceil(width/16),ceil(height/16) block=16,16",
                "pixels=[width*height]",
                "width=256 height=256",
            ],
        ),
    ],
)
def test_the_line_is_written_from_the_signature(name: str, line: int, words: list[str]) -> None:
    found = first_bench(SOURCE, name)

    assert found is not None
    assert (found.line, found.comment) == (line, " ".join(words))


def test_it_fits_the_kernel(tmp_path: Path) -> None:
    lines = SOURCE.splitlines()
    for name in ("image", "rows", "scale"):
        found = first_bench(SOURCE, name)
        assert found is not None
        lines.insert(found.line - 1, found.comment)
    path = tmp_path / "kernels.hip"
    path.write_text("\n".join(line for line in lines if not line.endswith("image grid=1 block=1")))

    assert resolve_benched(path).subject == path


def test_a_kernel_with_a_bench_is_told_from_one_without() -> None:
    found = [(k.name, k.line, k.benched) for k in kernels_by_bench(SOURCE)]
    assert found == [("scale", 4, False), ("rows", 12, False), ("image", 16, True)]
    assert first_bench(SOURCE, "none") is None

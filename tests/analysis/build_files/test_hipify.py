"""A CUDA source is HIP's after what stands in for hipify, as a Makefile calls it."""

import subprocess
import sys
from pathlib import Path

import pytest

from hipscope.analysis.build_files import hipify
from hipscope.analysis.build_files.hipify import hipified
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import command_project

CUDA = """#include <cuda_runtime.h>
#include "mine.h"
__constant__ float scale[4];
__global__ void half_of(float* p) { p[threadIdx.x] *= scale[0]; }
int main() {
    float *p, *q, one[4] = {.5f};
    cudaDeviceProp facts;
    cudaGetDeviceProperties(&facts, 0);
    cudaMallocHost(&q, 256);
    cudaMemcpyToSymbol(scale, one, sizeof one);
    if (cudaError_t wrong = cudaMalloc(&p, 256)) return wrong == cudaErrorMemoryAllocation;
    half_of<<<1, 64>>>(p);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


@pytest.mark.parametrize(
    ("cuda", "hip"),
    [
        ("#include <cuda_fp16.h>", '#include "hip/hip_fp16.h"'),
        ("cudaThreadSynchronize();", "hipDeviceSynchronize();"),
        ("cudaDevAttrMaxThreadsPerBlock", "hipDeviceAttributeMaxThreadsPerBlock"),
        ("cudaMemcpyFromSymbol(out, in, 4);", "hipMemcpyFromSymbol(out, HIP_SYMBOL(in), 4);"),
        ("cuModuleLoad(&m, f); CUmodule m;", "hipModuleLoad(&m, f); hipModule_t m;"),
        ("cublasHandle_t h = CUBLAS_OP_N;", "hipblasHandle_t h = HIPBLAS_OP_N;"),
        ("cub::DeviceReduce::Sum", "hipcub::DeviceReduce::Sum"),
        ("int curious = mycudaThing + cuts(3); // nvcc", "int curious = mycudaThing + cuts(3); // nvcc"),
    ],
)
def test_names_become_those_of_hip(cuda: str, hip: str) -> None:
    assert hipified(cuda).removeprefix('#include "hip/hip_runtime.h"\n') == hip


def test_a_makefile_that_hipifies_is_built_without_rocm(tmp_path: Path, toolchain: Toolchain) -> None:
    if toolchain.calls.rocm is not None:
        pytest.skip("ROCm is installed")
    (tmp_path / "mine.h").write_text("#pragma once\n")
    (tmp_path / "main.cu").write_text(CUDA)
    (tmp_path / "Makefile").write_text(
        "app: main.hip\n\thipcc -I. -o $@ $<\n%.hip: %.cu\n\thipify-perl $< > $@\n"
    )
    project = command_project(tmp_path, Config(build="make", run="./app"), None)
    assert (build_program(project, toolchain).directory / "app").exists()


def test_its_options_are_taken(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("cudaFree(0);\n")
    words = [
        sys.executable,
        str(Path(hipify.__file__)),
        "a.cu",
        "-o",
        "b.cpp",
        "--print-stats",
        "--",
        "-x",
        "cuda",
    ]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert "hipFree(0);" in (tmp_path / "b.cpp").read_text()
    subprocess.run([*words[:2], "-inplace", "a.cu"], cwd=tmp_path, check=True)
    assert "hipFree(0);" in (tmp_path / "a.cu").read_text()

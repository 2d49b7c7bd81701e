"""What to install is said of what programs for AMD GPUs are built with."""

import pytest

from hipscope.analysis.build_files.absent_libraries import what_to_install


@pytest.mark.parametrize(
    ("complaint", "library"),
    [
        ("main.cpp:1:10: error: 'mpi.h' file not found", "MPI: install libopenmpi-dev"),
        ("a.hip:2:10: error: 'thrust/copy.h' file not found (and 2 more)", "Thrust: install libthrust-dev"),
        ("'hipcub/hipcub.hpp' file not found", "hipCUB: install ROCm's hipcub-dev"),
        ("'hipblas/hipblas.h' file not found", "hipBLAS: install ROCm's hipblas-dev"),
        ("main.hip:2:10: error: 'libavcodec/avcodec.h' file not found", "FFmpeg: install libavformat-dev"),
        ("'hipfft.h' file not found", "hipFFT: install ROCm's hipfft-dev"),
        ('a package configuration file provided by "rocthrust" with any of', "Thrust: install libthrust-dev"),
        ("Could NOT find MPI (missing: MPI_CXX_FOUND)", "MPI: install"),
        ('provided by "ROCM" (requested version 0.8)', "ROCm's CMake modules: install rocm-cmake"),
        ("/usr/bin/ld: cannot find -lrocblas: No such file", "rocBLAS: install ROCm's rocblas-dev"),
        ("ld.lld: error: unable to find library -lroctx64", "rocTracer and rocTX: install"),
        ("io.cpp:3:10: fatal error: png.h: No such file or directory", "libpng: install libpng-dev"),
        ("Could NOT find OpenMP_CXX (missing: OpenMP_CXX_FLAGS)", "OpenMP: install libomp-dev"),
        ("Could NOT find BLAS (missing: BLAS_LIBRARIES)", "BLAS: install libopenblas-dev"),
        ("/bin/sh: 1: hipify-perl: not found", "hipify: install ROCm's hipify-clang"),
        ("CMake Error at FetchContent.cmake:1087: Build step for googletest failed: 2", "install libgtest-dev"),
        ("CMake Error at FetchContent.cmake:1087: Build step for stb failed: 2", "without a network"),
        ("src/ofi.h:8:10: error: 'rdma/fabric.h' file not found", "libfabric: install libfabric-dev"),
        ("Could NOT find Vulkan (missing: Vulkan_LIBRARY)", "Vulkan: install libvulkan-dev"),
        ("types.h:11:10: error: H5Include.h: No such file or directory", "libhdf5-dev"),
        ("cannot find HIP Standard Parallelism Acceleration library; provide it via", "hipstdpar-dev"),
        ("'rocprofiler.h' file not found", "rocprofiler-dev"),
        ("'cuda/std/cstdint' file not found", "libhipcxx"),
    ],
)  # fmt: skip
def test_the_library_is_named_with_its_package(complaint: str, library: str) -> None:
    assert library in (what_to_install(complaint) or "")


@pytest.mark.parametrize(
    "complaint",
    ["'mine.h' file not found", "'cub/cub.cuh' file not found", 'provided by "Unheard"', "syntax error"],
)
def test_nothing_is_said_of_what_is_not_known(complaint: str) -> None:
    assert what_to_install(complaint) is None

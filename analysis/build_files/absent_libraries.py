"""Libraries that programs are built with and that may not be installed: whose a header or a CMake package is.

Takes a compiler's or CMake's complaint, gives what to install.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class AbsentLibrary:
    """`names`: its folder of headers, a header or a CMake package, as a regular expression. `packages`: where it is."""

    title: str
    names: str
    packages: str


# Debian's names were asked of its package lists (2026-11-28). Names of ROCm's own packages are from memory.
LIBRARIES = (
    AbsentLibrary("MPI", r"mpi\.h|MPI(?:_\w+)?", "libopenmpi-dev or libmpich-dev"),
    AbsentLibrary("GLM", r"glm(?:/.*)?", "libglm-dev"),
    AbsentLibrary("libnuma", r"numa(?:\.h)?", "libnuma-dev"),
    AbsentLibrary("Boost", r"boost/.*|Boost", "libboost-all-dev"),
    AbsentLibrary("Eigen", r"Eigen/.*|Eigen3", "libeigen3-dev"),
    AbsentLibrary("HDF5", r"hdf5\.h|H5\w*\.h|HDF5", "libhdf5-dev"),
    AbsentLibrary("FFTW", r"fftw3\.h|FFTW3?", "libfftw3-dev"),
    AbsentLibrary("OpenCV", r"opencv2?/.*|OpenCV", "libopencv-dev"),
    AbsentLibrary("ROCm's CMake modules", r"ROCM|ROCmCMakeBuildTools", "rocm-cmake"),
    AbsentLibrary("Thrust", r"(?:thrust|rocthrust)(?:/.*)?", "libthrust-dev, librocprim-dev (or ROCm's rocthrust-dev)"),
    AbsentLibrary("hipstdpar", r"HIP Standard Parallelism\w*|hipstdpar(?:/.*)?", "ROCm's hipstdpar-dev (rocThrust)"),
    AbsentLibrary("hipCUB", r"hipcub(?:/.*)?", "ROCm's hipcub-dev"),
    AbsentLibrary("rocPRIM", r"rocprim(?:/.*)?", "librocprim-dev, ROCm's rocprim-dev"),
    AbsentLibrary("rocWMMA", r"rocwmma(?:/.*)?", "ROCm's rocwmma-dev"),
    AbsentLibrary("Composable Kernel", r"ck(?:_tile)?/.*|composable_kernel", "ROCm's composablekernel-dev"),
    AbsentLibrary("rocTracer and rocTX", r"roctracer(?:/.*|_\w+\.h|64)?|roctx(?:\.h|64)", "ROCm's roctracer-dev"),
    AbsentLibrary("rocProfiler", r"rocprofiler(?:/.*|\.h|64)?|rocprofiler-sdk(?:/.*)?", "ROCm's rocprofiler-dev"),
    AbsentLibrary("libhipcxx", r"(?:cuda|hip)/std/.*|libhipcxx", "ROCm's libhipcxx"),
    AbsentLibrary("RCCL", r"(?:rccl/)?rccl\.h|rccl", "ROCm's rccl-dev"),
    AbsentLibrary("MIOpen", r"miopen(?:/.*)?", "ROCm's miopen-hip-dev"),
    AbsentLibrary("OpenMP", r"omp\.h|omp|OpenMP(?:_\w+)?", "libomp-dev"),
    AbsentLibrary("BLAS", r"cblas\.h|c?blas|openblas|BLAS", "libopenblas-dev"),
    AbsentLibrary("LAPACK", r"lapacke\.h|lapacke?|LAPACK", "liblapacke-dev"),
    AbsentLibrary("GSL", r"gsl/.*|gsl(?:cblas)?|GSL", "libgsl-dev"),
    AbsentLibrary("C++23's standard library", r"print|expected|generator|flat_map|mdspan|format", "libstdc++-14-dev"),
    AbsentLibrary("libpng", r"png\.h|png(?:16)?|PNG", "libpng-dev"),
    AbsentLibrary("libjpeg", r"jpeglib\.h|jpeg|JPEG", "libjpeg-dev"),
    AbsentLibrary("zlib", r"zlib\.h|z|ZLIB", "zlib1g-dev"),
    AbsentLibrary("NetCDF", r"netcdf(?:\.h)?|netCDF|NetCDF", "libnetcdf-dev"),
    AbsentLibrary("METIS", r"metis(?:\.h)?|METIS", "libmetis-dev"),
    AbsentLibrary("TBB", r"tbb/.*|tbb|TBB", "libtbb-dev"),
    AbsentLibrary("libfabric", r"rdma/.*|fabric|libfabric", "libfabric-dev"),
    AbsentLibrary("UCX", r"uc[pst]/.*|ucx", "libucx-dev"),
    AbsentLibrary("hwloc", r"hwloc(?:\.h)?", "libhwloc-dev"),
    AbsentLibrary("PAPI", r"papi(?:\.h)?|PAPI", "libpapi-dev"),
    AbsentLibrary("Armadillo", r"armadillo|Armadillo", "libarmadillo-dev"),
    AbsentLibrary("SuiteSparse", r"suitesparse/.*|SuiteSparse|cholmod(?:\.h)?|umfpack(?:\.h)?", "libsuitesparse-dev"),
    AbsentLibrary("ScaLAPACK", r"scalapack(?:-openmpi)?|ScaLAPACK", "libscalapack-openmpi-dev"),
    AbsentLibrary("GMP", r"gmp(?:xx)?(?:\.h)?|GMP", "libgmp-dev"),
    AbsentLibrary("OpenSSL", r"openssl/.*|ssl|crypto|OpenSSL", "libssl-dev"),
    AbsentLibrary("libcurl", r"curl(?:/.*)?|CURL", "libcurl4-openssl-dev"),
    AbsentLibrary("ncurses", r"n?curses(?:\.h)?|Curses", "libncurses-dev"),
    AbsentLibrary("FFmpeg", r"lib(?:av|sw)\w+/.*|avcodec|avformat|avutil|swscale", "libavformat-dev, libswscale-dev"),
    AbsentLibrary("libtiff", r"tiff(?:io)?(?:\.h)?|TIFF", "libtiff-dev"),
    AbsentLibrary("CFITSIO", r"fitsio(?:\.h)?|cfitsio|CFITSIO", "libcfitsio-dev"),
    AbsentLibrary("JsonCpp", r"json/json\.h|jsoncpp", "libjsoncpp-dev"),
    AbsentLibrary("libxml2", r"libxml/.*|xml2|LibXml2", "libxml2-dev"),
    AbsentLibrary("gflags", r"gflags(?:/.*)?", "libgflags-dev"),
    AbsentLibrary("glog", r"glog(?:/.*)?", "libgoogle-glog-dev"),
    AbsentLibrary("Protocol Buffers", r"google/protobuf/.*|protobuf|Protobuf", "libprotobuf-dev, protobuf-compiler"),
    AbsentLibrary("VTK", r"vtk\w*\.h|VTK", "libvtk9-dev"),
    AbsentLibrary("CGAL", r"CGAL(?:/.*)?", "libcgal-dev"),
    AbsentLibrary("assimp", r"assimp(?:/.*)?", "libassimp-dev"),
    AbsentLibrary("SFML", r"SFML(?:/.*)?|sfml-\w+", "libsfml-dev"),
    AbsentLibrary("Qt", r"Q[A-Z]\w+|Qt5\w*", "qtbase5-dev"),
    AbsentLibrary("X11", r"X11(?:/.*)?", "libx11-dev"),
    AbsentLibrary("Vulkan", r"vulkan(?:/.*)?|Vulkan", "libvulkan-dev, glslang-tools"),
    AbsentLibrary("GLFW", r"GLFW/.*|glfw3?", "libglfw3-dev"),
    AbsentLibrary("GLEW", r"GL/glew\.h|GLEW", "libglew-dev"),
    AbsentLibrary("OpenGL and GLUT", r"GL/.*|GLUT?|glut|OpenGL", "libgl-dev, freeglut3-dev"),
    AbsentLibrary("SDL2", r"SDL2?(?:/.*|\.h)?", "libsdl2-dev"),
    AbsentLibrary("OpenCL", r"CL/.*|OpenCL", "ocl-icd-opencl-dev, opencl-headers"),
    AbsentLibrary("fmt", r"fmt(?:/.*)?", "libfmt-dev"),
    AbsentLibrary("spdlog", r"spdlog(?:/.*)?", "libspdlog-dev"),
    AbsentLibrary("yaml-cpp", r"yaml-cpp(?:/.*)?", "libyaml-cpp-dev"),
    AbsentLibrary("nlohmann-json", r"nlohmann(?:/.*|_json)", "nlohmann-json3-dev"),
    AbsentLibrary("googletest", r"gtest(?:/.*|_main)?|GTest", "libgtest-dev"),
    AbsentLibrary("Google benchmark", r"benchmark(?:/benchmark\.h)?", "libbenchmark-dev"),
    AbsentLibrary("Catch2", r"catch2?(?:/.*|\.hpp)|Catch2", "catch2"),
    AbsentLibrary("cxxopts", r"cxxopts(?:\.hpp)?", "libcxxopts-dev"),
    AbsentLibrary("CLI11", r"CLI/.*|CLI11", "libcli11-dev"),
    AbsentLibrary("pybind11", r"pybind11(?:/.*)?", "pybind11-dev"),
    AbsentLibrary("Python", r"Python\.h|Python3?", "python3-dev"),
    AbsentLibrary("PyTorch", r"torch/.*|ATen/.*|c10/.*|Torch", "PyTorch for ROCm"),
    AbsentLibrary("CUDA", r"cuda(?:_runtime(?:_api)?)?\.h|cudart|CUDA(?:Toolkit)?", "NVIDIA's toolkit"),
    AbsentLibrary("Kokkos", r"Kokkos(?:_\w+\.hpp)?", "Kokkos, built with its HIP backend"),
    AbsentLibrary("RAJA", r"RAJA(?:/.*)?", "RAJA, built with its HIP backend"),
    AbsentLibrary("Umpire", r"umpire(?:/.*)?", "Umpire"),
    AbsentLibrary("the HSA runtime", r"hsa/.*|hsa\.h|hsa-runtime64", "libhsa-runtime-dev, ROCm's hsa-rocr-dev"),
    AbsentLibrary("ROCm SMI", r"rocm_smi(?:/.*|64)?", "ROCm's rocm-smi-lib"),
    AbsentLibrary("hipify", r"hipify-(?:perl|clang)", "ROCm's hipify-clang"),
    *(
        AbsentLibrary(name, rf"{name.lower()}(?:/.*|\.h|xt\.h|_kernel\.h)?", f"ROCm's {name.lower()}-dev")
        for start in ("hip", "roc")
        for name in (f"{start}{what}" for what in ("BLAS", "BLASLt", "FFT", "RAND", "SOLVER", "SPARSE"))
    ),
)  # fmt: skip
_ABSENT = (
    re.compile(r"'(?P<name>[\w./+-]+)' file not found"),
    re.compile(r'provided by "(?P<name>\w+)"'),
    re.compile(r"Could NOT find (?P<name>\w+)"),
    re.compile(r"cannot find (?P<name>HIP Standard Parallelism)"),
    re.compile(r"error: (?P<name>[\w./+-]+): No such file"),
    re.compile(r"(?P<name>hipify-\w+): (?:(?:command )?not found|No such file)"),
    re.compile(r"(?:cannot find|unable to find library) -l(?P<name>[\w-]+)"),
)
_DOWNLOADS = re.compile(
    r"[Ff]ailed to clone|[Bb]uild step for (?P<name>\S+) failed|resolve host|[Dd]ownload\w* (?:of|failed)|FetchContent"
)


def what_to_install(complaint: str) -> str | None:
    """The library that a complaint is about, and its packages; or that its build needs a network."""
    for absent in _ABSENT:
        for match in absent.finditer(complaint):
            for library in LIBRARIES:
                if re.fullmatch(library.names, match["name"]):
                    return f"that is {library.title}: install {library.packages}"
    if _DOWNLOADS.search(complaint) and "googletest" in complaint:
        return "it downloads googletest, and here it is configured without a network: install libgtest-dev"
    if _DOWNLOADS.search(complaint):
        return "it downloads what it needs, and here it is configured without a network: install that"
    return None

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
    AbsentLibrary("HDF5", r"hdf5\.h|HDF5", "libhdf5-dev"),
    AbsentLibrary("FFTW", r"fftw3\.h|FFTW3?", "libfftw3-dev"),
    AbsentLibrary("OpenCV", r"opencv2?/.*|OpenCV", "libopencv-dev"),
    AbsentLibrary("ROCm's CMake modules", r"ROCM|ROCmCMakeBuildTools", "rocm-cmake"),
    AbsentLibrary("rocThrust", r"(?:thrust|rocthrust)(?:/.*)?", "ROCm's rocthrust-dev"),
    AbsentLibrary("hipCUB", r"hipcub(?:/.*)?", "ROCm's hipcub-dev"),
    AbsentLibrary("rocPRIM", r"rocprim(?:/.*)?", "librocprim-dev, ROCm's rocprim-dev"),
    AbsentLibrary("rocWMMA", r"rocwmma(?:/.*)?", "ROCm's rocwmma-dev"),
    AbsentLibrary("Composable Kernel", r"ck(?:_tile)?/.*|composable_kernel", "ROCm's composablekernel-dev"),
    AbsentLibrary("rocTracer and rocTX", r"roctracer(?:/.*|_\w+\.h|64)?|roctx(?:\.h|64)", "ROCm's roctracer-dev"),
    AbsentLibrary("RCCL", r"(?:rccl/)?rccl\.h|rccl", "ROCm's rccl-dev"),
    AbsentLibrary("MIOpen", r"miopen(?:/.*)?", "ROCm's miopen-hip-dev"),
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
    if _DOWNLOADS.search(complaint):
        return "it downloads what it needs, and here it is configured without a network: install that"
    return None

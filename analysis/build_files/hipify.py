"""Stands in for hipify-perl and hipify-clang where there is no ROCm: the text of a CUDA source becomes HIP's.

Takes their options and files, prints the text, or writes it where `-o` or `-inplace` says. It renames; what HIP has in
another form than CUDA does not compile afterwards, and the compiler says so.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_HEADERS = {
    "cuda.h": "hip/hip_runtime.h", "cuda_runtime.h": "hip/hip_runtime.h", "cuda_runtime_api.h": "hip/hip_runtime_api.h",
    "device_launch_parameters.h": "hip/hip_runtime.h", "cuda_fp16.h": "hip/hip_fp16.h", "cuda_bf16.h": "hip/hip_bf16.h",
    "cuda_fp8.h": "hip/hip_fp8.h", "cuComplex.h": "hip/hip_complex.h", "vector_types.h": "hip/hip_vector_types.h",
    "cooperative_groups.h": "hip/hip_cooperative_groups.h", "nvrtc.h": "hip/hiprtc.h",
    "cub/cub.cuh": "hipcub/hipcub.hpp",
    "cublas_v2.h": "hipblas/hipblas.h", "cublas.h": "hipblas/hipblas.h", "cufft.h": "hipfft/hipfft.h",
    "curand.h": "hiprand/hiprand.h", "curand_kernel.h": "hiprand/hiprand_kernel.h", "nccl.h": "rccl/rccl.h",
    "cusparse.h": "hipsparse/hipsparse.h", "cusolverDn.h": "hipsolver/hipsolver.h",
}  # fmt: skip
_NAMES = {
    "cudaDeviceProp": "hipDeviceProp_t", "cudaError": "hipError_t", "cudaThreadSynchronize": "hipDeviceSynchronize",
    "cudaThreadExit": "hipDeviceReset", "cudaMallocHost": "hipHostMalloc", "cudaHostAlloc": "hipHostMalloc",
    "cudaFreeHost": "hipHostFree", "cudaHostAllocDefault": "hipHostMallocDefault", "CUDA_SUCCESS": "hipSuccess",
    "cudaHostAllocMapped": "hipHostMallocMapped", "cudaHostAllocPortable": "hipHostMallocPortable",
    "cudaHostAllocWriteCombined": "hipHostMallocWriteCombined", "CUdevice": "hipDevice_t", "CUcontext": "hipCtx_t",
    "CUmodule": "hipModule_t", "CUfunction": "hipFunction_t", "CUdeviceptr": "hipDeviceptr_t", "CUresult": "hipError_t",
    "CUstream": "hipStream_t", "CUevent": "hipEvent_t", "cudaErrorMemoryAllocation": "hipErrorOutOfMemory",
    "__CUDACC__": "__HIPCC__", "__CUDA_ARCH__": "__HIP_DEVICE_COMPILE__", "cuCtxSynchronize": "hipCtxSynchronize",
}  # fmt: skip
_PREFIXES = (
    (re.compile(r"\bcudaDevAttr(?=[A-Z])"), "hipDeviceAttribute"),
    (re.compile(r"\bcuda(?=[A-Z])"), "hip"),
    (re.compile(r"\b(?<!::)cub::"), "hipcub::"),
    (re.compile(r"\bcu(?=(?:Init|Device|Ctx|Module|Mem|Launch|Func|Stream|Event)[A-Z]?\w*\s*\()"), "hip"),
    (re.compile(r"\bcu(?=(?:blas|fft|rand|sparse|solver)(?:[A-Z_]|\b))"), "hip"),
    (re.compile(r"\bCU(?=(?:BLAS|FFT|RAND|SPARSE|SOLVER)_)"), "HIP"),
    (re.compile(r"\bnvrtc(?=[A-Z])"), "hiprtc"),
)
_INCLUDE = re.compile(r'^(?P<start>[ \t]*#[ \t]*include[ \t]*)[<"](?P<name>[^">\n]+)[">]', re.MULTILINE)
_WORD = re.compile(r"\b\w+\b")
_SYMBOL = re.compile(
    r"\b(hip(?:MemcpyToSymbol|GetSymbolAddress|GetSymbolSize)(?:Async)?\s*\(\s*)(?!HIP_SYMBOL)([\w:]+)(?=\s*,)"
)
_FROM_SYMBOL = re.compile(r"\b(hipMemcpyFromSymbol(?:Async)?\s*\([^,;]+,\s*)(?!HIP_SYMBOL)([\w:]+)(?=\s*,)")
_RUNTIME = '#include "hip/hip_runtime.h"\n'


def hipified(text: str) -> str:
    """The source in HIP's names."""
    text = _INCLUDE.sub(_included, text)
    text = _WORD.sub(lambda word: _NAMES.get(word[0], word[0]), text)
    for pattern, name in _PREFIXES:
        text = pattern.sub(name, text)
    text = _FROM_SYMBOL.sub(r"\1HIP_SYMBOL(\2)", _SYMBOL.sub(r"\1HIP_SYMBOL(\2)", text))
    needs = re.search(r"__global__|<<<|\bhip[A-Z]", text) is not None and "hip/hip_runtime" not in text
    return _RUNTIME + text if needs else text


def _included(line: re.Match[str]) -> str:
    name = _HEADERS.get(line["name"])
    return line[0] if name is None else f'{line["start"]}"{name}"'


def main(words: list[str]) -> int:
    """Act as hipify does for the files among the words."""
    output, inplace, files = None, False, []
    words = words[: words.index("--")] if "--" in words else words  # what comes after is for the compiler
    while words:
        word = words.pop(0)
        if word.lstrip("-") in ("o", "output") and words:
            output = words.pop(0)
        elif word.startswith(("-o=", "--o=", "-output=", "--output=")):
            output = word.partition("=")[2]
        elif word.lstrip("-") == "inplace":
            inplace = True
        elif not word.startswith("-"):
            files.append(word)
    for name in files:
        path = Path(name)
        try:
            text = hipified(path.read_bytes().decode("utf-8", "surrogateescape"))
        except OSError as error:
            sys.stderr.write(f"hipify: {name}: {error.strerror}\n")
            return 1
        data = text.encode("utf-8", "surrogateescape")
        if inplace or output is not None:
            (path if output is None else Path(output)).write_bytes(data)
        else:
            sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

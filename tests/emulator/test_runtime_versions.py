"""Programs that were linked against ROCm's own library of some release: the loader must find every symbol version.

For each release a stand-in of that library is made, with the versions that ROCm gives the functions
(`hipamd/src/hip_hcc.map.in` of ROCm's public sources); a program is linked to it and then run on ours.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import EmulatorOptions, emulator_environment, native_library_dir

# One function or more of each version; those of a release are all up to its last version.
VERSIONS = {
    "hip_4.2": "hipMalloc hipFree hipMemcpy hipMemset hipDeviceSynchronize hipGetDeviceCount hipExtModuleLaunchKernel",
    "hip_4.3": "hipGraphCreate hipStreamBeginCapture",
    "hip_4.4": "hipGraphAddEmptyNode hipStreamWriteValue32",
    "hip_4.5": "hipGraphAddChildGraphNode hipGraphNodeGetType",
    "hip_5.0": "hipPointerGetAttribute hipGraphKernelNodeSetAttribute",
    "hip_5.1": "hipMallocAsync hipFreeAsync hipMemPoolCreate hipMemCreate",
    "hip_5.2": "hipMemcpy_spt hipEventRecord_spt",
    "hip_5.3": "hipLaunchHostFunc hipDeviceSetLimit hipUserObjectCreate hipGraphUpload",
    "hip_5.5": "hipGraphAddMemAllocNode hipModuleLaunchCooperativeKernel",
    "hip_5.6": "hipDrvGraphAddMemcpyNode hipArrayGetInfo",
    "hip_6.0": "hipGetDevicePropertiesR0600 hipExtGetLastError",
    "hip_6.1": "hipGetProcAddress hipGraphInstantiateWithParams hipStreamBeginCaptureToGraph",
    "hip_6.2": "hipGetFuncBySymbol hipGraphExecGetFlags hipGraphNodeSetParams",
    "hip_6.4": "hipStreamBatchMemOp hipEventRecordWithFlags hipLinkCreate",
    "hip_6.5": "hipLaunchKernelExC hipDrvLaunchKernelEx",
    "hip_7.1": "hipMemsetD2D8 hipModuleLoadFatBinary hipStreamGetId",
    "hip_7.2": "hipLibraryLoadData hipLibraryGetKernel",
}
RELEASES = {"5.2": ("5", "hip_5.2"), "6.2": ("6", "hip_6.2"), "7.2": ("7", "hip_7.2")}

PROGRAM = """
#include <stdio.h>
extern int hipMalloc(void**, unsigned long), hipFree(void*), hipMemset(void*, int, unsigned long);
extern int hipMemcpy(void*, const void*, unsigned long, int);
%s
void* needed[] = {%s};
int main(void) {
  unsigned char host[64] = {0};
  void* p;
  if (hipMalloc(&p, 64) || hipMemset(p, 7, 64) || hipMemcpy(host, p, 64, 2) || hipFree(p)) return 1;
  for (unsigned i = 0; i < sizeof needed / sizeof *needed; ++i) if (!needed[i]) return 2;
  printf("%%d %%zu\\n", host[63], sizeof needed / sizeof *needed);
  return 0;
}
"""


def _compile(folder: Path, source: str, *arguments: str) -> None:
    (folder / "source.c").write_text(source)
    argv = [
        str(find_toolchain(Config()).clang),
        "-x",
        "c",
        "source.c",
        "-x",
        "none",
        "-Wno-everything",
        *arguments,
    ]
    subprocess.run(argv, cwd=folder, check=True, timeout=60, capture_output=True)


@pytest.mark.parametrize("release", RELEASES)
def test_a_program_linked_against_rocm_runs_unmodified(release: str, tmp_path: Path) -> None:
    soname, last = RELEASES[release]
    chosen = {
        v: names.split()
        for v, names in VERSIONS.items()
        if list(VERSIONS).index(v) <= list(VERSIONS).index(last)
    }
    functions = [name for names in chosen.values() for name in names]
    script, before = [], ""
    for version, names in chosen.items():
        script.append(f"{version} {{ global: {' '.join(n + ';' for n in names)} }} {before};")
        before = version
    (tmp_path / "versions").write_text("\n".join(script))
    library = f"libamdhip64.so.{soname}"
    _compile(
        tmp_path,
        "".join(f"int {name}(void) {{ return 0; }}\n" for name in functions),
        "-shared", "-fPIC", "-o", library, f"-Wl,-soname,{library},--version-script=versions",
    )  # fmt: skip
    used = ("hipMalloc", "hipFree", "hipMemset", "hipMemcpy")
    declared = "".join(f"extern int {name}();\n" for name in functions if name not in used)
    # Bound when it starts, so that every version is looked for.
    _compile(
        tmp_path, PROGRAM % (declared, ", ".join(functions)), "-o", "program", f"./{library}", "-Wl,-z,now"
    )
    (tmp_path / library).unlink()
    options = EmulatorOptions(objdump=find_toolchain(Config()).objdump)
    done = subprocess.run(
        [tmp_path / "program"],
        env={**os.environ, **emulator_environment(options), "LD_LIBRARY_PATH": str(native_library_dir())},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"7 {len(functions)}\n", "")


def _fields(text: str) -> list[tuple[str, Any]]:
    """`name type count` rows to the fields of a structure."""
    types: dict[str, Any] = {
        "char": ctypes.c_char, "int": ctypes.c_int, "unsigned": ctypes.c_uint, "size": ctypes.c_size_t,
        "pointer": ctypes.c_void_p,
    }  # fmt: skip
    fields: list[tuple[str, Any]] = []
    for line in text.strip().splitlines():
        kind, *names = line.split()
        for name in names:
            base, _, count = name.partition(":")
            fields.append((base, types[kind] * int(count) if count else types[kind]))
    return fields


# hipDeviceProp_tR0600 of ROCm 6 and 7 (hip_runtime_api.h), in its order; a colon gives the length of an array.
R0600 = """
char name:256 uuid:16 luid:8
unsigned luidDeviceNodeMask
size totalGlobalMem sharedMemPerBlock
int regsPerBlock warpSize
size memPitch
int maxThreadsPerBlock maxThreadsDim:3 maxGridSize:3 clockRate
size totalConstMem
int major minor
size textureAlignment texturePitchAlignment
int deviceOverlap multiProcessorCount kernelExecTimeoutEnabled integrated canMapHostMemory computeMode
int maxTexture1D maxTexture1DMipmap maxTexture1DLinear maxTexture2D:2 maxTexture2DMipmap:2 maxTexture2DLinear:3
int maxTexture2DGather:2 maxTexture3D:3 maxTexture3DAlt:3 maxTextureCubemap maxTexture1DLayered:2 maxTexture2DLayered:3
int maxTextureCubemapLayered:2 maxSurface1D maxSurface2D:2 maxSurface3D:3 maxSurface1DLayered:2 maxSurface2DLayered:3
int maxSurfaceCubemap maxSurfaceCubemapLayered:2
size surfaceAlignment
int concurrentKernels ECCEnabled pciBusID pciDeviceID pciDomainID tccDriver asyncEngineCount unifiedAddressing
int memoryClockRate memoryBusWidth l2CacheSize persistingL2CacheMaxSize maxThreadsPerMultiProcessor
int streamPrioritiesSupported globalL1CacheSupported localL1CacheSupported
size sharedMemPerMultiprocessor
int regsPerMultiprocessor managedMemory isMultiGpuBoard multiGpuBoardGroupID hostNativeAtomicSupported
int singleToDoublePrecisionPerfRatio pageableMemoryAccess concurrentManagedAccess computePreemptionSupported
int canUseHostPointerForRegisteredMem cooperativeLaunch cooperativeMultiDeviceLaunch
size sharedMemPerBlockOptin
int pageableMemoryAccessUsesHostPageTables directManagedMemAccessFromHost maxBlocksPerMultiProcessor
int accessPolicyMaxWindowSize
size reservedSharedMemPerBlock
int hostRegisterSupported sparseHipArraySupported hostRegisterReadOnlySupported timelineSemaphoreInteropSupported
int memoryPoolsSupported gpuDirectRDMASupported
unsigned gpuDirectRDMAFlushWritesOptions
int gpuDirectRDMAWritesOrdering
unsigned memoryPoolSupportedHandleTypes
int deferredMappingHipArraySupported ipcEventSupported clusterLaunch unifiedFunctionPointers reserved:63 hipReserved:32
char gcnArchName:256
size maxSharedMemoryPerMultiProcessor
int clockInstructionRate
unsigned arch
pointer hdpMemFlushCntl hdpRegFlushCntl
int unmatchedFunc unmatchedGridDim unmatchedBlockDim unmatchedSharedMem isLargeBar asicRevision
"""


class DeviceProperties(ctypes.Structure):
    _fields_ = _fields(R0600)


def test_the_properties_of_hip_6_lie_where_its_header_has_them(tmp_path: Path) -> None:
    assert ctypes.sizeof(DeviceProperties) == 1472  # as a program built with ROCm 6 has it
    dump = tmp_path / "dump.py"
    dump.write_text(
        "import ctypes, sys\n"
        "hip = ctypes.CDLL('libamdhip64.so.6')\n"
        "room = ctypes.create_string_buffer(b'\\xa5' * 1600, 1600)\n"
        "assert hip.hipGetDevicePropertiesR0600(room, 0) == 0\n"
        "sys.stdout.buffer.write(room.raw)\n"
    )
    toolchain = find_toolchain(Config())
    device = write_device_config("mi300x", tmp_path / "device.txt")
    env = emulator_environment(EmulatorOptions(objdump=toolchain.objdump, device_config=device))
    raw = subprocess.run(
        ["python3", dump],
        env={**os.environ, **env, "LD_LIBRARY_PATH": str(native_library_dir())},
        capture_output=True,
        timeout=60,
        check=True,
    ).stdout
    assert raw[1472:] == b"\xa5" * 128
    p = DeviceProperties.from_buffer_copy(raw)
    got = {
        name: list(v) if isinstance(v := getattr(p, name), ctypes.Array) else v
        for name, _ in DeviceProperties._fields_
    }
    expected = {
        "name": b"AMD Instinct MI300X", "uuid": b"GPU-hipscope-emu", "totalGlobalMem": 192 << 30,
        "sharedMemPerBlock": 65536, "regsPerBlock": 65536, "warpSize": 64, "memPitch": 2147483647,
        "maxThreadsPerBlock": 1024, "maxThreadsDim": [1024] * 3,
        "maxGridSize": [2147483647, 65536, 65536], "clockRate": 2100000, "totalConstMem": 2147483647,
        "major": 9, "minor": 4, "textureAlignment": 256, "texturePitchAlignment": 256,
        "multiProcessorCount": 304, "canMapHostMemory": 1, "concurrentKernels": 1, "pciBusID": 1,
        "asyncEngineCount": 2, "unifiedAddressing": 1, "memoryClockRate": 1300000,
        "memoryBusWidth": 8192, "l2CacheSize": 4 << 20, "maxThreadsPerMultiProcessor": 2048,
        "sharedMemPerMultiprocessor": 65536, "regsPerMultiprocessor": 65536 * 8, "managedMemory": 1,
        "concurrentManagedAccess": 1, "cooperativeLaunch": 1, "sharedMemPerBlockOptin": 65536,
        "maxBlocksPerMultiProcessor": 32, "hostRegisterSupported": 1, "memoryPoolsSupported": 1,
        "unifiedFunctionPointers": 1, "gcnArchName": b"gfx942:sramecc+:xnack-",
        "maxSharedMemoryPerMultiProcessor": 65536, "clockInstructionRate": 100000, "arch": 0x7FFFF,
        "isLargeBar": 1, "streamPrioritiesSupported": 1,
        "hipReserved": [942, *[0] * 31],  # gcnArch of our own headers for HIP 5
    }  # fmt: skip
    empty = {
        name: [0] * len(v)
        if isinstance(v, list)
        else b""
        if isinstance(v, bytes)
        else None
        if v is None
        else 0
        for name, v in got.items()
    }
    assert got == {**empty, **expected}


def test_every_function_that_the_installed_headers_declare_can_be_linked() -> None:
    header = Path("/usr/include/hip/hip_runtime_api.h")
    if not header.exists():
        pytest.skip("HIP's headers are not in /usr/include")
    declared = set(re.findall(r"^hipError_t (\w+)\(", header.read_text(), re.MULTILINE))
    exported = {name.partition("@")[0] for name in _exports(native_library_dir() / "libamdhip64.so")}
    assert len(declared) > 250
    assert sorted(declared - exported) == []


def test_every_function_of_an_installed_library_has_its_name_and_version_in_ours() -> None:
    """Some are declared without extern "C" by HIP 5's headers: their names are those of C++."""
    theirs = Path("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")
    if not theirs.exists():
        pytest.skip("no libamdhip64 of the distribution")
    ours = _exports(native_library_dir() / "libamdhip64.so")
    assert sorted(_exports(theirs) - ours) == []


def _exports(library: Path) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, timeout=60, check=True
    )
    return {line.split()[-1] for line in listed.stdout.splitlines()}

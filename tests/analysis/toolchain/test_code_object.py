"""GPU code is found in bundles and code objects whichever way its target is spelled."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.code_object import executes_alike, gpu_images, machine_code, processor
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from tests.plain_hip import PLAIN_HIP

pytestmark = pytest.mark.usefixtures("cache")

SPELLINGS = {
    "amdgcn-amd-amdhsa--gfx942": "gfx942",
    "amdgcn-amd-amdhsa-unknown-gfx942": "gfx942",
    "amdgpu9.42-amd-amdhsa-unknown-gfx942": "gfx942",
    "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-": "gfx90a:sramecc+:xnack-",
    "hip-amdgcn-amd-amdhsa-gfx906": "gfx906",
    "amdgcn-amd-amdhsa--gfx9-4-generic:xnack-": "gfx9-4-generic:xnack-",
    "host-x86_64-unknown-linux-gnu": "host-x86_64-unknown-linux-gnu",
}


@pytest.mark.parametrize(("target", "expected"), SPELLINGS.items())
def test_the_processor_of_a_target(target: str, expected: str) -> None:
    assert processor(target) == expected


def test_a_bundle_of_newer_llvm_has_an_image_for_the_processor(tmp_path: Path) -> None:
    name = b"hipv4-amdgpu9.42-amd-amdhsa-unknown-gfx942:xnack-"
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1)
    bundle = head + struct.pack("<QQQ", len(head) + 24 + len(name), 4, len(name)) + name + b"code"
    file = tmp_path / "bundle.hipfb"
    file.write_bytes(bundle)
    assert gpu_images(file, Path("/bin/false")) == [("gfx942:xnack-", b"code")]


FIRST, SECOND = "__device__ float first[5];\n", "__device__ float second[32] = {1.0f};\n"
KERNEL = "__global__ void k(float* out) { out[threadIdx.x] = first[threadIdx.x % 5] + second[threadIdx.x % 32]; }\n"


def compiled(folder: Path, *parts: str) -> Path:
    """The code object of a source with these parts."""
    folder.mkdir()
    source = folder / "k.hip"
    source.write_text(PLAIN_HIP + "".join(parts) + "int main() {}\n")
    project = resolve_project(source, config=Config(flags=["-nogpuinc"]))
    return compile_device(project, find_toolchain(Config()), source, Run()).path


def test_variables_may_lie_in_another_order(tmp_path: Path) -> None:
    third = "__device__ float third[7];\n"
    kernel = KERNEL.replace("out[threadIdx.x] =", "out[threadIdx.x] = third[threadIdx.x % 7] +")
    one = compiled(tmp_path / "one", FIRST, third, SECOND, kernel)
    other = compiled(tmp_path / "other", third, SECOND, FIRST, kernel)
    assert machine_code(one) != machine_code(other)
    assert executes_alike(one, other)


@pytest.mark.parametrize(
    "parts",
    [
        (SECOND, FIRST, KERNEL.replace("first[threadIdx.x % 5]", "first[threadIdx.x % 5 + 1]")),
        (SECOND, FIRST, KERNEL.replace("first[threadIdx.x % 5]", "second[threadIdx.x % 5]")),
        (SECOND.replace("1.0f", "2.0f"), FIRST, KERNEL),
        (SECOND, FIRST, KERNEL.replace("+", "-")),
        (SECOND, FIRST, KERNEL.replace("+ second", "+ 3.0f * second")),
    ],
)
def test_another_variable_value_or_instruction_is_another_code(
    parts: tuple[str, ...], tmp_path: Path
) -> None:
    one = compiled(tmp_path / "one", FIRST, SECOND, KERNEL)
    assert not executes_alike(one, compiled(tmp_path / "other", *parts))

"""GPU code is found in bundles and code objects whichever way its target is spelled."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hipscope.analysis.toolchain.code_object import gpu_images, processor

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

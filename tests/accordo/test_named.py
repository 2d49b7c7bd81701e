"""The numbers that machine code compares with, found in kernels that the compiler made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hipscope.accordo.dtypes import element_of
from hipscope.accordo.named import NONE, Named, named_in
from hipscope.analysis.build import compile_device
from hipscope.analysis.codeobject import CodeObject
from hipscope.analysis.config import Config
from hipscope.analysis.project import Project
from hipscope.analysis.toolchain import find_toolchain

SOURCE = b"""#include <hip/hip_runtime.h>
extern "C" __global__ void singles(const float* in, float* out, int uniform) {
  const float x = in[threadIdx.x];
  out[threadIdx.x] = x == 12345.0f || x > -0.75f * uniform ? 1.0f : x < 0.5f ? 2.0f : x;
}
extern "C" __global__ void doubles(const double* in, double* out) {
  const double x = in[threadIdx.x];
  out[threadIdx.x] = x == 0.123456789 ? 3.0 : x > 1e9 ? 4.0 : x;
}
extern "C" __global__ void halves(const _Float16* in, _Float16* out) {
  if (in[threadIdx.x] == (_Float16)77.5) out[threadIdx.x] = 0;
}
extern "C" __global__ void integers(const int* in, int* out, const short* s, int uniform) {
  const int k = in[threadIdx.x];
  if (k == 7654321 || k < -1234567 || k == 17 || s[threadIdx.x] == 4321) out[threadIdx.x] = 1;
  if (uniform == 3333) out[0] = 5;
}
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    folder = tmp_path_factory.mktemp("named")
    file = folder / "kernels.hip"
    file.write_bytes(SOURCE)
    config = Config(arch="gfx942")
    project = Project(folder, file, (file,), config, (), "single")
    return compile_device(project, find_toolchain(config), file, SOURCE)


@pytest.mark.parametrize(
    ("kernel", "floats", "integers"),
    [
        ("singles", {12345.0, 0.5}, set()),
        ("doubles", {0.123456789, 1e9}, set()),
        ("halves", {77.5}, set()),
        ("integers", set(), {7654321, -1234567, 17, 4321, 3333}),
    ],
)
def test_what_a_kernel_compares_with_is_found(
    code: CodeObject, kernel: str, floats: set[float], integers: set[int]
) -> None:
    found = named_in(code.path, kernel)
    assert floats <= found.floats
    near = {n + d for n in found.integers for d in (-1, 0, 1)}
    assert integers <= near  # `<` may have become `<=` of the next
    others = named_in(code.path, "halves" if kernel != "halves" else "doubles")
    assert not floats & others.floats


def test_a_file_that_is_no_machine_code_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no ELF")
    assert named_in(tmp_path / "x") == NONE
    assert not named_in(tmp_path / "missing")


def test_neighbours_are_tried_and_only_what_fits_the_type() -> None:
    named = Named(frozenset({100.0}), frozenset({300, -2}))
    assert named.near_integers(element_of("unsigned char")) == []
    assert named.near_integers(element_of("short")) == [-1, -2, -3, 299, 300, 301]
    assert np.allclose(named.near_floats(), [100.0, 100.1, 99.9])
    assert named.without(Named(frozenset({100.0}), frozenset())) == Named(frozenset(), named.integers)

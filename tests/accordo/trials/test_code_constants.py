"""The numbers that machine code compares with, found in kernels that the compiler made."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.accordo.trials.code_constants import NONE, Named, named_in
from hipscope.analysis.config import Config
from hipscope.analysis.source.number_types import element_of
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import Project
from tests.unsaved import unsaved

OBJDUMP = find_toolchain(Config()).objdump
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
    return compiled(tmp_path_factory.mktemp("named"), SOURCE)


def compiled(folder: Path, source: bytes) -> CodeObject:
    file = folder / "kernels.hip"
    file.write_bytes(source)
    config = Config(arch="gfx942")
    project = Project(folder, file, (file,), config, (), "single")
    return compile_device(project, find_toolchain(config), file, unsaved(file, source))


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
    found = named_in(code.path, OBJDUMP, kernel)
    assert floats <= found.floats
    near = {n + d for n in found.integers for d in (-1, 0, 1)}
    assert integers <= near  # `<` may have become `<=` of the next
    others = named_in(code.path, OBJDUMP, "halves" if kernel != "halves" else "doubles")
    assert not floats & others.floats


def test_a_file_that_is_no_machine_code_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no ELF")
    assert named_in(tmp_path / "x", OBJDUMP) == NONE
    assert not named_in(tmp_path / "missing", OBJDUMP)


def test_copies_of_code_are_disassembled_once_and_a_failure_is_not_kept(
    code: CodeObject, tmp_path: Path
) -> None:
    calls, ready, disassembler = tmp_path / "calls", tmp_path / "ready", tmp_path / "objdump"
    disassembler.write_text(
        f'#!/bin/sh\necho called >> "{calls}"\n[ -e "{ready}" ] || exit 1\nexec "{OBJDUMP}" "$@"\n'
    )
    disassembler.chmod(0o755)
    copies = [tmp_path / "one.co", tmp_path / "two.co"]
    for copy in copies:
        copy.write_bytes(code.path.read_bytes())
    assert named_in(copies[0], disassembler) == NONE
    ready.touch()
    found = [named_in(copy, disassembler) for copy in copies]
    assert found[0] == found[1] == named_in(code.path, OBJDUMP)
    assert calls.read_text().splitlines() == ["called"] * 2


def test_neighbours_are_tried_and_only_what_fits_the_type() -> None:
    named = Named(frozenset({100.0}), frozenset({300, -2}))
    bytes_, shorts = (named.for_integers(element_of(t)) for t in ("unsigned char", "short"))
    assert (bytes_.exact, bytes_.near) == ((), ())
    assert set(shorts.exact + shorts.near) == {-1, -2, -3, 299, 300, 301}
    floats = named.for_floats()
    assert floats.exact == (100.0,)
    assert floats.near == pytest.approx((100.1, 99.9))
    assert floats.within(lambda x: x > 100).near == pytest.approx((100.1,))
    assert named.without(Named(frozenset({100.0}), frozenset())) == Named(frozenset(), named.integers)


def test_plain_numbers_go_first_and_constants_of_its_own() -> None:
    """A word that is only half of a number is rarely a plain one."""
    named = Named(frozenset({32768.00783586502, 31.0, 17.0}), frozenset(), (0.5, 2.5), (3, 7))
    assert named.for_floats().exact == (17.0, 31.0, 32768.00783586502)
    own = named.without(Named(frozenset(), frozenset(), (0.5,), (3,)))
    assert (own.factors, own.whole_factors) == ((2.5, 0.5), (7, 3))


@pytest.mark.parametrize(
    ("kernel", "solutions"),
    [("squares", {42.0, -42.0}), ("lines", {35.0}), ("shifted_squares", {11.0, -5.0}), ("products", {16.0})],
)
def test_where_a_condition_turns_that_is_worked_out(
    computing: CodeObject, kernel: str, solutions: set[float]
) -> None:
    assert solutions <= set(named_in(computing.path, OBJDUMP, kernel).for_floats().solved)


@pytest.mark.parametrize(
    ("kernel", "solutions"),
    [
        ("whole_squares", {4096}),
        ("wrapping", {2863311563 * pow(7, -1, 1 << 32) % (1 << 32)}),
        ("digits", {0x3EAA << 4}),
    ],
)
def test_where_a_condition_on_integers_turns(computing: CodeObject, kernel: str, solutions: set[int]) -> None:
    assert solutions <= set(
        named_in(computing.path, OBJDUMP, kernel).for_integers(element_of("unsigned")).solved
    )


COMPUTING = b"""#include <hip/hip_runtime.h>
extern "C" __global__ void squares(const float* in, float* out) {
  const float x = in[threadIdx.x];
  if (x * x == 1764.0f) out[0] = 1;
}
extern "C" __global__ void lines(const float* in, float* out) {
  if (2.5f * in[threadIdx.x] + 31.0f == 118.5f) out[0] = 1;
}
extern "C" __global__ void shifted_squares(const float* in, float* out) {
  const float x = in[threadIdx.x] - 3.0f;
  if (x * x > 64.0f) out[0] = 1;
}
extern "C" __global__ void products(const float* in, float* out) {
  if (in[threadIdx.x] * 0.8125f == 13.0f) out[0] = 1;
}
extern "C" __global__ void whole_squares(const unsigned* in, float* out) {
  if (in[threadIdx.x] * in[threadIdx.x] == 16777216u) out[0] = 1;
}
extern "C" __global__ void wrapping(const unsigned* in, float* out) {
  if (in[threadIdx.x] * 7u + threadIdx.y == 2863311563u) out[0] = 1;
}
extern "C" __global__ void digits(const unsigned* in, float* out) {
  if (in[threadIdx.x] >> 4 == 0x3eaau + threadIdx.y) out[0] = 1;
}
"""


@pytest.fixture(scope="module")
def computing(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    return compiled(tmp_path_factory.mktemp("computing"), COMPUTING)

"""Source positions of real machine code, and where the native parts are looked for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.runner import (
    EmulatorOptions,
    NativePartsMissing,
    emulator_environment,
    native_library_dir,
)
from hipscope.emulator.symbolize import (
    Symbolizer,
    _enclosing,
    _Scope,
    _ScopeIndex,
    demangle,
    symbolizer_of,
)

SOURCE = """#include <hip/hip_runtime.h>
__device__ __forceinline__ float inner(const float* p, int i) {
  return p[i] * 2.0f;
}
__device__ __forceinline__ float outer(const float* p, int i) {
  return inner(p, i) + 1.0f;
}
__global__ void kernel(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = outer(in, i);
}
int main() { kernel<<<1, 64>>>(nullptr, nullptr, 0); }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Symbolizer]:
    directory = tmp_path_factory.mktemp("symbolize")
    source = directory / "k.hip"
    source.write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(directory / "cache"))
        project = resolve_project(source)
        code = compile_device(project, find_toolchain(Config()), source, Run())
    return source, Symbolizer(code.path)


def chains(compiled: tuple[Path, Symbolizer]) -> list[list[tuple[str, int, str]]]:
    _, symbols = compiled
    (function,) = (f for f in symbols.functions if f.name == "_Z6kernelPKfPfi")
    found = []
    for address in range(function.address, function.address + function.size, 4):
        chain = [(Path(p.file).name, p.line, p.function) for p in symbols.positions(address)]
        if chain not in found:
            found.append(chain)
    return found


def test_an_inlined_instruction_names_every_call_around_it(compiled: tuple[Path, Symbolizer]) -> None:
    wanted = [("k.hip", 3, "inner"), ("k.hip", 6, "outer"), ("k.hip", 11, "kernel")]
    found = [[(file, line, name.split("(")[0]) for file, line, name in chain] for chain in chains(compiled)]
    assert wanted in found


def test_the_outermost_frame_is_the_kernel_itself(compiled: tuple[Path, Symbolizer]) -> None:
    known = [chain for chain in chains(compiled) if chain]
    assert known
    assert all(chain[-1][2].startswith("kernel") and 8 <= chain[-1][1] <= 12 for chain in known)


def test_positions_name_the_users_own_file(compiled: tuple[Path, Symbolizer]) -> None:
    source, symbols = compiled
    function = symbols.functions[0]
    assert symbols.positions(function.address)[-1].file == str(source)
    assert symbols.positions(function.address)[-1].column > 0


def test_an_address_outside_of_the_code_is_unknown(compiled: tuple[Path, Symbolizer]) -> None:
    assert compiled[1].positions(1 << 40) == ()
    assert compiled[1].function_at(0) is None


def test_code_is_read_once_wherever_it_lies_and_again_when_it_changes(
    compiled: tuple[Path, Symbolizer], tmp_path: Path
) -> None:
    source, symbols = compiled
    code = next((source.parent / "cache").rglob("device.co")).read_bytes()
    here, there = tmp_path / "here.co", tmp_path / "there.co"
    here.write_bytes(code)
    there.write_bytes(code)
    known = symbolizer_of(here)
    assert symbolizer_of(there) is known
    assert known.functions == symbols.functions
    there.write_bytes(code + b"\0")
    assert symbolizer_of(there) is not known


def test_a_file_that_is_no_code_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.co"
    path.write_text("not an ELF file")
    with pytest.raises(ValueError, match="not an ELF file"):
        Symbolizer(path)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z4copyPfS_i", "copy(float*, float*, int)"),
        ("_ZN2ns1kIfEEvPT_", "void ns::k<float>(float*)"),
        ("_Z4geluPKDF16bPDF16_i", "gelu(__bf16 const*, _Float16*, int)"),
        # A constrained parameter of C++20, which the demangler of GCC 12 does not know.
        (
            "_Z3mapIjTk4MapsIT_E4PolyILj4EEEvPKS1_PS1_iT0_",
            "void map<unsigned int, Poly<4u>>(unsigned int const*, unsigned int*, int, Poly<4u>)",
        ),
        ("plain", "plain"),
        ("_Znonsense", "_Znonsense"),
    ],
)
def test_names_are_demangled(symbol: str, name: str) -> None:
    assert demangle(symbol) == name


def test_the_emulator_comes_first_in_the_library_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libamdhip64.so").touch()
    monkeypatch.setenv("HIPSCOPE_NATIVE_DIR", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/other")
    options = EmulatorOptions(
        out=Path("/o"), time_budget_s=1.5, capture=Path("/c"), capture_kernels=("_Za", "_Zb")
    )
    variables = emulator_environment(options)
    assert variables == {
        "LD_LIBRARY_PATH": f"{tmp_path}:/other",
        "HIPSCOPE_OUT": "/o",
        "HIPSCOPE_TIME_BUDGET_MS": "1500",
        "HIPSCOPE_CAPTURE": "/c",
        "HIPSCOPE_CAPTURE_KERNELS": "_Za;_Zb",
    }


def test_missing_native_parts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPSCOPE_NATIVE_DIR", str(tmp_path))
    with pytest.raises(NativePartsMissing, match=r"libamdhip64\.so has not been built"):
        native_library_dir()


def test_the_scopes_around_an_address_are_those_that_a_walk_through_all_finds() -> None:
    """Functions with gaps between them and calls inlined to any depth, some in two pieces."""
    chooser = random.Random(7)

    def nested(low: int, high: int, depth: int) -> list[_Scope]:
        scopes, at = [], low
        while at < high and depth:
            start = at + chooser.randrange(3)
            end = min(high, start + 1 + chooser.randrange(12))
            if start < end:
                middle = chooser.randrange(start, end)
                ranges = [(start, middle), (middle, end)] if chooser.random() < 0.3 else [(start, end)]
                scopes.append(_Scope(ranges, f"f{start}", inner=nested(start, end, depth - 1)))
            at = end
        return scopes

    def walk(scopes: list[_Scope], address: int) -> list[_Scope]:
        for scope in scopes:
            if any(low <= address < high for low, high in scope.ranges):
                return [scope, *walk(scope.inner, address)]
        return []

    roots = nested(0, 400, 3)
    for address in range(-2, 410):
        assert list(_enclosing(_ScopeIndex(roots), address)) == walk(roots, address)

"""What a kernel stores where no type is declared: which bytes the replay knows to be floats, and the pieces of them."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

from hipscope.accordo.dispatch.access_map import BF16, F16, F32, F64, SITE, SITES, STORED, WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import read_dispatch
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.stored_numbers import with_stored_numbers
from hipscope.accordo.replay.replay import Replay, ReplayRequest, ReplayTool, replay
from hipscope.analysis.config import Config
from hipscope.analysis.source.number_types import BYTES, element_of
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment, replay_executable

N = 64  # work-items, of one wave
# Each case stores one word (or two) of each work-item; the flags are those of each of its bytes.
CASES = {
    "computed": ("w[0] = __float_as_uint(x * 3.0f);", (F32,)),
    "copied": ("w[0] = __float_as_uint(x);", (0,)),
    "integer": ("w[0] = i * 77 + __float_as_uint(x);", (0,)),
    "converted": ("w[0] = static_cast<int>(x * 3.0f);", (0,)),
    "constant": ("w[0] = 0x3f800000;", (0,)),
    "chosen": ("w[0] = i % 2 ? __float_as_uint(x * 3.0f) : static_cast<unsigned>(i) * 5u;", (None,)),
    "negated": ("w[0] = __float_as_uint(-fabsf(x * 3.0f + 1.0f));", (F32,)),
    "overwritten": ("w[0] = __float_as_uint(x * 3.0f); __syncthreads(); w[0] = i * 5;", (0,)),
    "read_again": (
        "w[0] = __float_as_uint(x * 3.0f); __syncthreads(); w[1] = reinterpret_cast<volatile unsigned*>(w)[0];",
        (F32, F32),
    ),
    "double": ("*reinterpret_cast<double*>(w) = static_cast<double>(x) * 3.0;", (F64, F64)),
    "two": ("*reinterpret_cast<float2*>(w) = make_float2(x * 3.0f, x + 1.0f);", (F32, F32)),
    "mixed": ("*reinterpret_cast<uint2*>(w) = make_uint2(__float_as_uint(x * 3.0f), i * 5);", (F32, 0)),
    "halves": ("*reinterpret_cast<__half2*>(w) = __floats2half2_rn(x * 3.0f, x + 1.0f);", (F16,)),
    "brains": (
        """reinterpret_cast<__hip_bfloat16*>(w)[0] = __float2bfloat16(x * 3.0f);
        reinterpret_cast<__hip_bfloat16*>(w)[1] = __float2bfloat16(x + 1.0f);""",
        (BF16,),
    ),
    "packed_brains": (
        """__hip_bfloat16 own[2] = {__float2bfloat16(x * 3.0f), __float2bfloat16(x + 1.0f)};
        w[0] = *reinterpret_cast<unsigned*>(own);""",
        (BF16,),
    ),
    "packed_integers": ("w[0] = (i * 5 & 0xffff) << 16 | (i * 7 & 0xffff);", (0,)),
    "shuffled": ("w[0] = __float_as_uint(__shfl_xor(x * 3.0f, 5));", (F32,)),
    "broadcast": ("w[0] = __float_as_uint(__shfl(x * 3.0f, 9));", (F32,)),
    "through_lds": ("t[i] = x * 3.0f; __syncthreads(); w[0] = __float_as_uint(t[63 - i]);", (F32,)),
    "integers_in_lds": (
        "t[i] = __uint_as_float(i * 5); __syncthreads(); w[0] = __float_as_uint(t[63 - i]);",
        (0,),
    ),
    "through_scratch": (
        "volatile float own[8]; own[i % 8] = x * 3.0f; w[0] = __float_as_uint(own[i % 8]);",
        (F32,),
    ),
    "added": ("w[0] = 0; __syncthreads(); atomicAdd(reinterpret_cast<float*>(w), x);", (F32,)),
    "counted": ("w[0] = 0; __syncthreads(); atomicAdd(w, 5u);", (0,)),
    "swapped": (
        """w[0] = 0; __syncthreads(); unsigned old = w[0];
        while (atomicCAS(w, old, __float_as_uint(__uint_as_float(old) + x)) != old) old = w[0];""",
        (F32,),
    ),
    "one_bit": ("if (x > 0.0f) w[0] = __float_as_uint(x * 3.0f); else w[0] = i;", (None,)),
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    """A launch that does each case in a column of its own, replayed with its accesses noted."""
    folder = tmp_path_factory.mktemp("stored")
    bodies = "\n".join(
        f"{{ unsigned* const w = out + {2 * N * number} + 2 * i; {body} }} __syncthreads();"
        for number, (body, _) in enumerate(CASES.values())
    )
    (folder / "stored.hip").write_text(
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n"
        "__global__ void stored(const float* in, unsigned* out) {\n"
        f"  __shared__ float t[64];\n  const int i = threadIdx.x;\n  const float x = in[i];\n{bodies}\n}}\n"
        "int main() {\n  float host[64], *in;\n  unsigned* out;\n"
        "  for (int i = 0; i < 64; ++i) host[i] = (i * 37 % 64 - 31) / 8.0f;\n"
        f"  (void)hipMalloc(&in, sizeof host); (void)hipMalloc(&out, {8 * N * len(CASES)});\n"
        "  (void)hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice);\n"
        "  stored<<<1, 64>>>(in, out);\n  return hipDeviceSynchronize();\n}\n"
    )
    toolchain = find_toolchain(Config())
    built = build_program(resolve_project(folder / "stored.hip"), toolchain)
    added = emulator_environment(EmulatorOptions(objdump=toolchain.objdump, capture=folder / "captures"))
    subprocess.run(built.argv, env={**os.environ, **built.env, **added}, check=True, timeout=120)
    tool = ReplayTool(
        (str(replay_executable()),), ("--objdump", str(toolchain.objdump)), timeout_s=60.0, batches=True
    )
    launch = read_dispatch(folder / "captures" / "dispatch_1")
    return replay(
        tool, ReplayRequest(launch, launch.code_object, folder / "out", trace_access=True, number_kinds=True)
    )


@pytest.mark.parametrize("name", CASES)
def test_the_replay_knows_which_stores_leave_floats(traced: Replay, name: str) -> None:
    assert traced.request is not None
    assert traced.status == "ok"
    buffer = traced.request.dispatch.buffers[1]
    start = 8 * N * list(CASES).index(name)
    bits = traced.access(buffer.index, buffer.size).window(start, start + 8 * N).reshape(N, 2, 4)
    for word, expected in enumerate(CASES[name][1]):
        assert (bits[:, word] & WRITTEN).all()
        stored = bits[:, word] & STORED
        flags = np.where(stored, stored - (stored - F32) // SITE % SITES * SITE, 0)
        if expected is not None:
            assert (flags == expected).all()
            continue
        host = np.array([(i * 37 % 64 - 31) / 8 for i in range(N)])
        floats = np.arange(N) % 2 == 1 if name == "chosen" else host > 0
        assert np.array_equal(flags == F32, np.repeat(floats[:, None], 4, axis=1))


def test_pieces_of_bytes_are_cut_into_the_floats_in_them_and_the_rest() -> None:
    """Two structures of a float, an integer, a double and two halves, behind two bytes of something else."""
    structure = [F32] * 4 + [0] * 4 + [F64] * 8 + [F16] * 4 + [0] * 4
    bits = np.array([0] * 8 + structure * 2, dtype=np.uint8) | np.uint8(WRITTEN)
    pieces = with_stored_numbers({0: (Segment(2, len(bits), BYTES, 1),)}, {0: AccessMap.of(bits)})[0]
    found = {p.element.name: p for p in pieces}
    assert list(found) == ["fp32", "fp64", "fp16", "bytes"]
    covered = np.zeros(len(bits), dtype=int)
    for piece in pieces:
        assert piece.only is not None
        assert piece.argument == 1
        covered[piece.start : piece.end] += np.repeat(piece.only, piece.element.size)
    assert covered[:2].sum() == 0
    assert (covered[2:] == 1).all()
    assert found["fp32"].start == 4
    for name, at in (("fp32", [8, 32]), ("fp64", [16, 40])):
        piece = found[name]
        assert [piece.start + piece.element.size * i for i in np.flatnonzero(piece.only == np.True_)] == at


def test_half_of_a_double_and_a_float_across_two_words_are_bytes() -> None:
    bits = np.array([F64] * 4 + [0] * 4 + [0] * 2 + [F32] * 4 + [0] * 2, dtype=np.uint8) | np.uint8(WRITTEN)
    (piece,) = with_stored_numbers({0: (Segment(0, 16, BYTES, 0),)}, {0: AccessMap.of(bits)})[0]
    assert piece.element is BYTES


@pytest.mark.parametrize(
    ("declared", "stored", "becomes"),
    [
        ("int", F32, "int32"),
        ("unsigned char", F32, "fp32"),
        ("double", F32, "fp64"),
        ("unsigned short", BF16, "bf16"),
        ("uint16_t", F16, "fp16"),
        ("short", 0, "int16"),
    ],
)
def test_what_is_declared_counts_but_for_small_integers(declared: str, stored: int, becomes: str) -> None:
    bits = np.full(64, stored | WRITTEN, dtype=np.uint8)
    (piece,) = with_stored_numbers({0: (Segment(0, 64, element_of(declared), 0),)}, {0: AccessMap.of(bits)})[
        0
    ]
    small = declared in ("unsigned char", "unsigned short", "uint16_t")
    assert (piece.element.name, piece.stored) == (becomes, small)


def test_what_is_left_of_small_integers_counts_by_elements() -> None:
    bits = np.full(64, BF16 | WRITTEN, dtype=np.uint8)
    bits[10:20] = WRITTEN
    declared = Segment(0, 64, element_of("unsigned short"), 0)
    floats, rest = with_stored_numbers({0: (declared,)}, {0: AccessMap.of(bits)})[0]
    assert floats.only is not None
    assert rest.only is not None
    assert rest.only.tolist() == [5 <= n < 10 for n in range(32)]
    assert floats.only.tolist() == [not 5 <= n < 10 for n in range(32)]

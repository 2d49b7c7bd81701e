"""Buffer descriptors against a model in Python: addresses (linear, swizzled, lane ids), ranges, typed formats."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa

M32 = 0xFFFFFFFF


@dataclass(frozen=True)
class Buffer:
    """The fields of a descriptor that decide about addresses."""

    stride: int = 0
    records: int = isa.MEMORY_BYTES
    index_stride: int | None = None  # swizzled when given: 8, 16, 32 or 64
    add_lane: bool = False
    format: tuple[int, int] = (0, 0)  # data format, number format
    select: tuple[int, int, int, int] = (4, 5, 6, 7)

    def words(self) -> list[int]:
        third = (
            sum(s << 3 * i for i, s in enumerate(self.select)) | self.format[1] << 12 | self.format[0] << 15
        )
        if self.index_stride:
            third |= {8: 0, 16: 1, 32: 2, 64: 3}[self.index_stride] << 21
        third |= int(self.add_lane) << 23
        second = isa.MEMORY_ADDRESS >> 32 | self.stride << 16 | int(self.index_stride is not None) << 31
        return [isa.MEMORY_ADDRESS & M32, second, self.records, third]

    def place(self, lane: int, index: int, offset: int, soffset: int, indexed: bool) -> int | None:
        """Where the four bytes at `offset` are in memory, or None when out of range."""
        if self.add_lane:
            index += lane
        if not (index < self.records if indexed and self.stride else offset + 4 <= self.records):
            return None
        if self.index_stride is None:
            return index * self.stride + offset + soffset
        group, within = divmod(index, self.index_stride)
        return (group * self.stride + offset // 4 * 4) * self.index_stride + within * 4 + offset % 4 + soffset


BUFFERS = {
    "raw": Buffer(records=100),
    "records": Buffer(stride=12, records=20),
    "swizzled": Buffer(stride=8, records=40, index_stride=8),
    "swizzled64": Buffer(stride=16, records=60, index_stride=64),
    "lanes": Buffer(stride=4, records=50, index_stride=64, add_lane=True),
    "scratch-like": Buffer(records=M32, index_stride=64, add_lane=True),
}


@pytest.mark.parametrize("name", BUFFERS)
@pytest.mark.parametrize("form", ["off", "offen", "idxen", "idxen offen"])
def test_addresses_and_ranges(name: str, form: str, tmp_path: Path) -> None:
    buffer = BUFFERS[name]
    vaddr = {"off": "off", "offen": "v2", "idxen": "v2", "idxen offen": "v[2:3]"}[form]
    flags = "" if form == "off" else form
    rng = random.Random(form + name)
    states = isa.fresh()
    state = states[0]
    state["memory"] = np.random.default_rng(1).integers(0, 2**32, 1024, dtype=np.uint32)
    state["sgpr"][4:8] = buffer.words()
    state["sgpr"][8] = 16
    indices = [rng.randrange(24) for _ in range(64)]
    offsets = [4 * rng.randrange(4 if buffer.index_stride else 30) for _ in range(64)]
    state["vgpr"][2] = indices if "idxen" in form else offsets
    state["vgpr"][3] = offsets
    state["vgpr"][20:24] = 7
    before = states.copy()[0]
    lines = [f"buffer_load_dwordx2 v[20:21], {vaddr}, s[4:7], s8 {flags} offset:4"]
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_NEXT
    for lane in range(64):
        index = indices[lane] if "idxen" in form else 0
        offset = (offsets[lane] if "offen" in form else 0) + 4
        for d in range(2):
            place = buffer.place(lane, index, offset + 4 * d, 16, "idxen" in form)
            want = 0 if place is None else int(before["memory"][place // 4])
            assert int(after["vgpr"][20 + d][lane]) == want, (lane, d)


@pytest.mark.parametrize("offset", [0xFFFFFFFF, 0xFFFFFFFC, 0xFFFFFFF4, 0x80000000])
@pytest.mark.parametrize("immediate", [0, 8, 16])
def test_offsets_do_not_wrap_around_into_the_buffer(offset: int, immediate: int, tmp_path: Path) -> None:
    """Compilers put lanes out of range by an offset of -1 or 2^31; no dword of theirs is in range again."""
    states = isa.fresh(3)
    states["memory"] = 0x55555555
    states["sgpr"][:, 4:8] = Buffer(records=64).words()
    states["vgpr"][:, 2] = offset
    states["vgpr"][:, 20:24] = 7
    states["first"] = range(3)
    lines = [
        f"buffer_load_dwordx4 v[20:23], v2, s[4:7], 0 offen offset:{immediate}",
        f"buffer_store_dwordx4 v[20:23], v2, s[4:7], 0 offen offset:{immediate}",
        f"buffer_atomic_add v20, v2, s[4:7], 0 offen offset:{immediate} sc0",
    ]
    load, store, atomic = isa.run(lines, states, tmp_path)
    assert not load["vgpr"][20:24].any()
    assert (store["memory"] == 0x55555555).all()
    assert not atomic["vgpr"][20].any()
    assert (atomic["memory"] == 0x55555555).all()


def small_float(bits: int, width: int) -> float:
    return float(isa.decode(bits << (15 - width), "f16"))


WIDTHS: dict[int, tuple[int, ...]] = {
    1: (8,), 2: (16,), 3: (8, 8), 4: (32,), 5: (16, 16), 6: (11, 11, 10), 7: (10, 11, 11), 8: (2, 10, 10, 10),
    9: (10, 10, 10, 2), 10: (8, 8, 8, 8), 11: (32, 32), 12: (16, 16, 16, 16), 13: (32, 32, 32), 14: (32, 32, 32, 32),
}  # fmt: skip
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7


def component(bits: int, width: int, number: int) -> int:
    """The 32-bit register value of one stored component."""
    signed = bits - (1 << width) if bits >> (width - 1) else bits
    if number in (UINT, SINT):
        return (bits if number == UINT else signed) & M32
    if number == FLOAT:
        if width == 32:
            return bits
        return isa.encode(float(isa.decode(bits, "f16")) if width == 16 else small_float(bits, width), "f32")
    exact = {
        UNORM: Fraction(bits, (1 << width) - 1),
        SNORM: max(Fraction(signed, max((1 << (width - 1)) - 1, 1)), Fraction(-1)),
        USCALED: Fraction(bits),
        SSCALED: Fraction(signed),
    }[number]
    return isa.encode(isa.rounded(exact, "f32"), "f32")


FORMATS = [
    (data, number)
    for data, widths in WIDTHS.items()
    for number in (UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT)
    if (number == FLOAT and widths[0] >= 10 and data not in (8, 9))
    or (number in (UINT, SINT))
    or (number < UINT and max(widths) < 24)
]


def near(got: int, want: int) -> bool:
    return got == want or isa.same(got, isa.decode(want, "f32"), "f32", ulps=1)


@pytest.mark.parametrize(("data", "number"), FORMATS)
def test_typed_loads_by_descriptor_and_by_instruction(data: int, number: int, tmp_path: Path) -> None:
    widths = WIDTHS[data]
    size = sum(widths) // 8
    states = isa.fresh()
    state = states[0]
    state["memory"] = np.random.default_rng(data * 8 + number).integers(0, 2**32, 1024, dtype=np.uint32)
    if number == FLOAT and 32 not in widths:  # no infinities or NaNs: their bits are not the question
        state["memory"] &= 0x3BDF3BDF & 0xBFFFBBDF
    state["sgpr"][4:8] = Buffer(format=(data, number), select=(7, 4, 1, 0)).words()
    state["vgpr"][2] = np.arange(64) * size
    before = states.copy()[0]
    lines = [
        "buffer_load_format_xyzw v[20:23], v2, s[4:7], 0 offen",
        f"tbuffer_load_format_xyzw v[24:27], v2, s[4:7], 0 format:{data | number << 4} offen",
        f"tbuffer_load_format_x v28, v2, s[4:7], 0 format:{data | number << 4} offen",
        f"tbuffer_load_format_xy v[30:31], v2, s[4:7], 0 format:{data | number << 4} offen",
        f"tbuffer_load_format_xyz v[32:34], v2, s[4:7], 0 format:{data | number << 4} offen",
        "buffer_load_format_x v36, v2, s[4:7], 0 offen",
        "buffer_load_format_xy v[38:39], v2, s[4:7], 0 offen",
        "buffer_load_format_xyz v[40:42], v2, s[4:7], 0 offen",
    ]
    states["count"] = len(lines)
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_NEXT
    memory = before["memory"].astype("<u4").tobytes()
    one = 1 if number in (UINT, SINT) else isa.encode(1.0, "f32")
    for lane in range(64):
        raw = int.from_bytes(memory[lane * size : lane * size + size], "little")
        values, shift = [0, 0, 0, one], 0
        for i, width in enumerate(widths):
            values[i] = component(raw >> shift & ((1 << width) - 1), width, number)
            shift += width
        x, y, z, w = values
        selected = [w, x, one, 0]
        for first, want in (
            (20, selected), (24, values), (28, [x]), (30, [x, y]), (32, [x, y, z]),
            (36, selected[:1]), (38, selected[:2]), (40, selected[:3]),
        ):  # fmt: skip
            for i, value in enumerate(want):
                assert near(int(after["vgpr"][first + i][lane]), value), (lane, first, i)


D16 = ("x", "xy", "xyz", "xyzw")


def test_half_precision_typed_loads_and_stores_round_trip(tmp_path: Path) -> None:
    """16_16_16_16 FLOAT holds halves: d16 forms move their bits unchanged."""
    fmt = 12 | FLOAT << 4
    states = isa.fresh()
    state = states[0]
    halves = np.random.default_rng(4).integers(0, 0x7C00, 2048, dtype=np.uint16)
    state["memory"] = halves.view("<u4")
    state["sgpr"][4:8] = Buffer(format=(12, FLOAT), records=1024).words()
    state["vgpr"][2] = np.arange(64) * 8
    state["vgpr"][20:60] = 0xAAAABBBB
    before = states.copy()[0]
    lines = []
    for n, name in enumerate(D16):
        for form, first in (("buffer", 20 + 2 * n), ("tbuffer", 30 + 2 * n)):
            last = first + n // 2
            to = f"v{first}" if last == first else f"v[{first}:{last}]"
            extra = f" format:{fmt}" if form == "tbuffer" else ""
            lines.append(f"{form}_load_format_d16_{name} {to}, v2, s[4:7], 0{extra} offen")
    lines.append("buffer_load_format_d16_hi_x v40, v2, s[4:7], 0 offen")
    lines.append(f"tbuffer_store_format_d16_xyzw v[26:27], v2, s[4:7], 0 format:{fmt} offen offset:512")
    lines.append("s_endpgm")
    states["count"] = len(lines)
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    for lane in range(64):
        stored = halves[4 * lane : 4 * lane + 4]
        for n in range(4):
            for first in (20, 30):
                got = [
                    int(after["vgpr"][first + 2 * n + i // 2][lane]) >> 16 * (i % 2) & 0xFFFF
                    for i in range(n + 1)
                ]
                assert got == [int(v) for v in stored[: n + 1]], (lane, n)
        assert int(after["vgpr"][20][lane]) >> 16 == 0xAAAA
        assert int(after["vgpr"][40][lane]) == int(stored[0]) << 16 | 0xBBBB
    assert np.array_equal(after["memory"][128:256], before["memory"][:128])


def encoded(value: int, width: int, number: int) -> int:
    """What a typed store writes for a register value."""
    if number in (UINT, SINT):
        return value & ((1 << width) - 1)
    x = float(isa.decode(value, "f32"))
    if number == FLOAT:
        return value if width == 32 else isa.encode(isa.rounded_or_special(x, "f16"), "f16")
    low, high = {
        UNORM: (0, 1),
        SNORM: (-1, 1),
        USCALED: (0, (1 << width) - 1),
        SSCALED: (-(1 << width - 1), (1 << width - 1) - 1),
    }[number]
    scale = {UNORM: (1 << width) - 1, SNORM: (1 << (width - 1)) - 1, USCALED: 1, SSCALED: 1}[number]
    clamped = min(max(Fraction(x), Fraction(low)), Fraction(high))
    return round(clamped * scale) & ((1 << width) - 1)


STORE_FORMATS = [(d, n) for d, n in FORMATS if not (n == FLOAT and d in (6, 7))]


@pytest.mark.parametrize(("data", "number"), STORE_FORMATS)
def test_typed_stores(data: int, number: int, tmp_path: Path) -> None:
    widths = WIDTHS[data]
    size, count = sum(widths) // 8, len(widths)
    rng = random.Random(data * 8 + number)
    states = isa.fresh()
    state = states[0]
    state["sgpr"][4:8] = Buffer(format=(data, number)).words()
    state["vgpr"][2] = np.arange(64) * size
    make: Callable[[], int] = (
        (lambda: rng.getrandbits(32))
        if number in (UINT, SINT)
        else (lambda: isa.encode(isa.rounded(Fraction(rng.uniform(-1.5, 300)), "f32"), "f32"))
    )
    for r in range(20, 24):
        state["vgpr"][r] = [make() for _ in range(64)]
    before = states.copy()[0]
    name = "xyzw"[:count]
    place = "v20" if count == 1 else f"v[20:{19 + count}]"
    lines = [
        f"buffer_store_format_{name} {place}, v2, s[4:7], 0 offen",
        f"tbuffer_store_format_{name} {place}, v2, s[4:7], 0 format:{data | number << 4} offen offset:2048",
    ]
    states["count"] = 2
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_NEXT
    memory = after["memory"].astype("<u4").tobytes()
    for lane in range(64):
        want, shift = 0, 0
        for i, width in enumerate(widths):
            want |= encoded(int(before["vgpr"][20 + i][lane]), width, number) << shift
            shift += width
        for start in (0, 2048):
            got = int.from_bytes(memory[start + lane * size : start + lane * size + size], "little")
            assert got == want, (lane, start, hex(got), hex(want))


def test_d16_stores_write_the_low_or_the_high_half(tmp_path: Path) -> None:
    states = isa.fresh()
    state = states[0]
    state["vgpr"][20] = 0x11112222
    state["vgpr"][21] = 0x33334444
    state["vgpr"][2] = np.arange(64) * 8
    state["sgpr"][4:8] = Buffer(format=(2, UINT)).words()  # 16
    state["sgpr"][8:12] = Buffer(format=(5, UINT)).words()  # 16_16
    state["sgpr"][12:16] = Buffer(format=(12, UINT)).words()  # 16_16_16_16
    lines = [
        "buffer_store_format_d16_x v20, v2, s[4:7], 0 offen",
        "buffer_store_format_d16_hi_x v20, v2, s[4:7], 0 offen offset:2",
        "buffer_store_format_d16_xy v21, v2, s[8:11], 0 offen offset:4",
        "buffer_store_format_d16_xyzw v[20:21], v2, s[12:15], 0 offen offset:1024",
        f"tbuffer_store_format_d16_x v20, v2, s[4:7], 0 format:{2 | UINT << 4} offen offset:2048",
        f"tbuffer_store_format_d16_xy v21, v2, s[4:7], 0 format:{5 | UINT << 4} offen offset:2052",
        "s_endpgm",
    ]
    states["count"] = len(lines)
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    memory = after["memory"].astype("<u4").tobytes()
    assert struct.unpack_from("<4H", memory, 8) == (0x2222, 0x1111, 0x4444, 0x3333)
    assert struct.unpack_from("<4H", memory, 1032) == (0x2222, 0x1111, 0x4444, 0x3333)
    assert struct.unpack_from("<4H", memory, 2056) == (0x2222, 0, 0x4444, 0x3333)


@pytest.mark.parametrize("typed", [False, True], ids=["buffer", "tbuffer"])
@pytest.mark.parametrize("number", [UINT, SINT], ids=["uint", "sint"])
def test_d16_stores_widen_three_halves(tmp_path: Path, number: int, typed: bool) -> None:
    words_32_32_32 = 13
    states = isa.fresh()
    state = states[0]
    state["vgpr"][20] = 0x9111_2222
    state["vgpr"][21] = 0x3333_C444
    state["vgpr"][2] = np.arange(64) * 12
    state["sgpr"][4:8] = Buffer(format=(0, 0) if typed else (words_32_32_32, number)).words()
    format_of_its_own = f"format:{words_32_32_32 | number << 4} " if typed else ""
    lines = [
        f"{'t' if typed else ''}buffer_store_format_d16_xyz v[20:21], v2, s[4:7], 0 {format_of_its_own}offen",
        "s_endpgm",
    ]
    states["count"] = len(lines)
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    high = 0xFFFF_0000 if number == SINT else 0
    for lane in range(64):
        assert list(after["memory"][lane * 3 : lane * 3 + 3]) == [0x2222, high | 0x9111, high | 0xC444]


def test_what_the_manual_leaves_open_stops_the_wave(tmp_path: Path) -> None:
    states = isa.fresh(2)
    states["sgpr"][:, 4:8] = Buffer(format=(10, UINT)).words()
    lines = ["buffer_store_format_x v20, off, s[4:7], 0", "buffer_load_format_x v20, off, s[8:11], 0"]
    states["first"] = [0, 1]
    after = isa.run(lines, states, tmp_path)
    assert list(after["step"]) == [
        isa.STEP_FAULT,
        isa.STEP_FAULT,
    ]  # fewer components than the format; format 0

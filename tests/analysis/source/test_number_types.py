"""The spellings of integers are one table: sizes and signs of C++, of its library, and of HIP."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.number_types import INTEGERS, element_of, integers


@pytest.mark.parametrize(
    ("name", "bits", "signed"),
    [
        ("int", 32, True), ("signed", 32, True), ("signed int", 32, True), ("unsigned", 32, False),
        ("unsigned int", 32, False), ("int unsigned", 32, False), ("short", 16, True),
        ("unsigned short int", 16, False),
        ("char", 8, True), ("unsigned char", 8, False), ("long", 64, True), ("long int", 64, True),
        ("long unsigned int", 64, False), ("unsigned long long", 64, False), ("long long int", 64, True),
        ("std::size_t", 64, False), ("size_t", 64, False), ("std::uint16_t", 16, False), ("uint16_t", 16, False),
        ("int64_t", 64, True), ("std::ptrdiff_t", 64, True), ("uint", 32, False), ("ulong", 64, False),
    ],
)  # fmt: skip
def test_each_spelling_has_its_size_and_sign(name: str, bits: int, signed: bool) -> None:
    assert (INTEGERS[name].bits, INTEGERS[name].signed) == (bits, signed)
    assert element_of(name).name == f"{'int' if signed else 'uint'}{bits}"
    assert name in integers(bits, bits, signed=signed)


def test_a_set_of_spellings_has_one_sign_and_no_smaller_type() -> None:
    assert not integers(32) & {"short", "char", "uint8_t", "bool", "float"}
    assert not integers(32, signed=True) & integers(32, signed=False)
    assert "std::size_t" in integers(32)

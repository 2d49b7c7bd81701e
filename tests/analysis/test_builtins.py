"""The table of built-in names: classes that patterns find, with `std::` or without, and only whole names."""

from __future__ import annotations

import pytest

from hipscope.analysis.builtins import classes, is_a, method_is_a, words


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("__threadfence_system", "fence"), ("__builtin_amdgcn_fence", "fence"), ("std::atomic_thread_fence", "fence"),
        ("__hip_atomic_load", "ordered_atomic"), ("atomicAdd_system", "atomic"), ("__shfl_xor_sync", "lanes"),
        ("__builtin_amdgcn_mov_dpp", "lanes"), ("std::swap", "by_reference"), ("sqrtf", "math"), ("uchar4", "converts"),
    ],
)  # fmt: skip
def test_a_name_is_found_in_its_class(name: str, row: str) -> None:
    assert is_a(name, row)


@pytest.mark.parametrize(
    ("name", "row"), [("my_threadfence", "fence"), ("sqrt_of", "converts"), ("swapped", "by_reference")]
)
def test_a_longer_name_is_another_name(name: str, row: str) -> None:
    assert not is_a(name, row)


def test_words_finds_names_and_calls_of_methods_in_a_text() -> None:
    assert words("fence").search("a; __threadfence(); b") is not None
    assert words("other_barrier").search("tile.sync();") is not None
    assert words("other_barrier").search("int sync = 1;") is None
    assert method_is_a("shfl_down", "lanes")


def test_every_class_says_what_its_names_do() -> None:
    assert all(row.what and row.names for row in classes().values())

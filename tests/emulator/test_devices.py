"""The device table: ranges hold their values, and their ends make kernels fast or slow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hipscope.emulator.devices import (
    constants_at_ends,
    constants_at_mixed_ends,
    constants_of_part,
    device_constants,
    switches,
    time_interval,
    uncertain_constants,
    wait_interval,
    write_device_config,
)


@pytest.mark.parametrize("device", sorted(device_constants()))
def test_a_range_holds_its_value(device: str) -> None:
    rows = device_constants()[device]
    for key, (least, most) in uncertain_constants(device).items():
        assert least < most, key
        assert least <= float(rows[key].value) <= most, key


def test_what_is_assumed_has_a_range() -> None:
    rows = device_constants()["mi300a"]
    without = [k for k, r in rows.items() if r.source.startswith("assumed") and r.range is None]
    assert without == []


def test_a_switch_is_no_range_that_a_rewrite_must_hold_in() -> None:
    ends = switches("mi300a")["l2_kept_lines"]
    assert device_constants()["mi300a"]["l2_kept_lines"].value in ends
    assert ends[0] != ends[1]
    assert "l2_kept_lines" not in constants_at_ends("mi300a")[0]


@pytest.mark.parametrize("device", sorted(device_constants()))
def test_the_parts_of_a_device_share_what_it_has(device: str) -> None:
    rows, part = {k: r.value for k, r in device_constants()[device].items()}, constants_of_part(device)
    assert part is not None
    parts = part["xcds"] / float(rows["xcds"])
    assert 2 <= float(rows["compute_units"]) / part["xcds"] <= 4
    assert float(rows["compute_units"]) % part["xcds"] == 0
    rate = part["l2_channels"] * part["l2_read_bytes_per_cycle"]
    assert rate * parts == pytest.approx(float(rows["l2_channels"]) * float(rows["l2_read_bytes_per_cycle"]))


def test_costs_are_slow_when_large_and_capacities_when_small() -> None:
    fast, slow = constants_at_ends("mi300x")
    assert fast["atomic_latency"] < slow["atomic_latency"]
    assert fast["partial_write_factor"] < slow["partial_write_factor"]
    assert fast["store_queue"] > slow["store_queue"]
    assert fast["mall_bytes_per_s"] > slow["mall_bytes_per_s"]


def test_mixed_ends_set_memory_against_the_rest() -> None:
    fast, slow = constants_at_ends("mi300x")
    slow_memory, fast_memory = constants_at_mixed_ends("mi300x")
    for memory in ("mall_latency", "l1_block_bytes", "atomic_word_cycles", "hbm_read_bytes_per_s"):
        assert (slow_memory[memory], fast_memory[memory]) == (slow[memory], fast[memory])
    for other in ("barrier_cycles", "valu_half_cycles", "branch_taken_cycles"):
        assert (slow_memory[other], fast_memory[other]) == (fast[other], slow[other])


def test_changes_replace_rows_of_the_file(tmp_path: Path) -> None:
    text = write_device_config("mi300x", tmp_path / "device.txt", {"store_queue": 99}).read_text()
    assert "store_queue 99\n" in text
    assert text.count("store_queue ") == 1


def test_intervals_are_those_of_the_published_sensitivities() -> None:
    """The medians that benchmarks/notes/accuracy.md shows, widened by its mean error on kernels left out of the fit."""
    page = (Path(__file__).resolve().parents[2] / "benchmarks/notes/accuracy.md").read_text(encoding="utf-8")
    found = re.search(r"^\| all \| \d+ \| \d+ % \| (\d+) % \|", page, re.MULTILINE)
    assert found is not None
    widened = 1 + int(found[1]) / 100
    medians = re.findall(r"^\| (\w+) \| \d+ \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert len(medians) > 4
    for bound, least, largest in medians:
        assert time_interval(bound) == pytest.approx(
            (float(least) / widened, float(largest) * widened), rel=0.03
        )


@pytest.mark.parametrize(
    ("reason", "bound"),
    [
        ("global_memory", "latency"),
        ("scratch_memory", "latency"),
        ("scalar_memory", "latency"),
        ("lds", "lds"),
        ("atomic", "atomic"),
        ("dependency", "valu"),
        ("pipe_busy", "vmem"),
    ],
)
def test_a_wait_is_as_uncertain_as_a_kernel_that_is_bound_by_it(reason: str, bound: str) -> None:
    assert wait_interval(reason) == time_interval(bound)

"""Metrics from counters: real captures of AMD's copy, published numbers, and what is missing."""

from __future__ import annotations

import csv
import statistics
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from hipscope.analysis.counters.docs import FOLDER, pages
from hipscope.analysis.counters.formula import evaluate, names_in
from hipscope.analysis.counters.metrics import (
    MeasuredMetric,
    kernel_metrics,
    metrics_of,
)
from hipscope.analysis.counters.table import metric_table, tables
from hipscope.analysis.devices import DeviceFacts, device_of
from hipscope.analysis.ingest import read_capture
from hipscope.analysis.profilers.rocm_counters import counter_set

ROOT = Path(__file__).parents[3]
VCOPY = ROOT / "tests" / "data" / "captures" / "mi300x_vcopy"
WORKLOADS = ROOT.parent / "shared" / "fixtures" / "rocprofiler-compute_workloads"
MI300X = device_of(DeviceFacts(arch="gfx942", product="MI300X", compute_units=304, xcds=8, clock_mhz=2100))
MI210 = device_of(DeviceFacts(arch="gfx90a", product="MI210", compute_units=104, xcds=1, clock_mhz=1700))
shared = pytest.mark.skipif(not WORKLOADS.is_dir(), reason="needs the shared fixtures")


def by_key(found: tuple[MeasuredMetric, ...]) -> dict[str, MeasuredMetric]:
    return {m.metric.key: m for m in found}


def values(counters: dict[str, float], time_ns: float = 1000, launches: int = 1) -> dict[str, float | None]:
    return {m.metric.key: m.value for m in metrics_of(counters, time_ns, launches, MI300X)}


def test_a_copy_on_an_mi300x() -> None:
    found = by_key(kernel_metrics(read_capture(VCOPY).kernels[0], MI300X))
    assert found["l2_hit"].value == pytest.approx(34.3, abs=0.1)
    assert found["waves"].value == 16384
    assert found["read_bytes"].value == pytest.approx(3 * 8.40e6, rel=0.01)


@shared
def test_medians_of_a_copy_on_an_mi300x() -> None:
    # The golden values of AMD's own sample (rocprofiler-compute, vcopy, MI300X_A1_rocpd): the median launch.
    launches: dict[str, dict[str, float]] = defaultdict(dict)
    with (WORKLOADS / "vcopy" / "MI300X_A1_rocpd" / "pmc_perf.csv").open() as file:
        for row in csv.DictReader(file):
            counters = launches[row["Dispatch_ID"]]
            counters[row["Counter_Name"]] = float(row["Counter_Value"])
            counters["duration_ns"] = float(row["End_Timestamp"]) - float(row["Start_Timestamp"])
    each = [values(counters, counters["duration_ns"]) for counters in launches.values()]
    golden = {
        "time": 6730, "waves": 16384, "l2_hit": 34.3, "read_bytes": 8.40e6, "read_rate": 1248, "valu_busy": 1.1,
        "active_lanes": 64, "mean_waves": 1918.7, "wave_cycles": 3390.5, "dependency_wait": 2354.5,
        "issue_wait": 52.3, "active_cycles": 68, "vmem_latency": 1005, "l1_hit": 62.5, "coalescing": 25,
        "load_requests": 4, "store_requests": 8,
    }  # fmt: skip
    medians = {key: statistics.median(v for one in each if (v := one[key]) is not None) for key in golden}
    assert medians == pytest.approx(golden, rel=0.03)


@shared
def test_a_copy_on_an_mi200() -> None:
    counters: Counter[str] = Counter()
    time_ns = 0.0
    with (WORKLOADS / "vcopy" / "MI200" / "pmc_perf.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        time_ns += float(row["End_Timestamp"]) - float(row["Start_Timestamp"])
        counters.update(
            {k: float(v) for k, v in row.items() if k.isidentifier() and k.isupper() | ("_sum" in k) and v}
        )
    found = by_key(metrics_of(counters, time_ns, len(rows), MI210))
    # Lines of 64 bytes in the L1: eight requests for a load of 512 B; its own names for requests to memory.
    assert found["load_requests"].value == pytest.approx(8)
    assert found["l1_hit"].value == pytest.approx(50)
    assert found["read_bytes"].value == pytest.approx(3 * 8 * 1024 * 1024, rel=0.01)
    assert found["l1_read_latency"].value == pytest.approx(1243.7, abs=0.1)
    assert "matrix_f8_rate" not in found
    assert found["occupancy"].value is not None
    assert found["occupancy"].value < 8


def test_published_numbers_of_guided_tuning() -> None:
    # A vector addition of 1,048,576 floats on an MI300X, 5.809 us.
    add = values(
        {
            "TA_TOTAL_WAVEFRONTS_sum": 49152, "TCP_TOTAL_ACCESSES_sum": 786432, "TCC_HIT_sum": 35880,
            "TCC_MISS_sum": 98424, "TCP_TOTAL_CACHE_ACCESSES_sum": 196608,
        },
        5809,
    )  # fmt: skip
    assert add["coalescing"] == pytest.approx(100)
    assert add["l2_hit"] == pytest.approx(26.7, abs=0.05)
    assert add["l1_bytes"] == pytest.approx(25.2e6, rel=0.01)
    # A transpose without coalescing: 16 and 64 look-ups per wave instruction.
    transpose = values({"TA_TOTAL_WAVEFRONTS_sum": 2, "TCP_TOTAL_ACCESSES_sum": 80})
    assert transpose["coalescing"] == pytest.approx(40)
    conflicts = values({"SQ_LDS_BANK_CONFLICT": 32768, "SQ_LDS_IDX_ACTIVE": 98304})
    assert conflicts["lds_conflicts"] == pytest.approx(0.5)
    assert conflicts["lds_bytes"] == 8_388_608


def test_a_missing_counter_is_named_and_nothing_is_made_of_it() -> None:
    found = by_key(metrics_of({"SQ_INSTS": 10.0}, 1000, 1, MI300X))
    assert (found["ipc"].value, found["ipc"].missing) == (None, ("SQ_BUSY_CU_CYCLES",))
    assert all(m.value is None for key, m in found.items() if key != "time")


def test_a_division_by_zero_is_missing_without_a_missing_counter() -> None:
    found = by_key(metrics_of({"TCC_HIT_sum": 0.0, "TCC_MISS_sum": 0.0}, 1000, 1, MI300X))
    assert (found["l2_hit"].value, found["l2_hit"].missing) == (None, ())


def test_a_device_whose_size_is_not_known_has_no_metric_that_needs_it() -> None:
    counters = {"GRBM_GUI_ACTIVE": 800.0, "SQ_ACTIVE_INST_VALU": 100.0, "SQ_INSTS": 10.0, "SQ_WAVES": 5.0}
    found = by_key(metrics_of(counters, 1000, 1, device_of(DeviceFacts(arch="gfx942"))))
    assert found["valu_busy"].missing == ("CU", "XCD")
    assert found["instructions_per_wave"].value == 2
    assert metrics_of(counters, 1000, 1, device_of(DeviceFacts())) == ()


@pytest.mark.parametrize(
    "formula", ["__import__('os')", "a.b", "[1]", "a if a else a", "open(a)", "a ** 2", "-a"]
)
def test_a_formula_is_arithmetic_and_nothing_else(formula: str) -> None:
    with pytest.raises(ValueError, match="not arithmetic"):
        evaluate(formula, {"a": 1.0}, {})


@pytest.mark.parametrize("name", tables())
def test_each_row_of_each_table_can_be_evaluated_and_says_where_it_is_from(name: str) -> None:
    table = metric_table(name)
    assert table is not None
    for metric in table.metrics.values():
        needed = [n for n in names_in(metric.formula, table.names) if "_" in n and n != "WAVES_PER_CU"]
        (found,) = (
            m for m in metrics_of(dict.fromkeys(needed, 8.0), 1000, 1, device_of(DeviceFacts(
                arch=name, compute_units=4, xcds=1, clock_mhz=1000, shader_engines=2, l2_channels=16,
            ))) if m.metric == metric
        )  # fmt: skip
        assert found.missing == (), metric.key
        assert metric.source
        assert metric.group in table.groups


def test_the_main_table_has_what_amds_reports_have() -> None:
    table = metric_table("gfx942")
    assert table is not None
    assert len(table.metrics) >= 110
    keys = {key for m in table.metrics.values() for key in m.source.split() if "." in key}
    assert {
        "flops.f",
        "flops.i",
        "hbm.rd",
        "hbm.wr",
        "lds.lds",
        "lds.bc",
        "lds.util",
        "l1.hr",
        "l1.coal",
        "l2.hr",
    } <= {key.rstrip(",") for key in keys}


def test_the_pages_are_current() -> None:
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in pages()}
    assert texts == pages(), "run: python -m hipscope.analysis.counters.docs"
    left = {path.relative_to(ROOT).as_posix() for path in (ROOT / FOLDER).iterdir()} - pages().keys()
    assert left == set()


@pytest.mark.parametrize(("arch", "wide"), [("gfx1100", True), ("gfx1200", False), ("gfx1201", False)])
def test_bytes_that_are_read_need_no_counter_that_the_architecture_lacks(arch: str, wide: bool) -> None:
    table = metric_table(arch)
    assert table is not None
    needed = names_in(table.metrics["read_bytes"].formula, table.names)
    assert ("GL2C_EA_RDREQ_96B_sum" in needed) == wide
    assert needed <= set(counter_set(arch))
    assert needed == {c for c in counter_set(arch) if "RDREQ" in c}

"""The device of a capture: its own data first, then the row of its product and architecture, and nothing else's."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hipscope.analysis.devices import DeviceFacts, device_of, find_device, with_measured
from hipscope.analysis.errors import UsageError
from hipscope.emulator.devices import device_table

ROOT = Path(__file__).parents[2]
GPUS = tomllib.loads((ROOT / "analysis" / "gpus.toml").read_text(encoding="utf-8"))
MI300X = DeviceFacts(arch="gfx942", product="AMD Instinct MI300X", compute_units=304, xcds=8, clock_mhz=2100)


def test_a_misspelt_device_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"unknown device 'mi300xx'.*did you mean mi300x"):
        find_device("mi300xx")


def test_device_names_are_not_case_sensitive() -> None:
    assert find_device("MI300A").compute_units == 228


def test_each_row_of_the_table_says_where_it_is_from() -> None:
    def rows(table: dict[str, object]) -> list[dict[str, object]]:
        inner = [value for value in table.values() if isinstance(value, dict)]
        return [v for v in inner if "value" in v] + [r for v in inner if "value" not in v for r in rows(v)]

    found = rows(GPUS)
    assert len(found) > 200
    assert all(row.get("source") and "unit" in row for row in found)


@pytest.mark.parametrize("name", sorted(device_table()))
def test_both_tables_say_the_same_of_a_modelled_device(name: str) -> None:
    modelled = find_device(name)
    row = GPUS["product"][name]
    real = device_of(DeviceFacts(arch=row["archs"][0], product=name))
    for field in (
        "arch",
        "compute_units",
        "simds_per_cu",
        "xcds",
        "clock_mhz",
        "wave_size",
        "max_waves_per_simd",
    ):
        assert getattr(real, field) == getattr(modelled, field), field
    for field in ("vgprs_per_lane", "vgpr_granule", "lds_bytes", "lds_granule"):
        assert getattr(real, field) == getattr(modelled, field), field
    for field in ("hbm_bytes_per_s", "l2_bytes_per_s", "flops_fp64"):
        assert getattr(real, field) == pytest.approx(getattr(modelled, field), rel=0.03), field


def test_a_gpu_that_nobody_knows_has_no_numbers() -> None:
    for facts in (DeviceFacts(), DeviceFacts(arch="gfx1399"), DeviceFacts(product="Some GPU")):
        device = device_of(facts)
        known = {name: value for name, value in device if name not in ("name", "arch") and value}
        assert known == {"cus_per_workgroup": 1}


def test_an_architecture_alone_has_no_size_and_no_bandwidth() -> None:
    device = device_of(DeviceFacts(arch="gfx90a:sramecc+:xnack-"))
    assert (device.arch, device.vgprs_per_lane, device.lds_granule) == ("gfx90a", 512, 512)
    assert (device.compute_units, device.xcds, device.hbm_bytes_per_s, device.flops_fp32) == (
        None,
        None,
        None,
        None,
    )
    assert device.ceilings == {}


def test_what_the_capture_says_wins() -> None:
    device = device_of(
        DeviceFacts(arch="gfx942", product="AMD Instinct MI300X", clock_mhz=1000, lds_bytes=1234)
    )
    assert (device.name, device.compute_units, device.clock_mhz, device.lds_bytes) == (
        "mi300x",
        304,
        1000,
        1234,
    )
    assert device.flops_fp64 == 304 * 128 * 1000e6


@pytest.mark.parametrize(
    ("xcds", "compute_units", "partition"),
    [(8, 304, None), (4, 152, "DPX"), (2, 76, "QPX"), (1, 38, "CPX")],
)
def test_a_part_of_a_gpu_has_its_parts_of_the_peaks(
    xcds: int, compute_units: int, partition: str | None
) -> None:
    told = DeviceFacts(
        arch="gfx942", product="AMD Instinct MI300X", compute_units=compute_units, xcds=xcds, clock_mhz=2100
    )
    device = device_of(told)
    assert device.partition == partition
    assert device.flops_fp64 == pytest.approx(81.7152e12 * xcds / 8)
    assert device.l2_bytes_per_s == pytest.approx(34.4064e12 * xcds / 8)
    # Which part of the memory a partition reaches depends on its memory mode, which the agent table does not say.
    assert (device.hbm_bytes_per_s is None) is (partition is not None)
    assert ("hbm" in device.ceilings) is (partition is None)


@pytest.mark.parametrize(
    ("facts", "name", "hbm"),
    [
        (
            DeviceFacts(arch="gfx942", product="AMD Instinct MI300X VF", compute_units=304, xcds=8),
            "mi300x",
            5.3e12,
        ),
        (
            DeviceFacts(arch="gfx942", product="AMD Instinct MI325X", compute_units=304, xcds=8),
            "mi325x",
            6.0e12,
        ),
        (DeviceFacts(arch="gfx942", chip=29861, product="AMD Instinct MI300X"), "mi325x", 6.0e12),
        (
            DeviceFacts(arch="gfx942", product="AMD Instinct MI308X", compute_units=80, xcds=4),
            "mi308x",
            5.3e12,
        ),
        (
            DeviceFacts(arch="gfx90a", product="AMD Instinct MI250X/MI250", compute_units=110),
            "mi250x",
            1.6384e12,
        ),
        (DeviceFacts(arch="gfx90a", product="AMD Instinct MI250", compute_units=104), "mi250", 1.6384e12),
        (
            DeviceFacts(arch="gfx950", product="AMD Instinct MI350X", compute_units=256, xcds=8),
            "mi350x",
            8.0e12,
        ),
        (DeviceFacts(arch="gfx908", product="Arcturus GL-XL [Instinct MI100]"), "mi100", 1.2288e12),
        (DeviceFacts(arch="gfx1100", product="AMD Radeon RX 7900 XTX"), "rx7900xtx", 9.6e11),
        (DeviceFacts(arch="gfx1151", product="Radeon 8060S Graphics"), "radeon8060s", 2.56e11),
        (DeviceFacts(arch="9.0", product="NVIDIA H100 80GB HBM3"), "h100-sxm", 3.35e12),
        # The size alone decides where only one product has it: an MI300X and an MI325X are alike.
        (DeviceFacts(arch="gfx942", compute_units=228, xcds=6), "mi300a", 5.3e12),
        (DeviceFacts(arch="gfx942", compute_units=304, xcds=8), "gfx942", None),
        # 304 CUs are not on one die, nor beside the L2 channels of one: what was computed from that is not used.
        (DeviceFacts(arch="gfx942", compute_units=304, xcds=1, memory_bytes_per_s=7.68e11), "gfx942", None),
        (
            DeviceFacts(arch="gfx950", compute_units=256, l2_channels=16, memory_bytes_per_s=1e12),
            "gfx950",
            None,
        ),
        # A product of another architecture is not this one.
        (DeviceFacts(arch="gfx1151", product="AMD Instinct MI300X"), "AMD Instinct MI300X", None),
    ],
)
def test_the_product_is_the_one_that_is_meant(facts: DeviceFacts, name: str, hbm: float | None) -> None:
    device = device_of(facts)
    assert (device.name, device.hbm_bytes_per_s) == (name, hbm)


def test_the_mi350x_is_not_the_mi355x() -> None:
    facts = {
        name: device_of(DeviceFacts(arch="gfx950", product=f"AMD Instinct {name}"))
        for name in ("MI350X", "MI355X")
    }
    assert {name: device.clock_mhz for name, device in facts.items()} == {"MI350X": 2200, "MI355X": 2400}
    assert all(device.lds_granule == 1280 for device in facts.values())


def test_measured_ceilings_win_and_keep_the_peak_beside_them() -> None:
    ceiling = device_of(MI300X).ceilings["matrix_bf16"]
    assert (ceiling.per_s, ceiling.basis) == (516e12, "measured")
    assert ceiling.peak_per_s == pytest.approx(1307.4e12, rel=1e-3)
    own = with_measured(device_of(MI300X), {"hbm": 4.0e12, "mall": 9.0e12}, "roofline.csv")
    assert (own.ceilings["hbm"].per_s, own.ceilings["hbm"].source) == (4.0e12, "roofline.csv")
    assert own.hbm_bytes_per_s == 5.3e12


def test_a_wave_of_another_size_has_its_share_of_the_registers() -> None:
    narrow, wide = (device_of(DeviceFacts(arch="gfx1100", wave_size=size)) for size in (32, 64))
    assert (narrow.vgprs_per_lane, narrow.vgpr_granule) == (1536, 24)
    assert (wide.vgprs_per_lane, wide.vgpr_granule) == (768, 12)


def test_all_named_architectures_are_known() -> None:
    wanted = {"gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151"}
    wanted |= {"gfx1200", "gfx1201", "sm_80", "sm_90", "sm_100"}
    assert [arch for arch in wanted if device_of(DeviceFacts(arch=arch)).wave_size is None] == []


@pytest.mark.parametrize(
    "called", ["AMD Radeon RX 9070 GRE", "NVIDIA A100 80GB PCIe", "NVIDIA H100 PCIe", "NVIDIA H200"]
)
def test_a_relative_of_a_product_has_none_of_its_numbers(called: str) -> None:
    device = device_of(DeviceFacts(product=called))
    assert (device.hbm_bytes_per_s, device.compute_units, device.clock_mhz) == (None, None, None)


@pytest.mark.parametrize(
    ("called", "product"), [("AMD Instinct MI300X VF", "mi300x"), ("AMD Radeon RX 9070 XT", "rx9070xt")]
)
def test_a_product_is_known_by_what_drivers_call_it(called: str, product: str) -> None:
    assert device_of(DeviceFacts(product=called)).name == product

"""The table of classes: thresholds are told, and no class changes by the noise of its inputs without being named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipscope.analysis.classification.classes import class_table

SHARES = st.fixed_dictionaries(
    {},
    optional={
        **{
            name: st.one_of(st.floats(0, 1.1), st.sampled_from((0.25, 0.4, 0.45, 0.5, 0.6)))
            for name in (
                "memory", "flops", "l2", "l1", "lds", "issue", "waits_issue", "waits_atomics", "waits_lds", "issuing",
                "occupancy", "busy", "idle", "copies_alone",
            )
        },
        "launch_ns": st.sampled_from((1000.0, 2900.0, 3100.0, 50_000.0)),
        "mean_gap_ns": st.sampled_from((1000.0, 19_500.0, 20_500.0, 90_000.0)),
        "known": st.just(1.0),
    },
)  # fmt: skip
MODELS = st.sampled_from((None, "hbm", "mall", "latency", "lds", "something newer"))


@given(
    SHARES,
    st.lists(st.floats(-0.05, 0.05), min_size=20, max_size=20),
    MODELS,
    st.sampled_from(("kernel", "run")),
)
def test_noise_of_5_percent_changes_no_class_but_to_one_that_is_named(
    measures: dict[str, float], noise: list[float], model: str | None, of: str
) -> None:
    table = class_table()
    found = table.classify(of, measures, model=model)  # type: ignore[arg-type]
    noisy = {
        name: value if name == "known" else value * (1 + part)
        for (name, value), part in zip(measures.items(), noise, strict=False)
    }
    again = table.classify(of, noisy, model=model)  # type: ignore[arg-type]
    assert again.name in (found.name, *found.near)
    assert found.name not in found.near


@pytest.mark.parametrize(
    ("measures", "name", "near", "why"),
    [
        ({"memory": 0.82, "flops": 0.1}, "memory", (), "HBM at 82 % of its ceiling, threshold 60 %"),
        (
            {"memory": 0.62, "flops": 0.1},
            "memory",
            ("latency",),
            "HBM at 62 % of its ceiling, threshold 60 %",
        ),
        ({"memory": 0.7, "flops": 0.71}, "compute", ("memory",), "F64 at 71 % of their peak, threshold 60 %"),
        ({"memory": 0.2, "flops": 0.1, "l2": 0.9}, "l2", (), "L2 at 90 % of its ceiling, threshold 60 %"),
        ({"memory": 0.2, "lds": 0.7}, "lds", (), "LDS at 70 % of its ceiling, threshold 60 %"),
        (
            {"memory": 0.2, "occupancy": 0.125},
            "occupancy",
            (),
            "VGPRs allow 12 % of the waves, threshold 25 %",
        ),
        ({"memory": 0.2, "flops": 0.3}, "latency", (), "F64 at 30 % of their peak, threshold 60 %"),
        ({"memory": 0.9, "launch_ns": 2000.0}, "launch", (), "a launch takes 2 us, threshold 3 us"),
        ({}, "unknown", (), ""),
    ],
)
def test_the_numbers_that_decide_are_told_with_their_thresholds(
    measures: dict[str, float], name: str, near: tuple[str, ...], why: str
) -> None:
    measures = {**measures, "known": 1.0} if measures else {}
    found = class_table().classify("kernel", measures, told={"pipe": "F64", "limiter": "VGPRs"})
    assert (found.name, found.near, found.why) == (name, near, why)


@pytest.mark.parametrize(
    ("measures", "name"),
    [
        ({"busy": 0.9, "idle": 0.1, "copies_alone": 0.0}, "gpu"),
        ({"busy": 0.1, "idle": 0.8, "copies_alone": 0.1, "mean_gap_ns": 1e6}, "host"),
        ({"busy": 0.3, "idle": 0.7, "copies_alone": 0.0, "mean_gap_ns": 8000.0}, "launching"),
        ({"busy": 0.2, "idle": 0.2, "copies_alone": 0.6, "mean_gap_ns": 1e6}, "copies"),
    ],
)
def test_a_run_is_limited_by_the_gpu_copies_launching_or_the_host(
    measures: dict[str, float], name: str
) -> None:
    assert class_table().classify("run", measures).name == name


def test_every_row_says_who_says_so() -> None:
    for row in class_table().rows:
        assert row.source
        assert all(c.measure in class_table().words or c.measure == "known" for c in row.conditions)

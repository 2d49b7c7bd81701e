"""Where the time of small captures went, worked out by hand."""

import json
from pathlib import Path

import pytest

from hipscope.analysis.ingest import read_captures
from hipscope.analysis.profile import Provenance
from hipscope.analysis.timeline.records import HostDoing, KernelPath, Timeline
from hipscope.analysis.timeline.timeline import OWN_CODE, timeline

TRACE = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp"'
)
COPIES = (
    '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp"'
)
CALLS = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
Launch = tuple[str, int, int, int, int, int]


def write(
    folder: Path,
    launches: list[Launch],
    copies: list[tuple[str, int, int, int, int]] | None = None,
    calls: list[tuple[str, int, int, int]] | None = None,
    domain: str = "HIP_RUNTIME_API",
) -> None:
    """Launches of (kernel, queue, stream, correlation, start, end), copies of (direction, stream, ...), calls."""
    rows = [
        f'"KERNEL_DISPATCH","Agent 4",{queue},{stream},7,{n},"{name}",{correlation},{start},{end}'
        for n, (name, queue, stream, correlation, start, end) in enumerate(launches, start=1)
    ]
    (folder / "1_kernel_trace.csv").write_text("\n".join([TRACE, *rows, ""]))
    if copies is not None:
        rows = [
            f'"MEMORY_COPY","MEMORY_COPY_{way}",{stream},'
            f'"{"Agent 0" if way.startswith("HOST") else "Agent 4"}",'
            f'"{"Agent 4" if way.startswith("HOST") else "Agent 0"}",{correlation},{start},{end}'
            for way, stream, correlation, start, end in copies
        ]
        (folder / "1_memory_copy_trace.csv").write_text("\n".join([COPIES, *rows, ""]))
    if calls is not None:
        rows = [f'"{domain}","{name}",1,7,{n},{start},{end}' for name, n, start, end in calls]
        (folder / f"1_{domain.lower()}_trace.csv").write_text("\n".join([CALLS, *rows, ""]))


def shown(folder: Path) -> Timeline:
    found = timeline(read_captures([folder]))
    assert found is not None
    return found


def test_the_busy_share_is_the_union_of_launches_over_the_wall_time_and_copies_are_apart(
    tmp_path: Path,
) -> None:
    launches: list[Launch] = [
        ("a", 1, 1, 0, 1100, 1300),
        ("b", 2, 2, 0, 1200, 1400),
        ("a", 1, 1, 0, 1700, 1800),
    ]
    write(tmp_path, launches, [("HOST_TO_DEVICE", 1, 0, 1000, 1150), ("DEVICE_TO_HOST", 1, 0, 1900, 2000)])
    found = shown(tmp_path)
    (gpu,) = found.gpus
    assert found.wall_ns == 1000
    assert (gpu.busy_ns, gpu.busy_share, gpu.launches) == (400, 0.4, 3)
    assert (gpu.copies, gpu.copies_ns, gpu.copies_alone_ns, gpu.idle_ns) == (2, 250, 200, 400)
    assert (gpu.concurrent_ns, gpu.most_at_once) == (100, 2)
    assert [(lane.what, lane.stream, lane.items, lane.busy_ns) for lane in found.lanes] == [
        ("launches", 1, 2, 300),
        ("launches", 2, 1, 200),
        ("copy host to device", 1, 1, 150),
        ("copy device to host", 1, 1, 100),
    ]
    assert [(gap.at_ns, gap.time_ns, gap.before, gap.after) for gap in found.gaps] == [
        (400, 300, "b", "a"),
        (800, 100, "a", "copy device to host"),
    ]
    assert found.host == ()
    assert (found.limit, found.near) == ("launching", ("host", "unknown"))
    assert found.why.startswith("the GPU is idle 40 % of the wall time, threshold 40 %; its gaps last")


def test_a_gap_says_what_the_host_did_in_it(tmp_path: Path) -> None:
    launches: list[Launch] = [("a", 1, 1, 2, 1000, 1100), ("a", 1, 1, 4, 2000, 2100)]
    calls = [
        ("hipLaunchKernel", 2, 900, 950),
        ("hipMalloc", 3, 1200, 1800),
        ("hsa_amd_memory_pool_allocate", 9, 1250, 1750),  # what hipMalloc calls
        ("hipLaunchKernel", 4, 1950, 1960),
    ]
    write(tmp_path, launches, calls=calls)
    found = shown(tmp_path)
    doing = (HostDoing("hipMalloc", 600), HostDoing(OWN_CODE, 290), HostDoing("hipLaunchKernel", 10))
    assert found.gaps[0].host == doing
    assert found.host == doing


def test_markers_are_no_calls_of_the_host(tmp_path: Path) -> None:
    launches: list[Launch] = [("a", 1, 1, 2, 1000, 1100), ("a", 1, 1, 4, 2000, 2100)]
    write(tmp_path, launches, calls=[("step", 2, 500, 3000)], domain="MARKER_CORE_API")
    assert shown(tmp_path).host == ()


def test_the_longest_path_goes_through_the_host_where_it_waits(tmp_path: Path) -> None:
    # Stream 1: k of 300 ns. Stream 2: m of 100 ns. The host waits for k, thinks for 100 ns, launches k again.
    launches: list[Launch] = [
        ("k", 1, 1, 1, 1010, 1310),
        ("m", 2, 2, 2, 1030, 1130),
        ("k", 1, 1, 4, 1430, 1730),
    ]
    calls = [
        ("hipLaunchKernel", 1, 1000, 1010),
        ("hipLaunchKernel", 2, 1012, 1020),
        ("hipStreamSynchronize", 3, 1020, 1320),
        ("hipLaunchKernel", 4, 1420, 1440),
        ("hipDeviceSynchronize", 5, 1440, 1740),
    ]
    write(tmp_path, launches, calls=calls)
    path = shown(tmp_path).path
    assert path is not None
    assert path.host
    # 10 ns to start, 300 of k, 10 to return, 100 of the host, 10 to start, 300 of k, 10 to return.
    assert path.time_ns == 740
    assert (path.launches_ns, path.own_code_ns, path.latency_ns, path.calls_ns) == (600, 100, 20, 20)
    assert path.kernels == (KernelPath("k", 600, 2, 0), KernelPath("m", 0, 0, 600))


def test_a_copy_orders_the_launches_of_its_stream(tmp_path: Path) -> None:
    launches: list[Launch] = [
        ("a", 1, 1, 0, 1000, 1100),
        ("a", 1, 1, 0, 1500, 1600),
        ("b", 2, 2, 0, 1000, 1250),
    ]
    write(tmp_path, launches, [("HOST_TO_DEVICE", 1, 0, 1100, 1400)])
    path = shown(tmp_path).path
    assert path is not None
    assert (path.time_ns, path.launches_ns, path.copies_ns) == (500, 200, 300)
    assert path.kernels == (KernelPath("a", 200, 2, 0), KernelPath("b", 0, 0, 250))


def test_statistics_and_modelled_times_have_no_timeline(tmp_path: Path) -> None:
    (tmp_path / "1_kernel_stats.csv").write_text(
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
        '"k",3,3000,1000,100,1000,1000,0\n'
    )
    assert timeline(read_captures([tmp_path])) is None
    write(tmp_path, [("k", 1, 1, 0, 1000, 2000)])
    measured = read_captures([tmp_path])
    assert timeline(measured) is not None
    assert timeline(measured.model_copy(update={"provenance": Provenance.MODELLED})) is None


def test_copies_of_another_time_are_left_out_and_named(tmp_path: Path) -> None:
    write(tmp_path, [("k", 1, 1, 0, 10**15, 10**15 + 5)], [("HOST_TO_DEVICE", 1, 0, 1000, 1100)])
    found = shown(tmp_path)
    assert found.wall_ns == 5
    assert "1 copies are an hour or more from any launch" in found.notes[0]


@pytest.mark.parametrize("kind", ["json", "rocpd"])
def test_calls_and_copies_are_found_under_the_names_of_other_formats(tmp_path: Path, kind: str) -> None:
    (_json if kind == "json" else _rocpd)(tmp_path)
    found = shown(tmp_path)
    assert (found.gpus[0].copies_ns, found.gpus[0].busy_ns, found.wall_ns) == (100, 100, 300)
    assert found.path is not None
    assert (found.path.host, found.path.time_ns) == (True, 300)
    assert [lane.what for lane in found.lanes] == ["launches", "copy host to device"]


def _json(folder: Path) -> None:
    def at(start: int, end: int, **more: object) -> dict[str, object]:
        return {"thread_id": 3, "start_timestamp": start, "end_timestamp": end, **more}

    launch = {
        "agent_id": {"handle": 7}, "queue_id": {"handle": 1}, "kernel_id": 1, "dispatch_id": 1,
        "grid_size": {"x": 64, "y": 1, "z": 1}, "workgroup_size": {"x": 64, "y": 1, "z": 1},
    }  # fmt: skip
    process = {
        "metadata": {"pid": 41},
        "agents": [{"id": {"handle": 7}, "type": 2, "node_id": 4, "logical_node_id": 1, "name": "gfx942"}],
        "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "k"}],
        "strings": {
            "buffer_records": [
                {"operations": ["COPY_HOST_TO_DEVICE"]}, {"operations": ["hipMemcpy", "hipLaunchKernel"]},
            ]
        },
        "buffer_records": {
            "kernel_dispatch": [
                at(1200, 1300, dispatch_info=launch, correlation_id={"internal": 2}, stream_id={"handle": 1})
            ],
            "memory_copy": [
                at(1000, 1100, kind=0, operation=0, correlation_id={"internal": 1}, stream_id={"handle": 1},
                   src_agent_id={"handle": 1}, dst_agent_id={"handle": 7}, bytes=64)
            ],
            "hip_api": [
                at(1000, 1110, kind=1, operation=0, correlation_id={"internal": 1}),
                at(1150, 1160, kind=1, operation=1, correlation_id={"internal": 2}),
            ],
        },
    }  # fmt: skip
    (folder / "1_results.json").write_text(json.dumps({"rocprofiler-sdk-tool": [process]}))


def _rocpd(folder: Path) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(folder / "1_results.db")) as database:
        make = database.execute
        make("CREATE TABLE rocpd_metadata (id INT)")
        make(
            "CREATE TABLE kernels (name TEXT, start INT, end INT, pid INT, tid INT, dispatch_id INT, queue_id INT, "
            "stream_id INT, agent_log_index INT, stack_id INT, corr_id INT)"
        )
        make("INSERT INTO kernels VALUES ('k', 1200, 1300, 41, 3, 1, 1, 1, 1, 2, 0)")
        make(
            "CREATE TABLE memory_copies (name TEXT, start INT, end INT, pid INT, tid INT, size INT, stream_id INT, "
            "src_agent_log_index INT, dst_agent_log_index INT, stack_id INT, corr_id INT)"
        )
        make(
            "INSERT INTO memory_copies VALUES ('MEMORY_COPY_HOST_TO_DEVICE', 1000, 1100, 41, 3, 64, 1, 0, 1, 1, 0)"
        )
        make(
            "CREATE TABLE regions (category TEXT, name TEXT, start INT, end INT, pid INT, tid INT, stack_id INT, "
            "corr_id INT)"
        )
        make("INSERT INTO regions VALUES ('HIP_RUNTIME_API', 'hipMemcpy', 1000, 1110, 41, 3, 1, 0)")
        make("INSERT INTO regions VALUES ('HIP_RUNTIME_API', 'hipLaunchKernel', 1150, 1160, 41, 3, 2, 0)")
        make("INSERT INTO regions VALUES ('MARKER_CORE_API', 'all of it', 500, 9000, 41, 3, 0, 0)")
        database.commit()

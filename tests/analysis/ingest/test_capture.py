"""What the reader makes of captures: real ones of several tools and generations, and damaged ones."""

from __future__ import annotations

import csv
import io
import json
import shutil
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipscope.analysis.errors import UsageError
from hipscope.analysis.ingest import read_capture
from hipscope.analysis.ingest.formats.rocprof_csv import read_long_counters
from hipscope.analysis.ingest.formats.tables import read_table, split_record
from hipscope.analysis.ingest.launches import read_kernel_trace
from hipscope.analysis.profile import Kernel, Provenance, Source, StallReason
from hipscope.analysis.source.kernel_definitions import base_name, definition_line
from hipscope.analysis.source.texts import SourceTexts

DATA = Path(__file__).parents[2] / "data" / "captures"
TRACE_HEADER = '"Kind","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n'


def only_kernel(directory: Path) -> Kernel:
    profile = read_capture(directory)
    assert len(profile.kernels) == 1
    return profile.kernels[0]


def test_a_merged_table_gives_the_launches_of_one_pass_and_the_sums_of_all_passes() -> None:
    kernel = only_kernel(DATA / "mi300x_vcopy")
    assert kernel.name == "vecCopy(double*, double*, double*, int, int)"
    assert [d.time_ns for d in kernel.dispatches] == [8052, 6730, 6730]
    assert kernel.counters["SQ_WAVES"] == 3 * 16384
    assert kernel.counters["GRBM_GUI_ACTIVE"] == 272355 + 234038 + 231626
    assert kernel.resources.vgprs == 4
    assert kernel.resources.lds_bytes == 0


def test_a_capture_without_agents_or_code_objects_says_so_by_leaving_things_out() -> None:
    kernel = only_kernel(DATA / "mi300x_trace")
    assert kernel.counters == {}
    assert kernel.instructions == ()
    assert kernel.resources.vgpr_spills is None
    assert kernel.file is None


def test_a_recorded_capture_counts_as_measured() -> None:
    profile = read_capture(DATA / "mi300x_trace")
    assert (profile.source, profile.provenance) == (Source.RECORDED, Provenance.MEASURED)


@pytest.mark.parametrize(
    ("folder", "launches", "shape"),
    [("sdk_7.0", 9, (1024, 1024, 1)), ("sdk_6.3", 7, (1024, 1024, 1)), ("sdk_6.2", 1, (1024, 1024, 1))],
)
def test_every_generation_of_the_kernel_trace_is_read(
    folder: str, launches: int, shape: tuple[int, int, int]
) -> None:
    trace = next((DATA / folder).glob("*kernel_trace.csv"))
    read = read_kernel_trace(trace)
    assert len(read) == launches
    assert all(launch.timed for launch in read)
    assert {launch.grid for launch in read} == {shape}
    assert all(launch.lds == 0 for launch in read)


def test_registers_are_known_only_where_the_trace_has_them() -> None:
    assert read_kernel_trace(DATA / "sdk_7.0" / "out_kernel_trace.csv")[1].agprs == 4
    assert read_kernel_trace(DATA / "sdk_6.2" / "kernel_trace.csv")[0].vgprs is None


def test_launches_of_an_old_trace_are_numbered_in_order() -> None:
    assert [launch.id for launch in read_kernel_trace(DATA / "sdk_6.2" / "kernel_trace.csv")] == [1]


@pytest.mark.parametrize("folder", ["sdk_7.0", "sdk_6.3", "sdk_6.2"])
def test_every_generation_of_the_counter_table_is_read(folder: str) -> None:
    passes = read_long_counters(next((DATA / folder).glob("*counter_collection.csv"))).counters
    assert {name for p in passes for name in p.name.used()} == {"SQ_WAVES"}
    values = [v for p in passes for v in p.value.tolist()]
    assert values
    assert all(v in (16384, 65536) for v in values)


def test_counters_of_a_kernel_come_from_its_own_launches() -> None:
    profile = read_capture(DATA / "sdk_7.0")
    add = profile.kernel("void addition_kernel<float>(float*, float const*, float const*, int, int)")
    assert add is not None
    assert add.counters == {"SQ_WAVES": 16384}
    assert len(add.dispatches) == 3


def test_pc_samples_of_code_json_become_stalls_by_reason() -> None:
    kernel = only_kernel(DATA / "pc_sampling_code")
    assert kernel.mangled == "_Z14reference_gemmILi4EEvPKhS1_P14__hip_bfloat16PKfS5_iii"
    assert kernel.sampled
    assert sum(i.latency for i in kernel.instructions) == 77 + 427
    assert sum(i.stall for i in kernel.instructions) == 427
    assert sum(i.stalls.get(StallReason.BARRIER, 0) for i in kernel.instructions) == 153
    assert sum(i.stalls.get(StallReason.INSTRUCTION_FETCH, 0) for i in kernel.instructions) == 10


def test_an_instruction_that_is_only_placed_in_a_header_belongs_to_its_kernel() -> None:
    kernel = only_kernel(DATA / "pc_sampling_code")
    load = kernel.instructions[0]
    assert load.source[0].file.endswith("amd_hip_runtime.h")
    assert (load.source[-1].file, load.source[-1].line) == (kernel.file, kernel.line)
    assert all(i.source[-1].file == kernel.file for i in kernel.instructions if i.source)


def test_pc_samples_of_a_table_are_joined_through_their_launch(tmp_path: Path) -> None:
    shutil.copy(DATA / "pc_sampling_csv" / "out_pc_sampling_stochastic.csv", tmp_path)
    rows = "".join(f'"KERNEL_DISPATCH",{i},"k(int)",{i * 100},{i * 100 + 50}\n' for i in range(1, 80))
    (tmp_path / "out_kernel_trace.csv").write_text(TRACE_HEADER + rows)
    kernel = only_kernel(tmp_path)
    assert kernel.sampled
    samples = (DATA / "pc_sampling_csv" / "out_pc_sampling_stochastic.csv").read_text().splitlines()[1:]
    assert sum(i.latency for i in kernel.instructions) == len(samples)
    assert sum(i.stall for i in kernel.instructions) == sum(',0,"ROCPROFILER' in s for s in samples)
    assert all(i.source for i in kernel.instructions)


def test_a_thread_trace_blames_a_wait_on_what_it_waited_for(tmp_path: Path) -> None:
    write_trace_folder(tmp_path, with_rows=True)
    kernel = only_kernel(tmp_path)
    load, wait = kernel.instructions[0], kernel.instructions[2]
    assert (load.hits, load.latency) == (10, 40)
    assert wait.waited_for == {0: 300.0, 1: 100.0}
    assert wait.stalls == {StallReason.GLOBAL_MEMORY: 300.0, StallReason.LDS: 100.0}
    assert [(f.file, f.line) for f in load.source] == [("/src/a:b.hip", 7), ("/src/main.hip", 20)]


def test_null_stands_for_an_empty_list(tmp_path: Path) -> None:
    write_trace_folder(tmp_path, with_rows=False)
    assert only_kernel(tmp_path).instructions == ()


def test_a_spoilt_code_json_does_not_spoil_the_capture(tmp_path: Path) -> None:
    write_trace_folder(tmp_path, with_rows=True)
    code = next(tmp_path.rglob("code.json"))
    code.write_text(code.read_text().replace("main.hip", 'ma"in.hip'))
    assert only_kernel(tmp_path).instructions == ()


def test_damaged_stamps_leave_a_partial_kernel(tmp_path: Path) -> None:
    (tmp_path / "x_kernel_trace.csv").write_text(
        TRACE_HEADER + '"K",1,"k",8.1097E+14,8.1097E+14\n"K",2,"k",10,30\n"K",3,"k",30,30\n'
    )
    kernel = only_kernel(tmp_path)
    assert kernel.time_ns == 20
    assert kernel.partial == "2 of 3 launches have damaged time stamps"


def test_kernel_statistics_alone_give_calls_and_times(tmp_path: Path) -> None:
    (tmp_path / "out_kernel_stats.csv").write_text(
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
        '"k(int, float)",3,100,33.333333,100.00,30,40,4.7\n'
    )
    kernel = only_kernel(tmp_path)
    assert len(kernel.dispatches) == 3
    assert kernel.time_ns == 100


def test_api_statistics_are_not_kernels(tmp_path: Path) -> None:
    (tmp_path / "out_hip_api_stats.csv").write_text('"Name","Calls","TotalDurationNs"\n"hipMalloc",3,100\n')
    with pytest.raises(UsageError, match="no profile in this directory"):
        read_capture(tmp_path)


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        read_capture(tmp_path / "nothing")


def test_a_sidecar_of_the_future_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hipscope.json").write_text('{"schema": "hipscope.capture/9"}')
    with pytest.raises(UsageError, match="unknown schema"):
        read_capture(tmp_path)


def test_a_row_with_too_few_cells_costs_itself_and_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"A","B"\n1,2\n3\n4,5\n')
    table = read_table(path)
    assert [row["A"] for row in table.rows()] == ["1", "4"]
    assert table.damage == ("line 3 has 1 cells where the header has 2: left out",)


def test_a_last_row_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"A","B"\n1,2\n3')
    assert list(read_table(path).rows()) == [{"A": "1", "B": "2"}]


cell_text = st.text(alphabet=string.ascii_letters + string.digits + " ,<>():*&\"'", max_size=20)


@given(st.lists(cell_text, min_size=1, max_size=6))
def test_standard_csv_is_read_back(cells: list[str]) -> None:
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="").writerow(cells)
    assert split_record(stream.getvalue()) == cells


@given(st.lists(st.integers() | cell_text.filter(lambda t: '"' not in t), min_size=1, max_size=6))
def test_rocprofv3_csv_is_read_back(cells: list[int | str]) -> None:
    record = ",".join(str(c) if isinstance(c, int) else f'"{c}"' for c in cells)
    assert split_record(record) == [str(c) for c in cells]


@given(st.text(alphabet=string.ascii_letters + ",", min_size=1, max_size=8))
def test_an_unescaped_quote_inside_a_cell_stays(inner: str) -> None:
    if inner.startswith(","):
        return  # a quote before a comma does close the cell
    record = f'"void k<"{inner}">()",1'
    assert split_record(record) == [f'void k<"{inner}">()', "1"]


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("vecCopy(double*, int)", "vecCopy"),
        ("void k<float, (int)3>(float*)", "k"),
        ("void ns::inner::k<ns::T<1>>(ns::T<1>*)", "k"),
        ("(anonymous namespace)::k(int)", "k"),
        ("plain_c_name", "plain_c_name"),
    ],
)
def test_the_identifier_of_a_kernel_name(name: str, base: str) -> None:
    assert base_name(name) == base


def test_a_definition_is_found_above_its_first_instruction(tmp_path: Path) -> None:
    source = tmp_path / "a.hip"
    source.write_text("// k(int) is declared below\nvoid k(int);\n__global__ void\nk(int n) {\n  n = 1;\n}\n")
    assert definition_line(SourceTexts().lines(source), "k(int)", 5) == 4


def test_a_definition_is_found_in_the_captures_copy_of_the_source(tmp_path: Path) -> None:
    write_trace_folder(tmp_path, with_rows=True)
    folder = tmp_path / "ui_output_agent_77_dispatch_4"
    (folder / "source_0_main.hip").write_text("\n" * 16 + "__global__ void k(int n) {\n}\n")
    (folder / "snapshots.json").write_text(json.dumps({"/": {"src": {"main.hip": "source_0_main.hip"}}}))
    (kernel,) = read_capture(tmp_path).kernels
    assert (kernel.file, kernel.line) == ("/src/main.hip", 17)


def test_a_definition_is_found_in_the_text_that_the_program_was_built_from(tmp_path: Path) -> None:
    write_trace_folder(tmp_path, with_rows=True)
    texts = SourceTexts({Path("/src/main.hip"): b"\n" * 11 + b"__global__ void k(int n) {\n}\n"})
    (kernel,) = read_capture(tmp_path, texts).kernels
    assert (kernel.file, kernel.line) == ("/src/main.hip", 12)


def write_trace_folder(directory: Path, *, with_rows: bool) -> None:
    """One launch with a decoded thread trace as rocprofv3 7.0 writes it."""
    (directory / "x_kernel_trace.csv").write_text(TRACE_HEADER + '"K",4,"k(int)",10,30\n')
    folder = directory / "ui_output_agent_77_dispatch_4"
    folder.mkdir()
    rows = [
        ["; _Z1ki", 0, 0, "k(int)", 1, 256, 0, 0, 0, 0],
        [
            "global_load_dword v1, v0, s[0:1]",
            0,
            1,
            "/src/a:b.hip:7 -> /src/main.hip:20",
            1,
            256,
            10,
            40,
            0,
            0,
        ],
        ["ds_read_b32 v2, v3", 0, 2, "/src/main.hip:21", 1, 264, 10, 40, 0, 0],
        ["s_waitcnt vmcnt(0) lgkmcnt(0)", 0, 3, None, 1, 272, 10, 440, 400, 0],
    ]
    header = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    code = {"code": rows if with_rows else None, "version": "3.0.0", "header": header}
    (folder / "code.json").write_text(json.dumps(code))
    (folder / "filenames.json").write_text(json.dumps({"wave_filenames": None, "thread_trace": True}))
    for number, producers in enumerate(([[1, 0]], [[1, 0]], [[1, 0], [2, 0]])):
        wave = {"instructions": None, "waitcnt": [[3, producers]] if with_rows else None}
        (folder / f"se0_sm0_sl{number}_wv0.json").write_text(json.dumps({"wave": wave}))

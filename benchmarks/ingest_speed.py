"""How long captures take to read, against the bare library on the same file, and how much memory.

    python benchmarks/ingest_speed.py [--launches 1000000] [--kinds trace counters rocpd json samples waves]

Writes files of that size into a temporary folder, reads each in a process of its own: with pandas.read_csv,
json.load or sqlite3, then into a Profile. Prints seconds of processor time and the peak of memory of both. Of PC
samples as many are written as launches of the others, of thread traces as many instructions.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

KERNELS = 200
COUNTERS = 5
TRACE = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)
COUNTED = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id",'
    '"Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n'
)


SAMPLED = (
    '"Sample_Timestamp","Exec_Mask","Dispatch_Id","Instruction","Instruction_Comment","Correlation_Id",'
    '"Wave_Issued_Instruction","Instruction_Type","Stall_Reason","Wave_Count"\n'
)
REASONS = ("WAITCNT", "ALU_DEPENDENCY", "OTHER_WAIT", "ARBITER_NOT_WIN", "BARRIER_WAIT")
ISA = 500  # instructions of a kernel
WAVE = 20_000  # traced instructions of a wave
WAIT = 100  # of which one waits


def main() -> None:
    """Print a line per format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="*", default=["trace", "counters", "rocpd", "json"])
    parser.add_argument("--read", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(*options.read)
        return
    print(
        f"{'format':10} {'MB':>7} {'bare s':>8} {'Profile s':>10} {'times':>6} {'bare MB':>8} {'Profile MB':>11}"
    )
    for kind in options.kinds:
        with tempfile.TemporaryDirectory() as folder:
            path = WRITERS[kind](Path(folder), options.launches)
            bare, ours = (measured(kind, way, path) for way in ("bare", "profile"))
            files = [path] if path.is_file() else list(path.iterdir())
            size = sum(file.stat().st_size for file in files) / 1e6
            print(
                f"{kind:10} {size:7.0f} {bare[0]:8.2f} {ours[0]:10.2f} {ours[0] / bare[0]:6.2f} {bare[1]:8.0f} "
                f"{ours[1]:11.0f}",
                flush=True,
            )


def measured(kind: str, way: str, path: Path) -> tuple[float, float]:
    """Seconds of processor time and megabytes of one reading."""
    words = [sys.executable, __file__, "--read", kind, way, str(path)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    seconds, megabytes = printed.split()[-2:]
    return float(seconds), float(megabytes)


def read(kind: str, way: str, path: str) -> None:
    """Read one file and print what it took, imports and the interpreter left aside."""
    import pandas

    from hipscope.analysis.ingest import read_captures

    before = most_memory()
    begun = time.process_time()
    if way == "profile":
        kept: object = read_captures([Path(path)])
    elif kind in ("trace", "counters", "samples"):
        kept = pandas.read_csv(path)
    elif kind == "waves":
        for file in Path(path).iterdir():  # one after the other, as none needs another
            kept = json.loads(file.read_bytes())
    elif kind == "json":
        kept = json.loads(Path(path).read_bytes())
    else:
        kept = 0  # a list of ten million tuples does not fit into the memory of most machines
        with closing(sqlite3.connect(path)) as database:
            cursor = database.execute("SELECT * FROM kernels")
            while rows := cursor.fetchmany(4096):
                kept += len(rows)
    seconds = time.process_time() - begun
    print(seconds, most_memory() - before)
    del kept


def most_memory() -> float:
    """Megabytes that this process has held at most. What `getrusage` gives counts the process that started it, too."""
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) / 1024


def name(launch: int) -> str:
    """The kernel of a launch."""
    return f"void kernel_{launch % KERNELS}<float, {launch % KERNELS}>(float*, float const*, int, int)"


def write_trace(folder: Path, launches: int) -> Path:
    """A kernel trace as rocprofv3 7.0 writes it."""
    path = folder / "1_kernel_trace.csv"
    with path.open("w") as stream:
        stream.write(TRACE)
        for i in range(launches):
            start = 1_550_151_853_029_637 + 20_000 * i
            stream.write(
                f'"KERNEL_DISPATCH","Agent 4",1,1,834304,{i + 1},{i % KERNELS + 10},"{name(i)}",{i + 1},{start},'
                f"{start + 5000 + i % 777},0,0,8,0,16,64,1,1,1024,1024,1\n"
            )
    return path


def write_counters(folder: Path, launches: int) -> Path:
    """A counter table with five counters per launch."""
    path = folder / "1_counter_collection.csv"
    with path.open("w") as stream:
        stream.write(COUNTED)
        for i in range(launches):
            start = 1_550_151_853_029_637 + 20_000 * i
            for c in range(COUNTERS):
                stream.write(
                    f'{i + 1},{i + 1},"Agent 4",1,834304,834304,1048576,{i % KERNELS},"{name(i)}",64,0,0,8,0,16,'
                    f'"SQ_COUNTER_{c}",{i % 1000}.000000,{start},{start + 5000}\n'
                )
    return path


def write_rocpd(folder: Path, launches: int) -> Path:
    """A database with the view `kernels` over tables like those of rocprofv3."""
    path = folder / "1_results.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE rocpd_info_kernel_symbol_1 (id INTEGER PRIMARY KEY, display_name TEXT)"
        )
        database.execute(
            "CREATE TABLE rocpd_kernel_dispatch_1 (id INTEGER PRIMARY KEY, pid INT, tid INT, kernel_id INT, "
            "dispatch_id INT, queue_id INT, stream_id INT, start INT, end INT, grid_x INT, workgroup_x INT, lds INT)"
        )
        database.executemany(
            "INSERT INTO rocpd_info_kernel_symbol_1 VALUES (?, ?)", ((k, name(k)) for k in range(KERNELS))
        )
        database.executemany(
            "INSERT INTO rocpd_kernel_dispatch_1 VALUES (?, 1, 1, ?, ?, 1, 1, ?, ?, 1048576, 256, 0)",
            (
                (i, i % KERNELS, i, 10**15 + 20_000 * i, 10**15 + 20_000 * i + 5000)
                for i in range(1, launches + 1)
            ),
        )
        database.execute(
            "CREATE VIEW kernels AS SELECT s.display_name AS name, d.pid, d.tid, d.dispatch_id, d.queue_id, "
            "d.stream_id, d.start, d.end, d.grid_x, 1 AS grid_y, 1 AS grid_z, d.workgroup_x, 1 AS workgroup_y, "
            "1 AS workgroup_z, d.lds AS lds_size FROM rocpd_kernel_dispatch_1 d "
            "JOIN rocpd_info_kernel_symbol_1 s ON s.id = d.kernel_id"
        )
        database.commit()
    return path


def write_json(folder: Path, launches: int) -> Path:
    """Results of one process."""
    path = folder / "1_results.json"
    symbols = [
        {
            "kernel_id": k + 1,
            "formatted_kernel_name": name(k),
            "kernel_name": f"_Z{k}.kd",
            "arch_vgpr_count": 8,
        }
        for k in range(KERNELS)
    ]
    records = [
        {
            "thread_id": 1,
            "correlation_id": {"internal": i, "external": 0},
            "start_timestamp": 10**15 + 20_000 * i,
            "end_timestamp": 10**15 + 20_000 * i + 5000,
            "dispatch_info": {
                "agent_id": {"handle": 7}, "queue_id": {"handle": 1}, "kernel_id": i % KERNELS + 1, "dispatch_id": i,
                "private_segment_size": 0, "group_segment_size": 0, "workgroup_size": {"x": 256, "y": 1, "z": 1},
                "grid_size": {"x": 1048576, "y": 1, "z": 1},
            },
            "stream_id": {"handle": 0},
        }
        for i in range(1, launches + 1)
    ]  # fmt: skip
    process = {
        "metadata": {"pid": 1},
        "kernel_symbols": symbols,
        "buffer_records": {"kernel_dispatch": records},
    }
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [process]}))
    return path


def write_samples(folder: Path, samples: int) -> Path:
    """PC samples of the stochastic method: of 200 launches, at 500 instructions of each."""
    path = folder / "1_pc_sampling_stochastic.csv"
    with path.open("w") as stream:
        stream.write(SAMPLED)
        for i in range(samples):
            place, reason, launch = i * 7919 % ISA, i // 3 % len(REASONS), i * KERNELS // samples + 1
            issued = i % 4 == 0
            stream.write(
                f'{10**15 + 100 * i},18446744073709551615,{launch},"v_add_f32_e32 v{place}, v1, v2",'
                f'"/home/user/project/kernel.hip:{place}",{i % KERNELS + 1},{issued:d},"VALU","{REASONS[reason]}",'
                f"{i % 8}\n"
            )
    return path


def write_waves(folder: Path, instructions: int) -> Path:
    """A decoded thread trace: waves of 20,000 instructions, every hundredth of which waits for two loads."""
    path = folder / "ui_output_agent_1_dispatch_1"
    path.mkdir()
    code = [
        [f"s_waitcnt vmcnt({n % 4})" if n % WAIT == 0 else "global_load_dword v1, v[2:3], off", 0, n + 1,
         f"/home/user/kernel.hip:{n}", 1, 4096 + 8 * n, 64, 6400, 3200, 0]
        for n in range(ISA)
    ]  # fmt: skip
    header = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    (path / "code.json").write_text(json.dumps({"code": code, "version": "3.0.0", "header": header}))
    for number in range(max(1, instructions // WAVE)):
        traced = [[1000 + 8 * i, i % 7, i % 5 * 4, 8, i % ISA + 1] for i in range(WAVE)]
        waits = [
            [i % ISA + 1, [[(i + 1) % ISA + 1, 3], [(i + 2) % ISA + 1, 5]]] for i in range(0, WAVE, WAIT)
        ]
        wave = {"begin": 1000, "end": 200_000, "instructions": traced, "waitcnt": waits}
        (path / f"se0_sm{number % 4}_sl{number // 4 % 8}_wv{number // 32}.json").write_text(
            json.dumps({"wave": wave, "duration": 199_000}, separators=(",", ":"))
        )
    return path


WRITERS: dict[str, Callable[[Path, int], Path]] = {
    "trace": write_trace,
    "counters": write_counters,
    "rocpd": write_rocpd,
    "json": write_json,
    "samples": write_samples,
    "waves": write_waves,
}

if __name__ == "__main__":
    main()

"""Stands in for `hipscope.server.jobs.worker`: answers from comments in the source, so that tests need no compiler.

`// cost SHARE REASON` gives a line its cost, `// find FORMULA` a finding, `// note CODE` a note
without a run. `// worker: sleep` starts a child and waits,
`// worker: stubborn` also ignores SIGTERM, `// worker: fail` reports a compiler error on that line, `// worker: crash`
dies, `// worker: compiler` and `disk` fail as a machine without a compiler or room does,
`// worker: usage` fails as a program that wants arguments, `// worker: lacks` as one that lacks a file,
`// makes ARGUMENTS` has a Makefile run it so, `// isa` keeps machine code,
`// adopts` has one build it, unless it is to be built alone,
`// worker: until FILE` waits for that file, `// worker: refuse` optimizes to nothing, `// worker: ask`
wants leave to send before it optimizes, `// worker: keys` says which keys it was given, and refuses,
`// worker: silent` has a result without a report, `// worker: mumble` prints what is no message, `// worker: strip`
leaves a key out of its report. `// prepares FILE` makes a preparation write its process id into that file and go on
until it is stopped.
`// reads FILE` names an input beside the source, `// also FILE` one whose first three letters an optimization
replaces, too.
`/*slow*/` inside a kernel is what an optimization replaces.
"""

import ctypes
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Object = dict[str, Any]


PR_SET_PDEATHSIG = 1
OPENS = (
    "import sys, threading; from hipscope.server.jobs.worker import answer; "
    "(lambda line: sys.exit(answer(line, sys.stdout, threading.Event())))"
)
FAILURES: dict[str, Object] = {
    "late": {
        "message": "kernel k: not finished within 1.4 s, when the program's time was over; raise the limit (timeout_s)",
        "exit_code": 5,
        "failure": "ProgramFailed",
    },
    "compiler": {
        "message": "no compiler for AMD GPUs found; missing: clang-19, lld-19",
        "hint": "run: sudo apt-get install -y clang-19 lld-19",
        "exit_code": 3,
        "failure": "MissingTool",
    },
    "disk": {
        "message": f"cannot write '{os.environ.get('XDG_CACHE_HOME')}/hipscope/build/new': No space left on device",
        "hint": "free some space, or set XDG_CACHE_HOME and TMPDIR to directories that have some",
        "exit_code": 2,
        "failure": "CannotWrite",
    },
}
LONGEST = 300  # seconds that anything here waits: no test takes as long


def main() -> None:
    # Tests kill servers, and what a killed server started must not stay behind.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    line = sys.stdin.readline()
    request = json.loads(line)
    if request["kind"] == "open":  # needs no GPU: the real worker does it
        os.execv(sys.executable, [sys.executable, "-c", f"{OPENS}({line!r})"])
    file = request["file"]
    text = request["overlays"].get(file) or Path(file).read_bytes().decode(errors="replace")
    if request["kind"] == "prepare":
        if "// prepares " in text:
            Path(text.partition("// prepares ")[2].split()[0]).write_text(str(os.getpid()))
            time.sleep(LONGEST)
        emit("result", report={"prepared": True})
        return
    if request["kind"] == "inspect":
        emit("result", report=resources(file, text))
        return
    if request["kind"] == "builds":
        emit("result", report=builds(text))
        return
    emit("progress", message="building", fraction=0.25)
    if request["kind"] == "profile" and "// note " in text:
        emit("inspected", report=resources(file, text))
    for number, line in enumerate(text.splitlines(), 1):
        order = line.partition("// worker: ")[2]
        if order.startswith("until ") and request["kind"] == "optimize":
            while not Path(order.removeprefix("until ")).exists():
                time.sleep(0.01)
        if order in ("sleep", "stubborn"):
            wait(order)
        if order == "silent":
            emit("result")
            return
        if order == "mumble":
            print("PASS", flush=True)
            return
        if order == "crash":
            sys.exit("the worker fell over")
        if order == "ask" and request["kind"] == "optimize" and not request.get("yes_send"):
            emit("error", message="the kernel would be sent to a model", exit_code=2, failure="ConsentNeeded")
            return
        if order == "keys" and request["kind"] == "optimize":
            inherited = any("sk-stored" in value for value in os.environ.values())
            emit("error", message=f"stored {request.get('stored_keys')}, inherited {inherited}", exit_code=2)
            return
        if order in ("usage", "lacks") and not request.get("program_args") and "hipscope: run 64" not in text:
            emit(
                "error",
                message="the program left with exit code 2",
                exit_code=5,
                failure="ProgramFailed",
                output="reading the arguments\n\nusage: transpose <width> <height>\n",
                lacks_files=order == "lacks",
            )
            return
        if (failed := failure_of(order, file, number)) is not None:
            emit("error", **failed)
            return
    kinds = {"profile": profile, "check": check}
    kind = kinds.get(request["kind"])
    report = kind(file, text) if kind else optimize(request, file, text)
    if request["kind"] == "profile":
        report["inputs"] |= asked(request)
        adopt(request, report, text)
        keep_isa(request, report, file, text)
    if "// worker: strip" in text:
        del report["kernels"][0]["lines"]
    emit("result", report=report)


def failure_of(order: str, file: str, number: int) -> Object | None:
    if order != "fail":
        return FAILURES.get(order)
    place = {"file": file, "line": number, "column": 1, "severity": "error", "message": "expected ';'"}
    message = f"{file}:{number}: expected ';'"
    return {"message": message, "hint": None, "exit_code": 4, "diagnostics": [place]}


def asked(request: Object) -> Object:
    """What the request says beside files."""
    return {
        "arguments": request.get("program_args") or [],
        "device": request.get("device"),
        "arch": request.get("arch"),
        "backend": request.get("backend") or "auto",
    }


def inputs(file: str, texts: dict[str, str]) -> Object:
    """The texts, the settings beside them, and the files after `// reads`."""
    files = {f: hashlib.sha256(t.encode()).hexdigest() for f, t in texts.items()}
    names = ["hipscope.toml", *re.findall(r"// reads (\S+)", texts[file])]
    for path in (Path(file).parent / name for name in names):
        files[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
    return {"files": files, **asked({})}


def check(file: str, text: str) -> Object:
    """A race between the lines that say `// races` and `// with`."""
    at, other = (
        next((n for n, line in enumerate(text.splitlines(), 1) if f"// {mark}" in line), 0)
        for mark in ("races", "with")
    )
    row = {
        "class": "data-race",
        "message": "load races with a store",
        "kernel": "k",
        "mangled": "_Z1kv",
        "dispatch": 1,
        "count": 3,
        "at": access(file, at, "global_load_dword v1, v0, s[0:1]"),
        "other": access(file, other, "global_store_dword v0, v1, s[0:1]"),
        "memory": None,
        "allocation": None,
    }
    return {
        "schema": "hipscope.check/1",
        "checks": ["races"],
        "dispatches": 1,
        "reports": [row] if at else [],
        "left_out": 0,
        "faults": [],
        "program": {
            "command": ["./a.out"],
            "exit_code": 0,
            "output": "",
            "build_note": None,
            "build_settings": None,
        },
        "failure": None,
        "notes": [],
    }


def resources(file: str, text: str) -> Object:
    """A note on each line that says `// note CODE`; what mends it makes the line's `int` an `unsigned`."""
    notes, start = [], 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if (code := line.partition("// note ")[2].strip()) and "int " in line:
            at = start + len(line[: line.index("int ")].encode())
            fix = {"title": "Widen", "changes": [{"start": at, "end": at + 3, "text": "unsigned"}]}
            place = {"file": file, "line": number, "column": 0, "end_column": 0, "related": [], "fix": fix}
            same = {"code": code, "severity": "warning", "message": f"{code} here", "kernel": "transpose"}
            notes.append({**same, **place, "sha256": hashlib.sha256(text.encode()).hexdigest()})
        start += len(line.encode())
    one = {"source": file, "kernels": [], "notes": notes, "left_out": None, "error": None}
    head = {"schema": "hipscope.resources/1", "device": "mi300x", "arch": "gfx942"}
    return {**head, "sources": [one], "exceeded": []}


def access(file: str, line: int, instruction: str) -> Object:
    return {
        "file": file,
        "line": line,
        "column": 1,
        "instruction": instruction,
        "address": 64,
        "workgroup": [0, 0, 0],
        "wave": 0,
        "lane": 0,
        "thread": [0, 0, 0],
        "chain": [],
    }


def wait(order: str) -> None:
    child = subprocess.Popen(["sleep", str(LONGEST)])
    if order == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:

        def end(_number: int, _frame: object) -> None:
            child.kill()
            child.wait()
            sys.exit(143)

        signal.signal(signal.SIGTERM, end)
    emit("progress", message=f"child {child.pid}", fraction=0.5)
    time.sleep(LONGEST)


def profile(file: str, text: str) -> Object:
    kernels, findings = [], []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if found := re.search(r"__global__ void (\w+)", line):
            kernels.append(kernel(file, found.group(1), number, lines))
        if found := re.search(r"// find (\w+)", line):
            findings.append(finding(file, found.group(1), number, kernels[-1]))
    beside = (Path(file).with_name(name) for name in re.findall(r'#include "(\w+\.h)"', text))
    headers = {str(path): path.read_text() for path in beside}
    total = sum(k["time_ns"] for k in kernels)
    for k in kernels:
        k["share"] = k["time_ns"] / total
    return {
        "schema": "hipscope.profile/2",
        "device": {
            "name": "mi300x",
            "arch": "gfx942",
            "compute_units": 304,
            "simds_per_cu": 4,
            "xcds": 8,
            "clock_mhz": 2100,
            "wave_size": 64,
            "max_waves_per_simd": 8,
            "vgprs_per_lane": 512,
            "vgpr_granule": 8,
            "lds_bytes": 65536,
            "lds_granule": 512,
            "hbm_bytes_per_s": 5.3e12,
            "l2_bytes_per_s": None,
            "flops_fp32": 163.4e12,
            "flops_fp64": 81.7e12,
            "unified_registers": True,
            "sgpr_limit": True,
            "lds_reserved": 0,
            "cus_per_workgroup": 1,
            "barriers_per_cu": 16,
            "groups_per_cu": None,
            "shader_engines": 32,
            "l2_channels": 128,
            "partition": None,
            "ceilings": {},
        },
        "provenance": "modelled",
        "source": "emulator",
        "tool": "fake 1",
        "kernels": kernels,
        "findings": findings,
        "diagnoses": [],
        "faults": [],
        "program": {
            "command": ["./a.out"],
            "exit_code": 0,
            "output": "PASS\n",
            "build_note": None,
            "build_settings": None,
        },
        "source_note": None,
        "partial": None,
        "headers": {file: list(headers)},
        "sources": {f: hashlib.sha256(t.encode()).hexdigest() for f, t in {file: text, **headers}.items()},
        "inputs": inputs(file, {file: text, **headers}),
        "warnings": [],
        "captures": [],
        "parts": [],
        "notes": [],
        "copies": {},
        "defects": [],
        "time": None,
        "library_calls": {},
    }


def kernel(file: str, name: str, number: int, lines: list[str]) -> Object:
    end = next(n for n in range(number, len(lines) + 1) if lines[n - 1].startswith("}"))
    rows = []
    for n in range(number, end + 1):
        if found := re.search(r"// cost ([\d.]+) (\w+)", lines[n - 1]):
            share, reason = float(found.group(1)), found.group(2)
            rows.append(
                {
                    "file": file,
                    "line": n,
                    "column": 0,
                    "hits": 64,
                    "latency": 10000 * share,
                    "stall": 8000 * share,
                    "share": share,
                    "stalls": {reason: 6000 * share, "dependency": 2000 * share},
                    "memory": [
                        {
                            "space": "lds",
                            "kind": "load",
                            "bytes_per_lane": 4,
                            "accesses": 100,
                            "lanes": 6400,
                            "line_bytes": 128,
                            "lines_needed": 0,
                            "lines_used": 0,
                            "l1_hits": None,
                            "l2_hits": None,
                            "memory_lines": None,
                            "distinct_lines": None,
                            "lds_cycles": 3200,
                            "lds_conflict_cycles": 3100,
                            "atomic_conflicts": 0,
                            "same_address_share": None,
                            "memory_kinds": {},
                        }
                    ],
                    "reason_may_be": None,
                }
            )
    return {
        "name": f"{name}(float*, int)",
        "mangled": f"_Z{len(name)}{name}Pfi",
        "file": file,
        "line": number,
        "start_line": number,
        "end_line": end,
        "time_ns": 12345.0 * (1 + len(rows)),
        "time_ns_low": None,
        "time_ns_high": None,
        "busy": {},
        "counter_instances": {},
        "share": None,
        "dispatches": 2,
        "profiled": 2,
        "bound": "lds",
        "roofline": {
            "provenance": "modelled",
            "time_ns": 12345.0,
            "flops": None,
            "memory_bytes": None,
            "intensity": 0.25,
            "flops_per_s": None,
            "bytes_per_s": 1e12,
            "peak_flops_per_s": 163.4e12,
            "peak_bytes_per_s": 5.3e12,
            "ridge": 30.8,
            "flops_fraction": None,
            "memory_fraction": None,
            "bound": "lds",
            "ceilings": [],
            "nearest": None,
            "near": [],
            "why": "",
        },
        "occupancy": {
            "theoretical": 4,
            "maximum": 8,
            "limiter": "LDS",
            "limits": {"LDS": 4},
            "launched": None,
            "achieved": None,
            "filled": 1.0,
            "next_step": None,
        },
        "resources": {
            "vgprs": 24,
            "agprs": None,
            "sgprs": 16,
            "lds_bytes": 4096,
            "scratch_bytes": None,
            "vgpr_spills": None,
            "sgpr_spills": None,
            "max_workgroup_size": None,
            "wave_size": 64,
        },
        "counters": {"SQ_WAVES": 2048.0},
        "lines": rows,
        "sampled": False,
        "partial": None,
    }


def keep_isa(request: Object, report: Object, file: str, text: str) -> None:
    """As the worker does: an instruction for each line with a cost."""
    if "// isa" not in text:
        return
    from hipscope.server.reports.isa_store import save_isa
    from hipscope.server.reports.schema.fields import read_record
    from hipscope.server.reports.schema.isa import IsaInstruction, IsaReport
    from hipscope.server.reports.schema.profile import Inputs

    costs = [n for n, line in enumerate(text.splitlines(), 1) if "// cost " in line]
    code = tuple(
        IsaInstruction(
            i,
            8 * i,
            f"ds_read_b32 v{i}",
            file,
            n,
            64,
            100.0,
            80.0,
            0.5,
            {"lds": 60.0},
            {"0": 40.0} if i else {},
        )
        for i, n in enumerate(costs)
    )
    kernel = report["kernels"][0]
    isa = IsaReport("mi300x", "modelled", kernel["name"], kernel["mangled"], False, code)
    save_isa(Path(request["target"]), read_record(Inputs, report["inputs"], "the fake", ""), [isa])


def adopt(request: Object, report: Object, text: str) -> None:
    if "// adopts" not in text:
        return
    if request["alone"]:
        emit("error", message="kernels.h is not there", exit_code=4)
        sys.exit(4)
    report["program"] |= {
        "build_note": "built with `make`",
        "build_settings": 'build = "make"\nrun = "./main 64"\n',
    }


def builds(text: str) -> Object:
    found = re.findall(r"// makes (.*)", text)
    made = [
        {
            "origin": "Makefile",
            "program": "main",
            "build": "make",
            "run": f"./main {words}",
            "arguments": words.split(),
            "settings": f'build = "make"\nrun = "./main {words}"\n',
        }
        for words in found
    ]
    refused = ["meson.build: meson is not installed"] if "// without meson" in text else []
    return {"schema": "hipscope.builds/1", "directory": "", "builds": made, "refused": refused}


def finding(file: str, formula: str, number: int, of: Object) -> Object:
    return {
        "formula": formula,
        "kernel": of["name"],
        "mangled": of["mangled"],
        "file": file,
        "line": number,
        "end_line": number,
        "column": 0,
        "end_column": 0,
        "share": 0.6,
        "message": "32 lanes read the same bank",
        "evidence": [{"metric": "conflict share", "value": 0.97, "ideal": 0, "unit": "share"}],
        "related": [{"file": file, "line": of["line"], "message": "the tile is declared in this kernel"}],
        "estimated_speedup": None,
        "usual_speedup": None,
        "title": formula,
        "remedy": [],
        "instances": [],
    }


def optimize(request: Object, file: str, text: str) -> Object:
    data = text.encode()
    start = data.find(b"/*slow*/")
    answer: Object = {
        "schema": "hipscope.optimize/1",
        "status": "no_improvement",
        "message": "",
        "formula": "bankConflict",
        "kernel": "transpose(float*, int)",
        "file": file,
        "line": 1,
        "diff": None,
        "speedup": None,
        "before": None,
        "after": None,
        "measured": None,
        "verdict": None,
        "notes": [],
        "trades": [],
        "findings": [],
        "attempts": [],
        "isolation": None,
        "edit": None,
        "kernels": [],
        "gpu_speedup": None,
        "program_speedup": None,
        "ended": None,
        "compiles": 0,
        "replays": 0,
        "defects": [],
    }
    attempt: Object = {
        "formula": "bankConflict",
        "kernel": "transpose(float*, int)",
        "recipe": "lds_padding",
        "title": "",
        "outcome": "not_faster",
        "reason": "only 1 % faster",
        "expected": "",
        "speedup": None,
        "after": None,
        "measured": None,
        "verdict": None,
        "notes": [],
        "trades": [],
        "diff": "",
        "search": "",
    }
    if "// worker: refuse" in text or start < 0:
        return answer | {"attempts": [attempt]}
    edit: Object = {
        "file": file,
        "original_sha256": hashlib.sha256(data).hexdigest(),
        "start_byte": start,
        "end_byte": start + len(b"/*slow*/"),
        "new_text": "/*fast*/",
        "also": [],
    }
    for name in re.findall(r"// also (\S+)", text):
        path = str(Path(file).parent / name)
        other = (request["overlays"].get(path) or Path(path).read_bytes().decode()).encode()
        edit["also"].append(
            {
                "file": path,
                "original_sha256": hashlib.sha256(other).hexdigest(),
                "start_byte": 0,
                "end_byte": 3,
                "new_text": "new",
            }
        )
    titles = ["Make it fast", "Make it faster"]
    left = [title for title in titles if title not in request.get("passed_over", [])]
    if not left:
        return answer | {"message": "all was tried"}
    if left[0] == titles[1]:
        edit["new_text"] = "/*faster*/"
    return answer | {
        "status": "verified",
        "attempts": [attempt | {"outcome": "accepted", "title": left[0], "reason": ""}],
        "speedup": 3.5,
        "diff": "-slow\n+fast\n",
        "before": side(12345.0),
        "after": side(3527.0),
        "edit": edit,
        "asked": request,
    }


def side(time_ns: float) -> Object:
    numbers = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "occupancy")
    return {
        "time_ns": time_ns,
        "provenance": "modelled",
        "metrics": {},
        **dict.fromkeys(numbers),
    }


def emit(kind: str, **fields: Any) -> None:
    print(json.dumps({"type": kind, **fields}), flush=True)


main()

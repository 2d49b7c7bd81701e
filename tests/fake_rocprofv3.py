"""A stand-in for rocprofv3: takes the options of one version of it, runs the program, and writes recorded tables.

`install` writes it to a directory as an executable, with its answers beside it. Each call is a line in `calls`. An
option that the version does not have is refused as the real one refuses it, before the program starts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CAPTURES = Path(__file__).parent / "data" / "captures"
VERSIONS = ("6.2", "6.3", "6.4", "7.0")
# The options by the version that brought them, as in rocprofiler-sdk's source/bin/rocprofv3.py: tag rocm-6.2.0, and the
# commits d93d4d946 (0.5.0, ROCm 6.3), e307b89ca (0.6.0, ROCm 6.4) and bf0fad1d5 (1.0.0, ROCm 7.0).
_SWITCHES = {
    "6.2": "--hip-trace --hip-runtime-trace --hip-compiler-trace --marker-trace --kernel-trace --memory-copy-trace "
    "--scratch-memory-trace --stats --hsa-trace --hsa-core-trace --hsa-amd-trace --hsa-image-trace "
    "--hsa-finalizer-trace -s/--sys-trace -M/--mangled-kernels -T/--truncate-kernels",
    "6.3": "-r/--runtime-trace --rccl-trace --kokkos-trace -S/--summary -D/--summary-per-domain --kernel-rename "
    "--suppress-marker-preload",
    "6.4": "--memory-allocation-trace --rocdecode-trace --pc-sampling-beta-enabled -L/--list-avail",
    "7.0": "-v/--version --output-config --rocjpeg-trace --selected-regions --group-by-queue --readlink --realpath "
    "--echo --disable-signal-handlers --advanced-thread-trace/--att --att-serialize-all",
}
_ONE_VALUE = {
    "6.2": "-i/--input -o/--output-file -d/--output-directory --log-level",
    "6.3": "--summary-output-file -u/--summary-units --kernel-include-regex --kernel-exclude-regex "
    "--perfetto-backend --perfetto-buffer-size --perfetto-buffer-fill-policy --perfetto-shmem-size-hint",
    "6.4": "-E/--extra-counters --pc-sampling-unit --pc-sampling-method --pc-sampling-interval "
    "--collection-period-unit",
    "7.0": "--rocm-root --sdk-soversion --sdk-version --benchmark-mode -A/--agent-index --minimum-output-data "
    "--att-target-cu --att-simd-select --att-buffer-size --att-shader-engine-mask --att-perfcounters "
    "--att-perfcounter-ctrl --att-activity",
}
_VALUES = {
    "6.2": "--preload",
    "6.3": "--pmc --summary-groups --kernel-iteration-range",
    "6.4": "",
    "7.0": "-p/--pid --att-library-path",
}
_ONLY_IN = {
    "--kernel-names": ("6.2",),
    "-L/--list-metrics": ("6.2", "6.3"),
    "-p/--collection-period": ("6.4",),
    "-P/--collection-period": ("7.0",),
}
# What a value may be, by version.
_CHOICES = {
    "--pc-sampling-unit": {"6.4": ("time",), "7.0": ("instructions", "cycles", "time")},
    "--pc-sampling-method": {"6.4": ("host_trap",), "7.0": ("stochastic", "host_trap")},
}
_FORMATS = {"6.2": "csv json pftrace", "6.3": "otf2", "6.4": "", "7.0": "rocpd"}
# The real one describes the GPU beside each output, in 53 columns of which these say the most.
_AGENT = """\
"Node_Id","Logical_Node_Id","Agent_Type","Simd_Per_Cu","Max_Waves_Per_Simd","Lds_Size_In_Kb","Wave_Front_Size",\
"Num_Xcc","Cu_Count","Max_Engine_Clk_Fcompute","Device_Id","Gfx_Target_Version","Name","Product_Name"
1,1,"GPU",4,8,64,64,8,304,2100,29857,90402,"gfx942","AMD Instinct MI300X"
"""


@dataclass(frozen=True)
class Answers:
    """What the stand-in says.

    The recorded trace and counters of a copy kernel, or with `series` those of `kernel`: for each binary, in the order
    in which they are first seen, the launches of each run in nanoseconds (0: a damaged time stamp), and `counters`.
    `program_ends_with` is the exit code of a program that had launched its kernels; what was recorded is written.
    `says` is printed at each call beside the program's output; `slow` are words of options whose call never ends.
    `fails_at` (binary, run) ends a run as a crash of the tool does. `missing` are options that this build of it does
    not have; `broken` is what it dies of, whatever is asked.
    """

    version: str = "7.0"
    missing: Sequence[str] = ()
    broken: str = ""
    refused: str = ""
    trace: str = str(CAPTURES / "mi300x_trace" / "ps_file_kernel_trace.csv")
    table: str = str(CAPTURES / "mi300x_vcopy" / "pmc_perf.csv")
    kernel: str = ""
    series: Sequence[Sequence[Sequence[float]]] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    fails_at: tuple[int, int] | None = None
    program_ends_with: int = 0
    says: str = ""
    slow: Sequence[str] = ()


def install(directory: Path, answers: Answers | None = None) -> None:
    """Make `directory`/rocprofv3 the stand-in with these answers."""
    (directory / "answers.json").write_text(json.dumps(asdict(answers or Answers())))
    path = directory / "rocprofv3"
    shutil.copy(__file__, path)
    body = path.read_text()
    path.write_text(f"#!{sys.executable} -SE\n{body}")  # it is started often: without site-packages
    path.chmod(0o755)


def calls(directory: Path) -> list[str]:
    """The options of each accepted call so far, without those that say where the output goes."""
    return (directory / "calls").read_text().splitlines()


def main(arguments: Sequence[str]) -> int:
    """One call of the tool."""
    here = Path(__file__).parent
    answers = json.loads((here / "answers.json").read_text())
    if answers["broken"]:
        print(answers["broken"], file=sys.stderr)
        return 1
    split = list(arguments).index("--") if "--" in arguments else len(arguments)
    own, command = arguments[:split], arguments[split + 1 :]
    asked = _parser(answers["version"], answers["missing"]).parse_args(own)
    if getattr(asked, "version", False):
        print("rocprofv3 version: 1.0.0")
        return 0
    if not command:
        print("Fatal error: No application provided", file=sys.stderr)
        return 1
    if Path(command[0]).name == "true":  # a program without kernels: nothing is written
        return 0
    # Without them names and format differ between versions, so hipscope has to say them.
    assert asked.output_format == ["csv"], own
    assert asked.output_file == "out", own
    with (here / "calls").open("a") as log:
        log.write(" ".join(own[: own.index("--output-format")]) + "\n")
    if answers["says"]:
        print(answers["says"], file=sys.stderr)
    if set(answers["slow"]) & set(own):
        time.sleep(600)
    out = Path(asked.output_directory)
    counters = list(getattr(asked, "pmc", None) or [])
    if asked.input is not None:
        line = Path(asked.input).read_text().strip()
        counters, out = line.removeprefix("pmc:").split(), out / "pmc_1"
    out.mkdir(parents=True)
    (out / "out_agent_info.csv").write_text(_AGENT)
    if getattr(asked, "pc_sampling_method", None):  # no sample came
        return subprocess.run(command).returncode
    if answers["series"]:
        return _series(here, answers, counters, command, out)
    return _tables(answers, asked.kernel_trace, counters, command, out)


def _parser(version: str, missing: Sequence[str]) -> argparse.ArgumentParser:
    """The options of a version; abbreviations were accepted until 7.0."""
    parser = argparse.ArgumentParser(
        prog="rocprofv3",
        usage="%(prog)s [options] -- <application> [application options]",
        allow_abbrev=version < "7.0",
    )
    known = [v for v in VERSIONS if v <= version]

    def names(table: Mapping[str, str]) -> list[list[str]]:
        options = [option.split("/") for v in known for option in table[v].split()]
        return [option for option in options if not set(option) & set(missing)]

    for option in names(_SWITCHES):
        if version == "6.2":
            parser.add_argument(*option, action="store_true")
        else:
            parser.add_argument(*option, nargs="?", const=True)
    for option in names(_ONE_VALUE):
        parser.add_argument(*option, choices=_CHOICES.get(option[-1], {}).get(version))
    for option in names(_VALUES):
        parser.add_argument(*option, nargs="*")
    for words, versions in _ONLY_IN.items():
        if version in versions:
            parser.add_argument(*words.split("/"), nargs="*")
    formats = [name for v in known for name in _FORMATS[v].split()]
    short = ["-f"] if version >= "7.0" else []
    parser.add_argument(*short, "--output-format", nargs="+", choices=formats, type=str.lower)
    return parser


def _tables(
    answers: Mapping[str, Any], traced: bool, counters: Sequence[str], command: Sequence[str], out: Path
) -> int:
    status = subprocess.run(command).returncode
    if traced and status == 0:
        shutil.copy(str(answers["trace"]), out / "out_kernel_trace.csv")
    if counters:
        if answers["refused"] in counters:
            sys.exit("counter not available")
        header, *rows = Path(str(answers["table"])).read_text().splitlines()
        name = header.replace('"', "").split(",").index("Counter_Name")
        rows = [row for row in rows if row and _cells(row)[name] in counters]
        if rows:
            (out / "out_counter_collection.csv").write_text("\n".join([header, *rows]) + "\n")
    return status or int(answers["program_ends_with"])


def _cells(row: str) -> list[str]:
    """The cells of a record; a comma inside quotes is part of its cell."""
    quoted = row.split('"')
    return "".join(part if i % 2 == 0 else part.replace(",", ";") for i, part in enumerate(quoted)).split(",")


def _series(
    here: Path, answers: Mapping[str, Any], asked: Sequence[str], command: Sequence[str], out: Path
) -> int:
    """The next run of this binary in its series; what is not a trace is a table of the counters."""
    if asked:
        rows = [
            f'1,{number},1,1,0,0,4,4,16,"{answers["kernel"]}",{number},{number + 1},12,{name},{value}'
            for name, value in answers["counters"].items()
            if name in asked
            for number in (1, 2)
        ]
        header = Path(answers["table"]).read_text().splitlines()[0]
        (out / "out_counter_collection.csv").write_text("\n".join([header, *rows]) + "\n")
        return 0
    known = here / "runs.json"
    runs = json.loads(known.read_text()) if known.exists() else []
    binary = next((i for i, (path, _) in enumerate(runs) if path == command[0]), len(runs))
    runs[binary:] = runs[binary:] or [[command[0], 0]]
    number = runs[binary][1]
    runs[binary][1] += 1
    known.write_text(json.dumps(runs))
    if answers["fails_at"] == [binary, number]:
        print("rocprofv3: lost the agent")
        return 139
    header = Path(answers["trace"]).read_text().splitlines()[0]
    rows, now = [], 1_000_000
    for launch, duration in enumerate(answers["series"][binary][number], start=1):
        end = now + int(duration)
        sizes = "4224,0,16,0,32,32,8,1,256,64,1"
        rows.append(
            f'"KERNEL_DISPATCH","Agent 1",1,0,1,{launch},1,"{answers["kernel"]}",{launch},{now},{end},{sizes}'
        )
        now = end + 1000
    (out / "out_kernel_trace.csv").write_text("\n".join([header, *rows]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

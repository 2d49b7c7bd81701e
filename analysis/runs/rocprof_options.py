"""rocprofv3's command line, as far as the emulator can answer it.

Takes the words before `--` (and the job file that `-i` names), gives one `Job` per run of the program. An option that
rocprofv3 does not have, or that the emulator cannot honour, is a `UsageError` of one line.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from hipscope.analysis.errors import UsageError

FORMATS = ("csv", "json")
_OTHER_FORMATS = ("pftrace", "otf2", "rocpd")
# rocprofv3's, about things that are not recorded here.
_NOT_EMULATED = (
    "-r", "--runtime-trace", "-s", "--sys-trace", "--hip-trace", "--hip-runtime-trace", "--hip-compiler-trace",
    "--marker-trace", "--memory-copy-trace", "--memory-allocation-trace", "--scratch-memory-trace", "--hsa-trace",
    "--hsa-core-trace", "--hsa-amd-trace", "--hsa-image-trace", "--hsa-finalizer-trace", "--rccl-trace",
    "--kokkos-trace", "--rocdecode-trace", "--rocjpeg-trace", "--pc-sampling-beta-enabled", "--pc-sampling-unit",
    "--pc-sampling-method", "--pc-sampling-interval", "-E", "--extra-counters", "--output-config", "-S", "--summary",
    "-D", "--summary-per-domain", "--summary-groups", "--summary-output-file", "-u", "--summary-units",
    "--kernel-rename", "-P", "--collection-period", "--collection-period-unit", "--selected-regions", "-L",
    "--list-avail", "-p", "--pid", "--att-perfcounters", "--att-perfcounter-ctrl", "--att-activity", "--version",
)  # fmt: skip
# About the hardware's buffers and which unit is watched; the emulator always traces waves of one CU in full.
_WITHOUT_EFFECT = (
    "--att-library-path", "--att-target-cu", "--att-simd-select", "--att-buffer-size", "--att-shader-engine-mask",
    "--att-gpu-index", "--att-serialize-all", "-A", "--agent-index", "--minimum-output-data",
    "--disable-signal-handlers", "--group-by-queue",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One run of the program. `folder` is below the output directory, '' for the directory itself."""

    directory: str = "."
    file: str | None = None
    folder: str = ""
    formats: tuple[str, ...] = ("csv",)
    kernel_trace: bool = False
    stats: bool = False
    counters: tuple[str, ...] = ()
    thread_trace: bool = False
    include: str | None = None
    exclude: str | None = None
    iterations: frozenset[int] | None = None
    mangled: bool = False
    truncated: bool = False
    device: str | None = None
    timeout_s: float = 600
    notes: tuple[str, ...] = ()


def parse(words: Sequence[str]) -> list[Job]:
    """The jobs that a command line asks for. Raises `UsageError`."""
    given = vars(_parser().parse_args(list(words)))
    file = given.pop("input", None)
    if file is None:
        return [_job(given)]
    jobs = []
    for folder, values in _read_jobs(Path(file)):
        for name in values.keys() & given.keys():
            if values[name] != given[name]:
                raise UsageError(
                    f"{file} and the command line give different values for --{name.replace('_', '-')}"
                )
        jobs.append(_job({**values, **given}, folder))
    return jobs


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"hipscope emulate: {message}", "hipscope emulate --help lists what it takes")


class _Refuse(argparse.Action):
    def __call__(self, *arguments: Any, **_: Any) -> NoReturn:
        raise UsageError(f"rocprofv3's {arguments[3]} is not emulated", "leave it out")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    flag = {"nargs": "?", "const": True, "type": _yes_or_no}
    parser.add_argument("-i", "--input")
    parser.add_argument("-d", "--output-directory")
    parser.add_argument("-o", "--output-file")
    parser.add_argument("-f", "--output-format", nargs="+")
    parser.add_argument("--kernel-trace", **flag)  # type: ignore[arg-type]
    parser.add_argument("--stats", **flag)  # type: ignore[arg-type]
    parser.add_argument("--pmc", nargs="+", action="extend")
    parser.add_argument("--att", "--advanced-thread-trace", dest="advanced_thread_trace", **flag)  # type: ignore[arg-type]
    parser.add_argument("--kernel-include-regex")
    parser.add_argument("--kernel-exclude-regex")
    parser.add_argument("--kernel-iteration-range", nargs="+")
    parser.add_argument("-M", "--mangled-kernels", **flag)  # type: ignore[arg-type]
    parser.add_argument("-T", "--truncate-kernels", **flag)  # type: ignore[arg-type]
    parser.add_argument("--device")
    parser.add_argument("--timeout", type=float)
    for name in _NOT_EMULATED:
        parser.add_argument(name, nargs="*", action=_Refuse)
    for name in _WITHOUT_EFFECT:
        parser.add_argument(name, nargs="*", dest=_ignored(name))
    return parser


def _ignored(name: str) -> str:
    return "ignored " + name


def _yes_or_no(text: str) -> bool:
    value = text.strip().lower()
    if value in ("1", "true", "t", "yes", "y", "on"):
        return True
    if value in ("0", "false", "f", "no", "n", "off"):
        return False
    raise argparse.ArgumentTypeError(f"expected yes or no, not {text!r}")


def _job(values: Mapping[str, Any], folder: str = "") -> Job:
    formats = _words(values.get("output_format")) or ("csv",)
    for name in formats:
        if name in _OTHER_FORMATS:
            raise UsageError(f"the emulator does not write {name}", "use --output-format csv json")
        if name not in FORMATS:
            raise UsageError(f"unknown output format {name!r}", "use csv, json, or both")
    for key in ("kernel_include_regex", "kernel_exclude_regex"):
        try:
            re.compile(str(values.get(key) or ""))
        except re.error as error:
            raise UsageError(f"--{key.replace('_', '-')} is not a regular expression: {error}") from error
    ignored = [key.removeprefix("ignored ") for key in values if key.startswith("ignored ")]
    stats = bool(values.get("stats", False))
    if stats and not values.get("kernel_trace"):
        raise UsageError("--stats needs --kernel-trace", "give both, as for rocprofv3")
    return Job(
        directory=str(values.get("output_directory", ".")),
        file=values.get("output_file"),
        folder=folder,
        formats=formats,
        kernel_trace=bool(values.get("kernel_trace", False)),
        stats=stats,
        counters=_words(values.get("pmc")),
        thread_trace=bool(values.get("advanced_thread_trace", values.get("att", False))),
        include=values.get("kernel_include_regex"),
        exclude=values.get("kernel_exclude_regex"),
        iterations=_iterations(values.get("kernel_iteration_range")),
        mangled=bool(values.get("mangled_kernels", False)),
        truncated=bool(values.get("truncate_kernels", False)),
        device=values.get("device"),
        timeout_s=float(values.get("timeout", Job.timeout_s)),
        notes=tuple(f"{name} has no effect on the emulator" for name in ignored),
    )


def _words(value: Any) -> tuple[str, ...]:
    """Names given as a list, or in one text with commas or spaces between them."""
    texts = [value] if isinstance(value, str) else list(value or ())
    return tuple(dict.fromkeys(word for text in texts for word in re.split(r"[,\s]+", str(text)) if word))


def _iterations(value: Any) -> frozenset[int] | None:
    """`[1,3-5]` as {1, 3, 4, 5}; launches of a kernel count from 1. None when not given."""
    if value is None:
        return None
    text = ",".join([value] if isinstance(value, str) else [str(v) for v in value])
    chosen: set[int] = set()
    for part in re.split(r"[,\s]+", text.replace("[", "").replace("]", "").strip()):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if match is None:
            raise UsageError(f"--kernel-iteration-range {text!r} is not like [1,3-5]")
        chosen.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(chosen)


def _read_jobs(file: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """(folder, options) of each job of an input file."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the input file {file}: {error}") from error
    if file.suffix == ".txt":
        lines = [line.split("#")[0].partition("pmc:")[2] for line in text.splitlines() if "pmc:" in line]
        return [(f"pmc_{n}", {"pmc": list(_words(line))}) for n, line in enumerate(lines, start=1)]
    if file.suffix in (".yaml", ".yml"):
        data = _yaml(file, text)
    else:
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise UsageError(f"{file} is not JSON: {error}") from error
    jobs = data.get("jobs") if isinstance(data, dict) else None
    if not isinstance(jobs, list) or not jobs or not all(isinstance(job, dict) for job in jobs):
        raise UsageError(f'{file} has no list "jobs" of objects')
    return [(f"pass_{n}", _checked(job, file)) for n, job in enumerate(jobs, start=1)]


def _yaml(file: Path, text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{file} is not YAML: {' '.join(str(error).split())}") from error


def _checked(job: Mapping[str, Any], file: Path) -> Mapping[str, Any]:
    """The job without what was switched off. Raises for a key that no option of ours has."""
    known = {action.dest for action in _parser()._actions if not isinstance(action, _Refuse)}
    result: dict[str, Any] = {}
    for key, value in job.items():
        option = "--" + key.replace("_", "-")
        if key in known or key == "att":
            result[key] = value
        elif option in _WITHOUT_EFFECT:
            result[_ignored(option)] = value
        elif value in (False, None, [], ""):
            continue
        elif option in _NOT_EMULATED:
            raise UsageError(f"{file}: rocprofv3's {key} is not emulated", "leave it out")
        else:
            raise UsageError(f"{file}: unknown key {key!r}")
    return result

"""The emulator's replayer as a proof uses it: where it is, and the options that all its runs have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hipscope.accordo.replay.replay import ReplayTool
from hipscope.analysis.config import Config
from hipscope.analysis.errors import MissingTool
from hipscope.analysis.system.cores import usable_cores
from hipscope.analysis.system.directories import cache_directory
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import NativePartsMissing, replay_executable

_DEVICE = "--device-config"
_SECONDS = 60.0  # that a replay may take at the least
_RUNS = 3.0  # of the program, of which most is not profiled


def replay_tool(
    config: Config, toolchain: Toolchain, work: Path, *, program_seconds: float = 0.0
) -> ReplayTool:
    """The replayer for the project's device; `work` is a directory for its files. Raises MissingTool.

    `program_seconds`: what the program took, which no replay of one of its launches takes many times as long as.
    """
    try:
        executable = replay_executable()
    except NativePartsMissing as missing:
        raise MissingTool(str(missing), "run make, or install a wheel of hipscope") from missing
    device = work / "device.txt"
    write_device_config(config.device, device)
    disassembly = cache_directory() / "disassembly"
    disassembly.mkdir(parents=True, exist_ok=True)
    return ReplayTool(
        argv=(str(executable),),
        options=(
            *("--objdump", str(toolchain.objdump)),
            *(_DEVICE, str(device)),
            *("--cache", str(disassembly)),
            *("--threads", str(config.emulator.threads or usable_cores())),
        ),
        timeout_s=config.accordo.replay_timeout_s or max(_SECONDS, _RUNS * program_seconds),
        batches=True,
    )


def with_constants(tool: ReplayTool, device: str, changes: Mapping[str, float], path: Path) -> ReplayTool:
    """The same replayer with some constants of the device's time model replaced; `path` is the file for them."""
    write_device_config(device, path, changes)
    at = tool.options.index(_DEVICE) + 1
    return replace(tool, options=(*tool.options[:at], str(path), *tool.options[at + 1 :]))

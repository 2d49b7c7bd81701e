"""Occupancy by registers against LLVM's own remark (-Rpass-analysis=kernel-resource-usage), kernel by kernel.

Compiles the examples and the emulator's test programs for each architecture that the compiler knows, and prints how
many kernels agree and those that do not; exits with 1 when one differs. Kernels with LDS are left out: LLVM's number
for them assumes the largest workgroup.

    python benchmarks/occupancy_remarks.py [gfx90a gfx942 gfx950 gfx1100]
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from hipscope.analysis.config import Config
from hipscope.analysis.devices import DeviceFacts, device_of
from hipscope.analysis.metrics.occupancy import occupancy_of
from hipscope.analysis.profile import Resources
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    *sorted((ROOT / "examples").glob("*.hip")),
    *sorted((ROOT / "tests/emulator/programs").glob("*.hip")),
]
ARCHITECTURES = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1200")
OPTIMISATIONS = ("-O3", "-O1")
REMARK = re.compile(
    r"remark: .*?(Function Name|SGPRs|VGPRs|AGPRs|Occupancy \[waves/SIMD\]|LDS Size \[bytes/block\]): (\S+)"
)


def main() -> None:
    """Print a line per architecture."""
    toolchain = find_toolchain(Config())
    wrong = 0
    for arch in sys.argv[1:] or ARCHITECTURES:
        device, same, different = device_of(DeviceFacts(arch=arch)), 0, []
        for name, needs, told in kernels(toolchain, arch):
            found = occupancy_of(needs.model_copy(update={"lds_bytes": 0}), 64, device)
            ours = None if found is None else int(found.theoretical)
            same += ours == told
            if ours != told:
                different.append(
                    f"  {name}: {needs.vgprs} VGPRs, {needs.agprs} AGPRs, {needs.sgprs} SGPRs: {ours}, LLVM {told}"
                )
        print(f"{arch}: {same} of {same + len(different)} kernels as LLVM says")
        print("\n".join(different[:10]), end="\n" if different else "")
        wrong += len(different)
    sys.exit(wrong > 0)


def kernels(toolchain: Toolchain, arch: str) -> Iterator[tuple[str, Resources, int]]:
    """Each kernel without LDS: its name, what it needs, and the waves that LLVM says."""
    includes = [f"-I{folder}" for folder in toolchain.include_dirs]
    for source in SOURCES:
        for level in OPTIMISATIONS:
            command = [
                str(toolchain.clang),
                "-x",
                "hip",
                "--offload-device-only",
                f"--offload-arch={arch}",
                "-nogpulib",
            ]
            command += [
                "-S",
                "-o",
                "/dev/null",
                level,
                "-Rpass-analysis=kernel-resource-usage",
                *includes,
                str(source),
            ]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            yield from _told(done.stderr)


def _told(text: str) -> Iterator[tuple[str, Resources, int]]:
    rows: dict[str, str] = {}
    for key, value in REMARK.findall(text):
        if key == "Function Name":
            rows = {}
        rows[key] = value
        if key.startswith("LDS") and value == "0" and "Occupancy [waves/SIMD]" in rows:
            needs = Resources(
                vgprs=int(rows["VGPRs"]),
                agprs=int(rows.get("AGPRs", 0)),
                sgprs=int(rows["SGPRs"]),
                lds_bytes=0,
            )
            yield rows["Function Name"], needs, int(rows["Occupancy [waves/SIMD]"])


if __name__ == "__main__":
    main()

"""The AMD GPUs of this machine, and whether this user's programs can use them.

Takes the root of the file system, gives what the kernel driver (KFD) lists there. Nothing is run and no library is
loaded. ROCm's runtime opens `/dev/kfd` and the GPU's render node for reading and writing, so the same is tried here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_GROUPS = "sudo usermod -aG render,video $USER, then log in again"
_CONTAINER = "start the container with --device=/dev/kfd --device=/dev/dri"


@dataclass(frozen=True)
class AmdGpus:
    """The architecture of each GPU (`gfx942`), in the driver's order.

    `obstacle` says why programs of this user cannot use them and `remedy` what to do; None where they can.
    """

    archs: tuple[str, ...]
    obstacle: str | None = None
    remedy: str | None = None


def find_amd_gpus(root: Path = Path("/")) -> AmdGpus | None:
    """The GPUs of the machine; None when there is none, or no driver."""
    driver = root / "dev" / "kfd"
    archs = tuple(_architectures(root))
    if not driver.exists() or not archs:
        return None
    nodes = sorted((root / "dev" / "dri").glob("renderD*"))
    if not nodes:
        return AmdGpus(archs, f"{root / 'dev' / 'dri'} has no render node", _CONTAINER)
    refusal = _refusal([driver]) or _refusal(nodes)
    if refusal is not None:
        return AmdGpus(archs, f"{refusal.filename}: {refusal.strerror}", _GROUPS)
    return AmdGpus(archs)


def _architectures(root: Path) -> Iterator[str]:
    nodes = root / "sys" / "class" / "kfd" / "kfd" / "topology" / "nodes"
    for properties in sorted(nodes.glob("*/properties")):
        try:
            text = properties.read_text(encoding="ascii", errors="replace")
        except OSError:
            continue  # a node that this container may not see
        match = re.search(r"^gfx_target_version (\d+)$", text, re.MULTILINE)
        if match and int(match[1]):  # 0: a CPU
            number = int(match[1])
            yield f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"


def _refusal(devices: Iterable[Path]) -> OSError | None:
    """Why none of the devices can be opened. Their mode does not tell: a container may forbid what it allows."""
    refusal = None
    for device in devices:
        try:
            os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            refusal = error
        else:
            return None
    return refusal

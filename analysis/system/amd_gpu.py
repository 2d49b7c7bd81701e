"""The AMD GPUs of this machine, and whether this user's programs can use them.

Takes the root of the file system, gives what the kernel driver (KFD) lists there. Nothing is run and no library is
loaded. ROCm's runtime opens `/dev/kfd` and the GPU's render node for reading and writing, so the same is tried here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_CHOOSING = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_GROUPS = "sudo usermod -aG render,video $USER, then log in again"
_CONTAINER = "start the container with --device=/dev/kfd --device=/dev/dri"


@dataclass(frozen=True)
class AmdGpus:
    """The architecture of each GPU (`gfx942`) that programs see, in the driver's order: the first is the one they use.

    `obstacle` says why programs of this user cannot use them and `remedy` what to do; None where they can.
    """

    archs: tuple[str, ...]
    obstacle: str | None = None
    remedy: str | None = None


def find_amd_gpus(root: Path = Path("/"), environment: Mapping[str, str] | None = None) -> AmdGpus | None:
    """The GPUs that programs with that environment see; None when the machine has none, or no driver.

    `ROCR_VISIBLE_DEVICES` chooses among all by number or `GPU-<unique id>`, `HIP_VISIBLE_DEVICES` among those.
    """
    driver = root / "dev" / "kfd"
    all_gpus = list(_gpus(root))
    if not driver.exists() or not all_gpus:
        return None
    archs = tuple(gpu.arch for gpu in _visible(all_gpus, environment or {}))
    if not archs:
        names = " and ".join(name for name in _CHOOSING if (environment or {}).get(name) is not None)
        return AmdGpus((), f"{names} hides every GPU", "leave it unset, or name one that there is")
    nodes = sorted((root / "dev" / "dri").glob("renderD*"))
    if not nodes:
        return AmdGpus(archs, f"{root / 'dev' / 'dri'} has no render node", _CONTAINER)
    refusal = _refusal([driver]) or _refusal(nodes)
    if refusal is not None:
        return AmdGpus(archs, f"{refusal.filename}: {refusal.strerror}", _GROUPS)
    return AmdGpus(archs)


@dataclass(frozen=True)
class _Gpu:
    arch: str
    unique_id: str


def _gpus(root: Path) -> Iterator[_Gpu]:
    nodes = root / "sys" / "class" / "kfd" / "kfd" / "topology" / "nodes"
    for properties in sorted(
        nodes.glob("*/properties"), key=lambda path: (len(path.parent.name), path.parent.name)
    ):
        try:
            text = properties.read_text(encoding="ascii", errors="replace")
        except OSError:
            continue  # a node that this container may not see
        facts = dict(re.findall(r"^(gfx_target_version|unique_id) (\d+)$", text, re.MULTILINE))
        if number := int(facts.get("gfx_target_version", 0)):  # 0: a CPU
            arch = f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"
            yield _Gpu(arch, f"{int(facts.get('unique_id', 0)):x}")


def _visible(gpus: Sequence[_Gpu], environment: Mapping[str, str]) -> Sequence[_Gpu]:
    """What the runtime shows: a list ends at the first entry that names no GPU."""
    for name in _CHOOSING:
        text = environment.get(name)
        if text is None or (name == "CUDA_VISIBLE_DEVICES" and "HIP_VISIBLE_DEVICES" in environment):
            continue
        chosen: list[_Gpu] = []
        for word in filter(None, (word.strip() for word in text.split(","))):
            gpu = _named(word, gpus)
            if gpu is None:
                break
            chosen.append(gpu)
        gpus = chosen
    return gpus


def _named(word: str, gpus: Sequence[_Gpu]) -> _Gpu | None:
    if word.isdigit():
        return gpus[int(word)] if int(word) < len(gpus) else None
    wanted = word.lower().removeprefix("gpu-").lstrip("0")
    return next((gpu for gpu in gpus if wanted and gpu.unique_id.lstrip("0") == wanted), None)


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

"""Variables that say where ROCm is and are wrong: compilers believe them, and then find no HIP.

Takes an environment, gives those that name no folder, or one without ROCm. Programs that we start never see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_INSTALLATIONS = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")
_FOLDERS = ("HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH", "HIP_CLANG_PATH")
# One of these lies in every installation of ROCm or HIP, also in that of a distribution.
_SIGNS = ("include/hip", "bin/hipcc", "llvm/bin", "lib/llvm/bin", "share/hip", "amdgcn")


def stale_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Each such variable that is set, with what is wrong about it: `is /opt/gone, which is no folder`."""
    found = {}
    for name in (*_INSTALLATIONS, *_FOLDERS):
        value = env.get(name)
        if not value:
            continue
        if not Path(value).is_dir():
            found[name] = f"is {value}, which is no folder"
        elif name in _INSTALLATIONS and not any((Path(value) / sign).exists() for sign in _SIGNS):
            found[name] = f"is {value}, which holds no ROCm"
    return found


def without_stale(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without them."""
    stale = stale_variables(env)
    return {name: value for name, value in env.items() if name not in stale}

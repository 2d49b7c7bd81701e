"""hipscope as an installed Python package: its version, and the packages that it can do without.

Takes the name of one of hipscope's extras, gives the command that installs what belongs to it. Starts nothing.
"""

from __future__ import annotations

import re
import shlex
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version


def install_extra(extra: str) -> str:
    """The shell command that brings the packages of an extra into the Python that runs.

    hipscope itself is not named in it: where it comes from (a checkout, a wheel) only the user knows.
    """
    try:
        wanted = requires("hipscope") or []
    except PackageNotFoundError:
        wanted = []
    belongs = re.compile(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]")
    names = [line.partition(";")[0].strip() for line in wanted if belongs.search(line)]
    return shlex.join([sys.executable, "-m", "pip", "install", *names])


@cache
def hipscope_version() -> str:
    """The installed version of hipscope; `0` when it runs from a folder that was not installed. Read once: it takes
    milliseconds, and the name of each task of a sweep has it.
    """
    try:
        return version("hipscope")
    except PackageNotFoundError:
        return "0"

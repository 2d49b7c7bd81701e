"""Whether the native parts of a wheel run with an old C library: `needed_glibc.py VERSION WHEEL`.

Prints the newest version that any of them asks for; leaves with 1, and names the functions, when one is newer.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection


def needed(wheel: Path) -> Iterator[tuple[tuple[int, ...], str]]:
    """Each version of the C library that a part asks for, and the part's name."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if not data.startswith(b"\x7fELF"):
                continue
            try:
                sections = list(ELFFile(io.BytesIO(data)).iter_sections())
            except ELFError as error:
                raise SystemExit(f"hipscope: {name} cannot be read: {error}") from error
            for section in sections:
                if not isinstance(section, GNUVerNeedSection):
                    continue
                for _, versions in section.iter_versions():
                    for version in versions:
                        start, _, number = version.name.partition("_")
                        if start == "GLIBC" and number[0].isdigit():
                            yield tuple(map(int, number.split("."))), name


def main(limit: str, wheel: Path) -> int:
    """The exit code."""
    found = sorted(needed(wheel), reverse=True)
    most = tuple(map(int, limit.split(".")))
    newer = [(version, name) for version, name in found if version > most]
    for version, name in newer:
        print(
            f"hipscope: {name} needs version {'.'.join(map(str, version))} of the C library, newer than {limit}"
        )
    if found and not newer:
        print(f"hipscope: the native parts need version {'.'.join(map(str, found[0][0]))} of the C library")
    return 1 if newer else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))

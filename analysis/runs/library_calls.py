"""What a program asks of libraries that the emulator does not take the place of, read from the program's file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.emulator.runner import NativePartsMissing, stand_in_libraries

# The names that ROCm's libraries have in a program's list of needed libraries, without "lib" and the version.
LIBRARIES = {
    "rocblas": "rocBLAS", "hipblas": "hipBLAS", "hipblaslt": "hipBLASLt", "rocsolver": "rocSOLVER",
    "hipsolver": "hipSOLVER", "rocsparse": "rocSPARSE", "hipsparse": "hipSPARSE",
    "hipsparselt": "hipSPARSELt", "rocfft": "rocFFT", "hipfft": "hipFFT", "rocrand": "rocRAND",
    "hiprand": "hipRAND", "rocalution": "rocALUTION", "hiptensor": "hipTensor", "MIOpen": "MIOpen",
    "migraphx": "MIGraphX", "migraphx_c": "MIGraphX", "rccl": "RCCL",
    "hsa-runtime64": "the HSA runtime", "roctx64": "rocTX", "rocprofiler-sdk-roctx": "rocTX",
    "rocprofiler-sdk": "rocprofiler", "OpenCL": "OpenCL",
}  # fmt: skip
# Functions of HIP itself, by what they are for; they are there, say their name and return hipErrorNotSupported.
FUNCTIONS = {
    "textures and arrays": r"hip\w*(Tex|Array|Mipmap|Surface)\w*",
    "graphics": r"hip(Graphics|GL)\w+",
    "external memory": r"hip\w*External\w+",
}


@dataclass(frozen=True)
class NotEmulated:
    """Something that a program needs: a library of its own (`file` is the name in the program), or a part of HIP."""

    name: str
    file: str


def not_emulated(program: Path) -> tuple[NotEmulated, ...]:
    """Libraries that `program` is linked to, and parts of HIP that it calls, which the emulator does not have.

    A library without a version in its name is the one that stands in for ROCm's, where there is one.

    Raises `UsageError` when the file is no program. Libraries that are opened while the program runs are not seen.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    if program.exists() and not program.is_file():
        raise UsageError(f"{program}: not a program that can be read: it is no file")
    try:
        with program.open("rb") as file:
            elf = ELFFile(file)
            sections = list(elf.iter_sections())
            needed = [
                str(tag.needed)  # type: ignore[attr-defined]  # an attribute that DT_NEEDED tags alone have
                for section in sections
                if isinstance(section, DynamicSection)
                for tag in section.iter_tags("DT_NEEDED")
            ]
            called = {
                symbol.name
                for section in sections
                if isinstance(section, SymbolTableSection) and section.name == ".dynsym"
                for symbol in section.iter_symbols()
                if symbol["st_shndx"] == "SHN_UNDEF"
            }
    except (ELFError, OSError, ValueError) as error:
        raise UsageError(f"{program}: not a program that can be read ({error})") from error
    found = []
    stand_ins = _stand_ins()
    for name in needed:
        match = re.fullmatch(r"lib(.+?)\.so(\.[\d.]+)?", name)
        if match and match[1] in LIBRARIES and name not in stand_ins:
            found.append(NotEmulated(LIBRARIES[match[1]], name))
    for topic, pattern in FUNCTIONS.items():
        names = sorted(name for name in called if re.fullmatch(pattern, name))
        if names:
            found.append(NotEmulated(topic, names[0]))
    return tuple(found)


def _stand_ins() -> frozenset[str]:
    try:
        return frozenset(path.name for path in stand_in_libraries().glob("lib*.so"))
    except NativePartsMissing:
        return frozenset()


def sentence(program: Path, missing: tuple[NotEmulated, ...]) -> str:
    """One line for the terminal."""
    if not missing:
        return f"{program}: all libraries it is linked to are emulated or the system's own"
    listed = ", ".join(f"{part.name} ({part.file})" for part in missing)
    return f"{program}: needs what is not emulated: {listed}"

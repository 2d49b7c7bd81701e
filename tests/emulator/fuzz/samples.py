"""Good inputs for the fuzzers: code objects as ELF, as an offload bundle and as a compressed one; and captures.

python tests/emulator/fuzz/samples.py FOLDER
    hipscope-loader-fuzz 100000 1 FOLDER/*.co FOLDER/*.bundle
    hipscope-capture-fuzz 100000 1 FOLDER/cache INPUTS FOLDER/captures/*/dispatch_*
"""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

PROGRAMS = Path(__file__).parent.parent / "programs"
CAPTURED = ("device_variables", "lds_reduction", "histogram")
CHOSEN = ("atomics_scopes", "indirect_calls", "mfma_gemm", "recursion", "struct_arguments", "inline_asm")


def write_samples(folder: Path, programs: Sequence[str] = CHOSEN) -> list[Path]:
    """The sample files, made in `folder`; the disassembly lies beside each of them."""
    config = Config()
    toolchain = find_toolchain(config)
    made: list[Path] = []
    for name in programs:
        source = PROGRAMS / f"{name}.hip"
        elf = folder / f"{name}.co"
        shutil.copyfile(build_program(resolve_project(source, config=config), toolchain).code_objects[0], elf)
        text = subprocess.run(
            [str(toolchain.objdump), "-d", str(elf)], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        plain = bundle(elf.read_bytes())
        files = {elf: elf.read_bytes(), folder / f"{name}_plain.bundle": plain}
        packed = compressed(plain)
        if packed is not None:
            files[folder / f"{name}_packed.bundle"] = packed
        for path, data in files.items():
            path.write_bytes(data)
            path.with_suffix(".s").write_text(text)
            made.append(path)
    return made


def write_captures(folder: Path, programs: Sequence[str] = CAPTURED) -> list[Path]:
    """A captured dispatch of each program; the disassembly of their code objects is in `folder`/cache."""
    config = Config()
    toolchain = find_toolchain(config)
    made = []
    for name in programs:
        built = build_program(resolve_project(PROGRAMS / f"{name}.hip", config=config), toolchain)
        captures = folder / "captures" / name
        options = EmulatorOptions(objdump=toolchain.objdump, cache=folder / "cache", capture=captures)
        environment = {**os.environ, **built.env, **emulator_environment(options)}
        subprocess.run(built.argv, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120)
        made.append(min(captures.iterdir()))
    return made


def bundle(elf: bytes) -> bytes:
    """A clang offload bundle with an empty host entry and this code object for gfx942."""
    triples = [b"host-x86_64-unknown-linux-gnu-", b"hipv4-amdgcn-amd-amdhsa--gfx942"]
    table = len(b"__CLANG_OFFLOAD_BUNDLE__") + 8 + sum(24 + len(t) for t in triples)
    start = (table + 4095) // 4096 * 4096
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(triples))
    for triple, (offset, size) in zip(triples, ((start, 0), (start, len(elf))), strict=True):
        head += struct.pack("<QQQ", offset, size, len(triple)) + triple
    return head.ljust(start, b"\0") + elf


def compressed(plain: bytes) -> bytes | None:
    """The bundle as clang compresses it (header version 2, zstd), or None without libzstd."""
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    zstd.ZSTD_compress.restype = zstd.ZSTD_compressBound.restype = ctypes.c_size_t
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(plain)))
    out = ctypes.create_string_buffer(room)
    size = zstd.ZSTD_compress(out, ctypes.c_size_t(room), plain, ctypes.c_size_t(len(plain)), 3)
    return b"CCOB" + struct.pack("<HHIIQ", 2, 1, 24 + size, len(plain), 0) + out.raw[:size]


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for sample in write_samples(target):
        print(sample)
    for sample in write_captures(target):
        print(sample)

"""A stand-in for the replay executable: its "code objects" are Python files that define kernel(b, order).

`b` is a list of buffers of 32-bit floats (or ints) that record what is read and written, `order` the thread ids in the
order that --seed gives, `n` and `scale` (global) the third and fourth argument, `block` the workgroup's size, `rows`
the work-items along y and z, `v` a device variable of one int, `lds` memory of 64 ints that nothing has written. It
takes the same options and leaves the same files as the real one.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import struct
import sys
from pathlib import Path
from typing import Any

READ_FIRST, WRITTEN, READ, ATOMIC = 1, 2, 4, 8


class OutOfBounds(Exception):
    pass


class Buffer:
    def __init__(self, data: bytes, code: str, address: int = 0, refuse: Any = None) -> None:
        self.data, self.code, self.address = bytearray(data), code, address
        self.access = bytearray(len(data))
        self.refuse = refuse  # told of an access outside, which is then left out

    def __len__(self) -> int:
        return len(self.data) // 4

    def _mark(self, index: int, bits: int) -> bool:
        if not 0 <= index < len(self):
            if self.refuse is None:
                raise OutOfBounds(f"element {index} of a buffer of {len(self)}")
            self.refuse()
            return False
        for byte in range(index * 4, index * 4 + 4):
            first = READ_FIRST if bits & READ and not self.access[byte] & WRITTEN else 0
            self.access[byte] |= bits | first
        return True

    def __getitem__(self, index: int) -> Any:
        if not self._mark(index, READ):
            return 0
        return struct.unpack_from(f"<{self.code}", self.data, index * 4)[0]

    def __setitem__(self, index: int, value: Any) -> None:
        if not self._mark(index, WRITTEN):
            return
        wrapped = (value + 2**31) % 2**32 - 2**31 if self.code == "i" else value
        struct.pack_into(f"<{self.code}", self.data, index * 4, wrapped)

    def add(self, index: int, value: Any) -> None:
        self[index] = struct.unpack("<f", struct.pack("<f", self[index] + value))[0]
        self._mark(index, ATOMIC)


def unwritten(seed: int, flipped: int) -> list[int]:
    """What LDS holds before a launch."""
    return list(struct.unpack("<64i", bytes(b ^ flipped for b in random.Random(seed).randbytes(256))))


def report(kind: str) -> dict[str, Any]:
    """A sanitizer's report of that class, as a text says that it has one: `# defect data-race`."""
    place = {
        "address": 4,
        "instruction": "ds_read_b32",
        "uses": [],
        "workgroup": [0, 0, 0],
        "wave": 0,
        "lane": -1,
    }
    return {
        "class": kind, "message": f"a {kind}", "count": 1, "kernel": "k", "code_object": "00", "dispatch": 1,
        "at": place, "other": None, "memory": None, "allocation": None,
    }  # fmt: skip


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser()
    for name in ("dispatch", "code-object", "kernel", "out", "inputs", "poison-mask", "max-seconds"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--poison", type=int)
    parser.add_argument("--poison-fill", action="append", default=[])
    parser.add_argument("--poison-inverted", action="store_true")
    parser.add_argument("--trace-access", action="store_true")
    parser.add_argument("--number-kinds", action="store_true")
    parser.add_argument("--sanitize")
    options = parser.parse_args(argv)
    dispatch, out = Path(options.dispatch), Path(options.out)
    meta = json.loads((dispatch / "meta.json").read_text())
    n, scale = struct.unpack_from("<if", (dispatch / "kernarg.bin").read_bytes(), 16)
    scope: dict[str, Any] = {"n": n, "scale": scale, "block": meta["workgroup"][0]}
    scope["lds"] = unwritten(options.poison or 0, 0xFF if options.poison_inverted else 0)
    scope["rows"] = meta["grid"][1] * meta["grid"][2]
    if meta["globals"]:
        scope["v"] = list(struct.unpack("<i", (dispatch / meta["globals"][0]["before"]).read_bytes()))
    exec(Path(options.code_object).read_text(), scope)
    buffers = []
    found: list[dict[str, Any]] = []  # of the sanitizers
    refuse = (lambda: found.append(report("out-of-bounds"))) if options.sanitize else None
    for entry in meta["buffers"]:
        name = f"buffer_{entry['index']}.before"
        replaced = Path(options.inputs or "/nowhere") / name
        data = bytearray((replaced if replaced.exists() else dispatch / name).read_bytes())
        if options.poison is not None and options.poison_mask:
            mask = (Path(options.poison_mask) / f"access_{entry['index']}.bin").read_bytes()
            noise = random.Random(options.poison).randbytes(len(data))
            fills = dict(fill.split("=") for fill in options.poison_fill)
            if (hexadecimal := fills.get(str(entry["index"]))) is not None:
                noise = bytes.fromhex(hexadecimal) * len(data)
            for i, bits in enumerate(mask):
                if bits & WRITTEN and not bits & READ_FIRST:
                    data[i] = noise[i]
        buffers.append(Buffer(bytes(data), entry.get("code", "f"), entry["address"], refuse))
    order = list(range(meta["grid"][0]))
    random.Random(options.seed).shuffle(order)
    result: dict[str, Any] = {"status": "ok", "message": "", "time_ns": 1000.0}
    try:
        scope["kernel"](buffers, order)
    except OutOfBounds as error:
        result = {
            "status": "fault",
            "message": f"reads or writes out of bounds: {error}",
            "fault": {"kind": "out_of_bounds"},
        }
    except RuntimeError as error:
        sys.exit(f"fake replay broke: {error}")
    for entry, buffer in zip(meta["buffers"], buffers, strict=True):
        (out / f"buffer_{entry['index']}.after").write_bytes(buffer.data)
        if options.trace_access:
            (out / f"access_{entry['index']}.bin").write_bytes(buffer.access)
    if meta["globals"]:
        (out / "global_0.after").write_bytes(struct.pack("<i", *scope["v"]))
    if options.sanitize:
        found += map(report, re.findall(r"# defect ([a-z-]+)", Path(options.code_object).read_text()))
        checked = {
            "schema": "hipscope.sanitize/1", "checks": "all", "dispatches": 1, "left_out": 0, "reports": found,
        }  # fmt: skip
        (out / "sanitize.json").write_text(json.dumps(checked))
    (out / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])

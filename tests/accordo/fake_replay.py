"""A stand-in for the replay executable: its "code objects" are Python files that define kernel(b, order).

`b` is a list of buffers of 32-bit floats (or ints) that record what is read and written, `order` the thread ids in the
order that --seed gives, `n` (global) the third argument. It takes the same options and leaves the same files as
the real one.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
from pathlib import Path
from typing import Any

READ_FIRST, WRITTEN, READ, ATOMIC = 1, 2, 4, 8


class OutOfBounds(Exception):
    pass


class Buffer:
    def __init__(self, data: bytes, code: str) -> None:
        self.data, self.code = bytearray(data), code
        self.access = bytearray(len(data))

    def __len__(self) -> int:
        return len(self.data) // 4

    def _mark(self, index: int, bits: int) -> None:
        if not 0 <= index < len(self):
            raise OutOfBounds(f"element {index} of a buffer of {len(self)}")
        for byte in range(index * 4, index * 4 + 4):
            first = READ_FIRST if bits & READ and not self.access[byte] & WRITTEN else 0
            self.access[byte] |= bits | first

    def __getitem__(self, index: int) -> Any:
        self._mark(index, READ)
        return struct.unpack_from(f"<{self.code}", self.data, index * 4)[0]

    def __setitem__(self, index: int, value: Any) -> None:
        self._mark(index, WRITTEN)
        struct.pack_into(f"<{self.code}", self.data, index * 4, value)

    def add(self, index: int, value: Any) -> None:
        self[index] = struct.unpack("<f", struct.pack("<f", self[index] + value))[0]
        self._mark(index, ATOMIC)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("dispatch", "code-object", "kernel", "out", "inputs", "poison-mask", "max-seconds"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--poison", type=int)
    parser.add_argument("--trace-access", action="store_true")
    options = parser.parse_args()
    dispatch, out = Path(options.dispatch), Path(options.out)
    meta = json.loads((dispatch / "meta.json").read_text())
    scope: dict[str, Any] = {"n": struct.unpack_from("<i", (dispatch / "kernarg.bin").read_bytes(), 16)[0]}
    exec(Path(options.code_object).read_text(), scope)
    buffers = []
    for entry in meta["buffers"]:
        name = f"buffer_{entry['index']}.before"
        replaced = Path(options.inputs or "/nowhere") / name
        data = bytearray((replaced if replaced.exists() else dispatch / name).read_bytes())
        if options.poison is not None and options.poison_mask:
            mask = (Path(options.poison_mask) / f"access_{entry['index']}.bin").read_bytes()
            noise = random.Random(options.poison).randbytes(len(data))
            for i, bits in enumerate(mask):
                if bits & WRITTEN and not bits & READ_FIRST:
                    data[i] = noise[i]
        buffers.append(Buffer(bytes(data), entry.get("code", "f")))
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
    (out / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()

"""Launch edits in which several lanes of a wave share each work-item, with as many times the workgroups.

A kernel whose work-items each go through a long loop, but that has few of them, leaves most of the device without
work; and where each goes through a row of its own, its lanes touch as many cache lines as there are rows. The loop's
steps are shared by 4 to 64 neighbouring lanes, which put their parts together by shuffles.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tree_sitter import Node

from hipscope.analysis.semantics.records import KernelLaunch
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.launches.launching_files import launches_of, program_around
from hipscope.formulas.launches.more_workgroups import times
from hipscope.formulas.launches.numbers import LaunchEdit, Sides, block_of
from hipscope.formulas.launches.shared_text import SharedKernel, share_kernel
from hipscope.formulas.propose.rules.shared.edit_helpers import style_of
from hipscope.formulas.propose.splice import Splice, apply_splices

NAME = "shared_items"

_LANES = (4, 8, 16, 32, 64)
_MOST = 3  # numbers of lanes that are timed
_NARROW = 32  # lanes of a wave on other devices, of AMD and of NVIDIA
_FULL = 8  # waves on a SIMD: with as many, more lanes bring nothing but shorter loops

Seen = Sequence[tuple[Sides, Sides]]
"""The recorded launches: workgroups, and the shape of one."""


def shared_ways(bench: Bench, seen: Seen) -> list[SharedKernel] | str:
    """The kernel with its outermost loops shared, and with those inside of them; or why there is no such text."""
    source, kernel = bench.original, bench.kernel
    workgroups = {w for _, w in seen}
    if len(workgroups) != 1:
        return "the recorded launches have workgroups of several shapes"
    file = parse(source)
    if file.kernel(kernel.name) is None:
        return f"the file has `{kernel.name}` in several ways"
    along, constant = next(iter(workgroups))[0], _constant(source, kernel, bench)
    outer = share_kernel(source, kernel, file, bench.facts, along, constant)
    if isinstance(outer, str):
        return outer
    inner = share_kernel(source, kernel, file, bench.facts, along, constant, inner=True)
    return [outer, *([inner] if isinstance(inner, SharedKernel) and inner != outer else [])]


def shared_edits(
    bench: Bench,
    ways: Sequence[SharedKernel],
    launches: Sequence[KernelLaunch],
    seen: Seen,
    seeing: Collection[Path],
) -> list[LaunchEdit] | str:
    """An edit for each way and number of lanes that the recorded launches leave room for, or why there is none.

    `seeing` are the sources that are compiled with the kernel's own text.
    """
    source, kernel = bench.original, bench.kernel
    workgroup = seen[0][1]
    if any(block_of(site, {}) != workgroup for site in launches):
        return f"a run decides how large the workgroups of `{kernel.name}` are"
    constant = _constant(source, kernel, bench)
    host = launches_of(program_around(bench, seeing), launches, times(constant))
    if isinstance(host, str):
        return host
    fitting = (n for n in _LANES if n <= bench.facts.wave_size and workgroup[0] % n == 0)
    lanes = [n for n in fitting if _room(bench, seen, n)]
    lanes = lanes[:: max(1, -(-len(lanes) // _MOST))]
    return [_edit(bench, way, host, constant, n, seen) for way in ways for n in lanes]


def _room(bench: Bench, seen: Seen, lanes: int) -> bool:
    """Whether with half as many lanes some launch has less than a full device."""
    layout = bench.session.profile.device.layout
    if layout is None:
        return False
    full = layout.simds * _FULL
    waves = min(math.prod(g) * -(-math.prod(w) // bench.facts.wave_size) for g, w in seen)
    return waves * lanes // 2 < full


def _edit(
    bench: Bench,
    shared: SharedKernel,
    host: Mapping[Path, Sequence[Splice]],
    constant: str,
    lanes: int,
    seen: Seen,
) -> LaunchEdit:
    source, kernel = bench.original, bench.kernel
    style = style_of(source, kernel)
    top = _top(kernel.body_node)
    line = (
        f"constexpr int {constant} = {lanes};  // neighbouring lanes that share a work-item of {kernel.name}"
    )
    above = Splice(top.start_byte, top.start_byte, f"{line}{style.newline}{style.newline}".encode())
    own = [splice for file, splices in host.items() if file == bench.source.resolve() for splice in splices]
    text = apply_splices(source, [above, *shared.splices, *own])
    also = tuple(
        (file, apply_splices(bench.run.texts.needed(file), list(splices)))
        for file, splices in host.items()
        if file != bench.source.resolve()
    )
    shapes = {((x, y, z), w): ((x * lanes, y, z), w) for (x, y, z), w in seen}
    rows = ", ".join(str(loop.node.start_point.row + 1) for loop in shared.loops)
    title = (
        f"Let {lanes} lanes share each work-item of `{kernel.name}` (loop{'s' if len(shared.loops) > 1 else ''} of "
        f"line {rows}), and launch {lanes} times the workgroups"
    )
    expected = (
        f"{lanes} times the waves, loops of a {lanes}th of the steps, and lanes that read neighbouring elements; the "
        "order of sums changes"
    )
    wide = (f"a wave of the device has {lanes} lanes",) if lanes > _NARROW else ()
    assumes = (*shared.assumes, *wide)
    return LaunchEdit(
        bench.source, text, title, shapes, recipe=NAME, assumes=assumes, expected=expected, also=also
    )


def _top(node: Node) -> Node:
    """What stands at the level of the file, or of a directive, around a node, with the comments that belong to it."""
    while node.parent is not None and node.parent.parent is not None:
        if node.parent.type.startswith("preproc_"):
            break
        node = node.parent
    while (before := node.prev_sibling) is not None and before.type == "comment":
        if before.end_point.row + 1 < node.start_point.row:
            break
        node = before
    return node


def _constant(source: bytes, kernel: KernelSyntax, bench: Bench) -> str:
    """A name for the number of lanes that no file of the program uses."""
    others = (*bench.project.sources, *bench.project.headers)
    everything = b"\n".join((source, *(bench.run.texts.read(file) or b"" for file in others)))
    style = style_of(source, kernel)
    stem = (
        f"{kernel.name}Lanes"
        if style.camel_case or re.search("[a-z][A-Z]", kernel.name)
        else f"{kernel.name}_lanes"
    )
    name, number = stem, 2
    while re.search(rb"\b%s\b" % name.encode(), everything) is not None:
        name, number = f"{stem}{number}", number + 1
    return name

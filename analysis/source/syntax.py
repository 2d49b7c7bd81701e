"""What is read from HIP source: which kernels there are, and inside each what the rewrites need to know.

Records with exact byte spans; `parse` gives them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tree_sitter import Node

from hipscope.analysis.source.thread_dependence import Divergence


@dataclass(frozen=True)
class Span:
    """Bytes [start, end) of a file and the 1-based lines they lie on."""

    start: int
    end: int
    line: int
    end_line: int


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel; `type` is the text without the name, blanks normalised."""

    name: str
    type: str
    pointer: bool
    const_pointee: bool
    span: Span

    @property
    def element_type(self) -> str:
        """What a pointer parameter points to, without qualifiers: `float` for `const float* __restrict__`."""
        bare = re.sub(r"\b(const|volatile|restrict|__restrict__|__restrict|struct)\b", " ", self.type)
        return " ".join(bare.replace("*", " ").replace("[]", " ").split())


@dataclass(frozen=True)
class SharedArray:
    """One `__shared__` variable; `dimensions` are the texts between the brackets, `sizes` where they stand."""

    name: str
    element_type: str
    dimensions: tuple[str, ...]
    sizes: tuple[Span, ...]
    dynamic: bool
    span: Span


@dataclass(frozen=True)
class Subscript:
    """`base[i][j]`, seen from its outermost brackets; the base is a name or a member, as in `grid.data[i]`.

    Where a call was seen through, `node` is the call; `whole` is False when it reads more than this one element.
    """

    base: str
    indices: tuple[Node, ...]
    use: Literal["read", "write", "update", "address"]
    node: Node = field(repr=False)
    span: Span
    whole: bool = True


@dataclass(frozen=True)
class Barrier:
    """A workgroup barrier; `divergent` says why not all threads may reach it, or is None."""

    span: Span
    divergent: Divergence | None


@dataclass(frozen=True)
class Atomic:
    """A call of an atomic function; `statement` is its statement when the result is thrown away, else None."""

    function: str
    arguments: tuple[Node, ...]
    node: Node = field(repr=False)
    span: Span
    statement: Node | None = field(repr=False)


@dataclass(frozen=True)
class LaunchExpression:
    """One launch in host code, `kernel<<<grid, block, ...>>>(...)` or hipLaunchKernelGGL; texts as written."""

    kernel: str
    grid: str
    block: str
    arguments: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class Opaque:
    """A call that may access memory in an unknown way; `reason` says why, as the end of a sentence."""

    span: Span
    text: str
    reason: str

    @property
    def sentence(self) -> str:
        """The whole of it."""
        return f"`{self.text}` on line {self.span.line} cannot be seen through: {self.reason}"


@dataclass(frozen=True)
class Through:
    """What a kernel's calls of the program's own functions and macros stand for.

    `meanings` are expressions in the kernel's own names, by the id of the call's node. `built_ins` are `threadIdx` and
    the like that some callee asks for by itself, with that callee's name. `constants` are those of the headers.
    `names` are declarations of locals that only give another name to a view or a place in memory, by their ids.
    `together` names the callees in which lanes or waves wait for each other, or exchange something, `publishing` those
    that make memory visible to others, or wait for it, `volatile` those that may do so where memory is not LDS.
    """

    meanings: Mapping[int, Node]
    opaque: tuple[Opaque, ...]
    built_ins: Mapping[str, str]
    constants: Mapping[str, Node]
    names: frozenset[int] = frozenset()
    together: frozenset[str] = frozenset()
    publishing: frozenset[str] = frozenset()
    volatile: frozenset[str] = frozenset()


UNSEEN = Through({}, (), {}, {})


@dataclass(frozen=True)
class KernelSyntax:
    """One `__global__` function definition. `span` covers template head and attributes, up to the closing brace.

    `thread_dependent` and `uniform_uses` are the `names` and the `uniform` of ThreadVariables.
    `through` is filled by `see_through`: what the kernel's calls stand for. `state` are names that a `member` function
    does not declare itself: any call and any store may change what they stand for.
    """

    name: str
    template_head: str
    attributes: tuple[str, ...]
    return_type: str
    parameters: tuple[Parameter, ...]
    span: Span
    body: Span
    shared: tuple[SharedArray, ...]
    subscripts: tuple[Subscript, ...]
    barriers: tuple[Barrier, ...]
    atomics: tuple[Atomic, ...]
    thread_dependent: frozenset[str]
    uniform_uses: frozenset[tuple[str, int]]
    body_node: Node = field(repr=False, compare=False)
    through: Through = field(default=UNSEEN, repr=False, compare=False)
    member: bool = False
    state: frozenset[str] = frozenset()

    @property
    def is_kernel(self) -> bool:
        """False for a function that kernels call, read in the same way."""
        return "__global__" in self.attributes

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, or None."""
        return next((p for p in self.parameters if p.name == name), None)


@dataclass(frozen=True)
class FileSyntax:
    """Everything read from one file. `errors` are the 1-based lines of what the parser could not read.

    `types` are those of expressions by their bytes, where the compiler was asked: without const and volatile.
    """

    kernels: tuple[KernelSyntax, ...]
    launches: tuple[LaunchExpression, ...]
    constants: dict[str, Node]
    errors: tuple[int, ...]
    root: Node = field(repr=False)
    types: Mapping[tuple[int, int], str] = field(default_factory=dict, repr=False)

    def kernel(self, name: str) -> KernelSyntax | None:
        """The kernel of that name (without template arguments), or None when there is none or more than one."""
        found = [k for k in self.kernels if k.name == name]
        return found[0] if len(found) == 1 else None

    def kernel_at(self, line: int) -> KernelSyntax | None:
        """The kernel whose definition covers that 1-based line."""
        return next((k for k in self.kernels if k.span.line <= line <= k.span.end_line), None)

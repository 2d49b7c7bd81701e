"""The text of a HIP source with one kernel in double precision beside it: what the float64 oracle is compiled from.

Takes source text, gives source text, or the reason why a replacement of words would not give the same function. The
source stays as it is; behind the kernel stands a copy of it, and of whatever of the file it uses that has floats, with
`double` for `float`, for the 16-bit floats and in vectors, in a namespace of its own. In a structure that the kernel
is given by value only the pointers lead to doubles: its own numbers are exact in either precision, and stay as is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.source.kernel_definitions import split_arguments
from hipscope.analysis.source.number_types import NUMBER_TYPES
from hipscope.analysis.source.parse import exact_tree

NAMESPACE = "hipscope_wide"

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#[ \t]*include[^\n]*)
      |(?P<kept>hipscope_kept:\w+)
      |(?P<hex>0[xX][0-9a-fA-F']+\w*)
      |(?P<literal>(?:\d[\d']*\.[\d']*|\.\d[\d']*|\d[\d']*(?=[eE]))(?:[eE][+-]?\d+)?[fF]\b)
      |(?P<cast>reinterpret_cast\s*<\s*(?:const\s+)?float[234]?(?:\s+const)?\s*\*\s*>)
      |(?P<word>[A-Za-z_]\w*)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_KEPT = "hipscope_kept:"  # before a word that stays as it is
_MATH = (
    "sqrt", "rsqrt", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "pow", "fabs", "fmin", "fmax", "fma", "floor",
    "ceil", "trunc", "round", "rint", "fmod", "cbrt", "hypot", "erf", "erfc", "copysign", "ldexp",
    "sincos", "sinpi", "cospi", "sincospi", "tgamma", "lgamma", "nearbyint", "remainder", "fdim", "logb", "rcbrt",
    "erfinv", "erfcinv", "erfcx", "normcdf", "normcdfinv", "rhypot",
)  # fmt: skip
_WORDS = {
    "float": "double", **{f"{name}f": name for name in _MATH},
    **{f"float{n}": f"double{n}" for n in (1, 2, 3, 4)}, **{f"make_float{n}": f"make_double{n}" for n in (1, 2, 3, 4)},
    "__expf": "exp", "__logf": "log", "__sinf": "sin", "__cosf": "cos", "__powf": "pow", "__tanf": "tan",
    "__sincosf": "sincos", "__exp10f": "exp10", "__log2f": "log2", "__log10f": "log10",
    **{n: t.wider for n, t in NUMBER_TYPES.items() if n.startswith(("_", "hip_")) and t.wider},
}  # fmt: skip
_NAMED_IN_HALF_HEADER = {"half": "double", "half2": "double2"}  # elsewhere these are names of variables
_REFUSED = re.compile(
    r"__half\w*_raw|reinterpret_cast|__\w*_as_\w+|__builtin_amdgcn|__builtin_bit_cast|bit_cast|asm$|__asm__|union$"
    r"|hiprand|rocrand|FLT_"
)
# What the headers of the 16-bit floats offer, on doubles; it hides the functions of those names.
_SCALAR = {
    "{a}": "__half2float __float2half __float2half_rn __bfloat162float __float2bfloat16",
    "-{a}": "__hneg",
    "fabs({a})": "__habs", "exp({a})": "hexp", "log({a})": "hlog", "sqrt({a})": "hsqrt", "1.0 / sqrt({a})": "hrsqrt",
    "{a} + {b}": "__hadd", "{a} - {b}": "__hsub", "{a} * {b}": "__hmul", "{a} / {b}": "__hdiv",
    "fmax({a}, {b})": "__hmax", "fmin({a}, {b})": "__hmin", "{a} * {b} + {c}": "__hfma",
}  # fmt: skip
_PAIR = {
    "{a}": "__half22float2 __float22half2_rn __bfloat1622float2 __float22bfloat162_rn",
    "{a} + {b}": "__hadd2", "{a} - {b}": "__hsub2", "{a} * {b}": "__hmul2", "{a} * {b} + {c}": "__hfma2",
}  # fmt: skip
_BUILT = {
    "double2 {}(double a, double b) {{ return make_double2(a, b); }}": "__floats2half2_rn __halves2half2 "
    "__floats2bfloat162_rn __halves2bfloat162",
    "double2 {}(double a) {{ return make_double2(a, a); }}": "__half2half2 __float2half2_rn __bfloat162bfloat162",
    "double {}(double2 a) {{ return a.x; }}": "__low2float __low2half __low2bfloat16",
    "double {}(double2 a) {{ return a.y; }}": "__high2float __high2half __high2bfloat16",
}
_SCOPES = (
    "translation_unit", "namespace_definition", "declaration_list", "linkage_specification", "preproc_ifdef",
    "preproc_if", "preproc_else", "preproc_elif",
)  # fmt: skip


@dataclass(frozen=True)
class _Item:
    """A definition outside of functions: its text, the names that it makes known, and where it ends in the file.

    `conditions` are the preprocessor's around it, one for each `#endif`: there may be another definition of the name
    for the other case, and only the compiler knows which one counts.
    """

    text: str
    names: frozenset[str]
    kind: str
    end: int
    conditions: tuple[str, ...] = ()

    def under_conditions(self, text: str) -> str:
        """The text where this item counts."""
        return "\n".join([*self.conditions, text, *("#endif" for _ in self.conditions)])


def widened(
    text: str, kernel: str, instances: Sequence[str] = (), read_before: Sequence[str] = ()
) -> tuple[str | None, str]:
    """The text with the kernel in double precision added, or None and why it can't be had.

    `instances` are demangled names of a template's instances to be made, as `void scale<float>(float*)`. `read_before`
    are the texts of the project that a compiler has read before this one: what the kernel uses of them is widened, too.
    """
    data = _encoded(text)
    items = list(_items(exact_tree(data)))
    found = [
        i for i in items if kernel in i.names and "__global__" in i.text and i.kind.endswith("definition")
    ]
    if len(found) != 1:
        return None, f"the source has {len(found) or 'no'} definitions of `{kernel}`"
    half = any("hip_fp16" in each for each in (text, *read_before))
    others = [_encoded(each) for each in read_before]
    above = [i for each in others for i in _items(exact_tree(each)) if "__global__" not in i.text]
    before = _with_kept_numbers(found[0], [*above, *(i for i in items if i.end < found[0].end)])
    parts, why = _needed(found[0], before, half)
    if why:
        return None, why
    changed = _words(found[0].text, half)[0]
    is_template = found[0].kind == "template_definition"
    wide_instances = [_words(i, True)[0] for i in instances] if is_template else []
    if changed == found[0].text and not parts and wide_instances == list(instances if is_template else ()):
        return None, "the kernel has no `float`"
    if not is_template:
        changed = "__attribute__((used)) " + changed
    made = [f"template __global__ {_unqualified(i, kernel)};" for i in wide_instances]
    macros = [p for p in parts if p.kind == "macro"]
    lines = [f'#pragma push_macro("{name}")' for name in _pushed(macros)]
    lines += [_defined(macro, half) for macro in macros]
    lines += [
        f'extern "C++" {{ namespace {NAMESPACE} {{',
        _prelude() if half or any("bfloat16" in each for each in (text, *read_before)) else "",
    ]
    lines += [p.under_conditions(_words(p.text, half)[0]) for p in parts if p.kind != "macro"]
    lines += [changed, *made, "} }"]
    lines += [f'#pragma pop_macro("{name}")' for name in _pushed(macros)]
    added = "\n" + "\n".join(lines) + "\n"
    end = found[0].end
    return (data[:end] + added.encode("utf-8", "surrogateescape") + data[end:]).decode(
        "utf-8", "surrogateescape"
    ), ""


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _needed(kernel: _Item, before: Sequence[_Item], half: bool) -> tuple[list[_Item], str]:
    """What the kernel uses, directly or not, that is another text in double precision or uses such; or why not."""
    known: dict[str, list[_Item]] = {}
    for item in before:
        for name in item.names:
            known.setdefault(name, []).append(item)
    uses: dict[int, set[int]] = {}
    waiting = [kernel]
    reached = {id(kernel): kernel}
    while waiting:
        item = waiting.pop()
        used = {id(i): i for w in re.findall(r"[A-Za-z_]\w*", item.text) for i in known.get(w, ())}
        uses[id(item)] = set(used) - {id(item)}
        waiting += [i for key, i in used.items() if key not in reached]
        reached |= used
    wide = {
        key for key, item in reached.items() if _words(item.text, half)[0] != item.text.replace(_KEPT, "")
    }
    while more := {key for key, used in uses.items() if key not in wide and used & wide}:
        wide |= more
    chosen = [i for i in before if id(i) in wide and i is not kernel]
    for item in [*chosen, kernel]:
        if refused := _words(item.text, half)[1]:
            return [], f"it uses `{refused[0]}`"
        for name in {n for i in chosen for n in i.names}:
            if re.search(rf"::\s*{re.escape(name)}\b", item.text):
                return [], f"it uses `{name}` by its namespace"
    return chosen, ""


def _with_kept_numbers(kernel: _Item, before: Sequence[_Item]) -> list[_Item]:
    """The items; in structures that the kernel is given by value, and in those within, single numbers are kept."""
    given, left = set[str](), set(_types_by_value(kernel.text))
    while left:
        given |= left
        inside = [i.text for i in before if i.names & left and i.kind == "declaration"]
        left = {w for text in inside for w in re.findall(r"[A-Za-z_]\w*", text)} - given
    return [
        replace(i, text=_kept_numbers(i.text)) if i.names & given and i.kind == "declaration" else i
        for i in before
    ]


def _kept_numbers(text: str) -> str:
    """A structure with its members that are no pointers, and no functions, marked to stay as they are."""
    data = text.encode("utf-8", "surrogateescape")
    pieces, position = [], 0
    stack = [exact_tree(data)]
    while stack:
        node = stack.pop()
        kind = node.child_by_field_name("type") if node.type == "field_declaration" else None
        if kind is not None and not re.search(rb"[*(&]", node.text or b""):
            pieces += [
                data[position : kind.start_byte],
                _KEPT.encode(),
                data[kind.start_byte : kind.end_byte],
            ]
            position = kind.end_byte
        stack.extend(reversed(node.children))
    return b"".join([*pieces, data[position:]]).decode("utf-8", "surrogateescape")


def _types_by_value(kernel: str) -> frozenset[str]:
    """The words in the types of parameters that are no pointers, such as the name of a structure given by value."""
    head = kernel.partition("{")[0]
    parameters = head[head.find("(", head.find("__global__")) + 1 : head.rfind(")")]
    if head.count("(") > 1:  # launch bounds stand before the name
        parameters = parameters[parameters.rfind("(") + 1 :]
    listed = [p for p in split_arguments(parameters) if "*" not in p and "&" not in p]
    return frozenset(word for p in listed for word in re.findall(r"[A-Za-z_]\w*", p)[:-1])


def _words(text: str, half: bool) -> tuple[str, list[str]]:
    """The text in double precision word by word, and the words that stand against it."""
    refused: list[str] = []
    words = _WORDS | _NAMED_IN_HALF_HEADER if half else _WORDS

    def replacement(match: re.Match[str]) -> str:
        whole = match[0]
        if match["kept"] is not None:
            return whole.removeprefix(_KEPT)
        if match["literal"] is not None:
            return whole[:-1]
        if match["cast"] is not None:
            return whole.replace("float", "double")
        if match["word"] is not None:
            if _REFUSED.match(whole):
                refused.append(whole)
            return words.get(whole, whole)
        return whole

    return _TOKEN.sub(replacement, text), refused


def _items(node: Node, conditions: tuple[str, ...] = ()) -> Iterator[_Item]:
    for child in node.children:
        if child.type in _SCOPES:
            yield from _items(child, _conditions_in(child, conditions))
        elif child.type in ("preproc_def", "preproc_function_def"):
            yield _Item(_text(child), _names(child), "macro", child.end_byte, conditions)
        elif names := _names(child):
            inner = child
            while inner.type == "template_declaration":
                inner = inner.children[-1]
            kind = "function_definition" if inner.type == "function_definition" else "declaration"
            if kind == "function_definition" and inner is not child:
                kind = "template_definition"
            outer = child.parent
            linked = outer is not None and outer.type == "linkage_specification"
            end = (
                ";" if child.type.endswith("_specifier") else ""
            )  # of a structure: it is no part of the node
            yield _Item(
                _text(child) + end,
                names,
                kind,
                outer.end_byte if outer and linked else child.end_byte,
                conditions,
            )


def _conditions_in(scope: Node, around: tuple[str, ...]) -> tuple[str, ...]:
    """The preprocessor's conditions for what stands directly in a scope; `around` are those outside of it."""
    if scope.type == "preproc_else":
        return (*around[:-1], f"{around[-1]}\n#else")
    asked = scope.child_by_field_name("condition") or scope.child_by_field_name("name")
    if not scope.type.startswith("preproc") or asked is None:
        return around
    if scope.type == "preproc_elif":
        return (*around[:-1], f"{around[-1]}\n#elif {_text(asked)}")
    if _text(scope.children[0]) == "#ifndef" and any(_defines(c, _text(asked)) for c in scope.children):
        # An include guard: its macro is defined by now. Without an `#else` there is nothing to choose.
        return (*around, "#if 1") if scope.child_by_field_name("alternative") else around
    return (*around, f"{_text(scope.children[0])} {_text(asked)}")


def _defines(node: Node, name: str) -> bool:
    return node.type == "preproc_def" and name in _names(node)


def _names(node: Node) -> frozenset[str]:
    """The names that a definition or declaration makes known around it."""
    if node.type == "template_declaration":
        return _names(node.children[-1])
    if node.type in ("declaration", "field_declaration"):
        declared = node.children_by_field_name("declarator")
        inside = node.child_by_field_name("type")
        return frozenset(filter(None, map(_declared, declared))) | (_names(inside) if inside else frozenset())
    name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    found = _declared(name) if name is not None else None
    return frozenset({found}) if found else frozenset()


def _declared(node: Node | None) -> str | None:
    while node is not None and node.type not in ("identifier", "type_identifier"):
        node = node.child_by_field_name("declarator") or next(
            (c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None
        )
    return _text(node) if node is not None else None


def _pushed(macros: Sequence[_Item]) -> list[str]:
    """The names of macros, each once."""
    return list(dict.fromkeys(name for macro in macros for name in macro.names))


def _defined(macro: _Item, half: bool) -> str:
    (name,) = macro.names
    return macro.under_conditions(f"#undef {name}\n{_words(macro.text.rstrip(chr(10)), half)[0]}")


def _unqualified(signature: str, kernel: str) -> str:
    """`void ns::scale<double>(double*)` without `ns::`."""
    return re.sub(rf"^(.*?)(?:[\w()]+(?: namespace\))?::)*({re.escape(kernel)}<)", r"\1\2", signature)


def _prelude() -> str:
    head = "__device__ inline "
    lines = [
        f"{head}{kind} {name}({', '.join(f'{kind} {v}' for v in 'abc' if f'{{{v}}}' in body)}) "
        f"{{ return {body.format(a='a', b='b', c='c')}; }}"
        for kind, table in (("double", _SCALAR), ("double2", _PAIR))
        for body, names in table.items()
        for name in names.split()
    ]
    lines += [head + body.format(name) for body, names in _BUILT.items() for name in names.split()]
    return "\n".join(lines)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")

"""The text of a HIP source with `double` for every `float`: what the float64 oracle is compiled from.

Takes source text, gives source text, or the reason why a replacement of words would not give the same function.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#[ \t]*include[^\n]*)
      |(?P<hex>0[xX][0-9a-fA-F']+\w*)
      |(?P<literal>(?:\d[\d']*\.[\d']*|\.\d[\d']*|\d[\d']*(?=[eE]))(?:[eE][+-]?\d+)?[fF]\b)
      |(?P<word>[A-Za-z_]\w*)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_MATH = (
    "sqrt", "rsqrt", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "pow", "fabs", "fmin", "fmax", "fma", "floor",
    "ceil", "trunc", "round", "rint", "fmod", "cbrt", "hypot", "erf", "erfc", "copysign", "ldexp",
)  # fmt: skip
_WORDS = {"float": "double", **{f"{name}f": name for name in _MATH}}
_FAST = {"__expf": "exp", "__logf": "log", "__sinf": "sin", "__cosf": "cos", "__powf": "pow", "__tanf": "tan"}
_REFUSED = re.compile(
    r"u?(?:char|short|int|long|float|half)[234]$|make_float|__half|half2?$|_Float16|.*bfloat16|__bf16|reinterpret_cast"
    r"|__\w*_as_\w+|__builtin_amdgcn|__builtin_bit_cast|bit_cast|asm$|__asm__|union$|hiprand|rocrand|FLT_"
)


def widened(text: str) -> tuple[str | None, str]:
    """The text in double precision, or None and the word because of which it can't be had."""
    refused: list[str] = []

    def replacement(match: re.Match[str]) -> str:
        whole = match[0]
        if match["literal"] is not None:
            return whole[:-1]
        if match["word"] is not None:
            if _REFUSED.match(whole):
                refused.append(whole)
            return _WORDS.get(whole) or _FAST.get(whole) or whole
        return whole

    changed = _TOKEN.sub(replacement, text)
    if refused:
        return None, f"the source uses `{refused[0]}`"
    return (changed, "") if changed != text else (None, "the source has no `float`")

"""Random functions as HIP text without undefined behaviour: host and device must agree on each, bit for bit.

`program(seed)` is a whole program that runs its functions on both sides, with the same inputs, and prints PASS or what
differs. What the language leaves open is closed by helpers: NaNs have one pattern, and shifts, divisions and
conversions stay within what is defined.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

WIDTH = {f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)}
INTEGERS = list(WIDTH)
FLOATS = ["f32", "f64"]
FUNCTIONS, STATEMENTS, DEPTH = 12, 9, 3

_HEAD = """
#pragma clang fp contract(off)
using i8 = signed char; using u8 = unsigned char; using i16 = short; using u16 = unsigned short;
using i32 = int; using u32 = unsigned; using i64 = long; using u64 = unsigned long;
using f32 = float; using f64 = double;
#define BOTH __host__ __device__
#define SMALL static BOTH inline __attribute__((always_inline))
SMALL u32 bits_f32(f32 x) { return x != x ? 0x7fc00000U : __builtin_bit_cast(u32, x); }
SMALL u64 bits_f64(f64 x) { return x != x ? 0x7ff8000000000000UL : __builtin_bit_cast(u64, x); }
SMALL f32 from_f32(u32 x) { return __builtin_bit_cast(f32, bits_f32(__builtin_bit_cast(f32, x))); }
SMALL f64 from_f64(u64 x) { return __builtin_bit_cast(f64, bits_f64(__builtin_bit_cast(f64, x))); }
"""

# Per type: {t} itself, {u} unsigned of its width, {w} unsigned of at least 32 bits, {n} bits, {m} one
# less, {k} what it lacks to 32, {d} twice its width, {i} signed of its width, {s} suffix of builtins.
_TWO = {
    "add": "({t})(({w})a + ({w})b)",
    "sub": "({t})(({w})a - ({w})b)",
    "mul": "({t})(({w})a * ({w})b)",
    "both": "({t})(a & b)",
    "any": "({t})(a | b)",
    "odd": "({t})(a ^ b)",
    "left": "({t})(({w})a << (b & {m}))",
    "right": "({t})(a >> (b & {m}))",
    "turn": "({t})__builtin_rotateleft{n}(({u})a, ({u})b)",
    "least": "a < b ? a : b",
    "most": "a < b ? b : a",
    "apart": "({t})(a < b ? ({w})b - ({w})a : ({w})a - ({w})b)",
    "quotient": "b == 0 || b == ({t})-1 ? a : ({t})(a / b)",
    "remainder": "b == 0 || b == ({t})-1 ? a : ({t})(a % b)",
    "high": "({t})((({d})a * ({d})b) >> {n})",
}
_ONE = {
    "invert": "({t})~a",
    "negative": "({t})(0 - ({w})a)",
    "ones": "({t})__builtin_popcount{s}(({u})a)",
    "mirror": "({t})__builtin_bitreverse{n}(({u})a)",
    "first": "({t})(a == 0 ? {n} : __builtin_ctz{s}(({u})a))",
    "last": "({t})(a == 0 ? {n} : __builtin_clz{s}(({u})a) - {k})",
}
_THREE = {
    "middle": "most_{t}(least_{t}(a, b), least_{t}(most_{t}(a, b), c))",
    "field": "({t})(({w})right_{t}(a, b) & ((({w})1 << (c & {m})) - 1))",
    "signed_field": "({t})((({i})left_{t}(a, b)) >> (c & {m}))",
    "chosen": "({t})((a & b) | (~a & c))",
}
_FLOAT = {
    "add": (2, "a + b"),
    "sub": (2, "a - b"),
    "mul": (2, "a * b"),
    "quotient": (2, "a / b"),
    "fused": (3, "__builtin_fma{s}(a, b, c)"),
    "root": (1, "__builtin_sqrt{s}(a)"),
    "cut": (1, "__builtin_trunc{s}(a)"),
    "below": (1, "__builtin_floor{s}(a)"),
    "even": (1, "__builtin_rint{s}(a)"),
    "size": (1, "__builtin_fabs{s}(a)"),
    "signed": (2, "__builtin_copysign{s}(a, from_{t}(bits_{t}(b)))"),
    "least": (2, "a != a ? b : b != b ? a : a < b ? a : b"),
    "pick": (3, "a < b ? c : b"),
    "late": (3, "!(a >= b) ? c : a"),
}


def program(seed: int) -> str:
    """A program of `FUNCTIONS` functions, each of which writes what all its variables have become."""
    writer = _Writer(random.Random(seed))
    functions = [writer.function(n) for n in range(FUNCTIONS)]
    calls = "".join(f"    f{n}(in, out + {n * 32});\n" for n in range(FUNCTIONS))
    return f"""{_HEAD}{"".join(_helpers())}{"".join(functions)}
static BOTH void all(const u64* in, u64* out) {{
{calls}}}
__global__ void run(const u64* in, u64* out) {{
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    all(in + 4 * i, out + {FUNCTIONS * 32} * i);
}}
int main() {{
    constexpr int n = 128, words = {FUNCTIONS * 32};
    std::vector<u64> in(4 * n), want(n * words), got(n * words);
    u64 state = {seed}UL;
    for (int k = 0; k < 4 * n; ++k) {{
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        const u64 x = state ^ (state >> 29);
        in[k] = k % 3 == 0 ? x : k % 3 == 1 ? x % 100 : 1UL << (x % 64);
    }}
    u64 *device_in, *device_out;
    CHECK(hipMalloc(&device_in, in.size() * 8));
    CHECK(hipMalloc(&device_out, got.size() * 8));
    CHECK(hipMemcpy(device_in, in.data(), in.size() * 8, hipMemcpyHostToDevice));
    CHECK(hipMemset(device_out, 0, got.size() * 8));
    run<<<2, n / 2>>>(device_in, device_out);
    CHECK(hipMemcpy(got.data(), device_out, got.size() * 8, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) all(&in[4 * i], &want[words * i]);
    for (int k = 0; k < n * words; ++k) {{
        if (got[k] == want[k]) continue;
        std::printf("thread %d, f%d, value %d: ", k / words, k % words / 32, k % 32);
        std::printf("device %lx, host %lx\\n", got[k], want[k]);
        return 1;
    }}
    std::puts("PASS");
}}
"""


def _helpers() -> Iterator[str]:
    for t, n in WIDTH.items():
        words = {
            "t": t,
            "u": f"u{n}",
            "i": f"i{n}",
            "w": "u64" if n == 64 else "u32",
            "d": {8: "i32", 16: "i64", 32: "i64" if t[0] == "i" else "u64"}.get(
                n, "__int128" if t[0] == "i" else "unsigned __int128"
            ),
            "n": str(n),
            "m": str(n - 1),
            "k": str(max(32 - n, 0)),
            "s": "ll" if n == 64 else "",
        }
        for name, body in _ONE.items():
            yield f"SMALL {t} {name}_{t}({t} a) {{ return {body.format(**words)}; }}\n"
        for name, body in _TWO.items():
            yield f"SMALL {t} {name}_{t}({t} a, {t} b) {{ return {body.format(**words)}; }}\n"
        for name, body in _THREE.items():
            yield f"SMALL {t} {name}_{t}({t} a, {t} b, {t} c) {{ return {body.format(**words)}; }}\n"
        for f in FLOATS:
            low = f"-0x1p{n - 1}" if t[0] == "i" else "0"
            inside = f"x >= ({f}){low} && x < ({f})0x1p{n - (t[0] == 'i')}"
            yield f"SMALL {t} {t}_of_{f}({f} x) {{ return {inside} ? ({t})x : ({t})7; }}\n"
    for f in FLOATS:
        for name, (count, body) in _FLOAT.items():
            parameters = ", ".join(f"{f} {p}" for p in "abc"[:count])
            text = body.format(t=f, s="f" if f == "f32" else "")
            yield f"SMALL {f} {name}_{f}({parameters}) {{ return {text}; }}\n"


class _Writer:
    """One function at a time; what is in scope is known by name and type."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.scope: list[tuple[str, str]] = []
        self.fixed: set[str] = set()
        self.made = 0
        self.callable: list[tuple[str, str]] = []

    def function(self, number: int) -> str:
        self.scope, self.fixed, self.made = [("a", "u64"), ("b", "u64"), ("c", "u64"), ("d", "f64")], set(), 0
        lines = [line for _ in range(STATEMENTS) for line in self.statement(2, "    ")]
        results = [f"    out[{k}] = {self.bits(*known)};" for k, known in enumerate(self.scope[:32])]
        start = "const u64 *in, u64* out) {\n    u64 a = in[0], b = in[1], c = in[2];\n    f64 d = from_f64(in[3]);"
        kept = self.scope
        result = self.rng.choice(INTEGERS)
        self.scope = [("p", result), ("q", "f32")]
        head = f"static BOTH __attribute__((noinline)) {result} g{number}({result} p, f32 q)"
        called = f"{head} {{\n    return {self.expression(result, DEPTH)};\n}}\n"
        self.callable.append((f"g{number}", result))
        self.scope = kept
        return "\n".join([f"static BOTH void f{number}({start}", *lines, *results, "}\n"]) + called

    def bits(self, name: str, kind: str) -> str:
        return f"bits_{kind}({name})" if kind in FLOATS else f"(u64){name}"

    def name(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def statement(self, depth: int, indent: str) -> list[str]:
        choice = self.rng.random()
        free = [known for known in self.scope if known[0] not in self.fixed]
        if depth == 0 or choice < 0.6:
            if choice < 0.3:
                name, kind = self.rng.choice(free)
                return [f"{indent}{name} = {self.expression(kind, DEPTH)};"]
            kind = self.rng.choice(INTEGERS + FLOATS)
            line = f"{indent}{kind} {{}} = {self.expression(kind, DEPTH)};"
            self.scope.append((self.name(), kind))
            return [line.format(self.scope[-1][0])]
        if choice < 0.75:
            return [
                f"{indent}if ({self.condition()}) {{",
                *self.block(depth, indent),
                f"{indent}}} else {{",
                *self.block(depth, indent),
                f"{indent}}}",
            ]
        if choice < 0.9:
            name = self.name()
            end = f"({self.expression('u32', 1)} & 7)"
            self.fixed.add(name)
            head = f"{indent}for (u32 {name} = 0, {name}_end = {end}; {name} < {name}_end; ++{name}) {{"
            leave = f"{indent}    if ({self.condition()}) {self.rng.choice(['break', 'continue'])};"
            return [head, *self.block(depth, indent, (name, "u32")), leave, f"{indent}}}"]
        kind, name, taken = self.rng.choice(INTEGERS + FLOATS), self.name(), self.name()
        values = ", ".join(self.expression(kind, 1) for _ in range(8))
        places = [f"{name}[{self.expression('u32', 1)} & 7]" for _ in range(2)]
        lines = [
            f"{indent}{kind} {name}[8] = {{{values}}};",
            f"{indent}{places[0]} = {self.expression(kind, 2)};",
            f"{indent}{kind} {taken} = {places[1]};",
        ]
        self.scope.append((taken, kind))
        return lines

    def block(self, depth: int, indent: str, counter: tuple[str, str] | None = None) -> list[str]:
        mark = len(self.scope)
        self.scope += [counter] if counter else []
        lines = [line for _ in range(2) for line in self.statement(depth - 1, indent + "    ")]
        del self.scope[mark:]
        return lines

    def condition(self) -> str:
        kind = self.rng.choice(INTEGERS + FLOATS)
        sign = self.rng.choice(["<", "<=", "==", "!=", ">"])
        return f"{self.expression(kind, 1)} {sign} {self.expression(kind, 1)}"

    def expression(self, kind: str, depth: int) -> str:
        known = [name for name, other in self.scope if other == kind]
        if depth == 0:
            return self.rng.choice(known) if known and self.rng.random() < 0.8 else self.constant(kind)
        choice = self.rng.random()
        calls = [name for name, result in self.callable if result == kind]
        if calls and choice < 0.06:
            return f"{self.rng.choice(calls)}({self.expression(kind, 1)}, {self.expression('f32', 1)})"
        if choice < 0.3:
            return self.converted(kind, depth - 1)
        if kind in FLOATS:
            name, (count, _) = self.rng.choice(list(_FLOAT.items()))
        else:
            table, count = self.rng.choice([(_ONE, 1), (_TWO, 2), (_TWO, 2), (_THREE, 3)])
            name = self.rng.choice(list(table))
        return f"{name}_{kind}({', '.join(self.expression(kind, depth - 1) for _ in range(count))})"

    def converted(self, kind: str, depth: int) -> str:
        other = self.rng.choice([k for k in INTEGERS + FLOATS if k != kind])
        inner = self.expression(other, depth)
        return f"{kind}_of_{other}({inner})" if kind in INTEGERS and other in FLOATS else f"({kind}){inner}"

    def constant(self, kind: str) -> str:
        if kind in FLOATS:
            return f"({kind}){self.rng.choice(['0.0', '1.0', '-2.5', '3.0', '0.1', '1e9', '-1e-3'])}"
        bits = WIDTH[kind]
        value = self.rng.choice([0, 1, 3, 7, 100, (1 << bits) - 1, 1 << bits - 1, self.rng.getrandbits(bits)])
        return f"({kind}){value}UL"

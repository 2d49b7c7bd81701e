"""Half precision, bfloat16, 8-bit floats and vectors are those of HIP 6.3, in host code and in kernels.

One program is generated from the tables below; each line of a table is an expression and what it must be.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.hip_run import run_hip

NAN = float("nan")

TYPES = """
__half2{}.x | __half
__half2{}.y | __half
__half2_raw{}.x | __half_raw
__half2{}.data | _Float16_2
__half{} + __half{} | __half
__half2{} * __half2{} | __half2
__low2half(__half2{}) | __half
__hbeq2(__half2{}, __half2{}) | bool
__half2half2(__half{}) | __half2
__half2float(__half2{}.y) | float
__hip_bfloat162{}.x | __hip_bfloat16
__hip_bfloat162_raw{}.x | unsigned short
__hip_bfloat16{} * __hip_bfloat16{} | __hip_bfloat16
__bfloat1622float2(__hip_bfloat162{}) | float2
__hip_fp8_e4m3_fnuz{}.__x | __hip_fp8_storage_t
__hip_fp8x2_e5m2{}.__x | __hip_fp8x2_storage_t
__hip_fp8x4_e4m3{}.__x | __hip_fp8x4_storage_t
float2{}.x | float
double4{}.w | double
uchar4{}.z | unsigned char
short3{}.y | short
ulonglong2{}.x | unsigned long long
float4{} * float4{} | float4
"""

# What host code and kernels must have alike, of the values in VALUES.
BOTH: dict[str, float] = {
    "__half2float(v.x)": 1,
    "__half2float(v.y)": -2,
    "float(v.x) + float(v.y)": -1,
    "__half2float(v.x * v.y)": -2,
    "float(v.x) * 3.0f": 3,
    "int(v.y)": -2,
    "taken(v.y)": -2,
    "(v.x = __float2half(7.0f), __low2float(v))": 7,
    "(v.y += v.x, __high2float(v))": -1,
    "__half2(v.y, v.x).data.x": -2,
    "__half_as_ushort(v.x)": 0x3C00,
    "__half_as_short(v.y)": -16384,
    "static_cast<__half2_raw>(v).y.x": 0xC000,
    "__half2float(__ushort_as_half(0xbc00))": -1,
    "float(h0 += h1)": -1,
    "float(h0 -= h1)": 3,
    "float(h0 *= h1)": -2,
    "float(h0 /= h1)": -0.5,
    "(h0 *= 2.5f, float(h0))": 2.5,
    "float(h0 + h1)": -1,
    "float(h0 - h1)": 3,
    "float(h0 * h1)": -2,
    "float(h0 / h1)": -0.5,
    "float(-h0)": -1,
    "float(++h0)": 2,
    "float(h0--)": 1,
    "h0 == h1": 0,
    "h0 != h1": 1,
    "h0 < h1": 0,
    "h0 > h1": 1,
    "h0 <= h1": 0,
    "h0 >= h1": 1,
    "__high2float(v + v)": -4,
    "__low2float(v - v)": 0,
    "__high2float(v * v)": 4,
    "__low2float(v / v)": 1,
    "__high2float(-v)": 2,
    "__low2float(v *= v)": 1,
    "v == v": 1,
    "v != v": 0,
    "v < __half2(h0, h0)": 0,
    "v <= __half2(h0, h0)": 1,
    "__hadd(h0, h1)": -1,
    "__hadd_sat(h0, h0)": 1,
    "__high2float(__hadd2_sat(v, v))": 0,
    "__hdiv(h0, h1)": -0.5,
    "__habs(h1)": 2,
    "__low2float(__habs2(-v))": 1,
    "__hneg(h0)": -1,
    "__heq(nan, nan)": 0,
    "__hne(nan, nan)": 1,
    "__hequ(nan, h0)": 1,
    "__hneu(nan, h0)": 1,
    "__hleu(nan, h0)": 1,
    "__hltu(h0, h1)": 0,
    "__hle(nan, h0)": 0,
    "__hbge2(v, v)": 1,
    "__hbgt2(v, v)": 0,
    "__low2float(__hgt2(v, __half2(h1, h0)))": 1,
    "__high2float(__hgt2(v, __half2(h1, h0)))": 0,
    "__hisnan(nan)": 1,
    "__hisinf(__float2half(1e6f))": 1,
    "__half2int_rn(__float2half(-2.75f))": -2,
    "__half2ull_ru(__float2half(2.75f))": 2,
    "__uint2half_rn(2049u)": 2048,
    "__half22float2(v).y": -2,
    "__high2float(__lowhigh2highlow(v))": 1,
    "__low2float(__highs2half2(v, v))": -2,
    "__low2float(__high2half2(v))": -2,
    "__high2float(__float22half2_rn(make_float2(1, 0.333251953125f)))": 0.333251953125,
    "float(w.x)": 1,
    "float(w.y * b0)": -2,
    "float(b0 *= b1)": -2,
    "float(b0++)": 1,
    "float(--b0)": 0,
    "float(-b1)": 2,
    "float(__hip_bfloat16(short(-3)))": -3,
    "b0 >= b1": 1,
    "w == w": 1,
    "w != w": 0,
    "w < __hip_bfloat162(b0, b0)": 0,
    "float((w += w).y)": -4,
    "float((++w).x)": 2,
    "float(__high2bfloat162(w).x)": -2,
    "float(__lows2bfloat162(w, w).y)": 1,
    "float(__hip_bfloat162(static_cast<__hip_bfloat162_raw>(w)).y)": -2,
    "__hequ(bnan, b0)": 1,
    "__hbneu2(w, w)": 0,
    "__hbge2(w, w)": 1,
    "float(__heq2(w, w).y)": 1,
    "float(__hip_fp8_e4m3_fnuz(1.9f))": 1.875,
    "float(__hip_fp8_e5m2(h1))": -2,
    "float(static_cast<__half>(__hip_fp8_e4m3(0.75f)))": 0.75,
    "__high2float(static_cast<__half2>(__hip_fp8x2_e4m3_fnuz(v)))": -2,
    "static_cast<float4>(__hip_fp8x4_e4m3(w, __hip_bfloat162(b1, b0))).z": -2,
    "taken(__hip_fp8_e4m3_fnuz(0.75f))": 0.75,
    "(h0 = __hip_fp8_e5m2(-2.0f), __half2float(h0))": -2,
    "(b0 = __hip_fp8_e4m3(3.0f), float(b0))": 3,
    "(v = __hip_fp8x2_e5m2(v), __high2float(v))": -2,
    "float(double(__hip_fp8_e4m3(1.5f)))": 1.5,
    "bool(__hip_fp8_e5m2(-1.0f)) + 2 * bool(__hip_fp8_e5m2(0.0f))": 1,
    "short(__hip_fp8_e5m2(-3.5f))": -3,
    "short(__hip_fp8_e5m2(40000.0f))": 32767,
    "(unsigned short)__hip_fp8_e5m2(40000.0f)": 40960,
    "(signed char)__hip_fp8_e4m3_fnuz(-240.0f)": -128,
    "(unsigned char)__hip_fp8_e4m3(-3.0f)": 0,
    "(unsigned char)__hip_fp8_e4m3(448.0f)": 255,
    "float(long(__hip_fp8_e5m2(57344.0f)) + (long long)(__hip_fp8_e4m3(-7.0f)))": 57337,
    "float((unsigned long long)__hip_fp8_e4m3(-7.0f) + (unsigned)__hip_fp8_e4m3(9.0f))": 9,
    "int(__hip_fp8_e4m3_fnuz(__half2float(nan)))": 0,
    "(make_float4(1, 2, 3, 4) * make_float4(2, 2, 2, 2)).w": 8,
    "(make_int2(7, 9) % make_int2(4, 5)).y": 4,
    "(make_float2(1, 2) / 2.0f).x": 0.5,
    "(make_float3(1, 2, 3) += make_float3(1, 1, 1)).z": 4,
    "make_uchar4(1, 2, 3, 255).w": 255,
    "make_short2(1, 2) == make_short2(1, 2)": 1,
    "float2(3.0f, 4.0f).y": 4,
    "(-make_double2(1, 2)).y": -2,
    "(make_uint2(12, 10) & make_uint2(10, 6)).y": 2,
}

# What HIP has in kernels only, or rounds in kernels only.
KERNELS: dict[str, float] = {
    "__float2half_rz(1.9999f)": 1.9990234375,
    "__float2half_rd(-1.0001f)": -1.0009765625,
    "__float2half_ru(1.0001f)": 1.0009765625,
    "__hfma(h0, h1, h1)": -4,
    "__high2float(__hfma2(v, v, v))": 2,
    "__hmax(nan, h1)": -2,
    "__hmax_nan(nan, h1)": NAN,
    "__hmin(h0, h1)": -2,
    "__high2float(__hmax2(v, __half2(h0, h0)))": 1,
    "hrcp(h1)": -0.5,
    "__high2float(h2rcp(v))": -0.5,
    "hsqrt(__float2half(4.0f))": 2,
    "__low2float(h2exp2(v))": 2,
    "hfloor(__float2half(-1.5f))": -2,
    "__hfma_relu(h0, h1, h1)": 0,
    "__shfl(v.y, 0)": -2,
    "__high2float(__shfl_xor(v, 1))": -2,
    "float(__shfl_down_sync(~0ull, w, 1).y)": -2,
    "float(hrcp(b1))": -0.5,
    "float(hsqrt(__hip_bfloat16(4.0f)))": 2,
    "amd_mixed_dot(v, v, 1.0f, false)": 6,
}

VALUES = """
  [[maybe_unused]] __half h0 = __float2half(1.0f), h1 = __float2half(-2.0f), nan = __ushort_as_half(0x7e00);
  [[maybe_unused]] __half2 v(h0, h1);
  [[maybe_unused]] __hip_bfloat16 b0(1.0f), b1(-2.0f), bnan(__ushort_as_bfloat16(0x7fc0));
  [[maybe_unused]] __hip_bfloat162 w(b0, b1);
"""


def _program() -> str:
    types = "".join(
        f"static_assert(std::is_same<std::decay_t<decltype({left.strip()})>, {right.strip()}>::value);\n"
        for left, right in (line.split(" | ") for line in TYPES.strip().splitlines())
    )

    def body(expressions: dict[str, float]) -> str:
        return "".join(f"  {{{VALUES}  *out++ = float({e}); }}\n" for e in expressions)

    return f"""
#include <hip/hip_fp8.h>
#include <type_traits>
{types}
__host__ __device__ float taken(__half a) {{ return a; }}
__host__ __device__ void both(float* out) {{
{body(BOTH)}}}
__global__ void kernel(float* out) {{
  both(out);
  out += {len(BOTH)};
{body(KERNELS)}}}
void show(const float* values, int count) {{
  for (int i = 0; i < count; ++i) std::printf("%.12g\\n", values[i]);
}}
int main() {{
  static float host[{len(BOTH)}], device[{len(BOTH) + len(KERNELS)}], *d;
  both(host);
  CHECK(hipMalloc(&d, sizeof device));
  kernel<<<1, 64>>>(d);
  CHECK(hipMemcpy(device, d, sizeof device, hipMemcpyDeviceToHost));
  show(host, {len(BOTH)});
  show(device, {len(BOTH) + len(KERNELS)});
}}
"""


def test_types_members_and_operators_are_those_of_hip_6(tmp_path: Path) -> None:
    ran = run_hip(_program(), tmp_path)
    asked = [("host", e, x) for e, x in BOTH.items()]
    asked += [("kernel", e, x) for e, x in {**BOTH, **KERNELS}.items()]
    got = [float(line) for line in ran.stdout.split()]
    assert len(got) == len(asked), ran.stderr
    wrong = [
        (where, expression, value, expected)
        for (where, expression, expected), value in zip(asked, got, strict=True)
        if value != pytest.approx(expected, abs=0, rel=0, nan_ok=True)
    ]
    assert wrong == []


def test_a_program_may_define_what_cuda_has_and_hip_6_has_not(tmp_path: Path) -> None:
    ran = run_hip(
        """
        #include <hip/hip_fp8.h>
        inline __device__ __hip_bfloat162 __float2bfloat162_rn(const float a) { return {a + 1, a + 2}; }
        __host__ __device__ inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {b, a}; }
        __device__ inline __half2 __hmax2(__half2 a, __half2 b) { return __hadd2(a, b); }
        __global__ void own(float* out) {
          const __half2 pair = __float2half2_rn(4.0f);
          out[0] = __high2float(__float2bfloat162_rn(1.0f)) * 10 + __low2float(make_bfloat162(1.0f, 5.0f));
          out[1] = __low2float(__hmax2(pair, pair)) + __low2float(__hmin2(pair, pair));
        }
        int main() {
          float *out, back[2];
          CHECK(hipMalloc(&out, 8));
          own<<<1, 1>>>(out);
          CHECK(hipMemcpy(back, out, 8, hipMemcpyDeviceToHost));
          std::printf("%g %g\\n", back[0], back[1]);
        }
        """,
        tmp_path,
    )
    assert ran.stdout == "35 12\n", ran.stderr


def test_without_operators_and_conversions_the_functions_remain(tmp_path: Path) -> None:
    ran = run_hip(
        """
        #include <hip/hip_fp16.h>
        __global__ void add(__half2* v, float* out) { out[0] = __half2float(__hadd(v->x, v->y)); }
        int main() {
          float *out, back; __half2* v; const __half2 host = __floats2half2_rn(1.5f, -4.0f);
          CHECK(hipMalloc(&out, 4)); CHECK(hipMalloc(&v, 4));
          CHECK(hipMemcpy(v, &host, 4, hipMemcpyHostToDevice));
          add<<<1, 1>>>(v, out);
          CHECK(hipMemcpy(&back, out, 4, hipMemcpyDeviceToHost));
          std::printf("%g\\n", back);
        }
        """,
        tmp_path,
        flags=("-D__HIP_NO_HALF_OPERATORS__=1", "-D__HIP_NO_HALF_CONVERSIONS__=1"),
    )
    assert ran.stdout == "-2.5\n", ran.stderr

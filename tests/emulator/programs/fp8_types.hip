// The 8-bit float types: every code, on the device and on the host, against their definition; conversions to them against
// a search for the nearest.
#include <hip/hip_fp8.h>

#include "check.hpp"

struct Definition {
  __hip_fp8_interpretation_t kind;
  int mantissa, bias;
  bool fnuz;
  double largest;
};
const Definition kinds[] = {{__HIP_E4M3, 3, 7, false, 448}, {__HIP_E5M2, 2, 15, false, 57344}, {__HIP_E4M3_FNUZ, 3, 8, true, 240}, {__HIP_E5M2_FNUZ, 2, 16, true, 57344}};

/// The value of a code, by the definition of the format.
double value(const Definition& d, unsigned code) {
  const unsigned size = code & 0x7f;
  if (d.fnuz && code == 0x80) return NAN;
  if (d.kind == __HIP_E4M3 && size == 0x7f) return NAN;
  if (d.kind == __HIP_E5M2 && size > 0x7c) return NAN;
  const double sign = code & 0x80 ? -1 : 1;
  if (d.kind == __HIP_E5M2 && size == 0x7c) return sign * INFINITY;
  const int exponent = static_cast<int>(size >> d.mantissa), fraction = static_cast<int>(size & ((1u << d.mantissa) - 1));
  const double significand = exponent == 0 ? fraction : fraction + (1 << d.mantissa);
  return sign * std::ldexp(significand, std::max(exponent, 1) - d.bias - d.mantissa);
}

/// The code nearest to a number, ties to the even one, by search.
unsigned nearest(const Definition& d, double v, bool saturate) {
  const unsigned sign = std::signbit(v) ? 0x80 : 0;
  if (std::isnan(v) || (d.fnuz && std::isinf(v))) return d.fnuz ? 0x80 : 0x7f | sign;
  const unsigned overflow = d.fnuz ? 0x80 : (d.kind == __HIP_E4M3 ? 0x7f : 0x7c) | sign;
  unsigned best = 0;
  for (unsigned code = 0; code < 0x80; ++code) {
    const double at = value(d, code);
    if (!std::isfinite(at)) continue;
    const double distance = std::fabs(std::fabs(v) - at), now = std::fabs(std::fabs(v) - value(d, best));
    if (distance < now || (distance == now && code % 2 == 0)) best = code;
  }
  const double step = std::ldexp(1.0, std::ilogb(d.largest) - d.mantissa);
  const bool last_is_odd = (d.kind == __HIP_E4M3 ? 0x7e : d.kind == __HIP_E5M2 ? 0x7b : 0x7f) % 2 == 1;
  const double limit = d.largest + step / 2;
  if (std::fabs(v) > limit || (std::fabs(v) == limit && last_is_odd)) best = 0x100;
  if (best == 0x100) return saturate ? (d.kind == __HIP_E4M3 ? 0x7e : d.kind == __HIP_E5M2 ? 0x7b : 0x7f) | sign : overflow;
  return d.fnuz && best == 0 ? 0 : best | sign;
}

__global__ void decode(__hip_fp8_interpretation_t kind, float* out) {
  const auto code = static_cast<__hip_fp8_storage_t>(threadIdx.x);
  switch (kind) {
    case __HIP_E4M3: out[threadIdx.x] = __builtin_bit_cast(__hip_fp8_e4m3, code); break;
    case __HIP_E5M2: out[threadIdx.x] = __builtin_bit_cast(__hip_fp8_e5m2, code); break;
    case __HIP_E4M3_FNUZ: out[threadIdx.x] = __builtin_bit_cast(__hip_fp8_e4m3_fnuz, code); break;
    default: out[threadIdx.x] = __builtin_bit_cast(__hip_fp8_e5m2_fnuz, code); break;
  }
}
__global__ void encode(__hip_fp8_interpretation_t kind, __hip_saturation_t how, const float* in, unsigned short* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hip_cvt_float2_to_fp8x2(make_float2(in[i], -in[i]), how, kind);
}
__global__ void types(float* out) {
  const __hip_fp8_e4m3_fnuz a(1.5f), b(__half(2.0f)), c(3), d(1000.0);
  out[0] = float(a) + float(b) * float(c);
  out[1] = float(d);
  const __hip_fp8x2_e5m2_fnuz pair(make_float2(0.5f, -4.0f));
  const float2 both = pair;
  out[2] = both.x * 10 + both.y;
  const __hip_fp8x4_e4m3 four(make_float4(1, 2, 3, 500));
  const float4 all = four;
  out[3] = all.x + all.y * 10 + all.z * 100 + all.w;
  out[4] = __half2float(__half(__hip_cvt_fp8_to_halfraw(b.__x, __HIP_E4M3_FNUZ)));
  out[5] = float(__hip_fp8_e5m2(__hip_bfloat16(1.25f)));
}

int main() {
  Device<float> values(256);
  std::vector<float> numbers{0.0f, -0.0f, INFINITY, NAN, 1e-30f, 448.0f, 464.0f, 465.0f, 240.0f, 248.0f, 247.9f, 61440.0f, 61439.0f, 57344.0f, 65536.0f, 3e38f};
  for (unsigned i = 0; i < 2000; ++i) {
    const unsigned bits = mixed(i);
    const float f = std::ldexp(1.0f + static_cast<float>(bits & 0xff) / 256.0f, static_cast<int>(bits >> 8 & 31) - 20);  // ties too
    numbers.push_back(bits >> 31 ? -f : f);
  }
  const int n = static_cast<int>(numbers.size());
  Device<float> in(numbers);
  Device<unsigned short> out(n);
  for (const Definition& d : kinds) {
    decode<<<1, 256>>>(d.kind, values.data);
    expect_all("value", values.read(), [&](size_t c) { return value(d, static_cast<unsigned>(c)); });
    for (unsigned c = 0; c < 256; ++c) expect("value on the host", c, static_cast<double>(hipscope_fp8::decode(static_cast<unsigned char>(c), d.kind)), value(d, c));
    for (const bool saturate : {false, true}) {
      const auto how = saturate ? __HIP_SATFINITE : __HIP_NOSAT;
      encode<<<(n + 255) / 256, 256>>>(d.kind, how, in.data, out.data, n);
      const auto got = out.read();
      for (int i = 0; i < n; ++i) {
        const unsigned first = nearest(d, numbers[i], saturate), second = nearest(d, -numbers[i], saturate);
        if (std::isnan(numbers[i]) && !d.fnuz) {  // the sign of a NaN is free
          expect("NaN", i, got[i] & 0x7f7f, 0x7f7f);
          continue;
        }
        expect(saturate ? "saturated" : "code", i, static_cast<unsigned>(got[i]), first | second << 8);
        expect("code on the host", i, static_cast<unsigned>(__hip_cvt_float_to_fp8(numbers[i], how, d.kind)), first);
      }
    }
  }
  types<<<1, 1>>>(values.data);
  const auto seen = values.read();
  const float right[] = {7.5f, 240, 1, 769, 2, 1.25f};
  for (int i = 0; i < 6; ++i) expect("type", i, seen[i], right[i]);
  return verdict();
}

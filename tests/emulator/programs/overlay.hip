// What newer HIP headers have and Debian's do not: bfloat16 and the *_sync functions.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstring>

__global__ void narrow(const float* in, unsigned short* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __bfloat16_as_ushort(__float2bfloat16(in[i]));
}

__global__ void math(float* out) {
  const __hip_bfloat16 a = 3.0f, b = 0.5f;
  out[0] = a + b;
  out[1] = a * b;
  out[2] = __hfma(a, b, a);
  out[3] = __bfloat162float(hsqrt(__hip_bfloat16(16.0f)));
  const __hip_bfloat162 p = __floats2bfloat162_rn(1, 2), q = __hadd2(p, p);
  out[4] = __low2float(q) * 10 + __high2float(q);
  out[5] = a > b && !__hisnan(a) && __hisinf(-__hip_bfloat16(INFINITY)) == -1;
  out[6] = __shfl(__hip_bfloat16(float(threadIdx.x)), 7);
}

__global__ void sync(int* bad) {
  const unsigned long long all = ~0ull;
  const int i = threadIdx.x;
  if (__shfl_sync(all, i, 5) != 5) atomicAdd(bad, 1);
  if (__shfl_down_sync(all, i, 1) != (i == 63 ? 63 : i + 1)) atomicAdd(bad, 1);
  if (__shfl_up_sync(all, i, 2) != (i < 2 ? i : i - 2)) atomicAdd(bad, 1);
  if (__shfl_xor_sync(all, i, 16) != (i ^ 16)) atomicAdd(bad, 1);
  if (__ballot_sync(all, i % 2) != 0xaaaaaaaaaaaaaaaaull) atomicAdd(bad, 1);
  if (!__any_sync(all, i == 9) || __all_sync(all, i == 9) || !__all_sync(all, i < 64)) atomicAdd(bad, 1);
  if (i < 32 && __ballot_sync(0xffffffffull, i > 3) != 0xfffffff0ull) atomicAdd(bad, 1);
  if (__match_any_sync(all, i / 16) != 0xffffull << (i / 16 * 16)) atomicAdd(bad, 1);
  int same = 2;
  if (__match_all_sync(all, 5, &same) != all || same != 1) atomicAdd(bad, 1);
  if (__match_all_sync(all, i, &same) != 0 || same != 0) atomicAdd(bad, 1);
  __syncwarp();
}

/// Nearest, ties to even, by search among the two neighbours.
unsigned short expected(float f) {
  unsigned u;
  std::memcpy(&u, &f, 4);
  if (std::isnan(f)) return static_cast<unsigned short>((u >> 16) | 0x40);
  const unsigned low = u & 0xffff0000u, rest = u & 0xffffu;
  const bool up = rest > 0x8000u || (rest == 0x8000u && (low & 0x10000u) != 0);
  return static_cast<unsigned short>((low >> 16) + up);
}

int main() {
  const int n = 4096;
  float *in, *out;
  unsigned short* narrowed;
  int* bad;
  if (hipMallocManaged(&in, n * 4) != hipSuccess || hipMallocManaged(&out, 64) != hipSuccess ||
      hipMallocManaged(&narrowed, n * 2) != hipSuccess || hipMallocManaged(&bad, 4) != hipSuccess) return 1;
  unsigned seed = 1;
  for (int i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    unsigned bits = seed;
    if (i % 3 == 0) bits = (bits & 0xffff0000u) | 0x8000u;  // exactly between two
    std::memcpy(in + i, &bits, 4);
  }
  in[0] = INFINITY; in[1] = -0.0f; in[2] = NAN; in[3] = 3.4e38f; in[4] = 1e-40f;
  *bad = 0;
  narrow<<<n / 256, 256>>>(in, narrowed, n);
  math<<<1, 64>>>(out);
  sync<<<1, 64>>>(bad);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  int wrong = *bad;
  for (int i = 0; i < n; ++i)
    if (narrowed[i] != expected(in[i]) || __bfloat16_as_ushort(__float2bfloat16(in[i])) != expected(in[i])) ++wrong;
  const float right[] = {3.5f, 1.5f, 4.5f, 4, 24, 1, 7};
  for (int i = 0; i < 7; ++i)
    if (out[i] != right[i]) std::printf("%d: %g\n", i, out[i]), ++wrong;
  std::puts(wrong == 0 ? "PASS" : "FAIL");
  return wrong != 0;
}

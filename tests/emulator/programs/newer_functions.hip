// Device functions that older headers lack or have wrong: averages, shuffles in groups, counting atomics, the real-time
// clock, half precision and bfloat16.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

#include "check.hpp"

__global__ void averages(const int* a, const int* b, int* out) {
  const int i = threadIdx.x;
  out[4 * i] = __hadd(a[i], b[i]);
  out[4 * i + 1] = __rhadd(a[i], b[i]);
  out[4 * i + 2] = static_cast<int>(__uhadd(a[i], b[i]));
  out[4 * i + 3] = static_cast<int>(__urhadd(a[i], b[i]));
}

template <class T>
__global__ void shuffles(T* out) {
  const int i = threadIdx.x;
  const T mine = static_cast<T>(i) * 3;
  out[4 * i] = __shfl(mine, i + 5, 16);  // wraps inside of its group
  out[4 * i + 1] = __shfl(mine, -1, 8);
  out[4 * i + 2] = __shfl(mine, 70);
  out[4 * i + 3] = __shfl_sync(~0ull, mine, i * 7, 32);
}
template <class T>
void check_shuffles(const char* what) {
  Device<T> out(256);
  shuffles<<<1, 64>>>(out.data);
  expect_all(what, out.read(), [](size_t at) {
    const int i = static_cast<int>(at / 4);
    const int from[] = {(i & ~15) + (i + 5) % 16, (i & ~7) + 7, 6, (i & ~31) + i * 7 % 32};
    return from[at % 4] * 3;
  });
}

__global__ void counting(unsigned* up, unsigned* down, unsigned* seen) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&seen[atomicInc(up, 9)], 1u);
  atomicAdd(&seen[10 + atomicDec(down, 9)], 1u);
  if (i == 0) seen[20] = atomicInc(up + 1, 9), seen[21] = up[1], seen[22] = atomicDec(down + 1, 9), seen[23] = down[1];
}

__global__ void half_numbers(float* out, __half2* sum, int* wrong) {
  const __half a = 3.0f, b = -1.5f, nan = __float2half(NAN);
  const __half2 p = __floats2half2_rn(2, -5), q = __floats2half2_rn(-3, 4);
  out[0] = __half2float(__hmax(a, b)) * 10 + __half2float(__hmin(a, b));
  out[1] = __half2float(__hmax(nan, b));
  out[2] = __hisnan(__hmax_nan(nan, b)) && __hisnan(__hmin_nan(a, nan));
  out[3] = __low2float(__hmax2(p, q)) * 10 + __high2float(__hmin2(p, q));
  out[4] = __half2float(__hfma_relu(a, b, a)) + __half2float(__hfma_relu(a, a, b));
  const __half2 c = __hcmadd(p, q, __floats2half2_rn(1, 1)), r = __hfma2_relu(p, q, p);
  out[5] = __low2float(c) * 100 + __high2float(c);
  out[6] = __low2float(r) * 10 + __high2float(r);
  const float i = threadIdx.x;
  const __half2 mine = __floats2half2_rn(i, -i);
  if (__half2float(__shfl(__half(i), 9)) != 9 || __high2float(__shfl_xor(mine, 1)) != -static_cast<float>(threadIdx.x ^ 1)) atomicAdd(wrong, 1);
  if (__low2float(__shfl_down(mine, 1u)) != (threadIdx.x == 63 ? 63 : i + 1)) atomicAdd(wrong, 1);
  unsafeAtomicAdd(sum, __floats2half2_rn(1, 0.5f));
}

__global__ void bfloat_numbers(float* out, __hip_bfloat162* sum) {
  const __hip_bfloat16 a = 3.0f, b = -1.5f, nan = NAN;
  const __hip_bfloat162 p = __floats2bfloat162_rn(2, -5), q = __floats2bfloat162_rn(-3, 4);
  out[0] = float(__hmax(a, b)) * 10 + float(__hmin(a, b));
  out[1] = float(__hmax(nan, b));
  out[2] = __hisnan(__hmax_nan(nan, b)) && __hisnan(__hmin_nan(a, nan));
  out[3] = __low2float(__hmax2(p, q)) * 10 + __high2float(__hmin2(p, q));
  out[4] = float(__hfma_relu(a, b, a)) + float(__hfma_relu(a, a, b));
  const __hip_bfloat162 c = __hcmadd(p, q, __floats2bfloat162_rn(1, 1)), r = __hfma2_relu(p, q, p);
  out[5] = __low2float(c) * 100 + __high2float(c);
  out[6] = __low2float(r) * 10 + __high2float(r);
  __hip_bfloat162 s = p;
  s += q;
  out[7] = __hbgt2(p, q) + 2 * __hbne2(p, q) + __low2float(__hgt2(p, q)) * 4 + __high2float(s) * 8 + __low2float(__hisnan2(p));
  out[8] = __low2float(h2sqrt(__floats2bfloat162_rn(16, 4))) + float(htanh(__hip_bfloat16(0.0f)));
  unsafeAtomicAdd(sum, __floats2bfloat162_rn(1, 0.5f));
}

__global__ void clocks(long long* out) {
  const long long before = wall_clock64();
  for (int i = 0; i < 1000; ++i) __builtin_amdgcn_s_sleep(1);
  out[0] = wall_clock64() - before;
}

int main() {
  const std::vector<int> a{1, -1, 2147483647, -2147483647 - 1, 7, -7, 0, 5}, b{2, -2, 2147483647, 2147483647, -8, -8, -1, 5};
  Device<int> da(a), db(b), averaged(4 * a.size());
  averages<<<1, a.size()>>>(da.data, db.data, averaged.data);
  expect_all("average", averaged.read(), [&](size_t at) {
    const long long x = a[at / 4], y = b[at / 4], ux = static_cast<unsigned>(x), uy = static_cast<unsigned>(y);
    const long long right[] = {(x + y) >> 1, (x + y + 1) >> 1, (ux + uy) >> 1, (ux + uy + 1) >> 1};
    return static_cast<int>(right[at % 4]);
  });
  check_shuffles<int>("int");
  check_shuffles<float>("float");
  check_shuffles<double>("double");
  check_shuffles<unsigned long long>("64 bits");

  Device<unsigned> up(std::vector<unsigned>{0, 20}), down(std::vector<unsigned>{0, 20}), seen(std::vector<unsigned>(24));
  counting<<<10, 100>>>(up.data, down.data, seen.data);
  const unsigned last[] = {20, 0, 20, 9};  // above the limit both start again
  expect_all("counted", seen.read(), [&](size_t i) { return i < 20 ? 100u : last[i - 20]; });

  Device<float> out(9);
  Device<unsigned> sum(std::vector<unsigned>{0});
  Device<int> wrong(std::vector<int>{0});
  const float right[] = {28.5f, -1.5f, 1, 15, 7.5f, 1524, 0, 0, 0};
  half_numbers<<<4, 64>>>(out.data, reinterpret_cast<__half2*>(sum.data), wrong.data);
  auto got = out.read();
  for (int i = 0; i < 7; ++i) expect("half", i, got[i], right[i]);
  expect("lanes", 0, wrong.read()[0], 0);
  expect("sum", 0, sum.read()[0], 0x58005c00u);  // 256 and 128 in half precision
  must(hipMemset(sum.data, 0, 4), "fill");
  bfloat_numbers<<<2, 64>>>(out.data, reinterpret_cast<__hip_bfloat162*>(sum.data));
  got = out.read();
  for (int i = 0; i < 7; ++i) expect("bfloat16", i, got[i], right[i]);
  expect("bfloat16", 7, got[7], 0 + 2 + 4 - 8.0f);
  expect("bfloat16", 8, got[8], 4.0f);
  expect("sum", 1, sum.read()[0], 0x42804300u);  // 128 and 64 in bfloat16
  Device<long long> time(1);
  clocks<<<1, 1>>>(time.data);
  expect("the clock goes on", 0, time.read()[0] > 0, true);
  return verdict();
}

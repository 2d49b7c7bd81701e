// Six small kernels, each bound by something else, that check their own results: what `hipscope doctor --gpu` profiles.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kCount = 1 << 16, kBlock = 256, kTile = 32, kBins = 16, kSteps = 64, kLaunches = 3;

__global__ void copy_floats(const float *in, float *out) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  out[i] = in[i];
}

__global__ void read_apart(const float *in, float *out) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  out[i] = in[(i * 33) % kCount];
}

__global__ void turn_tiles(const float *in, float *out) {
  __shared__ float tile[kTile][kTile];
  const int base = blockIdx.x * kTile * kTile;
  for (int row = threadIdx.y; row < kTile; row += kBlock / kTile)
    tile[row][threadIdx.x] = in[base + row * kTile + threadIdx.x];
  __syncthreads();
  for (int row = threadIdx.y; row < kTile; row += kBlock / kTile)
    out[base + row * kTile + threadIdx.x] = tile[threadIdx.x][row];
}

__global__ void add_up_products(const float *in, float *out) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  float sum = in[i];
  for (int step = 0; step < kSteps; ++step) sum = __builtin_fmaf(sum, 0.5f, 1.0f);
  out[i] = sum;
}

__global__ void count_into_bins(const float *in, int *bins) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  atomicAdd(&bins[static_cast<int>(in[i]) % kBins], 1);
}

__global__ void split_lanes(const float *in, float *out) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  float value = in[i];
  if (threadIdx.x & 1) {
    for (int step = 0; step < kSteps; ++step) value = value * 0.5f + 3.0f;
  } else {
    for (int step = 0; step < kSteps; ++step) value = value * 0.25f - 1.0f;
  }
  out[i] = value;
}

static bool is_right(hipError_t status, const char *what) {
  if (status != hipSuccess) std::printf("%s: %s\n", what, hipGetErrorString(status));
  return status == hipSuccess;
}

int main() {
  std::vector<float> in(kCount), out(kCount);
  std::vector<int> bins(kBins);
  for (int i = 0; i < kCount; ++i) in[i] = static_cast<float>(i % 1000);
  float *device_in = nullptr, *device_out = nullptr;
  int *device_bins = nullptr;
  if (!is_right(hipMalloc(&device_in, kCount * sizeof(float)), "hipMalloc") ||
      !is_right(hipMalloc(&device_out, kCount * sizeof(float)), "hipMalloc") ||
      !is_right(hipMalloc(&device_bins, kBins * sizeof(int)), "hipMalloc") ||
      !is_right(hipMemset(device_bins, 0, kBins * sizeof(int)), "hipMemset") ||
      !is_right(hipMemcpy(device_in, in.data(), kCount * sizeof(float), hipMemcpyHostToDevice), "hipMemcpy"))
    return 2;
  int wrong = 0;
  const auto check = [&](const char *kernel, auto expected) {
    bool same = is_right(hipGetLastError(), kernel) &&
                is_right(hipMemcpy(out.data(), device_out, kCount * sizeof(float), hipMemcpyDeviceToHost), kernel);
    for (int i = 0; same && i < kCount; ++i) same = out[i] == expected(i);
    std::printf("%s %s\n", kernel, same ? "right" : "WRONG");
    wrong += !same;
  };
  const dim3 grid(kCount / kBlock), block(kBlock), tiles(kCount / (kTile * kTile)), tile(kTile, kBlock / kTile);

  for (int n = 0; n < kLaunches; ++n) copy_floats<<<grid, block>>>(device_in, device_out);
  check("copy_floats", [&](int i) { return in[i]; });
  for (int n = 0; n < kLaunches; ++n) read_apart<<<grid, block>>>(device_in, device_out);
  check("read_apart", [&](int i) { return in[(i * 33) % kCount]; });
  for (int n = 0; n < kLaunches; ++n) turn_tiles<<<tiles, tile>>>(device_in, device_out);
  check("turn_tiles", [&](int i) {
    const int base = i / (kTile * kTile) * kTile * kTile, at = i - base;
    return in[base + at % kTile * kTile + at / kTile];
  });
  for (int n = 0; n < kLaunches; ++n) add_up_products<<<grid, block>>>(device_in, device_out);
  check("add_up_products", [&](int i) {
    float sum = in[i];
    for (int step = 0; step < kSteps; ++step) sum = __builtin_fmaf(sum, 0.5f, 1.0f);
    return sum;
  });
  for (int n = 0; n < kLaunches; ++n) split_lanes<<<grid, block>>>(device_in, device_out);
  check("split_lanes", [&](int i) {
    // Every result of the loops ends at 6 or near -4/3, whether the compiler contracts the product or not.
    return (i & 1) == 0 ? out[i] > -1.34f && out[i] < -1.33f ? out[i] : 0.0f : out[i] > 5.99f && out[i] < 6.01f ? out[i] : 0.0f;
  });
  for (int n = 0; n < kLaunches; ++n) count_into_bins<<<grid, block>>>(device_in, device_bins);
  std::vector<int> expected(kBins);
  for (int i = 0; i < kCount; ++i) expected[static_cast<int>(in[i]) % kBins] += kLaunches;
  const bool counted = is_right(
      hipMemcpy(bins.data(), device_bins, kBins * sizeof(int), hipMemcpyDeviceToHost), "count_into_bins");
  std::printf("count_into_bins %s\n", counted && bins == expected ? "right" : "WRONG");
  wrong += !(counted && bins == expected);
  return wrong != 0;
}

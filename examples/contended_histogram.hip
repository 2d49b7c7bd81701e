// Counts energies into 64 bins. Most of them fall into a few low bins, so most lanes of a wave want to change the
// same counters in global memory at the same time, and so do all other waves.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kBins = 64;

__global__ void histogram(const float* energy, unsigned* bins, int count) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    int bin = static_cast<int>(energy[i]);
    bin = bin < 0 ? 0 : bin >= kBins ? kBins - 1 : bin;
    atomicAdd(&bins[bin], 1u);  // hipscope: expect atomicContention
  }
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 1500007;
  const int block = 256, grid = 1216;  // four workgroups for each of 304 CUs
  std::vector<float> energy(count);
  std::vector<unsigned> expected(kBins, 0), bins(kBins, 0);
  unsigned state = 12345;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const float uniform = static_cast<float>(state >> 8) / 16777216.0f;
    const float cubed = uniform * uniform * uniform;
    energy[i] = kBins * cubed * cubed;  // half of the values end in bin 0
    int bin = static_cast<int>(energy[i]);
    if (bin >= kBins) bin = kBins - 1;
    ++expected[bin];
  }

  float* device_energy;
  unsigned* device_bins;
  check(hipMalloc(&device_energy, count * sizeof(float)));
  check(hipMalloc(&device_bins, kBins * sizeof(unsigned)));
  check(hipMemcpy(device_energy, energy.data(), count * sizeof(float), hipMemcpyHostToDevice));
  check(hipMemset(device_bins, 0, kBins * sizeof(unsigned)));

  histogram<<<grid, block>>>(device_energy, device_bins, count);
  check(hipGetLastError());
  check(hipMemcpy(bins.data(), device_bins, kBins * sizeof(unsigned), hipMemcpyDeviceToHost));
  check(hipFree(device_energy));
  check(hipFree(device_bins));

  int wrong = 0;
  for (int b = 0; b < kBins; ++b) wrong += bins[b] != expected[b];
  std::printf("%s: %d of %d bins wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, kBins);
  return wrong == 0 ? 0 : 1;
}

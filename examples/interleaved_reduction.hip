// Adds up the squares of integers, one sum per workgroup, as a tree whose partners move apart: in each step half of the
// active lanes drop out, but they stay spread over all waves, and their LDS words fall into ever fewer banks.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr unsigned kBlock = 1024;

__global__ void block_sums(const unsigned* values, unsigned long long* sums, unsigned count) {
  __shared__ unsigned long long partial[kBlock];
  const unsigned thread = threadIdx.x;
  const unsigned i = blockIdx.x * kBlock + thread;
  const unsigned long long value = i < count ? values[i] : 0;
  partial[thread] = value * value;
  __syncthreads();
  for (unsigned step = 1; step < kBlock; step *= 2) {
    const unsigned index = 2 * step * thread;
    if (index < kBlock) {  // hipscope: expect branchDivergence
      partial[index] += partial[index + step];  // hipscope: expect bankConflict
    }
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = partial[0];
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const unsigned count = 2000003;  // not a multiple of the block
  const unsigned blocks = (count + kBlock - 1) / kBlock;
  std::vector<unsigned> values(count);
  std::vector<unsigned long long> sums(blocks), expected(blocks, 0);
  for (unsigned i = 0; i < count; ++i) {
    values[i] = i % 1009;
    expected[i / kBlock] += static_cast<unsigned long long>(values[i]) * values[i];
  }

  unsigned* device_values;
  unsigned long long* device_sums;
  check(hipMalloc(&device_values, count * sizeof(unsigned)));
  check(hipMalloc(&device_sums, blocks * sizeof(unsigned long long)));
  check(hipMemcpy(device_values, values.data(), count * sizeof(unsigned), hipMemcpyHostToDevice));

  block_sums<<<blocks, kBlock>>>(device_values, device_sums, count);
  check(hipGetLastError());
  check(hipMemcpy(sums.data(), device_sums, blocks * sizeof(unsigned long long), hipMemcpyDeviceToHost));
  check(hipFree(device_values));
  check(hipFree(device_sums));

  unsigned wrong = 0;
  for (unsigned b = 0; b < blocks; ++b) wrong += sums[b] != expected[b];
  std::printf("%s: %u of %u sums wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, blocks);
  return wrong == 0 ? 0 : 1;
}

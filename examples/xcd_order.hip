// Finds the closest element to each of eight numbers in every block of a table, one workgroup per block and number.
// Eight neighbouring workgroups read the same block, but neighbours run on different XCDs, each with an L2 of its own:
// every block of the table comes from memory eight times.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kQueries = 8;        // workgroups that read the same block of the table
constexpr int kBlock = 256;        // work-items of a workgroup
constexpr int kPerThread = 16;     // elements of the block that each work-item reads

__global__ void match(const float* table, const float* query, float* best) {
  __shared__ float part[kBlock];
  const int block = blockIdx.x / kQueries;
  const float wanted = query[blockIdx.x % kQueries];
  const float* row = table + static_cast<std::size_t>(block) * kBlock * kPerThread;
  float closest = 1e30f;
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const float difference = row[k * kBlock + threadIdx.x] - wanted;  // hipscope: expect memoryLocality
    closest = fminf(closest, difference * difference);
  }
  part[threadIdx.x] = closest;
  for (int step = kBlock / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] = fminf(part[threadIdx.x], part[threadIdx.x + step]);
  }
  if (threadIdx.x == 0) best[blockIdx.x] = part[0];
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int blocks = 1024;
  const std::size_t count = static_cast<std::size_t>(blocks) * kBlock * kPerThread;
  std::vector<float> table(count), query(kQueries), best(blocks * kQueries);
  for (std::size_t i = 0; i < count; ++i) table[i] = static_cast<float>(i * 2654435761u % 100003u);
  for (int q = 0; q < kQueries; ++q) query[q] = 1000.0f * static_cast<float>(q) + 0.25f;

  float *device_table, *device_query, *device_best;
  check(hipMalloc(&device_table, count * sizeof(float)));
  check(hipMalloc(&device_query, query.size() * sizeof(float)));
  check(hipMalloc(&device_best, best.size() * sizeof(float)));
  check(hipMemcpy(device_table, table.data(), count * sizeof(float), hipMemcpyHostToDevice));
  check(hipMemcpy(device_query, query.data(), query.size() * sizeof(float), hipMemcpyHostToDevice));

  match<<<blocks * kQueries, kBlock>>>(device_table, device_query, device_best);
  check(hipGetLastError());
  check(hipMemcpy(best.data(), device_best, best.size() * sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_table));
  check(hipFree(device_query));
  check(hipFree(device_best));

  int wrong = 0;
  for (int b = 0; b < blocks; b += 13) {
    for (int q = 0; q < kQueries; ++q) {
      float closest = 1e30f;
      for (int k = 0; k < kBlock * kPerThread; ++k) {
        const float difference = table[static_cast<std::size_t>(b) * kBlock * kPerThread + k] - query[q];
        closest = std::fmin(closest, difference * difference);
      }
      wrong += best[b * kQueries + q] != closest;
    }
  }
  std::printf("%s: %d blocks wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong);
  return wrong == 0 ? 0 : 1;
}

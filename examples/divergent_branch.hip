// Counts the steps until each orbit of a Mandelbrot set escapes, with the points in shuffled order: neighbouring
// lanes need very different numbers of steps, and a wave runs until its slowest lane is done.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

constexpr int kWidth = 320, kHeight = 240;
constexpr int kMaxSteps = 400;

__host__ __device__ inline int escape_steps(float cx, float cy) {
  float x = 0.0f, y = 0.0f;
  int steps = 0;
  while (steps < kMaxSteps && x * x + y * y < 4.0f) {  // hipscope: expect branchDivergence
    const float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
    ++steps;
  }
  return steps;
}

__global__ void escape_times(const int* order, int* steps, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int point = order[i];
  const float cx = -2.2f + 3.2f * static_cast<float>(point % kWidth) / kWidth;
  const float cy = -1.2f + 2.4f * static_cast<float>(point / kWidth) / kHeight;
  steps[i] = escape_steps(cx, cy);
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = kWidth * kHeight;
  std::vector<int> order(count), steps(count);
  for (int i = 0; i < count; ++i) order[i] = i;
  unsigned state = 1;
  for (int i = count - 1; i > 0; --i) {
    state = state * 1664525u + 1013904223u;
    std::swap(order[i], order[(state >> 8) % (i + 1)]);
  }

  int *device_order, *device_steps;
  check(hipMalloc(&device_order, count * sizeof(int)));
  check(hipMalloc(&device_steps, count * sizeof(int)));
  check(hipMemcpy(device_order, order.data(), count * sizeof(int), hipMemcpyHostToDevice));

  escape_times<<<(count + 255) / 256, 256>>>(device_order, device_steps, count);
  check(hipGetLastError());
  check(hipMemcpy(steps.data(), device_steps, count * sizeof(int), hipMemcpyDeviceToHost));
  check(hipFree(device_order));
  check(hipFree(device_steps));

  // The GPU fuses multiply and add where the host does not, so a few orbits near the edge may differ.
  int differ = 0, inside = 0;
  for (int i = 0; i < count; ++i) {
    const float cx = -2.2f + 3.2f * static_cast<float>(order[i] % kWidth) / kWidth;
    const float cy = -1.2f + 2.4f * static_cast<float>(order[i] / kWidth) / kHeight;
    differ += std::abs(steps[i] - escape_steps(cx, cy)) > 1;
    inside += steps[i] == kMaxSteps;
  }
  const bool right = differ < count / 50 && inside > count / 10 && inside < count / 2;
  std::printf("%s: %d of %d orbits differ, %d never escape\n", right ? "PASS" : "FAIL", differ, count, inside);
  return right ? 0 : 1;
}

// Follows oscillators whose damping is taken implicitly: every step divides by the same 1 + damping * dt, and a division
// that is exact to the last bit takes many instructions.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kSteps = 24;

__global__ void oscillate(const float* in, float* out, float stiffness, float damping, float dt, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float position = in[i];
  float velocity = 0.0f;
  for (int step = 0; step < kSteps; ++step) {
    velocity = (velocity - dt * stiffness * position) / (1.0f + dt * damping);  // hipscope: expect precision
    position += dt * velocity;
  }
  out[i] = position;
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 1500007;
  const float stiffness = 9.0f, damping = 0.4f, dt = 0.05f;
  std::vector<float> in(count), out(count);
  for (int i = 0; i < count; ++i) in[i] = static_cast<float>(i % 1009) * 0.002f - 1.0f;

  float *device_in, *device_out;
  check(hipMalloc(&device_in, count * sizeof(float)));
  check(hipMalloc(&device_out, count * sizeof(float)));
  check(hipMemcpy(device_in, in.data(), count * sizeof(float), hipMemcpyHostToDevice));

  oscillate<<<(count + 255) / 256, 256>>>(device_in, device_out, stiffness, damping, dt, count);
  check(hipGetLastError());
  check(hipMemcpy(out.data(), device_out, count * sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_in));
  check(hipFree(device_out));

  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    float position = in[i], velocity = 0.0f;
    for (int step = 0; step < kSteps; ++step) {
      velocity = (velocity - dt * stiffness * position) / (1.0f + dt * damping);
      position += dt * velocity;
    }
    wrong += !(std::fabs(out[i] - position) <= 1e-4f);
  }
  std::printf("%s: %d of %d elements wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, count);
  return wrong == 0 ? 0 : 1;
}

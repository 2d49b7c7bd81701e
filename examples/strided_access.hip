// Transposes a matrix element by element: reads are contiguous, but the lanes of a wave write one column, so each
// of them touches a cache line of its own.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kBlockX = 64;  // one wave per row
constexpr int kBlockY = 16;

__global__ void transpose(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * kBlockX + threadIdx.x;
  const int y = blockIdx.y * kBlockY + threadIdx.y;
  if (x < width && y < height) {
    out[x * height + y] = in[y * width + x];  // hipscope: expect memoryAccess
  }
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int width = 2310, height = 1930;  // neither is a multiple of the block
  const std::size_t count = static_cast<std::size_t>(width) * height;
  std::vector<float> in(count), out(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<float>(i);

  float *device_in, *device_out;
  check(hipMalloc(&device_in, count * sizeof(float)));
  check(hipMalloc(&device_out, count * sizeof(float)));
  check(hipMemcpy(device_in, in.data(), count * sizeof(float), hipMemcpyHostToDevice));

  const dim3 grid((width + kBlockX - 1) / kBlockX, (height + kBlockY - 1) / kBlockY);
  transpose<<<grid, dim3(kBlockX, kBlockY)>>>(device_in, device_out, width, height);
  check(hipGetLastError());
  check(hipMemcpy(out.data(), device_out, count * sizeof(float), hipMemcpyDeviceToHost));

  std::size_t wrong = 0;
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
      if (out[x * height + y] != in[y * width + x]) ++wrong;
    }
  }
  check(hipFree(device_in));
  check(hipFree(device_out));
  std::printf("%s: %zu of %zu elements wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, count);
  return wrong == 0 ? 0 : 1;
}

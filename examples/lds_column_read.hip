// Smooths an image along x in blocks of 32 columns and writes it transposed.
//
// The tile in LDS is 32 words wide, so the 32 elements of one of its columns all lie in the same LDS bank:
// reading it by column makes the lanes of a wave take turns.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kTile = 32;    // columns and rows of a block
constexpr int kRows = 8;     // rows of threads in a block
constexpr int kWindow = 8;   // elements averaged

__global__ void smooth_transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile];
  const int left = blockIdx.x * kTile;
  const int top = blockIdx.y * kTile;

  for (int r = threadIdx.y; r < kTile; r += kRows) {
    const int x = left + threadIdx.x;
    const int y = top + r;
    tile[r][threadIdx.x] = x < width && y < height ? in[y * width + x] : 0.0f;
  }
  __syncthreads();

  for (int r = threadIdx.y; r < kTile; r += kRows) {
    float sum = 0.0f;
    for (int k = 0; k < kWindow; ++k) {
      sum += tile[threadIdx.x][(r + k) % kTile];  // hipscope: expect bankConflict
    }
    const int x = left + r;
    const int y = top + threadIdx.x;
    if (x < width && y < height) out[x * height + y] = sum / kWindow;
  }
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

// What the kernel should have written for column x of row y.
static float expected(const std::vector<float>& in, int width, int x, int y) {
  const int left = x / kTile * kTile;
  float sum = 0.0f;
  for (int k = 0; k < kWindow; ++k) {
    const int neighbour = left + (x - left + k) % kTile;
    if (neighbour < width) sum += in[static_cast<std::size_t>(y) * width + neighbour];
  }
  return sum / kWindow;
}

int main() {
  const int width = 1530, height = 1070;  // neither is a multiple of the tile
  const std::size_t count = static_cast<std::size_t>(width) * height;
  std::vector<float> in(count), out(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<float>(i * 7 % 101) - 50.0f;

  float *device_in, *device_out;
  check(hipMalloc(&device_in, count * sizeof(float)));
  check(hipMalloc(&device_out, count * sizeof(float)));
  check(hipMemcpy(device_in, in.data(), count * sizeof(float), hipMemcpyHostToDevice));

  const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  smooth_transpose<<<grid, dim3(kTile, kRows)>>>(device_in, device_out, width, height);
  check(hipGetLastError());
  check(hipMemcpy(out.data(), device_out, count * sizeof(float), hipMemcpyDeviceToHost));

  std::size_t wrong = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const float got = out[static_cast<std::size_t>(x) * height + y];
      if (!(std::fabs(got - expected(in, width, x, y)) <= 1e-4f)) ++wrong;
    }
  }
  check(hipFree(device_in));
  check(hipFree(device_out));
  std::printf("%s: %zu of %zu elements wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, count);
  return wrong == 0 ? 0 : 1;
}

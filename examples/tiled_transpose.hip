// Transposes a matrix through a padded tile in LDS: global reads and writes are contiguous, and a column of the tile
// is spread over all LDS banks. hipscope must not report anything here.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kTile = 32;  // columns and rows of a block
constexpr int kRows = 8;   // rows of threads in a block

__global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
  for (int r = 0; r < kTile; r += kRows) {
    if (x < width && y + r < height) tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * width + x];
  }
  __syncthreads();

  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int r = 0; r < kTile; r += kRows) {
    if (x < height && y + r < width) out[(y + r) * height + x] = tile[threadIdx.x][threadIdx.y + r];
  }
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int width = 2310, height = 1930;  // neither is a multiple of the tile
  const std::size_t count = static_cast<std::size_t>(width) * height;
  std::vector<float> in(count), out(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<float>(i);

  float *device_in, *device_out;
  check(hipMalloc(&device_in, count * sizeof(float)));
  check(hipMalloc(&device_out, count * sizeof(float)));
  check(hipMemcpy(device_in, in.data(), count * sizeof(float), hipMemcpyHostToDevice));

  const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  transpose<<<grid, dim3(kTile, kRows)>>>(device_in, device_out, width, height);
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

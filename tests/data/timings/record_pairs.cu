// Records launches of two versions of a kernel in turn, before and after a rewrite, on an NVIDIA GPU: series for the tests
// of the gate for measured times. Prints JSON: for each case a list of [side, cache, nanoseconds] in the order of the runs.
//   nvcc -O2 -o record_pairs record_pairs.cu && ./record_pairs > pairs.json
#include <cstdio>
#include <functional>
#include <vector>

constexpr int kN = 4096, kTile = 32, kPairs = 30;

__global__ void transpose_plain(const float* in, float* out) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += 8) out[x * kN + y + i] = in[(y + i) * kN + x];
}

__global__ void transpose_tiled(const float* in, float* out) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * kN + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += 8) out[(y + i) * kN + x] = tile[threadIdx.x][threadIdx.y + i];
}

__global__ void copy(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

__global__ void copy_in_steps(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}

__global__ void flush(float* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 1.0001f;
}

float *in, *out, *scratch;
constexpr int kScratch = 64 << 20;  // floats: more than any L2

long timed(const std::function<void()>& launch, bool cold) {
  if (cold) flush<<<kScratch / 256, 256>>>(scratch, kScratch);
  cudaEvent_t start, end;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  cudaEventRecord(start);
  launch();
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, start, end);
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  return static_cast<long>(ms * 1e6f);
}

void record(const char* name, const std::function<void()>& before, const std::function<void()>& after, bool last = false) {
  std::printf("  \"%s\": [", name);
  const char* separator = "";
  for (const bool cold : {false, true}) {
    for (int i = 0; i < 5; ++i) timed(before, cold), timed(after, cold);  // warm up
    for (int i = 0; i < kPairs; ++i) {
      std::printf("%s[\"before\", \"%s\", %ld], ", separator, cold ? "cold" : "warm", timed(before, cold));
      std::printf("[\"after\", \"%s\", %ld]", cold ? "cold" : "warm", timed(after, cold));
      separator = ", ";
    }
  }
  std::printf("]%s\n", last ? "" : ",");
}

int main() {
  const std::size_t bytes = sizeof(float) * kN * kN;
  cudaMalloc(&in, bytes);
  cudaMalloc(&out, bytes);
  cudaMalloc(&scratch, sizeof(float) * kScratch);
  cudaMemset(in, 0, bytes);
  cudaMemset(scratch, 0, sizeof(float) * kScratch);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  const dim3 grid(kN / kTile, kN / kTile), block(kTile, 8);
  const int n = kN * kN;
  const auto plain = [=] { transpose_plain<<<grid, block>>>(in, out); };
  const auto tiled = [=] { transpose_tiled<<<grid, block>>>(in, out); };
  const auto straight = [=] { copy<<<n / 256, 256>>>(in, out, n); };
  const auto steps = [=] { copy_in_steps<<<132 * 8, 256>>>(in, out, n); };
  std::printf("{\n  \"device\": \"%s\",\n  \"bytes\": %zu,\n", properties.name, 2 * bytes);
  record("faster", plain, tiled);
  record("slower", tiled, plain);
  record("same", straight, straight);
  record("hardly different", straight, steps, true);
  std::printf("}\n");
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

// Segments of any length, each to mean 0 and variance 1, times a gain; one workgroup each.
#include "attack.hpp"
// kernel begin
__global__ void ragnorm(const float* in, const int* begin, const float* gain, float* out, int segments, float eps) {
  __shared__ float sums[128];
  const int s = blockIdx.x, t = threadIdx.x;
  if (s >= segments) return;
  const int first = begin[s], last = begin[s + 1];
  float sum = 0.0f;
  for (int i = first + t; i < last; i += blockDim.x) sum += in[i];
  sums[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  const float mean = sums[0] / (last - first);
  __syncthreads();
  sum = 0.0f;
  for (int i = first + t; i < last; i += blockDim.x) sum += (in[i] - mean) * (in[i] - mean);
  sums[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  const float factor = rsqrtf(sums[0] / (last - first) + eps) * gain[s];
  for (int i = first + t; i < last; i += blockDim.x) out[i] = (in[i] - mean) * factor;
}
// kernel end
int main() {
  const int segments = 30, n = 30 * 150;
  const int* begin = filled<int>(segments + 1, [](int i) { return i * 150 - (i % 3 == 1) * 40; });
  float* out = zeros<float>(n);
  ragnorm<<<30, 128>>>(numbers(n), begin, numbers(segments), out, segments, 1e-5f);
  return told(out, n);
}

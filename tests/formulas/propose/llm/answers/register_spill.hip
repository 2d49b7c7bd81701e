// belief: {"finding": "F1", "edit": "no second array", "mechanism": "a row is stored as soon as it is known", "metric": "scratch_bytes", "direction": "down", "expected_percent": 90}
__global__ void transform(const float* matrix, const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float x[kSize];
#pragma unroll
  for (int k = 0; k < kSize; ++k) x[k] = in[k * count + i];
#pragma unroll 1
  for (int r = 0; r < kSize; ++r) {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < kSize; ++k) sum += matrix[r * kSize + k] * x[k];
    out[r * count + i] = sum;
  }
}

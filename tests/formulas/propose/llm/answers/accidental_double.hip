// belief: {"finding": "F1", "edit": "float literals", "mechanism": "nothing is converted to double", "metric": "fp64 VALU instructions per wave", "direction": "down", "expected_percent": 100}
__global__ void logistic(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = in[i];
  for (int step = 0; step < 8; ++step) {
    value = 1.0f / (1.0f + value * value * 0.37f) + 0.1f * value;
  }
  out[i] = value;
}

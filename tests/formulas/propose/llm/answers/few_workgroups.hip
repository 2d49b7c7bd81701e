// belief: {"finding": "F1", "edit": "two elements at a time", "mechanism": "one packed instruction does what two did", "metric": "vector cycles per wave", "direction": "down", "expected_percent": 45}
__global__ void polynomial(const float* in, float* out, int count) {
  typedef float pair __attribute__((ext_vector_type(2)));
  const int stride = gridDim.x * blockDim.x;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i < count - stride; i += 2 * stride) {
    const pair x = {in[i], in[i + stride]};
    pair value = 0.5f;
#pragma unroll 16
    for (int power = 0; power < 256; ++power) value = value * x + 0.25f;
    out[i] = value.x;
    out[i + stride] = value.y;
  }
  if (i < count) {
    const float x = in[i];
    float value = 0.5f;
#pragma unroll 16
    for (int power = 0; power < 256; ++power) value = value * x + 0.25f;
    out[i] = value;
  }
}

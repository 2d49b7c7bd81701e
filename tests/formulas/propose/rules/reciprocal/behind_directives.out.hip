// facts: {}
__global__ void scale(float* out, const float* in, float total, int n) {
  float sum = 0.0f;
  const float inverse = 1.0f / total;
#ifdef UNROLLED
#pragma unroll 4
#endif
  for (int i = 0; i < n; ++i) sum += in[i] * inverse;
#ifdef VERBOSE
  out[1] = sum;
#endif
  const float inverse2 = 1.0f / total;
  #pragma unroll 2
  for (int i = 0; i < n; ++i) sum += in[i] * inverse2;
  out[0] = sum;
}

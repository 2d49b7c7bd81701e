// facts: {}
__global__ void scale(float* out, const float* in, float total, int n) {
  float sum = 0.0f;
#ifdef UNROLLED
#pragma unroll 4
#endif
  for (int i = 0; i < n; ++i) sum += in[i] / total;
#ifdef VERBOSE
  out[1] = sum;
#endif
  #pragma unroll 2
  for (int i = 0; i < n; ++i) sum += in[i] / total;
  out[0] = sum;
}

// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

#define RED 3
#define GREEN (RED + 2)
#define COLORS (RED + GREEN)

__device__ void color_at(unsigned char wheel[COLORS][2], int red, int green, int place) {
  wheel[place][0] = red;
  wheel[place][1] = green;
}

__global__ void paint(float* out, const int* angle, int n) {
  unsigned char wheel[COLORS][2];  // red and green

  // From red to green.
  int k = 0;
  for (int c = 0; c < RED; c++) color_at(wheel, 255 - 255 * c / RED, 0, k++);
  for (int c = 0; c < GREEN; ++c) {
    color_at(wheel, 0, 17 * c % 100, k);
    k += 1;
  }
  int square[8];
  for (int i = 0; i < 8; i++) square[i] = -i * i;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = wheel[angle[i]][0] * 0.5f + wheel[angle[i]][1] + square[angle[i]];
}

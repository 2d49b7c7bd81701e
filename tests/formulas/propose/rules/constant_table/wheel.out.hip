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

  // From red to green.
  constexpr unsigned char wheel[COLORS][2] = {  // red and green
    {255, 0}, {170, 0}, {85, 0}, {0, 0}, {0, 17}, {0, 34}, {0, 51}, {0, 68}
  };
  constexpr int square[8] = {0, -1, -4, -9, -16, -25, -36, -49};
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = wheel[angle[i]][0] * 0.5f + wheel[angle[i]][1] + square[angle[i]];
}

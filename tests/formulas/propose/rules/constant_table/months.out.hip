// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

#define DAYS_BEFORE_MARCH (31 + 28)
constexpr double PRIME = 0.05;

__global__ void interest(double* out, const int* month, const int* grade, const double* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;

  constexpr int days[12] = {0, 31, DAYS_BEFORE_MARCH, 90, 120, 151, 181, 212, 243, 273, 304, 334};

  constexpr double rate[4] = {
    PRIME,         // states
    PRIME + 0.01,  // banks
    // Everybody else.
    -PRIME * 3,
    1,
  };
  const double years = days[month[i]] / 365.0;
  for (int k = 0; k < 4; ++k) {
    constexpr int powers[2][2] = {{1, 2}, {4, 8}};
    out[4 * i + k] = sum[i] * rate[grade[i]] * years * powers[k & 1][grade[i] & 1];
  }
}

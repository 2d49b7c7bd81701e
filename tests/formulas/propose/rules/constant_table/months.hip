// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

#define DAYS_BEFORE_MARCH (31 + 28)
constexpr double PRIME = 0.05;

__global__ void interest(double* out, const int* month, const int* grade, const double* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double rate[4];
  if (i >= n) return;

  int days[12];
  days[0] = 0;
  days[1] = 31;
  days[2] = DAYS_BEFORE_MARCH;
  days[3] = 90; days[4] = 120;;
  days[5] = 151;
  days[6] = 181;
  days[7] = 212;
  days[8] = 243;
  days[9] = 273;
  days[10] = 304;
  days[11] = 334;

  rate[0] = PRIME;         // states
  rate[1] = PRIME + 0.01;  // banks
  // Everybody else.
  rate[2] = -PRIME * 3;
  rate[3] = 1;
  const double years = days[month[i]] / 365.0;
  for (int k = 0; k < 4; ++k) {
    int powers[2][2];
    powers[0][0] = 1;
    powers[0][1] = 2;
    powers[1][0] = 4;
    powers[1][1] = 8;
    out[4 * i + k] = sum[i] * rate[grade[i]] * years * powers[k & 1][grade[i] & 1];
  }
}

// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void deposit(double* cells, const double* charge, const int* cell, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long int* address = (unsigned long long int*)&cells[cell[i]];
  unsigned long long int old = *address, assumed;
  do {
    assumed = old;
    old = atomicCAS(address, assumed, __double_as_longlong(charge[i] + __longlong_as_double(assumed)));
  } while (assumed != old);
}

// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
// `value % size`, which divides only what lies more than one `size` away.
template <typename T>
static __device__ T remainder_near(T value, T size) {
  if (size > 0) {
    const T near = value < size ? value : value - size;
    if (near >= 0 && near < size) return near;
  }
  return value % size;
}

__global__ void k(const int* keys, const int* table, int* out, int capacity) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int key = keys[i];
  int place = key % capacity;
  while (table[place] != key && table[place] != 0)
    place = remainder_near(place + 1, capacity);
  out[i] = place;
}

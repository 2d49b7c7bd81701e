#pragma once
template <typename T, int Steps>
__global__ void header_kernel(T* values) {
    for (int s = Steps; s > 0; s >>= 1) values[s] = T(s);
}

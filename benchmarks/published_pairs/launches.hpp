// What the programs of published pairs share: device arrays, and launches with a name. Each launch prints its name and in how many
// steps it does its work; times per step are compared. pairs.toml says which two launches are a pair.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

inline void check(hipError_t error) {
    if (error == hipSuccess) return;
    std::printf("%s\n", hipGetErrorString(error));
    std::exit(1);
}

/// Zeros that nobody wrote: as large as on the hardware, without the time to fill them.
template <class T>
T* device_array(size_t count) {
    T* pointer = nullptr;
    check(hipMalloc(reinterpret_cast<void**>(&pointer), count * sizeof(T)));
    return pointer;
}

template <class... Parameters, class... Arguments>
void launch(const char* name, int steps, void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments... arguments) {
    std::printf("%s %d\n", name, steps);
    kernel<<<grid, block>>>(static_cast<Parameters>(arguments)...);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
}

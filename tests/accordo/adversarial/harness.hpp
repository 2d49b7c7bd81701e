// What the programs of this folder share: buffers on the device, filled with numbers from a fixed sequence.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

template <class T, class Make>
T* filled(int n, Make make) {
  std::vector<T> host(n);
  for (int i = 0; i < n; ++i) host[i] = make(i);
  T* device;
  (void)hipMalloc(&device, n * sizeof(T));
  (void)hipMemcpy(device, host.data(), n * sizeof(T), hipMemcpyHostToDevice);
  return device;
}

inline float number(int i) { return static_cast<int>((i * 2654435761u + 12345u) >> 12 & 0x3ff) / 64.0f - 7.0f; }

template <class T = float>
T* numbers(int n) {
  return filled<T>(n, [](int i) { return static_cast<T>(number(i)); });
}

template <class T>
T* zeros(int n) {
  return filled<T>(n, [](int) { return T{}; });
}

inline int finish() { return hipDeviceSynchronize(); }

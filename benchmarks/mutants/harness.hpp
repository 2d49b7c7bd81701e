// What the programs of this folder share: a buffer on the device, filled with numbers from a fixed sequence.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

template <class T>
std::vector<T> numbers(int n, std::uint32_t seed) {
  std::vector<T> v(n);
  for (T& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<std::int32_t>(seed >> 12) % 1000) / static_cast<T>(4);
  }
  return v;
}

template <class T>
T* upload(const std::vector<T>& v) {
  T* p;
  check(hipMalloc(&p, v.size() * sizeof(T)));
  check(hipMemcpy(p, v.data(), v.size() * sizeof(T), hipMemcpyHostToDevice));
  return p;
}

template <class T>
std::vector<T> download(const T* p, std::size_t n) {
  std::vector<T> v(n);
  check(hipMemcpy(v.data(), p, n * sizeof(T), hipMemcpyDeviceToHost));
  return v;
}

inline int verdict(bool ok) {
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}

// What the programs of this folder share: memory filled from a fixed sequence, and results that are copied back.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

inline uint32_t bits(uint32_t i) {
  i = (i ^ i >> 16) * 0x7feb352du;
  i = (i ^ i >> 15) * 0x846ca68bu;
  return i ^ i >> 16;
}
inline float number(int i) { return static_cast<int>(bits(i) % 2001) / 100.0f - 10.0f; }

template <class T, class Make>
T* filled(size_t n, Make make) {
  std::vector<T> host(n);
  for (size_t i = 0; i < n; ++i) host[i] = make(static_cast<int>(i));
  T* device;
  (void)hipMalloc(&device, n * sizeof(T));
  (void)hipMemcpy(device, host.data(), n * sizeof(T), hipMemcpyHostToDevice);
  return device;
}
template <class T = float>
T* numbers(size_t n) {
  return filled<T>(n, [](int i) { return static_cast<T>(number(i)); });
}
template <class T>
T* zeros(size_t n) {
  return filled<T>(n, [](int) { return T{}; });
}
template <class T>
T* upto(size_t n, uint32_t most) {
  return filled<T>(n, [most](int i) { return static_cast<T>(bits(i) % most); });
}

// Copies a result back and prints what it adds up to.
template <class T>
int told(const T* device, size_t n) {
  std::vector<T> host(n);
  (void)hipMemcpy(host.data(), device, n * sizeof(T), hipMemcpyDeviceToHost);
  const auto* words = reinterpret_cast<const unsigned char*>(host.data());
  uint64_t sum = 0;
  for (size_t i = 0; i < n * sizeof(T); ++i) sum = sum * 31 + words[i];
  std::printf("%016llx\n", static_cast<unsigned long long>(sum));
  return 0;
}

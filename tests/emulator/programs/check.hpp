// What the emulator's test programs share: device memory as vectors, and a verdict.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

inline void must(hipError_t error, const char* what) {
    if (error == hipSuccess) return;
    std::printf("FAIL: %s: %s\n", what, hipGetErrorString(error));
    std::exit(1);
}

template <class T>
struct Device {
    T* data = nullptr;
    std::size_t size;
    explicit Device(std::size_t n) : size(n) { must(hipMalloc(reinterpret_cast<void**>(&data), n * sizeof(T)), "hipMalloc"); }
    explicit Device(const std::vector<T>& from) : Device(from.size()) {
        must(hipMemcpy(data, from.data(), size * sizeof(T), hipMemcpyHostToDevice), "copy to the device");
    }
    ~Device() { static_cast<void>(hipFree(data)); }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    std::vector<T> read() const {
        std::vector<T> to(size);
        must(hipDeviceSynchronize(), "kernel");
        must(hipMemcpy(to.data(), data, size * sizeof(T), hipMemcpyDeviceToHost), "copy from the device");
        return to;
    }
};

/// The numbers 0, 1, 2, ... n - 1 through `make`.
template <class F>
auto generate(std::size_t n, F make) {
    std::vector<decltype(make(std::size_t{}))> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = make(i);
    return values;
}

/// A small exact random sequence that host and device share (xorshift32, state never 0).
__host__ __device__ inline unsigned next_random(unsigned& state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}
__host__ __device__ inline unsigned mixed(unsigned x) {  // a fixed pseudo-random function of x
    x = (x ^ 61U) ^ (x >> 16);
    x *= 9U;
    x ^= x >> 4;
    x *= 0x27d4eb2dU;
    return x ^ (x >> 15);
}

inline int failures = 0;
template <class T>
void expect(const char* what, std::size_t i, T got, T want, double tolerance = 0) {
    const double difference = std::fabs(static_cast<double>(got) - static_cast<double>(want));
    const bool both_nan = got != got && want != want;
    if (got == want || both_nan || difference <= tolerance * std::fmax(1.0, std::fabs(static_cast<double>(want)))) return;
    if (++failures <= 10) std::printf("%s[%zu]: got %.17g, want %.17g\n", what, i, static_cast<double>(got), static_cast<double>(want));
}
template <class T, class F>
void expect_all(const char* what, const std::vector<T>& got, F want, double tolerance = 0) {
    for (std::size_t i = 0; i < got.size(); ++i) expect(what, i, got[i], static_cast<T>(want(i)), tolerance);
}
inline int verdict() {
    std::puts(failures == 0 ? "PASS" : "FAIL");
    return failures == 0 ? 0 : 1;
}

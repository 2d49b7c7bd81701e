// What the emulator's test programs share: device memory as vectors, and a verdict.
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
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

inline int failures = 0;
template <class T>
void expect(const char* what, std::size_t i, T got, T want, double tolerance = 0) {
    const double difference = std::fabs(static_cast<double>(got) - static_cast<double>(want));
    const bool both_nan = got != got && want != want;
    if (got == want || both_nan || difference <= tolerance * std::fmax(1.0, std::fabs(static_cast<double>(want)))) return;
    if (++failures <= 10) std::printf("%s[%zu]: got %.17g, want %.17g\n", what, i, static_cast<double>(got), static_cast<double>(want));
}
inline int verdict() {
    std::puts(failures == 0 ? "PASS" : "FAIL");
    return failures == 0 ? 0 : 1;
}

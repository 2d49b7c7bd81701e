// Times one launch sequence as the measured data was timed: one warm-up, then events around the launch.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

inline void check(hipError_t error) {
    if (error == hipSuccess) return;
    std::printf("FAIL %s\n", hipGetErrorString(error));
    std::exit(1);
}

template <class T>
T* device_array(size_t count) {
    T* pointer = nullptr;
    check(hipMalloc(reinterpret_cast<void**>(&pointer), count * sizeof(T)));
    check(hipMemset(pointer, 0, count * sizeof(T)));
    return pointer;
}

/// Prints the microseconds of the second call of `launch`.
template <class Launch>
void time_launch(Launch launch) {
    hipEvent_t start, stop;
    check(hipEventCreate(&start));
    check(hipEventCreate(&stop));
    float ms = 0;
    for (int run = 0; run < 2; ++run) {
        check(hipEventRecord(start, nullptr));
        launch();
        check(hipEventRecord(stop, nullptr));
        check(hipEventSynchronize(stop));
        check(hipEventElapsedTime(&ms, start, stop));
    }
    std::printf("%.3f\n", ms * 1e3);
}

inline long argument(int argc, char** argv, int index, long otherwise) {
    return argc > index ? std::atol(argv[index]) : otherwise;
}

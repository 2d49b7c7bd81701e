// One pair of kernels, before and after a rewrite, for HIP and for CUDA: fills the inputs, runs both, compares their results and
// prints one line of JSON. Argument: launches in each timed batch (none: one launch of each, for the emulator).
#pragma once

#ifdef __HIP__
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Kernel = void (*)(const float* in, const int* index, float* out, int n);

struct Call {
    Kernel kernel;
    dim3 grid, block;
};

/// Elements of the arrays, and the number that both kernels get.
struct Sizes {
    int in, out, n;
};

inline void check(GPU(Error_t) error) {
    if (error == GPU(Success)) return;
    std::printf("{\"error\": \"%s\"}\n", GPU(GetErrorString)(error));
    std::exit(1);
}

inline float microseconds(const Call& call, const float* in, const int* index, float* out, int n, int launches) {
    GPU(Event_t) start, stop;
    check(GPU(EventCreate)(&start));
    check(GPU(EventCreate)(&stop));
    std::vector<float> batches;
    for (int batch = 0; batch < 7; ++batch) {
        check(GPU(EventRecord)(start, nullptr));
        for (int k = 0; k < launches; ++k) call.kernel<<<call.grid, call.block>>>(in, index, out, n);
        check(GPU(EventRecord)(stop, nullptr));
        check(GPU(EventSynchronize)(stop));
        float ms = 0;
        check(GPU(EventElapsedTime)(&ms, start, stop));
        batches.push_back(ms * 1e3f / launches);
    }
    std::sort(batches.begin(), batches.end());
    return batches[batches.size() / 2];
}

inline int run_pair(int argc, char** argv, Sizes sizes, Call before, Call after) {
    const int launches = argc > 1 ? std::atoi(argv[1]) : 0;
    std::vector<float> values(sizes.in), results[2];
    std::vector<int> numbers(sizes.in);
    for (int i = 0; i < sizes.in; ++i) {
        const unsigned mixed = (static_cast<unsigned>(i) * 2654435761u) ^ (static_cast<unsigned>(i) >> 7);
        numbers[i] = static_cast<int>((mixed * 2246822519u) >> 1);
        values[i] = 0.5f + static_cast<float>(mixed >> 22) / 1024.0f;
    }
    float *in, *out;
    int* index;
    check(GPU(Malloc)(&in, sizes.in * sizeof(float)));
    check(GPU(Malloc)(&index, sizes.in * sizeof(int)));
    check(GPU(Malloc)(&out, sizes.out * sizeof(float)));
    check(GPU(Memcpy)(in, values.data(), sizes.in * sizeof(float), GPU(MemcpyHostToDevice)));
    check(GPU(Memcpy)(index, numbers.data(), sizes.in * sizeof(int), GPU(MemcpyHostToDevice)));
    float us[2] = {0, 0};
    const Call calls[2] = {before, after};
    for (int which = 0; which < 2; ++which) {
        check(GPU(Memset)(out, 0, sizes.out * sizeof(float)));
        calls[which].kernel<<<calls[which].grid, calls[which].block>>>(in, index, out, sizes.n);
        check(GPU(GetLastError)());
        check(GPU(DeviceSynchronize)());
        results[which].resize(sizes.out);
        check(GPU(Memcpy)(results[which].data(), out, sizes.out * sizeof(float), GPU(MemcpyDeviceToHost)));
        if (launches > 0) us[which] = microseconds(calls[which], in, index, out, sizes.n, launches);
    }
    double worst = 0;
    for (int i = 0; i < sizes.out; ++i) {
        const double a = results[0][i], b = results[1][i];
        worst = std::max(worst, std::fabs(a - b) / (std::fabs(a) + std::fabs(b) + 1e-3));
    }
    std::printf("{\"before_us\": %.3f, \"after_us\": %.3f, \"worst_difference\": %.3g}\n", us[0], us[1], worst);
    return worst < 1e-2 ? 0 : 1;
}

#define PAIR(sizes, before, after) \
    int main(int argc, char** argv) { return run_pair(argc, argv, sizes, before, after); }

// Loops, nested divergence, switch, recursion, function pointers, early returns, private arrays indexed at run time.
#include "check.hpp"

__device__ int collatz(unsigned n) {
    int steps = 0;
    while (n != 1 && steps < 1000) {
        n = (n & 1U) != 0 ? 3 * n + 1 : n / 2;
        ++steps;
    }
    return steps;
}
__device__ __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __attribute__((noinline)) float twice(float x) { return x * 2; }
__device__ __attribute__((noinline)) float square(float x) { return x * x; }
__device__ __attribute__((noinline)) float negate(float x) { return -x; }
using Function = float (*)(float);
__device__ Function table[3] = {twice, square, negate};

__global__ void walk(int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = collatz(static_cast<unsigned>(i + 1));
}
__global__ void recurse(int* out) { out[threadIdx.x] = fibonacci(static_cast<int>(threadIdx.x) % 12); }
__global__ void indirect(float* out, const int* which) {
    const int i = threadIdx.x;
    out[i] = table[which[i]](static_cast<float>(i) + 0.5F);
}
__global__ void arrays(int* out, const int* order) {
    int local[24];
    for (int k = 0; k < 24; ++k) local[k] = k * static_cast<int>(threadIdx.x);
    for (int k = 0; k < 24; ++k) {
        const int j = order[k];
        const int t = local[k];
        local[k] = local[j] + 1;
        local[j] = t;
    }
    int sum = 0;
    for (int k = 0; k < 24; ++k) sum = sum * 3 + local[order[(k + static_cast<int>(threadIdx.x)) % 24]];
    out[threadIdx.x] = sum;
}
__global__ void nested(int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r = 0;
    for (int a = 0; a < i % 7; ++a) {
        if ((a ^ i) & 1) {
            for (int b = a; b < 10; ++b) {
                if (b == i % 5 + 4) break;
                if (b % 3 == 0) continue;
                r += a * b;
            }
        } else {
            switch ((i + a) % 5) {
                case 0: r += 1; break;
                case 1: r ^= 0x55; break;
                case 2: r *= 3; break;
                case 3: r -= i; [[fallthrough]];
                default: r += 7;
            }
        }
    }
    if (i < n) out[i] = r;
}
int nested_host(int i) {
    int r = 0;
    for (int a = 0; a < i % 7; ++a) {
        if ((a ^ i) & 1) {
            for (int b = a; b < 10; ++b) {
                if (b == i % 5 + 4) break;
                if (b % 3 == 0) continue;
                r += a * b;
            }
        } else {
            switch ((i + a) % 5) {
                case 0: r += 1; break;
                case 1: r ^= 0x55; break;
                case 2: r *= 3; break;
                case 3: r -= i; [[fallthrough]];
                default: r += 7;
            }
        }
    }
    return r;
}
int main() {
    const int n = 1000;
    Device<int> steps(n), flow(n), fib(64), arr(64);
    walk<<<4, 256>>>(steps.data, n);
    nested<<<4, 256>>>(flow.data, n);
    recurse<<<1, 64>>>(fib.data);
    std::vector<int> order(24), which(64);
    for (int k = 0; k < 24; ++k) order[static_cast<std::size_t>(k)] = (k * 7 + 3) % 24;
    for (int k = 0; k < 64; ++k) which[static_cast<std::size_t>(k)] = (k / 5) % 3;
    Device<int> d_order(order), d_which(which);
    Device<float> called(64);
    arrays<<<1, 64>>>(arr.data, d_order.data);
    indirect<<<1, 64>>>(called.data, d_which.data);
    const auto h_steps = steps.read(), h_flow = flow.read(), h_fib = fib.read(), h_arr = arr.read();
    const auto h_called = called.read();
    for (int i = 0; i < n; ++i) {
        unsigned long v = static_cast<unsigned long>(i + 1);
        int want = 0;
        for (; v != 1 && want < 1000; ++want) v = (v & 1) != 0 ? 3 * v + 1 : v / 2;
        expect("collatz", i, h_steps[static_cast<std::size_t>(i)], want);
        expect("nested", i, h_flow[static_cast<std::size_t>(i)], nested_host(i));
    }
    const int fibs[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    for (int t = 0; t < 64; ++t) {
        const std::size_t s = static_cast<std::size_t>(t);
        expect("fibonacci", s, h_fib[s], fibs[t % 12]);
        unsigned local[24];
        for (int k = 0; k < 24; ++k) local[k] = static_cast<unsigned>(k * t);
        for (int k = 0; k < 24; ++k) {
            const int j = order[static_cast<std::size_t>(k)];
            const unsigned x = local[k];
            local[k] = local[j] + 1;
            local[j] = x;
        }
        unsigned sum = 0;
        for (int k = 0; k < 24; ++k) sum = sum * 3 + local[order[static_cast<std::size_t>((k + t) % 24)]];
        expect("array", s, h_arr[s], static_cast<int>(sum));
        const float x = static_cast<float>(t) + 0.5F;
        expect("called", s, h_called[s], which[s] == 0 ? x * 2 : which[s] == 1 ? x * x : -x);
    }
    return verdict();
}

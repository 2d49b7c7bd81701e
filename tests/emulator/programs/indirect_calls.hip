// Calls through function pointers: a table in constant memory, a pointer in a variable, pointers to member functions.
#include "check.hpp"

using Operation = long long (*)(long long, int);
__device__ __attribute__((noinline)) long long plus(long long a, int b) { return a + b; }
__device__ __attribute__((noinline)) long long times(long long a, int b) { return a * (b | 1); }
__device__ __attribute__((noinline)) long long rotate(long long a, int b) {
    const auto u = static_cast<unsigned long long>(a);
    const int s = b & 63;
    return static_cast<long long>(s == 0 ? u : (u << s) | (u >> (64 - s)));
}
__device__ __attribute__((noinline)) long long flip(long long a, int b) { return a ^ (0x9e3779b97f4a7c15LL * b); }
__constant__ Operation operations[4] = {plus, times, rotate, flip};
__device__ Operation chosen = rotate;

struct Counter {
    int value;
    __device__ __attribute__((noinline)) void up(int by) { value += by; }
    __device__ __attribute__((noinline)) void down(int by) { value -= 2 * by; }
};
__device__ __attribute__((noinline)) int fold(int (*step)(int, int), const int* v, int n) {
    int sum = 1;
    for (int i = 0; i < n; ++i) sum = step(sum, v[i]);
    return sum;
}
__global__ void run(const unsigned char* codes, int length, long long* out, int* members) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    long long value = t;
    for (int i = 0; i < length; ++i) value = operations[codes[(t + i) % length] % 4](value, i + t);  // lanes differ
    out[t] = chosen(value, 5);
    Counter counter{t};
    void (Counter::*method)(int) = t % 3 == 0 ? &Counter::up : &Counter::down;
    for (int i = 0; i < t % 5; ++i) (counter.*method)(i);
    const int own[4] = {t, 3, t * t, -7};
    members[t] = counter.value + fold(t % 2 ? +[](int a, int b) { return a * 5 + b; } : +[](int a, int b) { return a - b; }, own, 4);
}
int main() {
    const int n = 2 * 130, length = 23;
    const auto codes = generate(length, [](std::size_t i) { return static_cast<unsigned char>(mixed(i)); });
    Device<unsigned char> d(codes);
    Device<long long> out(n);
    Device<int> members(n);
    run<<<2, 130>>>(d.data, length, out.data, members.data);
    const auto turned = [](unsigned long long u, int s) { return s == 0 ? u : (u << s) | (u >> (64 - s)); };
    expect_all("table", out.read(), [&](std::size_t t) {
        unsigned long long value = t;
        for (int i = 0; i < length; ++i) {
            const int b = i + static_cast<int>(t);
            switch (codes[(t + i) % length] % 4) {
                case 0: value += static_cast<unsigned long long>(b); break;
                case 1: value *= static_cast<unsigned long long>(b | 1); break;
                case 2: value = turned(value, b & 63); break;
                default: value ^= 0x9e3779b97f4a7c15ULL * static_cast<unsigned long long>(b);
            }
        }
        return static_cast<long long>(turned(value, 5));
    });
    expect_all("members", members.read(), [](std::size_t k) {
        const int t = static_cast<int>(k), own[4] = {t, 3, t * t, -7};
        int value = t, sum = 1;
        for (int i = 0; i < t % 5; ++i) value += t % 3 == 0 ? i : -2 * i;
        for (const int v : own) sum = t % 2 ? sum * 5 + v : sum - v;
        return value + sum;
    });
    return verdict();
}

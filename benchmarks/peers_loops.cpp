// The work of kernels of speed.hip as plain loops on the host: what the machine can do at the least cost. See peers.py.
#include <cstdio>
#include <ctime>
#include <vector>

namespace {

constexpr int kElements = 1 << 20, kThreads = 1024 * 256, kSteps = 200, kSide = 256;

double cpu_ms() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/// One line per run: name, elements, milliseconds.
template <class Body>
void measure(const char* name, int elements, Body body) {
    for (int k = 0; k < 5; ++k) {
        const double begin = cpu_ms();
        body();
        asm volatile("" ::: "memory");
        std::printf("%s %d %.6f\n", name, elements, cpu_ms() - begin);
    }
}

}  // namespace

int main() {
    std::vector<float> a(kElements, 1), b(kElements, 2), c(kElements);
    std::vector<double> d(kElements, 1), e(kElements);
    measure("vadd", kElements, [&] {
        for (int i = 0; i < kElements; ++i) c[i] = a[i] + b[i];
    });
    measure("daxpy", kElements, [&] {
        for (int i = 0; i < kElements; ++i) e[i] = 2.5 * d[i] + e[i];
    });
    measure("fma_loop", kThreads, [&] {
        for (int i = 0; i < kThreads; ++i) {
            float x = a[i], y = x;
            for (int k = 0; k < kSteps; ++k) {
                x = x * 1.0001F + 0.5F;
                y = y * 0.999F - x;
            }
            a[i] = x + y;
        }
    });
    measure("stencil", kElements, [&] {
        for (int i = 1; i < kElements - 1; ++i) c[i] = 0.25F * a[i - 1] + 0.5F * a[i] + 0.25F * a[i + 1];
    });
    measure("matmul", kSide * kSide, [&] {
        for (int row = 0; row < kSide; ++row) {
            float* const out = &c[row * kSide];
            for (int column = 0; column < kSide; ++column) out[column] = 0;
            for (int k = 0; k < kSide; ++k)
                for (int column = 0; column < kSide; ++column) out[column] += a[row * kSide + k] * b[k * kSide + column];
        }
    });
}

// Shuffles of every direction, width and element type against the definition.
#include "check.hpp"

template <class T>
__global__ void exchange(const T* in, T* out, int width, int distance) {
    const int t = threadIdx.x, n = blockDim.x * gridDim.x, i = blockIdx.x * blockDim.x + t;
    out[i] = __shfl(in[i], distance, width);
    out[n + i] = __shfl_up(in[i], distance, width);
    out[2 * n + i] = __shfl_down(in[i], distance, width);
    out[3 * n + i] = __shfl_xor(in[i], distance, width);
    out[4 * n + i] = __shfl(in[i], (t * 5 + 3) % width, width);
}
template <class T>
void check(const char* name) {
    const int n = 256;
    const auto in = generate(n, [](std::size_t i) { return static_cast<T>(static_cast<int>(mixed(i) % 100000) - 50000); });
    Device<T> d(in), out(5 * n);
    for (const int width : {2, 4, 8, 16, 32, 64})
        for (const int distance : {0, 1, 3, 7, 16}) {
            if (distance >= width) continue;
            exchange<<<2, 128>>>(d.data, out.data, width, distance);
            const auto got = out.read();
            for (int i = 0; i < n; ++i) {
                const int lane = i % 64, base = i - lane, first = lane / width * width, own = lane % width;
                const auto at = [&](int l) { return in[base + first + l]; };
                expect(name, i, got[i], at(distance));
                expect(name, i, got[n + i], own >= distance ? at(own - distance) : at(own));
                expect(name, i, got[2 * n + i], own + distance < width ? at(own + distance) : at(own));
                expect(name, i, got[3 * n + i], (own ^ distance) < width ? at(own ^ distance) : at(own));
                expect(name, i, got[4 * n + i], at(((i % 128) * 5 + 3) % width));
            }
        }
}
int main() {
    check<int>("int");
    check<float>("float");
    check<double>("double");
    check<long long>("long long");
    check<unsigned>("unsigned");
    return verdict();
}

// Templates by type, value and functor; lambdas with captures passed to kernels; constexpr tables; fold expressions.
#include "check.hpp"

template <class F, class... Arrays>
__global__ void transform(int n, F f, Arrays... arrays) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i, arrays[i]...);
}
template <int N, class T, class Combine>
__device__ T tree(const T* v, Combine combine) {
    if constexpr (N == 1) return v[0];
    else return combine(tree<N / 2>(v, combine), tree<N - N / 2>(v + N / 2, combine));
}
template <unsigned Base>
struct Powers {
    unsigned value[8];
    constexpr Powers() : value{} {
        unsigned p = 1;
        for (unsigned& v : value) v = p, p *= Base;
    }
};
template <class... T>
__device__ double sum_of(T... values) { return (static_cast<double>(values) + ... + 0.0); }
struct Scale {
    double by;
    __device__ double operator()(double x) const { return x * by; }
};
template <template <class> class Holder, class T>
__device__ T unwrap(Holder<T> h) { return h.value; }
template <class T>
struct Held { T value; };

int main() {
    const int n = 321;
    const auto a = generate(n, [](std::size_t i) { return static_cast<int>(mixed(i) % 500); });
    const auto b = generate(n, [](std::size_t i) { return mixed(i) % 100 * 0.25; });
    Device<int> da(a);
    Device<double> db(b), out(n);
    const int offset = 17;
    const Scale scale{2.5};
    double* target = out.data;
    transform<<<2, 96>>>(n, [=] __device__(int i, int x, double y) { target[i] = x + scale(y) + offset; }, da.data, db.data);
    expect_all("lambda", out.read(), [&](std::size_t i) { return a[i] + b[i] * 2.5 + 17; });
    transform<<<2, 96>>>(n, [=] __device__(int i, int x) {
        constexpr Powers<3> powers;
        const int own[7] = {x, i, 3, x ^ i, 5, i - x, 1};
        const auto largest = tree<7>(own, [](int p, int q) { return p > q ? p : q; });
        const auto mixed_sum = tree<5>(own, [x](int p, int q) { return p * 2 - q + x; });
        target[i] = sum_of(largest, mixed_sum, powers.value[i % 8], unwrap(Held<float>{0.5F}), 'a');
    }, da.data);
    expect_all("tree", out.read(), [&](std::size_t k) {
        const int i = static_cast<int>(k), x = a[k], own[7] = {x, i, 3, x ^ i, 5, i - x, 1};
        const auto f = [x](int p, int q) { return p * 2 - q + x; };
        int power = 1;
        for (int e = 0; e < i % 8; ++e) power *= 3;
        return *std::max_element(own, own + 7) + f(f(own[0], own[1]), f(own[2], f(own[3], own[4]))) + power + 0.5 + 'a';
    });
    return verdict();
}

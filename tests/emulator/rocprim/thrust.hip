// Thrust's algorithms on HIP against plain loops: those with code of their own, and some that are made of them.
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/complex.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/find.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/merge.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system/hip/execution_policy.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <thrust/universal_vector.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#define SAME(a, b) do { if (!((a) == (b))) { std::printf("line %d differs\n", __LINE__); return 1; } } while (0)

#if THRUST_DEVICE_SYSTEM != THRUST_DEVICE_SYSTEM_HIP
#error "another system"
#endif

constexpr int n = 3000;

struct Even {
    __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct Axpy {
    float a;
    __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};
struct Square {
    __host__ __device__ double operator()(double x) const { return x * x; }
};
struct Draw {
    __host__ __device__ float operator()(int i) const {
        thrust::default_random_engine engine;
        engine.discard(i);
        return thrust::uniform_real_distribution<float>(0, 1)(engine);
    }
};
using Pair = thrust::tuple<int, int>;
struct ByFirst {
    __host__ __device__ bool operator()(const Pair& a, const Pair& b) const { return thrust::get<0>(a) > thrust::get<0>(b); }
};

int main() {
    thrust::host_vector<int> h(n);
    for (int i = 0; i < n; ++i) h[i] = i * 7919 % 1009;
    std::vector<int> sorted(h.begin(), h.end());
    std::sort(sorted.begin(), sorted.end());

    thrust::device_vector<int> d = h, places(n);
    SAME(thrust::reduce(d.begin(), d.end()), std::accumulate(h.begin(), h.end(), 0));
    SAME(thrust::reduce(d.begin(), d.end(), -1, thrust::maximum<int>()), sorted.back());
    thrust::sequence(places.begin(), places.end());
    thrust::sort_by_key(d.begin(), d.end(), places.begin());
    const thrust::host_vector<int> keys = d, from = places;
    for (int i = 0; i < n; ++i) SAME(keys[i], sorted[i]);
    for (int i = 0; i < n; ++i) SAME(h[from[i]], sorted[i]);
    thrust::sort(d.begin(), d.end(), thrust::greater<int>());
    SAME(d[0], sorted.back());
    auto zipped = thrust::make_zip_iterator(thrust::make_tuple(d.begin(), places.begin()));
    thrust::sort(zipped, zipped + n, ByFirst());
    SAME(d[n - 1], sorted[0]);

    d[0] = 5;
    d[0] += 2;
    SAME(d[0], 7);
    d = h;
    thrust::device_vector<int> out(n);
    const long even = std::count_if(h.begin(), h.end(), Even());
    SAME(thrust::copy_if(d.begin(), d.end(), out.begin(), Even()) - out.begin(), even);
    SAME(thrust::count_if(d.begin(), d.end(), Even()), even);
    SAME(out[0], *std::find_if(h.begin(), h.end(), Even()));
    SAME(thrust::find(d.begin(), d.end(), h[70]) - d.begin(), std::find(h.begin(), h.end(), h[70]) - h.begin());
    SAME(*thrust::max_element(d.begin(), d.end()), sorted.back());
    SAME(thrust::remove_if(d.begin(), d.end(), Even()) - d.begin(), n - even);
    d = h;
    thrust::sort(d.begin(), d.end());
    const long different = std::unique(sorted.begin(), sorted.end()) - sorted.begin();
    thrust::device_vector<int> ones(n, 1), sums(n);
    const auto ends = thrust::reduce_by_key(d.begin(), d.end(), ones.begin(), out.begin(), sums.begin());
    SAME(ends.first - out.begin(), different);
    SAME(sums[0], std::count(h.begin(), h.end(), sorted[0]));
    thrust::inclusive_scan_by_key(d.begin(), d.end(), ones.begin(), sums.begin());
    SAME(*thrust::max_element(sums.begin(), sums.end()), 3);
    SAME(thrust::unique(d.begin(), d.end()) - d.begin(), different);
    thrust::exclusive_scan(thrust::device, ones.begin(), ones.end(), sums.begin(), 10);
    SAME(sums[n - 1], n + 9);

    thrust::device_vector<float> x(n), y(n, 2.f);
    thrust::sequence(x.begin(), x.end());
    thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Axpy{3});
    SAME(y[10], 32.f);
    const thrust::counting_iterator<int> count(0);
    SAME(thrust::transform_reduce(count, count + 100, Square(), 0.0, thrust::plus<double>()), 328350.0);
    thrust::transform(count, count + n, x.begin(), Draw());
    SAME(x[n - 1] >= 0 && x[n - 1] < 1, true);
    const thrust::device_vector<thrust::complex<float>> waves(10, thrust::complex<float>(1, 2));
    SAME(thrust::reduce(waves.begin(), waves.end()).imag(), 20.f);

    thrust::device_vector<int> a(40), b(40), both(80), found(1, 41);
    thrust::sequence(a.begin(), a.end(), 0, 2);
    thrust::sequence(b.begin(), b.end(), 1, 2);
    thrust::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin());
    for (int i = 0; i < 80; ++i) SAME(both[i], i);
    thrust::lower_bound(both.begin(), both.end(), found.begin(), found.end(), found.begin());
    SAME(found[0], 41);
    thrust::adjacent_difference(both.begin(), both.end(), out.begin());
    SAME(out[79], 1);

    int* raw = nullptr;
    hipStream_t stream;
    if (hipMalloc(&raw, n * sizeof(int)) || hipStreamCreate(&stream)) return 2;
    thrust::fill(thrust::hip::par.on(stream), thrust::device_pointer_cast(raw), thrust::device_pointer_cast(raw) + n, 4);
    SAME(thrust::reduce(thrust::device, raw, raw + n), 4 * n);
    thrust::universal_vector<int> shared(10, 3);
    shared[2] = 4;
    SAME(thrust::reduce(shared.begin(), shared.end()), 31);
    thrust::device_vector<double> wider(y.begin(), y.begin() + 4);
    const thrust::host_vector<float> narrower = wider;
    SAME(narrower[3], 11.f);
    wider.push_back(9);
    wider.insert(wider.begin(), 77);
    SAME(wider[0], 77.0);
    SAME(wider.back(), 9.0);
    std::puts("PASS");
}

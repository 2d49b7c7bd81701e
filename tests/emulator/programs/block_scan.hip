// A scan of a workgroup with several items a thread, over types of 1 to 8 bytes and structures, its storage in dynamic LDS.
#include "check.hpp"
template <class T> struct Sum { __host__ __device__ T operator()(T a, T b) const { return a + b; } };
template <class T> struct Max { __host__ __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
struct Pair { int key; float value; };
struct Keyed { __host__ __device__ Pair operator()(Pair a, Pair b) const { return b.key != 0 ? b : Pair{a.key, a.value + b.value}; } };
template <class T, int Block, int Items, class Op> struct BlockScan {
    struct Storage { T wave[Block / 64]; };
    Storage& s;
    __device__ T shuffle_up(T v, int by) {
        T r;
        int w[(sizeof(T) + 3) / 4] = {};
        __builtin_memcpy(w, &v, sizeof(T));
        for (auto& x : w) x = __shfl_up(x, by);
        __builtin_memcpy(&r, w, sizeof(T));
        return r;
    }
    __device__ void inclusive(T (&items)[Items], Op op) {
        for (int i = 1; i < Items; ++i) items[i] = op(items[i - 1], items[i]);
        T mine = items[Items - 1];
        const int lane = threadIdx.x % 64, wave = threadIdx.x / 64;
        for (int by = 1; by < 64; by *= 2) {
            T other = shuffle_up(mine, by);
            if (lane >= by) mine = op(other, mine);
        }
        if (lane == 63) s.wave[wave] = mine;
        __syncthreads();
        T before = shuffle_up(mine, 1);
        bool any = lane > 0;
        T carry{};
        for (int w = 0; w < wave; ++w) carry = w ? op(carry, s.wave[w]) : s.wave[w];
        if (wave) { before = any ? op(carry, before) : carry; any = true; }
        if (any) for (auto& i : items) i = op(before, i);
        __syncthreads();
    }
};
template <class T, int Block, int Items, class Op> __global__ void scan(const T* in, T* out, Op op) {
    using Scan = BlockScan<T, Block, Items, Op>;
    extern __shared__ __align__(16) unsigned char raw[];
    auto& storage = *reinterpret_cast<typename Scan::Storage*>(raw);
    T items[Items];
    const int base = (blockIdx.x * Block + threadIdx.x) * Items;
    for (int i = 0; i < Items; ++i) items[i] = in[base + i];
    Scan{storage}.inclusive(items, op);
    for (int i = 0; i < Items; ++i) out[base + i] = items[i];
}
template <class T, int Block, int Items, class Op, class Make, class Same> void test(const char* name, Op op, Make make, Same same) {
    const int blocks = 3, n = blocks * Block * Items;
    auto in = generate(n, make);
    Device<T> d(in), o(n);
    scan<T, Block, Items, Op><<<blocks, Block, 1024>>>(d.data, o.data, op);
    auto got = o.read();
    for (int b = 0; b < blocks; ++b) {
        T sum = in[b * Block * Items];
        for (int i = 0; i < Block * Items; ++i) {
            if (i) sum = op(sum, in[b * Block * Items + i]);
            if (!same(sum, got[b * Block * Items + i])) expect(name, b * Block * Items + i, 0, 1);
        }
    }
}
int main() {
    auto eq = [](auto a, auto b) { return a == b; };
    test<int, 256, 4>("int", Sum<int>{}, [](std::size_t i) { return int(mixed(i) % 100); }, eq);
    test<unsigned char, 128, 8>("char", Max<unsigned char>{}, [](std::size_t i) { return (unsigned char)(mixed(i) >> (i % 9)); }, eq);
    test<double, 512, 3>("double", Sum<double>{}, [](std::size_t i) { return double(mixed(i) % 100); }, eq);
    test<short, 64, 5>("short", Sum<short>{}, [](std::size_t i) { return short(mixed(i)); }, eq);
    test<long long, 1024, 2>("long", Max<long long>{}, [](std::size_t i) { return (long long)(mixed(i)) * mixed(i + 1); }, eq);
    test<Pair, 192, 2>("pair", Keyed{}, [](std::size_t i) { return Pair{mixed(i) % 10 == 0 ? int(i + 1) : 0, float(mixed(i) % 16)}; }, [](Pair a, Pair b) { return a.key == b.key && a.value == b.value; });
    return verdict();
}

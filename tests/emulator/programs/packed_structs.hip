// Packed and over-aligned structures, bit-fields, unions, and loads and stores at odd addresses.
#include "check.hpp"

struct __attribute__((packed)) Packed { char a; int b; short c; double d; char e; };
struct alignas(64) Wide { int a; char b; };
struct Bits { unsigned a : 3; unsigned b : 13; int c : 7; unsigned long long d : 40; };
union View { double d; unsigned u[2]; unsigned char b[8]; };

__global__ void run(Packed* p, Wide* w, Bits* b, View* v, const char* raw, unsigned long long* odd, int n) {
    __shared__ Packed local[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    local[threadIdx.x] = p[i];
    local[threadIdx.x].d += local[threadIdx.x].b;
    local[threadIdx.x].c = static_cast<short>(local[threadIdx.x].c * 2);
    local[threadIdx.x].e ^= local[threadIdx.x].a;
    p[i] = local[threadIdx.x];
    w[i].a += w[i].b;
    b[i].b += 5;
    b[i].c -= 3;
    b[i].d += b[i].a;
    View own = v[i];
    own.u[1] ^= 0x80000000U;
    own.b[0] = static_cast<unsigned char>(i);
    v[i] = own;
    unsigned long long value;
    __builtin_memcpy(&value, raw + i * 3 + 1, 8);
    odd[i] = value;
}
int main() {
    const int n = 150;
    auto p = generate(n, [](std::size_t i) { return Packed{static_cast<char>(i), static_cast<int>(mixed(i) % 1000), static_cast<short>(i * 3), i * 0.5, 'x'}; });
    auto w = generate(n, [](std::size_t i) { return Wide{static_cast<int>(i), static_cast<char>(i % 100)}; });
    auto b = generate(n, [](std::size_t i) { return Bits{static_cast<unsigned>(i % 8), static_cast<unsigned>(mixed(i) % 8192), static_cast<int>(i % 60), mixed(i) * 256ULL}; });
    auto v = generate(n, [](std::size_t i) { return View{i * 1.25}; });
    const auto raw = generate(n * 3 + 16, [](std::size_t i) { return static_cast<char>(mixed(i)); });
    Device<Packed> dp(p);
    Device<Wide> dw(w);
    Device<Bits> db(b);
    Device<View> dv(v);
    Device<char> dr(raw);
    Device<unsigned long long> odd(n);
    run<<<3, 64>>>(dp.data, dw.data, db.data, dv.data, dr.data, odd.data, n);
    const auto gp = dp.read();
    const auto gw = dw.read();
    const auto gb = db.read();
    const auto gv = dv.read();
    const auto go = odd.read();
    expect("packed size", 0, sizeof(Packed), std::size_t{16});
    for (int i = 0; i < n; ++i) {
        expect("double", i, static_cast<double>(gp[i].d), p[i].d + p[i].b);
        expect("short", i, static_cast<int>(gp[i].c), static_cast<int>(static_cast<short>(p[i].c * 2)));
        expect("char", i, static_cast<int>(gp[i].e), static_cast<int>(static_cast<char>('x' ^ p[i].a)));
        expect("wide", i, gw[i].a, w[i].a + w[i].b);
        Bits bits = b[i];
        bits.b += 5, bits.c -= 3, bits.d += bits.a;
        expect("bits", i, std::memcmp(&bits, &gb[i], sizeof bits), 0);
        View own = v[i];
        own.u[1] ^= 0x80000000U;
        own.b[0] = static_cast<unsigned char>(i);
        expect("view", i, std::memcmp(&own, &gv[i], sizeof own), 0);
        unsigned long long value;
        std::memcpy(&value, &raw[i * 3 + 1], 8);
        expect("odd", i, go[i], value);
    }
    return verdict();
}

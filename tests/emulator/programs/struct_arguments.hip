// Arguments by value: small and large structures, nested ones, with pointers, arrays and unions inside; many arguments.
#include "check.hpp"

struct Inner { short a; double b; char c; };
struct Outer { char tag; Inner inner[3]; int* pointer; float f[5]; bool flag; };
union Mix { unsigned u; float f; unsigned char bytes[4]; };
struct Big { int values[200]; };
struct Empty {};
struct Image { const unsigned char* data; int width, height; __device__ int at(int x, int y) const { return data[y * width + x]; } };

__global__ void use(Outer o, char one, Mix mix, double d, Empty, short s, Big big, Image image, unsigned long long w, int3 triple, float2 pair) {
    const int t = threadIdx.x;
    const Inner& in = o.inner[t % 3];
    Mix other = mix;
    other.bytes[t % 4] ^= 0x55;
    o.pointer[t] = o.tag + in.a + static_cast<int>(in.b * 2) + in.c + static_cast<int>(o.f[t % 5]) + o.flag + one + static_cast<int>(other.u >> 8) +
                   static_cast<int>(d) + s + big.values[t] + image.at(t % image.width, t % image.height) + static_cast<int>(w >> 32) + triple.z +
                   static_cast<int>(pair.y);
}
int main() {
    const int n = 200;
    const auto pixels = generate(7 * 5, [](std::size_t i) { return static_cast<unsigned char>(mixed(i)); });
    Device<unsigned char> data(pixels);
    Device<int> out(n);
    Outer o{5, {{-3, 1.5, 'a'}, {300, -2.5, 'b'}, {7, 1000, 'c'}}, out.data, {1, 2, 3, 4, 50}, true};
    Mix mix;
    mix.f = 3.5F;
    Big big;
    for (int i = 0; i < 200; ++i) big.values[i] = i * i;
    use<<<1, n>>>(o, -1, mix, 9.75, Empty{}, -30000, big, Image{data.data, 7, 5}, 123ULL << 32, make_int3(1, 2, 3), make_float2(4, 44));
    big.values[3] = -1;  // after the launch: the kernel has its own copy
    o.tag = 0;
    expect_all("value", out.read(), [&](std::size_t t) {
        const Inner& in = o.inner[t % 3];
        Mix other = mix;
        other.bytes[t % 4] ^= 0x55;
        return 5 + in.a + static_cast<int>(in.b * 2) + in.c + static_cast<int>(o.f[t % 5]) + 1 - 1 + static_cast<int>(other.u >> 8) + 9 - 30000 +
               static_cast<int>(t * t) + pixels[t % 5 * 7 + t % 7] + 123 + 3 + 44;
    });
    return verdict();
}

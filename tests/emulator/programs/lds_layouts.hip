// Transposes through LDS with elements of 1, 2, 4, 8 and 16 bytes, padded and with an exclusive-or layout.
#include "check.hpp"

template <class T>
__global__ void padded(const T* in, T* out, int width) {
    __shared__ T tile[16][17];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    out[(blockIdx.x * 16 + threadIdx.y) * width + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
template <class T>
__global__ void swizzled(const T* in, T* out, int width) {
    __shared__ T tile[16][16];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = in[y * width + x];
    __syncthreads();
    out[(blockIdx.x * 16 + threadIdx.y) * width + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
}
template <class T, class Make>
void check(const char* name, Make make) {
    const int width = 48;
    const auto in = generate(width * width, make);
    Device<T> d(in), out(in.size());
    for (const bool pad : {true, false}) {
        if (pad) padded<<<dim3(3, 3), dim3(16, 16)>>>(d.data, out.data, width);
        else swizzled<<<dim3(3, 3), dim3(16, 16)>>>(d.data, out.data, width);
        const auto got = out.read();
        for (int y = 0; y < width; ++y)
            for (int x = 0; x < width; ++x)
                if (std::memcmp(&got[y * width + x], &in[x * width + y], sizeof(T)) != 0) expect(name, y * width + x, 0, 1);
    }
}
int main() {
    check<unsigned char>("byte", [](std::size_t i) { return static_cast<unsigned char>(mixed(i)); });
    check<short>("short", [](std::size_t i) { return static_cast<short>(mixed(i)); });
    check<float>("float", [](std::size_t i) { return static_cast<float>(mixed(i) % 1000); });
    check<double>("double", [](std::size_t i) { return mixed(i) * 0.25; });
    check<int4>("int4", [](std::size_t i) { return make_int4(i, mixed(i), -static_cast<int>(i), 7); });
    return verdict();
}

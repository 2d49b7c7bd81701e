// Unwritten values on which no result depends: padding, masked and shifted out bits, values not chosen.
#include "check.hpp"

struct Padded { char a; int b; double c; short d; };  // padding in words, and a whole word of it
struct alignas(16) Point { float x, y, z; };

__global__ void padding_through_lds(Padded* out, const int* index) {
    __shared__ Padded tile[64];
    Padded& own = tile[threadIdx.x];
    own.a = static_cast<char>(threadIdx.x);
    own.b = threadIdx.x * 2;
    own.c = threadIdx.x * 0.5;
    own.d = 3;
    __syncthreads();
    out[threadIdx.x] = tile[index[threadIdx.x]];
}
__global__ void padding_through_scratch(Padded* out, Point* points, const int* index, int n) {
    Padded own[8];
    Point near[8];
    for (int i = 0; i < n; ++i) {
        own[index[i]].a = 'a';
        own[index[i]].b = i;
        own[index[i]].c = i + 0.25;
        own[index[i]].d = static_cast<short>(threadIdx.x);
        near[index[i]].x = i;
        near[index[i]].y = 2;
        near[index[i]].z = threadIdx.x;
    }
    out[threadIdx.x] = own[index[threadIdx.x % 8]];
    points[threadIdx.x] = near[index[threadIdx.x % 8]];
}
__global__ void not_chosen(const int* undefined, int* out, int limit, int zero) {
    __shared__ int tile[128];
    volatile int* t = tile;
    const int i = threadIdx.x;
    if (i < limit) t[i] = i;
    __syncthreads();
    const int from_lds = t[i], from_global = reinterpret_cast<const volatile int*>(undefined)[i];
    const int chosen = i < limit ? from_lds : 7;
    out[i] = chosen + (from_global & zero) + ((from_lds | ~zero) ^ ~zero);
}
__global__ void bits_shifted_out(unsigned* out, int zero) {
    __shared__ unsigned short halves[128];
    volatile unsigned short* h = halves;
    h[2 * threadIdx.x + 1] = static_cast<unsigned short>(threadIdx.x);
    __syncthreads();
    const unsigned word = reinterpret_cast<volatile unsigned*>(halves)[threadIdx.x];
    const unsigned bytes = __builtin_amdgcn_perm(word, 0x01020304U, 0x03020706U);
    const unsigned copy = word;
    out[threadIdx.x] = (word >> 16) + (bytes & 0xffffU) + (word ^ copy) + __builtin_amdgcn_ubfe(word, 16 + zero, 8);
}
/// Four values per lane, of which only lanes below `limit` have any; sums of what is there.
__global__ void partly_filled(float* out, const float* in, int limit) {
    float value[4];
    if (static_cast<int>(threadIdx.x) < limit)
        for (int k = 0; k < 4; ++k) value[k] = in[4 * threadIdx.x + k];
    float sum = 0;
    if (static_cast<int>(threadIdx.x) < limit)
        for (int k = 0; k < 4; ++k) sum += value[k];
    const float other = __shfl_down(sum, 1);
    if (static_cast<int>(threadIdx.x) < limit) out[threadIdx.x] = sum + other;
}
__global__ void first_part_only(int* out, int* count) {
    if (threadIdx.x % 3 == 0) out[atomicAdd(count, 1)] = threadIdx.x;
}

int main() {
    const auto identity = generate(64, [](std::size_t i) { return static_cast<int>(i % 8); });
    const auto reverse = generate(64, [](std::size_t i) { return static_cast<int>(63 - i); });
    Device<int> index(identity), mirrored(reverse), undefined(64), numbers(64), found(64), count(std::vector<int>{0});
    Device<Padded> padded(64);
    Device<Point> points(64);
    Device<unsigned> words(64);
    Device<float> in(generate(256, [](std::size_t i) { return static_cast<float>(i); })), sums(64);

    padding_through_lds<<<1, 64>>>(padded.data, mirrored.data);
    auto rows = padded.read();
    for (std::size_t i = 0; i < 64; ++i) expect("through LDS", i, rows[i].b + rows[i].c + rows[i].d, (63 - i) * 2.5 + 3);
    padding_through_scratch<<<1, 64>>>(padded.data, points.data, index.data, 8);
    rows = padded.read();
    const auto near = points.read();
    for (std::size_t i = 0; i < 64; ++i) {
        expect("through scratch", i, rows[i].b + rows[i].c + rows[i].d, 2.0 * (i % 8) + 0.25 + i);
        expect("points", i, near[i].x + near[i].y + near[i].z, static_cast<float>(i % 8 + 2 + i));
    }
    not_chosen<<<1, 64>>>(undefined.data, numbers.data, 40, 0);
    expect_all("not chosen", numbers.read(), [](std::size_t i) { return i < 40 ? i : 7; });
    bits_shifted_out<<<1, 64>>>(words.data, 0);
    expect_all("shifted", words.read(), [](std::size_t i) { return 3 * i; });
    partly_filled<<<1, 64>>>(sums.data, in.data, 32);
    const auto partial = sums.read();
    for (std::size_t i = 0; i + 1 < 32; ++i) expect("sums", i, partial[i], static_cast<float>(32 * i + 6 + 22));
    first_part_only<<<1, 64>>>(found.data, count.data);
    const auto some = found.read();
    expect("count", 0, count.read()[0], 22);
    expect("found", 0, some[0] % 3, 0);
    return verdict();
}

// The game of life: one byte for each cell, and 64 cells in a word with carries between words.
#include "check.hpp"

__global__ void cells(const unsigned char* in, unsigned char* out, int w, int h) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int count = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx != 0 || dy != 0) count += in[(y + dy + h) % h * w + (x + dx + w) % w];
    out[y * w + x] = count == 3 || (count == 2 && in[y * w + x]) ? 1 : 0;
}
using Word = unsigned long long;
__global__ void words(const Word* in, Word* out, int across, int h) {
    const int x = threadIdx.x % across, y = blockIdx.x * (blockDim.x / across) + threadIdx.x / across;
    if (y >= h || static_cast<int>(threadIdx.x) >= static_cast<int>(blockDim.x) / across * across) return;
    Word one = 0, two = 0, four = 0;  // the sum of the neighbours, bit by bit
    const auto add = [&](Word v) {
        const Word carry = one & v, high = two & carry;
        one ^= v;
        two ^= carry;
        four |= high;
    };
    for (int dy = -1; dy <= 1; ++dy) {
        const Word* row = in + (y + dy + h) % h * across;
        const Word own = row[x], left = row[(x + across - 1) % across], right = row[(x + 1) % across];
        add(own << 1 | left >> 63);
        add(own >> 1 | right << 63);
        if (dy != 0) add(own);
    }
    out[y * across + x] = ~four & two & (one | in[y * across + x]);
}
int main() {
    const int across = 2, w = 64 * across, h = 45;
    auto now = generate(w * h, [](std::size_t i) { return static_cast<unsigned char>(mixed(i) % 3 == 0); });
    std::vector<Word> bits(across * h, 0);
    for (int i = 0; i < w * h; ++i) bits[i / 64] |= static_cast<Word>(now[i]) << (i % 64);
    Device<unsigned char> a(now), b(now.size());
    Device<Word> wa(bits), wb(bits.size());
    for (int round = 0; round < 3; ++round) {
        cells<<<dim3(8, 6), dim3(16, 8)>>>(a.data, b.data, w, h);
        cells<<<dim3(4, 12), dim3(32, 4)>>>(b.data, a.data, w, h);
        words<<<3, 37>>>(wa.data, wb.data, across, h);
        words<<<5, 19>>>(wb.data, wa.data, across, h);
        for (int half = 0; half < 2; ++half) {
            const auto old = now;
            for (int y = 0; y < h; ++y)
                for (int x = 0; x < w; ++x) {
                    int count = -old[y * w + x];
                    for (int k = 0; k < 9; ++k) count += old[(y + k / 3 - 1 + h) % h * w + (x + k % 3 - 1 + w) % w];
                    now[y * w + x] = count == 3 || (count == 2 && old[y * w + x]);
                }
        }
    }
    expect_all("cell", a.read(), [&](std::size_t i) { return now[i]; });
    const auto got = wa.read();
    for (int i = 0; i < w * h; ++i) expect("bit", i, static_cast<int>(got[i / 64] >> (i % 64) & 1), static_cast<int>(now[i]));
    return verdict();
}

// Stencils with halos: five points in 2-D through LDS, seven points in 3-D, several steps, exact in integers.
#include "check.hpp"

__global__ void five(const int* in, int* out, int w, int h) {
    __shared__ int tile[10][34];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    const auto at = [&](int px, int py) { return px < 0 || py < 0 || px >= w || py >= h ? 0 : in[py * w + px]; };
    tile[ty + 1][tx + 1] = at(x, y);
    if (tx == 0) tile[ty + 1][0] = at(x - 1, y);
    if (tx == 31) tile[ty + 1][33] = at(x + 1, y);
    if (ty == 0) tile[0][tx + 1] = at(x, y - 1);
    if (ty == 7) tile[9][tx + 1] = at(x, y + 1);
    __syncthreads();
    if (x < w && y < h)
        out[y * w + x] = 2 * tile[ty + 1][tx + 1] - tile[ty + 1][tx] + 3 * tile[ty + 1][tx + 2] - tile[ty][tx + 1] + tile[ty + 2][tx + 1];
}
__global__ void seven(const short* in, short* out, int nx, int ny, int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    const auto at = [&](int px, int py, int pz) -> int { return in[(((pz + nz) % nz) * ny + (py + ny) % ny) * nx + (px + nx) % nx]; };
    out[(z * ny + y) * nx + x] = static_cast<short>(at(x, y, z) * 6 - at(x - 1, y, z) - at(x + 1, y, z) - at(x, y - 1, z) - at(x, y + 1, z) -
                                                    at(x, y, z - 1) + at(x, y, z + 1));
}
int main() {
    const int w = 75, h = 29;
    auto now = generate(w * h, [](std::size_t i) { return static_cast<int>(mixed(i) % 9); });
    Device<int> a(now), b(now.size());
    int *from = a.data, *to = b.data;
    for (int step = 0; step < 4; ++step) {
        five<<<dim3(3, 4), dim3(32, 8)>>>(from, to, w, h);
        std::swap(from, to);
        std::vector<int> next(now.size());
        const auto at = [&](int x, int y) { return x < 0 || y < 0 || x >= w || y >= h ? 0 : now[y * w + x]; };
        for (int y = 0; y < h; ++y)
            for (int x = 0; x < w; ++x) next[y * w + x] = 2 * at(x, y) - at(x - 1, y) + 3 * at(x + 1, y) - at(x, y - 1) + at(x, y + 1);
        now = next;
    }
    expect_all("five", a.read(), [&](std::size_t i) { return now[i]; });
    const int nx = 13, ny = 7, nz = 5;
    const auto cube = generate(nx * ny * nz, [](std::size_t i) { return static_cast<short>(mixed(i) % 4000); });
    Device<short> c(cube), d(cube.size());
    seven<<<dim3(4, 2, 3), dim3(4, 4, 2)>>>(c.data, d.data, nx, ny, nz);
    const auto got = d.read();
    const auto at = [&](int x, int y, int z) -> int { return cube[(((z + nz) % nz) * ny + (y + ny) % ny) * nx + (x + nx) % nx]; };
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < nx; ++x)
                expect("seven", (z * ny + y) * nx + x, got[(z * ny + y) * nx + x],
                       static_cast<short>(at(x, y, z) * 6 - at(x - 1, y, z) - at(x + 1, y, z) - at(x, y - 1, z) - at(x, y + 1, z) - at(x, y, z - 1) + at(x, y, z + 1)));
    return verdict();
}

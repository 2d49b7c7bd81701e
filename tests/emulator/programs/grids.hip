// Grids and workgroups of one, two and three dimensions with odd sizes: every thread once, with its own coordinates.
#include "check.hpp"

__global__ void mark(unsigned* seen, unsigned long long* where) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    const unsigned wide = gridDim.x * blockDim.x, high = gridDim.y * blockDim.y;
    const unsigned i = (z * high + y) * wide + x;
    atomicAdd(&seen[i], 1U);
    where[i] = (static_cast<unsigned long long>(blockIdx.z * 10000 + blockIdx.y * 100 + blockIdx.x) << 32) |
               (threadIdx.z << 20 | threadIdx.y << 10 | threadIdx.x);
}
// A kernel that asks for few coordinates takes the rest of the packed register for granted.
__global__ void columns(unsigned* counts) { atomicAdd(&counts[threadIdx.x], 1U); }
__global__ void rows(unsigned* counts) { atomicAdd(&counts[threadIdx.y], 1U); }
__global__ void planes(unsigned* counts) { atomicAdd(&counts[threadIdx.z + threadIdx.x], 1U); }

int main() {
    const dim3 group(9, 7, 3);
    Device<unsigned> x(std::vector<unsigned>(2048, 0)), y(std::vector<unsigned>(2048, 0)), z(std::vector<unsigned>(2048, 0));
    columns<<<2, group>>>(x.data);
    rows<<<2, group>>>(y.data);
    planes<<<2, group>>>(z.data);
    expect_all("x alone", x.read(), [](std::size_t i) { return i < 9 ? 42U : 0U; });
    expect_all("y alone", y.read(), [](std::size_t i) { return i < 7 ? 54U : 0U; });
    expect_all("x and z", z.read(), [](std::size_t i) { return i == 0 || i == 10 ? 14U : i == 1 || i == 9 ? 28U : i < 9 ? 42U : 0U; });
    const dim3 shapes[][2] = {{dim3(1), dim3(1)}, {dim3(7), dim3(13)}, {dim3(3, 5), dim3(9, 7)}, {dim3(2, 3, 4), dim3(5, 3, 7)}, {dim3(1, 1, 9), dim3(1, 1, 64)},
                              {dim3(1, 17), dim3(1, 1000)}, {dim3(4, 1, 3), dim3(64, 2, 8)}, {dim3(65, 2), dim3(2, 3, 1)}};
    for (const auto& [grid, group] : shapes) {
        const unsigned wide = grid.x * group.x, high = grid.y * group.y, n = wide * high * grid.z * group.z;
        Device<unsigned> seen(std::vector<unsigned>(n, 0));
        Device<unsigned long long> where(n);
        mark<<<grid, group>>>(seen.data, where.data);
        const auto w = where.read();
        expect_all("seen", seen.read(), [](std::size_t) { return 1U; });
        for (unsigned i = 0; i < n; ++i) {
            const unsigned x = i % wide, y = i / wide % high, z = i / wide / high;
            expect("where", i, w[i], static_cast<unsigned long long>(z / group.z * 10000 + y / group.y * 100 + x / group.x) << 32 |
                                     (z % group.z << 20 | y % group.y << 10 | x % group.x));
        }
    }
    return verdict();
}

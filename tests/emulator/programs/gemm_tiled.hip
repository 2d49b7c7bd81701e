// Matrix products of odd sizes: tiles in LDS with checked edges, register blocking, alpha and beta, transposed input.
#include "check.hpp"

template <bool Transposed>
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta) {
    __shared__ float left[16][17], right[16][17];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int first = 0; first < k; first += 16) {
        left[ty][tx] = y < m && first + tx < k ? a[y * k + first + tx] : 0;
        if constexpr (Transposed) {
            const int row = blockIdx.x * 16 + ty;
            right[tx][ty] = row < n && first + tx < k ? b[row * k + first + tx] : 0;
        } else {
            right[ty][tx] = x < n && first + ty < k ? b[(first + ty) * n + x] : 0;
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[ty][i] * right[i][tx];
        __syncthreads();
    }
    if (x < n && y < m) c[y * n + x] = alpha * sum + beta * c[y * n + x];
}
__global__ void blocked(const double* a, const double* b, double* c, int n) {  // each thread has 2 x 4 results
    double sum[2][4] = {};
    const int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4, y = (blockIdx.y * blockDim.y + threadIdx.y) * 2;
    if (x >= n || y >= n) return;
    for (int k = 0; k < n; ++k)
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 4; ++j)
                if (y + i < n && x + j < n) sum[i][j] += a[(y + i) * n + k] * b[k * n + x + j];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            if (y + i < n && x + j < n) c[(y + i) * n + x + j] = sum[i][j];
}
int main() {
    const int m = 37, n = 51, k = 29;
    const auto make = [](std::size_t i) { return static_cast<float>(static_cast<int>(mixed(i) % 17) - 8); };
    const auto a = generate(m * k, make), b = generate(k * n, make), c = generate(m * n, make);
    auto flipped = b;
    for (int y = 0; y < k; ++y)
        for (int x = 0; x < n; ++x) flipped[x * k + y] = b[y * n + x];
    Device<float> da(a), db(b), dc(c), dt(flipped), de(c);
    product<false><<<dim3(4, 3), dim3(16, 16)>>>(da.data, db.data, dc.data, m, n, k, 2.0F, -0.5F);
    product<true><<<dim3(4, 3), dim3(16, 16)>>>(da.data, dt.data, de.data, m, n, k, 2.0F, -0.5F);
    const auto got = dc.read(), other = de.read();
    for (int y = 0; y < m; ++y)
        for (int x = 0; x < n; ++x) {
            float sum = 0;
            for (int i = 0; i < k; ++i) sum += a[y * k + i] * b[i * n + x];
            expect("product", y * n + x, got[y * n + x], 2 * sum - 0.5F * c[y * n + x]);
            expect("transposed", y * n + x, other[y * n + x], 2 * sum - 0.5F * c[y * n + x]);
        }
    const int size = 43;
    const auto da2 = generate(size * size, [](std::size_t i) { return mixed(i) % 100 * 0.5; });
    Device<double> p(da2), q(size * size);
    blocked<<<dim3(2, 3), dim3(8, 8)>>>(p.data, p.data, q.data, size);
    const auto square = q.read();
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            double sum = 0;
            for (int i = 0; i < size; ++i) sum += da2[y * size + i] * da2[i * size + x];
            expect("blocked", y * size + x, square[y * size + x], sum);
        }
    return verdict();
}

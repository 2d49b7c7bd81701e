// Sparse matrix times vector in CSR form: one thread for each row, one wave for each row, and from ELL; empty rows.
#include "check.hpp"

__global__ void by_thread(const int* start, const int* column, const double* value, const double* x, double* y, int rows) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double sum = 0;
    for (int i = start[r]; i < start[r + 1]; ++i) sum += value[i] * x[column[i]];
    y[r] = sum;
}
__global__ void by_wave(const int* start, const int* column, const double* value, const double* x, double* y, int rows) {
    const int r = (blockIdx.x * blockDim.x + threadIdx.x) / 64, lane = threadIdx.x % 64;
    if (r >= rows) return;
    double sum = 0;
    for (int i = start[r] + lane; i < start[r + 1]; i += 64) sum += value[i] * x[column[i]];
    for (int d = 32; d > 0; d /= 2) sum += __shfl_xor(sum, d);
    if (lane == 0) y[r] = sum;
}
__global__ void padded(const int* column, const double* value, const double* x, double* y, int rows, int width) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double sum = 0;
    for (int k = 0; k < width; ++k) {
        const int c = column[k * rows + r];
        if (c < 0) break;
        sum += value[k * rows + r] * x[c];
    }
    y[r] = sum;
}
int main() {
    const int rows = 203, width = 150;
    std::vector<int> start{0}, column, ell(rows * width, -1);
    std::vector<double> value, ell_value(rows * width, 0);
    for (int r = 0; r < rows; ++r) {
        const int count = r % 7 == 0 ? 0 : static_cast<int>(mixed(r) % (r % 11 == 0 ? width : 12));
        for (int k = 0; k < count; ++k) {
            column.push_back(static_cast<int>(mixed(r * 1000 + k) % rows));
            value.push_back(static_cast<int>(mixed(r * 77 + k) % 41) - 20);
            ell[k * rows + r] = column.back();
            ell_value[k * rows + r] = value.back();
        }
        start.push_back(static_cast<int>(column.size()));
    }
    const auto x = generate(rows, [](std::size_t i) { return static_cast<double>(i) * 0.5; });
    std::vector<double> want(rows, 0);
    for (int r = 0; r < rows; ++r)
        for (int i = start[r]; i < start[r + 1]; ++i) want[r] += value[i] * x[column[i]];
    Device<int> ds(start), dc(column), de(ell);
    Device<double> dv(value), dx(x), dw(ell_value), y(rows);
    const auto same = [&](const char* name) { expect_all(name, y.read(), [&](std::size_t i) { return want[i]; }); };
    by_thread<<<4, 64>>>(ds.data, dc.data, dv.data, dx.data, y.data, rows);
    same("thread");
    by_wave<<<rows / 4 + 1, 256>>>(ds.data, dc.data, dv.data, dx.data, y.data, rows);
    same("wave");
    padded<<<2, 128>>>(de.data, dw.data, dx.data, y.data, rows, width);
    same("padded");
    return verdict();
}

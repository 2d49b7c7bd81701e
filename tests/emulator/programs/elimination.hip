// Gaussian elimination modulo a prime in LDS: many small systems, solutions checked by putting them in.
#include "check.hpp"

constexpr int size = 12;
constexpr unsigned prime = 65521;
__device__ unsigned inverse(unsigned v) {
    unsigned result = 1;
    for (unsigned e = prime - 2; e != 0; e >>= 1, v = v * static_cast<unsigned long long>(v) % prime)
        if (e & 1U) result = static_cast<unsigned>(static_cast<unsigned long long>(result) * v % prime);
    return result;
}
__global__ void solve(const unsigned* in, unsigned* out) {  // a system is size x (size + 1); one thread for each entry
    __shared__ unsigned m[size][size + 1];
    __shared__ int pivot;
    const int row = threadIdx.y, column = threadIdx.x;
    m[row][column] = in[(blockIdx.x * size + row) * (size + 1) + column];
    __syncthreads();
    for (int k = 0; k < size; ++k) {
        if (row == 0 && column == 0)
            for (pivot = k; m[pivot][k] == 0; ++pivot) {}
        __syncthreads();
        if (row == 0 && pivot != k) {
            const unsigned t = m[k][column];
            m[k][column] = m[pivot][column];
            m[pivot][column] = t;
        }
        __syncthreads();
        const unsigned own = m[row][column], factor = m[row][k], top = m[k][column], by = inverse(m[k][k]);
        __syncthreads();
        const unsigned scaled = static_cast<unsigned>(static_cast<unsigned long long>(top) * by % prime);
        m[row][column] = row == k ? scaled : (own + prime - static_cast<unsigned>(static_cast<unsigned long long>(factor) * scaled % prime)) % prime;
        __syncthreads();
    }
    if (column == size) out[blockIdx.x * size + row] = m[row][size];
}
int main() {
    const int systems = 6;
    auto in = generate(systems * size * (size + 1), [](std::size_t i) { return mixed(i) % prime; });
    for (int s = 0; s < systems; ++s) in[s * size * (size + 1)] = 0;  // the first pivot must be looked for
    Device<unsigned> d(in), out(systems * size);
    solve<<<systems, dim3(size + 1, size)>>>(d.data, out.data);
    const auto x = out.read();
    for (int s = 0; s < systems; ++s)
        for (int r = 0; r < size; ++r) {
            const unsigned* row = &in[(s * size + r) * (size + 1)];
            unsigned long long sum = 0;
            for (int c = 0; c < size; ++c) sum = (sum + static_cast<unsigned long long>(row[c]) * x[s * size + c]) % prime;
            expect("row", s * size + r, static_cast<unsigned>(sum), row[size]);
        }
    return verdict();
}

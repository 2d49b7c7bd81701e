// Constant and global variables, dynamic and static LDS, generic pointers, bytes and shorts, vectors, 3-D grids.
#include "check.hpp"

__constant__ float weights[16];
__device__ int counter = 5;
__device__ unsigned char lookup[4] = {10, 20, 30, 40};

__global__ void constants(float* out) { out[threadIdx.x] = weights[threadIdx.x % 16] * 2 + lookup[threadIdx.x % 4]; }
__global__ void globals() { atomicAdd(&counter, 1); }

__device__ __attribute__((noinline)) void store_generic(int* p, int v) { *p = v; }
__global__ void generic(int* out, int n) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[64];
    int own[4] = {1, 2, 3, 4};
    int* where = threadIdx.x % 3 == 0 ? &dynamic[threadIdx.x] : threadIdx.x % 3 == 1 ? &fixed[threadIdx.x] : &own[threadIdx.x % 4];
    dynamic[threadIdx.x] = -1;
    fixed[threadIdx.x] = -2;
    store_generic(where, static_cast<int>(threadIdx.x) * 10);
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < n) out[threadIdx.x] = dynamic[threadIdx.x] + fixed[threadIdx.x] * 1000 + own[threadIdx.x % 4] * 7 + *where;
}
__global__ void narrow(const signed char* a, const unsigned short* b, short* s, unsigned char* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[i] = static_cast<short>(a[i] * 3 - b[i]);
    c[i] = static_cast<unsigned char>(a[i] + (b[i] >> 4));
}
__global__ void vectors(const float4* a, float4* out, const double2* d, double2* e, float3* f, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 v = a[i];
    out[i] = make_float4(v.w, v.z * 2, v.y + v.x, -v.x);
    e[i] = make_double2(d[i].y, d[i].x * 0.5);
    f[i] = make_float3(v.x, v.y, v.z);
}
__global__ void grid(int* out, int nx, int ny) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z + 1000000 * static_cast<int>(gridDim.z);
}
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
int main() {
    float w[16];
    for (int i = 0; i < 16; ++i) w[i] = static_cast<float>(i) * 0.25F;
    must(hipMemcpyToSymbol(HIP_SYMBOL(weights), w, sizeof w), "copy to symbol");
    Device<float> c(64);
    constants<<<1, 64>>>(c.data);
    const auto hc = c.read();
    for (int i = 0; i < 64; ++i) expect("constant", i, hc[static_cast<std::size_t>(i)], w[i % 16] * 2 + static_cast<float>((i % 4 + 1) * 10));

    globals<<<3, 50>>>();
    must(hipDeviceSynchronize(), "globals");
    int count = 0;
    must(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof count), "copy from symbol");
    expect("counter", 0, count, 155);

    Device<int> g(64);
    generic<<<1, 64, 64 * sizeof(int)>>>(g.data, 64);
    const auto hg = g.read();
    for (int t = 0; t < 64; ++t) {
        const int v = t * 10, where = t % 3;
        const int want = (where == 0 ? v : -1) + (where == 1 ? v : -2) * 1000 + (where == 2 ? v : t % 4 + 1) * 7 + v;
        expect("generic", t, hg[static_cast<std::size_t>(t)], want);
    }

    const int n = 300;
    std::vector<signed char> a(n);
    std::vector<unsigned short> b(n);
    std::vector<float4> v(n);
    std::vector<double2> d(n);
    for (int i = 0; i < n; ++i) {
        const std::size_t s = static_cast<std::size_t>(i);
        a[s] = static_cast<signed char>(i * 7);
        b[s] = static_cast<unsigned short>(i * 331);
        v[s] = make_float4(static_cast<float>(i), static_cast<float>(i) * 0.5F, 3.0F, -1.0F);
        d[s] = make_double2(i * 1.25, -i);
    }
    Device<signed char> da(a);
    Device<unsigned short> db(b);
    Device<short> ds(n);
    Device<unsigned char> dc(n);
    Device<float4> dv(v), dw(n);
    Device<double2> dd(d), de(n);
    Device<float3> df(n);
    narrow<<<2, 256>>>(da.data, db.data, ds.data, dc.data, n);
    vectors<<<2, 256>>>(dv.data, dw.data, dd.data, de.data, df.data, n);
    const auto hs = ds.read();
    const auto hcv = dc.read();
    const auto hw = dw.read();
    const auto he = de.read();
    const auto hf = df.read();
    for (int i = 0; i < n; ++i) {
        const std::size_t s = static_cast<std::size_t>(i);
        expect("short", s, hs[s], static_cast<short>(a[s] * 3 - b[s]));
        expect("byte", s, hcv[s], static_cast<unsigned char>(a[s] + (b[s] >> 4)));
        expect("float4.x", s, hw[s].x, v[s].w);
        expect("float4.y", s, hw[s].y, v[s].z * 2);
        expect("float4.z", s, hw[s].z, v[s].y + v[s].x);
        expect("float4.w", s, hw[s].w, -v[s].x);
        expect("double2.x", s, he[s].x, d[s].y);
        expect("double2.y", s, he[s].y, d[s].x * 0.5);
        expect("float3", s, hf[s].x + hf[s].y * 3 + hf[s].z * 5, v[s].x + v[s].y * 3 + v[s].z * 5);
    }
    const int nx = 24, ny = 10, nz = 6;
    Device<int> points(static_cast<std::size_t>(nx * ny * nz));
    grid<<<dim3(3, 2, 3), dim3(8, 5, 2)>>>(points.data, nx, ny);
    const auto hp = points.read();
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < nx; ++x) {
                const std::size_t s = static_cast<std::size_t>((z * ny + y) * nx + x);
                expect("grid", s, hp[s], x + 100 * y + 10000 * z + 3000000);
            }
    const int m = 64;
    std::vector<float> square(static_cast<std::size_t>(m) * m);
    for (std::size_t i = 0; i < square.size(); ++i) square[i] = static_cast<float>(i);
    Device<float> from(square), to(square.size());
    transpose<<<dim3(4, 4), dim3(16, 16)>>>(from.data, to.data, m);
    const auto t = to.read();
    for (int y = 0; y < m; ++y)
        for (int x = 0; x < m; ++x) expect("transpose", static_cast<std::size_t>(y * m + x), t[static_cast<std::size_t>(y * m + x)], square[static_cast<std::size_t>(x * m + y)]);
    return verdict();
}

// Gravity between all pairs with tiles in LDS: positions and speeds after a few steps, and momentum stays.
#include "check.hpp"

__global__ void step(const double4* in, double4* out, double3* speed, int n, double dt) {
    __shared__ double4 tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    const double4 own = i < n ? in[i] : make_double4(0, 0, 0, 0);
    double ax = 0, ay = 0, az = 0;
    for (int first = 0; first < n; first += 64) {
        if (first + static_cast<int>(threadIdx.x) < n) tile[threadIdx.x] = in[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64 && first + j < n; ++j) {
            const double dx = tile[j].x - own.x, dy = tile[j].y - own.y, dz = tile[j].z - own.z;
            const double r = dx * dx + dy * dy + dz * dz + 0.01, f = tile[j].w / (r * sqrt(r));
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        __syncthreads();
    }
    if (i >= n) return;
    double3 v = speed[i];
    v.x += ax * dt;
    v.y += ay * dt;
    v.z += az * dt;
    speed[i] = v;
    out[i] = make_double4(own.x + v.x * dt, own.y + v.y * dt, own.z + v.z * dt, own.w);
}
int main() {
    const int n = 150;
    auto bodies = generate(n, [](std::size_t i) { return make_double4(mixed(i) % 100 * 0.1, mixed(i + 1000) % 100 * 0.1, mixed(i + 2000) % 100 * 0.1, 0.5 + i % 3); });
    Device<double4> a(bodies), b(n);
    Device<double3> speed(std::vector<double3>(n, make_double3(0, 0, 0)));
    step<<<3, 64>>>(a.data, b.data, speed.data, n, 0.01);
    step<<<3, 64>>>(b.data, a.data, speed.data, n, 0.01);
    std::vector<double3> v(n, make_double3(0, 0, 0));
    for (int s = 0; s < 2; ++s) {
        const auto old = bodies;
        for (int i = 0; i < n; ++i) {
            double ax = 0, ay = 0, az = 0;
            for (int j = 0; j < n; ++j) {
                const double dx = old[j].x - old[i].x, dy = old[j].y - old[i].y, dz = old[j].z - old[i].z;
                const double r = dx * dx + dy * dy + dz * dz + 0.01, f = old[j].w / (r * std::sqrt(r));
                ax += dx * f, ay += dy * f, az += dz * f;
            }
            v[i] = make_double3(v[i].x + ax * 0.01, v[i].y + ay * 0.01, v[i].z + az * 0.01);
            bodies[i] = make_double4(old[i].x + v[i].x * 0.01, old[i].y + v[i].y * 0.01, old[i].z + v[i].z * 0.01, old[i].w);
        }
    }
    const auto got = a.read();
    const auto moved = speed.read();
    double momentum = 0;
    for (int i = 0; i < n; ++i) {
        expect("x", i, got[i].x, bodies[i].x, 1e-12);
        expect("y", i, got[i].y, bodies[i].y, 1e-12);
        expect("z", i, got[i].z, bodies[i].z, 1e-12);
        momentum += moved[i].x * bodies[i].w;
    }
    expect("momentum", 0, momentum, 0.0, 1e-9);
    return verdict();
}

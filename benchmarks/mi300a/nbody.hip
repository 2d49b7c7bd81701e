// All-pairs gravity; tiles of positions are staged in global memory. Argument: number of bodies.
#include "timing.hpp"

__global__ void nbody(float4* position, float4* velocity, int n, float step, float softening, float4* staged,
                      float4* new_position, float4* new_velocity) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    const int local = threadIdx.x;
    const float4 mine = position[id];
    float ax = 0, ay = 0, az = 0;
    for (int tile = 0; tile < n / static_cast<int>(blockDim.x); ++tile) {
        staged[local] = position[tile * blockDim.x + local];
        __syncthreads();
        for (int k = 0; k < static_cast<int>(blockDim.x); ++k) {
            const float4 other = staged[k];
            const float x = other.x - mine.x, y = other.y - mine.y, z = other.z - mine.z;
            const float inverse = 1.0f / sqrtf(x * x + y * y + z * z + softening);
            const float scale = other.w * inverse * inverse * inverse;
            ax += scale * x;
            ay += scale * y;
            az += scale * z;
        }
        __syncthreads();
    }
    const float4 v = velocity[id];
    new_position[id] = float4{mine.x + v.x * step + 0.5f * ax * step * step, mine.y + v.y * step + 0.5f * ay * step * step,
                              mine.z + v.z * step + 0.5f * az * step * step, mine.w};
    new_velocity[id] = float4{v.x + ax * step, v.y + ay * step, v.z + az * step, v.w};
}

int main(int argc, char** argv) {
    const int n = static_cast<int>(argument(argc, argv, 1, 1024));
    auto *position = device_array<float4>(n), *velocity = device_array<float4>(n), *staged = device_array<float4>(n),
         *new_position = device_array<float4>(n), *new_velocity = device_array<float4>(n);
    time_launch([&] { nbody<<<n / 256, 256>>>(position, velocity, n, 0.01f, 50.0f, staged, new_position, new_velocity); });
}

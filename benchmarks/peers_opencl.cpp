// The same kernels as in speed.hip, in OpenCL C, on the first OpenCL device that is a CPU. See peers.py.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

constexpr int kElements = 1 << 20, kSteps = 200, kSide = 256;

const char* const kSource = R"(
kernel void vadd(global const float* a, global const float* b, global float* c, int n) {
    const int i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}
kernel void daxpy(global const double* a, global double* c, int n) {
    const int i = get_global_id(0);
    if (i < n) c[i] = 2.5 * a[i] + c[i];
}
kernel void fma_loop(global float* a, int steps) {
    const int i = get_global_id(0);
    float x = a[i], y = x;
    for (int k = 0; k < steps; ++k) {
        x = x * 1.0001f + 0.5f;
        y = y * 0.999f - x;
    }
    a[i] = x + y;
}
kernel void stencil(global const float* a, global float* c, int n) {
    const int i = get_global_id(0);
    if (i > 0 && i < n - 1) c[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
}
kernel void matmul(global const float* a, global const float* b, global float* c, int n) {
    local float left[16][16], right[16][16];
    const int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 16; ++j) sum += left[y][j] * right[j][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
)";

void check(cl_int error, const char* what) {
    if (error == CL_SUCCESS) return;
    std::fprintf(stderr, "%s: OpenCL error %d\n", what, error);
    std::exit(3);
}

double cpu_ms() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

struct Device {
    cl_context context;
    cl_command_queue queue;
    cl_program program;

    cl_mem array(std::size_t bytes) const {
        cl_int error = 0;
        std::vector<char> zeros(bytes);
        cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, zeros.data(), &error);
        check(error, "clCreateBuffer");
        return made;
    }
};

struct Shape {
    cl_uint dimensions;
    std::size_t global[2], local[2];
};

/// The first launch compiles and is not printed; then one line per launch: name, elements, milliseconds.
void measure(const Device& device, const char* name, const std::vector<cl_mem>& arrays, int last, const Shape& shape) {
    cl_int error = 0;
    cl_kernel kernel = clCreateKernel(device.program, name, &error);
    check(error, name);
    cl_uint index = 0;
    for (const cl_mem& array : arrays) check(clSetKernelArg(kernel, index++, sizeof array, &array), name);
    check(clSetKernelArg(kernel, index, sizeof last, &last), name);
    for (int k = 0; k < 6; ++k) {
        const double begin = cpu_ms();
        check(clEnqueueNDRangeKernel(device.queue, kernel, shape.dimensions, nullptr, shape.global, shape.local, 0, nullptr, nullptr), name);
        check(clFinish(device.queue), name);
        if (k > 0) std::printf("%s %zu %.6f\n", name, shape.global[0] * shape.global[1], cpu_ms() - begin);
    }
}

}  // namespace

int main() {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) count = 0;
    cl_device_id id = nullptr;
    for (cl_uint i = 0; i < count && id == nullptr; ++i)
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &id, nullptr) != CL_SUCCESS) id = nullptr;
    if (id == nullptr) {
        std::fprintf(stderr, "no OpenCL device that is a CPU\n");
        return 3;
    }
    char version[256] = "";
    clGetDeviceInfo(id, CL_DEVICE_VERSION, sizeof version, version, nullptr);
    std::fprintf(stderr, "%s\n", version);
    cl_int error = 0;
    Device device{};
    device.context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error);
    check(error, "clCreateContext");
    device.queue = clCreateCommandQueue(device.context, id, 0, &error);
    check(error, "clCreateCommandQueue");
    const char* source = kSource;
    device.program = clCreateProgramWithSource(device.context, 1, &source, nullptr, &error);
    check(error, "clCreateProgramWithSource");
    check(clBuildProgram(device.program, 1, &id, "", nullptr, nullptr), "clBuildProgram");
    cl_mem a = device.array(kElements * 4), b = device.array(kElements * 4), c = device.array(kElements * 4);
    cl_mem d = device.array(kElements * 8), e = device.array(kElements * 8);
    const Shape all{1, {kElements, 1}, {256, 1}};
    measure(device, "vadd", {a, b, c}, kElements, all);
    measure(device, "daxpy", {d, e}, kElements, all);
    measure(device, "fma_loop", {a}, kSteps, {1, {1024 * 256, 1}, {256, 1}});
    measure(device, "stencil", {a, c}, kElements, all);
    measure(device, "matmul", {a, b, c}, kSide, {2, {kSide, kSide}, {16, 16}});
}

// Device variables of many types, written by kernels and by the host, found by address and read in parts.
#include "check.hpp"

struct Node { int value; Node* next; };
__device__ unsigned long long total;
__device__ Node nodes[50];
__device__ Node* head;
__device__ double matrix[4][6] = {{1.5}, {0, 2.5}};
__device__ unsigned char bytes[13];
namespace inner { __device__ volatile int flag = 9; }

__global__ void link() {
    const int i = threadIdx.x;
    nodes[i] = {i * i, i + 1 < 50 ? &nodes[i + 1] : nullptr};
    if (i == 0) head = &nodes[0];
    if (i < 13) bytes[i] = static_cast<unsigned char>(bytes[i] + i);
}
__global__ void walk() {
    unsigned long long sum = 0;
    int place = 0;
    for (const Node* n = head; n != nullptr; n = n->next) sum += static_cast<unsigned long long>(n->value) * static_cast<unsigned>(++place);
    total = sum;
    matrix[3][5] = matrix[0][0] + matrix[1][1] * inner::flag;
}
int main() {
    unsigned char start[13];
    for (int i = 0; i < 13; ++i) start[i] = static_cast<unsigned char>(200 + i);
    must(hipMemcpyToSymbol(HIP_SYMBOL(bytes), start, sizeof start), "bytes");
    void* address = nullptr;
    std::size_t size = 0;
    must(hipGetSymbolAddress(&address, HIP_SYMBOL(matrix)), "address");
    must(hipGetSymbolSize(&size, HIP_SYMBOL(matrix)), "size");
    expect("size", 0, size, sizeof(double) * 24);
    link<<<1, 50>>>();
    walk<<<1, 1>>>();
    must(hipDeviceSynchronize(), "walk");
    unsigned long long sum = 0, want = 0;
    must(hipMemcpyFromSymbol(&sum, HIP_SYMBOL(total), sizeof sum), "total");
    for (unsigned long long i = 0; i < 50; ++i) want += i * i * (i + 1);
    expect("total", 0, sum, want);
    std::vector<double> row(6);
    must(hipMemcpy(row.data(), static_cast<double*>(address) + 18, 48, hipMemcpyDeviceToHost), "row");
    expect("matrix", 0, row[5], 1.5 + 2.5 * 9);
    Node third{};
    must(hipMemcpyFromSymbol(&third, HIP_SYMBOL(nodes), sizeof third, 3 * sizeof third), "node");
    expect("node", 0, third.value, 9);
    unsigned char back[13];
    must(hipMemcpyFromSymbol(back, HIP_SYMBOL(bytes), sizeof back), "bytes");
    for (int i = 0; i < 13; ++i) expect("bytes", i, static_cast<int>(back[i]), (200 + 2 * i) & 255);
    return verdict();
}

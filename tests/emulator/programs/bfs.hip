// Breadth-first search over a random graph with a queue for each level; connected components by union-find.
#include "check.hpp"

__global__ void level(const int* start, const int* edge, int* depth, const int* queue, int size, int* next, int* next_size, int d) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const int v = queue[i];
    for (int k = start[v]; k < start[v + 1]; ++k)
        if (atomicCAS(&depth[edge[k]], -1, d) == -1) next[atomicAdd(next_size, 1)] = edge[k];
}
__device__ int root_of(volatile int* parent, int v) {
    while (parent[v] != v) v = parent[v];
    return v;
}
__global__ void unite(const int* start, const int* edge, int* parent, int n) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int k = start[v]; k < start[v + 1]; ++k) {
        int a = root_of(parent, v), b = root_of(parent, edge[k]);
        while (a != b) {
            const int high = max(a, b), low = min(a, b), seen = atomicCAS(&parent[high], high, low);
            if (seen == high) break;
            a = root_of(parent, seen);
            b = root_of(parent, low);
        }
    }
}
__global__ void flatten(int* parent, int n) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n) __hip_atomic_store(&parent[v], root_of(parent, v), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
int main() {
    const int n = 700;
    std::vector<std::vector<int>> graph(n);
    for (int i = 0; i < 800; ++i) {
        const int a = static_cast<int>(mixed(i) % n), b = static_cast<int>(mixed(i + 5000) % n);
        graph[a].push_back(b);
        graph[b].push_back(a);
    }
    std::vector<int> start{0}, edge;
    for (const auto& neighbours : graph) {
        edge.insert(edge.end(), neighbours.begin(), neighbours.end());
        start.push_back(static_cast<int>(edge.size()));
    }
    std::vector<int> want(n, -1), queue{1}, label(n, -1);
    want[1] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
        for (const int v : graph[queue[i]])
            if (want[v] < 0) want[v] = want[queue[i]] + 1, queue.push_back(v);
    for (int s = 0; s < n; ++s) {  // in ascending order, so that a component is named after its lowest vertex
        if (label[s] >= 0) continue;
        std::vector<int> stack{s};
        label[s] = s;
        while (!stack.empty()) {
            const int v = stack.back();
            stack.pop_back();
            for (const int u : graph[v])
                if (label[u] < 0) label[u] = s, stack.push_back(u);
        }
    }
    std::vector<int> depth(n, -1);
    depth[1] = 0;
    Device<int> ds(start), de(edge), dd(depth), a(std::vector<int>(n, 1)), b(n), size(1), parent(generate(n, [](std::size_t i) { return static_cast<int>(i); }));
    int *now = a.data, *next = b.data, count = 1;
    for (int d = 1; count > 0; ++d) {
        const int zero = 0;
        must(hipMemcpy(size.data, &zero, sizeof zero, hipMemcpyHostToDevice), "reset");
        level<<<(count + 63) / 64, 64>>>(ds.data, de.data, dd.data, now, count, next, size.data, d);
        count = size.read()[0];
        std::swap(now, next);
    }
    expect_all("depth", dd.read(), [&](std::size_t i) { return want[i]; });
    unite<<<6, 128>>>(ds.data, de.data, parent.data, n);
    flatten<<<6, 128>>>(parent.data, n);
    expect_all("component", parent.read(), [&](std::size_t i) { return label[i]; });
    return verdict();
}

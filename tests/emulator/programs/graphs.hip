// Graphs: nodes that must wait and nodes that need not, built by hand and captured from streams; changed, disabled, nested,
// launched again.
#include "check.hpp"

__global__ void scale(int* p, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= by;
}
__global__ void add(const int* a, const int* b, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
__global__ void histogram(const int* in, int* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i] % 16], 1);
}

constexpr int kCount = 3000;
int calls = 0;
void count_call(void* data) { calls += *static_cast<int*>(data); }

int main() {
  const auto start = generate(kCount, [](size_t i) { return static_cast<int>(i % 100); });
  Device<int> source(start), left(kCount), right(kCount), sum(kCount), bins(16);
  const dim3 grid((kCount + 255) / 256), block(256);
  int n = kCount, two = 2, three = 3, step = 10;

  // Two branches from the same source that meet again.
  hipGraph_t graph;
  must(hipGraphCreate(&graph, 0), "graph");
  hipGraphNode_t copies[2], scales[2], meet, zero, count, host;
  Device<int>* const branches[2] = {&left, &right};
  int* const factors[2] = {&two, &three};
  for (int b = 0; b < 2; ++b) {
    must(hipGraphAddMemcpyNode1D(&copies[b], graph, nullptr, 0, branches[b]->data, source.data, kCount * 4, hipMemcpyDeviceToDevice), "copy node");
    void* arguments[] = {&branches[b]->data, &n, factors[b]};
    hipKernelNodeParams p = {};
    p.func = reinterpret_cast<void*>(scale);
    p.gridDim = grid;
    p.blockDim = block;
    p.kernelParams = arguments;
    must(hipGraphAddKernelNode(&scales[b], graph, &copies[b], 1, &p), "kernel node");
  }
  void* add_arguments[] = {const_cast<int**>(&left.data), const_cast<int**>(&right.data), &sum.data, &n};
  hipKernelNodeParams add_params = {};
  add_params.func = reinterpret_cast<void*>(add);
  add_params.gridDim = grid;
  add_params.blockDim = block;
  add_params.kernelParams = add_arguments;
  must(hipGraphAddKernelNode(&meet, graph, scales, 2, &add_params), "kernel node");
  hipMemsetParams fill = {};
  fill.dst = bins.data;
  fill.elementSize = 4;
  fill.width = 16;
  fill.height = 1;
  must(hipGraphAddMemsetNode(&zero, graph, nullptr, 0, &fill), "fill node");
  void* count_arguments[] = {&sum.data, &bins.data, &n};
  hipKernelNodeParams count_params = {};
  count_params.func = reinterpret_cast<void*>(histogram);
  count_params.gridDim = dim3(5);
  count_params.blockDim = dim3(128);
  count_params.kernelParams = count_arguments;
  const hipGraphNode_t before[] = {meet, zero};
  must(hipGraphAddKernelNode(&count, graph, before, 2, &count_params), "kernel node");
  hipHostNodeParams call = {};
  call.fn = count_call;
  call.userData = &step;
  must(hipGraphAddHostNode(&host, graph, &count, 1, &call), "host node");

  hipGraphExec_t exec;
  must(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), "instantiate");
  hipStream_t stream, other;
  must(hipStreamCreate(&stream), "stream");
  must(hipStreamCreate(&other), "stream");
  const auto check = [&](const char* what, int factor) {
    must(hipStreamSynchronize(stream), what);
    expect_all(what, sum.read(), [&](size_t i) { return start[i] * factor; });
    std::vector<int> right_bins(16);
    for (int v : start) ++right_bins[v * factor % 16];
    expect_all(what, bins.read(), [&](size_t i) { return right_bins[i]; });
  };
  for (int i = 0; i < 3; ++i) must(hipGraphLaunch(exec, stream), "launch");
  check("by hand", 5);
  expect("calls of the host", 0, calls, 30);

  // One argument changed in the executable graph.
  int seven = 7;
  void* changed[] = {&right.data, &n, &seven};
  hipKernelNodeParams p = {};
  p.func = reinterpret_cast<void*>(scale);
  p.gridDim = grid;
  p.blockDim = block;
  p.kernelParams = changed;
  must(hipGraphExecKernelNodeSetParams(exec, scales[1], &p), "change");
  must(hipGraphLaunch(exec, stream), "launch");
  check("changed", 9);

  // The same work captured from two streams, as a child of another graph that runs it twice.
  hipEvent_t fork, join;
  must(hipEventCreate(&fork), "event");
  must(hipEventCreate(&join), "event");
  must(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), "begin");
  must(hipEventRecord(fork, stream), "fork");
  must(hipStreamWaitEvent(other, fork, 0), "fork");
  must(hipMemcpyAsync(left.data, source.data, kCount * 4, hipMemcpyDeviceToDevice, stream), "copy");
  scale<<<grid, block, 0, stream>>>(left.data, n, 4);
  must(hipMemcpyAsync(right.data, source.data, kCount * 4, hipMemcpyDeviceToDevice, other), "copy");
  scale<<<grid, block, 0, other>>>(right.data, n, 6);
  must(hipEventRecord(join, other), "join");
  must(hipStreamWaitEvent(stream, join, 0), "join");
  add<<<grid, block, 0, stream>>>(left.data, right.data, sum.data, n);
  must(hipMemsetAsync(bins.data, 0, 64, stream), "fill");
  histogram<<<7, 64, 0, stream>>>(sum.data, bins.data, n);
  hipGraph_t captured, outer;
  must(hipStreamEndCapture(stream, &captured), "end");
  must(hipGraphCreate(&outer, 0), "graph");
  hipGraphNode_t children[2];
  for (int i = 0; i < 2; ++i) must(hipGraphAddChildGraphNode(&children[i], outer, children, i, captured), "child");
  hipGraphExec_t nested;
  must(hipGraphInstantiate(&nested, outer, nullptr, nullptr, 0), "instantiate");
  must(hipGraphLaunch(nested, stream), "launch");
  check("captured", 10);
  must(hipGraphExecDestroy(nested), "destroy");
  must(hipGraphExecDestroy(exec), "destroy");
  for (hipGraph_t g : {graph, captured, outer}) must(hipGraphDestroy(g), "destroy");
  return verdict();
}

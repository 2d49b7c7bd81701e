"""Graphs, stream capture, and the modelled time of streams and events."""

from __future__ import annotations

from pathlib import Path

from tests.emulator.hip_run import run_hip

GRAPH = """
__global__ void scale(int* d, int by, int n) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) d[i] *= by; }
__global__ void add(int* d, const int* a, const int* b, int n) {
  int i = blockIdx.x * 64 + threadIdx.x; if (i < n) d[i] = a[i] + b[i]; }
__device__ int bias = 100;
void note(void* p) { ++*static_cast<int*>(p); }
int main() {
  const int n = 300; const size_t bytes = n * 4;
  std::vector<int> h(n), r(n);
  for (int i = 0; i < n; ++i) h[i] = i;
  int *a, *b, *c; CHECK(hipMalloc(&a, bytes)); CHECK(hipMalloc(&b, bytes)); CHECK(hipMalloc(&c, bytes));
  hipGraph_t g; CHECK(hipGraphCreate(&g, 0));
  int by = 3, count = n, calls = 0, factor = 0;
  hipGraphNode_t in, fill, left, right, sum, out, host, end, get;
  CHECK(hipGraphAddMemcpyNode1D(&in, g, nullptr, 0, a, h.data(), bytes, hipMemcpyHostToDevice));
  hipMemsetParams m{}; m.dst = b; m.elementSize = 4; m.width = n; m.height = 1; m.value = 7;
  CHECK(hipGraphAddMemsetNode(&fill, g, nullptr, 0, &m));
  void* args1[] = {&a, &by, &count}; void* args2[] = {&b, &by, &count}; void* args3[] = {&c, &a, &b, &count};
  hipKernelNodeParams k{}; k.func = reinterpret_cast<void*>(scale); k.gridDim = dim3(5); k.blockDim = dim3(64);
  // Added in the wrong order on purpose: the sum before what it waits for.
  k.func = reinterpret_cast<void*>(add); k.kernelParams = args3;
  CHECK(hipGraphAddKernelNode(&sum, g, nullptr, 0, &k));
  k.func = reinterpret_cast<void*>(scale); k.kernelParams = args1;
  CHECK(hipGraphAddKernelNode(&left, g, &in, 1, &k));
  k.kernelParams = args2;
  CHECK(hipGraphAddKernelNode(&right, g, &fill, 1, &k));
  hipGraphNode_t from[] = {left, right}, to[] = {sum, sum};
  CHECK(hipGraphAddDependencies(g, from, to, 2));
  CHECK(hipGraphAddMemcpyNode1D(&out, g, &sum, 1, r.data(), c, bytes, hipMemcpyDeviceToHost));
  hipHostNodeParams hn{note, &calls};
  CHECK(hipGraphAddHostNode(&host, g, &out, 1, &hn));
  CHECK(hipGraphAddEmptyNode(&end, g, &host, 1));
  CHECK(hipGraphAddMemcpyNodeFromSymbol(&get, g, nullptr, 0, &factor, &bias, 4, 0, hipMemcpyDeviceToHost));
  size_t nodes = 0, roots = 0, edges = 0, waits = 0;
  CHECK(hipGraphGetNodes(g, nullptr, &nodes)); CHECK(hipGraphGetRootNodes(g, nullptr, &roots));
  CHECK(hipGraphGetEdges(g, nullptr, nullptr, &edges)); CHECK(hipGraphNodeGetDependencies(sum, nullptr, &waits));
  hipGraphNodeType type; CHECK(hipGraphNodeGetType(sum, &type));
  std::printf("%zu nodes %zu roots %zu edges %zu waits %d\\n", nodes, roots, edges, waits,
    type == hipGraphNodeTypeKernel);
  hipGraphExec_t e; CHECK(hipGraphInstantiate(&e, g, nullptr, nullptr, 0));
  hipStream_t s; CHECK(hipStreamCreate(&s));
  auto wrong = [&](int expect) { int bad = 0; for (int i = 0; i < n; ++i) bad += r[i] != i * expect + 21; return bad; };
  for (int k = 0; k < 2; ++k) { CHECK(hipGraphLaunch(e, s)); CHECK(hipStreamSynchronize(s)); }
  std::printf("%d wrong, %d calls, bias %d\\n", wrong(3), calls, factor);
  int five = 5; void* args4[] = {&a, &five, &count};
  k.kernelParams = args4;
  CHECK(hipGraphExecKernelNodeSetParams(e, left, &k));
  CHECK(hipGraphLaunch(e, s)); CHECK(hipStreamSynchronize(s));
  std::printf("%d wrong after the change\\n", wrong(5));
  hipGraph_t copy; CHECK(hipGraphClone(&copy, g));
  hipGraphNode_t twin; CHECK(hipGraphNodeFindInClone(&twin, left, copy));
  hipKernelNodeParams seen{}; CHECK(hipGraphKernelNodeGetParams(twin, &seen));
  std::printf("%d %u %d\\n", twin != left, seen.gridDim.x, *static_cast<int*>(seen.kernelParams[1]));
  k.kernelParams = args4; CHECK(hipGraphKernelNodeSetParams(twin, &k));
  hipGraph_t outer; CHECK(hipGraphCreate(&outer, 0)); hipGraphNode_t child;
  CHECK(hipGraphAddChildGraphNode(&child, outer, nullptr, 0, copy));
  CHECK(hipGraphDestroy(copy));
  hipGraphExec_t e2; CHECK(hipGraphInstantiate(&e2, outer, nullptr, nullptr, 0));
  std::fill(r.begin(), r.end(), 0);
  CHECK(hipGraphLaunch(e2, s)); CHECK(hipStreamSynchronize(s));
  std::printf("%d wrong in the child, %d calls\\n", wrong(5), calls);
  hipGraphExecUpdateResult result; hipGraphNode_t culprit = nullptr;
  CHECK(hipGraphExecUpdate(e, g, &culprit, &result));
  CHECK(hipGraphLaunch(e, s)); CHECK(hipStreamSynchronize(s));
  std::printf("%d wrong after the update\\n", wrong(3));
  (void)hipGraphExecUpdate(e, outer, &culprit, &result);
  std::printf("%d\\n", result == hipGraphExecUpdateErrorTopologyChanged);
  hipGraphNode_t ring_from[] = {end}, ring_to[] = {in};
  CHECK(hipGraphAddDependencies(g, ring_from, ring_to, 1));
  hipGraphExec_t none; std::printf("ring: %s\\n", hipGetErrorName(hipGraphInstantiate(&none, g, nullptr, nullptr, 0)));
  CHECK(hipGraphExecDestroy(e)); CHECK(hipGraphExecDestroy(e2)); CHECK(hipGraphDestroy(g));
  CHECK(hipGraphDestroy(outer));
  std::printf("again: %s\\n", hipGetErrorName(hipGraphDestroy(g)));
}
"""


def test_a_graph_runs_its_nodes_in_the_order_of_their_dependencies(tmp_path: Path) -> None:
    ran = run_hip(GRAPH, tmp_path)
    assert ran.stdout.splitlines() == [
        "9 nodes 3 roots 7 edges 2 waits 1",
        "0 wrong, 2 calls, bias 100",
        "0 wrong after the change",
        "1 5 3",
        "0 wrong in the child, 4 calls",
        "0 wrong after the update",
        "1",
        "ring: hipErrorInvalidValue",
        "again: hipErrorInvalidValue",
    ], ran.stderr


CAPTURE = """
__global__ void step(int* d, int by) { d[threadIdx.x] = d[threadIdx.x] * 2 + by; }
__global__ void join(int* d, const int* e) { d[threadIdx.x] += e[threadIdx.x]; }
void note(void* p) { ++*static_cast<int*>(p); }
int main() {
  int *d, *e; CHECK(hipMalloc(&d, 256)); CHECK(hipMalloc(&e, 256));
  std::vector<int> h(64, 1), r(64); int calls = 0;
  hipStream_t s, t; CHECK(hipStreamCreate(&s)); CHECK(hipStreamCreate(&t));
  hipEvent_t fork, back; CHECK(hipEventCreate(&fork)); CHECK(hipEventCreate(&back));
  hipStreamCaptureStatus status;
  CHECK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  CHECK(hipStreamIsCapturing(s, &status)); std::printf("capturing %d\\n", status);
  CHECK(hipMemcpyAsync(d, h.data(), 256, hipMemcpyHostToDevice, s));
  CHECK(hipEventRecord(fork, s)); CHECK(hipStreamWaitEvent(t, fork, 0));
  step<<<1, 64, 0, s>>>(d, 10);
  CHECK(hipMemsetAsync(e, 0, 256, t)); step<<<1, 64, 0, t>>>(e, 7);
  CHECK(hipEventRecord(back, t)); CHECK(hipStreamWaitEvent(s, back, 0));
  join<<<1, 64, 0, s>>>(d, e);
  CHECK(hipMemcpyAsync(r.data(), d, 256, hipMemcpyDeviceToHost, s));
  CHECK(hipLaunchHostFunc(s, note, &calls));
  hipGraph_t g; CHECK(hipStreamEndCapture(s, &g));
  size_t n = 0; CHECK(hipGraphGetNodes(g, nullptr, &n));
  CHECK(hipStreamIsCapturing(t, &status));
  std::printf("%zu nodes, not run: %d, ended %d\\n", n, r[0] == 0 && calls == 0, status);
  hipGraphExec_t x; CHECK(hipGraphInstantiate(&x, g, nullptr, nullptr, 0));
  CHECK(hipGraphDestroy(g));
  for (int k = 0; k < 3; ++k) CHECK(hipGraphLaunch(x, s));
  CHECK(hipStreamSynchronize(s));
  std::printf("%d %d calls\\n", r[5], calls);
  CHECK(hipGraphExecDestroy(x));
  // what must not be done
  CHECK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  step<<<1, 64>>>(d, 1);
  std::printf("%s\\n", hipGetErrorName(hipGetLastError()));
  std::printf("%s\\n", hipGetErrorName(hipStreamSynchronize(s)));
  std::printf("%s\\n", hipGetErrorName(hipStreamEndCapture(s, &g)));
  CHECK(hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed));
  CHECK(hipEventRecord(fork, s)); CHECK(hipStreamWaitEvent(t, fork, 0)); step<<<1, 64, 0, t>>>(e, 7);
  std::printf("%s\\n", hipGetErrorName(hipStreamEndCapture(t, &g)));
  std::printf("%s\\n", hipGetErrorName(hipStreamEndCapture(s, &g)));
  std::printf("%s\\n", hipGetErrorName(hipStreamEndCapture(s, &g)));
}
"""


def test_a_captured_stream_becomes_a_graph_with_what_joined_it(tmp_path: Path) -> None:
    ran = run_hip(CAPTURE, tmp_path)
    assert ran.stdout.splitlines() == [
        "capturing 1",
        "7 nodes, not run: 1, ended 0",
        "19 3 calls",
        "hipErrorStreamCaptureImplicit",
        "hipErrorStreamCaptureUnsupported",
        "hipErrorStreamCaptureInvalidated",
        "hipErrorStreamCaptureUnmatched",
        "hipErrorStreamCaptureUnjoined",
        "hipErrorIllegalState",
    ], ran.stderr


# What cudaMalloc does too: a call that could wait for the device is refused while a capture forbids it, and spoils it.
UNSAFE = """
#include <thread>
void* p;
void say(const char* what, hipError_t e) { std::printf("%s %s\\n", what, hipGetErrorName(e)); }
hipError_t elsewhere(bool relaxed = false) {
  hipError_t e;
  std::thread([&] {
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    if (relaxed) CHECK(hipThreadExchangeStreamCaptureMode(&mode));
    e = hipMalloc(&p, 64);
  }).join();
  return e;
}
int main() {
  hipStream_t s, t; CHECK(hipStreamCreate(&s)); CHECK(hipStreamCreateWithFlags(&t, hipStreamNonBlocking));
  hipGraph_t g; void* q;
  CHECK(hipMalloc(&q, 64));
  auto in = [&](hipStreamCaptureMode mode, const char* what, auto call) {
    CHECK(hipStreamBeginCapture(s, mode));
    say(what, call());
    say("  capture", hipStreamEndCapture(s, &g));
  };
  in(hipStreamCaptureModeGlobal, "malloc", [] { return hipMalloc(&p, 64); });
  in(hipStreamCaptureModeGlobal, "host", [] { return hipHostMalloc(&p, 64, 0); });
  in(hipStreamCaptureModeGlobal, "free", [&] { return hipFree(q); });
  in(hipStreamCaptureModeGlobal, "elsewhere", [] { return elsewhere(); });
  in(hipStreamCaptureModeGlobal, "elsewhere relaxed", [] { return elsewhere(true); });
  in(hipStreamCaptureModeGlobal, "async", [&] { return hipMallocAsync(&p, 64, t); });
  in(hipStreamCaptureModeThreadLocal, "local", [] { return hipMalloc(&p, 64); });
  in(hipStreamCaptureModeThreadLocal, "local elsewhere", [] { return elsewhere(); });
  in(hipStreamCaptureModeRelaxed, "relaxed", [] { return hipMalloc(&p, 64); });
  in(hipStreamCaptureModeRelaxed, "wait", [] { return hipDeviceSynchronize(); });
  say("afterwards", hipMalloc(&p, 64));
}
"""


def test_calls_that_are_unsafe_in_a_capture_are_refused_and_spoil_it(tmp_path: Path) -> None:
    ran = run_hip(UNSAFE, tmp_path)
    lines = [line.removeprefix("  ") for line in ran.stdout.splitlines()]
    fine, refused, spoilt = (
        "hipSuccess",
        "hipErrorStreamCaptureUnsupported",
        "hipErrorStreamCaptureInvalidated",
    )
    captures = zip(lines[0:-1:2], lines[1:-1:2], strict=True)
    assert {call: end.removeprefix("capture ") for call, end in captures} == {
        f"malloc {refused}": spoilt,
        f"host {refused}": spoilt,
        f"free {refused}": spoilt,
        f"elsewhere {refused}": spoilt,
        f"elsewhere relaxed {fine}": fine,
        f"async {fine}": fine,
        f"local {refused}": spoilt,
        f"local elsewhere {fine}": fine,
        f"relaxed {fine}": fine,
        f"wait {refused}": spoilt,
    }, ran.stderr
    assert lines[-1] == "afterwards hipSuccess"


STREAMS = """
__global__ void work(float* d, int rounds) {
  float v = threadIdx.x;
  for (int i = 0; i < rounds; ++i) v = v * 1.0001f + 1;
  d[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
float between(hipEvent_t a, hipEvent_t b) { float ms; CHECK(hipEventElapsedTime(&ms, a, b)); return ms * 1e3f; }
int main() {
  float* d; CHECK(hipMalloc(&d, 1 << 24));
  hipStream_t s, t, free; CHECK(hipStreamCreate(&s)); CHECK(hipStreamCreate(&t));
  CHECK(hipStreamCreateWithFlags(&free, hipStreamNonBlocking));
  hipEvent_t e[6]; for (auto& x : e) CHECK(hipEventCreate(&x));
  work<<<8, 64>>>(d, 2000); work<<<2432, 1024>>>(d, 200); CHECK(hipDeviceSynchronize());
  auto one = [&](hipStream_t a, hipStream_t b, int groups, int items, int rounds) {
    CHECK(hipDeviceSynchronize());
    CHECK(hipEventRecord(e[0], a)); CHECK(hipEventRecord(e[2], b));
    work<<<groups, items, 0, a>>>(d, rounds); CHECK(hipEventRecord(e[1], a));
    work<<<groups, items, 0, b>>>(d, rounds); CHECK(hipEventRecord(e[3], b));
    CHECK(hipDeviceSynchronize());
    return between(e[0], e[3]) / between(e[0], e[1]);
  };
  std::printf("same stream %.0f\\n", one(s, s, 8, 64, 2000));
  std::printf("small kernels of two streams %.0f\\n", one(s, t, 8, 64, 2000));
  std::printf("kernels that fill the device %.0f\\n", one(s, t, 2432, 1024, 200));
  std::printf("default stream and blocking %.0f\\n", one(nullptr, t, 8, 64, 2000));
  std::printf("default stream and non-blocking %.0f\\n", one(nullptr, free, 8, 64, 2000));
  CHECK(hipEventRecord(e[4], s)); work<<<8, 64, 0, s>>>(d, 2000); CHECK(hipEventRecord(e[5], s));
  CHECK(hipStreamWaitEvent(free, e[5], 0)); work<<<8, 64, 0, free>>>(d, 2000); CHECK(hipEventRecord(e[3], free));
  std::printf("after an event %.0f\\n", between(e[4], e[3]) / between(e[4], e[5]));
  hipEvent_t quiet; CHECK(hipEventCreateWithFlags(&quiet, hipEventDisableTiming)); CHECK(hipEventRecord(quiet, s));
  float ms; std::printf("%s\\n", hipGetErrorName(hipEventElapsedTime(&ms, e[4], quiet)));
  int least, greatest, priority; unsigned flags;
  CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  hipStream_t p; CHECK(hipStreamCreateWithPriority(&p, hipStreamNonBlocking, greatest - 5));
  CHECK(hipStreamGetPriority(p, &priority)); CHECK(hipStreamGetFlags(p, &flags));
  std::printf("%d %u\\n", priority == greatest, flags);
  CHECK(hipStreamDestroy(p));
  std::printf("%s\\n", hipGetErrorName(hipStreamSynchronize(p)));
}
"""


def test_streams_overlap_in_modelled_time_as_far_as_the_device_has_room(tmp_path: Path) -> None:
    ran = run_hip(STREAMS, tmp_path, profile=True)
    assert ran.stdout.splitlines() == [
        "same stream 2",
        "small kernels of two streams 1",
        "kernels that fill the device 2",
        "default stream and blocking 2",
        "default stream and non-blocking 1",
        "after an event 2",
        "hipErrorInvalidHandle",
        "1 1",
        "hipErrorInvalidHandle",
    ], ran.stderr


STREAM_ATTRIBUTES = """
constexpr auto window = hipLaunchAttributeAccessPolicyWindow, policy = hipLaunchAttributeSynchronizationPolicy;
constexpr auto priority = hipLaunchAttributePriority;
int main() {
  hipStreamAttrValue v{};
  int& number = v.priority;  // at the place of the policy too
  hipStream_t a, b; int least, greatest;
  CHECK(hipStreamCreate(&a));
  CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(hipStreamCreateWithPriority(&b, hipStreamDefault, greatest));
  CHECK(hipStreamGetAttribute(a, policy, &v)); std::printf("%d", number);
  number = 4; CHECK(hipStreamSetAttribute(a, policy, &v));
  CHECK(hipStreamCopyAttributes(b, a));
  number = 0; CHECK(hipStreamGetAttribute(b, policy, &v)); std::printf(" %d", number);
  CHECK(hipStreamGetAttribute(b, priority, &v)); std::printf(" %d\\n", number == greatest);
  const auto say = [](hipError_t error) { std::puts(hipGetErrorName(error)); };
  number = 5; say(hipStreamSetAttribute(a, policy, &v));
  say(hipStreamSetAttribute(a, window, &v));
  say(hipStreamGetAttribute(a, policy, nullptr));
  CHECK(hipStreamBeginCapture(a, hipStreamCaptureModeThreadLocal));
  number = 1; say(hipStreamSetAttribute(a, policy, &v));
  CHECK(hipStreamDestroy(b));
  say(hipStreamGetAttribute(b, policy, &v));
  say(hipStreamCopyAttributes(a, b));
}
"""


def test_streams_keep_their_attributes(tmp_path: Path) -> None:
    ran = run_hip(STREAM_ATTRIBUTES, tmp_path)
    assert ran.stdout.splitlines() == [
        "1 4 1",
        "hipErrorInvalidValue",
        "hipErrorInvalidValue",
        "hipErrorInvalidValue",
        "hipErrorStreamCaptureUnsupported",
        "hipErrorInvalidHandle",
        "hipErrorInvalidHandle",
    ], ran.stderr


DRIVER_NODES = """
extern "C" hipError_t hipDrvGraphAddMemcpyNode(
  hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t, const HIP_MEMCPY3D*, hipCtx_t);
extern "C" hipError_t hipDrvGraphMemcpyNodeGetParams(hipGraphNode_t, HIP_MEMCPY3D*);
extern "C" hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t, const HIP_MEMCPY3D*);
int main() {
  int *d, host[24], back[24] = {}; for (int i = 0; i < 24; ++i) host[i] = i;
  CHECK(hipMalloc((void**)&d, sizeof host));
  CHECK(hipMemset(d, 0xff, sizeof host));
  // Two rows of three from the middle of a 6 x 4 picture into the corner of another one.
  HIP_MEMCPY3D p{};
  p.srcMemoryType = hipMemoryTypeHost; p.srcHost = host; p.srcPitch = 24; p.srcHeight = 4;
  p.srcXInBytes = 4; p.srcY = 1;
  p.dstMemoryType = hipMemoryTypeDevice; p.dstDevice = d; p.dstPitch = 24; p.dstHeight = 4;
  p.WidthInBytes = 12; p.Height = 2; p.Depth = 1;
  hipGraph_t g; CHECK(hipGraphCreate(&g, 0));
  hipGraphNode_t copy, read;
  CHECK(hipDrvGraphAddMemcpyNode(&copy, g, nullptr, 0, &p, nullptr));
  CHECK(hipGraphAddMemcpyNode1D(&read, g, &copy, 1, back, d, sizeof back, hipMemcpyDeviceToHost));
  HIP_MEMCPY3D q{};
  CHECK(hipDrvGraphMemcpyNodeGetParams(copy, &q));
  std::printf("%d", q.srcHost == host && q.dstDevice == p.dstDevice && q.srcMemoryType == hipMemoryTypeHost);
  std::printf(" %d", q.dstMemoryType == hipMemoryTypeDevice && q.srcXInBytes == 4 && q.srcY == 1 && q.srcPitch == 24);
  std::printf(" %d\\n", q.dstHeight == 4 && q.WidthInBytes == 12 && q.Height == 2 && q.Depth == 1);
  const auto run = [&] {
    hipGraphExec_t x; CHECK(hipGraphInstantiate(&x, g, nullptr, nullptr, 0)); CHECK(hipGraphLaunch(x, nullptr));
    CHECK(hipDeviceSynchronize()); CHECK(hipGraphExecDestroy(x));
    for (int i = 0; i < 12; ++i) std::printf("%d%c", back[i], i % 6 == 5 ? '\\n' : ' ');
  };
  run();
  q.srcY = 2;  // what was told can be changed and given back
  CHECK(hipDrvGraphMemcpyNodeSetParams(copy, &q));
  run();
}
"""


def test_a_copy_node_of_the_driver_api_is_told_as_it_was_made(tmp_path: Path) -> None:
    ran = run_hip(DRIVER_NODES, tmp_path)
    assert ran.stdout.splitlines() == [
        "1 1 1",
        "7 8 9 -1 -1 -1",
        "13 14 15 -1 -1 -1",
        "13 14 15 -1 -1 -1",
        "19 20 21 -1 -1 -1",
    ], ran.stderr

"""Calls that HIP has since 5.3, declared by our own headers where the installed ones are older."""

from __future__ import annotations

from pathlib import Path

from tests.emulator.hip_run import run_hip

LINK = """
#include <hip/hiprtc.h>
extern "C" {
int hipLinkCreate(unsigned, void*, void**, void**);
int hipLinkAddData(void*, int, void*, size_t, const char*, unsigned, void*, void**);
int hipLinkComplete(void*, void**, size_t*);
int hipLinkDestroy(void*);
int hiprtcLinkAddData(void*, int, void*, size_t, const char*, unsigned, void*, void**);
}
std::vector<char> bitcode(const char* text) {
  hiprtcProgram p;
  const char* options[] = {"-fgpu-rdc"};
  size_t size = 0;
  if (hiprtcCreateProgram(&p, text, "part.hip", 0, nullptr, nullptr)) std::exit(1);
  if (hiprtcCompileProgram(p, 1, options)) std::exit(1);
  if (hiprtcGetBitcodeSize(p, &size)) std::exit(2);
  std::vector<char> code(size);
  if (hiprtcGetBitcode(p, code.data()) || hiprtcDestroyProgram(&p)) std::exit(3);
  return code;
}
int main() {
  auto a = bitcode("__device__ int twice(int);"
                   "extern \\"C\\" __global__ void run(int* p) { p[threadIdx.x] = twice(threadIdx.x); }");
  auto b = bitcode("__device__ int twice(int x) { return 2 * x; }");
  void *link, *code;
  hipLibrary_t library;
  hipKernel_t kernel;
  size_t size = 0;
  unsigned count = 0;
  char text[] = "no bitcode";
  std::printf("%d ", hiprtcLinkAddData(nullptr, 100, a.data(), a.size(), "a", 0, nullptr, nullptr));
  if (hipLinkCreate(0, nullptr, nullptr, &link)) return 4;
  std::printf("%d\\n", hipLinkAddData(link, 100, text, sizeof text, "text", 0, nullptr, nullptr));
  if (hipLinkAddData(link, 100, a.data(), a.size(), "a", 0, nullptr, nullptr)) return 5;
  if (hipLinkAddData(link, 100, b.data(), b.size(), "b", 0, nullptr, nullptr)) return 6;
  if (hipLinkComplete(link, &code, &size)) return 7;
  if (hipLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0) || hipLinkDestroy(link)) return 8;
  if (hipLibraryGetKernelCount(&count, library) || hipLibraryGetKernel(&kernel, library, "run")) return 9;
  int *p, host[64];
  CHECK(hipMalloc(&p, 256));
  void* arguments[] = {&p};
  CHECK(hipLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1), dim3(64), arguments, 0, nullptr));
  CHECK(hipMemcpy(host, p, 256, hipMemcpyDeviceToHost));
  std::printf("%u %d %d\\n", count, host[1], host[63]);
  return hipLibraryUnload(library);
}
"""

GRAPH = """
#include <fstream>
#include <string>
extern "C" int hipGraphAddNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t, void*);
__global__ void put(int* p, int v) { p[threadIdx.x] = v; }
__global__ void take(const int* p, int* out) { out[threadIdx.x] += p[threadIdx.x]; }
int main() {
  hipGraph_t graph;
  hipGraphNode_t allocate, first, second, give, any;
  CHECK(hipGraphCreate(&graph, 0));
  hipMemAllocNodeParams wanted = {};
  wanted.poolProps.allocType = hipMemAllocationTypePinned;
  wanted.poolProps.location.type = hipMemLocationTypeDevice;
  wanted.bytesize = 256;
  if (hipGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &wanted)) return 1;
  int *out, host[64] = {}, one = 1;
  CHECK(hipMalloc(&out, 256)); CHECK(hipMemset(out, 0, 256));
  void *put_arguments[] = {&wanted.dptr, &one}, *take_arguments[] = {&wanted.dptr, &out};
  hipKernelNodeParams p = {};
  p.gridDim = dim3(1); p.blockDim = dim3(64);
  p.func = (void*)put; p.kernelParams = put_arguments;
  CHECK(hipGraphAddKernelNode(&first, graph, &allocate, 1, &p));
  p.func = (void*)take; p.kernelParams = take_arguments;
  CHECK(hipGraphAddKernelNode(&second, graph, &first, 1, &p));
  if (hipGraphAddMemFreeNode(&give, graph, &second, 1, wanted.dptr)) return 2;
  hipUserObject_t object;
  auto gone = [](void* text) { std::puts((const char*)text); };
  if (hipUserObjectCreate(&object, (void*)"object gone", gone, 1, 1)) return 3;
  if (hipGraphRetainUserObject(graph, object, 1, hipGraphUserObjectMove)) return 3;
  if (hipGraphDebugDotPrint(graph, "graph.dot", 0)) return 4;
  hipGraphExec_t exec;
  if (hipGraphInstantiateWithFlags(&exec, graph, 0)) return 5;
  for (int i = 0; i < 3; ++i) CHECK(hipGraphLaunch(exec, nullptr));
  if (hipGraphNodeSetEnabled(exec, second, 0)) return 6;
  CHECK(hipGraphLaunch(exec, nullptr));
  CHECK(hipMemcpy(host, out, 256, hipMemcpyDeviceToHost));
  unsigned long long now = 1, most = 0;
  if (hipDeviceGetGraphMemAttribute(0, hipGraphMemAttrUsedMemCurrent, &now) ||
      hipDeviceGetGraphMemAttribute(0, hipGraphMemAttrUsedMemHigh, &most)) return 7;
  std::printf("%d %llu %llu\\n", host[63], now, most);
  int node[64] = {5};  // an empty node, by its number of HIP 6
  std::printf("%d\\n", hipGraphAddNode(&any, graph, nullptr, 0, node));
  CHECK(hipGraphDestroy(graph)); std::puts("graph gone"); CHECK(hipGraphExecDestroy(exec));
  int (*properties)(void*, int) = nullptr, (*old)(void*, int) = nullptr;
  auto status = hipDriverProcAddressQueryResult(-1);
  void* nothing = &status;
  if (hipGetProcAddress("hipGetDeviceProperties", (void**)&properties, 60300000, 0, &status)) return 8;
  if (hipGetProcAddress("hipGetDeviceProperties", (void**)&old, 502, 0, nullptr)) return 9;
  std::printf("%d %d %d\\n", status, properties != old, hipGetProcAddress("hipNothing", &nothing, 603, 0, &status));
  int *square;
  CHECK(hipMalloc(&square, 4 * 16 * 4)); CHECK(hipMemset(square, 0, 256));
  if (hipMemsetD2D32(square, 64, 7, 3, 2)) return 10;
  CHECK(hipMemcpy(host, square, 256, hipMemcpyDeviceToHost));
  int sum = 0;
  for (int v : host) sum += v;
  std::printf("%d %d %d\\n", sum, host[18], host[19]);
}
"""


def test_bitcode_of_two_programs_is_linked_and_launched(tmp_path: Path) -> None:
    ended = run_hip(LINK, tmp_path, flags=("-lhiprtc",))
    assert (ended.stdout, ended.returncode) == ("3 1\n1 2 126\n", 0), ended.stderr
    assert ended.stderr == "hipscope emulator: hiprtcLink takes LLVM bitcode only, not bundles or archives\n"


def test_allocation_nodes_switches_objects_and_entry_points_work(tmp_path: Path) -> None:
    ended = run_hip(GRAPH, tmp_path)
    assert (ended.stdout, ended.stderr, ended.returncode) == (
        "3 0 256\n0\ngraph gone\nobject gone\n0 1 1\n42 7 0\n",
        "",
        0,
    )
    assert (tmp_path / "graph.dot").read_text().count("->") == 3

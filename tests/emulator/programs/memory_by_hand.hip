// Reserved addresses, pools, allocation nodes, batch operations: the parts of HIP that manage memory by hand.
#include "check.hpp"

#include <unistd.h>

__global__ void add(int* p, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += by;
}

int sum(const int* device, int n) {
  std::vector<int> h(n);
  must(hipMemcpy(h.data(), device, n * 4, hipMemcpyDeviceToHost), "copy");
  int s = 0;
  for (int v : h) s += v;
  return s;
}

hipMemAllocationProp on_device() {
  hipMemAllocationProp p = {};
  p.type = hipMemAllocationTypePinned;
  p.location.type = hipMemLocationTypeDevice;
  return p;
}

/// One reservation, filled by two pieces of memory, used as one; one piece also seen at a second address.
void virtual_memory() {
  const hipMemAllocationProp prop = on_device();
  size_t step = 0;
  must(hipMemGetAllocationGranularity(&step, &prop, hipMemAllocationGranularityMinimum), "granularity");
  const int n = static_cast<int>(2 * step / 4);
  void *whole = nullptr, *twin = nullptr;
  must(hipMemAddressReserve(&whole, 2 * step, 0, nullptr, 0), "reserve");
  must(hipMemAddressReserve(&twin, step, 0, nullptr, 0), "reserve");
  hipMemGenericAllocationHandle_t one, two;
  must(hipMemCreate(&one, step, &prop, 0), "create");
  must(hipMemCreate(&two, step, &prop, 0), "create");
  char* const at = static_cast<char*>(whole);
  must(hipMemMap(at, step, 0, one, 0), "map");
  must(hipMemMap(at + step, step, 0, two, 0), "map");
  must(hipMemMap(twin, step, 0, two, 0), "map again");
  hipMemAccessDesc access = {};
  access.location = prop.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  must(hipMemSetAccess(whole, 2 * step, &access, 1), "access");
  must(hipMemSetAccess(twin, step, &access, 1), "access");
  int* const p = static_cast<int*>(whole);
  must(hipMemset(p, 0, 2 * step), "a fill over both");
  add<<<n / 256, 256>>>(p, n, 3);
  expect("both pieces", 0, sum(p, n), 3 * n);
  expect("the twin", 0, sum(static_cast<int*>(twin), n / 2), 3 * n / 2);
  add<<<1, 1>>>(static_cast<int*>(twin), 1, 100);
  int seen = 0;
  must(hipMemcpy(&seen, p + n / 2, 4, hipMemcpyDeviceToHost), "copy");
  expect("seen through the other address", 0, seen, 103);
  unsigned long long flags = 0;
  hipMemLocation here = prop.location;
  must(hipMemGetAccess(&flags, &here, twin), "get access");
  expect("access", 0, static_cast<int>(flags), static_cast<int>(hipMemAccessFlagsProtReadWrite));
  hipMemGenericAllocationHandle_t same;
  must(hipMemRetainAllocationHandle(&same, at + step + 8), "retain");
  expect("handle", 0, same == two, true);
  must(hipMemRelease(same), "release");
  must(hipMemRelease(one), "release");  // the mapping keeps it
  expect("after release", 0, sum(p, n), 3 * n + 100);
  expect("free while mapped", 0, static_cast<int>(hipMemAddressFree(whole, 2 * step)), static_cast<int>(hipErrorInvalidValue));
  must(hipMemUnmap(whole, 2 * step), "unmap");
  expect("copy of what is gone", 0, static_cast<int>(hipMemcpy(&seen, p, 4, hipMemcpyDeviceToHost)), static_cast<int>(hipErrorInvalidValue));
  must(hipMemUnmap(twin, step), "unmap");
  must(hipMemRelease(two), "release");
  must(hipMemAddressFree(whole, 2 * step), "free addresses");
  must(hipMemAddressFree(twin, step), "free addresses");
}

void pools() {
  hipMemPool_t pool, standard, current;
  hipMemPoolProps props = {};
  props.allocType = hipMemAllocationTypePinned;
  props.location.type = hipMemLocationTypeDevice;
  must(hipMemPoolCreate(&pool, &props), "pool");
  must(hipDeviceGetDefaultMemPool(&standard, 0), "default pool");
  must(hipDeviceGetMemPool(&current, 0), "current pool");
  expect("current", 0, current == standard && pool != standard, true);
  uint64_t keep = 1 << 20, bytes = 0;
  must(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep), "threshold");
  int reuse = 0;
  must(hipMemPoolSetAttribute(pool, hipMemPoolReuseAllowOpportunistic, &reuse), "reuse");
  reuse = 7;
  must(hipMemPoolGetAttribute(pool, hipMemPoolReuseAllowOpportunistic, &reuse), "reuse");
  expect("reuse", 0, reuse, 0);
  hipStream_t s;
  must(hipStreamCreate(&s), "stream");
  int *a, *b;
  must(hipMallocFromPoolAsync(reinterpret_cast<void**>(&a), 4096, pool, s), "from the pool");
  must(hipDeviceSetMemPool(0, pool), "set pool");
  must(hipMallocAsync(reinterpret_cast<void**>(&b), 1000, s), "from the current pool");
  must(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &bytes), "used");
  expect("used", 0, bytes, uint64_t(5096));
  must(hipMemsetAsync(a, 0, 4096, s), "fill");
  add<<<4, 256, 0, s>>>(a, 1024, 5);
  must(hipStreamSynchronize(s), "wait");
  expect("pool memory", 0, sum(a, 1024), 5 * 1024);
  must(hipFreeAsync(a, s), "free");
  must(hipFreeAsync(b, s), "free");
  must(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &bytes), "used");
  expect("used after", 0, bytes, uint64_t(0));
  must(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemHigh, &bytes), "high");
  expect("high water", 0, bytes, uint64_t(5096));
  bytes = 0;
  must(hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemHigh, &bytes), "reset");
  must(hipMemPoolTrimTo(pool, 0), "trim");
  hipMemAccessFlags flags;
  hipMemLocation here = props.location;
  must(hipMemPoolGetAccess(&flags, pool, &here), "access");
  expect("pool access", 0, static_cast<int>(flags), static_cast<int>(hipMemAccessFlagsProtReadWrite));
  must(hipMemPoolDestroy(pool), "destroy");
  must(hipDeviceGetMemPool(&current, 0), "current pool");
  expect("back to the default", 0, current == standard, true);
  expect("the default stays", 0, static_cast<int>(hipMemPoolDestroy(standard)), static_cast<int>(hipErrorInvalidValue));
}

/// Stream-ordered allocation inside a captured stream: the block lives from one node to the other.
void captured_allocation() {
  hipStream_t s;
  must(hipStreamCreate(&s), "stream");
  Device<int> out(256);
  int* scratch = nullptr;
  must(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal), "begin");
  must(hipMallocAsync(reinterpret_cast<void**>(&scratch), 1024, s), "allocate");
  must(hipMemsetAsync(scratch, 0, 1024, s), "fill");
  add<<<1, 256, 0, s>>>(scratch, 256, 2);
  must(hipMemcpyAsync(out.data, scratch, 1024, hipMemcpyDeviceToDevice, s), "copy");
  must(hipFreeAsync(scratch, s), "free");
  hipGraph_t graph;
  must(hipStreamEndCapture(s, &graph), "end");
  size_t nodes = 0;
  must(hipGraphGetNodes(graph, nullptr, &nodes), "nodes");
  expect("nodes", 0, nodes, size_t(5));
  hipGraphExec_t exec;
  must(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), "instantiate");
  for (int i = 0; i < 3; ++i) must(hipGraphLaunch(exec, s), "launch");
  expect_all("captured", out.read(), [](size_t) { return 2; });
  int word = 0;
  expect("gone between launches", 0, static_cast<int>(hipMemcpy(&word, scratch, 4, hipMemcpyDeviceToHost)), static_cast<int>(hipErrorInvalidValue));
  must(hipGraphExecDestroy(exec), "destroy");
  must(hipGraphDestroy(graph), "destroy");
}

void driver_copies() {
  const int w = 6, h = 5, d = 3;
  std::vector<int> from(16 * 8 * 4), back(w * h * d, -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i);
  Device<int> device(from);
  HIP_MEMCPY3D p = {};
  p.srcMemoryType = hipMemoryTypeDevice;
  p.srcDevice = reinterpret_cast<hipDeviceptr_t>(device.data);
  p.srcXInBytes = 2 * 4;
  p.srcY = 1;
  p.srcZ = 1;
  p.srcPitch = 16 * 4;
  p.srcHeight = 8;
  p.dstMemoryType = hipMemoryTypeHost;
  p.dstHost = back.data();
  p.dstPitch = w * 4;
  p.dstHeight = h;
  p.WidthInBytes = w * 4;
  p.Height = h;
  p.Depth = d;
  must(hipDrvMemcpy3D(&p), "3-D copy");
  expect_all("box", back, [&](size_t i) { return from[((i / (w * h) + 1) * 8 + i / w % h + 1) * 16 + i % w + 2]; });
}

void stream_memory() {
  Device<unsigned> word(std::vector<unsigned>{0, 0});
  hipStream_t s;
  must(hipStreamCreate(&s), "stream");
  must(hipStreamWriteValue32(s, word.data, 40, 0), "write");
  must(hipStreamWaitValue32(s, word.data, 40, hipStreamWaitValueEq, 0xffffffffu), "wait");
  add<<<1, 1, 0, s>>>(reinterpret_cast<int*>(word.data), 1, 2);
  must(hipStreamWaitValue32(s, word.data, 41, hipStreamWaitValueGte, 0xffffffffu), "wait");
  expect("word", 0, word.read()[0], 42u);
}

void pointers() {
  Device<int> device(100);
  void* base = nullptr;
  int* managed = nullptr;
  must(hipPointerGetAttribute(&base, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, reinterpret_cast<hipDeviceptr_t>(device.data + 50)), "start");
  expect("start", 0, base == device.data, true);
  size_t bytes = 0;
  must(hipPointerGetAttribute(&bytes, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, reinterpret_cast<hipDeviceptr_t>(device.data + 50)), "size");
  expect("size", 0, bytes, size_t(400));
  must(hipMallocManaged(&managed, 64), "managed");
  must(hipMemAdvise(managed, 64, hipMemAdviseSetReadMostly, 0), "advise");
  must(hipMemPrefetchAsync(managed, 64, hipCpuDeviceId, nullptr), "prefetch");
  int value = 0;
  must(hipMemRangeGetAttribute(&value, 4, hipMemRangeAttributeReadMostly, managed, 64), "attribute");
  expect("read mostly", 0, value, 1);
  must(hipMemRangeGetAttribute(&value, 4, hipMemRangeAttributeLastPrefetchLocation, managed, 64), "attribute");
  expect("prefetched to the host", 0, value, static_cast<int>(hipCpuDeviceId));
  must(hipMemRangeGetAttribute(&value, 4, hipMemRangeAttributePreferredLocation, managed, 64), "attribute");
  expect("preferred nowhere", 0, value, static_cast<int>(hipInvalidDeviceId));
  must(hipFree(managed), "free");
}

int main() {
  virtual_memory();
  pools();
  captured_allocation();
  driver_copies();
  stream_memory();
  pointers();
  return verdict();
}
